"""The rules on the form of messages, on histories written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.drive.draft import Draft
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Verdict, verdict_of
from conformance.wire.exchange import HELD_UP, Exchange, Fault, JsonObject
from tests.builders import creation, exchange, handle, history, reading

Answer = dict[str, Any]
Edit = Callable[[Draft], Draft]
DONE: JsonObject = {"resultType": "complete"}
SERVED: Answer = {"result": DONE}
BUSY: Answer = {"status": 429}
BUSY_IN_JSON: Answer = {"error": -32000, "status": 429}
PAGE: Answer = {"body": "<html>Bad Gateway</html>", "status": 502, "content_type": "text/html"}
HTML: Answer = {"body": "<!doctype html><p>Error", "status": 400, "content_type": "text/html"}
RESET: Answer = {"fault": Fault("reset", "connection reset")}
RESET_AGAIN: Answer = {**RESET, "notes": {"again": 1}}
OLDER: Edit = lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25")  # noqa: E731


def judged(rule: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    return verdict_of(catalogue()[f"jsonrpc.{rule}"], history(*exchanges, **circumstances))


def speaks_older() -> Exchange:
    return exchange("initialize", result={"protocolVersion": "2025-11-25"})


# ---- the envelope --------------------------------------------------------------------------


def response(**members: object) -> Answer:
    """A response to the request 7; ``...`` takes a member away."""
    message = {"jsonrpc": "2.0", "id": 7, "result": DONE, **members}
    return {"answer": {k: v for k, v in message.items() if v is not ...}, "request_id": 7}


def error(**members: object) -> Answer:
    return response(result=..., error={"code": -32602, "message": "no"}, **members)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (response(), "pass"),
        (response(id=7.0), "pass"),
        (response(vendor=1), "pass"),
        (error(), "pass"),
        ({**SERVED, "request_id": "7"}, "pass"),
        ({**SERVED, "request_id": ""}, "pass"),
        ({**SERVED, "request_id": 0}, "pass"),
        (response(jsonrpc=...), "fail"),
        (response(jsonrpc="1.0"), "fail"),
        (response(jsonrpc=2.0), "fail"),
        (response(id="7"), "fail"),
        (response(id=8), "fail"),
        (response(id=None), "fail"),
        (response(id=...), "fail"),
        (response(id=True), "fail"),
        ({**response(id=7), "request_id": "7"}, "fail"),
        ({**response(id=False), "request_id": 0}, "fail"),
        (response(error=None), "fail"),
        (response(error={"code": 1, "message": "both"}), "fail"),
        (response(result=None), "fail"),
        (response(result=[]), "fail"),
        (error(id=None), "fail"),
        (error(id=...), "fail"),
        (error(id=8), "fail"),
        (error(jsonrpc=...), "fail"),
        # Not JSON-RPC at all, or nothing.
        ({"body": '{"error": "invalid_token"}', "status": 401}, "not-exercised"),
        ({"body": '{"error": "not found"}', "status": 404}, "not-exercised"),
        ({**error(id=None), "status": 429}, "not-judged"),
        ({**error(id=...), "status": 403}, "not-judged"),
        ({**error(id=...), "status": 413}, "not-judged"),
        (PAGE, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_a_response(answer: Answer, verdict: str) -> None:
    found = judged("envelope", exchange("tools/list", **answer))
    assert found.verdict == ("pass" if verdict == "not-judged" else verdict)


@pytest.mark.parametrize("answer", [error(id=None), error(id=...)])
@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.with_raw_body(b"{"),
        lambda d: d.with_raw_body(b"[]"),
        lambda d: d.with_member("id", None),
        lambda d: d.with_member("id", 1.5),
        lambda d: d.with_member("jsonrpc", "1.0"),
        lambda d: d.with_member("params", []),
        lambda d: d.without_member("method"),
        lambda d: d.without_param("_meta"),
        lambda d: d.without_header("Mcp-Method"),
        lambda d: d.with_header("Origin", "http://foreign.example"),
        lambda d: d.with_header("Mcp-Session-Id", "x"),
    ],
)
def test_an_error_to_what_was_not_read_needs_no_id(edit: Edit, answer: Answer) -> None:
    sent = exchange("tools/list", edit=edit, **{**answer, "status": 400})
    assert judged("envelope", sent).verdict == "pass"


def test_a_result_needs_its_id_whatever_the_request() -> None:
    sent = exchange("tools/list", edit=lambda d: d.without_header("Mcp-Method"), **response(id=...))
    assert judged("envelope", sent).verdict == "fail"


def test_an_older_revision_has_rules_of_its_own() -> None:
    answer = error(id=None)
    assert judged("envelope", exchange("tools/list", edit=OLDER, **answer)).verdict == (
        "not-exercised"
    )
    bare = exchange("tools/list", edit=lambda d: d.without_param("_meta"), **response(jsonrpc=...))
    assert judged("envelope", bare).verdict == "fail"
    assert judged("envelope", speaks_older(), bare).verdict == "pass"


def test_notifications_on_a_stream_have_their_version_too() -> None:
    good = {"jsonrpc": "2.0", "id": 7, "result": DONE}
    for version, verdict in (("2.0", "pass"), ("1.0", "fail")):
        note = {"jsonrpc": version, "method": "notifications/message", "params": {}}
        sent = exchange("tools/list", events=[note, good], request_id=7)
        assert judged("envelope", sent).verdict == verdict


# ---- errors and results --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error_object", "verdict"),
    [
        ({"code": -32602, "message": "no"}, "pass"),
        ({"code": -32602.0, "message": ""}, "pass"),
        ({"code": 4100, "message": "no", "data": None, "vendor": 1}, "pass"),
        ({"code": "-32602", "message": "no"}, "fail"),
        ({"code": -32602.5, "message": "no"}, "fail"),
        ({"code": True, "message": "no"}, "fail"),
        ({"code": None, "message": "no"}, "fail"),
        ({"code": [], "message": "no"}, "fail"),
        ({"message": "no"}, "fail"),
        ({"code": -32602}, "fail"),
        ({"code": -32602, "message": None}, "fail"),
        ({"code": -32602, "message": {"text": "no"}}, "fail"),
        ("no", "fail"),
        (None, "fail"),
    ],
)
def test_an_error(error_object: object, verdict: str) -> None:
    sent = exchange("tools/list", **response(result=..., error=error_object))
    assert judged("error-shape", sent).verdict == verdict


@pytest.mark.parametrize(
    "sent",
    [
        lambda: exchange("tools/list", body='{"error": "invalid_token"}', status=401),
        lambda: exchange("tools/list", body='{"error": "no"}', status=404),
        lambda: exchange("tools/list", edit=OLDER, **response(result=..., error="no")),
        lambda: exchange("tools/list", **response(error=None)),
        lambda: exchange("tools/list", **SERVED),
    ],
)
def test_what_is_no_error_of_this_revision(sent: Callable[[], Exchange]) -> None:
    assert judged("error-shape", sent()).verdict == "not-exercised"


@pytest.mark.parametrize(
    ("sent", "verdict"),
    [
        (lambda: exchange("tools/list", **SERVED), "pass"),
        (lambda: exchange("tools/list", result={"resultType": "something"}), "pass"),
        (lambda: exchange("tools/list", result={"tools": []}), "fail"),
        (lambda: exchange("tools/list", result={"resultType": None}), "fail"),
        (lambda: exchange("tools/call", {"name": "x"}, result={"content": []}), "fail"),
        # Other rules are about these.
        (lambda: reading("task-1", members={"resultType": ...}), "not-exercised"),
        (lambda: exchange("tasks/cancel", {"taskId": "t"}, result={}), "not-exercised"),
        (lambda: creation(result=handle(resultType=...)), "not-exercised"),
        (lambda: exchange("tools/list", result={}, edit=OLDER), "not-exercised"),
        (lambda: exchange("tools/list", error=-32602), "not-exercised"),
    ],
)
def test_a_result(sent: Callable[[], Exchange], verdict: str) -> None:
    assert judged("result-type-present", sent()).verdict == verdict


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (-32602, "pass"),
        (-32020, "pass"),
        (-32022, "pass"),
        (-32019, "pass"),  # legacy, and only discouraged
        (-32001, "pass"),
        (-32100, "pass"),
        (4100, "pass"),
        (-32023, "fail"),
        (-32099, "fail"),
        (-32002, "fail"),
        (-32042, "fail"),
        (-32042.0, "fail"),
        ("-32042", "not-exercised"),
        (True, "not-exercised"),
    ],
)
def test_a_code(code: object, verdict: str) -> None:
    sent = exchange("tools/list", error={"code": code, "message": "no"})
    assert judged("reserved-codes", sent).verdict == verdict


def test_a_code_in_a_failed_task() -> None:
    failed = reading("t", "failed", members={"error": {"code": -32002, "message": "no"}})
    found = judged("reserved-codes", failed)
    assert found.verdict == "fail"
    assert found.evidence[0].member == "/result/error/code"


def test_a_code_of_an_older_revision() -> None:
    error_object = {"code": -32002, "message": "no"}
    sent = exchange("tools/list", error=error_object, edit=OLDER)
    assert judged("reserved-codes", sent).verdict == "not-exercised"


# ---- ill-formed requests -------------------------------------------------------------------


def task_id(method: str, value: object, **answer: Any) -> Exchange:
    params: JsonObject = {} if value is ... else {"taskId": value}
    intent = "task-id-missing" if value is ... else "task-id-ill-typed"
    return exchange(method, params, intent=intent, **answer)


@pytest.mark.parametrize("value", [..., None, 5, [], {}])
@pytest.mark.parametrize(
    ("answer", "verdict", "of_others"),
    [
        ({"error": -32602, "status": 400}, "pass", "pass"),
        ({"error": -32602, "status": 200}, "pass", "pass"),
        (SERVED, "fail", "not-exercised"),
        ({"error": -32603}, "fail", "not-exercised"),
        ({"error": -32600}, "fail", "not-exercised"),
        ({"error": -32020}, "not-exercised", "not-exercised"),
        ({"error": -32601}, "not-applicable", "not-applicable"),
        (BUSY, "not-exercised", "not-exercised"),
        (BUSY_IN_JSON, "not-exercised", "not-exercised"),
        (PAGE, "not-exercised", "not-exercised"),
    ],
)
def test_a_task_id(value: object, answer: Answer, verdict: str, of_others: str) -> None:
    assert judged("invalid-params", task_id("tasks/get", value, **answer)).verdict == verdict
    for method in ("tasks/update", "tasks/cancel"):
        assert judged("invalid-params", task_id(method, value, **answer)).verdict == of_others


def odd(control: Exchange | None = None, task: str = "__proto__", **answer: Any) -> Exchange:
    return exchange("tasks/get", {"taskId": task}, intent="odd-task-id", control=control, **answer)


def ill_formed(edit: Edit, control: Exchange | None = None, **answer: Any) -> Exchange:
    return exchange("tools/list", intent="ill-formed", edit=edit, control=control, **answer)


def raw(body: bytes) -> Edit:
    return lambda draft: draft.with_raw_body(body)


@pytest.mark.parametrize("answer", [{"error": -32603, "status": 500}, SERVED])
def test_an_odd_id_that_is_answered_as_any_unknown_one(answer: Answer) -> None:
    plain = exchange("tasks/get", {"taskId": "none"}, intent="unknown-id", **answer)
    assert judged("survives-bad-input", plain, odd(**answer)).verdict == "not-exercised"
    # Where others are told what is wrong, or in another method, it is its oddness.
    better = exchange("tasks/get", {"taskId": "none"}, intent="unknown-id", error=-32602)
    assert judged("survives-bad-input", better, odd(**answer)).verdict == "fail"
    other = exchange("tasks/cancel", {"taskId": "none"}, intent="unknown-id", **answer)
    assert judged("survives-bad-input", other, odd(**answer)).verdict == "fail"


BATCH: Answer = {"body": '[{"jsonrpc": "2.0", "id": 1, "result": {}}]'}
TIMEOUT: Answer = {"fault": Fault("timeout", "nothing complete within 5 s")}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"error": -32602, "status": 400}, "pass"),
        ({"error": -32602, "status": 200}, "pass"),
        ({"error": -32601}, "pass"),
        ({"error": -32020}, "pass"),
        ({"error": -32603, "status": 500}, "fail"),
        ({"error": -32600, "status": 500}, "fail"),
        ({"body": "Internal Server Error", "status": 500, "content_type": "text/plain"}, "fail"),
        (HTML, "fail"),
        (SERVED, "fail"),
        (RESET_AGAIN, "fail"),
        ({"fault": Fault("protocol", "server disconnected"), "notes": {"again": 1}}, "fail"),
        ({**TIMEOUT, "notes": {"again": 1}, "started": 1.0, "ended": 6.0}, "fail"),
        # The suite was held up for so long that it says nothing of the server.
        (
            {**TIMEOUT, "notes": {"again": 1, HELD_UP: 1.5}, "started": 1.0, "ended": 6.0},
            "not-exercised",
        ),
        (RESET, "not-exercised"),  # once may be an accident
        (TIMEOUT, "not-exercised"),
        ({"body": "Blocked", "status": 403, "content_type": "text/html"}, "not-exercised"),
        ({"status": 431}, "not-exercised"),
        ({"status": 404}, "not-exercised"),
        (BUSY, "not-exercised"),
        ({"fault": Fault("connect", "refused")}, "not-exercised"),
    ],
)
def test_an_odd_id(answer: Answer, verdict: str) -> None:
    assert judged("survives-bad-input", odd(**answer)).verdict == verdict


@pytest.mark.parametrize(
    ("body", "answer", "verdict"),
    [
        (b"{", {"error": -32700, "status": 400}, "pass"),
        (b"{", {"body": "bad request", "status": 400, "content_type": "text/plain"}, "pass"),
        (b"{", {"status": 400}, "pass"),
        (b"{", {"body": '{"jsonrpc": "2.0", "error": "misshapen"}', "status": 400}, "pass"),
        (b"{", HTML, "pass"),
        (b"{", {**HTML, "status": 500}, "fail"),
        (b"{", {**HTML, "status": 200}, "fail"),
        (b"{", {"status": 500}, "fail"),
        (b"{", {"error": -32700, "status": 500}, "pass"),
        (b"{", {"error": -32600, "status": 500}, "pass"),
        (b"{", {"error": -32603, "status": 500}, "fail"),
        (b"{", {"status": 200}, "fail"),
        (b"{", {"status": 202}, "fail"),
        (b"{", RESET_AGAIN, "fail"),
        (b"5", {"error": -32600}, "pass"),
        (b"5", SERVED, "fail"),
        (b"[]", BATCH, "not-exercised"),  # it is the client that must not send one
        (b"[]", HTML, "pass"),
        (b"[]", {"status": 500}, "fail"),
        (b"[]", {"error": -32600, "status": 500}, "pass"),
        (b"{}", {"status": 202}, "fail"),
        (b"[" * 20_000, RESET_AGAIN, "not-exercised"),  # it may be too long to be heard out
        (b"[" * 20_000, {"status": 413}, "not-exercised"),
        (b"[" * 20_000, {"status": 500}, "fail"),
    ],
)
def test_a_body_that_is_no_request(body: bytes, answer: Answer, verdict: str) -> None:
    assert judged("survives-bad-input", ill_formed(raw(body), **answer)).verdict == verdict


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.with_member("id", None),
        lambda d: d.with_member("id", 1.5),
        lambda d: d.without_member("jsonrpc"),
        lambda d: d.with_member("params", []),
    ],
)
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"error": -32600}, "pass"),
        (SERVED, "pass"),  # a lenient server
        ({"status": 202}, "pass"),  # one that takes it for a notification
        ({"status": 500}, "fail"),
        (RESET_AGAIN, "fail"),
    ],
)
def test_what_is_almost_a_request(edit: Edit, answer: Answer, verdict: str) -> None:
    assert judged("survives-bad-input", ill_formed(edit, **answer)).verdict == verdict


@pytest.mark.parametrize("answer", [PAGE, RESET, BUSY, {"status": 500}])
def test_where_ordinary_requests_fare_no_better(answer: Answer) -> None:
    control = exchange("server/discover", **answer)
    for sent in (odd(control, status=500), ill_formed(raw(b"{"), control, **RESET_AGAIN)):
        assert judged("survives-bad-input", control, sent).verdict == "not-exercised"


@pytest.mark.parametrize("status", [502, 504])
def test_a_gateway_before_a_server_elsewhere(status: int) -> None:
    assert judged("survives-bad-input", odd(status=status)).verdict == "fail"
    elsewhere = judged("survives-bad-input", odd(status=status), loopback=False)
    assert elsewhere.verdict == "not-exercised"


def test_an_answer_to_bad_input_that_only_our_limits_keep_us_from_reading() -> None:
    text = '{"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "", "data": %s}}'
    for sent in (odd(body=text % "1e400"), ill_formed(raw(b"{"), body=text % ("[" * 200))):
        assert judged("survives-bad-input", sent).verdict == "not-exercised"


@pytest.mark.parametrize("loopback", [True, False])
@pytest.mark.parametrize("answer", [{"status": 503}, {"error": -32603, "status": 503}])
def test_a_server_that_has_too_much_to_do(answer: Answer, loopback: bool) -> None:
    for sent in (odd(**answer), ill_formed(raw(b"{"), **answer)):
        found = judged("survives-bad-input", sent, loopback=loopback)
        assert found.verdict == "not-exercised"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (SERVED, "pass"),
        ({"error": -32602}, "fail"),
        (BUSY, "not-exercised"),
        (BUSY_IN_JSON, "not-exercised"),
        (PAGE, "not-exercised"),
    ],
)
@pytest.mark.parametrize(
    "edit",
    [lambda d: d.with_param("unknown", 1), lambda d: d.with_meta("com.example/unknown", 1)],
)
def test_an_unknown_member(edit: Edit, answer: Answer, verdict: str) -> None:
    control = exchange("tools/list", **SERVED)
    sent = exchange("tools/list", intent="unknown-members", edit=edit, control=control, **answer)
    assert judged("unknown-members-ignored", control, sent).verdict == verdict


def test_an_unknown_member_where_the_plain_request_is_refused_too() -> None:
    control = exchange("tools/list", error=-32601)
    sent = exchange("tools/list", intent="unknown-members", control=control, error=-32601)
    assert judged("unknown-members-ignored", control, sent).verdict == "not-exercised"


@pytest.mark.parametrize("method", ["notifications/cancelled", "tasks/get"])
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"status": 202}, "pass"),
        ({"status": 400}, "pass"),
        ({"error": -32600, "status": 400}, "pass"),
        ({"body": "no", "status": 404, "content_type": "text/plain"}, "pass"),
        ({"status": 200}, "fail"),
        ({"status": 204}, "fail"),
        ({"error": -32601, "status": 200}, "fail"),
        (SERVED, "fail"),
        ({"body": "{}", "status": 202}, "fail"),
        ({"events": [": open"], "cut": True}, "fail"),
        ({"status": 401}, "not-exercised"),
        (BUSY, "not-exercised"),
        ({"status": 302}, "not-exercised"),
        (PAGE, "not-exercised"),
        (RESET, "not-exercised"),
    ],
)
def test_a_message_without_an_id(method: str, answer: Answer, verdict: str) -> None:
    sent = exchange(method, edit=lambda d: d.without_member("id"), **answer)
    assert judged("notification-unanswered", sent).verdict == verdict


@pytest.mark.parametrize(
    "sent",
    [
        lambda: exchange("tools/list", status=200),
        lambda: exchange("tools/list", edit=lambda d: d.with_member("id", None), status=200),
        lambda: ill_formed(raw(b"{}"), status=200),
    ],
)
def test_what_is_no_notification(sent: Callable[[], Exchange]) -> None:
    assert judged("notification-unanswered", sent()).verdict == "not-exercised"


# ---- servers that are merely different -----------------------------------------------------


def test_headers_may_be_refused_before_the_body_is_read() -> None:
    """A taskId that no header can carry leaves Mcp-Name out, which is enough to refuse it."""
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32020, "message": "no Mcp-Name"}}
    sent = exchange("tasks/get", {"taskId": ["a"]}, answer=refusal, status=400)
    assert judged("envelope", sent).verdict == "pass"
    other = {**refusal, "error": {"code": -32602, "message": "taskId"}}
    sent = exchange("tasks/get", {"taskId": ["a"]}, answer=other, status=400)
    assert judged("envelope", sent).verdict == "fail"


def test_the_page_of_a_gateway_before_a_server_elsewhere() -> None:
    page: Answer = {
        "body": "<html>400 Bad Request</html>",
        "status": 400,
        "content_type": "text/html",
    }
    sent = odd(**page)
    assert judged("survives-bad-input", sent).verdict == "fail"
    assert judged("survives-bad-input", sent, loopback=False).verdict == "not-exercised"


def test_an_unknown_member_in_a_read_of_a_task_whose_time_was_over() -> None:
    for ttl, verdict in ((60_000, "fail"), (1_000, "not-exercised")):
        made = creation("t", result=handle("t", ttlMs=ttl), started=1.0)
        control = reading("t", members={"ttlMs": ttl}, started=1.5)
        late = exchange(
            "tasks/get",
            {"taskId": "t", "unknown": 1},
            error=-32602,
            intent="unknown-members",
            control=control,
            started=3.0,
        )
        assert judged("unknown-members-ignored", made, control, late).verdict == verdict


@pytest.mark.parametrize("status", [401, 502, 503, 504])
def test_an_unknown_member_and_a_server_without_time(status: int) -> None:
    control = exchange("tools/list", **SERVED)
    sent = exchange(
        "tools/list", intent="unknown-members", control=control, error=-32000, status=status
    )
    assert judged("unknown-members-ignored", control, sent).verdict == "not-exercised"
