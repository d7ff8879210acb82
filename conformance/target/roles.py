"""The parts that tools play, found by looking at what they did.

A role says what can be observed with a tool; ``rules.md`` of the design calls them the
*needs* of a rule. Nothing here trusts a name or a hint: a history decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from conformance.specification.names import EXTENSION, MISSING_CAPABILITY, TASKS_UPDATE
from conformance.specification.revisions import INITIALIZE, revision_named
from conformance.specification.states import COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from conformance.wire.exchange import Exchange
from conformance.wire.history import History
from conformance.wire.parsing import dump_json

TASK = "task"
SLOW = "slow"
TOOL_ERROR = "tool-error"
PROTOCOL_ERROR = "protocol-error"
INPUT = "input"
INPUTS = "inputs"
ROUNDS = "rounds"
BEFORE = "before"
LARGE = "large"
TASK_ONLY = "task-only"
SYNC = "sync"
ECHO = "echo"
SHORT_TTL = "short-ttl"

TOOL_ROLES: dict[str, str] = {
    TASK: "a tool call that becomes a task",
    SLOW: "a task that works for about a second",
    TOOL_ERROR: "a task whose tool result has isError true",
    PROTOCOL_ERROR: "a task whose call ends in a JSON-RPC error",
    INPUT: "a task that asks for input",
    INPUTS: "a task that asks two questions at once",
    ROUNDS: "a task that asks again after an answer",
    BEFORE: "a tool that asks for input before it creates its task",
    LARGE: "a task with a result of 256 KiB or more",
    TASK_ONLY: "a tool that works only as a task",
    SYNC: "a tool that answers directly",
    ECHO: "a task whose result repeats an argument",
    SHORT_TTL: "a task whose time to live passes within --max-wait",
}

# Not about tools, but about what the user gave or the server offers.
LISTEN = "listen"
IDENTITIES = "identities"
REPLICAS = "replicas"
RESTART = "restart"
LEGACY = "legacy"
WITHOUT_TASKS = "without-tasks"
NEWER = "newer"

LARGE_BYTES = 256 * 1024
# A shorter text may be in a result by chance. ("hello" is what many schemas give as example.)
ECHO_LETTERS = 5
# A read that began this long after the handle came, and still saw the task at work, makes
# it slow enough to be met half way by a second request.
SLOW_SECONDS = 0.4
# An answer that took less says nothing about what it waited for.
NOTICEABLE_SECONDS = 0.5


def roles_seen(history: History) -> dict[str, frozenset[str]]:
    """Each called tool and the roles it was seen to play."""
    if revision_named(history.circumstances.spec).greeting == INITIALIZE:
        from conformance.target.roles_2025 import roles_of_2025

        return history.derive(roles_of_2025)
    return history.derive(_roles_seen)


def tools_with(history: History, role: str) -> list[str]:
    """The tools that were seen to play a role, in the order of their names."""
    return sorted(tool for tool, roles in roles_seen(history).items() if role in roles)


def _roles_seen(history: History) -> dict[str, frozenset[str]]:
    roles: dict[str, set[str]] = {}
    handles: dict[str, Exchange] = {}
    asked_first: set[str] = set()
    for exchange in history.exchanges:
        tool = exchange.tool
        if tool is None:
            continue
        played = roles.setdefault(tool, set())
        if exchange.handle is not None and exchange.declares_tasks:
            played.add(TASK)
            handles[str(exchange.handle.get("taskId"))] = exchange
            ttl = exchange.handle.get("ttlMs")
            if _is_number(ttl) and 0 < ttl <= history.circumstances.max_wait * 1000:
                played.add(SHORT_TTL)
            if tool in asked_first and "inputResponses" in exchange.params:
                played.add(BEFORE)
        elif exchange.result_type == "input_required":
            asked_first.add(tool)
        elif exchange.result is not None and "content" in exchange.result:
            if exchange.declares_tasks:
                played.add(SYNC)
        elif _requires_extension(exchange):
            played.add(TASK_ONLY)
    _roles_of_tasks(history, handles, roles)
    return {tool: frozenset(played) for tool, played in roles.items()}


def _roles_of_tasks(
    history: History, handles: dict[str, Exchange], roles: dict[str, set[str]]
) -> None:
    answered: dict[str, set[str]] = {}
    for exchange in history.exchanges:
        creation = handles.get(exchange.task_id or "")
        if creation is None or creation.tool is None:
            continue
        played = roles[creation.tool]
        if exchange.method == TASKS_UPDATE:
            responses = exchange.params.get("inputResponses")
            if isinstance(responses, dict):
                answered.setdefault(str(exchange.task_id), set()).update(responses)
            continue
        task = exchange.task
        if task is None:
            continue
        status = task.get("status")
        if status == WORKING and exchange.started - creation.ended >= SLOW_SECONDS:
            # A task that was asked something may have worked on only after the answer.
            if not answered.get(str(exchange.task_id)):
                played.add(SLOW)
        elif status == FAILED:
            played.add(PROTOCOL_ERROR)
        elif status == INPUT_REQUIRED and isinstance(task.get("inputRequests"), dict):
            requests = task["inputRequests"]
            played.add(INPUT)
            before = answered.get(str(exchange.task_id), set())
            if len(requests) > 1:
                played.add(INPUTS)
            if before and any(key not in before for key in requests) and len(requests) == 1:
                played.add(ROUNDS)
        elif status == COMPLETED and isinstance(task.get("result"), dict):
            roles_of_result(task["result"], creation, played)


def roles_of_result(result: Mapping[str, object], creation: Exchange, played: set[str]) -> None:
    """Add the roles that a tool's result shows it to play, given the call it came of."""
    if result.get("isError") is True:
        played.add(TOOL_ERROR)
    text = dump_json(result)
    if len(text) >= LARGE_BYTES:
        played.add(LARGE)
    arguments = creation.params.get("arguments")
    if isinstance(arguments, dict) and any(
        isinstance(value, str) and len(value) >= ECHO_LETTERS and value in text
        for value in arguments.values()
    ):
        played.add(ECHO)


def _requires_extension(exchange: Exchange) -> bool:
    if exchange.declares_tasks or exchange.error is None:
        return False
    if exchange.error_code != MISSING_CAPABILITY:
        return False
    return EXTENSION in dump_json(exchange.error.get("data", {}))


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
