"""The 2025-11-25 design of tasks, recognised under the extension's name.

One of its traits is a mistake; three or more are another design, and then it is of no use
to tell its author each of twenty differences. At least one of them has to be in the shape of
a task or in how it is asked for: methods that are served beside the extension's own, and a
capability that was left in place, do not make another design of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conformance.judge.observation import Observation, broken
from conformance.judge.requests import (
    capabilities_of,
    is_careful,
    nested_task,
    of_this_revision,
    task_made,
)
from conformance.specification.names import (
    DISCOVER,
    METHOD_NOT_FOUND,
    TASKS_CANCEL,
    TASKS_UPDATE,
    TOOLS_CALL,
    TOOLS_LIST,
)
from conformance.specification.revisions import INITIALIZE, revision_named
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History

__all__ = ["CARRIER", "Fingerprint", "fingerprint_of", "nested_task"]

# The rule under which the finding is told.
CARRIER = "creation.shape"
_ENOUGH = 3


@dataclass(frozen=True)
class Fingerprint:
    """The traits found; ``evidence`` has one observation for each."""

    evidence: tuple[Observation, ...]
    carrier: str = CARRIER

    @property
    def sentence(self) -> str:
        traits = "; ".join(observation.note for observation in self.evidence)
        return (
            "this server speaks the 2025-11-25 design of tasks, not the extension: "
            f"{traits}. Move it to the extension before looking at anything else"
        )


@dataclass(frozen=True)
class _Trait:
    """``shows`` tells whether one exchange shows it; ``shapes`` whether it is in the shape of
    a task or in how one is asked for. ``member`` points into the response."""

    shows: Callable[[Exchange], bool]
    note: str
    member: str = ""
    shapes: bool = False


def _task_shown(exchange: Exchange) -> JsonObject:
    """The task that an answer of the extension's methods shows, whichever way."""
    return task_made(exchange) or exchange.task or {}


def _old_interval(exchange: Exchange) -> bool:
    task = _task_shown(exchange)
    return "pollInterval" in task and "pollIntervalMs" not in task


def _old_lifetime(exchange: Exchange) -> bool:
    task = _task_shown(exchange)
    return "ttl" in task and "ttlMs" not in task


def _read_without_result_type(exchange: Exchange) -> bool:
    return exchange.task is not None and "resultType" not in exchange.task


def _cancel_returns_task(exchange: Exchange) -> bool:
    result = exchange.result or {}
    return exchange.method == TASKS_CANCEL and "taskId" in result and "status" in result


def _old_capability(exchange: Exchange) -> bool:
    return exchange.method == DISCOVER and isinstance(capabilities_of(exchange).get("tasks"), dict)


def _serves(method: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.method == method and exchange.result is not None


def _does_not_serve(method: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.method == method and exchange.error_code == METHOD_NOT_FOUND


def _hints(exchange: Exchange) -> bool:
    tools = (exchange.result or {}).get("tools")
    return exchange.method == TOOLS_LIST and any(
        isinstance(tool, dict)
        and isinstance(tool.get("execution"), dict)
        and "taskSupport" in tool["execution"]
        for tool in (tools if isinstance(tools, list) else ())
    )


def _nested_for_undeclared(exchange: Exchange) -> bool:
    # Only the nested form: a flat handle for an undeclared caller is a mistake of its own.
    return nested_task(exchange) is not None and not exchange.declares_tasks


_TRAITS = (
    _Trait(
        lambda e: e.method == TOOLS_CALL and nested_task(e) is not None,
        "the handle is nested under task",
        "/result/task",
        shapes=True,
    ),
    _Trait(_old_lifetime, "ttl stands for ttlMs", "/result", shapes=True),
    _Trait(_old_interval, "pollInterval stands for pollIntervalMs", "/result", shapes=True),
    _Trait(_read_without_result_type, "results of tasks/get have no resultType", "/result"),
    _Trait(_cancel_returns_task, "tasks/cancel answers with the task", "/result"),
    _Trait(_does_not_serve(TASKS_UPDATE), "tasks/update is not served", "/error/code"),
    _Trait(_serves("tasks/result"), "tasks/result is served", "/result"),
    _Trait(_serves("tasks/list"), "tasks/list is served", "/result"),
    _Trait(_hints, "tools/list has execution.taskSupport", "/result/tools"),
    _Trait(_old_capability, "the capability is capabilities.tasks", "/result/capabilities/tasks"),
    _Trait(_does_not_serve(DISCOVER), "server/discover is not served", "/error/code"),
    _Trait(
        _nested_for_undeclared,
        "a task is made for a call that does not declare the extension",
        "/result/task",
    ),
)


def fingerprint_of(history: History) -> Fingerprint | None:
    """The finding, where three or more traits are there."""
    return history.derive(_fingerprint_of)


def _fingerprint_of(history: History) -> Fingerprint | None:
    if revision_named(history.circumstances.spec).greeting == INITIALIZE:
        return None
    # What a server does under the older protocol itself is as it should be.
    ours = [e for e in history.exchanges if of_this_revision(e, history)]
    found: list[Observation] = []
    shapes = False
    for trait in _TRAITS:
        example = next((e for e in ours if trait.shows(e) and is_careful(e, history)), None)
        if example is not None:
            found.append(broken(example, trait.note, member=trait.member))
            shapes = shapes or trait.shapes
    by_parameter = _only_by_parameter(ours)
    if by_parameter is not None:
        found.append(by_parameter)
        shapes = True
    return Fingerprint(tuple(found)) if shapes and len(found) >= _ENOUGH else None


def _only_by_parameter(exchanges: list[Exchange]) -> Observation | None:
    """Tasks are made of calls that send the task parameter, and of no others."""
    calls = [e for e in exchanges if e.method == TOOLS_CALL]
    made = [e for e in calls if task_made(e) is not None]
    if not made or any("task" not in e.params for e in made):
        return None
    tools = {e.tool for e in made}
    # Who does not declare the extension may be given no task, and a question is no refusal.
    plain = [
        e
        for e in calls
        if e.tool in tools
        and "task" not in e.params
        and e.declares_tasks
        and e.result
        and e.result_type != "input_required"
    ]
    if not plain:
        return None
    note = "a task is made only where the task parameter asks for one"
    return broken((plain[0], made[0]), note, member="/result")
