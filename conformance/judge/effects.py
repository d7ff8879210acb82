"""What a request that should have changed nothing did to a task, as was seen afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from conformance.judge.asking import did_nothing, fails_anyway, requests_in, same_request
from conformance.judge.lives import Alike, Life, Sighting, may_have_expired
from conformance.specification.states import CANCELLED, COMPLETED, INPUT_REQUIRED, WORKING
from conformance.wire.exchange import Exchange

# Why it proves nothing that a task went on: ``moved_by_itself``.
_NOT_FOR_EVER = "another task of the same call went on by itself, though nobody had answered it"
_NOT_SEEN = "no other task was left without an answer for so long, so it may go on by itself then"
# Nobody gives a person less time for an answer.
_SOON_SECONDS = 1.0


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
    others = [r for r in (*life.updates, *life.cancels) if r is not probe]
    # What was refused may have done something all the same: what moved after it may be its doing,
    # but a task that waits after it shows that neither had an effect.
    until = _first_after(probe, [r for r in others if r.error is None])
    surely_until = _first_after(probe, [r for r in others if _may_have_acted(r, probe)])
    unmoved: Effect | None = None
    for sighting in _reads_after(life, probe):
        if sighting.ended > until:
            break
        still = sighting.status == INPUT_REQUIRED and keys <= _open_keys(sighting)
        if still:
            unmoved = Effect(False, sighting)
        elif sighting.status in (WORKING, COMPLETED) or (
            sighting.status == INPUT_REQUIRED and not _still_asked(life, probe, sighting, keys)
        ):
            if sighting.ended > surely_until or moved_by_itself(life, sighting):
                return None
            return Effect(True, sighting)
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
    by then: an answer may take effect later than it is acknowledged, and one that was refused
    after that read may have had one."""
    before = [s for s in life.seen_by_reading() if s.ended <= probe.started]
    if not before:
        return set()
    found = _open_keys(before[-1])
    for request in (*life.updates, *life.cancels):
        if request is probe or request.started >= probe.started:
            continue
        if not _may_have_acted(request, probe):
            continue
        if request.error is not None and request.ended <= before[-1].began:
            continue
        responses = request.params.get("inputResponses")
        found -= set(responses) if isinstance(responses, dict) else found
    return found


def effect_of_cancel(life: Life, probe: Exchange) -> Effect | None:
    """Whether a cancel ended the task.

    ``None`` where the end was not seen, where it had come before, or may have, or where it may have
    another reason: another cancel, unless it was refused and the task was seen to live after it,
    or a server that itself cancels such tasks.
    """
    end = life.first_terminal
    if end is None or end.began < probe.ended:
        return None
    if end.status == CANCELLED and any(
        c is not probe
        and c.started < end.ended
        and _may_have_acted(c, probe)
        and not did_nothing(life, c)
        for c in life.cancels
    ):
        return None
    if end.status == CANCELLED and cancelled_unasked(life):
        return None
    if end.status != CANCELLED and not any(
        not seen.terminal and seen.began >= probe.started for seen in life.seen_by_reading()
    ):
        return None
    return Effect(end.status == CANCELLED, end)


def _may_have_acted(other: Exchange, probe: Exchange) -> bool:
    """Whether another request may have done what the probe is suspected of. One that was refused
    may have, but not rather than a probe that was served."""
    return other.error is None or probe.error is not None


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


def moved_by_itself(life: Life, moved: Sighting) -> str:
    """Why a task may have stopped asking without an answer; empty where it waits for one.

    A server need not wait for ever, and may go on without what it was not told. That it waits for
    so long shows where another task of the same call was left without an answer; or one of
    another call, if none of these went on by itself.
    """
    alike = _left_alone(life.of_same_call, life.task_id)
    if any(left.gave_up for left in alike):
        return _NOT_FOR_EVER
    waited = _waited_at_most(life, moved)
    # Tasks of the same call ask at about the same age.
    age = moved.ended - life.creation.started if life.creation is not None else float("inf")
    if waited <= _SOON_SECONDS or any(left.age >= age for left in alike):
        return ""
    others = _left_alone(life.of_any_call, life.task_id)
    if not any(left.gave_up for left in others) and any(o.seconds >= waited for o in others):
        return ""
    return _NOT_SEEN


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
    return moved_by_itself(life, moved)


@dataclass(frozen=True)
class _LeftAlone:
    """For how many seconds at least a task was seen to ask the same, to which age, and whether it
    stopped though nothing had been sent that may have moved it."""

    task_id: str
    seconds: float
    age: float
    gave_up: bool


def _left_alone(tasks: Alike, but: str) -> list[_LeftAlone]:
    return [left for left in tasks.derive(_all_left_alone) if left.task_id != but]


def _all_left_alone(tasks: Alike) -> list[_LeftAlone]:
    return [left for life in tasks if (left := _how_left_alone(life)) is not None]


def _how_left_alone(life: Life) -> _LeftAlone | None:
    waits: list[Sighting] = []
    gave_up = False
    for sighting in life.seen_by_reading():
        if waits and not _open_keys(waits[-1]) <= _open_keys(sighting):
            if not waits[-1].certainly_before(sighting):
                continue
            gave_up = not may_have_expired(life, sighting.ended) and not any(
                _may_have_moved(request, waits[-1], sighting)
                for request in (*life.updates, *life.cancels)
            )
            break
        if _open_keys(sighting):
            waits.append(sighting)
    if not waits:
        return None
    first, last = waits[0], waits[-1]
    seconds = max(last.began - first.ended, 0.0)
    return _LeftAlone(life.task_id, seconds, last.began - life.creation_ended, gave_up)


def _waited_at_most(life: Life, moved: Sighting) -> float:
    """For how many seconds a task may have asked in vain what it had stopped to ask when it was
    seen to have moved."""
    began = life.creation.started if life.creation is not None else float("-inf")
    asked = False
    for sighting in life.seen_by_reading():
        if sighting is moved:
            break
        if not asked and not _open_keys(sighting):
            began = max(began, sighting.began)
        asked = asked or bool(_open_keys(sighting))
    return moved.ended - began


def _may_have_moved(request: Exchange, waiting: Sighting, moved: Sighting) -> bool:
    """Whether it may come of a request that a task moved after it was last seen to wait: a request
    that was refused before that has done nothing."""
    refused_before = request.error is not None and request.ended <= waiting.began
    return request.started < moved.ended and not refused_before


def _first_after(probe: Exchange, requests: Sequence[Exchange]) -> float:
    """When the first of some requests that had not ended before the probe began; infinity where
    there is none."""
    return min((r.started for r in requests if r.ended > probe.started), default=float("inf"))


def _reads_after(life: Life, probe: Exchange) -> list[Sighting]:
    """What the task's own caller read after the probe was answered."""
    return [
        sighting
        for sighting in life.seen_by_reading()
        if sighting.exchange.caller == life.caller and sighting.began >= probe.ended
    ]
