"""expiry: how long a task can be read, and what is said of it when its time is over."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.lifetimes import asked_by_its_caller, certainly_after_ttl, says_gone
from conformance.judge.lives import Life, lives
from conformance.judge.observation import BROKEN, Observation, broken, holds, unclear
from conformance.judge.older import requests_of, session_of, tasks_on, walks
from conformance.judge.rule import ADVICE, IMPLIED, MUST, SHOULD, adopt, rule
from conformance.judge.rules import expiry
from conformance.judge.shown import brief
from conformance.specification.citations import tasks_2025
from conformance.specification.names import (
    TASKS_CANCEL,
    TASKS_RESULT,
)
from conformance.target.roles import SHORT_TTL, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_TTL = "ttl-and-resource-management"


@rule(
    "expiry.not-before-ttl",
    IMPLIED,
    tasks_2025(_TTL),
    needs=(TASK,),
    after=("creation.durable", "creation.unique-ids", "polling.durations", "polling.ttl-told"),
)
def resolves_until_its_time_is_over(history: History) -> Iterator[Observation]:
    """Until createdAt plus ttl the id resolves. Only a cancelled task may be deleted earlier.

    The latest ttl seen counts; null means without limit.
    """
    known = lives(history)
    for observation in expiry.resolves_until_its_time_is_over(history):
        read = observation.exchanges[-1]
        life = known.get(read.task_id or "")
        if (
            observation.kind == BROKEN
            and life is not None
            and any(cancel.started < read.ended for cancel in life.cancels)
        ):
            yield unclear(observation.exchanges, "somebody had asked to cancel it")
        else:
            yield observation


@rule("expiry.ttl-agrees", ADVICE, tasks_2025(_TTL), needs=(TASK,), after=("polling.ttl-told",))
def ttl_is_that_of_the_handle(history: History) -> Iterator[Observation]:
    """The ttl that tasks/get tells is that of the handle.

    The text lets a server override what was asked for, and says nothing of a later change.
    """
    for life in lives(history).values():
        told = next((s for s in life.sightings if s.how == "handle"), None)
        if told is None or "ttl" not in told.task:
            continue
        reads = [s for s in life.seen_by_reading() if "ttl" in s.task]
        other = next((s for s in reads if s.task["ttl"] != told.task["ttl"]), None)
        if other is not None:
            yield broken(
                (told.exchange, other.exchange),
                "tell the ttl that counts from the beginning: tasks/get told another than the"
                " handle",
                expected=brief(told.task["ttl"]),
                found=brief(other.task["ttl"]),
                member="/result/ttl",
            )
        elif reads:
            yield holds((told.exchange, reads[0].exchange))


@rule(
    "expiry.expired-code",
    MUST,
    tasks_2025("protocol-errors"),
    needs=(SHORT_TTL,),
    after=("polling.unknown-id", "creation.durable"),
)
def expired_task_is_there_or_unknown(history: History) -> Iterator[Observation]:
    """Once its ttl has passed a task is still there, or tasks/get answers -32602: nothing else."""
    yield from expiry.expired_task_is_there_or_unknown(history)


adopt(
    expiry.expired_task_stays_away,
    "expiry.stays-expired",
    IMPLIED,
    tasks_2025(_TTL),
    into=__package__,
    needs=(SHORT_TTL,),
    after=("expiry.not-before-ttl", "creation.durable"),
)


@rule(
    "expiry.methods-agree",
    SHOULD,
    tasks_2025("protocol-errors"),
    needs=(SHORT_TTL,),
    after=(
        "cancellation.unknown-task",
        "results.unknown-id",
        "expiry.stays-expired",
        "expiry.expired-code",
        "expiry.not-before-ttl",
    ),
)
def methods_agree_on_what_is_gone(history: History) -> Iterator[Observation]:
    """Once tasks/get says that a task is gone, the other methods say so too.

    tasks/result and tasks/cancel do not find it, and tasks/list does not show it.
    """
    for life in lives(history).values():
        gone = next(
            (
                read
                for read in life.reads
                if asked_by_its_caller(life, read, history)
                and says_gone(read, history)
                and certainly_after_ttl(life, read)
            ),
            None,
        )
        if gone is None:
            continue
        for exchange in requests_of(history, TASKS_RESULT, TASKS_CANCEL):
            if exchange.task_id != life.task_id or exchange.started < gone.ended:
                continue
            if asked_by_its_caller(life, exchange, history):
                yield expiry.agreement(gone, exchange)
        yield from _in_lists(history, life, gone)


def _in_lists(history: History, life: Life, gone: Exchange) -> Iterator[Observation]:
    for walk in walks(history):
        first = walk.pages[0]
        if first.started < gone.ended or first.caller != life.caller:
            continue
        page = next((p for p in walk.pages if _shows(p, life.task_id)), None)
        if page is not None:
            yield broken(
                (gone, page),
                "leave a task out of tasks/list once tasks/get no longer finds it",
                expected="a list without the task",
                found=f"{life.task_id!r:.60}",
                member="/result/tasks",
            )
        elif walk.whole and session_of(first) == session_of(gone):
            yield holds((gone, walk.pages[-1]))


def _shows(page: Exchange, task_id: str) -> bool:
    return any(task.get("taskId") == task_id for task in tasks_on(page))
