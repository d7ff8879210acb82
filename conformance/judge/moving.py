"""Whether a task goes on once what it asked is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.judge.asking import (
    answers_of,
    cancelled_before,
    fits,
    long_enough,
    open_before,
    read_before,
    reads_between,
    requests_in,
    same_request,
    url_of,
)
from conformance.judge.expectations import is_wordless, unanswered
from conformance.judge.lives import Life, Sighting, lives, may_have_expired
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.pace import intervals_of
from conformance.specification.names import code_words
from conformance.wire.exchange import ORDINARY, Exchange
from conformance.wire.history import History

# What is meant by an update that answers as a careful client does, and as one that says no.
CAREFUL = (ORDINARY, "answer-all", "answer-rest")
REFUSING = ("decline-all", "cancel-all")
# A server may show a change one read late, so that the last of few reads tells nothing.
_LOOKS = 3
# Why it proves nothing that a server did not take an answer, once.
REFUSED_ONCE = "the answer was refused once, which a failure of the moment may have done"


def moves_on(history: History, life: Life, update: Exchange) -> Observation | None:
    """Whether a task went on after an update that answered the last of its open requests.

    ``None`` where the update did not answer all of them. What another update or a cancellation may
    have done, or the end of the task's time, is not credited to this one.
    """
    waiting, answered = open_before(life, update), answers_of(update)
    if not waiting or not waiting.keys() <= answered.keys():
        return None
    seen_before = read_before(life, update.started)
    assert seen_before is not None
    hindrance = unanswered(update)
    if hindrance and not is_wordless(update):
        return unclear(update, hindrance)
    last: Sighting | None = None
    looks = 0
    for sighting in reads_between(life, update.ended, _next_to_count(life, update)):
        if may_have_expired(life, sighting.ended):
            break
        still = {
            key
            for key, request in requests_in(sighting.task).items()
            if key in waiting and same_request(request, waiting[key])
        }
        if not still:
            return holds((update, sighting.exchange))
        last, looks = sighting, looks + 1
    evidence: tuple[Exchange, ...] = (seen_before.exchange, update)
    if last is None:
        return unclear(evidence, "the task was not read after the answer")
    evidence = (*evidence, last.exchange)
    if cancelled_before(life, last.ended):
        return unclear(evidence, "the task was cancelled before it could be seen to move")
    if not all(fits(answered[key], waiting[key]) for key in waiting):
        return unclear(evidence, "no answer that fits the requestedSchema could be made")
    if any(url_of(request) is not None for request in waiting.values()):
        return unclear(evidence, "a request in url mode may wait for what happens elsewhere")
    if update.result is None and _answered_by_others(life, update, waiting):
        return unclear(evidence, "the update was refused, and another had answered before")
    waited = last.began - update.ended
    # What is to be read seldom may be slow to show what came of an answer.
    patience = max(long_enough(history), 2 * max(intervals_of(life), default=0.0))
    if update.result is not None and (waited < patience or looks < _LOOKS):
        return unclear(evidence, f"the task was still waiting {waited:.1f} s after the answer")
    return broken(
        evidence,
        _stuck_note(update),
        expected="the task goes on",
        found="status 'input_required' with the same requests",
        member="/result/status",
    )


def _next_to_count(life: Life, update: Exchange) -> float:
    """When the next update or cancellation was sent that was not refused, or infinity."""
    later = (
        request.started
        for request in (*life.updates, *life.cancels)
        if request is not update and request.started >= update.started and request.error is None
    )
    return min(later, default=float("inf"))


def _answered_by_others(life: Life, update: Exchange, waiting: Mapping[str, object]) -> bool:
    return any(
        other is not update and other.error is None and waiting.keys() & answers_of(other).keys()
        for other in life.updates
    )


def _stuck_note(update: Exchange) -> str:
    if update.result is None:
        said = f"refused with error {code_words(update.error_code)}"
        met = said if update.error is not None else f"met with {update.outcome}"
        return (
            "take the answers that tasks/update brings: all open requests were answered, the"
            f" update was {met}, and the task still waits"
        )
    return (
        "let the task go on when the last of its open requests is answered: the answers were"
        " acknowledged, and the task still shows the same requests"
    )


def careful_updates(history: History, intents: tuple[str, ...]) -> Iterator[tuple[Life, Exchange]]:
    """Updates by the task's own caller, with one of these intents."""
    for life in lives(history).values():
        for update in life.updates:
            own = update.caller == life.caller and update.declares_tasks
            if own and update.intent in intents:
                yield life, update
