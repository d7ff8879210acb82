"""removed: what tasks had in 2025-11-25, and the extension does not have."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.expectations import expect_error, unanswered
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.requests import is_careful, is_offered
from conformance.judge.rule import ADVICE, IMPLIED, MUST, rule
from conformance.specification.citations import sep, tasks
from conformance.specification.names import (
    METHOD_NOT_FOUND,
    TASK_METHODS,
    TASKS_LIST,
    TASKS_RESULT,
    TOOLS_LIST,
)
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_NOT_OFFERED = "the server does not offer the extension"


def _asked(history: History, *methods: str) -> list[Exchange]:
    """Requests of these methods that are in order but for their method."""
    return [
        exchange
        for exchange in history.of_method(*methods)
        if exchange.declares_tasks and is_careful(exchange, history)
    ]


def _unknown_methods_are(history: History) -> set[object]:
    """The codes with which the server answered methods that nobody has."""
    return {e.error_code for e in history.intended("unknown-method") if e.error is not None}


def _is_gone(history: History, exchange: Exchange, note: str) -> Observation:
    """The method is answered like one that does not exist."""
    code = exchange.error_code
    if code is not None and code != METHOD_NOT_FOUND and code in _unknown_methods_are(history):
        # It is not there; that unknown methods get another code is told elsewhere.
        return unclear(exchange, f"the server answers every unknown method with error {code}")
    return expect_error(exchange, METHOD_NOT_FOUND, note)


@rule("removed.tasks-result", MUST, sep("backward-compatibility"))
def tasks_result_is_gone(history: History) -> Iterator[Observation]:
    """`tasks/result` is answered with -32601: `tasks/get` carries the result."""
    if not is_offered(history):
        yield not_offered(_NOT_OFFERED)
        return
    for exchange in _asked(history, TASKS_RESULT):
        yield expect_error(
            exchange,
            METHOD_NOT_FOUND,
            "answer tasks/result with error -32601 (Method not found): the extension has no such"
            " method, tasks/get carries the result",
        )


@rule("removed.tasks-list", IMPLIED, tasks("security-considerations"))
def tasks_list_is_gone(history: History) -> Iterator[Observation]:
    """`tasks/list` is answered with -32601, and lists nothing.

    The text says that there is none. A method that a server does not implement has to be -32601,
    which is a sentence of the core.
    """
    if not is_offered(history):
        yield not_offered(_NOT_OFFERED)
        return
    for exchange in _asked(history, TASKS_LIST):
        yield _is_gone(
            history,
            exchange,
            "answer tasks/list with error -32601 (Method not found): the extension has no list,"
            " so that nobody sees the tasks of others",
        )


@rule("removed.reserved-prefix", IMPLIED, tasks("reservations"))
def prefix_is_reserved(history: History) -> Iterator[Observation]:
    """Other `tasks/…` methods are answered with -32601: the prefix is the extension's own."""
    if not is_offered(history):
        yield not_offered(_NOT_OFFERED)
        return
    known = (*TASK_METHODS, TASKS_RESULT, TASKS_LIST)
    others = {
        e.method
        for e in history.intended("removed-method")
        if e.method is not None and e.method.startswith("tasks/") and e.method not in known
    }
    for exchange in _asked(history, *sorted(others)):
        yield _is_gone(
            history,
            exchange,
            f"answer {exchange.method} with error -32601 (Method not found): names that begin with"
            " tasks/ are reserved for the extension, which has no such method",
        )


@rule("removed.tool-hints", ADVICE, sep("motivation"))
def tools_carry_no_hints(history: History) -> Iterator[Observation]:
    """`tools/list` shows no `execution.taskSupport`: the server decides call by call."""
    if not is_offered(history):
        yield not_offered(_NOT_OFFERED)
        return
    for exchange in history.of_method(TOOLS_LIST):
        if not is_careful(exchange, history):
            continue
        tools = (exchange.result or {}).get("tools")
        if not isinstance(tools, list):
            yield unclear(exchange, unanswered(exchange) or "no list of tools came")
            continue
        if not tools:
            yield unclear(exchange, "the server lists no tools that could carry a hint")
            continue
        hinted = [
            index
            for index, tool in enumerate(tools)
            if isinstance(tool, dict)
            and isinstance(tool.get("execution"), dict)
            and "taskSupport" in tool["execution"]
        ]
        if hinted:
            names = ", ".join(str(tools[index].get("name")) for index in hinted)
            yield broken(
                exchange,
                "leave execution.taskSupport out of tools/list: it belongs to 2025-11-25, and"
                f" clients of the extension do not read it (tools: {names:.120})",
                expected="no execution.taskSupport",
                found=f"{len(hinted)} of {len(tools)} tools have it",
                member=f"/result/tools/{hinted[0]}/execution/taskSupport",
            )
        else:
            yield holds(exchange)
