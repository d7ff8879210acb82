"""Tasks as handles and reads showed them, and what several rules of polling ask of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from conformance.judge.accidents import NO_CHANCE
from conformance.judge.asking import siblings
from conformance.judge.lives import Life, Sighting, any_between, lives, may_have_expired
from conformance.judge.pace import polls
from conformance.judge.requests import is_careful
from conformance.judge.times import Moment, moment_of
from conformance.specification.names import VERSIONS_OF_SESSIONS
from conformance.specification.revisions import revision_named
from conformance.specification.states import COMPLETED
from conformance.wire.exchange import Exchange
from conformance.wire.history import History


def tasks_shown(history: History) -> list[Sighting]:
    """Every task as a handle or a read showed it, in the order it was asked for."""
    return history.derive(_all_shown)


def _all_shown(history: History) -> list[Sighting]:
    found = [
        sighting
        for life in lives(history).values()
        for sighting in life.sightings
        if sighting.how != "notification"
    ]
    return sorted(found, key=lambda sighting: (sighting.began, sighting.ended))


def read_as(history: History, status: str) -> list[Sighting]:
    return [s for s in tasks_shown(history) if s.how == "read" and s.status == status]


def answered_reads(history: History) -> list[tuple[Life, Exchange]]:
    """Every tasks/get for a task that exists, answered with something other than an error. What
    was to be refused, for its caller, its headers or what it declares, is left out: it should not
    have been answered so at all."""
    version = revision_named(history.circumstances.spec).protocol_version
    found = [
        (life, read)
        for life in lives(history).values()
        for read in life.reads
        if read.response is not None
        and "error" not in read.response
        and read.protocol_version == version
        and (life.creation is None or read.caller == life.creation.caller)
        and (read.declares_tasks or version in VERSIONS_OF_SESSIONS)
        and is_careful(read, history)
    ]
    return sorted(found, key=lambda pair: (pair[1].started, pair[1].ended))


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def brief(value: object) -> str:
    """A value in a few words, for ``found``."""
    if isinstance(value, dict):
        return f"an object with {', '.join(map(repr, list(value)[:6]))}" if value else "{}"
    if isinstance(value, list):
        return "an array"
    return f"{value!r:.80}"


def moment_told(sighting: Sighting, name: str) -> Moment | None:
    value = sighting.task.get(name)
    return moment_of(value) if isinstance(value, str) else None


def is_quiet(life: Life, earlier: Sighting, later: Sighting) -> bool:
    """Whether one sighting is certainly before the other, and nothing but reads was sent to
    the task from the one to the other."""
    sent = (*life.updates, *life.cancels)
    return earlier.certainly_before(later) and not any_between(sent, earlier.began, later.ended)


def reads_meant(life: Life, intent: str) -> list[Exchange]:
    """The reads of a task that were sent with one intent, in order."""
    return sorted(
        (read for read in life.reads if read.intent == intent), key=lambda read: read.started
    )


def hurried(history: History) -> list[Life]:
    """Tasks of which some reads came too early on purpose."""
    return [life for life in lives(history).values() if reads_meant(life, "early-poll")]


@dataclass(frozen=True)
class WorseEnd:
    """How a task ended that was polled too early, while others of the same call completed.

    ``by_chance`` is whether it may be a coincidence: tools fail at times.
    """

    sighting: Sighting
    by_chance: bool


def ended_worse(history: History, life: Life) -> WorseEnd | None:
    """The end of a task that failed or was cancelled unasked, within its time, where every other
    task of the same call that was read at its pace completed."""
    end = _unasked_end(life)
    if end is None:
        return None
    hurried_ids = {poll.life.task_id for poll in polls(history) if not poll.kept}
    others = list(siblings(life, lives(history)))
    calm = [
        other.first_terminal.status
        for other in others
        if not reads_meant(other, "early-poll")
        and other.task_id not in hurried_ids
        and other.first_terminal is not None
        and not other.cancels
    ]
    if not calm or any(status != COMPLETED for status in calm):
        return None
    alike = any(reads_meant(o, "early-poll") and _unasked_end(o) is not None for o in others)
    return WorseEnd(end, by_chance=len(calm) < NO_CHANCE and not alike)


def _unasked_end(life: Life) -> Sighting | None:
    """The end of a task that did not complete, though nobody had cancelled it and its time was
    not over."""
    end = life.first_terminal
    if end is None or end.status == COMPLETED or life.cancels:
        return None
    return None if may_have_expired(life, end.ended) else end
