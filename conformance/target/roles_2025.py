"""The parts that tools play on a server of 2025-11-25, found by looking at what they did.

There a tool says beforehand whether it may be called as a task (``execution.taskSupport``), and
what a task results in is asked for by itself (``tasks/result``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from conformance.specification.names import (
    CODES_WITH_ANOTHER_MEANING,
    STATUS_NOTIFICATION,
    TASKS_GET,
    TASKS_RESULT,
    TOOLS_LIST,
)
from conformance.specification.states import COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from conformance.target.roles import (
    INPUT,
    PROTOCOL_ERROR,
    SHORT_TTL,
    SLOW,
    SLOW_SECONDS,
    SYNC,
    TASK,
    TASK_ONLY,
    roles_of_result,
)
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

FORBIDDEN, OPTIONAL, REQUIRED = "forbidden", "optional", "required"


def task_support(tool: Mapping[str, Any]) -> str:
    """What a tool of ``tools/list`` says of tasks; ``forbidden`` where it says nothing."""
    execution = tool.get("execution")
    said = execution.get("taskSupport") if isinstance(execution, Mapping) else None
    return said if said in (OPTIONAL, REQUIRED) else FORBIDDEN


def support_seen(history: History) -> dict[str, str]:
    """Each listed tool and its support of tasks."""
    return history.derive(_support_seen)


def _support_seen(history: History) -> dict[str, str]:
    support: dict[str, str] = {}
    for exchange in history.of_method(TOOLS_LIST):
        tools = (exchange.result or {}).get("tools")
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                support.setdefault(tool["name"], task_support(tool))
    return support


def roles_of_2025(history: History) -> dict[str, frozenset[str]]:
    """Each called tool and the roles it was seen to play."""
    support = support_seen(history)
    roles: dict[str, set[str]] = {}
    creations: dict[str, Exchange] = {}
    for exchange in history.exchanges:
        tool = exchange.tool
        if tool is None:
            continue
        played = roles.setdefault(tool, set())
        said = support.get(tool, FORBIDDEN)
        handle = exchange.handle
        if handle is not None:
            played.add(TASK)
            creations[str(handle.get("taskId"))] = exchange
            if said == REQUIRED:
                played.add(TASK_ONLY)
            ttl = handle.get("ttl")
            longest = history.circumstances.max_wait * 1000
            if isinstance(ttl, int | float) and not isinstance(ttl, bool) and 0 < ttl <= longest:
                played.add(SHORT_TTL)
        elif exchange.result is not None and "content" in exchange.result and said == FORBIDDEN:
            played.add(SYNC)
    _roles_of_tasks(history, creations, roles)
    return {tool: frozenset(played) for tool, played in roles.items()}


def _roles_of_tasks(
    history: History, creations: dict[str, Exchange], roles: dict[str, set[str]]
) -> None:
    failed: set[str] = set()
    completed: set[str] = set()
    asked: set[str] = set()
    waiting = _told_to_wait(history)
    for task_id in waiting.keys() & creations.keys():
        roles[str(creations[task_id].tool)].add(INPUT)
    for exchange in history.of_method(TASKS_GET, TASKS_RESULT):
        creation = creations.get(exchange.task_id or "")
        if creation is None or creation.tool is None:
            continue
        task_id, played = str(exchange.task_id), roles[creation.tool]
        if exchange.method == TASKS_RESULT:
            if _was_asked(exchange):
                asked.add(task_id)
                played.add(INPUT)
            if exchange.result is not None:
                roles_of_result(exchange.result, creation, played)
            elif task_id in failed and exchange.error is not None:
                played.add(PROTOCOL_ERROR)
            elif task_id in completed and _may_have_ended_a_call(exchange.error_code):
                played.add(PROTOCOL_ERROR)  # called plainly it shows whether it is one
            continue
        status = exchange.task.get("status") if exchange.task is not None else None
        if status == FAILED:
            failed.add(task_id)
        elif status == COMPLETED:
            completed.add(task_id)
        elif status == INPUT_REQUIRED:
            asked.add(task_id)
            played.add(INPUT)
        # A task that asked something may have worked on only after the answer.
        elif (
            status == WORKING
            and task_id not in asked
            and exchange.started < waiting.get(task_id, math.inf)
            and _came_late(exchange, creation)
        ):
            played.add(SLOW)


def _told_to_wait(history: History) -> dict[str, float]:
    """The tasks that a notification told to be waiting for input, each with the first time."""
    told: dict[str, float] = {}
    for exchange in history.exchanges:
        for at, message in exchange.notifications:
            task = message.get("params")
            if (
                message.get("method") == STATUS_NOTIFICATION
                and isinstance(task, dict)
                and task.get("status") == INPUT_REQUIRED
            ):
                task_id = str(task.get("taskId"))
                told[task_id] = min(at, told.get(task_id, at))
    return told


def _may_have_ended_a_call(code: object) -> bool:
    return isinstance(code, int) and code not in CODES_WITH_ANOTHER_MEANING


def _came_late(exchange: Exchange, creation: Exchange) -> bool:
    return exchange.started - creation.ended >= SLOW_SECONDS


def _was_asked(exchange: Exchange) -> bool:
    """Whether the server asked its client something on the stream of this answer."""
    return any(
        "id" in message and isinstance(message.get("method"), str) and message["method"] != "ping"
        for message in exchange.messages
    )
