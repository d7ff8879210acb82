"""outcome: how what became of a call is told by its task."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.lives import Life, Sighting, lives
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.older import ended_before, fetched, may_be_deleted
from conformance.judge.rule import IMPLIED, MUST, SHOULD, adopt, rule
from conformance.judge.rules import outcome
from conformance.judge.rules.outcome import (
    BothWays,
    Outcome,
    compared_ways,
    outcome_of_call,
    same_outcome,
)
from conformance.specification.citations import tasks_2025
from conformance.specification.states import COMPLETED, FAILED
from conformance.target.roles import PROTOCOL_ERROR, TASK, TOOL_ERROR
from conformance.wire.exchange import Exchange
from conformance.wire.history import History


def _ends(history: History) -> Iterator[tuple[Life, Sighting, Exchange]]:
    """Tasks that ended by themselves, each with the sighting of its end and every answered
    tasks/result since."""
    for life in lives(history).values():
        end = life.first_terminal
        if end is None or life.cancels:
            continue
        for exchange in fetched(history, life):
            if ended_before(life, exchange.ended) and not may_be_deleted(life, exchange.ended):
                yield life, end, exchange


@rule(
    "outcome.tool-error-fails",
    SHOULD,
    tasks_2025("task-execution-errors"),
    needs=(TOOL_ERROR,),
    after=("results.shape", "lifecycle.known-status"),
)
def tool_error_fails(history: History) -> Iterator[Observation]:
    """A task whose tool result has isError true is `failed`.

    From 2026-07-28 on it is the other way round: such a task is `completed`.
    """
    for life, end, exchange in _ends(history):
        if exchange.result is None or exchange.result.get("isError") is not True:
            continue
        if end.status == FAILED:
            yield holds(life.with_creation(end.exchange, exchange))
        elif end.status == COMPLETED:
            yield broken(
                life.with_creation(exchange, end.exchange),
                "end a task as failed where the tool's result has isError true",
                expected="status 'failed'",
                found="status 'completed'",
                member=f"{end.pointer}/status",
            )


@rule(
    "outcome.protocol-error-fails",
    IMPLIED,
    tasks_2025("task-execution-errors"),
    needs=(PROTOCOL_ERROR,),
    after=("lifecycle.known-status",),
)
def protocol_error_fails(history: History) -> Iterator[Observation]:
    """A task whose call ends in a JSON-RPC error is `failed`."""
    direct = history.derive(errors_called_directly)
    for life, end, exchange in _ends(history):
        found = outcome_of_call(exchange)
        if found is None or not found.is_error:
            continue
        plain = direct.get(str(life.tool))
        if end.status == FAILED:
            yield holds(life.with_creation(end.exchange, exchange))
        elif end.status == COMPLETED and plain is not None and same_outcome(plain, found):
            yield broken(
                (plain.exchange, *life.with_creation(exchange, end.exchange)),
                "end a task as failed where its call ends in a JSON-RPC error",
                expected="status 'failed'",
                found="status 'completed'",
                member=f"{end.pointer}/status",
            )


def errors_called_directly(history: History) -> dict[str, Outcome]:
    """The JSON-RPC error of each tool that, called plainly, never ended in anything else."""
    found: dict[str, list[Outcome]] = {}
    for call in history.intended("call-plainly", method="tools/call"):
        outcome_seen = outcome_of_call(call)
        if outcome_seen is not None:
            found.setdefault(str(call.tool), []).append(outcome_seen)
    return {
        tool: seen[0]
        for tool, seen in found.items()
        if seen[0].is_error and all(same_outcome(seen[0], other) for other in seen)
    }


adopt(
    outcome.failed_says_what_happened,
    "outcome.failed-status-message",
    SHOULD,
    tasks_2025("task-execution-errors"),
    after=("creation.shape", "polling.shape"),
    into=__package__,
)


@rule(
    "outcome.same-as-synchronous",
    MUST,
    tasks_2025("result-retrieval"),
    needs=(TASK,),
    after=(
        "results.shape",
        "results.returned",
        "results.repeatable",
        "concurrency.no-cross-talk",
    ),
)
def same_as_synchronous(history: History) -> Iterator[Observation]:
    """tasks/result returns what the plain call returns: the same result, or the same error.

    It is compared where the tool can be called both ways with the same arguments and answers
    alike each time. `_meta` is left out of it.
    """
    ended: list[tuple[Life, Outcome]] = []
    seen: set[str] = set()
    for life, _, exchange in _ends(history):
        found = outcome_of_call(exchange)
        if found is not None and life.task_id not in seen:
            seen.add(life.task_id)
            ended.append((life, found))
    for both in compared_ways(history, ended):
        yield _comparison(both)


def _comparison(both: BothWays) -> Observation:
    plain, task = both.plain, both.task
    tool = plain.exchange.tool
    if not both.comparable:
        return unclear(both.exchanges, f"{tool} cannot be compared: {both.hindrance}")
    if same_outcome(plain, task):
        return holds(both.exchanges)
    worked = not task.is_error and not task.tool_error
    if (plain.is_error or plain.tool_error) and worked and not _only_lost_is_error(both):
        return unclear(both.exchanges, f"{tool} works only as a task: called directly, it fails")
    what, member = "an outcome of another kind", "/result"
    if plain.is_error == task.is_error:
        payload = "error" if task.is_error else "result"
        names = (*plain.value, *task.value)
        name = next(n for n in names if plain.value.get(n) != task.value.get(n))
        what, member = f"another {name}", f"/{payload}/{name}"
    elif task.is_error:
        member = "/error"
    return broken(
        both.exchanges,
        f"return from tasks/result exactly what the call of {tool} returns: called directly it"
        f" ends in {plain.words}, and tasks/result gives {task.words}, with {what}",
        expected=plain.words,
        found=task.words,
        member=member,
    )


def _only_lost_is_error(both: BothWays) -> bool:
    """Whether the result of the task is that of the plain call, but for its isError."""
    return both.plain.tool_error and both.task.value == {**both.plain.value, "isError": False}
