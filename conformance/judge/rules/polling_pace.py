"""polling: how soon tasks/get answers, and at which pace it may be asked."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import islice

from conformance.judge.expectations import unanswered
from conformance.judge.lifetimes import asked_by_its_caller, certainly_within_ttl, says_gone
from conformance.judge.lives import Life, Sighting, lives, may_have_expired
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.pace import (
    Poll,
    asked_to_wait,
    first_impatience,
    intervals_of,
    one_was_early,
    polls,
)
from conformance.judge.rule import ADVICE, IMPLIED, rule
from conformance.judge.shown import ended_worse, hurried, moment_told, reads_meant
from conformance.judge.times import SECOND
from conformance.specification.citations import sep, tasks
from conformance.specification.names import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    TASKS_GET,
    UNSUPPORTED_VERSION,
    code_words,
)
from conformance.specification.states import WORKING
from conformance.target.roles import SLOW, SLOW_SECONDS
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# So many other requests have to be served while a read waits, before the read is blamed.
_SERVED_MEANWHILE = 3

# What a refusal for the pace must not be: each of these says something else of the task.
_MISLEADING_CODES = (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
)


@rule(
    "polling.does-not-block",
    ADVICE,
    sep("rationale"),
    needs=(SLOW,),
    after=("creation.durable", "polling.updated-at-tracks-change"),
)
def reading_does_not_wait_for_the_end(history: History) -> Iterator[Observation]:
    """tasks/get answers with the task as it is; it does not wait for the task to end.

    A read that waits ties up a connection on both sides, which tasks exist to avoid.
    """
    by_tool: dict[str, list[Life]] = {}
    for life in lives(history).values():
        by_tool.setdefault(str(life.tool), []).append(life)
    for tool_lives in by_tool.values():
        yield from _waits_for_the_end(history, tool_lives)


def _waits_for_the_end(history: History, tool_lives: list[Life]) -> Iterator[Observation]:
    waited: list[Sighting] = []
    for life in tool_lives:
        for sighting in life.seen_by_reading():
            quick = sighting.ended - sighting.began < SLOW_SECONDS
            if sighting.status == WORKING and quick:
                yield holds(sighting.exchange)
                return
        first = next((s for s in life.seen_by_reading() if s.terminal), None)
        if (
            first is not None
            and first.exchange.certainly_took >= SLOW_SECONDS
            and _worked_until(life, first) - first.began >= SLOW_SECONDS
        ):
            waited.append(first)
    if not waited:
        return
    again = [
        s.ended - s.began
        for life in tool_lives
        for s in life.seen_by_reading()
        if s.terminal and any(w.certainly_before(s) for w in waited)
    ]
    exchanges = tuple(s.exchange for s in waited[:3])
    shortest = min(s.ended - s.began for s in waited)
    lively = all(_others_were_served(history, sighting) for sighting in waited)
    if len(waited) > 1 and lively and again and statistics.median(again) < shortest / 2:
        yield broken(
            exchanges,
            "answer tasks/get at once with the status as it is: the read of a working task was"
            f" answered only after {shortest:.1f} s, when the task had ended",
            expected="an answer that does not wait",
            found=f"answers after {shortest:.1f} s and more",
            member="/result/status",
        )
    else:
        yield unclear(exchanges, "a read took long, but not certainly because the task did")


def _others_were_served(history: History, waited: Sighting) -> bool:
    """Whether other requests came and went, quickly, while this one waited. Where none did, a
    busy server or a busy machine is the simpler explanation."""
    least = (waited.ended - waited.began) / 4
    quick = (
        other
        for other in history.exchanges
        if waited.began < other.started
        and other.ended < waited.ended
        and other.response is not None
        and other.ended - other.started < least
    )
    return len(list(islice(quick, _SERVED_MEANWHILE))) == _SERVED_MEANWHILE


def _worked_until(life: Life, end: Sighting) -> float:
    """When a task ended at the earliest, by its own times: createdAt lies within its call."""
    created, updated = moment_told(end, "createdAt"), moment_told(end, "lastUpdatedAt")
    if life.creation is None or created is None or updated is None:
        return float("-inf")
    least = updated.nanoseconds - created.nanoseconds - max(created.resolution, updated.resolution)
    return life.creation.started + least / SECOND


@rule(
    "polling.obedient-poll-served",
    ADVICE,
    tasks("task-polling"),
    needs=(SLOW,),
    after=("polling.durations",),
)
def obedient_polls_are_served(history: History) -> Iterator[Observation]:
    """A client that keeps pollIntervalMs is never rate limited.

    The text lets servers limit clients that poll more often than recorded; it does not promise
    that all others are served. A limit may be on the client as a whole: where the suite itself
    had polled anything early before, had read another task in the same interval, or was limited
    with other requests too, nothing is concluded.
    """
    read = next((life.reads[0] for life in lives(history).values() if life.reads), None)
    if read is not None and not any(intervals_of(life) for life in lives(history).values()):
        yield unclear(read, "the server tells no pollIntervalMs that a client could keep")
    limited_elsewhere = next((e for e in history if e.rate_limited and e.method != TASKS_GET), None)
    for poll in polls(history):
        exchange = poll.exchange
        if not poll.kept:
            continue
        if not exchange.rate_limited:
            if exchange.task is not None:
                yield holds(exchange)
        elif limited_elsewhere is not None:
            yield unclear(
                (limited_elsewhere, exchange),
                "other requests were rate limited too, so the limit is not about polling",
            )
        elif exchange.ended > first_impatience(history):
            yield unclear(
                exchange,
                "a poll at its pace was refused, but others had come early by then",
            )
        elif (other := _other_read(history, poll)) is not None:
            yield unclear(
                (other, exchange),
                "a poll at its pace was refused, but another task had been read in the same"
                " interval, and the limit may be on both together",
            )
        else:
            yield broken(
                (*_one_before(poll), exchange),
                "serve a client that keeps pollIntervalMs, or tell it a longer interval: a poll"
                f" was refused {poll.waited:.2f} s after the answer before it",
                expected="the task",
                found=exchange.outcome,
            )


def _other_read(history: History, poll: Poll) -> Exchange | None:
    """A read of anything else by the same caller within the interval before a poll was answered."""
    since = poll.exchange.started - max(intervals_of(poll.life), default=0.0)
    return next(
        (
            other
            for other in history.of_method(TASKS_GET)
            if other.caller == poll.exchange.caller
            and other.task_id != poll.life.task_id
            and other.started < poll.exchange.ended
            and other.ended > since
        ),
        None,
    )


def _one_before(poll: Poll) -> tuple[Exchange, ...]:
    """The answer from which the interval of a poll counts."""
    earlier = [read for read in poll.life.reads if read.started < poll.exchange.started]
    if earlier:
        return (max(earlier, key=lambda read: read.ended),)
    return (poll.life.creation,) if poll.life.creation is not None else ()


@rule(
    "polling.rate-limit-honest",
    IMPLIED,
    tasks("task-polling"),
    needs=(SLOW,),
    after=("polling.obedient-poll-served",),
)
def early_polls_are_refused_clearly(history: History) -> Iterator[Observation]:
    """A poll that is too early is served, or refused so that nobody takes it for something else.

    HTTP 429 is clear, and so is an error of a code that has no other meaning here. Polls at
    their pace are served again in the end, and the task is none the worse for it. For how long a
    client that was early may be refused, the text does not say.
    """
    for life in hurried(history):
        early = reads_meant(life, "early-poll")
        before = [s for s in life.seen_by_reading() if s.ended <= early[0].started]
        if not before:
            yield unclear(early[0], "the task could not be read before it was polled early")
            continue
        told = False
        for observation in (
            *_misleading_refusals(life, early),
            *_refused_afterwards(history, life, early),
            *_false_ends(life, early),
            *_harmed(history, life, early),
        ):
            told = True
            yield observation
        answered = [read for read in early if read.rate_limited or not unanswered(read)]
        if answered and not told and not one_was_early(life):
            yield unclear(early[0], "no poll was certainly too early")
        elif answered and not told:
            refused = sum(read.rate_limited for read in answered)
            yield holds(answered[0], f"{refused} of {len(answered)} early polls were refused")
        elif not told:
            yield unclear(early[0], unanswered(early[0]))


def _misleading_refusals(life: Life, early: list[Exchange]) -> Iterator[Observation]:
    for read in early:
        if read.rate_limited or read.error_code not in _MISLEADING_CODES:
            continue
        later = next((s for s in life.seen_by_reading() if s.began >= read.ended), None)
        if later is not None:
            yield broken(
                (read, later.exchange),
                "refuse a poll that is too early with HTTP 429 (and Retry-After), not with"
                f" {code_words(read.error_code)}: a client takes the task for lost",
                expected="the task, or HTTP 429",
                found=read.outcome,
                member="/error/code",
            )


def _refused_afterwards(
    history: History, life: Life, early: list[Exchange]
) -> Iterator[Observation]:
    """The first poll after the early ones that kept its pace was refused again, and none that
    came later was served."""
    last = max(early, key=lambda read: read.ended)
    following = [
        poll
        for poll in polls(history)
        if poll.life is life and poll.exchange.started >= last.ended and poll.kept
    ]
    if not following:
        return
    poll = following[0]
    read = poll.exchange
    waits = [asked_to_wait(refusal) for refusal in early if refusal.rate_limited]
    ended = any(s.terminal and s.ended <= read.started for s in life.seen_by_reading())
    if ended or max(waits, default=0.0) > poll.waited or may_have_expired(life, read.ended):
        return
    if not read.rate_limited and (read.error_code != INVALID_PARAMS or _others_went(history, life)):
        return
    reason = "" if not read.rate_limited else _other_reason(history, life, last, following)
    if reason:
        yield unclear((last, read), reason)
        return
    yield broken(
        (last, read),
        "serve the polls that keep pollIntervalMs: after some polls that were too early they"
        f" were not served either, {poll.waited:.2f} s after the answer before it",
        expected="the task",
        found=read.outcome,
    )


def _others_went(history: History, hurried_life: Life) -> bool:
    """Whether a task that was never polled early was not found in its time either."""
    return any(
        says_gone(read, history) and certainly_within_ttl(life, read, history)
        for life in lives(history).values()
        if life is not hurried_life and not reads_meant(life, "early-poll")
        for read in life.reads
        if asked_by_its_caller(life, read, history)
    )


# So many polls that are refused, while another task is served, are no limit on the client.
_REFUSED_FOR_GOOD = 3


def _other_reason(history: History, life: Life, last: Exchange, following: list[Poll]) -> str:
    """Why the polls that followed the early ones may have been refused, but for those; empty
    where nothing else comes to mind."""
    first = following[0].exchange
    if any(s.began >= first.ended for s in life.seen_by_reading()):
        return "a poll at its pace was refused, but a later one was served"
    others = [
        other
        for other in history.exchanges
        if other.caller == first.caller
        and other.task_id != life.task_id
        and other.ended > last.ended
        and (other.method == TASKS_GET or other.rate_limited)
    ]
    if not any(other.started < first.ended for other in others):
        return ""
    served = any(other.task is not None and other.started >= first.ended for other in others)
    refused = sum(poll.exchange.rate_limited for poll in following)
    if served and refused >= _REFUSED_FOR_GOOD:
        return ""
    return "a poll at its pace was refused, but the limit may be on the client as a whole"


def _false_ends(life: Life, early: list[Exchange]) -> Iterator[Observation]:
    """An early poll that was answered with an end that was none."""
    keys = {read.key for read in early}
    sightings = life.seen_by_reading()
    for sighting in sightings:
        if sighting.exchange.key not in keys or not sighting.terminal:
            continue
        later = next(
            (
                s
                for s in sightings
                if sighting.certainly_before(s)
                and s.status != sighting.status
                and not may_have_expired(life, s.ended)
            ),
            None,
        )
        if later is not None:
            yield broken(
                (sighting.exchange, later.exchange),
                f"answer a poll that is too early with HTTP 429 or with the task: it was told"
                f" {sighting.status}, and afterwards the task was {later.status}",
                expected="the task as it is, or HTTP 429",
                found=f"status {sighting.status!r}",
                member="/result/status",
            )
            return


def _harmed(history: History, life: Life, early: list[Exchange]) -> Iterator[Observation]:
    if all(read.task is not None for read in early):
        return  # polling.pure-read looks at those
    worse = ended_worse(history, life)
    end = worse.sighting if worse is not None else None
    if worse is None or end is None or life.seen_by_reading()[-1].status != end.status:
        return
    if worse.by_chance:
        yield unclear(
            (early[-1], end.exchange),
            f"a task that was polled too early ended as {end.status}, which may be chance",
        )
    else:
        yield broken(
            (early[-1], end.exchange),
            f"leave the task alone when it is polled too early: it ended as {end.status}, while"
            " the same call completes when it is polled at its pace",
            expected="the task completes",
            found=f"status {end.status!r}",
            member="/result/status",
        )
