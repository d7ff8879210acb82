"""What a sequence knows of one of its tasks: what was seen last, and what was sent to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from conformance.drive.driver import Created
from conformance.specification.names import TASKS_GET
from conformance.specification.states import INPUT_REQUIRED, is_terminal
from conformance.target.roles import INPUT
from conformance.wire.exchange import Exchange, JsonObject

# A task whose time is longer (seconds) is not outlived; what is added for clocks that differ, and
# the part of the time within which a task is certainly still there.
_SHORT_TTL, _TTL_MARGIN, _TTL_DRIFT, _GOOD_PART = 3.0, 0.3, 1.03, 0.15
# No task is kept for longer, as far as sequences are concerned.
_LONGEST_TTL_MS = 10**12


@dataclass
class Stream:
    """A stream that is listened to: ``enough`` ends it, ``ended`` says that it has ended."""

    enough: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)


@dataclass
class Followed:
    """``last`` is the task as it was shown last, ``read`` the read that showed it. ``asked`` are
    all the requests it ever showed, by key; ``sent`` the keys that were answered, ``answered``
    the acknowledged update that first answered each. ``quiet`` says that nothing which could
    change the task was sent since it was last read, ``untouched`` that nothing was either that
    only a careless server would let change it; ``in_vain_since`` is the monotonic second since
    which it is seen to wait in vain."""

    number: int
    created: Created
    last: JsonObject
    read: Exchange | None = None
    asked: JsonObject = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)
    answered: dict[str, Exchange] = field(default_factory=dict)
    accepted: Exchange | None = None
    cancelled: bool = False
    quiet: bool = True
    untouched: bool = True
    in_vain_since: float | None = None

    @property
    def task_id(self) -> str:
        return self.created.task_id

    @property
    def ended(self) -> bool:
        """Whether it was seen to have ended."""
        return is_terminal(self.last.get("status"))

    @property
    def waits(self) -> JsonObject:
        """The requests it showed last, if it waited for input then."""
        requests = self.last.get("inputRequests")
        waiting = self.last.get("status") == INPUT_REQUIRED
        return requests if waiting and isinstance(requests, dict) else {}

    @property
    def open(self) -> JsonObject:
        """The same without those that were answered since."""
        return {key: request for key, request in self.waits.items() if key not in self.sent}

    @property
    def may_ask(self) -> bool:
        return self.created.tool.plays(INPUT) and not self.ended and not self.cancelled

    @property
    def settled(self) -> bool:
        """Whether it has ended, or asks something that nobody has answered yet."""
        return self.ended or bool(self.open)

    @property
    def waits_in_vain(self) -> bool:
        """Whether it still shows nothing but requests whose answers were acknowledged."""
        return bool(self.waits) and self.waits.keys() <= self.answered.keys()

    @property
    def ttl(self) -> float | None:
        """Its ttlMs in seconds; ``None`` where it has none."""
        value = self.last.get("ttlMs")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return max(min(value, _LONGEST_TTL_MS), 0) / 1000

    @property
    def over_at(self) -> float:
        """The monotonic second at which its time is over by any clock; 0 where that takes too
        long to wait for."""
        ttl = self.ttl
        if ttl is None or ttl > _SHORT_TTL:
            return 0.0
        return self.created.exchange.ended + ttl * _TTL_DRIFT + _TTL_MARGIN

    def is_old(self, now: float) -> bool:
        """Whether a good part of a short time has gone by, and it is not yet over."""
        ttl = self.ttl
        made = self.created.exchange.started
        return ttl is not None and now < self.over_at and now - made > ttl * _GOOD_PART

    def note_misdoing(self, method: str) -> None:
        """Something wrong is being sent about it. Only a read changes nothing on any server."""
        self.untouched = self.untouched and method == TASKS_GET

    def note(self, exchange: Exchange) -> None:
        """Take in what a read showed."""
        task = exchange.task
        if task is None or task.get("taskId") not in (self.task_id, None):
            return
        self.read = exchange
        self.last = task
        self.quiet = self.untouched = True
        for key, request in self.waits.items():
            self.asked.setdefault(key, request)
        if not self.waits_in_vain:
            self.in_vain_since = None
        elif self.in_vain_since is None:
            self.in_vain_since = exchange.ended
