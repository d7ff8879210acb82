"""polling: reading changes nothing, and brings a result whole."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.large import broken_off, large_reads, large_tools, length_of
from conformance.judge.lifetimes import AFTER_RESTART, certainly_within_ttl
from conformance.judge.lives import (
    Life,
    Sighting,
    call_of,
    lives,
    lost_outcome,
    may_have_expired,
    outcome_of,
)
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.rule import IMPLIED, MUST, rule
from conformance.judge.shown import brief, ended_worse, hurried, is_quiet, reads_meant
from conformance.specification.citations import sep, tasks
from conformance.specification.names import INVALID_PARAMS, TOOLS_CALL
from conformance.specification.states import COMPLETED, FAILED, INPUT_REQUIRED
from conformance.target.roles import LARGE, LARGE_BYTES, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History


@rule(
    "polling.pure-read",
    IMPLIED,
    sep("rationale"),
    needs=(TASK,),
    after=("creation.durable", "creation.unique-ids", "polling.shape"),
)
def reading_changes_nothing(history: History) -> Iterator[Observation]:
    """Reading a task changes nothing: a result can be read again, and reads change no outcome.

    lastUpdatedAt is left to polling.updated-at-tracks-change, and a result that turns into
    another to lifecycle.terminal-is-final. A task may advance only when it is read, as long as
    the reads do not change where it gets to.
    """
    reads_of = {
        task_id: [s for s in life.seen_by_reading() if not may_have_expired(life, s.ended)]
        for task_id, life in lives(history).items()
    }
    # Where ended tasks can be read twice, it is not the reading that makes one go.
    read_twice = any(sum(s.terminal for s in reads) > 1 for reads in reads_of.values())
    for task_id, life in lives(history).items():
        reads = reads_of[task_id]
        yield from _same_when_read_again(life, reads)
        if not read_twice:
            yield from _gone_when_read_again(life, reads, history)
        yield from _keys_made_by_reading(life, reads)
    yield from _outcomes_of_many_reads(history)


def _same_when_read_again(life: Life, reads: list[Sighting]) -> Iterator[Observation]:
    ended = [s for s in reads if s.terminal]
    for later in ended[1:]:
        first = ended[0]
        if first.status != later.status or not is_quiet(life, first, later):
            continue
        if outcome_of(first.task) == outcome_of(later.task):
            yield holds((first.exchange, later.exchange))
        if not lost_outcome(first.task, later.task):
            continue
        member = "error" if first.status == FAILED else "result"
        yield broken(
            (first.exchange, later.exchange),
            f"answer every read of an ended task alike: its {member} was gone when it was read"
            " again, though nothing had been sent in between",
            expected=f"the same {member}",
            found=brief(later.task.get(member)) if member in later.task else f"no {member}",
            member=f"/result/{member}",
        )


def _gone_when_read_again(
    life: Life, reads: list[Sighting], history: History
) -> Iterator[Observation]:
    first = next((s for s in reads if s.terminal), None)
    if first is None:
        return
    for read in life.reads:
        again = (
            read.started >= first.ended
            and read.error_code == INVALID_PARAMS
            and read.params.keys() <= {"taskId", "_meta"}
            and read.caller == first.exchange.caller == life.caller
            and read.protocol_version is not None
            and read.declares_tasks
            and read.replica == first.exchange.replica
            and read.intent != AFTER_RESTART
            and certainly_within_ttl(life, read, history)
        )
        if any(first.ended <= s.began and s.ended <= read.started for s in reads):
            return  # it could be read again: what came later, expiry.not-before-ttl says
        if again and not any(s.started < read.ended for s in (*life.updates, *life.cancels)):
            yield broken(
                (first.exchange, read),
                "keep a task until its ttlMs is over: it could not be read again after its end"
                " had been read",
                expected=f"the task, {first.status!r}",
                found=read.outcome,
                member="/error/code",
            )
            return


def _keys_made_by_reading(life: Life, reads: list[Sighting]) -> Iterator[Observation]:
    """Three quiet reads that show the same requests under three sets of keys."""
    waiting = [
        s
        for s in reads
        if s.status == INPUT_REQUIRED
        and isinstance(s.task.get("inputRequests"), dict)
        and s.task["inputRequests"]
    ]
    for one, two, three in zip(waiting, waiting[1:], waiting[2:], strict=False):
        if not is_quiet(life, one, two) or not is_quiet(life, two, three):
            continue
        if _only_keys_differ(one, two) and _only_keys_differ(two, three):
            yield broken(
                (one.exchange, two.exchange, three.exchange),
                "keep the keys of open requests from read to read: the same requests came under"
                " new keys each time, so a client asks its user again and again",
                expected=brief(one.task["inputRequests"]),
                found=brief(three.task["inputRequests"]),
                member="/result/inputRequests",
            )
            return
        if one.task["inputRequests"] == two.task["inputRequests"]:
            yield holds((one.exchange, two.exchange))


def _only_keys_differ(one: Sighting, other: Sighting) -> bool:
    before, after = one.task["inputRequests"], other.task["inputRequests"]
    return before.keys().isdisjoint(after) and list(before.values()) == list(after.values())


def _outcomes_of_many_reads(history: History) -> Iterator[Observation]:
    """A task that was read very often ends as others of the same call do."""
    for life in hurried(history):
        early = reads_meant(life, "early-poll")
        if any(read.task is None for read in early):
            continue  # polling.rate-limit-honest looks at those
        worse = ended_worse(history, life)
        if worse is None:
            continue
        end = worse.sighting
        if worse.by_chance:
            yield unclear(
                (early[-1], end.exchange),
                f"a task that was read often ended as {end.status}, which may be chance",
            )
            continue
        yield broken(
            (early[-1], end.exchange),
            "reading must not change what becomes of a task: one that was read often ended"
            f" as {end.status}, while the same call completes when it is read at its pace",
            expected="the task completes",
            found=f"status {end.status!r}",
            member="/result/status",
        )


@rule("polling.large-result", MUST, tasks("response"), needs=(LARGE,))
def large_results_arrive_whole(history: History) -> Iterator[Observation]:
    """A large result arrives whole.

    A connection may be lost once; and a text that is shorter than that of the plain call is a
    part of it only where the plain call has the same text each time.
    """
    tools = history.derive(large_tools)
    for life, read in large_reads(history):
        problem = broken_off(life, read)
        if problem is not None:
            yield problem
        elif life.tool in tools and read.task is not None and read.task.get("status") == COMPLETED:
            yield _cut_short(history, life, read) or _whole(read)


def _whole(read: Exchange) -> Observation:
    length = length_of(read)
    if length < LARGE_BYTES:
        return unclear(read, f"the answer has only {length} bytes")
    return holds(read)


def _cut_short(history: History, life: Life, read: Exchange) -> Observation | None:
    """A result that is only the beginning of what the same call answers directly, each time."""
    text = _text_of((read.task or {}).get("result"))
    if life.creation is None or not text:
        return None
    plain_calls = history.derive(_told_at_once).get(call_of(life.creation), ())
    for plain in plain_calls:
        whole = _text_of(plain.result) if plain.ended <= life.creation.started else ""
        if len(whole) <= len(text) or not whole.startswith(text):
            continue
        if sum(_text_of(other.result) == whole for other in plain_calls) < 2:
            return unclear((plain, read), "the call was not answered alike twice without a task")
        return broken(
            (plain, read),
            "inline the whole result: the task has only the beginning of what the same call"
            " answered without a task",
            expected=f"a text of {len(whole)} characters",
            found=f"its first {len(text)} characters",
            member="/result/result/content",
        )
    return None


def _told_at_once(history: History) -> dict[object, list[Exchange]]:
    """The calls that were answered with a text, by what was called."""
    found: dict[object, list[Exchange]] = {}
    for call in history.of_method(TOOLS_CALL):
        if _text_of(call.result):
            found.setdefault(call_of(call), []).append(call)
    return found


def _text_of(result: object) -> str:
    """The one text of a result; empty where it has none, or several parts."""
    content = result.get("content") if isinstance(result, dict) else None
    part = content[0] if isinstance(content, list) and len(content) == 1 else None
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""
