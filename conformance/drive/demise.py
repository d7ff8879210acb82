"""What a server was about when it stopped answering."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.wire.exchange import ORDINARY, Exchange

# So many answers in a row that never came mean the server is gone.
GONE_AFTER = 6
_TOLD = 3
# In these ways a connection ends that was open when a server died.
_BROKEN_OFF = ("reset", "protocol")
_NEVER_CAME = ("connect", "reset")


@dataclass
class Contact:
    """Whether a server still answers. ``broken_off`` are the requests whose connections ended since
    it last did, ``answered`` is the last that it answered."""

    missed: int = 0
    answered: Exchange | None = None
    broken_off: list[Exchange] = field(default_factory=list)

    @property
    def lost(self) -> bool:
        return self.missed >= GONE_AFTER

    def note(self, exchange: Exchange) -> None:
        """Keep count of answers that never came; once contact is lost, it stays so."""
        if self.lost:
            return
        kind = exchange.fault.kind if exchange.fault is not None else ""
        self.missed = self.missed + 1 if kind in _NEVER_CAME else 0
        if kind in _BROKEN_OFF:
            self.broken_off.append(exchange)
        elif not kind:
            self.answered, self.broken_off = exchange, []

    @property
    def last_words(self) -> str:
        """What was under way when the server fell silent, or what it had answered last."""
        if self.broken_off:
            # What was meant to be odd is likelier to have been too much.
            odd_first = sorted(self.broken_off, key=lambda e: e.intent == ORDINARY)
            told = ", ".join(map(_named, odd_first[:_TOLD]))
            more = len(self.broken_off) - _TOLD
            also = f" and {more} more" if more > 0 else ""
            return f"the server stopped answering while this was under way: {told}{also}"
        if self.answered is not None:
            return f"the server stopped answering after {_named(self.answered)}"
        return "the server stopped answering"


def _named(exchange: Exchange) -> str:
    what = exchange.method or f"HTTP {exchange.sent.http_method}"
    how = "" if exchange.intent == ORDINARY else f"{exchange.intent}, "
    return f"{what} ({how}{exchange.scenario}.jsonl, number {exchange.number})"
