"""The life of each task, put together from every exchange that saw it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.judge.bare import bare_block, without_meta
from conformance.judge.clocks import age_when_called
from conformance.specification.names import (
    STATUS_NOTIFICATION,
    TASK_NOTIFICATION,
    TASKS_CANCEL,
    TASKS_UPDATE,
    TOOLS_CALL,
    VERSIONS_OF_SESSIONS,
)
from conformance.specification.revisions import revision_named
from conformance.specification.states import is_terminal
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History
from conformance.wire.once import Views, once


@dataclass(frozen=True)
class Sighting:
    """The task as one message showed it.

    ``began`` and ``ended`` bound the moment it speaks of (monotonic seconds): for a read,
    the exchange; for a notification, from when its stream was opened to when it came.
    ``how`` is ``handle``, ``read`` or ``notification``.
    """

    how: str
    exchange: Exchange
    task: JsonObject
    began: float
    ended: float

    @once
    def status(self) -> Any:
        return self.task.get("status")

    @once
    def terminal(self) -> bool:
        return is_terminal(self.status)

    @once
    def pointer(self) -> str:
        """Where the task stands in its message: the handle of 2025-11-25 is nested."""
        if self.how == "notification":
            return "/params"
        nested = self.how == "handle" and self.exchange.protocol_version in VERSIONS_OF_SESSIONS
        return "/result/task" if nested else "/result"

    @once
    def ttl_name(self) -> str:
        """The member that tells how long the task is kept, in its revision's words."""
        return "ttl" if self.exchange.protocol_version in VERSIONS_OF_SESSIONS else "ttlMs"

    def certainly_before(self, other: Sighting) -> bool:
        """Whether the other began after this one ended: only then does order mean anything."""
        return self.ended <= other.began


@dataclass
class Life:
    """One task: who made it and all that was seen of it, in the order it began.

    ``age`` is how many seconds older it is than the call that made it.
    """

    task_id: str
    creation: Exchange | None = None
    age: float = 0.0
    sightings: list[Sighting] = field(default_factory=list)
    updates: list[Exchange] = field(default_factory=list)
    cancels: list[Exchange] = field(default_factory=list)
    reads: list[Exchange] = field(default_factory=list)  # every tasks/get, served or not
    # The tasks of calls of the same tool with the same arguments, this one among them, and all
    # tasks of the history.
    of_same_call: Alike = field(default_factory=lambda: Alike(), repr=False, compare=False)
    of_any_call: Alike = field(default_factory=lambda: Alike(), repr=False, compare=False)

    @property
    def tool(self) -> str | None:
        return self.creation.tool if self.creation is not None else None

    @property
    def caller(self) -> str:
        return self.creation.caller if self.creation is not None else "first"

    @property
    def creation_ended(self) -> float:
        """When the handle came, in monotonic seconds."""
        return self.creation.ended if self.creation is not None else 0.0

    @property
    def first_terminal(self) -> Sighting | None:
        return next((s for s in self.sightings if s.terminal), None)

    def last_seen_before(self, exchange: Exchange) -> Sighting | None:
        """The last sighting that had come when an exchange began."""
        return next((s for s in reversed(self.sightings) if s.ended <= exchange.started), None)

    def status_before(self, exchange: Exchange) -> str:
        """The status the task was last seen in when an exchange began; empty where it was not."""
        seen = self.last_seen_before(exchange)
        return str(seen.status) if seen is not None else ""

    def with_creation(self, *exchanges: Exchange) -> tuple[Exchange, ...]:
        """The exchanges, after the one that made the task: evidence that begins there."""
        return exchanges if self.creation is None else (self.creation, *exchanges)

    def seen_by_reading(self) -> list[Sighting]:
        return [s for s in self.sightings if s.how == "read"]


class Alike(list[Life], Views):
    """Tasks that have something in common. What they show together is put together once."""


def any_between(requests: Iterable[Exchange], after: float, before: float) -> bool:
    """Whether one of some requests may have had an effect between two moments."""
    return any(request.ended > after and request.started < before for request in requests)


def lives(history: History) -> dict[str, Life]:
    """Every task that a handle of this history introduced, by its id; none whose id was given
    to another task as well."""
    return history.derive(_lives)


def reads_of(history: History) -> list[Sighting]:
    """Every served read of every task, in order."""
    return history.derive(_reads)


def handles(history: History) -> list[Exchange]:
    """Every call under this revision that was answered with a task handle."""
    version = revision_named(history.circumstances.spec).protocol_version
    return [
        exchange
        for exchange in history.of_method(TOOLS_CALL)
        if exchange.handle is not None and exchange.protocol_version == version
    ]


def outcome_of(task: JsonObject) -> tuple[Any, Any]:
    """What a task ended with: its result, but for what may differ from read to read, and its
    error."""
    result = task.get("result")
    if isinstance(result, dict):
        result = without_meta(result)
        if isinstance(result.get("content"), list):
            result["content"] = [bare_block(block) for block in result["content"]]
    return result, task.get("error")


def lost_outcome(before: JsonObject, after: JsonObject) -> bool:
    """Whether an ended task that had a result or an error has none, or an empty one, later."""
    for name in ("result", "error"):
        had, has = before.get(name), after.get(name)
        if had and (not has or (_content(had) and not _content(has))):
            return True
    return False


def _content(result: object) -> Any:
    if not isinstance(result, dict):
        return None
    return result.get("content") or result.get("structuredContent")


def may_have_expired(life: Life, at: float) -> bool:
    """Whether the ttlMs of a task, the shortest it was ever told, may be over at a moment. What
    is no number may stand for any time."""
    told = [s.task.get(s.ttl_name) for s in life.sightings]
    numbers = [t for t in told if isinstance(t, int | float) and not isinstance(t, bool)]
    if len(numbers) < sum(ttl is not None for ttl in told):
        return True
    durations = [number for number in numbers if abs(number) < 2**53]
    if life.creation is None or not durations:
        return False
    return at >= life.creation.started - life.age + min(durations) / 1000


def _tells_of(life: Life, read: Exchange, version: str) -> bool:
    """Whether a read was made under this revision and was answered with the task asked for."""
    told = (read.task or {}).get("taskId")
    return read.protocol_version == version and (told == life.task_id or not isinstance(told, str))


def _lives(history: History) -> dict[str, Life]:
    version = revision_named(history.circumstances.spec).protocol_version
    notification = STATUS_NOTIFICATION if version in VERSIONS_OF_SESSIONS else TASK_NOTIFICATION
    found: dict[str, Life] = {}
    seeds = [(exchange, exchange.handle or {}) for exchange in handles(history)]
    times = Counter(str(seed.get("taskId")) for _, seed in seeds)
    for exchange, seed in seeds:
        task_id = seed.get("taskId")
        # Of an id that was given to two tasks nothing can be said; creation.unique-ids tells.
        if isinstance(task_id, str) and times[task_id] == 1:
            life = found[task_id] = Life(task_id, exchange, age_when_called(exchange, history))
            life.sightings.append(
                Sighting("handle", exchange, seed, exchange.started, exchange.ended)
            )
    _group(found.values())
    for exchange in history.exchanges:
        owner = found.get(exchange.task_id or "")
        if owner is not None:
            if exchange.method == TASKS_UPDATE:
                owner.updates.append(exchange)
            elif exchange.method == TASKS_CANCEL:
                owner.cancels.append(exchange)
            elif exchange.method == "tasks/get":
                owner.reads.append(exchange)
                if exchange.task is not None and _tells_of(owner, exchange, version):
                    owner.sightings.append(
                        Sighting("read", exchange, exchange.task, exchange.started, exchange.ended)
                    )
        for at, message in exchange.notifications:
            params = message.get("params")
            if message.get("method") == notification and isinstance(params, dict):
                told = found.get(str(params.get("taskId")))
                if told is not None:
                    told.sightings.append(
                        Sighting("notification", exchange, params, exchange.started, at)
                    )
    for life in found.values():
        life.sightings.sort(key=lambda s: (s.ended, s.began))
    return found


def _group(all_lives: Iterable[Life]) -> None:
    groups: dict[object, Alike] = {}
    every = Alike(all_lives)
    for life in every:
        life.of_any_call = every
        if life.creation is not None:
            life.of_same_call = groups.setdefault(call_of(life.creation), Alike())
            life.of_same_call.append(life)


def call_of(call: Exchange) -> object:
    """What was called with which arguments: equal for two calls where both are the same."""
    return call.tool, hashable(call.params.get("arguments"))


def hashable(value: Any) -> object:
    """A JSON value as something that can be in a set: equal for two values that are equal."""
    if isinstance(value, dict):
        return "object", frozenset((name, hashable(each)) for name, each in value.items())
    if isinstance(value, list):
        return "array", tuple(hashable(each) for each in value)
    return value


def _reads(history: History) -> list[Sighting]:
    version = revision_named(history.circumstances.spec).protocol_version
    return [
        Sighting("read", exchange, exchange.task, exchange.started, exchange.ended)
        for exchange in history.exchanges
        if exchange.task is not None and exchange.protocol_version == version
    ]
