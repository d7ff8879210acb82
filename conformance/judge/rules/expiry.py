"""expiry: how long a task can be read, and what is said of it when its time is over."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.expectations import refused_beforehand
from conformance.judge.lifetimes import (
    asked_by_its_caller,
    certainly_after_ttl,
    certainly_within_ttl,
    says_gone,
    shortens_ttls,
)
from conformance.judge.lives import Life, lives
from conformance.judge.lost import loses_answered, losses
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.rule import IMPLIED, MUST, SHOULD, rule
from conformance.specification.citations import tasks
from conformance.specification.names import INVALID_PARAMS, code_words
from conformance.specification.states import STATUSES
from conformance.target.roles import SHORT_TTL, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History


def _reads(life: Life, history: History) -> list[Exchange]:
    """The reads of a task that leave nothing to object to, in the order they began."""
    return [read for read in life.reads if asked_by_its_caller(life, read, history)]


@rule(
    "expiry.not-before-ttl",
    IMPLIED,
    tasks("tasks-1"),
    needs=(TASK,),
    after=("creation.durable", "creation.unique-ids", "polling.durations", "polling.pure-read"),
)
def resolves_until_its_time_is_over(history: History) -> Iterator[Observation]:
    """Until createdAt plus ttlMs the id resolves, also after the end and after a cancellation.

    The latest ttlMs seen counts; null means without limit. Only reads that were answered
    before that moment by every clock at hand are judged. A server may change the ttlMs of a
    task: where one was seen to be shortened, others may have been, with nobody looking.
    """
    for life in lives(history).values():
        loss = losses(history).get(life.task_id)
        if loss is None:
            resolved = [
                read
                for read in _reads(life, history)
                if read.task is not None and certainly_within_ttl(life, read, history)
            ]
            if resolved:
                yield holds(life.with_creation(resolved[-1]))
        elif shortens_ttls(history):
            evidence = life.with_creation(loss.read)
            yield unclear(evidence, "its ttlMs may have been shortened unseen")
        elif loses_answered(history):
            # Which ``input.terminal-unaffected`` tells.
            evidence = life.with_creation(loss.read)
            yield unclear(evidence, "an answer that came after its end may have lost it")
        else:
            yield _gone_early(life, loss.read)


def _gone_early(life: Life, read: Exchange) -> Observation:
    last = life.last_seen_before(read)
    name = last.ttl_name if last is not None else "ttlMs"
    ttl = last.task.get(name) if last is not None else None
    kept = f"without limit ({name} null)" if ttl is None else f"for {name} {ttl}"
    age = read.ended - life.creation.ended if life.creation is not None else 0.0
    when = ""
    if any(c.result is not None and c.ended <= read.started for c in life.cancels):
        when = " after it was cancelled"
    elif last is not None and last.terminal:
        when = " after it had ended"
    return broken(
        life.with_creation(*((last.exchange,) if last and last.how == "read" else ()), read),
        f"keep a task {kept} from its creation, as it says: {age:.1f} s after it was made,"
        f"{when and when + ','} tasks/get no longer found it",
        expected="the task",
        found=read.outcome,
        member="/error/code",
    )


@rule(
    "expiry.expired-code",
    MUST,
    tasks("protocol-errors"),
    needs=(SHORT_TTL,),
    after=("polling.unknown-id", "creation.durable"),
)
def expired_task_is_there_or_unknown(history: History) -> Iterator[Observation]:
    """Once ttlMs has passed the task is still there, or `failed`, or -32602: nothing else."""
    for life in lives(history).values():
        for read in _reads(life, history):
            if not certainly_after_ttl(life, read):
                continue
            hindrance = refused_beforehand(read)
            task = read.task
            if hindrance:
                yield unclear(life.with_creation(read), hindrance)
            elif read.error_code == INVALID_PARAMS:
                yield holds(life.with_creation(read))
            elif task is not None and task.get("status") in STATUSES:
                yield holds(
                    life.with_creation(read),
                    f"the task was kept longer than its ttlMs: {task.get('status')!r} afterwards",
                )
            elif task is not None:
                yield unclear(
                    life.with_creation(read), f"the status was {str(task['status'])[:40]!r}"
                )
            elif read.error is not None and (later := _told_better(life, read)) is not None:
                yield unclear(
                    life.with_creation(read, later),
                    f"the error {code_words(read.error_code)} did not last, so it need not be"
                    " about the task",
                )
            else:
                said = code_words(read.error_code) if read.error is not None else "no task in it"
                yield broken(
                    life.with_creation(read),
                    "answer tasks/get for a task whose time is over with the task, as long as"
                    f" it is kept, or with error {code_words(INVALID_PARAMS)}",
                    expected=f"the task, or error {code_words(INVALID_PARAMS)}",
                    found=said,
                    member="/error/code" if read.error is not None else "/result",
                )


def _told_better(life: Life, read: Exchange) -> Exchange | None:
    """A later read of a task that was answered as one of a task whose time is over may be."""
    return next(
        (
            later
            for later in life.reads
            if later.started >= read.ended
            and (later.task is not None or later.error_code == INVALID_PARAMS)
        ),
        None,
    )


@rule(
    "expiry.stays-expired",
    IMPLIED,
    tasks("protocol-errors"),
    needs=(SHORT_TTL,),
    after=("expiry.not-before-ttl", "creation.durable"),
)
def expired_task_stays_away(history: History) -> Iterator[Observation]:
    """Once a task is gone it does not come back."""
    for life in lives(history).values():
        late = [r for r in _reads(life, history) if certainly_after_ttl(life, r)]
        gone = next((r for r in late if says_gone(r, history)), None)
        if gone is None:
            kept = [r for r in late if r.task is not None]
            if kept:
                yield unclear(
                    life.with_creation(kept[-1]), "the task was kept longer than its ttlMs"
                )
            continue
        for read in late:
            if read.started < gone.ended:
                continue
            if read.task is not None:
                yield broken(
                    life.with_creation(gone, read),
                    "let a task that tasks/get no longer found stay away: it is back, with"
                    f" status {str(read.task['status'])[:40]!r}",
                    expected=f"error {code_words(INVALID_PARAMS)} again",
                    found=read.outcome,
                )
            elif says_gone(read, history):
                yield holds((gone, read))
            else:
                yield unclear((gone, read), read.outcome)


@rule(
    "expiry.methods-agree",
    SHOULD,
    tasks("protocol-errors"),
    needs=(SHORT_TTL,),
    after=(
        "cancellation.unknown-task",
        "input.unknown-task",
        "expiry.stays-expired",
        "expiry.expired-code",
        "expiry.not-before-ttl",
    ),
)
def methods_agree_on_what_is_gone(history: History) -> Iterator[Observation]:
    """Once tasks/get says that a task is gone, tasks/update and tasks/cancel say so too."""
    for life in lives(history).values():
        gone = next(
            (
                read
                for read in _reads(life, history)
                if says_gone(read, history) and certainly_after_ttl(life, read)
            ),
            None,
        )
        if gone is None:
            continue
        for exchange in (*life.updates, *life.cancels):
            if exchange.started < gone.ended or not asked_by_its_caller(life, exchange, history):
                continue
            yield agreement(gone, exchange)


def agreement(gone: Exchange, exchange: Exchange) -> Observation:
    """Whether another request about a task that tasks/get no longer found says so too."""
    hindrance = refused_beforehand(exchange)
    if hindrance:
        return unclear((gone, exchange), hindrance)
    if exchange.error_code == INVALID_PARAMS:
        return holds((gone, exchange))
    return broken(
        (gone, exchange),
        f"answer {exchange.method} with error {code_words(INVALID_PARAMS)} once tasks/get no"
        " longer finds the task",
        expected=f"error {code_words(INVALID_PARAMS)}",
        found=exchange.outcome,
        member="/error/code" if exchange.error is not None else "/result",
    )
