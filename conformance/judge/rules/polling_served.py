"""polling: a task that is there is told, in whatever state, and each time it is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.judge.lifetimes import asked_by_its_caller, certainly_within_ttl
from conformance.judge.lives import Life, lives, reads_of
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.passing import passing_errors, says_nothing, served_again
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
    after=("creation.durable", "expiry.not-before-ttl", "transport.mcp-name-accepted"),
)
def task_is_told_in_every_state(history: History) -> Iterator[Observation]:
    """Whatever state a task is in, tasks/get answers with the task.

    An error that does not last is nobody's fault. What counts are tasks that were read several
    times in a row, each time for an error, and could not be read any more, or only when they were
    in another state, while other reads were served. That a task is unknown, that a request was
    wrong or came too soon, other rules judge.
    """
    every = [_reads_of(life, history) for life in lives(history).values()]
    lost = [reads for reads in every if len(reads.in_vain) >= _READS]
    recovered = [reads for reads in every if served_again(reads.life, history)]
    several = len(lost) >= _TASKS or any(len(reads.in_vain) >= _READS_OF_ONE for reads in lost)
    enough = several and len(lost) >= _MORE_THAN_RECOVERED * len(recovered)
    certain = enough and _others_were_served(history, lost)
    for reads in every:
        if reads in lost and certain:
            yield _not_told(reads)
        elif reads.in_vain:
            yield unclear(
                reads.life.with_creation(reads.in_vain[-1]),
                f"a read was answered with {_error(reads.in_vain[-1])}, and whether that lasts"
                " was not seen often enough",
            )
        elif reads.before is not None:
            yield holds(reads.life.with_creation(reads.before))


def _not_told(reads: _Reads) -> Observation:
    evidence = [reads.before, *reads.in_vain[:_READS], reads.after]
    if reads.before is not None:
        when = f", after it was {_status(reads.before)!r},"
    else:
        when = f", until it was {_status(reads.after)!r}," if reads.after is not None else ""
    return broken(
        reads.life.with_creation(*(each for each in evidence if each is not None)),
        f"answer tasks/get with the task as it is, in every state: one could not be read{when}"
        f" {len(reads.in_vain)} times in a row ({_error(reads.in_vain[-1])})",
        expected="the task",
        found=_error(reads.in_vain[-1]),
        member="/error/code",
    )


def _status(read: Exchange) -> str:
    return str((read.task or {}).get("status"))[:40]


def _error(read: Exchange) -> str:
    return f"error {code_words(read.error_code)}"


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
            if len(in_vain) >= _READS and in_another_state and lost is None:
                lost = _Reads(life, before, tuple(in_vain), read)
            seen.append(read.task.get("status"))
            before, in_vain = read, []
        elif says_nothing(read, history) and certainly_within_ttl(life, read, history):
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
    internal = [pair for pair in errors.reads if pair[0].error_code == INTERNAL_ERROR]
    if errors.certain and internal:
        failed, served = internal[0]
        yield broken(
            (failed, served),
            f"find out why a read of a task is error {code_words(INTERNAL_ERROR)} now and then:"
            f" {errors.share:.0%} of all reads were, and the next was served",
            expected="the task",
            found=failed.outcome,
        )
    elif errors.reads:
        failed, served = errors.reads[0]
        said = f"error {code_words(failed.error_code)}"
        yield unclear((failed, served), f"a read was answered with {said}, and the next served")
    else:
        for sighting in reads_of(history)[:1]:
            yield holds(sighting.exchange)
