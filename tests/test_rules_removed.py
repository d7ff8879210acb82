"""The rules on what is gone, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.drive.draft import UNDECLARED
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Verdict, verdict_of
from conformance.specification.names import EXTENSION
from conformance.wire.exchange import Exchange, JsonObject
from tests.builders import creation, exchange, handle, history

RESULT, LIST, PREFIX = "removed.tasks-result", "removed.tasks-list", "removed.reserved-prefix"
HINTS = "removed.tool-hints"
ASKED = ((RESULT, "tasks/result"), (LIST, "tasks/list"), (PREFIX, "tasks/delete"))


def judged(rule: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule], history(*exchanges))


def offered() -> Exchange:
    capabilities: JsonObject = {"tools": {}, "extensions": {EXTENSION: {}}}
    return exchange("server/discover", result={"capabilities": capabilities})


def asked(method: str, **more: Any) -> Exchange:
    return exchange(method, {"taskId": "task-1"}, intent="removed-method", **more)


def unknown(**more: Any) -> Exchange:
    return exchange("conformance/no-such-method", intent="unknown-method", **more)


@pytest.mark.parametrize(("rule", "method"), ASKED)
def test_the_method_is_gone(rule: str, method: str) -> None:
    found = judged(rule, offered(), unknown(error=-32601), asked(method, error=-32601))
    assert found.verdict == "pass"


@pytest.mark.parametrize(("rule", "method"), ASKED)
@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"resultType": "complete", "tasks": []}},
        {"result": {}},
        {"error": -32602},
        {"error": -32603},
        {"error": -32021},
    ],
)
def test_the_method_is_there(rule: str, method: str, answer: dict[str, Any]) -> None:
    found = judged(rule, offered(), unknown(error=-32601), asked(method, **answer))
    assert found.verdict == "fail"


@pytest.mark.parametrize(("rule", "method"), ASKED)
@pytest.mark.parametrize("more", [{"status": 429}, {"status": 401}, {"body": "<html>"}])
def test_no_answer_says_nothing(rule: str, method: str, more: dict[str, Any]) -> None:
    assert judged(rule, offered(), asked(method, **more)).verdict == "not-exercised"


@pytest.mark.parametrize(("rule", "method"), ASKED)
def test_an_undeclared_request_says_nothing(rule: str, method: str) -> None:
    refused = asked(method, error=-32021, capabilities=UNDECLARED)
    assert judged(rule, offered(), refused).verdict == "not-exercised"


@pytest.mark.parametrize(("rule", "method"), ASKED)
def test_the_older_protocol_has_its_methods(rule: str, method: str) -> None:
    older = asked(
        method,
        result={"tasks": []},
        edit=lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25"),
    )
    assert judged(rule, offered(), older).verdict == "not-exercised"


@pytest.mark.parametrize("rule", [RESULT, LIST, PREFIX, HINTS])
def test_a_server_without_the_extension_is_not_judged(rule: str) -> None:
    tools = exchange("tools/list", result={"tools": [{"execution": {"taskSupport": "optional"}}]})
    served = [asked(method, result={}) for _, method in ASKED]
    assert judged(rule, tools, *served).verdict == "not-applicable"


@pytest.mark.parametrize(("rule", "method"), ASKED[1:])
def test_a_wrong_code_for_all_unknown_methods_is_told_once(rule: str, method: str) -> None:
    """Of three rules that such a server breaks, one tells it."""
    exchanges = [offered(), unknown(error=-32600), asked(method, error=-32600)]
    assert judged(rule, *exchanges).verdict == "not-exercised"
    first = [offered(), unknown(error=-32600), asked("tasks/result", error=-32600)]
    assert judged(RESULT, *first).verdict == "fail"


def test_the_extensions_own_methods_are_not_gone() -> None:
    served = [asked(method, result={}) for method in ("tasks/get", "tasks/update", "tasks/cancel")]
    assert judged(PREFIX, offered(), *served).verdict == "not-exercised"


def tools(*listed: object, **more: Any) -> Exchange:
    return exchange("tools/list", result={"resultType": "complete", "tools": list(listed)}, **more)


PLAIN: JsonObject = {"name": "export", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    "tool",
    [
        PLAIN,
        {**PLAIN, "execution": {}},
        {**PLAIN, "execution": None},
        {**PLAIN, "taskSupport": "required"},
        {**PLAIN, "_meta": {EXTENSION: {"taskSupport": True}}},
        "export",
    ],
)
def test_tools_without_hints(tool: object) -> None:
    assert judged(HINTS, offered(), tools(PLAIN, tool)).verdict == "pass"


def test_no_tools_show_nothing_of_hints() -> None:
    assert judged(HINTS, offered(), tools()).verdict == "not-exercised"
    assert judged(HINTS, offered(), tools(), tools(PLAIN)).verdict == "pass"


@pytest.mark.parametrize("support", ["required", "optional", "forbidden"])
def test_tools_with_hints(support: str) -> None:
    hinted = {**PLAIN, "name": "train", "execution": {"taskSupport": support}}
    found = judged(HINTS, offered(), tools(PLAIN, hinted))
    assert found.verdict == "warn"
    assert "train" in found.reason
    assert found.evidence[0].member == "/result/tools/1/execution/taskSupport"


def test_hints_of_the_older_protocol_are_its_own() -> None:
    hinted = {**PLAIN, "execution": {"taskSupport": "optional"}}
    older = tools(
        hinted, edit=lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25")
    )
    assert judged(HINTS, offered(), older).verdict == "not-exercised"


def test_a_list_that_is_none() -> None:
    odd = exchange("tools/list", result={"tools": "none"})
    assert judged(HINTS, offered(), odd).verdict == "not-exercised"
    limited = exchange("tools/list", status=429)
    assert judged(HINTS, offered(), limited).verdict == "not-exercised"


def test_a_created_task_shows_that_the_extension_is_offered() -> None:
    made = creation(result=handle())
    assert judged(RESULT, made, asked("tasks/result", result={})).verdict == "fail"
