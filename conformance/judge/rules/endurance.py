"""endurance: tasks on other replicas, and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from conformance.judge.expectations import refused_beforehand
from conformance.judge.lifetimes import says_gone
from conformance.judge.lives import Life, Sighting, lives, may_have_expired
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.rule import ADVICE, IMPLIED, rule
from conformance.specification.citations import tasks
from conformance.specification.states import INPUT_REQUIRED, is_terminal
from conformance.target.roles import REPLICAS, RESTART
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# So long after its end was seen on one replica, the others should know of it.
_PATIENCE_SECONDS = 1.5


def _made(life: Life) -> tuple[Exchange, ...]:
    return () if life.creation is None else (life.creation,)


@rule(
    "endurance.replicas",
    IMPLIED,
    tasks("task-creation"),
    needs=(REPLICAS,),
    after=("creation.durable", "cancellation.acknowledged", "expiry.not-before-ttl"),
)
def replicas_know_every_task(history: History) -> Iterator[Observation]:
    """Every replica knows every task: to read it, to answer it and to cancel it.

    A URL that is given stands for the whole service. Behind it requests may be routed by
    Mcp-Name to the one instance that holds the task. That a new task can be read at once is a
    MUST, which creation.durable is about; that it can be answered and cancelled is implied.
    """
    for life in lives(history).values():
        elsewhere = [
            exchange
            for exchange in (*life.reads, *life.updates, *life.cancels)
            if exchange.intent == "elsewhere"
        ]
        for exchange in elsewhere:
            if may_have_expired(life, exchange.ended):
                continue
            hindrance = refused_beforehand(exchange)
            if says_gone(exchange, history):
                yield broken(
                    (*_made(life), exchange),
                    "let every replica know every task, or route to the one that does by"
                    f" Mcp-Name: {exchange.method} found no such task on another URL than the"
                    " one that made it",
                    expected="the task is known",
                    found=exchange.outcome,
                    member="/error/code",
                )
            elif hindrance or exchange.result is None:
                yield unclear((*_made(life), exchange), hindrance or exchange.outcome)
            else:
                yield holds((*_made(life), exchange))


@rule(
    "endurance.end-known-elsewhere",
    ADVICE,
    tasks("response"),
    needs=(REPLICAS,),
    after=("endurance.replicas", "cancellation.acknowledged", "expiry.not-before-ttl"),
)
def replicas_learn_of_the_end(history: History) -> Iterator[Observation]:
    """Once a task has ended on one replica, the others say so a little later.

    The text has servers wait for consistency when they create a task, and then no more: replicas
    may lag. But a client that asks another for ever would wait for ever.
    """
    for life in lives(history).values():
        elsewhere = [read for read in life.reads if read.intent == "elsewhere"]
        end = next((s for s in life.sightings if s.terminal and s.exchange not in elsewhere), None)
        late = [e for e in elsewhere if e.task is not None and end and e.started >= end.ended]
        # A cancelled task may be shown as it was for a while.
        if end is not None and late and not life.cancels:
            yield _learns_of_the_end(life, end, late)


def _learns_of_the_end(life: Life, end: Sighting, late: list[Exchange]) -> Observation:
    """Whether the replica that was asked for a while after the end knows of it."""
    shown = (*_made(life), end.exchange, late[-1])
    passed = late[-1].started - end.ended
    if any(is_terminal(_status(read)) for read in late):
        return holds(shown)
    if may_have_expired(life, late[-1].ended):
        return unclear(shown, "the time of the task may have been over")
    if passed < _PATIENCE_SECONDS:
        return unclear(shown, f"another URL was asked until {passed:.1f} s after the end only")
    return broken(
        shown,
        f"let every replica know how a task ended: {passed:.1f} s after it was {end.status} on"
        f" one URL, another still says {_status(late[-1])}",
        expected=f"status {end.status!r}",
        found=f"status {_status(late[-1])!r}",
        member="/result/status",
    )


def _status(read: Exchange) -> object:
    return (read.task or {}).get("status")


@rule(
    "endurance.restart",
    ADVICE,
    tasks("tasks"),
    needs=(RESTART,),
    after=("creation.durable", "expiry.not-before-ttl"),
)
def tasks_outlive_a_restart(history: History) -> Iterator[Observation]:
    """After a restart the id resolves to the same task, or to `failed`.

    The text calls tasks durable, and has no sentence about restarts.
    """
    restarted = next(iter(history.intended("restarted")), None)
    trouble = next((e for e in history.intended("restarted") if e.notes.get("restart")), None)
    if trouble is not None:
        yield unclear(trouble, str(trouble.notes["restart"]))
        return
    if restarted is None or not any(e.response for e in history.intended("restarted")):
        for exchange in history.intended("before-restart")[:1]:
            yield unclear(exchange, "the server did not answer any more after the restart command")
        return
    for life in lives(history).values():
        later = [read for read in life.reads if read.intent == "after-restart"]
        if later:
            yield _after_restart(life, later, history)


def _after_restart(life: Life, later: list[Exchange], history: History) -> Observation:
    last = later[-1]
    evidence = (*_made(life), last)
    if may_have_expired(life, last.ended):
        return unclear(evidence, "its time may have been over")
    if says_gone(last, history):
        return broken(
            evidence,
            "keep tasks where a restart of the server does not lose them: the task was there"
            " before, and is unknown afterwards",
            expected="the same task, or one that failed",
            found=last.outcome,
            member="/error/code",
        )
    if last.task is None:
        return unclear(evidence, refused_beforehand(last) or last.outcome)
    status = _status(last)
    typical = _typical_seconds(life, history)
    followed = last.ended - later[0].started
    if is_terminal(status) or status == INPUT_REQUIRED or typical is None:
        return holds(evidence, f"{status!r} after the restart")
    if followed > max(2 * typical, 3.0):
        return broken(
            evidence,
            "let a task whose work was interrupted by a restart go on, or fail: it is still"
            f" {status} {followed:.1f} s after it, though such a task takes {typical:.1f} s",
            expected="the task ends",
            found=f"status {status!r}",
            member="/result/status",
        )
    return unclear(evidence, f"it was followed for {followed:.1f} s only")


def _typical_seconds(life: Life, history: History) -> float | None:
    """How long a task of the same call takes where nothing interferes: the median."""
    took = [
        other.first_terminal.ended - other.creation.ended
        for other in lives(history).values()
        if other.creation is not None
        and other.first_terminal is not None
        and not other.cancels
        and other.tool == life.tool
        and other.first_terminal.exchange.intent != "after-restart"
    ]
    return median(took) if took else None
