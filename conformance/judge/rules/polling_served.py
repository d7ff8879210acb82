"""polling: a task that is there is told, in whatever state, and each time it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.judge.lifetimes import asked_by_its_caller, certainly_within_ttl
from conformance.judge.lives import Life, lives, reads_of
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.passing import brings_nothing, passing_errors
from conformance.judge.rule import ADVICE, MUST, rule
from conformance.specification.citations import tasks
from conformance.specification.names import INTERNAL_ERROR, code_words
from conformance.target.roles import TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# So many reads of one task have to be refused in a row, and so many tasks have to share that fate,
# or so many reads of a single one: anything may fail once.
_READS = 3
_TASKS = 2
_READS_OF_ONE = 6
_LONG_SECONDS = 3.0
# A server that fails at random serves most of its tasks again: so many times as many have to be
# lost for good.
_MORE_THAN_RECOVERED = 4


@dataclass(frozen=True)
class _Reads:
    """What became of the reads of one task. ``in_vain`` are those in a row that were answered
    with an error, up to the end or until the task was in another state; ``before`` is the last
    that brought it before these, ``after`` the first thereafter."""

    life: Life
    before: Exchange | None
    in_vain: tuple[Exchange, ...]
    after: Exchange | None


@rule(
    "polling.served",
    MUST,
    tasks("response"),
    needs=(TASK,),
    after=(
        "negotiation.methods-served",
        "creation.durable",
        "expiry.not-before-ttl",
        "transport.mcp-name-accepted",
        "transport.answered",
        "polling.large-result",
    ),
)
def task_is_told_in_every_state(history: History) -> Iterator[Observation]:
    """Whatever state a task is in, tasks/get answers with the task.

    An error that does not last is nobody's fault. What counts are tasks that were read several
    times in a row, each time for an error, a page, or nothing at all, and could not be read any
    more, or only when they were in another state, while other reads were served. That a task is
    unknown, that a request was wrong or came too soon, other rules judge.
    """
    every = [_reads_of(life, history) for life in lives(history).values()]
    lost = [reads for reads in every if _is_lost(reads)]
    recovered = {served.task_id for _, served in passing_errors(history).reads}
    several = len(lost) >= _TASKS or any(_weight(r.in_vain) >= _READS_OF_ONE for r in lost)
    enough = several and len(lost) >= _MORE_THAN_RECOVERED * len(recovered)
    certain = enough and _others_were_served(history, lost)
    for reads in every:
        if certain and _is_lost(reads):
            yield _not_told(reads)
        elif reads.in_vain:
            yield unclear(
                reads.life.with_creation(reads.in_vain[-1]),
                f"a read brought {_what(reads.in_vain[-1])}, and whether that lasts was not seen"
                " often enough",
            )
        elif reads.before is not None:
            yield holds(reads.life.with_creation(reads.before))


def _is_lost(reads: _Reads) -> bool:
    return _weight(reads.in_vain) >= _READS


def _not_told(reads: _Reads) -> Observation:
    evidence = [reads.before, *reads.in_vain[:_READS], reads.after]
    if reads.before is not None:
        when = f", after it was {_status(reads.before)!r},"
    else:
        when = f", until it was {_status(reads.after)!r}," if reads.after is not None else ""
    return broken(
        reads.life.with_creation(*(each for each in evidence if each is not None)),
        f"answer tasks/get with the task as it is, in every state: one could not be read{when}"
        f" {_times(len(reads.in_vain))} ({_what(reads.in_vain[-1])})",
        expected="the task",
        found=_what(reads.in_vain[-1]),
        member="/error/code" if reads.in_vain[-1].error is not None else "",
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"


def _status(read: Exchange) -> str:
    return str((read.task or {}).get("status"))[:40]


def _what(read: Exchange) -> str:
    return f"error {code_words(read.error_code)}" if read.error is not None else read.outcome


def _weight(in_vain: Sequence[Exchange]) -> int:
    """How many reads in vain these are worth: who waits for an answer for seconds does not ask
    three times."""
    long = (read.fault is not None and read.certainly_took >= _LONG_SECONDS for read in in_vain)
    return sum(_READS if waited else 1 for waited in long)


def _reads_of(life: Life, history: History) -> _Reads:
    before: Exchange | None = None
    lost: _Reads | None = None
    in_vain: list[Exchange] = []
    seen = [s.status for s in life.sightings if s.how == "handle"]
    for read in life.reads:
        if not asked_by_its_caller(life, read, history):
            continue
        if read.task is not None:
            in_another_state = read.task.get("status") not in seen
            if _weight(in_vain) >= _READS and in_another_state and lost is None:
                lost = _Reads(life, before, tuple(in_vain), read)
            seen.append(read.task.get("status"))
            before, in_vain = read, []
        elif not read.is_ordinary:
            # It came early, or beside others. A limit that it met may hold for those that follow.
            break
        elif brings_nothing(read, history) and certainly_within_ttl(life, read, history):
            in_vain.append(read)
    return lost or _Reads(life, before, tuple(in_vain), None)


def _others_were_served(history: History, lost: list[_Reads]) -> bool:
    """Whether other reads were served between the first of these and the last, or none ever was:
    else the server may just have had a bad time."""
    begun = min(reads.in_vain[0].started for reads in lost)
    ended = max(reads.in_vain[-1].ended for reads in lost)
    served = reads_of(history)
    return not served or any(begun <= s.began and s.ended <= ended for s in served)


@rule("polling.passing-errors", ADVICE, tasks("protocol-errors"), needs=(TASK,))
def errors_do_not_come_and_go(history: History) -> Iterator[Observation]:
    """A task that can be read is not an internal error at other times.

    The text has a code for what goes wrong within a server, and no sentence against its use. But a
    client that gives up at the first error loses the task. Where such errors come and go, what
    other rules object to and an error of this kind explains is not held against the server.
    """
    errors = passing_errors(history)
    internal = [pair for pair in errors.reads if _is_internal(pair[0])]
    if errors.certain and internal:
        failed, served = internal[0]
        yield broken(
            (failed, served),
            f"find out why a read of a task is {_what(failed)} now and then: {errors.share:.0%} of"
            " all reads were, and the next was served",
            expected="the task",
            found=failed.outcome,
        )
    elif errors.reads:
        failed, served = errors.reads[0]
        yield unclear((failed, served), f"a read brought {_what(failed)}, and the next was served")
    for life in lives(history).values() if not errors.reads else ():
        reads = life.seen_by_reading()
        if len(reads) > 1:
            yield holds((reads[0].exchange, reads[-1].exchange))


def _is_internal(read: Exchange) -> bool:
    """Whether the server says that something went wrong within it."""
    return read.error_code == INTERNAL_ERROR or (read.error is None and (read.status or 0) >= 500)
