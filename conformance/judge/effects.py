"""What a request that should have changed nothing did to a task, as was seen afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from conformance.judge.asking import fails_anyway, requests_in, same_request
from conformance.judge.lives import Alike, Life, Sighting, may_have_expired
from conformance.specification.states import CANCELLED, COMPLETED, INPUT_REQUIRED, WORKING
from conformance.wire.exchange import Exchange

# Why it proves nothing that a task went on: ``moved_unasked``.
NOT_FOR_EVER = "another task of the same call went on by itself, though nobody had answered it"


@dataclass(frozen=True)
class Effect:
    """``seen`` is the sighting that shows it: the task moved, or it did not."""

    moved: bool
    seen: Sighting


def effect_of_update(life: Life, probe: Exchange) -> Effect | None:
    """Whether the answers of an update reached the task.

    ``None`` where the task had not just been seen to wait for these answers, where nobody looked
    before something else was sent that may have moved it, or where what was seen may have other
    reasons: a server may give up by itself what it asks.
    """
    answered = probe.params.get("inputResponses")
    keys = set(answered) if isinstance(answered, dict) else set()
    if not keys or not keys <= _open_keys_before(life, probe):
        return None
    until = _first_to_count([*life.updates, *life.cancels], probe)
    unmoved: Effect | None = None
    for sighting in _reads_after(life, probe):
        if sighting.ended > until:
            break
        if sighting.status in (WORKING, COMPLETED):
            return None if moved_unasked(life) else Effect(True, sighting)
        if sighting.status == INPUT_REQUIRED:
            if keys <= _open_keys(sighting):
                unmoved = Effect(False, sighting)
            elif not _still_asked(life, probe, sighting, keys):
                return None if moved_unasked(life) else Effect(True, sighting)
    return unmoved


def _still_asked(life: Life, probe: Exchange, sighting: Sighting, keys: set[str]) -> bool:
    """Whether all that the probe answered is still asked, under whatever keys: a server may
    supersede a request of its own accord."""
    before = [s for s in life.seen_by_reading() if s.ended <= probe.started]
    asked = requests_in(before[-1].task) if before else {}
    shown = requests_in(sighting.task).values()
    return all(any(same_request(asked.get(key), other) for other in shown) for key in keys)


def _open_keys(sighting: Sighting) -> set[str]:
    requests = sighting.task.get("inputRequests")
    waits = sighting.status == INPUT_REQUIRED and isinstance(requests, dict)
    return set(requests) if waits and requests is not None else set()


def _open_keys_before(life: Life, probe: Exchange) -> set[str]:
    """What was open when the task was last read before the probe, and had not been answered
    by then: an answer may take effect later than it is acknowledged."""
    before = [s for s in life.seen_by_reading() if s.ended <= probe.started]
    found = _open_keys(before[-1]) if before else set()
    for request in (*life.updates, *life.cancels):
        if request is probe or request.error is not None or request.started >= probe.started:
            continue
        responses = request.params.get("inputResponses")
        found -= set(responses) if isinstance(responses, dict) else found
    return found


def effect_of_cancel(life: Life, probe: Exchange) -> Effect | None:
    """Whether a cancel ended the task.

    ``None`` where the end was not seen, where it had come before, or where it may have another
    reason: another cancel that was not refused, or a server that itself cancels such tasks.
    """
    end = life.first_terminal
    if end is None or end.began < probe.ended:
        return None
    if end.status == CANCELLED and any(
        c is not probe and c.error is None and c.started < end.ended for c in life.cancels
    ):
        return None
    if end.status == CANCELLED and cancelled_unasked(life):
        return None
    return Effect(end.status == CANCELLED, end)


def cancelled_unasked(life: Life, *, but: Collection[str] = ()) -> bool:
    """Whether another task of the same call, none of those in ``but``, was cancelled though nobody
    had asked for it."""
    unasked = life.of_same_call.derive(_cancelled_unasked)
    return any(task_id != life.task_id and task_id not in but for task_id in unasked)


def _cancelled_unasked(tasks: Alike) -> frozenset[str]:
    return frozenset(
        life.task_id
        for life in tasks
        if not life.cancels and (end := life.first_terminal) is not None and end.status == CANCELLED
    )


def moved_unasked(life: Life) -> bool:
    """Whether another task of the same call stopped asking something though nobody had answered
    it: a server need not wait for ever, and may go on without what it was not told."""
    unasked = life.of_same_call.derive(_moved_unasked)
    return len(unasked) > (life.task_id in unasked)


def reason_to_go_on(
    life: Life, moved: Sighting, waiting: Mapping[str, object], known: Mapping[str, Life]
) -> str:
    """What else may have moved a task on that showed these requests and was not answered; empty
    where nothing is known."""
    if fails_anyway(life, moved, known):
        return "another task of the same call ended so too"
    if requests_in(moved.task).keys() - waiting.keys():
        # A request that is superseded by another need not be answered any more.
        return "the task asks for something else instead"
    return NOT_FOR_EVER if moved_unasked(life) else ""


def _moved_unasked(tasks: Alike) -> frozenset[str]:
    return frozenset(life.task_id for life in tasks if _gave_up_asking(life))


def _gave_up_asking(life: Life) -> bool:
    waiting: Sighting | None = None
    for sighting in life.seen_by_reading():
        if waiting is not None and not _open_keys(waiting) <= _open_keys(sighting):
            if not waiting.certainly_before(sighting):
                continue
            return not may_have_expired(life, sighting.ended) and not any(
                _may_have_moved(request, waiting, sighting)
                for request in (*life.updates, *life.cancels)
            )
        if _open_keys(sighting):
            waiting = sighting
    return False


def _may_have_moved(request: Exchange, waiting: Sighting, moved: Sighting) -> bool:
    """Whether it may come of a request that a task moved after it was last seen to wait: a request
    that was refused before that has done nothing."""
    refused_before = request.error is not None and request.ended <= waiting.began
    return request.started < moved.ended and not refused_before


def _first_to_count(requests: Sequence[Exchange], probe: Exchange) -> float:
    """When the first further request began that was not refused; infinity where there is none."""
    others = (
        r.started
        for r in requests
        if r is not probe and r.error is None and r.ended > probe.started
    )
    return min(others, default=float("inf"))


def _reads_after(life: Life, probe: Exchange) -> list[Sighting]:
    """What the task's own caller read after the probe was answered."""
    return [
        sighting
        for sighting in life.seen_by_reading()
        if sighting.exchange.caller == life.caller and sighting.began >= probe.ended
    ]
