"""The rules of security, on histories written by hand."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import Verdict, verdict_of
from conformance.wire.exchange import Exchange, Fault, JsonObject
from tests.builders import creation, exchange, handle, history, left_alone, reading, task

FIRST, SECOND, NOBODY, WRONG = "first", "second", "nobody", "wrong-token"
UNKNOWN: JsonObject = {"code": -32602, "message": "Task not found"}
WAITING: JsonObject = {"inputRequests": {"question-1": {"method": "roots/list"}}}
ANSWERS: JsonObject = {"question-1": {"roots": []}}


def judged(rule: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    circumstances = {"callers": (FIRST, SECOND), **circumstances}
    return verdict_of(catalogue()[rule], history(*exchanges, **circumstances))


def admitted() -> Exchange:
    """The second caller is let in: a tool call of it is served."""
    return creation("task-of-second", caller=SECOND)


def asked(method: str, caller: str = SECOND, task_id: str = "task-1", **more: Any) -> Exchange:
    """A request of another caller about the task, refused unless told otherwise."""
    params: JsonObject = {"taskId": task_id}
    if method == "tasks/update":
        params["inputResponses"] = ANSWERS
    given = {"intent": "foreign", "caller": caller, **more}
    if not given.keys() & {"result", "error", "status", "body", "fault"}:
        given["error"] = UNKNOWN
    return exchange(method, params, **given)


ACK: JsonObject = {"resultType": "complete"}


# ---- security.unguessable-ids ---------------------------------------------------------------

IDS = "security.unguessable-ids"


def made(*task_ids: str, **more: Any) -> list[Exchange]:
    return [creation(result=handle(task_id), **more) for task_id in task_ids]


def test_random_ids() -> None:
    found = judged(IDS, *made(*(str(uuid.uuid4()) for _ in range(6))))
    assert found.verdict == "pass"
    assert "6 ids" in found.reason
    assert "upper bound" in found.reason


def test_counted_ids() -> None:
    found = judged(IDS, *made(*(f"task-{number}" for number in range(6))))
    assert found.verdict == "fail"
    assert "counts up" in found.reason
    assert found.evidence[0].member == "/result/taskId"


def test_ids_of_one_tool_are_counted() -> None:
    good = made(*(str(uuid.uuid4()) for _ in range(6)), tool="export")
    poor = made(*(f"job-{number:04d}" for number in range(6)), tool="import")
    found = judged(IDS, *good, *poor)
    assert found.verdict == "fail"
    assert {e.tool for e in found.evidence[0].exchanges} == {"import"}


@pytest.mark.parametrize("count", [0, 1, 3])
def test_too_few_ids(count: int) -> None:
    ids = [f"the-task-number-{number:04d}" for number in range(count)]
    assert judged(IDS, *made(*ids)).verdict == "not-exercised"


def test_somewhat_short_ids_pass_with_a_word() -> None:
    ids = ["k3x9q0z2m1", "p0a7w5r8t4", "e6y2u9i1o3", "s8d4f7g2h6", "j5l1z0x3c9"]
    found = judged(IDS, *made(*ids))
    assert found.verdict == "pass"
    assert "customary" in found.reason


def test_ids_that_share_what_may_be_a_secret() -> None:
    shared = uuid.uuid4()
    ids = [f"{shared}-{number}" for number in range(6)]
    assert judged(IDS, *made(*ids)).verdict == "not-exercised"
    both = [*made(*ids), *made(f"{shared}-7", f"{shared}-8", caller=SECOND)]
    assert judged(IDS, *both).verdict == "fail"


@pytest.mark.parametrize("times", [{}, {"createdAt": "yesterday"}, {"createdAt": 5}])
def test_ids_that_are_the_time_need_no_time_of_creation(times: JsonObject) -> None:
    exchanges = [
        creation(result=handle(f"{1_785_240_000_000 + 37 * n}", **times)) for n in range(6)
    ]
    found = judged(IDS, *exchanges, started="2026-07-28T12:00:00Z")
    assert found.verdict == "fail"


def test_odd_handles_do_no_harm() -> None:
    odd = [creation(result=handle(task_id=task_id)) for task_id in ("", "x" * 9000, "\x00", "t")]
    odd.append(creation(result={**handle(), "taskId": 5}))
    assert judged(IDS, *odd).reason


# ---- security.foreign-get -------------------------------------------------------------------

GET = "security.foreign-get"


@pytest.mark.parametrize(
    "answer",
    [
        {"error": UNKNOWN},
        {"error": {"code": -32000, "message": "Forbidden"}},
        {"status": 403},
        {"status": 404},
        {"error": {"code": -32603, "message": "who?"}, "status": 403},
        {"error": {"code": -32600, "message": "who?"}, "status": 401},
    ],
)
def test_another_caller_is_refused(answer: dict[str, Any]) -> None:
    assert judged(GET, admitted(), creation(), asked("tasks/get", **answer)).verdict == "pass"


def test_another_caller_reads() -> None:
    read = asked("tasks/get", result=task("task-1", "completed"))
    assert judged(GET, admitted(), creation(), read).verdict == "fail"


def test_the_first_caller_reads_a_task_of_the_second() -> None:
    theirs = creation(caller=SECOND)
    read = asked("tasks/get", FIRST, result=task("task-1"))
    assert judged(GET, theirs, read).verdict == "fail"


def test_a_caller_who_is_never_served_shows_nothing() -> None:
    refused = asked("tasks/get", status=401)
    assert judged(GET, creation(), refused).verdict == "not-exercised"
    unknown = asked("tasks/get")
    assert judged(GET, creation(), unknown).verdict == "not-exercised"


def test_what_everybody_is_told_lets_nobody_in() -> None:
    public = [
        exchange(method, result={"resultType": "complete"}, caller=SECOND)
        for method in ("server/discover", "tools/list")
    ]
    for answer in ({"status": 401}, {"error": UNKNOWN}):
        found = judged(GET, *public, creation(), asked("tasks/get", **answer))
        assert found.verdict == "not-exercised"
        assert "--other-header" in found.reason
    refused = creation(caller=SECOND, status=401)
    found = judged(GET, *public, refused, creation(), asked("tasks/get", status=401))
    assert found.verdict == "not-exercised"


@pytest.mark.parametrize("code", [-32601, -32020, -32021, -32600, -32603])
def test_what_is_refused_for_another_reason_says_nothing_of_the_caller(code: int) -> None:
    found = judged(GET, admitted(), creation(), asked("tasks/get", error=code))
    assert found.verdict == "not-exercised"


@pytest.mark.parametrize("more", [{"status": 429}, {"fault": Fault("reset", "")}, {"status": 502}])
def test_no_answer_is_no_refusal(more: dict[str, Any]) -> None:
    found = judged(GET, admitted(), creation(), asked("tasks/get", **more))
    assert found.verdict == "not-exercised"


def test_ones_own_task_is_not_foreign() -> None:
    own = creation(caller=SECOND)
    read = asked("tasks/get", result=task("task-1"))
    assert judged(GET, own, read).verdict == "not-exercised"


def test_one_caller_alone() -> None:
    found = judged(GET, creation(), reading(), callers=(FIRST,))
    assert found.verdict == "not-exercised"
    assert "--other-header" in found.reason


# ---- security.foreign-update ----------------------------------------------------------------

UPDATE = "security.foreign-update"


def waiting() -> list[Exchange]:
    return [admitted(), creation(), reading(status="input_required", members=WAITING)]


def test_the_answer_of_another_caller_is_refused() -> None:
    still = reading(status="input_required", members=WAITING)
    before = waiting()
    assert judged(UPDATE, *before, asked("tasks/update"), still).verdict == "pass"


@pytest.mark.parametrize("answer", [{"result": ACK}, {"error": UNKNOWN}, {"status": 403}])
@pytest.mark.parametrize("status", ["working", "completed"])
def test_the_answer_of_another_caller_arrives(answer: dict[str, Any], status: str) -> None:
    before, foreign = waiting(), asked("tasks/update", **answer)
    assert judged(UPDATE, *left_alone(), *before, foreign, reading(status=status)).verdict == "fail"


def gave_up() -> list[Exchange]:
    """A task of the same call that goes on though nobody answers what it asks."""
    made, waits = creation("task-9"), {**WAITING}
    return [made, reading("task-9", "input_required", members=waits), reading("task-9")]


@pytest.mark.parametrize("answer", [{"error": UNKNOWN}, {"status": 403}])
def test_a_question_may_be_given_up_after_the_answer_of_another_caller(
    answer: dict[str, Any],
) -> None:
    before, foreign = waiting(), asked("tasks/update", **answer)
    found = [*before, foreign, reading(status="completed")]
    assert judged(UPDATE, *left_alone(), *found).verdict == "fail"
    assert judged(UPDATE, *left_alone(), *found, *gave_up()).verdict == "pass"


def test_a_question_may_be_given_up_after_the_answer_of_a_stranger() -> None:
    before, strange = waiting(), asked("tasks/update", NOBODY, status=401)
    found = [*before, strange, reading(status="completed")]
    assert judged(TOKEN, *left_alone(), *found).verdict == "fail"
    assert judged(TOKEN, *left_alone(), *found, *gave_up()).verdict == "pass"


def test_an_answer_may_be_acknowledged_and_dropped() -> None:
    before, foreign = waiting(), asked("tasks/update", result=ACK)
    still = reading(status="input_required", members=WAITING)
    assert judged(UPDATE, *before, foreign, still).verdict == "pass"
    assert judged(UPDATE, *before, foreign).verdict == "not-exercised"


def test_the_first_caller_answered_meanwhile() -> None:
    before, foreign = waiting(), asked("tasks/update")
    own = exchange("tasks/update", {"taskId": "task-1", "inputResponses": ANSWERS})
    done = reading(status="completed")
    assert judged(UPDATE, *before, foreign, own, done).verdict == "pass"


def test_the_task_ended_by_itself() -> None:
    before, foreign = waiting(), asked("tasks/update", result=ACK)
    assert judged(UPDATE, *before, foreign, reading(status="failed")).verdict == "not-exercised"


# ---- security.foreign-cancel ----------------------------------------------------------------

CANCEL = "security.foreign-cancel"


def test_the_cancel_of_another_caller_is_refused() -> None:
    before, foreign = [admitted(), creation()], asked("tasks/cancel")
    assert judged(CANCEL, *before, foreign, reading(status="completed")).verdict == "pass"


@pytest.mark.parametrize("answer", [{"result": ACK}, {"error": UNKNOWN}, {"status": 403}])
def test_another_caller_cancels(answer: dict[str, Any]) -> None:
    before, foreign = [admitted(), creation()], asked("tasks/cancel", **answer)
    assert judged(CANCEL, *before, foreign, reading(status="cancelled")).verdict == "fail"


def test_a_cancel_that_is_acknowledged_and_ignored_shows_nothing() -> None:
    """A server need not honour any cancel, so this says nothing of who may send one."""
    before, foreign = [admitted(), creation()], asked("tasks/cancel", result=ACK)
    found = judged(CANCEL, *before, foreign, reading(status="completed"))
    assert found.verdict == "not-exercised"


def test_the_first_caller_cancelled_meanwhile() -> None:
    before, foreign = [admitted(), creation()], asked("tasks/cancel")
    own = exchange("tasks/cancel", {"taskId": "task-1"})
    assert judged(CANCEL, *before, foreign, own, reading(status="cancelled")).verdict == "pass"


# ---- security.foreign-listen ----------------------------------------------------------------

LISTEN = "security.foreign-listen"


def listening(caller: str, *messages: JsonObject, **more: Any) -> Exchange:
    if not more:
        more["events"] = list(messages)
    wanted = {"notifications": {"taskIds": ["task-1"]}}
    return exchange("subscriptions/listen", wanted, caller=caller, cut=True, **more)


def agreed(*task_ids: str, **filters: Any) -> JsonObject:
    notifications = {"taskIds": list(task_ids), **filters}
    return {
        "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": notifications},
    }


TOLD: JsonObject = {"method": "notifications/tasks", "params": task("task-1", "completed")}


def offering() -> list[Exchange]:
    return [admitted(), creation(), listening(FIRST, agreed("task-1"))]


@pytest.mark.parametrize(
    "answer",
    [
        {"events": [agreed()]},
        {"events": [{**agreed(), "params": {"notifications": {}}}]},
        {"error": UNKNOWN},
        {"status": 403},
    ],
)
def test_another_caller_is_told_nothing(answer: dict[str, Any]) -> None:
    before = offering()
    assert judged(LISTEN, *before, listening(SECOND, **answer)).verdict == "pass"


@pytest.mark.parametrize(
    "messages", [[agreed("task-1")], [agreed("task-1"), TOLD], [agreed(), TOLD]]
)
def test_another_caller_is_told(messages: list[JsonObject]) -> None:
    before = offering()
    assert judged(LISTEN, *before, listening(SECOND, *messages)).verdict == "fail"


@pytest.mark.parametrize("own", [[], [listening(FIRST, error=-32603)]])
def test_where_nobody_was_seen_to_listen_silence_shows_nothing(own: list[Exchange]) -> None:
    silent = listening(SECOND, status=200, events=[], content_type="text/event-stream")
    found = judged(LISTEN, admitted(), creation(), *own, silent)
    assert found.verdict == "not-exercised"
    assert judged(LISTEN, *offering(), silent).verdict == "pass"


def test_a_server_that_tells_nobody_of_tasks() -> None:
    before = [admitted(), creation()]
    none = [listening(FIRST, agreed()), listening(SECOND, agreed())]
    assert judged(LISTEN, *before, *none).verdict == "not-applicable"
    absent = [listening(FIRST, error=-32601), listening(SECOND, error=-32601)]
    assert judged(LISTEN, *before, *absent).verdict == "not-applicable"


# ---- security.no-token ----------------------------------------------------------------------

TOKEN = "security.no-token"


@pytest.mark.parametrize("caller", [NOBODY, WRONG])
@pytest.mark.parametrize("answer", [{"status": 401}, {"error": UNKNOWN}])
def test_a_stranger_is_refused(caller: str, answer: dict[str, Any]) -> None:
    asking = [asked(m, caller, **answer) for m in ("tasks/get", "tasks/cancel")]
    found = judged(TOKEN, creation(), *asking, reading(status="completed"))
    assert found.verdict == "pass"
    assert found.observations == 2


@pytest.mark.parametrize("caller", [NOBODY, WRONG])
def test_a_stranger_reads(caller: str) -> None:
    read = asked("tasks/get", caller, result=task("task-1"))
    found = judged(TOKEN, creation(), read)
    assert found.verdict == "fail"
    assert "token" in found.reason


@pytest.mark.parametrize("caller", [NOBODY, WRONG])
def test_a_stranger_cancels(caller: str) -> None:
    before, cancel = creation(), asked("tasks/cancel", caller, result=ACK)
    assert judged(TOKEN, before, cancel, reading(status="cancelled")).verdict == "fail"
    before, cancel = creation(), asked("tasks/cancel", caller, result=ACK)
    assert judged(TOKEN, before, cancel, reading(status="completed")).verdict == "not-exercised"


@pytest.mark.parametrize("refused_first", [True, False])
def test_who_was_served_cancelled_it_and_not_who_was_refused(refused_first: bool) -> None:
    callers = (WRONG, NOBODY) if refused_first else (NOBODY, WRONG)
    found = [creation()]
    for caller in callers:
        answer: dict[str, Any] = {"result": ACK} if caller == NOBODY else {"error": UNKNOWN}
        found.append(asked("tasks/cancel", caller, **answer))
    assert judged(TOKEN, *found, reading(status="cancelled")).verdict == "fail"
    assert judged(TOKEN, *found, reading(status="completed")).verdict == "pass"


@pytest.mark.parametrize("refused_first", [True, False])
def test_who_was_served_answered_it_and_not_who_was_refused(refused_first: bool) -> None:
    callers = (WRONG, NOBODY) if refused_first else (NOBODY, WRONG)
    found = [*left_alone(), *waiting()]
    for caller in callers:
        answer: dict[str, Any] = {"result": ACK} if caller == NOBODY else {"error": UNKNOWN}
        found.append(asked("tasks/update", caller, **answer))
    assert judged(TOKEN, *found, reading(status="completed")).verdict == "fail"


def test_a_stranger_answers() -> None:
    before, answer = waiting(), asked("tasks/update", NOBODY, result=ACK)
    assert (
        judged(TOKEN, *left_alone(), *before, answer, reading(status="completed")).verdict == "fail"
    )


# ---- security.no-existence-oracle -----------------------------------------------------------

ORACLE = "security.no-existence-oracle"
METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


def compared(method: str, foreign: dict[str, Any], *unknown: dict[str, Any]) -> Verdict:
    """A foreign task, and two ids that are nobody's: answered alike, unless told otherwise."""
    answers = unknown if len(unknown) > 1 else (unknown[0], unknown[0])
    others = [
        asked(method, task_id=f"task-9999{number}", intent="foreign-unknown", **answer)
        for number, answer in enumerate(answers)
    ]
    return judged(ORACLE, admitted(), creation(), asked(method, **foreign), *others)


@pytest.mark.parametrize("method", METHODS)
def test_foreign_looks_like_unknown(method: str) -> None:
    assert compared(method, {"error": UNKNOWN}, {"error": UNKNOWN}).verdict == "pass"


def test_ids_and_numbers_of_requests_make_no_difference() -> None:
    one = {"code": -32602, "message": "Task 'task-1' not found (request 3f9a8c2e11, 17853)"}
    other = {"code": -32602, "message": "Task 'task-99990' not found (request 0b7d8c2e42, 17854)"}
    assert compared("tasks/get", {"error": one}, {"error": other}).verdict == "pass"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "foreign",
    [
        {"error": {"code": -32603, "message": "Task not found"}},
        {"error": {"code": -32602, "message": "Not your task"}},
        {"error": UNKNOWN, "status": 403},
        {"status": 404},
    ],
)
def test_foreign_looks_otherwise(method: str, foreign: dict[str, Any]) -> None:
    assert compared(method, foreign, {"error": UNKNOWN}).verdict == "warn"


@pytest.mark.parametrize("wrong", [{"result": ACK}, {"error": -32603}, {"status": 404}])
def test_unknown_ids_that_are_served_wrongly_are_told_by_others(wrong: dict[str, Any]) -> None:
    assert compared("tasks/cancel", {"error": UNKNOWN}, wrong).verdict == "not-exercised"


@pytest.mark.parametrize(
    "texts",
    [
        ("Task not found (ref k3j9zq)", "Task not found (ref p0o1ii)", "Task not found (ref x7)"),
        ("No task at 12:03:04.1", "No task at 12:03:04.2", "No task at 12:03:04.3"),
    ],
)
def test_messages_that_differ_by_themselves_make_no_difference(texts: tuple[str, ...]) -> None:
    foreign, one, other = ({"error": {"code": -32602, "message": text}} for text in texts)
    assert compared("tasks/get", foreign, one, other).verdict == "pass"
    denied = {"error": {"code": -32000, "message": "No"}}
    assert compared("tasks/get", denied, one, other).verdict == "warn"


def test_one_unknown_id_does_not_show_what_differs_by_itself() -> None:
    foreign = asked("tasks/get", error={"code": -32602, "message": "Not your task"})
    unknown = asked("tasks/get", task_id="nobodys", intent="foreign-unknown")
    assert judged(ORACLE, admitted(), creation(), foreign, unknown).verdict == "not-exercised"
    denied = asked("tasks/get", error=-32000)
    assert judged(ORACLE, admitted(), creation(), denied, unknown).verdict == "warn"


def test_unknown_ids_that_are_not_answered_alike_show_nothing() -> None:
    foreign = {"error": {"code": -32000, "message": "No"}}
    found = compared("tasks/get", foreign, {"error": UNKNOWN}, {"status": 404})
    assert found.verdict == "not-exercised"


def test_a_pace_limit_is_no_difference() -> None:
    assert compared("tasks/get", {"status": 429}, {"error": UNKNOWN}).verdict == "not-exercised"


# ---- security.quiet-errors ------------------------------------------------------------------

QUIET = "security.quiet-errors"
TRACE = 'Traceback (most recent call last):\n  File "app.py", line 1'


def test_plain_errors() -> None:
    assert judged(QUIET, reading(error=-32602)).verdict == "pass"
    assert judged(QUIET, exchange(body="<h1>Not Found</h1>", status=404)).verdict == "pass"


def test_a_web_page_may_name_its_own_files() -> None:
    page = '<html><script src="/assets/app/main.js"></script>{}</html>'
    gateway: dict[str, Any] = {"status": 405, "content_type": "text/html"}
    assert judged(QUIET, exchange(body=page.format("No"), **gateway)).verdict == "pass"
    query = "SELECT * FROM tasks WHERE id = 1"
    assert judged(QUIET, exchange(body=page.format(query), **gateway)).verdict == "warn"


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32603, "message": f"Internal error: {TRACE}"}},
        {"error": {"code": -32603, "message": "Internal error", "data": {"trace": [TRACE]}}},
        {"error": {"code": -32603, "message": "no row: SELECT * FROM tasks WHERE id = 1"}},
        {"error": {"code": -32603, "message": "no such file: /var/lib/tasks/1.json"}},
        {"body": f"<pre>{TRACE}</pre>", "status": 500},
    ],
)
def test_errors_that_tell_much(answer: dict[str, Any]) -> None:
    assert judged(QUIET, exchange(**answer)).verdict == "warn"


def test_a_tools_own_words_are_its_own() -> None:
    failed = reading(status="failed", members={"error": {"code": 1, "message": TRACE}})
    result: JsonObject = {"content": [{"type": "text", "text": TRACE}], "isError": True}
    called = exchange("tools/call", {"name": "run", "arguments": {}}, result=result)
    assert judged(QUIET, failed, called).verdict == "not-exercised"
    message = {"code": 1001, "message": "cannot read /home/orders/today.csv"}
    named = exchange("tools/call", {"name": "run", "arguments": {}}, error=message)
    assert judged(QUIET, named).verdict == "pass"


def test_what_was_sent_comes_back() -> None:
    error = {"code": -32602, "message": "no task /etc/passwd"}
    echoed = exchange("tasks/get", {"taskId": "/etc/passwd"}, error=error)
    assert judged(QUIET, echoed).verdict == "pass"


def test_odd_errors_do_no_harm() -> None:
    odd: list[JsonObject] = [
        {"code": 1, "message": {"text": TRACE[:5]}},
        {"code": 1, "message": None, "data": [[[{"a": [1, None, True]}]]]},
        {},
    ]
    assert judged(QUIET, *(exchange(error=error) for error in odd)).verdict == "pass"


# ---- together -------------------------------------------------------------------------------


def test_every_rule_of_the_topic_was_tried_here() -> None:
    tried = {IDS, GET, UPDATE, CANCEL, LISTEN, TOKEN, ORACLE, QUIET}
    assert tried == {rule for rule in catalogue() if rule.startswith("security.")}


@pytest.mark.parametrize("rule", [rule for rule in catalogue() if rule.startswith("security.")])
def test_nothing_sent_nothing_told(rule: str) -> None:
    assert judged(rule).verdict == "not-exercised"


# ---- servers that are merely different ------------------------------------------------------


def test_a_server_that_agrees_to_any_id_and_tells_nobody_of_foreign_ones() -> None:
    """It looks whose task it is when there is something to tell."""
    anything = exchange(
        "subscriptions/listen",
        {"notifications": {"taskIds": ["nobody's"]}},
        events=[agreed("nobody's")],
        cut=True,
    )
    before = [*offering(), anything]
    promised = listening(SECOND, agreed("task-1"))
    assert judged(LISTEN, *before, promised).verdict == "not-exercised"
    assert judged(LISTEN, *before, listening(SECOND, agreed("task-1"), TOLD)).verdict == "fail"


def test_a_server_that_gives_up_tasks_itself() -> None:
    given_up = [creation("task-2", result=handle("task-2")), reading("task-2", "cancelled")]
    before, foreign = [admitted(), creation()], asked("tasks/cancel")
    found = [*given_up, *before, foreign, reading(status="cancelled")]
    assert judged(CANCEL, *found).verdict == "pass"


def test_a_request_for_input_that_is_superseded() -> None:
    """The same question under a new key: the foreign answer did not arrive."""
    anew: JsonObject = {"inputRequests": {"question-2": {"method": "roots/list"}}}
    before, foreign = waiting(), asked("tasks/update")
    still = reading(status="input_required", members=anew)
    assert judged(UPDATE, *before, foreign, still).verdict == "pass"
