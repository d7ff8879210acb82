"""The rules of input, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.drive.draft import CORE_CAPABILITIES, DECLARED, UNDECLARED
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Verdict, verdict_of
from conformance.specification.names import EXTENSION
from conformance.wire.exchange import Exchange, Fault, JsonObject
from tests.builders import QUESTION, creation, exchange, handle, history, left_alone, reading

ALONE: JsonObject = {"extensions": {EXTENSION: {}}}
FORM: JsonObject = {
    "method": "elicitation/create",
    "params": {
        "message": "Which table?",
        "requestedSchema": {
            "type": "object",
            "properties": {"table": {"type": "string"}},
            "required": ["table"],
        },
    },
}
SAMPLING: JsonObject = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}],
        "maxTokens": 10,
    },
}
ROOTS: JsonObject = {"method": "roots/list"}
BY_URL: JsonObject = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Sign in", "url": "https://example.com/in?a=1"},
}
FIRST, SECOND, STRAY = "first-answer", "second-answer", "stray-answer"


def judged(rule: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    return verdict_of(catalogue()[rule], history(*exchanges, **circumstances))


def asks(requests: JsonObject | None = None, task_id: str = "task-1", **more: Any) -> Exchange:
    """A read of a task that waits for input."""
    requests = {"table-1": FORM} if requests is None else requests
    members = {"inputRequests": requests, **more.pop("members", {})}
    return reading(task_id, "input_required", members=members, **more)


def filled(text: str = FIRST) -> JsonObject:
    return {"action": "accept", "content": {"table": text}}


def update(
    responses: object = ..., intent: str = "answer-all", task_id: str = "task-1", **more: Any
) -> Exchange:
    """A ``tasks/update``, acknowledged unless told otherwise; ``None`` leaves responses out."""
    params: JsonObject = {"taskId": task_id}
    if responses is ...:
        responses = {"table-1": filled()}
    if responses is not None:
        params["inputResponses"] = responses
    return exchange("tasks/update", params, intent=intent, **more)


def ended(text: str = FIRST, task_id: str = "task-1", **more: Any) -> Exchange:
    """A read of a completed task, with a text in its result."""
    result = {"content": [{"type": "text", "text": f"Booked: {text}"}]}
    return reading(task_id, "completed", members={"result": result}, **more)


# ---- the acknowledgement ----------------------------------------------------------------------


def test_an_empty_acknowledgement_passes() -> None:
    assert judged("input.ack-empty", update()).verdict == "pass"


def test_meta_and_members_of_its_own_are_no_task() -> None:
    result = {"resultType": "complete", "_meta": {"x": 1}, "queued": True}
    verdict = judged("input.ack-empty", update(result=result))
    assert (verdict.verdict, "queued" in verdict.reason) == ("pass", True)


@pytest.mark.parametrize(
    "member",
    [{"status": "working"}, {"taskId": "task-1"}, {"inputRequests": {}}, {"task": {"taskId": "t"}}],
)
def test_an_acknowledgement_with_a_task_fails(member: JsonObject) -> None:
    verdict = judged("input.ack-empty", update(result={"resultType": "complete", **member}))
    assert verdict.verdict == "fail"


def test_an_update_that_was_refused_is_no_acknowledgement() -> None:
    assert judged("input.ack-empty", update(error=-32602)).verdict == "not-exercised"
    assert judged("input.ack-result-type", update(error=-32602)).verdict == "not-exercised"


def test_the_acknowledgement_is_complete() -> None:
    assert judged("input.ack-result-type", update()).verdict == "pass"


@pytest.mark.parametrize("result", [{}, {"resultType": "task"}, {"resultType": "input_required"}])
def test_an_acknowledgement_of_another_type_fails(result: JsonObject) -> None:
    assert judged("input.ack-result-type", update(result=result)).verdict == "fail"


# ---- unknown tasks and malformed params -------------------------------------------------------


def test_an_unknown_task_is_invalid_params() -> None:
    probe = update(intent="unknown-id", task_id="nowhere", error=-32602)
    assert judged("input.unknown-task", creation(), probe).verdict == "pass"


@pytest.mark.parametrize("code", [-32001, -32603])
def test_an_unknown_task_with_another_code_is_a_warning(code: int) -> None:
    probe = update(intent="unknown-id", task_id="nowhere", error=code)
    assert judged("input.unknown-task", creation(), probe).verdict == "warn"


def test_an_obsolete_code_is_named() -> None:
    probe = update(intent="unknown-id", task_id="nowhere", error=-32001)
    assert "obsolete" in judged("input.unknown-task", creation(), probe).reason


def test_an_unknown_task_that_is_acknowledged_is_a_warning() -> None:
    probe = update(intent="unknown-id", task_id="nowhere")
    assert judged("input.unknown-task", creation(), probe).verdict == "warn"


@pytest.mark.parametrize("more", [{"status": 429}, {"fault": Fault("reset", "closed")}])
def test_no_answer_about_an_unknown_task_says_nothing(more: JsonObject) -> None:
    probe = update(intent="unknown-id", task_id="nowhere", **more)
    assert judged("input.unknown-task", creation(), probe).verdict == "not-exercised"


def test_without_the_extension_there_are_no_tasks_to_be_unknown() -> None:
    probe = update(intent="unknown-id", task_id="nowhere", error=-32601)
    assert judged("input.unknown-task", probe).verdict == "not-applicable"


@pytest.mark.parametrize("responses", [None, ["x"], "x"])
def test_malformed_responses_are_invalid_params(responses: object) -> None:
    accepted = update()
    intent = "no-responses" if responses is None else "responses-not-an-object"
    refused = update(responses, intent, control=accepted, error=-32602)
    taken = update(responses, intent, control=accepted)
    assert judged("input.missing-responses", accepted, refused).verdict == "pass"
    assert judged("input.missing-responses", accepted, taken).verdict == "warn"
    otherwise = update(responses, intent, control=accepted, error=-32600)
    assert judged("input.missing-responses", accepted, otherwise).verdict == "pass"
    inside = update(responses, intent, control=accepted, error=-32603)
    assert judged("input.missing-responses", accepted, inside).verdict == "warn"


def test_malformed_responses_say_nothing_where_good_ones_are_refused() -> None:
    control = update(error=-32603)
    probe = update(None, "no-responses", control=control)
    assert judged("input.missing-responses", control, probe).verdict == "not-exercised"


# ---- what is asked ----------------------------------------------------------------------------


@pytest.mark.parametrize("request_", [FORM, QUESTION, SAMPLING, ROOTS, BY_URL])
def test_valid_requests_pass(request_: JsonObject) -> None:
    assert judged("input.requests-valid", asks({"a": request_})).verdict == "pass"


@pytest.mark.parametrize(
    "request_",
    [
        "Which table?",
        {"method": "elicitation/create"},
        {"method": "user/ask", "params": {}},
        {"method": "elicitation/create", "params": {"message": "Which?"}},
        {"method": "sampling/createMessage", "params": {"maxTokens": 5}},
        {**BY_URL, "params": {**BY_URL["params"], "url": "sign in here"}},
        {**FORM, "params": {**FORM["params"], "requestedSchema": {"type": "object"}}},
    ],
)
def test_invalid_requests_fail(request_: object) -> None:
    assert judged("input.requests-valid", asks({"a": request_})).verdict == "fail"


def test_the_member_of_an_invalid_request_is_pointed_at() -> None:
    verdict = judged("input.requests-valid", asks({"a/b~c": {"method": "x"}}))
    assert verdict.evidence[0].member == "/result/inputRequests/a~1b~0c/method"


def test_requests_before_a_task_are_looked_at_too() -> None:
    result = {"resultType": "input_required", "inputRequests": {"a": "Which table?"}}
    call = exchange("tools/call", {"name": "book"}, result=result)
    assert judged("input.requests-valid", call).verdict == "fail"


def test_no_requests_are_not_judged() -> None:
    assert judged("input.requests-valid", reading()).verdict == "not-exercised"


def test_declared_kinds_may_be_asked() -> None:
    requests = {"a": FORM, "b": SAMPLING, "c": ROOTS, "d": BY_URL}
    assert judged("input.only-declared-kinds", creation(), asks(requests)).verdict == "pass"


@pytest.mark.parametrize(
    ("request_", "declared"),
    [
        (FORM, ALONE),
        (SAMPLING, ALONE),
        (ROOTS, ALONE),
        (FORM, {**DECLARED, "elicitation": {"url": {}}}),
        (BY_URL, {**DECLARED, "elicitation": {}}),
        (BY_URL, {**DECLARED, "elicitation": {"form": {}}}),
        ({**SAMPLING, "params": {**SAMPLING["params"], "tools": []}}, DECLARED),
    ],
)
def test_undeclared_kinds_may_not_be_asked(request_: JsonObject, declared: JsonObject) -> None:
    made = creation(capabilities=declared, intent="kinds-not-declared")
    read = asks({"a": request_}, capabilities=declared, intent="kinds-not-declared")
    assert judged("input.only-declared-kinds", made, read).verdict == "fail"


@pytest.mark.parametrize("form", [{}, {"form": {}}, {"form": {}, "url": {}}])
def test_forms_are_what_an_elicitation_without_modes_stands_for(form: JsonObject) -> None:
    declared = {**ALONE, "elicitation": form}
    made, read = creation(capabilities=declared), asks(capabilities=declared)
    assert judged("input.only-declared-kinds", made, read).verdict == "pass"


def test_undeclared_kinds_may_not_be_asked_before_a_task_either() -> None:
    result = {"resultType": "input_required", "inputRequests": {"a": FORM}}
    call = exchange("tools/call", {"name": "book"}, result=result, capabilities=ALONE)
    assert judged("input.only-declared-kinds", call).verdict == "fail"
    same = exchange("tools/call", {"name": "book"}, result=result, capabilities=CORE_CAPABILITIES)
    assert judged("input.only-declared-kinds", same).verdict == "pass"


def test_a_read_that_declares_more_than_its_call_is_not_judged() -> None:
    made = creation(capabilities=ALONE)
    verdict = judged("input.only-declared-kinds", made, asks(capabilities=DECLARED))
    assert verdict.verdict == "not-exercised"


def test_what_another_task_asks_is_not_held_against_the_one_that_was_read() -> None:
    made, another = creation(capabilities=ALONE), {"taskId": "task-2"}
    read = asks(capabilities=ALONE, members=another)
    assert judged("input.only-declared-kinds", made, read).verdict == "not-exercised"


def test_what_an_earlier_reader_could_answer_stays_open_for_a_later_one() -> None:
    made = creation(capabilities=ALONE)
    reads = (asks(capabilities=DECLARED), asks(capabilities=ALONE))
    assert judged("input.only-declared-kinds", made, *reads).verdict == "not-exercised"


@pytest.mark.parametrize("code", [-32021, -32602])
def test_a_refused_call_asked_nothing(code: int) -> None:
    call = exchange(
        "tools/call", {"name": "book"}, intent="kinds-not-declared", capabilities=ALONE, error=code
    )
    assert judged("input.only-declared-kinds", call).verdict == "pass"


def test_a_task_that_ends_without_asking_passes_and_a_working_one_says_nothing() -> None:
    made = creation(capabilities=ALONE, intent="kinds-not-declared")
    assert judged("input.only-declared-kinds", made, ended()).verdict == "pass"
    assert judged("input.only-declared-kinds", made, reading()).verdict == "not-exercised"


# ---- keys -------------------------------------------------------------------------------------


def test_a_key_that_shows_one_request_passes() -> None:
    again = {**FORM, "_meta": {"shown": 2}}
    rule = "input.key-names-one-request"
    assert judged(rule, creation(), asks(), asks({"table-1": again})).verdict == "pass"


def form(message: str = "Which table?", **field: Any) -> JsonObject:
    """A form with one field."""
    properties = {"table": {"type": "string", **field}}
    schema = {"type": "object", "properties": properties}
    return {
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema},
    }


def by_url(url: str) -> JsonObject:
    return {**BY_URL, "params": {**BY_URL["params"], "url": url}}


def choices(*pairs: tuple[str, str]) -> JsonObject:
    return form(oneOf=[{"const": const, "title": title} for const, title in pairs])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (by_url("https://example.com/in?a=1"), by_url("https://example.com/in?a=2")),
        (by_url("https://example.com/in/k3j9"), by_url("https://example.com/in/p0o1")),
        (form("Go on? (60 s left)"), form("Go on? (9 s left)")),
        (form("Go on? (3 left)"), form("Go on? (-3 left)")),
        (form("Go on? 2 minutes left"), form("Go on? 1 minute and 59 seconds left")),
        (form("Go on? It ends in 1 hour"), form("Go on? It ends in less than a minute")),
        (form(enum=["a", "b"]), form(enum=["b", "a"])),
        (form(enum=["a"], enumNames=["A, 3 left"]), form(enum=["a"], enumNames=["A, 2 left"])),
        (choices(("a", "A, 3 left"), ("b", "B")), choices(("b", "B"), ("a", "A, 2 left"))),
    ],
)
def test_a_request_may_be_shown_anew(one: JsonObject, other: JsonObject) -> None:
    rule = "input.key-names-one-request"
    assert judged(rule, creation(), asks({"u": one}), asks({"u": other})).verdict == "pass"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (by_url("https://example.com/in"), by_url("https://example.org/in")),
        (by_url("https://example.com/in"), by_url("http://example.com/in")),
        (form("Which table?"), form("Which room?")),
        (form("For a day?"), form("For a week?")),
        (form(enum=["a", "b"]), form(enum=["a", "c"])),
        (choices(("a", "A"), ("b", "B")), choices(("a", "A"), ("c", "B"))),
        (form(), form(minLength=1)),
    ],
)
def test_another_request_is_not_the_same_shown_anew(one: JsonObject, other: JsonObject) -> None:
    rule = "input.key-names-one-request"
    assert judged(rule, creation(), asks({"u": one}), asks({"u": other})).verdict == "fail"


def test_a_key_that_shows_two_requests_fails() -> None:
    rule = "input.key-names-one-request"
    verdict = judged(rule, creation(), asks(), asks({"table-1": QUESTION}))
    assert verdict.verdict == "fail"


def test_what_a_key_shows_after_its_answer_is_another_rules_matter() -> None:
    found = (creation(), asks(), update(), asks({"table-1": QUESTION}))
    assert judged("input.key-names-one-request", *found).verdict == "not-exercised"
    assert judged("input.key-not-reused", *found).verdict == "fail"


def test_a_new_key_in_the_next_round_passes() -> None:
    found = (creation(), asks(), update(), reading(), asks({"table-2": QUESTION}))
    assert judged("input.key-not-reused", *found).verdict == "pass"


def test_an_answered_request_may_be_shown_a_little_longer() -> None:
    found = (creation(), asks(), update(), asks(), reading(), ended())
    assert judged("input.key-not-reused", *found).verdict == "not-exercised"


def test_an_old_state_that_is_read_once_more_is_no_new_request() -> None:
    found = (creation(), asks(), update(), reading(), asks(), ended())
    assert judged("input.key-not-reused", *found).verdict == "not-exercised"


def test_the_same_question_under_an_answered_key_fails_once_the_task_has_moved() -> None:
    moved = {"lastUpdatedAt": "2026-07-28T12:00:05.123Z"}
    found = (creation(), asks(), update(), reading(), asks(members=moved))
    assert judged("input.key-not-reused", *found).verdict == "fail"


def test_only_what_was_asked_and_taken_ends_a_round() -> None:
    rule = "input.key-not-reused"
    early = update({"zzz": filled()}, "answer-to-working")
    made = creation(started=early.started - 1)
    assert judged(rule, made, early, asks(), update(), ended()).verdict == "not-exercised"
    refused = (creation(), asks(), update(error=-32602), asks({"table-2": FORM}))
    assert judged(rule, *refused).verdict == "not-exercised"


def test_a_key_is_answered_by_the_first_update_that_was_taken() -> None:
    busy, taken = update(status=429), update()
    made, seen = creation(started=busy.started - 2), asks(started=busy.started - 1)
    found = (made, seen, busy, taken, reading(), asks({"table-1": QUESTION}))
    assert judged("input.key-not-reused", *found).verdict == "fail"


def test_a_key_whose_answer_was_refused_may_return() -> None:
    found = (creation(), asks(), update(error=-32602), asks({"table-1": QUESTION}))
    assert judged("input.key-not-reused", *found).verdict == "not-exercised"


# ---- going on ---------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [reading(), ended(), asks({"table-2": FORM})])
def test_an_answered_task_goes_on(after: Exchange) -> None:
    at = after.ended + 100
    found = (
        creation(started=at),
        asks(started=at + 1),
        update(started=at + 2),
        Exchange(**{**after.__dict__, "started": at + 3, "ended": at + 3.1}),
    )
    assert judged("input.resumes", *found).verdict == "pass"


def stuck(answer: Exchange, seconds: float = 30.0) -> tuple[Exchange, ...]:
    """A task that still waits some seconds after an answer."""
    at, task_id = answer.started, str(answer.task_id)
    return (
        creation(task_id, started=at - 2),
        asks(task_id=task_id, started=at - 1),
        answer,
        *(asks(task_id=task_id, started=answer.ended + seconds * n / 3) for n in (1, 2, 3)),
    )


def test_a_task_that_stays_as_it_is_fails() -> None:
    verdict = judged("input.resumes", *stuck(update()))
    assert (verdict.verdict, len(verdict.evidence[0].exchanges)) == ("fail", 3)


@pytest.mark.parametrize("request_", ["tasks/cancel", "tasks/update"])
def test_what_another_request_did_is_not_credited_to_the_answer(request_: str) -> None:
    found = stuck(update())
    at = found[-1].ended
    params: JsonObject = {"taskId": "task-1"}
    if request_ == "tasks/update":
        params["inputResponses"] = {"table-1": filled()}
    later = exchange(request_, params, started=at + 1)
    moved = reading("task-1", "cancelled", started=at + 2)
    assert judged("input.resumes", *found, later, moved).verdict == "fail"
    refused = exchange(request_, params, started=at + 1, error=-32602)
    assert judged("input.resumes", *found, refused, moved).verdict == "pass"


def test_what_comes_after_the_time_of_a_task_is_not_credited_to_the_answer() -> None:
    made, *rest = stuck(update())
    made = creation(result=handle(ttlMs=20_000), started=made.started)
    late = reading("task-1", "failed", started=rest[-1].ended + 1)
    assert judged("input.resumes", made, *rest, late).verdict != "pass"


def test_a_task_that_was_not_given_time_says_nothing() -> None:
    assert judged("input.resumes", *stuck(update(), 1.0)).verdict == "not-exercised"


def test_with_little_patience_little_time_is_enough() -> None:
    assert judged("input.resumes", *stuck(update(), 2.0), max_wait=2.0).verdict == "fail"


def test_answers_to_a_part_need_not_move_a_task() -> None:
    at = 5000.0
    both = {"table-1": FORM, "month-2": FORM}
    found = (
        creation(started=at),
        asks(both, started=at + 1),
        update(started=at + 2),
        asks(both, started=at + 40),
    )
    assert judged("input.resumes", *found).verdict == "not-exercised"


def test_a_task_that_was_cancelled_says_nothing() -> None:
    answer = update()
    found = list(stuck(answer))
    cancel = exchange("tasks/cancel", {"taskId": "task-1"}, started=answer.ended + 1)
    assert judged("input.resumes", *found, cancel).verdict == "not-exercised"


def test_a_form_that_could_not_be_filled_says_nothing() -> None:
    answer = update({"table-1": {"action": "accept", "content": {}}})
    assert judged("input.resumes", *stuck(answer)).verdict == "not-exercised"


def test_a_url_that_was_agreed_to_may_keep_a_task_waiting() -> None:
    at = 6000.0
    found = (
        creation(started=at),
        asks({"u": BY_URL}, started=at + 1),
        update({"u": {"action": "accept"}}, started=at + 2),
        asks({"u": BY_URL}, started=at + 40),
    )
    assert judged("input.resumes", *found).verdict == "not-exercised"


def test_answers_that_are_refused_again_fail() -> None:
    once = stuck(update(error=-32603), 0.2)
    assert judged("input.resumes", *once).verdict == "not-exercised"
    other = stuck(update(error=-32603, task_id="task-2"), 0.2)
    assert judged("input.resumes", *once, *other).verdict == "fail"
    at = once[-1].ended
    retried = (*once, update(error=-32603, started=at + 1), asks(started=at + 2))
    assert judged("input.resumes", *retried).verdict == "fail"


def test_a_refusal_that_speaks_of_the_pace_says_nothing() -> None:
    limit = {"code": -32000, "message": "Rate limit exceeded, slow down"}
    found = [e for t in ("task-1", "task-2") for e in stuck(update(error=limit, task_id=t), 0.2)]
    assert judged("input.resumes", *found).verdict == "not-exercised"


def test_a_form_that_could_not_be_declined_once_says_nothing() -> None:
    rule, no = "input.refusals-move-on", {"table-1": {"action": "decline"}}
    once = stuck(update(no, "decline-all", error=-32603))
    assert judged(rule, *once).verdict == "not-exercised"
    again = stuck(update(no, "decline-all", "task-2", error=-32603))
    assert judged(rule, *once, *again).verdict == "warn"


def test_an_overloaded_server_has_not_refused_an_answer() -> None:
    busy = update(error=-32603, status=503)
    assert judged("input.resumes", *stuck(busy)).verdict == "not-exercised"


@pytest.mark.parametrize("answer", [{"status": 500}, {"fault": Fault("timeout", "nothing")}])
def test_answers_that_end_in_a_page_or_in_silence(answer: dict[str, Any]) -> None:
    once = stuck(update(**answer))
    assert judged("input.resumes", *once).verdict == "not-exercised"
    found = judged("input.resumes", *once, *stuck(update(task_id="task-2", **answer)))
    assert found.verdict == "fail"
    assert "the update was met with" in found.reason


def test_a_task_that_is_to_be_polled_slowly_is_given_more_time() -> None:
    answer, slow = update(), {"pollIntervalMs": 9000}
    at = answer.started
    before = (creation(started=at - 2), asks(started=at - 1, members=slow), answer)
    assert judged("input.resumes", *before, asks(started=at + 12)).verdict == "not-exercised"
    still = [asks(started=at + later) for later in (10, 15, 20)]
    assert judged("input.resumes", *before, *still).verdict == "fail"
    # The last of few reads may be one that shows a change late.
    assert judged("input.resumes", *before, *still[1:]).verdict == "not-exercised"


def test_a_content_that_is_refused_says_nothing() -> None:
    assert judged("input.resumes", *stuck(update(error=-32602))).verdict == "not-exercised"


def test_where_refusals_are_refused_too_nothing_can_be_answered() -> None:
    at = 7000.0
    no = {"table-1": {"action": "decline"}}
    other = (
        creation("task-2", started=at),
        asks(task_id="task-2", started=at + 1),
        update(no, "decline-all", "task-2", started=at + 2, error=-32602),
    )
    assert judged("input.resumes", *stuck(update(error=-32602)), *other).verdict == "fail"


def test_an_update_of_somebody_else_is_not_judged() -> None:
    answer = update(caller="second")
    assert judged("input.resumes", *stuck(answer)).verdict == "not-exercised"
    undeclared = update(capabilities=UNDECLARED)
    assert judged("input.resumes", *stuck(undeclared)).verdict == "not-exercised"


def test_a_refused_form_moves_a_task() -> None:
    rule, no = "input.refusals-move-on", {"table-1": {"action": "decline"}}
    moved = (creation(), asks(), update(no, "decline-all"), reading("task-1", "failed"))
    assert judged(rule, *moved).verdict == "pass"
    assert judged(rule, *stuck(update(no, "decline-all"))).verdict == "warn"
    refused = stuck(update(no, "decline-all", error=-32602))
    assert judged(rule, *refused).verdict == "warn"


def test_a_form_that_was_dismissed_may_be_shown_again() -> None:
    later = stuck(update({"table-1": {"action": "cancel"}}, "cancel-all"))
    assert judged("input.refusals-move-on", *later).verdict == "not-exercised"


def test_what_cannot_be_refused_is_not_judged() -> None:
    answer = {"s": {"role": "assistant", "content": {"type": "text", "text": FIRST}, "model": "m"}}
    found = (creation(), asks({"s": SAMPLING}), update(answer, "decline-all"), ended())
    assert judged("input.refusals-move-on", *found).verdict == "not-exercised"


# ---- answers to a part ------------------------------------------------------------------------

TWO: JsonObject = {"table-1": FORM, "month-2": FORM}
REST: JsonObject = {"month-2": FORM}


@pytest.mark.parametrize("after", [TWO, REST])
def test_the_rest_stays_open(after: JsonObject) -> None:
    found = (creation(), asks(TWO), update(intent="answer-some"), asks(after))
    assert judged("input.partial-waits", *found).verdict == "pass"


def test_a_task_that_goes_on_without_the_rest_fails() -> None:
    rule, some = "input.partial-waits", update(intent="answer-some")
    before = (
        creation(started=some.started - 2),
        asks(TWO, started=some.started - 1),
        some,
    )
    assert judged(rule, *left_alone(), *before, reading()).verdict == "fail"
    assert judged(rule, *left_alone(), *before, ended()).verdict == "fail"
    assert judged(rule, *left_alone(), *before, asks({"table-1": FORM})).verdict == "fail"


def test_what_happens_after_the_rest_was_answered_is_not_judged() -> None:
    rest = {"month-2": filled()}
    found = (creation(), asks(TWO), update(intent="answer-some"), asks(REST))
    after = (update(rest, "answer-rest"), reading(), ended())
    assert judged("input.partial-waits", *found, *after).verdict == "pass"


def test_a_task_whose_time_is_over_between_the_answers_is_not_judged() -> None:
    made = creation(result=handle(ttlMs=2500))
    found = (made, asks(TWO), update(intent="answer-some"), reading("task-1", "failed"))
    assert judged("input.partial-waits", *found).verdict == "not-exercised"


def failed_after_a_part(task_id: str) -> tuple[Exchange, ...]:
    """A task that failed when some of its questions were answered."""
    some = update(intent="answer-some", task_id=task_id)
    at = some.started
    made, seen = creation(task_id, started=at - 0.4), asks(TWO, task_id, started=at - 0.2)
    return made, seen, some, reading(task_id, "failed")


def test_a_task_that_fails_once_between_the_answers_may_do_so_by_itself() -> None:
    found = failed_after_a_part("task-1")
    assert judged("input.partial-waits", *found).verdict == "not-exercised"


def gave_up(
    requests: JsonObject, after: str = "working", task_id: str = "task-9"
) -> tuple[Exchange, ...]:
    """A task whose questions nobody answers, and that goes on without."""
    made = creation(task_id, intent="left-waiting")
    return made, asks(requests, task_id), asks(requests, task_id), reading(task_id, after)


@pytest.mark.parametrize("after", ["working", "completed"])
def test_a_task_need_not_wait_for_ever_for_the_rest(after: str) -> None:
    def so_far() -> tuple[Exchange, ...]:
        return creation(), asks(TWO), update(intent="answer-some"), reading("task-1", after)

    rule = "input.partial-waits"
    assert judged(rule, *left_alone(), *so_far()).verdict == "fail"
    assert judged(rule, *left_alone(), *so_far(), *gave_up(TWO)).verdict == "not-exercised"
    # One that goes on when it is answered, or by another call, says nothing.
    answered = list(gave_up(TWO))
    answered[3:3] = [update(task_id="task-9", started=answered[2].ended + 0.1)]
    assert judged(rule, *left_alone(), *so_far(), *answered).verdict == "fail"
    # Nor does another call, where one of this one was left without an answer for as long.
    other = (creation("task-9", arguments={"guests": 3}), *gave_up(TWO)[1:])
    found = (*so_far(), *other)
    assert judged(rule, *left_alone(), *found).verdict == "not-exercised"
    waits = [asks(TWO, "task-8", started=at) for at in (-49.0, -9.0)]
    waited = (creation("task-8", started=-50.0), *waits)
    assert judged(rule, *waited, *found).verdict == "fail"
    # Where nobody saw for how long such a task waits, nothing is known.
    assert judged(rule, *so_far()).verdict == "not-exercised"


def test_a_refused_update_says_nothing_of_a_later_giving_up() -> None:
    def so_far() -> tuple[Exchange, ...]:
        return creation(), asks(TWO), update(intent="answer-some"), ended()

    def refused(place: int) -> list[Exchange]:
        after = list(gave_up(TWO))
        at = after[place].started - 0.5
        after.insert(place, update(task_id="task-9", started=at, error=-32021))
        return after

    rule = "input.partial-waits"
    assert judged(rule, *left_alone(), *so_far(), *refused(2)).verdict == "not-exercised"
    # What was refused may have counted all the same.
    assert judged(rule, *left_alone(), *so_far(), *refused(3)).verdict == "fail"


def test_a_task_that_fails_between_the_answers_as_others_do_is_not_judged() -> None:
    found = (*failed_after_a_part("task-1"), *failed_after_a_part("task-2"))
    assert judged("input.partial-waits", *left_alone(), *found).verdict == "fail"
    other = (creation("task-2"), asks(TWO, "task-2"), reading("task-2", "failed"))
    assert judged("input.partial-waits", *left_alone(), *found, *other).verdict == "not-exercised"


def test_a_request_that_is_superseded_needs_no_answer() -> None:
    found = (creation(), asks(TWO), update(intent="answer-some"), asks({"year-3": FORM}))
    assert judged("input.partial-waits", *found).verdict == "not-exercised"


def test_answers_need_not_be_taken_in_parts() -> None:
    found = (creation(), asks(TWO), update(intent="answer-some", error=-32602), asks(TWO))
    assert judged("input.partial-waits", *found).verdict == "not-applicable"


# ---- keys that are not open -------------------------------------------------------------------


def unknown(intent: str = "unknown-key", **more: Any) -> tuple[Exchange, ...]:
    """A waiting task that got an answer under a key it never issued; and the control."""
    control = update(task_id="task-0")
    responses: JsonObject = {"never": filled(STRAY)}
    if intent != "unknown-key":
        responses["table-1"] = filled()
    return control, creation(), asks(), update(responses, intent, control=control, **more)


def test_an_unknown_key_changes_nothing() -> None:
    found = (*unknown(), asks(), update(), ended())
    assert judged("input.unknown-key-ignored", *found).verdict == "pass"


def test_a_refused_cancellation_is_no_excuse_for_a_task_that_was_seen_to_live_on() -> None:
    def answered(**answer: Any) -> tuple[Exchange, ...]:
        control, made = update(task_id="task-0"), creation()
        cancel = exchange("tasks/cancel", {"taskId": "task-1"}, intent="undeclared", **answer)
        probe = update({"never": filled(STRAY)}, "unknown-key", control=control)
        return control, made, cancel, asks(started=probe.started - 0.5), probe, ended()

    rule = "input.unknown-key-ignored"
    assert judged(rule, *left_alone(), *answered(error=-32021)).verdict == "warn"
    assert (
        judged(rule, *left_alone(), *answered(result={"resultType": "complete"})).verdict
        == "not-exercised"
    )


def test_a_refused_answer_may_have_counted_until_the_task_is_seen_to_wait() -> None:
    def answered(*, looked: bool) -> tuple[Exchange, ...]:
        control, made, seen = update(task_id="task-0"), creation(), asks()
        refused = update(intent="undeclared", error=-32021)
        probe = update({"never": filled(STRAY)}, "unknown-key", control=control)
        look = (asks(started=probe.started - 0.5),) if looked else ()
        return control, made, seen, refused, *look, probe, ended()

    rule = "input.unknown-key-ignored"
    assert judged(rule, *left_alone(), *answered(looked=False)).verdict == "not-exercised"
    assert judged(rule, *left_alone(), *answered(looked=True)).verdict == "warn"


def test_an_unknown_key_that_is_refused_is_a_warning() -> None:
    found = (*unknown(error=-32602), asks())
    assert judged("input.unknown-key-ignored", *found).verdict == "warn"


@pytest.mark.parametrize("status", ["working", "completed"])
def test_a_task_that_an_unknown_key_moves_is_a_warning(status: str) -> None:
    found = (*unknown(), reading("task-1", status))
    assert judged("input.unknown-key-ignored", *left_alone(), *found).verdict == "warn"
    alone = gave_up({"table-1": FORM})
    assert (
        judged("input.unknown-key-ignored", *left_alone(), *found, *alone).verdict
        == "not-exercised"
    )


def test_tasks_that_fail_of_an_unknown_key_are_a_warning() -> None:
    rule, once = "input.unknown-key-ignored", (*unknown(), reading("task-1", "failed"))
    assert judged(rule, *left_alone(), *once).verdict == "not-exercised"
    control, made, seen = update(task_id="task-0"), creation("task-2"), asks(task_id="task-2")
    probe = update({"never": filled(STRAY)}, "unknown-key", "task-2", control=control)
    again = (control, made, seen, probe, reading("task-2", "failed"))
    assert judged(rule, *left_alone(), *once, *again).verdict == "warn"


def test_a_task_that_fails_as_others_do_is_not_blamed_on_an_unknown_key() -> None:
    other = (creation("task-2"), asks(task_id="task-2"), reading("task-2", "failed"))
    found = (*unknown(), reading("task-1", "failed"), *other)
    assert judged("input.unknown-key-ignored", *found).verdict == "not-exercised"


def test_a_request_that_is_superseded_is_not_blamed_on_an_unknown_key() -> None:
    rule = "input.unknown-key-ignored"
    superseded = (*unknown(), asks({"year-3": FORM}))
    assert judged(rule, *superseded).verdict == "not-exercised"
    # What the result shows was taken, whatever was asked meanwhile.
    assert judged(rule, *superseded, ended(STRAY)).verdict == "warn"


def test_a_result_with_the_stray_answer_is_a_warning() -> None:
    found = (*unknown(), asks(), update(), ended(STRAY))
    assert judged("input.unknown-key-ignored", *found).verdict == "warn"


def test_an_unknown_key_beside_known_ones_is_passed_over() -> None:
    rule = "input.unknown-key-ignored"
    assert judged(rule, *unknown("known-and-unknown-key"), ended()).verdict == "pass"
    assert judged(rule, *unknown("known-and-unknown-key"), ended(STRAY)).verdict == "warn"
    *before, mixed = unknown("known-and-unknown-key")
    still = [asks(started=mixed.ended + at) for at in (10, 20, 30)]
    assert judged(rule, *before, mixed, *still).verdict == "warn"


def test_an_unknown_key_says_nothing_where_known_ones_are_refused() -> None:
    control = update(task_id="task-0", error=-32603)
    probe = update({"never": filled(STRAY)}, "unknown-key", control=control, error=-32603)
    found = (control, creation(), asks(), probe, asks())
    assert judged("input.unknown-key-ignored", *found).verdict == "not-exercised"


# ---- keys that were answered ------------------------------------------------------------------


def again(intent: str = "answer-again", answer: JsonObject | None = None) -> tuple[Exchange, ...]:
    """A task whose key was answered twice, one after the other."""
    made, read, first = creation(), asks(), update()
    second = update(
        {"table-1": filled(SECOND) if answer is None else answer}, intent, control=first
    )
    return made, read, first, second


@pytest.mark.parametrize(
    ("text", "verdict"),
    [(FIRST, "pass"), (SECOND, "warn"), (f"{FIRST} {SECOND}", "warn"), ("ok", "not-exercised")],
)
def test_the_first_answer_counts(text: str, verdict: str) -> None:
    assert judged("input.answered-key-ignored", *again(), ended(text)).verdict == verdict


def test_a_second_answer_may_be_refused() -> None:
    made, read, first, _ = again()
    second = update({"table-1": filled(SECOND)}, "answer-again", control=first, error=-32602)
    found = (made, read, first, second, ended())
    assert judged("input.answered-key-ignored", *found).verdict == "pass"


def others(*, declined_text: str = "no") -> tuple[Exchange, ...]:
    """Tasks of the same call, one accepted and one declined."""
    no = {"table-1": {"action": "decline"}}
    return (
        creation("task-2"),
        asks(task_id="task-2"),
        update(task_id="task-2"),
        ended("yes", "task-2"),
        creation("task-3"),
        asks(task_id="task-3"),
        update(no, "decline-all", "task-3"),
        ended(declined_text, "task-3"),
    )


def test_declining_what_was_accepted_changes_nothing() -> None:
    rule, no = "input.answered-key-ignored", {"action": "decline"}
    assert judged(rule, *others(), *again("decline-again", no), ended("yes")).verdict == "pass"
    found = (*others(), *again("decline-again", no), ended("no"))
    assert judged(rule, *left_alone(), *found).verdict == "warn"
    # It may have gone on without the first answer, as another did.
    assert judged(rule, *gave_up({"table-1": FORM}), *found).verdict == "not-exercised"
    alike = others(declined_text="yes")
    verdict = judged(rule, *alike, *again("decline-again", no), ended("yes"))
    assert verdict.verdict == "not-exercised"


def failed_of_a_second_answer(task_id: str) -> tuple[Exchange, ...]:
    made, seen, first = creation(task_id), asks(task_id=task_id), update(task_id=task_id)
    other = {"table-1": filled(SECOND)}
    second = update(other, "answer-again", task_id, control=first)
    return made, seen, first, second, reading(task_id, "failed")


def test_tasks_that_fail_of_a_second_answer_are_a_warning() -> None:
    rule = "input.answered-key-ignored"
    one, two = failed_of_a_second_answer("task-1"), failed_of_a_second_answer("task-4")
    assert judged(rule, *others(), *one, *two).verdict == "warn"
    assert judged(rule, *others(), *one).verdict == "not-exercised"
    assert judged(rule, *one, *two).verdict == "not-exercised"
    # One that had not ended when the second answer came, and completed, was not made to fail.
    spared = [*failed_of_a_second_answer("task-5")[:-1], reading("task-5"), ended("ok", "task-5")]
    assert judged(rule, *others(), *one, *two, *spared).verdict == "not-exercised"


def test_a_task_whose_time_is_over_does_not_fail_of_a_second_answer() -> None:
    rule, (first, *rest) = "input.answered-key-ignored", again()
    brief = creation(result=handle(ttlMs=2500), started=first.started, ended=first.ended)
    late = reading("task-1", "failed", started=first.started + 10)
    assert judged(rule, *others(), brief, *rest, late).verdict != "warn"


def at_once(text: str) -> tuple[Exchange, ...]:
    """A task that got two answers together."""
    made, read = creation(), asks()
    updates = [
        update({"table-1": filled(marker)}, "answer-at-once", started=read.started + 1)
        for marker in (FIRST, SECOND)
    ]
    return made, read, *updates, ended(text)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [(FIRST, "pass"), (SECOND, "pass"), (f"{SECOND} {FIRST}", "warn"), ("ok", "not-exercised")],
)
def test_of_two_answers_at_once_one_counts(text: str, verdict: str) -> None:
    assert judged("input.answered-key-ignored", *at_once(text)).verdict == verdict


def test_of_several_keys_each_may_be_answered_by_another_update() -> None:
    made, read = creation(), asks(TWO)
    updates = [
        update(
            {"table-1": filled(f"{marker}-01"), "month-2": filled(f"{marker}-02")},
            "answer-at-once",
            started=read.started + 1,
        )
        for marker in (FIRST, SECOND)
    ]
    rule = "input.answered-key-ignored"
    mixed = ended(f"{FIRST}-01 and {SECOND}-02")
    assert judged(rule, made, read, *updates, mixed).verdict == "pass"
    both = ended(f"{FIRST}-01 and {SECOND}-01")
    assert judged(rule, made, read, *updates, both).verdict == "warn"


def test_an_old_key_does_not_answer_the_next_round() -> None:
    rule, second = "input.answered-key-ignored", {"table-2": QUESTION}
    before = (creation(), asks(), update(), asks(second))
    old = update({"table-1": filled(SECOND)}, "answer-old-key")
    assert judged(rule, *left_alone(), *before, old, ended()).verdict == "warn"
    alone = gave_up({"table-1": FORM})
    assert judged(rule, *left_alone(), *before, old, ended(), *alone).verdict == "not-exercised"
    before = (creation(), asks(), update(), asks(second))
    old = update({"table-1": filled(SECOND)}, "answer-old-key")
    waiting = asks(second)
    new = update({"table-2": {"action": "accept", "content": {"go": True}}})
    assert judged(rule, *left_alone(), *before, old, waiting, new, ended()).verdict == "pass"
    assert judged(rule, *left_alone(), *before, old).verdict == "not-exercised"


def test_an_answered_key_does_not_answer_what_is_open_besides() -> None:
    rule, rest = "input.answered-key-ignored", {"month-2": TWO["month-2"]}

    def so_far() -> tuple[Exchange, ...]:
        made, seen = creation(), asks(TWO)
        first, then = update({"table-1": filled(FIRST)}, "answer-some"), asks(rest)
        second = update({"table-1": filled(SECOND)}, "answer-again", control=first)
        return made, seen, first, then, second

    assert judged(rule, *left_alone(), *so_far(), ended(FIRST)).verdict == "warn"
    another = {"table-3": QUESTION}
    assert judged(rule, *left_alone(), *so_far(), asks(another)).verdict == "not-exercised"
    found = (*so_far(), asks(rest), update({"month-2": filled(FIRST)}, "answer-rest"))
    assert judged(rule, *left_alone(), *found, ended(FIRST)).verdict == "pass"


# ---- tasks that do not wait -------------------------------------------------------------------


def step(text: str, task_id: str = "task-1") -> Exchange:
    return reading(task_id, members={"statusMessage": text})


def twins() -> tuple[Exchange, ...]:
    """Two tasks of the same call that nobody sent anything."""
    return (
        creation("twin-1", intent="left-alone"),
        step("one", "twin-1"),
        step("two", "twin-1"),
        ended("done", "twin-1"),
        creation("twin-2"),
        ended("done", "twin-2"),
    )


def disturbed(
    *after: str, text: str = "done", task_id: str = "task-1", **answer: Any
) -> tuple[Exchange, ...]:
    """A working task that was sent an answer, and what was read of it then."""
    stray = update({"never": filled(STRAY)}, "answer-to-working", task_id, **answer)
    at = stray.started
    before = [step("one", task_id), step("two", task_id)]
    early = [
        Exchange(**{**e.__dict__, "started": at - 3 + n, "ended": at - 2.9 + n})
        for n, e in enumerate([creation(task_id), *before])
    ]
    return (*early, stray, *[step(each, task_id) for each in after], ended(text, task_id))


def test_a_working_task_goes_on_as_its_twin() -> None:
    rule = "input.working-unaffected"
    assert judged(rule, *twins(), *disturbed("two", "three")).verdict == "pass"


def test_a_working_task_that_shows_the_answer_is_a_warning() -> None:
    rule = "input.working-unaffected"
    assert judged(rule, *twins(), *disturbed("two", text=STRAY)).verdict == "warn"


def test_a_working_task_that_ends_otherwise_is_a_warning() -> None:
    rule = "input.working-unaffected"
    found = (*twins(), *disturbed("two", text="less"))
    later = (creation("twin-3"), ended("done", "twin-3"))
    assert judged(rule, *found, *later).verdict == "warn"
    # What is counted or dated may be another thing later.
    assert judged(rule, *found).verdict == "pass"
    other = (creation("twin-3"), ended("done again", "twin-3"))
    assert judged(rule, *found, *other).verdict == "pass"


def test_a_working_task_that_begins_again_is_a_warning() -> None:
    rule = "input.working-unaffected"
    assert judged(rule, *twins(), *disturbed("one", "two")).verdict == "warn"


def test_a_working_task_may_begin_again_as_others_do() -> None:
    rule, found = "input.working-unaffected", disturbed("one", "two")
    again = (creation("twin-3"), *[step(text, "twin-3") for text in ("one", "two", "one")])
    assert judged(rule, *twins(), *found, *again, ended("done", "twin-3")).verdict == "pass"


def test_working_tasks_that_fail_or_ask_are_a_warning() -> None:
    rule, found = "input.working-unaffected", disturbed()[:-1]
    assert judged(rule, *twins(), *found, asks()).verdict == "warn"
    failed = (*disturbed()[:-1], reading("task-1", "failed"))
    assert judged(rule, *twins(), *failed).verdict == "not-exercised"
    another = (*disturbed(task_id="task-2")[:-1], reading("task-2", "failed"))
    assert judged(rule, *twins(), *failed, *another).verdict == "warn"
    spared = disturbed("two", task_id="task-3")
    assert judged(rule, *twins(), *failed, *another, *spared).verdict == "pass"


def test_a_twin_that_failed_by_itself_shows_nothing() -> None:
    rule = "input.working-unaffected"
    twin = (creation("twin-1", intent="left-alone"), reading("twin-1", "failed"))
    found = disturbed("two")
    assert judged(rule, *twin, *found).verdict == "pass"
    another = (creation("twin-2"), reading("twin-2", "failed"))
    assert judged(rule, *twin, *another, *found).verdict == "warn"


@pytest.mark.parametrize(
    "answer", [{"status": 429}, {"status": 401}, {"fault": Fault("reset", "")}]
)
def test_an_answer_to_a_working_task_that_did_not_arrive_says_nothing(answer: JsonObject) -> None:
    found = disturbed("two", **answer)
    assert judged("input.working-unaffected", *twins(), *found).verdict == "not-exercised"


def test_a_working_task_that_fails_or_asks_as_others_do_is_no_warning() -> None:
    rule, found = "input.working-unaffected", disturbed()[:-1]
    failing = (creation("twin-3"), reading("twin-3", "failed"))
    failed = (*found, reading("task-1", "failed"))
    failed += (*disturbed(task_id="task-2")[:-1], reading("task-2", "failed"))
    assert judged(rule, *twins(), *failing, *failed).verdict != "warn"
    asking = (creation("twin-3"), asks(task_id="twin-3"))
    assert judged(rule, *twins(), *asking, *found, asks()).verdict != "warn"


def test_a_working_task_whose_time_is_over_may_fail() -> None:
    rule, (first, *rest) = "input.working-unaffected", disturbed()[:-1]
    brief = creation(result=handle(ttlMs=5000), started=first.started, ended=first.ended)
    late = reading("task-1", "failed", started=first.started + 10)
    assert judged(rule, *twins(), brief, *rest, late).verdict != "warn"


def test_a_working_task_without_a_twin_says_nothing() -> None:
    assert judged("input.working-unaffected", *disturbed("two")).verdict == "not-exercised"


def test_a_task_that_may_have_ended_before_says_nothing() -> None:
    found = (*twins(), *disturbed())
    assert judged("input.working-unaffected", *found).verdict == "not-exercised"


@pytest.mark.parametrize(
    "answer", [update(intent="answer-to-ended"), update({}, "x", error=-32602)]
)
def test_an_ended_task_stays_as_it_is(answer: Exchange) -> None:
    rule, at = "input.terminal-unaffected", answer.started
    before = (creation(started=at - 3), ended(started=at - 2), ended(started=at - 1))
    assert judged(rule, *before, answer, ended(started=at + 1)).verdict == "pass"
    other = ended(SECOND, started=at + 1)
    assert judged(rule, *before, answer, other).verdict == "fail"
    revived = reading(started=at + 1)
    assert judged(rule, *before, answer, revived).verdict == "fail"
    gone = reading(error=-32602, started=at + 1)
    assert judged(rule, *before, answer, gone).verdict == "fail"


def test_an_ended_task_may_expire() -> None:
    made = creation(result=handle(ttlMs=2000))
    found = (made, ended(), update(intent="answer-to-ended"))
    gone = reading(error=-32602, started=made.started + 5)
    assert judged("input.terminal-unaffected", *found, gone).verdict == "not-exercised"


def test_an_ended_task_may_become_failed_once_its_time_is_over() -> None:
    made = creation(result=handle(ttlMs=2000))
    found = (made, ended(), update(intent="answer-to-ended"))
    failed = reading("task-1", "failed", started=made.started + 5)
    assert judged("input.terminal-unaffected", *found, failed).verdict == "not-exercised"


def test_a_task_that_changes_by_itself_is_not_blamed_on_the_answer() -> None:
    found = (creation(), ended(), ended(SECOND), update(intent="answer-to-ended"), ended("third"))
    assert judged("input.terminal-unaffected", *found).verdict == "not-exercised"


def test_a_payload_that_was_read_once_may_vary() -> None:
    found = (creation(), ended(), update(intent="answer-to-ended"), ended(SECOND))
    assert judged("input.terminal-unaffected", *found).verdict == "not-exercised"


def test_what_a_cancellation_does_is_not_blamed_on_the_answer() -> None:
    cancel = exchange("tasks/cancel", {"taskId": "task-1"})
    at = cancel.started
    found = (
        creation(started=at - 4),
        ended(started=at - 3),
        update(intent="answer-to-ended", started=at - 2),
        cancel,
        reading("task-1", "cancelled", started=at + 1),
    )
    assert judged("input.terminal-unaffected", *found).verdict == "not-exercised"


def test_a_meta_that_moves_is_no_change() -> None:
    result = {"content": [{"type": "text", "text": f"Booked: {FIRST}"}], "_meta": {"read": 2}}
    moved = reading("task-1", "completed", members={"result": result})
    at = moved.started
    found = (
        creation(started=at - 3),
        ended(started=at - 2),
        update(intent="answer-to-ended", started=at - 1),
        moved,
    )
    assert judged("input.terminal-unaffected", *found).verdict == "pass"
