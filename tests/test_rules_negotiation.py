"""The rules of negotiation, on histories written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.drive.draft import LEGACY_DECLARED, UNDECLARED, Draft
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Verdict, conclude, verdict_of
from conformance.specification.names import EXTENSION
from conformance.wire.exchange import Exchange, Fault, JsonObject
from tests.builders import (
    CALL_RESULT,
    QUESTION,
    creation,
    exchange,
    handle,
    history,
    left_alone,
    reading,
    task,
)

REQUIRED: JsonObject = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
MISSING: JsonObject = {"code": -32021, "message": "Missing capability", "data": REQUIRED}
CALL: JsonObject = {"name": "export", "arguments": {}}
NO_EXTENSIONS: JsonObject = {"extensions": {}}
NESTED: JsonObject = {"task": {"taskId": "task-9", "status": "working"}}
MANY: JsonObject = {"resultType": "complete", "content": [{"type": "text", "text": "no"}]}


def judged(rule: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    return verdict_of(catalogue()[rule], history(*exchanges, **circumstances))


def discovery(capabilities: object = None, **more: Any) -> Exchange:
    if capabilities is None:
        capabilities = {"tools": {}, "extensions": {EXTENSION: {}}}
    result = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities,
    }
    if not more.keys() & {"error", "fault", "status"}:
        more["result"] = result
    return exchange("server/discover", **more)


def call(**more: Any) -> Exchange:
    """An undeclared call on a connection of its own, answered directly unless told otherwise."""
    given = {"capabilities": UNDECLARED, "connection": "fresh:9", "intent": "undeclared", **more}
    if not given.keys() & {"result", "error", "fault", "status", "body"}:
        given["result"] = CALL_RESULT
    return exchange("tools/call", given.pop("params", CALL), **given)


def asked(method: str, task_id: str = "unknown", **more: Any) -> Exchange:
    """An undeclared request about a task, refused with -32021 unless told otherwise."""
    params: JsonObject = {"taskId": task_id}
    if method == "tasks/update":
        params["inputResponses"] = more.pop("responses", {"question-1": {"action": "accept"}})
    given = {"capabilities": UNDECLARED, "connection": "fresh:9", "intent": "undeclared", **more}
    if not given.keys() & {"result", "error", "fault", "status", "body"}:
        given["error"] = MISSING
        given["status"] = 400
    return exchange(method, params, **given)


# ---- negotiation.advertised -----------------------------------------------------------------

ADVERTISED = "negotiation.advertised"


def test_advertised_and_created() -> None:
    assert judged(ADVERTISED, discovery(), creation()).verdict == "pass"


def test_advertised_and_never_created() -> None:
    assert judged(ADVERTISED, discovery(), call()).verdict == "pass"


@pytest.mark.parametrize(
    "capabilities",
    [
        {"tools": {}},
        {"tools": {}, "experimental": {EXTENSION: {}}},
        {"tools": {}, EXTENSION: {}},
        {"tools": {}, "tasks": {}},
        {"extensions": [EXTENSION]},
        [],
    ],
)
def test_created_and_not_advertised(capabilities: object) -> None:
    verdict = judged(ADVERTISED, discovery(capabilities), creation())
    assert verdict.verdict == "fail"


def test_where_the_name_stands_instead_is_told() -> None:
    wrong: JsonObject = {"experimental": {EXTENSION: {}}}
    assert "experimental" in judged(ADVERTISED, discovery(wrong), creation()).reason
    assert "experimental" in judged(ADVERTISED, discovery(wrong)).reason


def test_neither_advertised_nor_created() -> None:
    assert judged(ADVERTISED, discovery({"tools": {}}), call()).verdict == "not-applicable"


def test_discovery_is_not_served() -> None:
    assert judged(ADVERTISED, discovery(error=-32601), creation()).verdict == "fail"
    assert judged(ADVERTISED, discovery(error=-32601), call()).verdict == "not-exercised"


def test_discovery_did_not_answer() -> None:
    for unanswered in (discovery(status=429), discovery(fault=Fault("timeout", "3 s"))):
        assert judged(ADVERTISED, unanswered, creation()).verdict == "not-exercised"


def test_a_task_of_the_older_protocol_needs_no_advertising() -> None:
    older = creation(result=NESTED, edit=older_request)
    assert judged(ADVERTISED, discovery({"tools": {}}), older).verdict == "not-applicable"


def older_request(draft: Draft) -> Draft:
    return draft.without_param("_meta").with_header("MCP-Protocol-Version", "2025-11-25")


# ---- negotiation.methods-served -------------------------------------------------------------

SERVED = "negotiation.methods-served"
METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


def declared(method: str, **more: Any) -> Exchange:
    params: JsonObject = {"taskId": "unknown"}
    if method == "tasks/update":
        params["inputResponses"] = {}
    return exchange(method, params, **more)


@pytest.mark.parametrize("code", [-32602, -32603, -32001])
def test_any_answer_but_one_shows_that_a_method_is_there(code: int) -> None:
    found = judged(SERVED, discovery(), *(declared(method, error=code) for method in METHODS))
    assert found.verdict == "pass"


@pytest.mark.parametrize("missing", METHODS)
def test_one_method_is_missing(missing: str) -> None:
    answers = [declared(m, error=-32601 if m == missing else -32602) for m in METHODS]
    found = judged(SERVED, discovery(), *answers)
    assert found.verdict == "fail"
    assert missing in found.reason


PAGE: dict[str, Any] = {"body": "<html>", "status": 500, "content_type": "text/html"}


def about(method: str, *task_ids: str, **answer: Any) -> list[Exchange]:
    more: JsonObject = {"inputResponses": {}} if method == "tasks/update" else {}
    return [exchange(method, {"taskId": task_id, **more}, **answer) for task_id in task_ids]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("answer", [{"error": -32603}, PAGE])
def test_a_method_that_fails_whatever_is_asked(method: str, answer: Any) -> None:
    made = [discovery(), creation("task-1"), creation("task-2")]
    if method == "tasks/update":
        made += [reading(each, "input_required") for each in ("task-1", "task-2")]
    failed = about(method, "task-1", "task-2", **answer)
    unknown = about(method, "none", **answer)
    found = judged(SERVED, *made, *failed, *unknown)
    assert found.verdict == "fail"
    assert f"serve {method}" in found.reason
    # One that knows what it was asked for fails for another reason.
    for better in (about(method, "none", error=-32602), about(method, "task-1")):
        assert judged(SERVED, *made, *failed, *better).verdict == "pass"
    # Once, anything may fail, and of what there is not anything may be said.
    assert judged(SERVED, *made, *failed[:1], *unknown).verdict != "fail"


def test_answers_that_nothing_waits_for_may_be_refused_in_any_words() -> None:
    made = [discovery(), creation("task-1"), reading("task-1", "working")]
    refused = about("tasks/update", "task-1", "task-1", "none", error=-32603)
    assert judged(SERVED, *made, *refused).verdict == "pass"


def test_a_server_without_time_fails_for_a_reason() -> None:
    busy = about("tasks/cancel", "task-1", "task-1", error=-32603, status=503)
    assert judged(SERVED, discovery(), creation("task-1"), *busy).verdict != "fail"


def test_a_method_that_is_never_answered_is_told_of_elsewhere() -> None:
    silent = about("tasks/cancel", "task-1", "task-1", fault=Fault("timeout", "no answer"))
    assert judged(SERVED, discovery(), creation("task-1"), *silent).verdict == "not-exercised"


def test_methods_of_a_server_that_does_not_advertise() -> None:
    found = judged(SERVED, discovery({"tools": {}}), declared("tasks/get", error=-32601))
    assert found.verdict == "not-applicable"


@pytest.mark.parametrize(
    "more",
    [
        {"capabilities": UNDECLARED},
        {"edit": lambda draft: draft.with_header("Mcp-Method", "tasks/cancel")},
        {"edit": lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25")},
        {"edit": lambda draft: draft.without_header("Mcp-Name")},
        {"edit": lambda draft: draft.with_param("taskId", 7)},
    ],
)
def test_a_careless_request_may_be_called_unknown(more: dict[str, Any]) -> None:
    found = judged(SERVED, discovery(), declared("tasks/get", error=-32601, **more))
    assert found.verdict == "not-exercised"


def test_no_answer_is_no_missing_method() -> None:
    found = judged(SERVED, discovery(), declared("tasks/get", status=429))
    assert found.verdict == "not-exercised"


# ---- negotiation.settings-object and negotiation.no-legacy-capability -----------------------

SETTINGS = "negotiation.settings-object"


def test_settings_may_be_empty_or_not() -> None:
    assert judged(SETTINGS, discovery()).verdict == "pass"
    found = judged(SETTINGS, discovery({"extensions": {EXTENSION: {"version": "1"}}}))
    assert found.verdict == "pass"
    assert "version" in found.reason


@pytest.mark.parametrize("value", [True, None, [], "1", 1])
def test_settings_that_are_no_object(value: object) -> None:
    assert judged(SETTINGS, discovery({"extensions": {EXTENSION: value}})).verdict == "fail"


def test_settings_of_what_is_not_advertised() -> None:
    assert judged(SETTINGS, discovery({"tools": {}})).verdict == "not-applicable"


LEGACY_CAPABILITY = "negotiation.no-legacy-capability"


def test_legacy_capability() -> None:
    assert judged(LEGACY_CAPABILITY, discovery()).verdict == "pass"
    kept: JsonObject = {"extensions": {EXTENSION: {}}, "tasks": {"list": {}}}
    assert judged(LEGACY_CAPABILITY, discovery(kept)).verdict == "fail"


def test_what_only_looks_like_the_legacy_capability() -> None:
    likes: list[JsonObject] = [
        {"tasks": None},
        {"experimental": {"tasks": {}}},
        {"tools": {"tasks": {}}},
    ]
    for like in likes:
        assert judged(LEGACY_CAPABILITY, discovery(like)).verdict == "pass"


def test_legacy_capability_in_a_handshake_of_its_own_time() -> None:
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tasks": {}}}
    opened = exchange("initialize", result=result, edit=older_request)
    assert judged(LEGACY_CAPABILITY, opened).verdict == "not-exercised"


# ---- negotiation.undeclared-gets-no-task ----------------------------------------------------

NO_TASK = "negotiation.undeclared-gets-no-task"


@pytest.mark.parametrize(
    "answer",
    [
        {"result": CALL_RESULT},
        {"result": {"resultType": "input_required", "inputRequests": {}}},
        {"error": MISSING, "status": 400},
        {"error": 1001},
    ],
)
def test_an_undeclared_call_may_get_anything_else(answer: dict[str, Any]) -> None:
    assert judged(NO_TASK, creation(), call(**answer)).verdict == "pass"


@pytest.mark.parametrize("result", [handle("task-2"), NESTED, handle("task-2", resultType=...)])
@pytest.mark.parametrize("capabilities", [UNDECLARED, NO_EXTENSIONS, {}])
def test_an_undeclared_call_gets_a_task(result: JsonObject, capabilities: JsonObject) -> None:
    found = judged(NO_TASK, creation(), call(result=result, capabilities=capabilities))
    assert found.verdict == "fail"


def test_a_tool_that_never_became_a_task_shows_nothing() -> None:
    other = call(params={"name": "greet", "arguments": {}})
    assert judged(NO_TASK, creation(), other).verdict == "not-exercised"


def test_an_undeclared_call_without_an_answer_shows_nothing() -> None:
    assert judged(NO_TASK, creation(), call(status=429)).verdict == "not-exercised"
    refused = call(status=401)
    assert judged(NO_TASK, creation(), refused).verdict == "not-exercised"


def test_a_tasks_result_that_has_a_task_member_is_no_task() -> None:
    result = {**CALL_RESULT, "task": {"name": "clean the kitchen"}}
    assert judged(NO_TASK, creation(), call(result=result)).verdict == "pass"


def test_a_task_of_the_older_protocol_was_asked_for_otherwise() -> None:
    older = call(result=NESTED, edit=older_request)
    assert judged(NO_TASK, creation(), older).verdict == "not-exercised"


def test_a_call_after_a_declaration_is_told_by_another_rule() -> None:
    first = creation(connection="one:1")
    later = call(connection="one:1", result=handle("task-2"), intent="undeclared-after-declared")
    assert judged(NO_TASK, first, later).verdict == "not-exercised"


# ---- negotiation.declared-per-request -------------------------------------------------------

PER_REQUEST = "negotiation.declared-per-request"


def after_declared(control: Exchange, **more: Any) -> Exchange:
    given = {"intent": "undeclared-after-declared", "control": control, "connection": "one:1"}
    return call(**{**given, **more})


def test_a_declaration_does_not_carry_over() -> None:
    first = creation(connection="one:1")
    assert judged(PER_REQUEST, first, after_declared(first)).verdict == "pass"


def test_a_declaration_carries_over_to_a_call() -> None:
    first = creation(connection="one:1")
    later = after_declared(first, result=handle("task-2"))
    assert judged(PER_REQUEST, first, later).verdict == "fail"


def test_a_declaration_carries_over_to_a_read() -> None:
    first = creation(connection="one:1")
    read = asked("tasks/get", "task-1", connection="one:1", result=task("task-1"))
    assert judged(PER_REQUEST, first, read).verdict == "fail"


def test_another_connection_shows_nothing_of_carrying_over() -> None:
    first = creation(connection="one:1")
    later = after_declared(first, connection="one:2")
    assert judged(PER_REQUEST, first, later).verdict == "not-exercised"


# ---- negotiation.legacy-declaration-ignored -------------------------------------------------

LEGACY = "negotiation.legacy-declaration-ignored"


def legacy_call(control: Exchange, **more: Any) -> Exchange:
    given = {"capabilities": LEGACY_DECLARED, "intent": "legacy-declaration", "control": control}
    return call(**{**given, **more})


def test_a_legacy_declaration_is_none() -> None:
    first = creation()
    assert judged(LEGACY, first, legacy_call(first)).verdict == "pass"
    read = reading()
    refused = asked(
        "tasks/get",
        "task-1",
        capabilities=LEGACY_DECLARED,
        intent="legacy-declaration",
        control=read,
    )
    assert judged(LEGACY, first, read, refused).verdict == "pass"


def test_a_legacy_declaration_gets_a_task() -> None:
    first = creation()
    later = legacy_call(first, result=handle("task-2"))
    assert judged(LEGACY, first, later).verdict == "fail"


def test_a_legacy_declaration_reads_a_task() -> None:
    first, read = creation(), reading()
    served = asked(
        "tasks/get",
        "task-1",
        capabilities=LEGACY_DECLARED,
        intent="legacy-declaration",
        control=read,
        result=task("task-1"),
    )
    assert judged(LEGACY, first, read, served).verdict == "fail"


def test_a_server_of_both_kinds_may_look_for_an_older_task() -> None:
    """It permits older clients to ask for older tasks, and finds none of this id."""
    first, read = creation(), reading()
    unknown = asked(
        "tasks/get",
        "task-1",
        capabilities=LEGACY_DECLARED,
        intent="legacy-declaration",
        control=read,
        error=-32602,
    )
    assert judged(LEGACY, first, read, unknown).verdict == "not-exercised"


def test_nothing_is_told_where_the_declared_call_made_no_task() -> None:
    first = creation(result=CALL_RESULT)
    assert judged(LEGACY, first, legacy_call(first)).verdict == "not-exercised"
    refused = creation(error=-32603)
    assert judged(LEGACY, refused, legacy_call(refused)).verdict == "not-exercised"


# ---- negotiation.envelope-only --------------------------------------------------------------

ENVELOPE = "negotiation.envelope-only"


def elsewhere(control: Exchange | None, **more: Any) -> Exchange:
    given: dict[str, Any] = {
        "intent": "declared-elsewhere",
        "control": control,
        "edit": lambda draft: draft.with_meta(EXTENSION, {}),
    }
    return call(**{**given, **more})


def test_a_bare_key_declares_nothing() -> None:
    first = creation()
    assert judged(ENVELOPE, first, elsewhere(first)).verdict == "pass"
    assert judged(ENVELOPE, first, elsewhere(first, result=handle("task-2"))).verdict == "fail"


def test_a_bare_key_that_alone_makes_tasks() -> None:
    assert judged(ENVELOPE, elsewhere(None, result=handle("task-2"))).verdict == "fail"
    assert judged(ENVELOPE, elsewhere(None)).verdict == "not-exercised"


# ---- negotiation.task-parameter-ignored -----------------------------------------------------

PARAMETER = "negotiation.task-parameter-ignored"
WITH_PARAMETER: JsonObject = {**CALL, "task": {"ttl": 7_654_321}}


def pair(without: dict[str, Any], having: dict[str, Any]) -> tuple[Exchange, Exchange]:
    control = exchange("tools/call", CALL, **without)
    probe = exchange(
        "tools/call", WITH_PARAMETER, intent="task-parameter", control=control, **having
    )
    return control, probe


def handed(task_id: str, **members: Any) -> dict[str, Any]:
    return {"result": handle(task_id, **members)}


DIRECT: dict[str, Any] = {"result": CALL_RESULT}


def test_the_parameter_changes_nothing() -> None:
    for without, having in ((DIRECT, DIRECT), (handed("task-1"), handed("task-2"))):
        assert judged(PARAMETER, *pair(without, having), *pair(without, having)).verdict == "pass"


def test_the_parameter_is_refused() -> None:
    refused = {"error": -32602}
    found = judged(PARAMETER, *pair(DIRECT, refused), *pair(DIRECT, refused))
    assert found.verdict == "fail"


def test_the_parameter_opts_in() -> None:
    opted = [e for n in range(3) for e in pair(DIRECT, handed(f"task-{n}"))]
    assert judged(PARAMETER, *opted).verdict == "fail"


def test_the_parameter_sets_the_ttl() -> None:
    own = pair(handed("task-1"), handed("task-2", ttlMs=7_654_321))
    assert judged(PARAMETER, *own).verdict == "fail"
    fixed = pair(handed("task-1", ttlMs=7_654_321), handed("task-2", ttlMs=7_654_321))
    assert judged(PARAMETER, *fixed).verdict == "pass"


def test_a_server_may_decide_now_so_now_otherwise() -> None:
    """A task with the parameter and none without is chance, until it happens every time."""
    once = pair(DIRECT, handed("task-1"))
    twice = [*once, *pair(DIRECT, handed("task-2"))]
    assert judged(PARAMETER, *once).verdict == "not-exercised"
    assert judged(PARAMETER, *twice).verdict == "not-exercised"
    thrice = [*twice, *pair(DIRECT, handed("task-3"))]
    another = exchange("tools/call", CALL, result=handle("task-4"))
    assert judged(PARAMETER, *thrice, another).verdict == "not-exercised"
    mixed = [*once, *pair(handed("task-2"), DIRECT)]
    assert judged(PARAMETER, *mixed).verdict == "not-exercised"


def test_one_refusal_of_two_is_chance() -> None:
    mixed = [*pair(DIRECT, {"error": -32603}), *pair(DIRECT, DIRECT)]
    assert judged(PARAMETER, *mixed).verdict != "fail"


def test_a_call_that_is_refused_anyway_shows_nothing_of_the_parameter() -> None:
    refused = {"error": -32603}
    found = judged(PARAMETER, *pair(refused, refused), *pair(refused, refused))
    assert found.verdict == "not-exercised"
    limited = pair(DIRECT, {"status": 429})
    assert judged(PARAMETER, *limited).verdict == "not-exercised"


def test_the_parameter_without_a_declaration() -> None:
    first = creation()
    more: dict[str, Any] = {
        "params": WITH_PARAMETER,
        "intent": "task-parameter-undeclared",
        "control": first,
    }
    assert judged(PARAMETER, first, call(**more)).verdict == "pass"
    assert judged(PARAMETER, first, call(result=handle("task-2"), **more)).verdict == "fail"


# ---- negotiation.task-only-tool -------------------------------------------------------------

TASK_ONLY = "negotiation.task-only-tool"


def completed() -> list[Exchange]:
    return [creation(), reading(status="completed")]


def test_a_task_only_tool_names_the_capability() -> None:
    found = judged(TASK_ONLY, *completed(), call(error=MISSING, status=400))
    assert found.verdict == "pass"


@pytest.mark.parametrize("code", [-32601, -32603, -32602, -32000, -32003])
def test_a_task_only_tool_has_another_error(code: int) -> None:
    found = judged(TASK_ONLY, *completed(), call(error=code))
    assert found.verdict == "fail"
    assert (code != -32003) or "obsolete" in found.reason


def test_a_tool_that_answers_is_not_task_only() -> None:
    assert judged(TASK_ONLY, *completed(), call()).verdict == "not-exercised"


def test_a_tool_whose_task_fails_may_fail_when_called_plainly() -> None:
    failed = [creation(), reading(status="failed")]
    assert judged(TASK_ONLY, *failed, call(error=-32603)).verdict == "not-exercised"


def test_a_gateway_without_time_says_nothing_of_a_tool() -> None:
    found = judged(TASK_ONLY, *completed(), call(error=-32603, status=503))
    assert found.verdict == "not-exercised"


def test_a_call_with_the_older_parameter_says_nothing_of_a_tool() -> None:
    odd = call(error=-32602, params=WITH_PARAMETER, intent="task-parameter-undeclared")
    assert judged(TASK_ONLY, *completed(), odd).verdict == "not-exercised"


# ---- the gate before the three methods ------------------------------------------------------

GATES = {
    "negotiation.get-requires-declaration": "tasks/get",
    "negotiation.update-requires-declaration": "tasks/update",
    "negotiation.cancel-requires-declaration": "tasks/cancel",
}


@pytest.mark.parametrize(("rule", "method"), GATES.items())
@pytest.mark.parametrize("task_id", ["task-1", "unknown"])
def test_an_undeclared_request_is_refused(rule: str, method: str, task_id: str) -> None:
    found = judged(rule, discovery(), creation(), asked(method, task_id))
    assert found.verdict == "pass"


@pytest.mark.parametrize(("rule", "method"), GATES.items())
@pytest.mark.parametrize("task_id", ["task-1", "unknown"])
@pytest.mark.parametrize("code", [-32601, -32602, -32003, -32600])
def test_an_undeclared_request_has_another_error(
    rule: str, method: str, task_id: str, code: int
) -> None:
    found = judged(rule, discovery(), creation(), asked(method, task_id, error=code))
    assert found.verdict == "fail"
    assert (code != -32003) or "obsolete" in found.reason


@pytest.mark.parametrize(("rule", "method"), GATES.items())
def test_an_undeclared_request_is_served(rule: str, method: str) -> None:
    served = asked(method, "task-1", result={**task("task-1"), "status": "working"})
    assert judged(rule, discovery(), creation(), served).verdict == "fail"


@pytest.mark.parametrize(("rule", "method"), GATES.items())
@pytest.mark.parametrize(
    "more",
    [
        {"status": 429},
        {"fault": Fault("timeout", "5 s")},
        {"error": -32600, "status": 401, "caller": "nobody"},
        {"error": -32602, "edit": lambda draft: draft.with_param("taskId", 7)},
        {"error": -32020, "edit": lambda draft: draft.without_header("Mcp-Name")},
        {
            "error": -32602,
            "edit": lambda d: d.without_meta("io.modelcontextprotocol/clientCapabilities"),
        },
        {"error": -32601, "edit": older_request},
    ],
)
def test_a_request_that_is_refused_for_something_else(
    rule: str, method: str, more: dict[str, Any]
) -> None:
    found = judged(rule, discovery(), asked(method, "task-1", **more))
    assert found.verdict == "not-exercised"


@pytest.mark.parametrize(("rule", "method"), GATES.items())
def test_a_server_without_the_extension_has_no_such_method(rule: str, method: str) -> None:
    found = judged(rule, discovery({"tools": {}}), asked(method, error=-32601))
    assert found.verdict == "not-applicable"


def test_one_missing_method_is_one_cause() -> None:
    exchanges = history(
        discovery(),
        *(declared(method, error=-32601) for method in METHODS),
        *(asked(method, error=-32601) for method in METHODS),
    )
    rules = {name: catalogue()[name] for name in (SERVED, *GATES)}
    judgement = conclude({name: verdict_of(rule, exchanges) for name, rule in rules.items()})
    assert [cause.rule for cause in judgement.causes] == [SERVED]
    assert set(judgement.causes[0].also) == set(GATES)


UPDATE = "negotiation.update-requires-declaration"
WAITING: JsonObject = {"inputRequests": {"question-1": {"method": "roots/list"}}}


def waiting() -> list[Exchange]:
    """A task that was seen to wait for an answer."""
    return [discovery(), creation(), reading(status="input_required", members=WAITING)]


def test_a_refused_answer_does_not_arrive() -> None:
    before = waiting()
    refused = asked("tasks/update", "task-1")
    after = reading(status="input_required", members=WAITING)
    found = judged(UPDATE, *before, refused, after)
    assert found.verdict == "pass"
    assert found.observations == 2


@pytest.mark.parametrize(
    "after",
    [
        {"status": "working"},
        {"status": "completed"},
        {"status": "input_required", "members": {"inputRequests": {"question-2": {}}}},
    ],
)
def test_a_refused_answer_arrives(after: dict[str, Any]) -> None:
    before = waiting()
    refused = asked("tasks/update", "task-1")
    found = judged(UPDATE, *left_alone(), *before, refused, reading(**after))
    assert found.verdict == "fail"


@pytest.mark.parametrize("ended", ["failed", "cancelled"])
def test_a_task_may_tire_of_waiting(ended: str) -> None:
    before = waiting()
    refused = asked("tasks/update", "task-1")
    found = judged(UPDATE, *before, refused, reading(status=ended))
    assert found.verdict == "pass"


def test_an_answer_that_was_served_moves_the_task() -> None:
    before = waiting()
    refused = asked("tasks/update", "task-1")
    answers: JsonObject = {"question-1": {"roots": []}}
    served = exchange("tasks/update", {"taskId": "task-1", "inputResponses": answers})
    after = reading(status="completed")
    assert judged(UPDATE, *before, refused, served, after).verdict == "pass"


def mislabelled(method: str) -> Exchange:
    """Another request that is refused, and may have had an effect all the same."""
    params: JsonObject = {"taskId": "task-1"}
    if method == "tasks/update":
        params["inputResponses"] = {"question-1": {"roots": []}}
    return exchange(method, params, intent="mcp-name-differs", error=-32020)


def test_another_refused_answer_may_have_moved_the_task() -> None:
    found = [*left_alone(), *waiting(), mislabelled("tasks/update")]
    found = [*found, asked("tasks/update", "task-1"), reading(status="completed")]
    assert judged(UPDATE, *found).verdict == "pass"
    found = [*left_alone(), *waiting(), asked("tasks/update", "task-1")]
    found = [*found, mislabelled("tasks/update"), reading(status="completed")]
    assert judged(UPDATE, *found).verdict == "pass"


def test_what_was_seen_to_do_nothing_did_not_move_the_task() -> None:
    found = [*left_alone(), *waiting(), mislabelled("tasks/update")]
    found = [*found, reading(status="input_required", members=WAITING)]
    found = [*found, asked("tasks/update", "task-1"), reading(status="completed")]
    assert judged(UPDATE, *found).verdict == "fail"


def test_a_task_that_waits_after_two_refusals_was_moved_by_neither() -> None:
    found = [*waiting(), asked("tasks/update", "task-1"), mislabelled("tasks/update")]
    found = [*found, reading(status="input_required", members=WAITING)]
    assert judged(UPDATE, *found).observations == 2


CANCEL = "negotiation.cancel-requires-declaration"


def test_another_refused_cancel_may_have_cancelled_the_task() -> None:
    found = [discovery(), creation(), mislabelled("tasks/cancel")]
    found = [*found, asked("tasks/cancel", "task-1"), reading(status="cancelled")]
    assert judged(CANCEL, *found).verdict == "pass"
    found = [discovery(), creation(), asked("tasks/cancel", "task-1")]
    found = [*found, mislabelled("tasks/cancel"), reading(status="cancelled")]
    assert judged(CANCEL, *found).verdict == "pass"


def test_what_was_seen_to_cancel_nothing_did_not_cancel_the_task() -> None:
    found = [discovery(), creation(), mislabelled("tasks/cancel"), reading()]
    found = [*found, asked("tasks/cancel", "task-1"), reading(status="cancelled")]
    assert judged(CANCEL, *found).verdict == "fail"


def test_a_refused_cancel_does_nothing() -> None:
    refused = asked("tasks/cancel", "task-1")
    after = reading(status="completed")
    assert judged(CANCEL, discovery(), creation(), refused, after).verdict == "pass"


def test_a_refused_cancel_cancels() -> None:
    refused = asked("tasks/cancel", "task-1")
    after = reading(status="cancelled")
    assert judged(CANCEL, discovery(), creation(), refused, after).verdict == "fail"


def test_a_cancel_that_was_served_cancels() -> None:
    refused = asked("tasks/cancel", "task-1")
    served = exchange("tasks/cancel", {"taskId": "task-1"})
    after = reading(status="cancelled")
    assert judged(CANCEL, discovery(), creation(), refused, served, after).verdict == "pass"


def test_a_task_that_was_cancelled_before() -> None:
    before = reading(status="cancelled")
    refused = asked("tasks/cancel", "task-1")
    found = judged(CANCEL, discovery(), creation(), before, refused, reading(status="cancelled"))
    assert found.verdict == "pass"


# ---- negotiation.names-missing-capability ---------------------------------------------------

NAMES = "negotiation.names-missing-capability"


def refusal(data: object) -> JsonObject:
    error: JsonObject = {"code": -32021, "message": "Missing required client capability"}
    return error if data is ... else {**error, "data": data}


@pytest.mark.parametrize(
    "data",
    [
        REQUIRED,
        {**REQUIRED, "hint": "declare it"},
        {"requiredCapabilities": {"extensions": {EXTENSION: {"version": 1}, "a/b": {}}}},
    ],
)
def test_the_missing_capability_is_named(data: object) -> None:
    refused = asked("tasks/get", error=refusal(data), status=400)
    assert judged(NAMES, discovery(), refused).verdict == "pass"


@pytest.mark.parametrize(
    ("data", "member"),
    [
        (..., "/error/data"),
        (None, "/error/data"),
        ({}, "/error/data/requiredCapabilities"),
        ({"requiredCapabilities": [EXTENSION]}, "/error/data/requiredCapabilities"),
        ({"requiredCapabilities": {EXTENSION: {}}}, "/error/data/requiredCapabilities/extensions"),
        (
            {"requiredCapabilities": {"extensions": [EXTENSION]}},
            "/error/data/requiredCapabilities/extensions",
        ),
        (
            {"requiredCapabilities": {"extensions": {EXTENSION: True}}},
            "/error/data/requiredCapabilities/extensions/io.modelcontextprotocol~1tasks",
        ),
    ],
)
def test_the_missing_capability_is_not_named(data: object, member: str) -> None:
    refused = asked("tasks/get", error=refusal(data), status=400)
    found = judged(NAMES, discovery(), refused)
    assert found.verdict == "fail"
    assert found.evidence[0].member == member


def test_a_call_that_lacks_another_capability() -> None:
    """What it names is missing as well; the extension may not be needed."""
    data: JsonObject = {"requiredCapabilities": {"elicitation": {}}}
    lacking = call(capabilities={}, error=refusal(data), status=400)
    assert judged(NAMES, discovery(), lacking).verdict == "not-exercised"


def test_a_call_that_lacks_another_extension() -> None:
    data: JsonObject = {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/ui": {}}}}
    lacking = call(error=refusal(data), status=400)
    assert judged(NAMES, discovery(), lacking).verdict == "not-exercised"


def test_a_call_that_lacks_the_extension_alone() -> None:
    data: JsonObject = {"requiredCapabilities": {"elicitation": {}}}
    declared_it = call(capabilities={"elicitation": {}}, error=refusal(data), status=400)
    assert judged(NAMES, discovery(), declared_it).verdict == "fail"


def test_no_such_error_no_name() -> None:
    found = judged(NAMES, discovery(), asked("tasks/get", error=-32602))
    assert found.verdict == "not-exercised"


# ---- negotiation.not-in-older-protocol ------------------------------------------------------

OLDER = "negotiation.not-in-older-protocol"


def opened(version: str | None) -> Exchange:
    answer: dict[str, Any] = {"error": -32601}
    if version is not None:
        answer = {"result": {"protocolVersion": version, "capabilities": {}}}
    return exchange("initialize", intent="older-initialize", edit=older_request, **answer)


def older_call(control: Exchange, **more: Any) -> Exchange:
    given = {"intent": "older-protocol-call", "control": control, "edit": older_request, **more}
    return exchange("tools/call", CALL, **given)


def test_the_extension_is_nothing_in_the_older_protocol() -> None:
    first = creation()
    plain = older_call(first, result={"content": []})
    assert judged(OLDER, opened("2025-11-25"), first, plain).verdict == "pass"


@pytest.mark.parametrize("result", [handle("task-2"), NESTED])
def test_the_older_protocol_makes_tasks(result: JsonObject) -> None:
    first = creation()
    made = older_call(first, result=result)
    assert judged(OLDER, opened("2025-11-25"), first, made).verdict == "fail"


@pytest.mark.parametrize("version", [None, "2026-07-28", "2025-06-18"])
def test_a_server_that_does_not_speak_the_older_protocol(version: str | None) -> None:
    assert judged(OLDER, opened(version), creation()).verdict == "not-applicable"


def test_an_older_call_that_is_refused_shows_nothing() -> None:
    first = creation()
    refused = older_call(first, error=-32603)
    assert judged(OLDER, opened("2025-11-25"), first, refused).verdict == "not-exercised"


# ---- together -------------------------------------------------------------------------------


def test_every_rule_of_the_topic_was_tried_here() -> None:
    tried = {
        *(ADVERTISED, SERVED, SETTINGS, LEGACY_CAPABILITY, NO_TASK, PER_REQUEST, LEGACY),
        *(ENVELOPE, PARAMETER, TASK_ONLY, NAMES, OLDER, *GATES),
    }
    assert tried == {rule for rule in catalogue() if rule.startswith("negotiation.")}


@pytest.mark.parametrize("rule", [rule for rule in catalogue() if rule.startswith("negotiation.")])
def test_nothing_sent_nothing_told(rule: str) -> None:
    assert judged(rule).verdict in ("not-exercised", "not-applicable")


HOSTILE: list[Callable[[], Exchange]] = [
    lambda: discovery({"extensions": {EXTENSION: {}}, "tasks": 7}),
    lambda: asked("tasks/get", error={"code": "-32021", "message": 5, "data": "no"}),
    lambda: asked("tasks/get", error={"code": -32021, "message": "", "data": [[]]}),
    lambda: exchange("server/discover", result=[]),
    lambda: call(result={"task": [], "taskId": 5, "status": {}}),
    lambda: call(body=b"\xff\xfe", status=200),
    lambda: exchange("tools/call", {"name": ["x"], "_meta": []}, result=handle("task-3")),
    lambda: exchange("tools/call", {**CALL, "task": "soon"}, intent="task-parameter"),
]


@pytest.mark.parametrize("rule", [rule for rule in catalogue() if rule.startswith("negotiation.")])
def test_odd_messages_do_no_harm(rule: str) -> None:
    judged(rule, discovery(), creation(), *(make() for make in HOSTILE))


# ---- servers that are merely different ------------------------------------------------------


def test_another_caller_may_be_offered_no_tasks() -> None:
    """Whoever may not make tasks need not be told of them, nor be served their methods."""
    lesser = discovery({"tools": {}}, caller="second")
    refused = exchange("tasks/get", {"taskId": "x"}, error=-32601, caller="second")
    served = reading("task-1")
    found = [discovery(), creation(), served, lesser, refused]
    assert judged(ADVERTISED, *found).verdict == "pass"
    assert judged("negotiation.methods-served", *found).verdict == "pass"


def test_who_declares_nothing_may_be_told_of_nothing() -> None:
    plain = discovery({"tools": {}}, edit=lambda draft: draft.declaring(UNDECLARED))
    assert judged(ADVERTISED, discovery(), creation(), plain).verdict == "pass"


@pytest.mark.parametrize("own", [{"com.example/boards": {}}, {"boards": 3}, True, 5])
def test_a_capability_of_its_own_that_is_called_tasks(own: object) -> None:
    """The capabilities of a server are no closed set."""
    theirs: JsonObject = {"extensions": {EXTENSION: {}}, "tasks": own}
    assert judged(LEGACY_CAPABILITY, discovery(theirs)).verdict == "not-exercised"


@pytest.mark.parametrize("legacy", [{}, {"cancel": {}}, {"requests": {"tools": {"call": {}}}}])
def test_each_part_of_the_legacy_capability(legacy: JsonObject) -> None:
    assert judged(LEGACY_CAPABILITY, discovery({"tasks": legacy})).verdict == "fail"


def test_a_result_that_speaks_of_a_job_is_no_task() -> None:
    said: JsonObject = {**CALL_RESULT, "taskId": "job-7", "status": "queued"}
    beside: JsonObject = {**CALL_RESULT, "task": {"taskId": "job-7"}}
    mislabelled: JsonObject = {**CALL_RESULT, "resultType": "task"}
    for result in (said, beside, mislabelled):
        answer = call(result=result)
        found = judged("negotiation.undeclared-gets-no-task", creation(), answer)
        assert found.verdict == "pass"


@pytest.mark.parametrize("code", [-32603, -32000, 4290])
def test_more_calls_than_are_served_at_a_time(code: int) -> None:
    """Where a few tasks at once are allowed, the probes find the places taken."""
    pairs = [e for n in range(3) for e in pair(handed(f"task-{n}"), {"error": code})]
    assert judged(PARAMETER, *pairs).verdict == "not-exercised"


def test_a_plain_call_with_other_arguments_may_be_invalid() -> None:
    odd = call(error=-32602, params={"name": "export", "arguments": {"rows": -1}})
    assert judged(TASK_ONLY, *completed(), odd).verdict == "not-exercised"


def test_a_tool_that_answered_once_is_not_task_only() -> None:
    odd = call(error=-32603)
    assert judged(TASK_ONLY, *completed(), call(), odd).verdict == "not-exercised"
    direct = exchange("tools/call", CALL, result=CALL_RESULT)
    assert judged(TASK_ONLY, *completed(), direct, odd).verdict == "not-exercised"


@pytest.mark.parametrize(("rule", "method"), GATES.items())
@pytest.mark.parametrize("status", [401, 429, 502, 503, 504])
def test_a_token_that_has_expired_and_a_server_without_time(
    rule: str, method: str, status: int
) -> None:
    refused = asked(method, error=-32000, status=status)
    assert judged(rule, discovery(), creation(), refused).verdict == "not-exercised"


def test_a_request_for_input_that_is_superseded() -> None:
    """The same question under a new key: the undeclared answer did not arrive."""
    question: JsonObject = {"method": "roots/list"}

    def waits(key: str) -> Exchange:
        return reading(status="input_required", members={"inputRequests": {key: question}})

    answers: JsonObject = {"a": {"roots": []}}
    found = [discovery(), creation(), waits("a")]
    found += [asked("tasks/update", "task-1", responses=answers), waits("b")]
    assert judged("negotiation.update-requires-declaration", *found).verdict == "pass"


def test_one_of_two_answers_that_arrives_is_seen() -> None:
    question: JsonObject = {"method": "roots/list"}
    both: JsonObject = {"inputRequests": {"a": QUESTION, "b": question}}
    one: JsonObject = {"inputRequests": {"b": question}}
    found = [
        discovery(),
        creation(),
        reading(status="input_required", members=both),
        asked("tasks/update", "task-1", responses={"a": {"action": "decline"}}),
        reading(status="input_required", members=one),
    ]
    assert (
        judged("negotiation.update-requires-declaration", *left_alone(), *found).verdict == "fail"
    )


def test_a_server_that_gives_up_its_questions_itself() -> None:
    waits = reading("task-9", "input_required", members=WAITING)
    given_up = [creation("task-9"), waits, reading("task-9")]
    found = [*waiting(), asked("tasks/update", "task-1"), reading(status="completed")]
    assert judged(UPDATE, *left_alone(), *found).verdict == "fail"
    assert judged(UPDATE, *left_alone(), *given_up, *found).verdict == "pass"


def test_a_server_that_gives_up_tasks_itself() -> None:
    given_up = [creation("task-2"), reading("task-2", "cancelled")]
    found = [discovery(), creation(), asked("tasks/cancel", "task-1")]
    found += [reading("task-1", "cancelled")]
    rule = "negotiation.cancel-requires-declaration"
    assert judged(rule, *found).verdict == "fail"
    assert judged(rule, *given_up, *found).verdict == "pass"


def test_a_cancel_without_an_answer_may_have_done_it() -> None:
    lost: dict[str, Any] = {"fault": Fault("timeout", "5 s")}
    found = [discovery(), creation(), exchange("tasks/cancel", {"taskId": "task-1"}, **lost)]
    found += [asked("tasks/cancel", "task-1"), reading("task-1", "cancelled")]
    assert judged("negotiation.cancel-requires-declaration", *found).verdict == "pass"
