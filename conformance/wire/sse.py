"""Server-sent events, read as the HTML standard says: chunks in, events out."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

# The type of an event that names none.
DEFAULT_KIND = "message"


@dataclass(frozen=True)
class Event:
    """One dispatched event: when it was complete (monotonic seconds), its type and data."""

    at: float
    data: str
    kind: str = DEFAULT_KIND


class EventReader:
    """Collects chunks of bytes, split anywhere, into events.

    Lines end with LF, CR LF or CR; comments and unknown fields are skipped; several ``data``
    lines join with LF; an event without data is not dispatched; an unfinished event at the
    end of the stream is dropped, as the standard wants.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._pending: list[str] = []
        self._ended_with_cr = False
        self._data: list[str] = []
        self._kind = ""

    def feed(self, chunk: bytes, at: float) -> list[Event]:
        """The events that this chunk completes."""
        text = self._decoder.decode(chunk)
        if self._ended_with_cr and text:
            # A CR LF split between two chunks ends one line, not two.
            text = text.removeprefix("\n")
            self._ended_with_cr = False
        if not text:
            return []
        self._ended_with_cr = text.endswith("\r")
        # Only the three line ends of the standard: str.splitlines knows more.
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._pending.append(lines[0])
        if len(lines) == 1:
            return []
        lines[0] = "".join(self._pending)
        self._pending = [lines.pop()]
        return [event for line in lines if (event := self._line(line, at)) is not None]

    def _line(self, line: str, at: float) -> Event | None:
        if not line:
            event = (
                Event(at, "\n".join(self._data), self._kind or DEFAULT_KIND) if self._data else None
            )
            self._data, self._kind = [], ""
            return event
        if line.startswith(":"):
            return None
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._kind = value
        return None
