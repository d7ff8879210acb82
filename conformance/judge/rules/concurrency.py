"""concurrency: many tasks, and many readers, at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from conformance.judge.lifetimes import asked_by_its_caller
from conformance.judge.lives import Life, Sighting, lives, may_have_expired
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.rule import IMPLIED, rule
from conformance.judge.times import Moment, certainly_before, moment_of
from conformance.specification.citations import tasks
from conformance.specification.states import COMPLETED, PAYLOAD_OF
from conformance.target.roles import ECHO, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History
from conformance.wire.parsing import dump_json

_NEVER = float("inf")
# A text shorter than this may stand in a result by chance.
_TELLING_LENGTH = 6


@rule(
    "concurrency.no-cross-talk",
    IMPLIED,
    tasks("tasks"),
    needs=(ECHO,),
    after=("creation.unique-ids", "polling.same-task", "polling.completed"),
)
def tasks_keep_their_own(history: History) -> Iterator[Observation]:
    """Tasks that are made together keep their own arguments and results."""
    made = {
        str(life.creation.notes["marker"]): life
        for life in lives(history).values()
        if life.creation is not None
        and life.creation.intent == "create-with-marker"
        and "marker" in life.creation.notes
    }
    for life in made.values():
        sent = texts_sent(life.creation)
        others = {
            text: other
            for other in made.values()
            if other is not life and other.tool == life.tool
            for text in texts_sent(other.creation) - sent
        }
        yield from _own_texts(life, sent, others)


def texts_sent(creation: Exchange | None) -> set[str]:
    """The texts among a call's arguments that hold its marker, or the beginning of it."""
    if creation is None:
        return set()
    marker = str(creation.notes.get("marker"))
    arguments = creation.params.get("arguments")
    values = arguments.values() if isinstance(arguments, dict) else ()
    return {
        value
        for value in values
        if isinstance(value, str)
        and len(value) >= _TELLING_LENGTH
        and (marker in value or marker.startswith(value))
    }


def _own_texts(life: Life, sent: set[str], others: dict[str, Life]) -> Iterator[Observation]:
    for sighting in life.seen_by_reading():
        shown = dump_json(sighting.task.get("result") or {})
        foreign = next((text for text in others if text in shown), None)
        own = any(text in shown for text in sent)
        creation = () if life.creation is None else (life.creation,)
        if foreign is not None and own:
            yield unclear(
                (*creation, sighting.exchange),
                "the result repeats the texts of several calls: the tool may tell of all of them",
            )
        elif foreign is not None:
            other = others[foreign].creation
            yield broken(
                (*creation, *(() if other is None else (other,)), sighting.exchange),
                "keep each task's arguments and result apart: this one shows the text that"
                " another call was given at the same time",
                expected=f"{min(sent, default='')!r:.60}",
                found=f"{foreign!r:.60}",
                member="/result/result",
            )
        elif sighting.status == COMPLETED and own and others:
            yield holds((*creation, sighting.exchange))
        elif sighting.status == COMPLETED:
            yield unclear(
                (*creation, sighting.exchange),
                "the result does not repeat the text of the call"
                if others
                else "no other task was made at the same time",
            )


@rule(
    "concurrency.reads-agree",
    IMPLIED,
    tasks("tasks"),
    needs=(TASK,),
    after=("polling.same-task", "creation.unique-ids", "polling.rate-limit-honest"),
)
def readers_see_one_history(history: History) -> Iterator[Observation]:
    """Parallel readers see one history: none is shown a state older than one already seen.

    Judged where an older state was shown between two readings of the newer one, each
    answered before the next was asked, so that the order is certain. It holds where several
    read at the same time, or one elsewhere after a change; who reads an ended task again has
    seen nothing.
    """
    for life in lives(history).values():
        seen = [
            s
            for s in life.seen_by_reading()
            if asked_by_its_caller(life, s.exchange, history)
            and not may_have_expired(life, s.ended)
        ]
        requests = (*life.updates, *life.cancels)
        older = _older_between(seen, min((r.started for r in requests), default=_NEVER))
        if older is not None:
            first, stale, last = older
            yield broken(
                (first.exchange, stale.exchange, last.exchange),
                "show every reader of a task the same, latest state: after"
                f" {first.status!r} had been read, {stale.status!r} was read, and then"
                f" {last.status!r} again",
                expected=f"status {first.status!r}, as read before and after",
                found=f"status {stale.status!r}",
                member="/result/status",
            )
        elif not requests and any(s.terminal for s in seen):
            compared = _read_together(seen) or _read_elsewhere_after_a_change(seen)
            if compared is not None:
                yield holds(tuple(s.exchange for s in compared))


def _place(sighting: Sighting) -> tuple[str, int]:
    return sighting.exchange.connection, sighting.exchange.replica


def _read_together(seen: list[Sighting]) -> tuple[Sighting, Sighting] | None:
    """Two reads on different connections, or replicas, at the same time."""
    for one, other in combinations(seen, 2):
        in_turn = one.certainly_before(other) or other.certainly_before(one)
        if _place(one) != _place(other) and not in_turn:
            return one, other
    return None


def _read_elsewhere_after_a_change(seen: list[Sighting]) -> tuple[Sighting, Sighting] | None:
    """A read that showed a state new to its readers, and a later one on another connection."""
    for index, changed in enumerate(seen):
        if all(s.status == changed.status for s in seen[:index]):
            continue
        for later in seen[index + 1 :]:
            if changed.certainly_before(later) and _place(changed) != _place(later):
                return changed, later
    return None


def _older_between(
    seen: list[Sighting], first_request: float
) -> tuple[Sighting, Sighting, Sighting] | None:
    """An older state between two sightings of a newer one.

    ``first_request`` is when an answer or a cancellation was first sent: their effect may come
    late, and not everywhere at once, but an end that was seen is not undone by them.
    """
    for index, newer in enumerate(seen):
        for stale in seen[index + 1 :]:
            if not newer.certainly_before(stale) or not _is_older(stale, newer):
                continue
            until = _NEVER if newer.terminal else first_request
            for again in seen:
                in_order = stale.certainly_before(again) and again.ended <= until
                if in_order and _is_same(newer, again):
                    return newer, stale, again
    return None


def _is_older(one: Sighting, other: Sighting) -> bool:
    """Whether one shows an older state than the other, by what both of them say."""
    if other.terminal and not one.terminal:
        return True
    ours, theirs = _updated_at(one), _updated_at(other)
    if ours is None or theirs is None or not certainly_before(ours, theirs):
        return False
    return one.status != other.status or _payload(one) != _payload(other)


def _updated_at(sighting: Sighting) -> Moment | None:
    text = sighting.task.get("lastUpdatedAt")
    return moment_of(text) if isinstance(text, str) else None


def _is_same(one: Sighting, other: Sighting) -> bool:
    return (
        one.status == other.status
        and _payload(one) == _payload(other)
        and (one.terminal or one.task.get("lastUpdatedAt") == other.task.get("lastUpdatedAt"))
    )


def _payload(sighting: Sighting) -> object:
    return sighting.task.get(PAYLOAD_OF.get(str(sighting.status), ""))
