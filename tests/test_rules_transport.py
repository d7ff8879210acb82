"""The rules on Streamable HTTP, on histories written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.drive.draft import UNDECLARED, Draft
from conformance.judge.effects import effect_of_cancel
from conformance.judge.lives import lives
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Verdict, verdict_of
from conformance.specification.names import META_CLIENT_CAPABILITIES, META_PROTOCOL_VERSION
from conformance.wire.exchange import Exchange, Fault, JsonObject
from conformance.wire.headers import encoded
from conformance.wire.sse import Event
from tests.builders import QUESTION, creation, exchange, handle, history, left_alone, reading, task

Answer = dict[str, Any]
SERVED: Answer = {"result": {"resultType": "complete"}}
TASK: Answer = {"result": task("task-1")}
MISMATCH: Answer = {"error": -32020}
BUSY: Answer = {"status": 429}
STRANGER: Answer = {"status": 401}
PAGE: Answer = {"body": "<html>Bad Gateway</html>", "status": 502, "content_type": "text/html"}
RESET: Answer = {"fault": Fault("reset", "connection reset")}
VERSIONS: JsonObject = {"resultType": "complete", "supportedVersions": ["2026-07-28"]}


def judged(rule: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    return verdict_of(catalogue()[f"transport.{rule}"], history(*exchanges, **circumstances))


def header(name: str, value: str) -> Callable[[Draft], Draft]:
    return lambda draft: draft.with_header(name, value)


def without(name: str) -> Callable[[Draft], Draft]:
    return lambda draft: draft.without_header(name)


def discovery(**more: Any) -> Exchange:
    return exchange("server/discover", **{"result": VERSIONS, **more})


def probe(intent: str, edit: Callable[[Draft], Draft], **more: Any) -> tuple[Exchange, Exchange]:
    """An accepted discovery, and the same with one difference."""
    control = discovery()
    return control, exchange("server/discover", intent=intent, edit=edit, control=control, **more)


def task_probe(
    intent: str, value: str | None, method: str = "tasks/get", **more: Any
) -> tuple[Exchange, ...]:
    """A task, an accepted request for it, and the same with another Mcp-Name or none."""
    answer = TASK if method == "tasks/get" else SERVED
    params: JsonObject = {"taskId": "task-1"}
    if method == "tasks/update":
        params["inputResponses"] = {}
    made = creation("task-1")
    control = exchange(method, params, **answer)
    edit = without("Mcp-Name") if value is None else header("Mcp-Name", value)
    sent = exchange(method, params, intent=intent, edit=edit, control=control, **more)
    return made, control, sent


def get_task(**more: Any) -> Exchange:
    return exchange("tasks/get", {"taskId": "task-9"}, **more)


# ---- Mcp-Name ------------------------------------------------------------------------------


def test_a_matching_name_is_served() -> None:
    assert judged("mcp-name-accepted", creation("task-1"), reading("task-1")).verdict == "pass"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_a_matching_name_is_refused(method: str) -> None:
    refused = exchange(method, {"taskId": "task-1"}, **MISMATCH)
    found = judged("mcp-name-accepted", creation("task-1"), refused)
    assert found.verdict == "fail"
    assert method in found.reason


def test_a_task_that_is_found_only_without_the_name() -> None:
    exchanges = (
        creation("task-1"),
        reading("task-1", error=-32602),
        reading("task-1", intent="mcp-name-missing", edit=without("Mcp-Name")),
        reading("task-1", error=-32602),
    )
    assert judged("mcp-name-accepted", *exchanges).verdict == "fail"


@pytest.mark.parametrize(
    "exchanges",
    [
        # It was not there yet, and then it was.
        lambda: (
            reading("task-1", error=-32602),
            reading("task-1", intent="mcp-name-missing", edit=without("Mcp-Name")),
            reading("task-1"),
        ),
        # It was refused with and without.
        lambda: (
            reading("task-1", error=-32602),
            reading("task-1", intent="mcp-name-missing", edit=without("Mcp-Name"), error=-32602),
            reading("task-1", error=-32602),
        ),
        # The header does not say what the body says.
        lambda: (reading("task-1", edit=header("Mcp-Name", "task-2"), **MISMATCH),),
        # Another header was missing.
        lambda: (reading("task-1", edit=without("Mcp-Method"), **MISMATCH),),
        # Names in other case are another rule's.
        lambda: (reading("task-1", intent="header-names", **MISMATCH),),
    ],
)
def test_a_name_that_was_not_refused_for_itself(
    exchanges: Callable[[], tuple[Exchange, ...]],
) -> None:
    assert judged("mcp-name-accepted", creation("task-1"), *exchanges()).verdict in (
        "pass",
        "not-exercised",
    )


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (MISMATCH, "pass"),
        ({"error": -32602}, "pass"),  # refused; the code is another rule's
        ({"status": 400}, "pass"),  # by a gateway, perhaps
        (SERVED, "fail"),
        (BUSY, "not-exercised"),
        ({"error": -32020, "status": 429}, "not-exercised"),
        (STRANGER, "not-exercised"),
        (PAGE, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_another_name(method: str, answer: Answer, verdict: str) -> None:
    exchanges = task_probe("mcp-name-differs", "task-2", method, **answer)
    assert judged("mcp-name-mismatch", *exchanges).verdict == verdict


def test_a_refusal_that_is_not_for_the_headers() -> None:
    pace = {"error": {"code": -31000, "message": "Polling too fast: rate limit"}}
    for answer in (pace, {"status": 500}, {"body": "oops", "status": 500}):
        sent = task_probe("mcp-name-differs", "other", **answer)
        assert judged("mcp-name-mismatch", *sent).verdict == "not-exercised"
    for status in (500, 501):
        sent = probe("mcp-method-missing", without("Mcp-Method"), status=status)
        assert judged("mcp-method-mismatch", *sent).verdict == "not-exercised"
    explained = probe("mcp-method-missing", without("Mcp-Method"), error=-32603, status=500)
    assert judged("mcp-method-mismatch", *explained).verdict == "pass"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_another_name_of_a_task_whose_time_may_have_been_over(method: str) -> None:
    for ttl, verdict in ((10, "not-exercised"), (600_000, "pass")):
        made, control, sent = task_probe("mcp-name-differs", "other", method, error=-32602)
        short = creation("task-1", result=handle("task-1", ttlMs=ttl), started=made.started)
        assert judged("mcp-name-mismatch", short, control, sent).verdict == verdict


def test_another_name_that_is_the_same() -> None:
    """A server that gives two tasks one id leaves no other name to send."""
    exchanges = task_probe("mcp-name-differs", "task-1", "tasks/cancel", **SERVED)
    assert judged("mcp-name-mismatch", *exchanges).verdict == "not-exercised"


def test_another_name_where_the_right_one_is_refused_too() -> None:
    control = reading("task-1", error=-32602)
    sent = reading(
        "task-1",
        intent="mcp-name-differs",
        edit=header("Mcp-Name", "task-2"),
        control=control,
        error=-32602,
    )
    found = judged("mcp-name-mismatch", control, sent)
    assert found.verdict == "not-exercised"
    assert "refused too" in found.reason


def cancelled_all_the_same(status: str, *between: Exchange) -> tuple[Exchange, ...]:
    other = (creation("task-3"), reading("task-3", "completed"))
    made = (creation("task-1"), creation("task-2"))
    accepted = exchange("tasks/cancel", {"taskId": "task-2"}, **SERVED)
    sent = exchange(
        "tasks/cancel",
        {"taskId": "task-1"},
        intent="mcp-name-differs",
        edit=header("Mcp-Name", "task-2"),
        control=accepted,
        **MISMATCH,
    )
    return (*other, *made, accepted, sent, *between, reading("task-1", status))


def test_a_refused_cancel_has_an_effect() -> None:
    found = judged("mcp-name-mismatch", *cancelled_all_the_same("cancelled"))
    assert found.verdict == "fail"
    assert "all the same" in found.reason


def test_a_refused_cancel_has_no_effect() -> None:
    assert judged("mcp-name-mismatch", *cancelled_all_the_same("completed")).verdict == "pass"


@pytest.mark.parametrize("alive", [True, False])
def test_a_task_that_may_have_ended_before_shows_no_effect(alive: bool) -> None:
    """That nothing was cancelled then says nothing of the request that was refused."""
    *before, probe, end = cancelled_all_the_same("completed")
    between = [reading("task-1", started=probe.ended, ended=end.started)] if alive else []
    found = history(*before, probe, *between, end)
    effect = effect_of_cancel(lives(found)["task-1"], probe)
    assert (effect is not None) == alive
    assert effect is None or not effect.moved


def test_a_task_that_somebody_else_may_have_cancelled() -> None:
    properly = exchange("tasks/cancel", {"taskId": "task-1"}, **SERVED)
    exchanges = cancelled_all_the_same("cancelled", properly)
    assert judged("mcp-name-mismatch", *exchanges).verdict == "pass"


def test_a_server_that_cancels_such_tasks_itself() -> None:
    exchanges = cancelled_all_the_same("cancelled")[2:]  # without the one that completed
    assert judged("mcp-name-mismatch", *exchanges).verdict == "pass"


def answered_all_the_same(status: str, *between: Exchange, **members: Any) -> tuple[Exchange, ...]:
    asking = {"inputRequests": {"question-1": QUESTION}}
    params = {"taskId": "task-1", "inputResponses": {"question-1": {"action": "accept"}}}
    made = (creation("task-1"), reading("task-1", "input_required", members=asking))
    accepted = exchange("tasks/update", {**params, "taskId": "task-2"}, **SERVED)
    sent = exchange(
        "tasks/update",
        params,
        intent="mcp-name-differs",
        edit=header("Mcp-Name", "task-2"),
        control=accepted,
        **MISMATCH,
    )
    return (*made, accepted, sent, *between, reading("task-1", status, members=members))


@pytest.mark.parametrize("status", ["working", "completed"])
def test_a_refused_update_has_an_effect(status: str) -> None:
    found = answered_all_the_same(status)
    assert judged("mcp-name-mismatch", *left_alone(), *found).verdict == "fail"
    # Nobody saw that such a task waits for so long.
    assert judged("mcp-name-mismatch", *found).verdict == "pass"


@pytest.mark.parametrize(
    ("status", "members"),
    [
        ("input_required", {"inputRequests": {"question-1": QUESTION, "question-2": QUESTION}}),
        ("input_required", {"inputRequests": {"question-2": QUESTION}}),
        ("input_required", {"inputRequests": ...}),
        ("cancelled", {}),
        ("failed", {}),
    ],
)
def test_a_refused_update_has_no_effect(status: str, members: JsonObject) -> None:
    exchanges = answered_all_the_same(status, **members)
    assert judged("mcp-name-mismatch", *exchanges).verdict == "pass"


def test_a_refused_update_is_not_blamed_where_questions_time_out() -> None:
    asking = {"inputRequests": {"question-1": QUESTION}}
    gave_up = (
        creation("task-9"),
        reading("task-9", "input_required", members=asking),
        reading("task-9", "working"),
    )
    verdict = judged("mcp-name-mismatch", *answered_all_the_same("working"), *gave_up)
    assert verdict.verdict == "pass"  # that it was refused is seen all the same


def test_a_task_that_got_its_answers_properly() -> None:
    properly = exchange("tasks/update", {"taskId": "task-1", "inputResponses": {}}, **SERVED)
    assert judged("mcp-name-mismatch", *answered_all_the_same("working", properly)).verdict == (
        "pass"
    )


@pytest.mark.parametrize(
    ("intent", "value", "answer", "verdict"),
    [
        ("mcp-name-encoded", encoded("task-1"), TASK, "pass"),
        ("mcp-name-encoded", encoded("task-1"), MISMATCH, "fail"),
        ("mcp-name-encoded", encoded("task-1"), {"error": -32602}, "fail"),
        ("mcp-name-encoded", encoded("task-1"), BUSY, "not-exercised"),
        ("mcp-name-encoded-differs", encoded("task-2"), MISMATCH, "pass"),
        ("mcp-name-encoded-differs", encoded("task-2"), TASK, "fail"),
        ("mcp-name-encoded-empty", encoded(""), MISMATCH, "pass"),
        ("mcp-name-encoded-empty", encoded(""), TASK, "fail"),
        ("mcp-name-encoded-broken", "=?base64?%%%?=", MISMATCH, "pass"),
        ("mcp-name-encoded-broken", "=?base64?%%%?=", TASK, "fail"),
    ],
)
def test_the_base64_form(intent: str, value: str, answer: Answer, verdict: str) -> None:
    assert judged("mcp-name-encoded", *task_probe(intent, value, **answer)).verdict == verdict


@pytest.mark.parametrize(
    ("task_id", "code", "verdict"),
    [
        ("任务", -32020, "fail"),
        ("任务", -32602, "not-exercised"),
        ("a\x00b", -32020, "not-exercised"),  # a header may well refuse it
        (" ", -32020, "not-exercised"),
        ("plain", -32020, "not-exercised"),
    ],
)
def test_an_id_that_only_base64_can_carry(task_id: str, code: int, verdict: str) -> None:
    asked = exchange("tasks/get", {"taskId": task_id}, error=code)
    assert judged("mcp-name-encoded", asked).verdict == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"), [(MISMATCH, "pass"), (TASK, "warn"), (BUSY, "not-exercised")]
)
def test_no_name(answer: Answer, verdict: str) -> None:
    exchanges = task_probe("mcp-name-missing", None, **answer)
    assert judged("mcp-name-missing", *exchanges).verdict == verdict


# ---- Mcp-Method, versions, codes -----------------------------------------------------------

METHODS = [
    ("mcp-method-differs", header("Mcp-Method", "tools/list")),
    ("mcp-method-other-case", header("Mcp-Method", "SERVER/DISCOVER")),
    ("mcp-method-missing", without("Mcp-Method")),
]


@pytest.mark.parametrize(("intent", "edit"), METHODS)
@pytest.mark.parametrize(
    ("answer", "verdict"), [(MISMATCH, "pass"), (SERVED, "fail"), (BUSY, "not-exercised")]
)
def test_another_method(
    intent: str, edit: Callable[[Draft], Draft], answer: Answer, verdict: str
) -> None:
    assert judged("mcp-method-mismatch", *probe(intent, edit, **answer)).verdict == verdict


UNKNOWN = ("version-header-unknown", header("MCP-Protocol-Version", "2099-01-01"))
OLDER = ("version-header-older", header("MCP-Protocol-Version", "2025-11-25"))
IN_BODY = ("version-body-differs", lambda d: d.with_meta(META_PROTOCOL_VERSION, "2099-01-01"))
NO_SESSION: Answer = {"error": -32600, "headers": {"Mcp-Session-Id": "minted"}}


@pytest.mark.parametrize(
    ("sent", "answer", "verdict"),
    [
        (UNKNOWN, MISMATCH, "pass"),
        (UNKNOWN, {"error": -32022}, "pass"),
        (UNKNOWN, {"error": -32001}, "pass"),  # refused; the code is another rule's
        (UNKNOWN, SERVED, "fail"),
        (OLDER, MISMATCH, "pass"),
        (OLDER, {"error": -32022}, "pass"),
        (OLDER, {"error": -32001}, "pass"),
        (OLDER, SERVED, "fail"),
        (OLDER, NO_SESSION, "fail"),
        (OLDER, PAGE, "not-exercised"),
        (IN_BODY, MISMATCH, "pass"),
        (IN_BODY, SERVED, "fail"),
    ],
)
def test_another_version(
    sent: tuple[str, Callable[[Draft], Draft]], answer: Answer, verdict: str
) -> None:
    assert judged("version-mismatch", *probe(*sent, **answer)).verdict == verdict


def test_the_header_alone_chooses_the_revision() -> None:
    exchanges = (*probe(*UNKNOWN, **MISMATCH), *probe(*OLDER, error=-32600))
    assert judged("version-mismatch", *exchanges).verdict == "fail"
    # Told once.
    assert judged("header-mismatch-code", *exchanges).verdict == "pass"


def test_one_wrong_code_for_every_header() -> None:
    exchanges = (*probe(*UNKNOWN, error=-32001), *probe(*OLDER, error=-32001))
    assert judged("version-mismatch", *exchanges).verdict == "pass"
    found = judged("header-mismatch-code", *exchanges)
    assert found.verdict == "fail"
    assert "obsolete" in found.reason


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (MISMATCH, "pass"),
        ({"error": -32602}, "fail"),
        ({"error": -32020, "status": 200}, "fail"),
        ({"error": -32020, "status": 403}, "fail"),
        ({"status": 400}, "not-exercised"),  # a gateway need not say more
        (SERVED, "not-exercised"),  # not refused: another rule tells
        (BUSY, "not-exercised"),
        (STRANGER, "not-exercised"),
    ],
)
def test_the_code_for_headers(answer: Answer, verdict: str) -> None:
    sent = probe("mcp-method-missing", without("Mcp-Method"), **answer)
    assert judged("header-mismatch-code", *sent).verdict == verdict


def test_the_status_of_the_code_is_looked_at_everywhere() -> None:
    stray = exchange("tools/list", error={"code": -32020, "message": "no"}, status=200)
    assert judged("header-mismatch-code", stray).verdict == "fail"


def on_both(draft: Draft) -> Draft:
    version = "2099-01-01"
    return draft.with_header("MCP-Protocol-Version", version).with_meta(
        META_PROTOCOL_VERSION, version
    )


def unsupported(**data: object) -> Answer:
    return {"error": {"code": -32022, "message": "no", "data": data}, "status": 400}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (unsupported(supported=["2026-07-28"], requested="2099-01-01"), "pass"),
        (unsupported(supported=["2025-11-25", "2026-07-28"], requested="2099-01-01"), "pass"),
        (unsupported(supported=["2025-11-25"], requested="2099-01-01"), "fail"),
        (unsupported(supported="2026-07-28", requested="2099-01-01"), "fail"),
        (unsupported(requested="2099-01-01"), "fail"),
        (unsupported(supported=["2026-07-28"]), "fail"),
        (unsupported(supported=["2026-07-28"], requested="2026-07-28"), "fail"),
        ({"error": {"code": -32022, "message": "no"}, "status": 400}, "fail"),
        ({"error": -32004}, "fail"),
        ({"error": -32020}, "fail"),
        (SERVED, "fail"),
        (BUSY, "not-exercised"),
        (PAGE, "not-exercised"),
    ],
)
def test_an_unknown_version(answer: Answer, verdict: str) -> None:
    assert judged("unsupported-version", *probe("version-unknown", on_both, **answer)).verdict == (
        verdict
    )


def test_an_unknown_version_whose_code_is_written_as_a_fraction() -> None:
    for data, verdict in (
        ({}, "fail"),
        ({"data": {"supported": ["2026-07-28"], "requested": "2099-01-01"}}, "pass"),
    ):
        error = {"code": -32022.0, "message": "no", **data}
        sent = probe("version-unknown", on_both, error=error, status=400)
        assert judged("unsupported-version", *sent).verdict == verdict


def test_an_unknown_version_with_another_status() -> None:
    answer = unsupported(supported=["2026-07-28"], requested="2099-01-01")
    sent = probe("version-unknown", on_both, **{**answer, "status": 200})
    assert judged("unsupported-version", *sent).verdict == "fail"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (SERVED, "pass"),
        (MISMATCH, "fail"),
        ({"error": -32602}, "fail"),
        (BUSY, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_header_names_in_capitals(answer: Answer, verdict: str) -> None:
    def capitals(draft: Draft) -> Draft:
        return draft.with_header("MCP-METHOD", "server/discover")

    sent = probe("header-names", capitals, **answer)
    assert judged("header-names-case-insensitive", *sent).verdict == verdict


# ---- statuses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"error": -32601}, "pass"),
        ({"error": -32601, "status": 200}, "fail"),
        ({"error": -32601, "status": 400}, "fail"),
        ({"error": -32600}, "fail"),
        (SERVED, "fail"),
        ({"status": 404}, "not-exercised"),
        (PAGE, "not-exercised"),
    ],
)
def test_an_unknown_method(answer: Answer, verdict: str) -> None:
    control = discovery()
    sent = exchange("no/such", intent="unknown-method", control=control, **answer)
    assert judged("method-not-found-status", control, sent).verdict == verdict


@pytest.mark.parametrize(
    "answer",
    [
        {"error": -32000, "status": 503},
        {"error": -32601, "status": 503},
        {"error": -32601, "status": 429},
        {"error": -32000, "status": 504},
    ],
)
def test_an_unknown_method_and_a_server_without_time(answer: Answer) -> None:
    control = discovery()
    sent = exchange("no/such", intent="unknown-method", control=control, **answer)
    assert judged("method-not-found-status", control, sent).verdict == "not-exercised"


def test_the_status_of_every_method_that_is_not_served() -> None:
    stray = exchange("tasks/result", {"taskId": "task-1"}, error=-32601, status=200)
    assert judged("method-not-found-status", stray).verdict == "fail"


@pytest.mark.parametrize(
    "exchanges",
    [
        # The method is served; it is something else that was not found.
        lambda: (reading("task-1"), get_task(error=-32601, status=200)),
        # A call may end in the error of another server.
        lambda: (exchange("tools/call", {"name": "proxy"}, error=-32601, status=200),),
        # Asked under an older revision.
        lambda: (exchange("ping", edit=OLDER[1], error=-32601, status=200),),
        lambda: (exchange("ping", edit=lambda d: d.without_param("_meta"), error=-32601),),
    ],
)
def test_other_uses_of_the_code(exchanges: Callable[[], tuple[Exchange, ...]]) -> None:
    assert judged("method-not-found-status", *exchanges()).verdict == "not-exercised"


NO_CAPABILITIES = (
    "without-client-capabilities",
    lambda d: d.without_meta(META_CLIENT_CAPABILITIES),
)
NO_VERSION = ("without-protocol-version", lambda d: d.without_meta(META_PROTOCOL_VERSION))
NO_META = ("without-meta", lambda d: d.without_param("_meta"))
HANDSHAKE: JsonObject = {"protocolVersion": "2025-11-25", "capabilities": {}}


@pytest.mark.parametrize("sent", [NO_CAPABILITIES, NO_VERSION, NO_META])
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"error": -32602, "status": 400}, "pass"),
        ({"error": -32602, "status": 200}, "fail"),
        ({"error": -32600}, "fail"),
        (SERVED, "fail"),
        (BUSY, "not-exercised"),
        (PAGE, "not-exercised"),
    ],
)
def test_meta_is_missing(
    sent: tuple[str, Callable[[Draft], Draft]], answer: Answer, verdict: str
) -> None:
    assert judged("missing-meta", *probe(*sent, **answer)).verdict == verdict


@pytest.mark.parametrize("sent", [NO_VERSION, NO_META])
def test_a_missing_version_may_be_found_in_the_headers_first(
    sent: tuple[str, Callable[[Draft], Draft]],
) -> None:
    assert judged("missing-meta", *probe(*sent, **MISMATCH)).verdict == "not-exercised"
    assert judged("missing-meta", *probe(*NO_CAPABILITIES, **MISMATCH)).verdict == "fail"


@pytest.mark.parametrize("answer", [SERVED, {"error": -32600}])
def test_without_meta_it_may_be_an_older_request(answer: Answer) -> None:
    shaken = exchange("initialize", result=HANDSHAKE)
    assert judged("missing-meta", shaken, *probe(*NO_META, **answer)).verdict == "not-exercised"
    assert judged("missing-meta", shaken, *probe(*NO_CAPABILITIES, **answer)).verdict == "fail"


def test_the_status_of_a_missing_capability() -> None:
    undeclared: dict[str, Any] = {"capabilities": UNDECLARED, "intent": "undeclared-status"}
    good = get_task(error=-32021, **undeclared)
    assert judged("capability-status", good).verdict == "pass"
    for status in (200, 403):
        bad = get_task(error=-32021, status=status, **undeclared)
        assert judged("capability-status", good, bad).verdict == "fail"
    older = get_task(error=-32021, status=200, edit=OLDER[1])
    assert judged("capability-status", older).verdict == "not-exercised"
    absent = get_task(error=-32601, **undeclared)
    assert judged("capability-status", absent).verdict == "not-applicable"


# ---- answers -------------------------------------------------------------------------------

RESPONSE = {"jsonrpc": "2.0", "id": 7, "result": {"resultType": "complete"}}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"answer": RESPONSE}, "pass"),
        ({"answer": RESPONSE, "content_type": "application/json; charset=utf-8"}, "pass"),
        ({"answer": RESPONSE, "content_type": "Application/JSON"}, "pass"),
        ({"events": [RESPONSE]}, "pass"),
        ({"answer": RESPONSE, "content_type": "text/plain"}, "fail"),
        ({"answer": {"jsonrpc": "2.0", "error": {}}, "content_type": "text/plain"}, "fail"),
        ({"body": "<html>", "content_type": "text/html"}, "fail"),
        ({"error": -32602, "status": 400, "content_type": "application/problem+json"}, "fail"),
        ({"body": '{"error": "x"}', "status": 404, "content_type": "text/json"}, "not-exercised"),
        (PAGE, "not-exercised"),
        ({"status": 202}, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_the_media_type(answer: Answer, verdict: str) -> None:
    assert judged("content-type", exchange("tools/list", **answer)).verdict == verdict


def test_a_notification_has_no_media_type() -> None:
    refused = exchange(
        "notifications/x",
        edit=lambda d: d.without_member("id"),
        body="no",
        status=400,
        content_type="text/plain",
    )
    assert judged("content-type", refused).verdict == "not-exercised"


PROGRESS = {"method": "notifications/progress", "params": {}}
BROKEN_OFF = {"events": [PROGRESS], "fault": Fault("protocol", "peer closed connection")}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"answer": RESPONSE}, "pass"),
        ({"error": -32602}, "pass"),
        ({"events": [PROGRESS, RESPONSE]}, "pass"),
        ({"events": [PROGRESS]}, "fail"),
        ({"body": "", "status": 200, "content_type": "text/event-stream"}, "fail"),
        ({"events": [RESPONSE, RESPONSE]}, "fail"),
        ({"status": 200}, "fail"),
        ({"status": 202}, "fail"),
        ({"status": 204}, "fail"),
        ({"body": "[]"}, "fail"),
        ({"body": '{"jsonrpc": "2.0", "id": 7, "resu'}, "fail"),
        ({"body": "{}"}, "fail"),
        ({"status": 404}, "fail"),
        ({"body": '{"detail": "Not Found"}', "status": 404}, "fail"),
        ({"status": 500}, "fail"),
        (BROKEN_OFF, "fail"),
        # What is no fault of the server, or may be none.
        ({"events": [PROGRESS], "cut": True}, "not-exercised"),
        ({"body": "<html>", "status": 404, "content_type": "text/html"}, "not-exercised"),
        ({"body": "<html>", "content_type": "text/html"}, "not-exercised"),
        ({"fault": Fault("interrupted", "stopped")}, "not-exercised"),
        ({"status": 413}, "not-exercised"),
        ({"status": 406}, "not-exercised"),
        (BUSY, "not-exercised"),
        (STRANGER, "not-exercised"),
        (PAGE, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_one_response(answer: Answer, verdict: str) -> None:
    assert judged("answered", exchange("tools/list", **answer)).verdict == verdict


NOT_FOUND: Answer = {"body": "<html>Not Found</html>", "status": 404, "content_type": "text/html"}
SILENCE: Answer = {"fault": Fault("timeout", "no answer")}


def unknown(*answers: Answer, intent: str = "unknown-id", task_id: str = "none") -> list[Exchange]:
    """A task that can be read, and requests for one that is not there."""
    asked = [exchange("tasks/get", {"taskId": task_id}, intent=intent, **a) for a in answers]
    return [creation("task-1"), reading("task-1"), *asked]


@pytest.mark.parametrize("intent", ["unknown-id", "derived-id", "after-ttl"])
def test_what_is_not_there_is_told_in_a_page_each_time(intent: str) -> None:
    found = judged("answered", *unknown(NOT_FOUND, NOT_FOUND, intent=intent))
    assert found.verdict == "fail"
    assert "for a task" in found.reason
    assert found.observations == 2


@pytest.mark.parametrize("answer", [NOT_FOUND, SILENCE])
def test_a_page_or_silence_may_be_an_accident(answer: Answer) -> None:
    assert judged("answered", *unknown(answer)).verdict == "pass"
    # Another of the kind was refused as it should be.
    assert judged("answered", *unknown(answer, {"error": -32602}, answer)).verdict == "pass"


def test_an_id_like_an_attack_is_refused_by_those_who_look_for_one() -> None:
    odd = unknown(NOT_FOUND, NOT_FOUND, task_id="../../etc/passwd")
    assert judged("answered", *odd).verdict == "pass"


@pytest.mark.parametrize("answer", [BUSY, STRANGER, PAGE, {**NOT_FOUND, "status": 403}])
def test_what_others_may_have_refused_is_no_page_of_the_server(answer: Answer) -> None:
    assert judged("answered", *unknown(answer, answer)).verdict == "pass"


def test_a_large_answer_that_breaks_off_is_told_by_another_rule() -> None:
    cut: dict[str, Any] = {"body": '{"jsonrpc":"2.0","id":1,"result":{"x":"' + "x" * 70_000}
    made = creation("task-1", tool="export")
    read = exchange("tasks/get", {"taskId": "task-1"}, **cut)
    call = exchange("tools/call", {"name": "export", "arguments": {}}, **cut)
    assert judged("answered", made, reading("task-1"), read, call).verdict == "pass"
    other = exchange("tools/call", {"name": "print", "arguments": {}}, **cut)
    assert judged("answered", made, reading("task-1"), read, other).verdict == "fail"
    # A small one that breaks off is nothing of that kind.
    small = exchange("tasks/get", {"taskId": "task-1"}, body='{"jsonrpc":"2.0",')
    assert judged("answered", made, reading("task-1"), small).verdict == "fail"


def test_pages_for_everything_are_another_matter() -> None:
    asked = unknown(NOT_FOUND, NOT_FOUND)[2:]
    read = exchange("tasks/get", {"taskId": "task-1"}, **NOT_FOUND)
    assert judged("answered", creation("task-1"), read, *asked).verdict == "pass"
    # Who is turned away in JSON-RPC was not served by the method.
    stranger = exchange("tasks/get", {"taskId": "task-1"}, error=-32600, status=401)
    assert judged("answered", creation("task-1"), read, stranger, *asked).verdict == "pass"


def test_undeclared_requests_are_a_page_each_time() -> None:
    sent = [
        exchange("tasks/get", {"taskId": t}, intent="undeclared", capabilities=UNDECLARED, **a)
        for t, a in (("task-1", {**NOT_FOUND, "status": 400}), ("none", NOT_FOUND))
    ]
    found = judged("answered", creation("task-1"), reading("task-1"), *sent)
    assert found.verdict == "fail"
    assert "does not declare" in found.reason


def test_what_is_not_there_is_never_answered() -> None:
    assert judged("answered", *unknown(SILENCE, SILENCE)).verdict == "fail"


@pytest.mark.parametrize(
    "event",
    [
        Event(1.0, '{"result": "50 % done"}', "status"),
        Event(1.0, '{"error": null, "beat": 1}', "heartbeat"),
        Event(1.0, "50 %", "progress"),
    ],
)
def test_events_of_a_type_of_their_own_are_not_ours(event: Event) -> None:
    sent = exchange("tools/list", number=7, events=[event, RESPONSE])
    found = [
        verdict_of(catalogue()[rule], history(sent)).verdict
        for rule in ("transport.answered", "jsonrpc.envelope", "jsonrpc.error-shape")
    ]
    assert found == ["pass", "pass", "not-exercised"]
    assert judged("answered", exchange("tools/list", events=[event])).verdict == "fail"


def test_a_response_in_an_event_of_another_type_is_one() -> None:
    sent = exchange("tools/list", events=[Event(1.0, json.dumps(RESPONSE), "response")])
    assert judged("answered", sent).verdict == "pass"


DEEP = '{"a":' * 130 + "1" + "}" * 130


@pytest.mark.parametrize("value", [DEEP, "1e400", "1" * 4001])
def test_what_only_our_limits_keep_us_from_reading(value: str) -> None:
    text = f'{{"jsonrpc": "2.0", "id": 7, "result": {{"resultType": "complete", "a": {value}}}}}'
    call = exchange("tools/call", {"name": "tree", "arguments": {}}, body=text)
    found = judged("answered", call)
    assert found.verdict == "not-exercised"
    assert "limit of the suite" in found.reason
    streamed = exchange("tools/list", events=[text, RESPONSE])
    assert judged("answered", streamed).verdict == "pass"
    streamed = exchange("tools/list", events=[text])
    assert judged("answered", streamed).verdict == "not-exercised"


@pytest.mark.parametrize("body", [b"\x0b\x02\x80hello\x03", b""])
def test_an_answer_in_a_coding_that_was_not_asked_for(body: bytes) -> None:
    coded = Fault("encoding", "content encoding 'br' was not asked for")
    found = judged("answered", exchange("tools/list", status=200, body=body, fault=coded))
    assert found.verdict == "not-exercised"
    assert "not asked for" in found.reason
    assert "closed" not in found.reason
    assert "complete" not in found.reason


@pytest.mark.parametrize("answer", [{"status": 404}, {"status": 500}, BROKEN_OFF])
def test_elsewhere_somebody_else_may_have_answered(answer: Answer) -> None:
    sent = exchange("tools/list", **answer)
    assert judged("answered", sent, loopback=False).verdict == "not-exercised"


def late(method: str, params: JsonObject | None = None) -> tuple[Exchange, Exchange]:
    """Two requests, one after the other, that waited in vain."""
    fault = Fault("timeout", "nothing complete within 5 s")
    return (
        exchange(method, params, fault=fault, started=100.0, ended=105.0),
        exchange(method, params, fault=fault, started=106.0, ended=116.0),
    )


@pytest.mark.parametrize(
    ("exchanges", "verdict"),
    [
        (lambda: late("no/such"), "fail"),
        (lambda: late("tasks/get", {"taskId": "unknown"}), "fail"),
        # Once, or both at the same time, it may only be slow.
        (lambda: late("no/such")[:1], "not-exercised"),
        (lambda: (late("no/such")[0], late("no/such")[0]), "not-exercised"),
        # At other times it does answer.
        (lambda: (exchange("tools/list", **SERVED), *late("tools/list")), "pass"),
        # These may take their time.
        (lambda: late("tools/call", {"name": "export"}), "not-exercised"),
        (lambda: late("subscriptions/listen"), "not-exercised"),
        (lambda: (creation("task-1"), *late("tasks/get", {"taskId": "task-1"})), "pass"),
    ],
)
def test_no_answer_in_time(exchanges: Callable[[], tuple[Exchange, ...]], verdict: str) -> None:
    assert judged("answered", *exchanges()).verdict == verdict


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.without_member("id"),
        lambda d: d.with_raw_body(b"{"),
        lambda d: d.with_member("id", None),
        OLDER[1],
        lambda d: d.without_param("_meta"),
    ],
)
def test_what_awaits_no_answer_of_this_revision(edit: Callable[[Draft], Draft]) -> None:
    assert judged("answered", exchange("tools/list", edit=edit, status=202)).verdict == (
        "not-exercised"
    )


def test_an_ended_subscription_may_end_without_a_word() -> None:
    ended = exchange("subscriptions/listen", events=[PROGRESS])
    assert judged("answered", ended).verdict == "not-exercised"


# ---- what older revisions had --------------------------------------------------------------


def refused_handshake() -> Exchange:
    return exchange("initialize", error=-32601, edit=lambda d: d.without_param("_meta"))


def bodiless(http_method: str, **answer: Any) -> Exchange:
    headers = (("MCP-Protocol-Version", "2026-07-28"),)
    return exchange(
        intent=f"http-{http_method.lower()}",
        edit=lambda d: Draft(b"", headers, http_method),
        **answer,
    )


def with_session(**answer: Any) -> tuple[Exchange, Exchange]:
    return probe("session-sent", header("Mcp-Session-Id", "conformance"), **answer)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (SERVED, "pass"),
        ({**SERVED, "headers": {"Mcp-Session-Id": "conformance"}}, "warn"),
        ({"error": -32600, "status": 404}, "warn"),
        ({"status": 400}, "warn"),
        (BUSY, "not-exercised"),
        (PAGE, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_a_session_that_is_sent(answer: Answer, verdict: str) -> None:
    sent = with_session(**answer)
    assert judged("no-session", refused_handshake(), *sent).verdict == verdict


def test_a_session_that_is_minted() -> None:
    minted = discovery(headers={"mcp-session-id": "minted"})
    assert judged("no-session", refused_handshake(), minted).verdict == "warn"


@pytest.mark.parametrize("rule", ["no-session", "get-and-delete"])
def test_a_server_that_also_speaks_an_older_revision(rule: str) -> None:
    traffic = (*with_session(status=404), bodiless("GET", status=200), bodiless("DELETE"))
    for other in (
        exchange("initialize", result=HANDSHAKE),
        discovery(result={"supportedVersions": ["2026-07-28", "2025-11-25"]}),
        exchange("tools/list", **unsupported(supported=["2025-06-18", "2026-07-28"])),
        bodiless("GET", events=[Event(1.0, "/messages?session=1", "endpoint")], cut=True),
    ):
        assert judged(rule, refused_handshake(), *traffic, other).verdict == "not-applicable"


@pytest.mark.parametrize("rule", ["no-session", "get-and-delete"])
def test_a_server_of_which_it_is_not_known(rule: str) -> None:
    traffic = (*with_session(status=404), bodiless("GET", status=200))
    assert judged(rule, *traffic).verdict == "not-exercised"
    busy = exchange("initialize", status=429)
    assert judged(rule, busy, *traffic).verdict == "not-exercised"


@pytest.mark.parametrize("http_method", ["GET", "DELETE"])
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"status": 405}, "pass"),
        ({"status": 404}, "warn"),
        ({"status": 204}, "warn"),
        ({"events": [": open"], "cut": True}, "warn"),
        ({"events": [Event(1.0, "/messages", "ping")], "cut": True}, "warn"),
        ({"status": 401}, "not-exercised"),
        ({"status": 502}, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_get_and_delete(http_method: str, answer: Answer, verdict: str) -> None:
    sent = bodiless(http_method, **answer)
    assert judged("get-and-delete", refused_handshake(), discovery(), sent).verdict == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"status": 403}, "pass"),
        ({"error": -32600, "status": 403}, "pass"),
        ({"body": "Forbidden", "status": 403, "content_type": "text/plain"}, "pass"),
        (SERVED, "fail"),
        ({"error": -32600, "status": 400}, "fail"),
        ({"status": 404}, "fail"),
        (STRANGER, "not-exercised"),
        (BUSY, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_a_foreign_origin(answer: Answer, verdict: str) -> None:
    sent = probe("foreign-origin", header("Origin", "http://foreign.example"), **answer)
    assert judged("foreign-origin", *sent).verdict == verdict


def test_origins_of_a_server_elsewhere_are_not_known() -> None:
    found = judged("foreign-origin", discovery(), loopback=False)
    assert found.verdict == "not-applicable"


# ---- servers that are merely different -----------------------------------------------------


def test_reads_that_were_refused_for_another_reason() -> None:
    """Undeclared and foreign reads are refused, whatever their headers say."""
    for other in ({"capabilities": UNDECLARED}, {"caller": "second"}):
        exchanges = (
            creation("task-1"),
            reading("task-1", error=-32021, **other),
            reading("task-1", intent="mcp-name-missing", edit=without("Mcp-Name")),
            reading("task-1", error=-32021, **other),
        )
        assert judged("mcp-name-accepted", *exchanges).verdict != "fail"


@pytest.mark.parametrize(
    ("rule", "intent", "edit"),
    [
        ("mcp-name-encoded", "mcp-name-encoded", header("Mcp-Name", encoded("task-1"))),
        ("header-names-case-insensitive", "header-names", lambda draft: draft),
        ("header-mismatch-code", "mcp-name-differs", header("Mcp-Name", "task-2")),
    ],
)
def test_a_task_whose_time_was_over(rule: str, intent: str, edit: Callable[[Draft], Draft]) -> None:
    for ttl, verdict in ((60_000, "fail"), (1_000, "not-exercised")):
        made = creation("task-1", result=handle("task-1", ttlMs=ttl), started=1.0)
        control = reading("task-1", members={"ttlMs": ttl}, started=1.5)
        late = reading(
            "task-1", error=-32602, intent=intent, edit=edit, control=control, started=3.0
        )
        assert judged(rule, made, control, late).verdict == verdict


@pytest.mark.parametrize("status", [401, 429, 503])
def test_an_older_header_that_was_refused_for_the_pace(status: int) -> None:
    """The limit is told with JSON-RPC; the server knows its codes otherwise."""
    knows = probe(
        "version-header-unknown", header("MCP-Protocol-Version", "2099-01-01"), **MISMATCH
    )
    limited = probe(
        "version-header-older",
        header("MCP-Protocol-Version", "2025-11-25"),
        error={"code": -32000, "message": "slow down"},
        status=status,
    )
    assert judged("version-mismatch", *knows, *limited).verdict == "pass"


def test_a_call_that_comes_to_need_a_capability_later() -> None:
    """Its stream has begun, and the status of HTTP with it."""
    progress = {"method": "notifications/progress", "params": {"progress": 1}}
    lacking = {"id": 7, "error": {"code": -32021, "message": "sampling is needed"}}
    call = exchange("tools/call", {"name": "x"}, request_id=7, events=[progress, lacking])
    assert judged("capability-status", call).verdict == "not-exercised"
    at_once = exchange("tools/call", {"name": "x"}, request_id=7, events=[lacking])
    assert judged("capability-status", at_once).verdict == "fail"


def test_an_empty_method_is_ill_formed_and_not_unknown() -> None:
    sent = exchange(
        "tools/list",
        intent="ill-formed",
        edit=lambda d: d.with_member("method", ""),
        error=-32601,
        status=400,
    )
    assert judged("method-not-found-status", sent).verdict == "not-exercised"
