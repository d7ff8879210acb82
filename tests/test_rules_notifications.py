"""The rules of notifications, on histories written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from conformance.drive.draft import UNDECLARED
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Verdict, verdict_of
from conformance.specification.names import EXTENSION, META_SUBSCRIPTION_ID
from conformance.wire.exchange import HELD_UP, Exchange, Fault, JsonObject
from conformance.wire.sse import Event
from tests.builders import creation, exchange, handle, history, reading, task

MISSING: JsonObject = {
    "code": -32021,
    "message": "Missing required client capability",
    "data": {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
}
LISTEN_ID = "listen-1"


def judged(rule: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    return verdict_of(catalogue()[rule], history(*exchanges, **circumstances))


def message(method: str, params: JsonObject, identifier: object = LISTEN_ID) -> JsonObject:
    meta = {} if identifier is None else {META_SUBSCRIPTION_ID: identifier}
    return {"method": method, "params": {**params, "_meta": meta}}


def acknowledged(*task_ids: str, **more: Any) -> JsonObject:
    agreed = {"taskIds": list(task_ids), **more} if task_ids else more
    return message("notifications/subscriptions/acknowledged", {"notifications": agreed})


def told(task_id: str = "task-1", status: str = "working", **members: Any) -> JsonObject:
    """A notification of a task, whole unless told otherwise."""
    params = task(task_id, status, **members)
    params.pop("resultType")
    return message("notifications/tasks", params)


def listen(*events: object, asked: JsonObject | None = None, **more: Any) -> Exchange:
    """A stream with these messages; ``asked`` is the filter, else that of ``task-1``."""
    more.setdefault("request_id", LISTEN_ID)
    if not more.keys() & {"error", "result", "fault", "status"}:
        more["events"] = events
        more.setdefault("cut", True)
    filters = {"taskIds": ["task-1"]} if asked is None else asked
    return exchange("subscriptions/listen", {"notifications": filters}, **more)


# ---- what is not offered ----------------------------------------------------------------------

STREAM_RULES = (
    "notifications.acknowledged-first",
    "notifications.unknown-not-agreed",
    "notifications.subscription-id",
    "notifications.method-name",
    "notifications.only-agreed-tasks",
    "notifications.full-task",
    "notifications.agree-with-polling",
    "notifications.no-progress-or-message",
)


@pytest.mark.parametrize("rule", STREAM_RULES)
def test_listening_need_not_be_offered(rule: str) -> None:
    found = (creation(), listen(error=-32601), reading("task-1", "completed"))
    assert judged(rule, *found).verdict == "not-applicable"


@pytest.mark.parametrize("rule", [r for r in STREAM_RULES if r.endswith(("task", "polling"))])
@pytest.mark.parametrize("agreed", [{}, {"taskIds": []}])
def test_tasks_need_not_be_agreed_to(rule: str, agreed: JsonObject) -> None:
    found = (creation(), listen(acknowledged(**agreed)), reading("task-1", "completed"))
    assert judged(rule, *found).verdict == "not-applicable"


@pytest.mark.parametrize("rule", STREAM_RULES)
def test_a_refusal_that_may_pass_says_nothing(rule: str) -> None:
    found = (creation(), listen(error=-32603), listen(fault=Fault("reset", "closed")))
    assert judged(rule, *found).verdict == "not-exercised"


# ---- the declaration --------------------------------------------------------------------------


def undeclared(control: Exchange, **more: Any) -> Exchange:
    given: JsonObject = {"intent": "listen-undeclared", "capabilities": UNDECLARED, **more}
    events = given.pop("told", ())
    return listen(*events, control=control, **given)


def test_an_undeclared_listener_is_refused() -> None:
    control = listen(acknowledged("task-1"), intent="listen-known")
    rule = "notifications.requires-declaration"
    verdict = judged(rule, creation(), control, undeclared(control, error=MISSING))
    assert verdict.verdict == "pass"


@pytest.mark.parametrize(
    "answer",
    [
        {"told": [acknowledged("task-1")]},
        {"told": [acknowledged()]},
        {"error": -32003},
        {"error": -32602},
        {"error": -32601},
        {"error": {"code": -32021, "message": "no"}},
        {"result": {"resultType": "complete"}},
    ],
)
def test_an_undeclared_listener_that_is_not_refused_so_fails(answer: JsonObject) -> None:
    control = listen(acknowledged("task-1"), intent="listen-known")
    rule = "notifications.requires-declaration"
    verdict = judged(rule, creation(), control, undeclared(control, **answer))
    assert verdict.verdict == "fail"


def test_the_obsolete_code_is_named() -> None:
    control = listen(acknowledged("task-1"), intent="listen-known")
    rule = "notifications.requires-declaration"
    verdict = judged(rule, creation(), control, undeclared(control, error=-32003))
    assert "obsolete" in verdict.reason


def test_the_gate_is_a_must_also_where_no_task_is_agreed_to() -> None:
    control = listen(acknowledged(), intent="listen-known")
    rule = "notifications.requires-declaration"
    probe = undeclared(control, told=[acknowledged()])
    assert judged(rule, creation(), control, probe).verdict == "fail"


def test_a_missing_name_is_told_once() -> None:
    control = listen(acknowledged("task-1"), intent="listen-known")
    bare = {"code": -32021, "message": "no"}
    get = exchange("tasks/get", {"taskId": "x"}, capabilities=UNDECLARED, error=bare)
    probe = undeclared(control, error=bare)
    rule = "notifications.requires-declaration"
    assert judged(rule, creation(), get, control, probe).verdict == "pass"


def test_the_gate_of_what_is_not_served_is_not_judged() -> None:
    control = listen(error=-32601, intent="listen-known")
    rule = "notifications.requires-declaration"
    probe = undeclared(control, error=-32601)
    assert judged(rule, creation(), control, probe).verdict == "not-applicable"


@pytest.mark.parametrize("answer", [{"error": -32602}, {"fault": Fault("timeout", "late")}])
def test_the_gate_says_nothing_where_declared_listeners_are_refused(answer: JsonObject) -> None:
    control = listen(intent="listen-known", **answer)
    rule = "notifications.requires-declaration"
    probe = undeclared(control, told=[acknowledged("task-1")])
    assert judged(rule, creation(), control, probe).verdict == "not-exercised"


# ---- the acknowledgement ----------------------------------------------------------------------


def test_an_acknowledgement_that_comes_first_passes() -> None:
    rule = "notifications.acknowledged-first"
    assert judged(rule, creation(), listen(acknowledged("task-1"), told())).verdict == "pass"


@pytest.mark.parametrize(
    "events",
    [
        [told(), acknowledged("task-1")],
        [told()],
        [{"id": LISTEN_ID, "result": {"resultType": "complete"}}],
        [message("notifications/subscriptions/acknowledged", {})],
        [acknowledged("task-1", toolsListChanged=True)],
        [acknowledged("task-1", "task-2")],
        [message("notifications/subscriptions/acknowledged", {"notifications": {"taskIds": "x"}})],
    ],
)
def test_another_beginning_fails(events: list[JsonObject]) -> None:
    rule = "notifications.acknowledged-first"
    assert judged(rule, creation(), listen(*events)).verdict == "fail"


def test_an_answer_without_a_stream_fails() -> None:
    rule = "notifications.acknowledged-first"
    answered = listen(result={"resultType": "complete"})
    assert judged(rule, creation(), answered).verdict == "fail"


def test_kinds_that_are_not_served_may_be_left_out_or_denied() -> None:
    asked = {"taskIds": ["task-1"], "toolsListChanged": True}
    rule = "notifications.acknowledged-first"
    for agreed in (acknowledged("task-1"), acknowledged("task-1", promptsListChanged=False)):
        assert judged(rule, creation(), listen(agreed, asked=asked)).verdict == "pass"


def test_a_silent_stream_fails_only_after_a_long_time() -> None:
    rule = "notifications.acknowledged-first"
    brief = listen(content_type="text/event-stream")
    long = listen(content_type="text/event-stream", started=100.0, ended=130.0)
    assert judged(rule, creation(), brief).verdict == "not-exercised"
    others = [creation(f"t{n}", started=110.0 + n, ended=110.1 + n) for n in range(3)]
    assert judged(rule, *others, long).verdict == "fail"
    # A server that answers nobody else meanwhile may be busy.
    assert judged(rule, creation(), long).verdict == "not-exercised"
    slow = [creation(f"t{n}", started=110.0 + n, ended=115.0 + n) for n in range(3)]
    assert judged(rule, *slow, long).verdict == "not-exercised"
    # And so may one beside a suite that was held up itself.
    held_up = replace(long, notes={HELD_UP: 8.0})
    assert judged(rule, *others, held_up).verdict == "not-exercised"


def test_a_silence_of_a_moment_says_nothing_however_short_the_wait() -> None:
    rule = "notifications.acknowledged-first"
    others = [creation(f"t{n}", started=100.1 + n / 10, ended=100.2 + n / 10) for n in range(3)]
    for seconds, verdict in ((1.5, "not-exercised"), (4.0, "fail")):
        silent = listen(content_type="text/event-stream", started=100.0, ended=100.0 + seconds)
        assert judged(rule, *others, silent, max_wait=1).verdict == verdict


# ---- unknown tasks ----------------------------------------------------------------------------


def unknown(*events: JsonObject, **more: Any) -> Exchange:
    given: JsonObject = {"intent": "listen-known-and-unknown", **more}
    return listen(*events, asked={"taskIds": ["nowhere", "task-1"]}, **given)


@pytest.mark.parametrize("answer", [{}, {"error": -32602}])
def test_an_unknown_task_is_not_agreed_to(answer: JsonObject) -> None:
    rule, control = "notifications.unknown-not-agreed", listen(acknowledged("task-1"))
    probe = unknown(acknowledged("task-1"), **answer)
    assert judged(rule, creation(), control, probe).verdict == "pass"


def test_an_unknown_task_that_is_agreed_to_is_a_warning() -> None:
    rule, control = "notifications.unknown-not-agreed", listen(acknowledged("task-1"))
    probe = unknown(acknowledged("nowhere", "task-1"))
    assert judged(rule, creation(), control, probe).verdict == "warn"


def test_without_a_task_that_is_agreed_to_an_empty_answer_says_nothing() -> None:
    rule = "notifications.unknown-not-agreed"
    probe = listen(acknowledged(), asked={"taskIds": ["nowhere"]}, intent="listen-unknown")
    assert judged(rule, probe).verdict == "not-exercised"


# ---- the subscription's id --------------------------------------------------------------------


@pytest.mark.parametrize("identifier", [LISTEN_ID, 7])
def test_messages_carry_the_id_of_the_request(identifier: object) -> None:
    meta = {META_SUBSCRIPTION_ID: identifier}
    events = [
        message("notifications/subscriptions/acknowledged", {"notifications": {}}, identifier),
        message("notifications/tasks", task(), identifier),
        {"id": identifier, "result": {"resultType": "complete", "_meta": meta}},
    ]
    stream = listen(*events, request_id=identifier)
    assert judged("notifications.subscription-id", creation(), stream).verdict == "pass"


@pytest.mark.parametrize("wrong", [None, "7", 8, True])
def test_messages_with_another_id_fail(wrong: object) -> None:
    first = message("notifications/subscriptions/acknowledged", {"notifications": {}}, 7)
    stream = listen(first, message("notifications/tasks", task(), wrong), request_id=7)
    assert judged("notifications.subscription-id", creation(), stream).verdict == "fail"


def test_a_number_may_be_written_otherwise() -> None:
    first = message("notifications/subscriptions/acknowledged", {"notifications": {}}, 7.0)
    stream = listen(first, request_id=7)
    assert judged("notifications.subscription-id", creation(), stream).verdict == "pass"


def test_the_last_response_carries_the_id_too() -> None:
    last = {"id": LISTEN_ID, "result": {"resultType": "complete"}}
    stream = listen(acknowledged("task-1"), last)
    assert judged("notifications.subscription-id", creation(), stream).verdict == "fail"


# ---- what is told -----------------------------------------------------------------------------


def test_agreed_tasks_may_be_told() -> None:
    stream = listen(acknowledged("task-1"), told())
    assert judged("notifications.only-agreed-tasks", creation(), stream).verdict == "pass"


@pytest.mark.parametrize(
    "stray",
    [
        told("task-2"),
        message("notifications/tools/list_changed", {}),
        message("notifications/resources/updated", {"uri": "file:///x"}),
        message("notifications/acme/weather", {}),
    ],
)
def test_what_was_not_agreed_to_fails(stray: JsonObject) -> None:
    stream = listen(acknowledged("task-1"), told(), stray)
    assert judged("notifications.only-agreed-tasks", creation(), stream).verdict == "fail"


def test_a_task_that_was_asked_for_but_not_agreed_to_fails() -> None:
    stream = listen(acknowledged("task-1"), told("task-2"), asked={"taskIds": ["task-1", "task-2"]})
    assert judged("notifications.only-agreed-tasks", creation(), stream).verdict == "fail"


def test_kinds_that_were_asked_for_may_come() -> None:
    asked = {"taskIds": ["task-1"], "toolsListChanged": True}
    changed = message("notifications/tools/list_changed", {})
    stream = listen(acknowledged("task-1", toolsListChanged=True), changed, asked=asked)
    assert judged("notifications.only-agreed-tasks", creation(), stream).verdict == "pass"


def test_tasks_are_not_told_where_only_other_kinds_were_asked_for() -> None:
    rule, other = "notifications.only-agreed-tasks", {"toolsListChanged": True}
    quiet = listen(acknowledged(), asked=other)
    known = (creation(), listen(acknowledged("task-1"), told()))
    assert judged(rule, *known, quiet).verdict == "pass"
    assert judged(rule, *known, listen(acknowledged(), told(), asked=other)).verdict == "fail"


def test_a_task_has_its_own_name() -> None:
    stream = listen(acknowledged("task-1"), told())
    assert judged("notifications.method-name", creation(), stream).verdict == "pass"


@pytest.mark.parametrize(
    "misnamed",
    [
        message("notifications/tasks/status", task()),
        message("notifications/tasks/updated", {}),
        message("notifications/task", task()),
        message("tasks/changed", {"task": task()}),
    ],
)
def test_a_task_under_another_name_fails_once(misnamed: JsonObject) -> None:
    found = (creation(), listen(acknowledged("task-1"), misnamed))
    assert judged("notifications.method-name", *found).verdict == "fail"
    assert judged("notifications.only-agreed-tasks", *found).verdict == "pass"


def test_the_old_name_fails_on_other_streams_too() -> None:
    old = message("notifications/tasks/status", task(), None)
    answer = {"id": 1, "result": handle()}
    call = exchange("tools/call", {"name": "export"}, request_id=1, events=[old, answer])
    assert judged("notifications.method-name", call).verdict == "fail"


@pytest.mark.parametrize(
    "status", ["working", "input_required", "completed", "failed", "cancelled"]
)
def test_whole_tasks_pass(status: str) -> None:
    stream = listen(acknowledged("task-1"), told(status=status))
    assert judged("notifications.full-task", creation(), stream).verdict == "pass"


@pytest.mark.parametrize(
    "partly",
    [
        told(status="completed", result=...),
        told(status="failed", error=...),
        told(status="input_required", inputRequests=...),
        told(ttlMs=...),
        told(createdAt=...),
        message("notifications/tasks", {"task": task()}),
        message("notifications/tasks", {"taskId": "task-1", "status": "working"}),
    ],
)
def test_parts_of_tasks_fail(partly: JsonObject) -> None:
    found = (creation(), listen(acknowledged("task-1"), partly))
    assert judged("notifications.full-task", *found).verdict == "fail"


def test_an_unlimited_task_has_a_null_and_an_invalid_request_is_told_elsewhere() -> None:
    stream = listen(
        acknowledged("task-1"),
        told(ttlMs=None),
        told(status="input_required", inputRequests={"a": "Which?"}),
    )
    assert judged("notifications.full-task", creation(), stream).verdict == "pass"
    assert judged("input.requests-valid", creation(), stream).verdict == "fail"


@pytest.mark.parametrize("method", ["notifications/progress", "notifications/message"])
def test_progress_and_messages_fail(method: str) -> None:
    rule = "notifications.no-progress-or-message"
    good = listen(acknowledged("task-1"), told())
    bad = listen(acknowledged("task-1"), message(method, {"progressToken": "p", "progress": 1}))
    assert judged(rule, creation(), good).verdict == "pass"
    assert judged(rule, creation(), bad).verdict == "fail"


def test_progress_of_the_call_itself_is_no_matter() -> None:
    progress = message("notifications/progress", {"progressToken": "p", "progress": 1}, None)
    answer = {"id": 1, "result": handle()}
    call = exchange("tools/call", {"name": "export"}, request_id=1, events=[progress, answer])
    found = (call, listen(acknowledged("task-1"), told()))
    assert judged("notifications.no-progress-or-message", *found).verdict == "pass"


# ---- one history ------------------------------------------------------------------------------

AGREE = "notifications.agree-with-polling"


def heard(*messages: JsonObject, started: float, until: float) -> Exchange:
    """A stream on which these messages came, the last of them at the end."""
    whole = [{"jsonrpc": "2.0", **each} for each in (acknowledged("task-1"), *messages)]
    step = (until - started) / len(whole)
    events = [_event(each, started + step * (n + 1)) for n, each in enumerate(whole)]
    return listen(*events, started=started, ended=until)


def _event(content: JsonObject, at: float) -> Event:
    return Event(at, json.dumps(content))


def test_what_is_pushed_and_polled_agree() -> None:
    stream = heard(told(), told(status="completed"), started=2.0, until=5.0)
    found = (creation(started=1.0), reading(started=3.0), stream)
    after = reading("task-1", "completed", started=6.0)
    assert judged(AGREE, *found, after).verdict == "pass"


def test_a_notification_may_come_late() -> None:
    stream = heard(told(), told(status="completed"), started=2.0, until=9.0)
    found = (creation(started=1.0), stream, reading("task-1", "completed", started=3.0))
    assert judged(AGREE, *found).verdict == "pass"


def test_an_end_that_a_later_read_does_not_show_fails() -> None:
    stream = heard(told(status="completed"), started=2.0, until=4.0)
    found = (creation(started=1.0), stream, reading(started=5.0))
    after = reading("task-1", "completed", started=6.0)
    assert judged(AGREE, *found, after).verdict == "fail"


def test_a_read_that_had_begun_before_proves_nothing() -> None:
    stream = heard(told(status="completed"), started=2.0, until=5.0)
    found = (creation(started=1.0), stream, reading(started=4.9, ended=5.4))
    after = reading("task-1", "completed", started=6.0)
    assert judged(AGREE, *found, after).verdict == "pass"


@pytest.mark.parametrize(
    "end",
    [
        told(status="failed"),
        told(status="cancelled"),
        told(status="completed", result={"content": []}),
    ],
)
def test_another_end_fails(end: JsonObject) -> None:
    stream = heard(end, started=2.0, until=4.0)
    reads = [reading("task-1", "completed", started=at) for at in (5.0, 6.0)]
    assert judged(AGREE, creation(started=1.0), stream, *reads).verdict == "fail"


def test_an_end_that_changes_is_rightly_told_to_change() -> None:
    stream = heard(told(status="completed"), told(status="failed"), started=2.0, until=5.0)
    found = (creation(started=1.0), stream, reading("task-1", "failed", started=6.0))
    assert judged(AGREE, *found).verdict == "not-exercised"


def test_what_is_asked_after_an_end_was_told_may_change_it() -> None:
    stream = heard(told(status="completed"), started=2.0, until=4.0)
    cancel = exchange("tasks/cancel", {"taskId": "task-1"}, started=4.5)
    failed = reading("task-1", "failed", started=6.0)
    made = creation(started=1.0)
    assert judged(AGREE, made, stream, cancel, failed).verdict == "not-exercised"
    assert judged(AGREE, made, stream, failed).verdict == "fail"


@pytest.mark.parametrize("asked_at", [4.5, 0.5])
def test_what_is_asked_after_a_result_was_told_may_change_it(asked_at: float) -> None:
    other: JsonObject = {"content": [], "isError": True}
    stream = heard(told(status="completed", result=other), started=2.0, until=4.0)
    cancel = exchange("tasks/cancel", {"taskId": "task-1"}, started=asked_at, ended=asked_at + 0.1)
    reads = [reading("task-1", "completed", started=at) for at in (5.0, 6.0)]
    found = judged(AGREE, creation(started=0.1), stream, cancel, *reads)
    assert found.verdict == ("not-exercised" if asked_at > 4 else "fail")


@pytest.mark.parametrize("asked_at", [4.5, 3.95, 0.5])
def test_what_is_asked_after_an_end_was_told_may_bring_the_task_back(asked_at: float) -> None:
    """But not an answer that was under way when the end was told: it may have led to it."""
    stream = heard(told(status="completed"), started=2.0, until=4.0)
    update = exchange("tasks/update", {"taskId": "task-1"}, started=asked_at, ended=asked_at + 0.1)
    found = judged(AGREE, creation(started=0.1), stream, update, reading("task-1", started=5.0))
    assert found.verdict == ("not-exercised" if asked_at > 4 else "fail")


def test_an_end_that_was_read_before_another_was_told_proves_nothing() -> None:
    stream = heard(told(status="failed"), started=2.0, until=5.0)
    before = reading("task-1", "completed", started=3.0)
    found = (creation(started=1.0), stream, before)
    assert judged(AGREE, *found).verdict == "not-exercised"
    after = reading("task-1", "completed", started=6.0)
    assert judged(AGREE, *found, after).verdict == "fail"


def test_a_payload_that_varies_may_vary_when_it_is_told() -> None:
    other: JsonObject = {"content": [], "structuredContent": {"signed": 2}}
    stream = heard(told(status="completed", result={"content": []}), started=2.0, until=4.0)
    found = (creation(started=1.0), stream, reading("task-1", "completed", started=5.0))
    varying = reading("task-1", "completed", members={"result": other}, started=6.0)
    assert judged(AGREE, *found).verdict == "not-exercised"
    assert judged(AGREE, *found, varying).verdict == "not-exercised"


@pytest.mark.parametrize(
    "member",
    [{"ttlMs": 5}, {"ttlMs": None}, {"pollIntervalMs": 7}, {"createdAt": "2026-07-28T13:00:00Z"}],
)
def test_what_every_read_shows_alike_is_told_alike(member: JsonObject) -> None:
    stream = heard(told(status="completed", **member), started=2.0, until=4.0)
    found = (creation(started=1.0), reading(started=2.5), stream)
    after = reading("task-1", "completed", started=5.0)
    assert judged(AGREE, *found, after).verdict == "fail"


def test_durations_may_change_and_times_be_written_otherwise() -> None:
    other: JsonObject = {
        "ttlMs": 90_000,
        "createdAt": "2026-07-28T14:00:00+02:00",
        "lastUpdatedAt": "x",
    }
    stream = heard(told(status="completed", **other), started=2.0, until=4.0)
    found = (creation(started=1.0), reading(started=2.5), stream)
    after = reading("task-1", "completed", members={"ttlMs": 90_000}, started=5.0)
    assert judged(AGREE, *found, after).verdict == "pass"


def test_only_what_is_told_and_read_can_be_compared() -> None:
    stream = heard(told(), started=2.0, until=4.0)
    found = (creation(started=1.0), stream, reading(started=5.0))
    assert judged(AGREE, *found).verdict == "not-exercised"


# ---- servers that are merely different --------------------------------------------------------


def test_a_server_says_that_it_ends_the_stream() -> None:
    """The core asks for it: notifications/cancelled, for the request to listen."""
    ending = message("notifications/cancelled", {"requestId": LISTEN_ID})
    found = (creation(), listen(acknowledged("task-1"), told(), ending))
    assert judged("notifications.only-agreed-tasks", *found).verdict == "pass"


def test_an_older_session_has_the_older_name() -> None:
    old = message("notifications/tasks/status", task(), None)
    answer = {"id": 1, "result": {"content": []}}
    call = exchange(
        "tools/call",
        {"name": "export"},
        request_id=1,
        events=[old, answer],
        edit=lambda d: d.without_param("_meta").with_header("MCP-Protocol-Version", "2025-11-25"),
    )
    found = (creation(), listen(acknowledged("task-1"), told()), call)
    assert judged("notifications.method-name", *found).verdict == "pass"


def test_an_older_session_has_the_older_shape() -> None:
    old = message("notifications/tasks", {"taskId": "t", "status": "working"}, None)
    call = exchange(
        "tools/call",
        {"name": "export"},
        events=[old],
        edit=lambda d: d.without_param("_meta").with_header("MCP-Protocol-Version", "2025-11-25"),
    )
    found = (creation(), listen(acknowledged("task-1"), told()), call)
    assert judged("notifications.full-task", *found).verdict == "pass"


def test_a_call_tells_of_jobs_of_its_own() -> None:
    job = message("com.example/job", {"taskId": "job-1", "status": "queued"}, None)
    answer = {"id": 1, "result": {"resultType": "complete", "content": []}}
    call = exchange("tools/call", {"name": "build"}, request_id=1, events=[job, answer])
    found = (creation(), listen(acknowledged("task-1"), told()), call)
    assert judged("notifications.method-name", *found).verdict == "pass"


@pytest.mark.parametrize("refusal", [{"status": 429}, {"status": 503}, {"status": 401}])
def test_a_listener_is_refused_for_the_load_or_the_caller(refusal: dict[str, Any]) -> None:
    control = listen(acknowledged("task-1"))
    probe = undeclared(control, error=-32000, **refusal)
    found = judged("notifications.requires-declaration", creation(), control, probe)
    assert found.verdict == "not-exercised"


def test_a_task_is_marked_as_failed_after_its_time() -> None:
    stream = heard(told(status="completed", ttlMs=5_000), started=2.0, until=4.0)
    made = creation(started=1.0, result=handle(ttlMs=5_000))
    late = reading("task-1", "failed", members={"ttlMs": 5_000}, started=9.0)
    assert judged(AGREE, made, stream, late).verdict != "fail"


def test_durations_that_move_may_move_between_two_reads() -> None:
    """Where one task shows that the server adapts them, another's notification may catch it."""
    stream = heard(told(status="completed", pollIntervalMs=5_000), started=2.0, until=4.0)
    found = (creation(started=1.0), reading(started=2.5), stream)
    after = reading("task-1", "completed", started=5.0)
    assert judged(AGREE, *found, after).verdict == "fail"
    slower = reading("task-2", members={"pollIntervalMs": 5_000}, started=3.0)
    busy = (creation("task-2", started=1.2), slower)
    assert judged(AGREE, *found, after, *busy).verdict == "pass"
