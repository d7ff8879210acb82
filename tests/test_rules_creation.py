"""The rules of creation, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import ORDINARY, Exchange, Fault, JsonObject
from tests.builders import (
    CALL_RESULT,
    QUESTION,
    creation,
    exchange,
    handle,
    history,
    reading,
    task,
)


def judged(rule_id: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges))


def call(result: JsonObject, **more: Any) -> Exchange:
    return exchange("tools/call", {"name": "export", "arguments": {}}, result=result, **more)


def handle_with(name: str, value: Any) -> JsonObject:
    members: dict[str, Any] = {name: value}
    return {k: v for k, v in {**handle(), **members}.items() if v is not ...}


class TestResultType:
    rule = "creation.result-type"

    def test_task_passes(self) -> None:
        assert judged(self.rule, creation()).verdict == PASS

    @pytest.mark.parametrize("kind", ["complete", "tasks", None, ...])
    def test_anything_else_on_a_handle_fails(self, kind: object) -> None:
        verdict = judged(self.rule, call(handle(resultType=kind)))
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/resultType"

    def test_one_wrong_handle_among_right_ones_fails(self) -> None:
        wrong = call(handle("u", resultType="complete"))
        assert judged(self.rule, creation("t"), wrong).verdict == FAIL

    def test_an_ordinary_result_is_no_handle(self) -> None:
        assert judged(self.rule, call(CALL_RESULT)).verdict == NOT_EXERCISED

    def test_an_ordinary_result_may_have_such_members_of_its_own(self) -> None:
        result = {**CALL_RESULT, "taskId": "build-7", "status": "queued"}
        assert judged(self.rule, call(result)).verdict == NOT_EXERCISED

    def test_answers_of_the_older_protocol_are_not_judged(self) -> None:
        older = call(
            handle(resultType=...),
            edit=lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25"),
        )
        assert judged(self.rule, older).verdict == NOT_EXERCISED


class TestShape:
    rule = "creation.shape"

    def test_a_whole_handle_passes(self) -> None:
        assert judged(self.rule, creation()).verdict == PASS

    def test_a_null_ttl_passes(self) -> None:
        assert judged(self.rule, creation(result=handle(ttlMs=None))).verdict == PASS

    def test_no_interval_and_more_members_pass(self) -> None:
        more = handle(pollIntervalMs=..., content=[], vendor={"a": 1}, _meta={"com.example/a": 1})
        assert judged(self.rule, creation(result=more)).verdict == PASS

    @pytest.mark.parametrize("name", ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"])
    def test_a_missing_member_fails(self, name: str) -> None:
        verdict = judged(self.rule, creation(result=handle_with(name, ...)))
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == f"/result/{name}"

    @pytest.mark.parametrize(("name", "value"), [("taskId", 7), ("statusMessage", None)])
    def test_a_member_of_the_wrong_type_fails(self, name: str, value: Any) -> None:
        assert judged(self.rule, creation(result=handle_with(name, value))).verdict == FAIL

    def test_an_ordinary_result_may_tell_of_a_task_of_its_own(self) -> None:
        result = {**CALL_RESULT, "task": {"taskId": "build-7"}}
        assert judged(self.rule, call(result)).verdict == NOT_EXERCISED

    def test_a_nested_task_fails(self) -> None:
        nested = call({"resultType": "task", "task": task()})
        verdict = judged(self.rule, nested)
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/task"

    @pytest.mark.parametrize(
        ("name", "value"),
        [("status", "canceled"), ("createdAt", 7), ("ttlMs", "60000"), ("pollIntervalMs", 0.5)],
    )
    def test_wrong_values_are_left_to_other_rules(self, name: str, value: object) -> None:
        assert judged(self.rule, creation(result=handle_with(name, value))).verdict == PASS

    def test_an_ordinary_result_called_task_is_left_to_another_rule(self) -> None:
        mistaken = call({**CALL_RESULT, "resultType": "task"})
        assert judged(self.rule, mistaken).verdict == NOT_EXERCISED


class TestBaseTaskOnly:
    rule = "creation.base-task-only"

    def test_a_plain_task_passes(self) -> None:
        assert judged(self.rule, creation()).verdict == PASS

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("result", CALL_RESULT),
            ("error", {"code": 1, "message": "no"}),
            ("inputRequests", {"a": QUESTION}),
            ("requestState", "sealed"),
        ],
    )
    def test_a_payload_is_warned_of(self, name: str, value: Any) -> None:
        verdict = judged(self.rule, creation(result=handle_with(name, value)))
        assert verdict.verdict == WARN
        assert name in verdict.reason

    def test_null_members_carry_nothing(self) -> None:
        nulls = handle(result=None, error=None, inputRequests=None)
        assert judged(self.rule, creation(result=nulls)).verdict == PASS


class TestDurable:
    rule = "creation.durable"

    def read(self, *, intent: str = "read-at-once", **more: Any) -> Exchange:
        if not more.keys() & {"error", "status", "fault"}:
            more["result"] = task("t")
        return exchange("tasks/get", {"taskId": "t"}, intent=intent, **more)

    def test_a_read_at_once_passes(self) -> None:
        assert judged(self.rule, creation("t"), self.read()).verdict == PASS

    def test_a_task_that_is_not_there_fails(self) -> None:
        verdict = judged(self.rule, creation("t"), self.read(error=-32602))
        assert verdict.verdict == FAIL
        assert len(verdict.evidence[0].exchanges) == 2

    @pytest.mark.parametrize("intent", ["read-at-once", ORDINARY])
    def test_an_answer_that_comes_after_minutes_says_nothing(self, intent: str) -> None:
        """A machine was asleep meanwhile, and the task has come and gone."""
        made = creation("t", result=handle("t", ttlMs=None), started=1.0)
        late = self.read(error=-32602, intent=intent, started=1.2, ended=300.0)
        assert judged(self.rule, made, late).verdict == NOT_EXERCISED
        soon = self.read(error=-32602, intent=intent, started=1.2, ended=1.3)
        assert judged(self.rule, made, soon).verdict == FAIL

    def test_what_the_server_says_of_unknown_ids_fails(self) -> None:
        unknown = exchange("tasks/get", {"taskId": "x"}, error=-32001, intent="unknown-id")
        calls = (unknown, creation("t"), self.read(error=-32001))
        assert judged(self.rule, *calls).verdict == FAIL

    @pytest.mark.parametrize(
        "error",
        [-32603, -32001, {"code": -32000, "message": "pollIntervalMs has not elapsed"}],
    )
    def test_an_error_that_does_not_deny_the_task_is_not_judged(self, error: Any) -> None:
        calls = (creation("t"), self.read(error=error), reading("t"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_another_replica_that_does_not_know_the_task_fails(self) -> None:
        calls = (creation("t"), self.read(error=-32602, replica=1))
        assert "replica" in judged(self.rule, *calls).reason

    def test_a_task_that_one_replica_has_seen_end_is_still_missed_on_another(self) -> None:
        ended = reading("t", "completed")
        calls = (creation("t"), ended, self.read(error=-32602, replica=1))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_rate_limit_is_not_judged(self) -> None:
        assert judged(self.rule, creation("t"), self.read(status=429)).verdict == NOT_EXERCISED
        limited = self.read(error={"code": -32000, "message": "Rate limit exceeded"})
        assert judged(self.rule, creation("t"), limited).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("status", [401, 503])
    def test_a_refused_caller_and_an_overloaded_server_are_not_judged(self, status: int) -> None:
        refused = self.read(error=-32603, status=status)
        assert judged(self.rule, creation("t"), refused).verdict == NOT_EXERCISED

    def test_a_ttl_that_is_no_number_may_be_over_at_any_time(self) -> None:
        made = creation("t", result=handle("t", ttlMs="60000"), started=0.0)
        gone = reading("t", error=-32602, intent="read-at-once", started=0.5)
        assert judged(self.rule, made, gone).verdict == NOT_EXERCISED

    def test_a_task_that_may_have_expired_by_then_is_not_judged(self) -> None:
        brief = creation("t", result=handle("t", ttlMs=50))
        assert judged(self.rule, brief, self.read(error=-32602)).verdict == NOT_EXERCISED

    def test_no_answer_is_not_judged(self) -> None:
        lost = self.read(fault=Fault("reset", "connection lost"))
        assert judged(self.rule, creation("t"), lost).verdict == NOT_EXERCISED

    def test_a_task_whose_end_was_read_may_have_been_forgotten(self) -> None:
        calls = (creation("t"), reading("t", "completed"), self.read(error=-32602))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_an_ordinary_first_read_that_finds_nothing_fails(self) -> None:
        calls = (creation("t"), self.read(intent="ordinary", error=-32602), reading("t"))
        assert judged(self.rule, *calls).verdict == FAIL

    @pytest.mark.parametrize("intent", ["undeclared", "mcp-name-mismatch", "early-poll"])
    def test_a_probe_that_finds_nothing_is_not_judged(self, intent: str) -> None:
        probe = self.read(intent=intent, error=-32602)
        assert judged(self.rule, creation("t"), probe).verdict == NOT_EXERCISED

    def test_a_task_that_had_been_read_is_not_judged(self) -> None:
        calls = (creation("t"), reading("t"), self.read(intent="ordinary", error=-32602))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_task_that_may_have_expired_is_not_judged(self) -> None:
        brief = creation("t", result=handle("t", ttlMs=50))
        late = self.read(intent="ordinary", error=-32602)
        assert judged(self.rule, brief, late).verdict == NOT_EXERCISED

    def test_another_caller_is_not_judged(self) -> None:
        foreign = self.read(intent="ordinary", error=-32602, caller="second")
        assert judged(self.rule, creation("t"), foreign).verdict == NOT_EXERCISED

    def test_a_task_of_another_history_is_not_judged(self) -> None:
        assert judged(self.rule, self.read(error=-32602)).verdict == NOT_EXERCISED


class TestUniqueIds:
    rule = "creation.unique-ids"

    def test_different_ids_pass(self) -> None:
        assert judged(self.rule, creation("t"), creation("u")).verdict == PASS

    def test_the_same_id_twice_fails(self) -> None:
        assert judged(self.rule, creation("t"), creation("u"), creation("t")).verdict == FAIL

    def test_one_creation_proves_nothing(self) -> None:
        assert judged(self.rule, creation("t")).verdict == NOT_EXERCISED

    def test_a_read_that_calls_itself_a_handle_is_no_creation(self) -> None:
        mistaken = reading("t", members={"resultType": "task"})
        assert judged(self.rule, creation("t"), creation("u"), mistaken).verdict == PASS


class TestDiscriminatorReserved:
    rule = "creation.discriminator-reserved"

    def test_other_results_pass(self) -> None:
        discovered = exchange("server/discover", result={"resultType": "complete"})
        assert judged(self.rule, discovered, call(CALL_RESULT)).verdict == PASS

    def test_a_list_of_tools_called_task_fails(self) -> None:
        listed = exchange("tools/list", result={"resultType": "task", "tools": []})
        assert judged(self.rule, listed).verdict == FAIL

    def test_an_ordinary_result_called_task_fails(self) -> None:
        assert judged(self.rule, call({**CALL_RESULT, "resultType": "task"})).verdict == FAIL

    def test_a_handle_is_what_it_is_for(self) -> None:
        assert judged(self.rule, creation()).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
    def test_the_methods_of_the_extension_have_rules_of_their_own(self, method: str) -> None:
        answer = exchange(method, {"taskId": "t"}, result={"resultType": "task"})
        assert judged(self.rule, answer).verdict == NOT_EXERCISED

    def test_answers_of_the_older_protocol_are_not_judged(self) -> None:
        older = exchange(
            "tools/list",
            result={"resultType": "task", "tools": []},
            edit=lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25"),
        )
        assert judged(self.rule, older).verdict == NOT_EXERCISED


class TestOnlyToolsCall:
    rule = "creation.only-tools-call"

    def test_other_results_pass(self) -> None:
        assert judged(self.rule, exchange("prompts/list", result={"prompts": []})).verdict == PASS

    def test_a_handle_from_another_method_fails(self) -> None:
        read = exchange("resources/read", {"uri": "memo:today"}, result=handle())
        verdict = judged(self.rule, read)
        assert verdict.verdict == FAIL
        assert "resources/read" in verdict.reason

    def test_an_unknown_method_proves_nothing(self) -> None:
        assert judged(self.rule, exchange("prompts/list", error=-32601)).verdict == NOT_EXERCISED

    def test_tool_calls_and_reads_are_not_meant(self) -> None:
        assert judged(self.rule, creation("t"), reading("t")).verdict == NOT_EXERCISED


ASKED = {"resultType": "input_required", "inputRequests": {"ok": QUESTION}, "requestState": "s"}


def asked(*without: str) -> Exchange:
    return call({name: value for name, value in ASKED.items() if name not in without})


def answered(task_id: str = "t", *, state: object = "s", intent: str = "accept-before") -> Exchange:
    action = {"accept-before": "accept", "decline-before": "decline"}.get(intent)
    responses = {"ok": {"action": action}} if action else {}
    state_member = {} if state is None else {"requestState": state}
    params = {"name": "export", "arguments": {}, "inputResponses": responses, **state_member}
    return exchange("tools/call", params, result=handle(task_id), intent=intent)


OTHER_QUESTION: JsonObject = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "And then?", "requestedSchema": {"type": "object"}},
}


class TestInputFirst:
    rule = "creation.input-first"

    def waiting(self, question: JsonObject, task_id: str = "t", *, key: str = "ok") -> Exchange:
        return reading(task_id, "input_required", members={"inputRequests": {key: question}})

    def test_a_question_and_then_the_handle_passes(self) -> None:
        calls = (asked(), answered(), reading("t"), reading("t", "completed"))
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_task_that_was_only_seen_at_work_proves_nothing(self) -> None:
        calls = (asked(), answered(), reading("t"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_another_question_in_the_same_words_is_not_judged(self) -> None:
        calls = (asked(), answered(), self.waiting(QUESTION, key="step-2"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_question_that_is_asked_whatever_was_answered_is_warned_of(self) -> None:
        calls = [asked(), answered(), self.waiting(QUESTION, key="ok-1")]
        calls += [asked(), answered("u", intent="decline-before")]
        calls += [self.waiting(QUESTION, "u", key="ok-2"), reading("u", "completed")]
        assert judged(self.rule, *calls).verdict == WARN

    def test_a_question_that_is_asked_after_one_answer_only_is_not_judged(self) -> None:
        calls = [asked(), answered(), self.waiting(QUESTION)]
        calls += [asked(), answered("u", intent="decline-before"), reading("u", "completed")]
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_task_that_asks_something_else_passes(self) -> None:
        calls = (asked(), answered(), self.waiting(OTHER_QUESTION))
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_task_that_asks_again_is_warned_of(self) -> None:
        calls = (asked(), answered(), reading("t"), self.waiting(QUESTION))
        verdict = judged(self.rule, *calls)
        assert verdict.verdict == WARN
        assert "had been told" in verdict.reason

    def test_roots_may_be_asked_for_again_since_they_change(self) -> None:
        roots: JsonObject = {"method": "roots/list"}
        calls = (call({**ASKED, "inputRequests": {"r": roots}}), answered(), self.waiting(roots))
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_task_made_without_an_answer_that_asks_itself_is_warned_of(self) -> None:
        calls = (asked(), answered(intent="empty-before"), self.waiting(QUESTION))
        verdict = judged(self.rule, *calls)
        assert verdict.verdict == WARN
        assert "had not been told" in verdict.reason

    def test_a_question_of_the_first_of_two_rounds_is_remembered(self) -> None:
        first = asked()
        retry = {"name": "export", "arguments": {}, "inputResponses": {"ok": {}}}
        second = exchange(
            "tools/call",
            {**retry, "requestState": "s"},
            result={**ASKED, "inputRequests": {"b": OTHER_QUESTION}, "requestState": "s2"},
        )
        calls = (first, second, answered(state="s2"), self.waiting(QUESTION))
        assert judged(self.rule, *calls).verdict == WARN

    def test_without_a_state_the_last_question_counts(self) -> None:
        calls = (asked("requestState"), answered(state=None), self.waiting(QUESTION))
        assert judged(self.rule, *calls).verdict == WARN

    def test_a_task_that_was_never_read_is_not_judged(self) -> None:
        assert judged(self.rule, asked(), answered()).verdict == NOT_EXERCISED

    def test_a_task_that_nothing_was_asked_before_is_not_judged(self) -> None:
        calls = (creation("t"), self.waiting(QUESTION))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_an_outcome_that_is_the_same_either_way_is_a_note(self) -> None:
        calls = [asked(), answered("t"), reading("t", "completed")]
        calls += [answered("u", intent="decline-before"), reading("u", "completed")]
        verdict = judged(self.rule, *calls)
        assert verdict.verdict == PASS
        assert "alike" in verdict.reason

    def test_an_outcome_that_differs_needs_no_note(self) -> None:
        other = {"result": {"content": [{"type": "text", "text": "refused"}]}}
        calls = [asked(), answered("t"), reading("t", "completed"), asked()]
        calls.append(answered("u", intent="decline-before"))
        calls.append(reading("u", "completed", members=other))
        assert "alike" not in judged(self.rule, *calls).reason


class TestSurvivesDisconnect:
    rule = "creation.survives-disconnect"

    def hung_up(self, task_id: str = "t") -> Exchange:
        return creation(task_id, intent="create-and-hang-up", connection="fresh-1")

    def completed(self, *task_ids: str) -> list[Exchange]:
        return [e for t in task_ids for e in (creation(t), reading(t, "completed"))]

    def test_a_task_that_goes_on_passes(self) -> None:
        assert judged(self.rule, self.hung_up(), reading("t", "completed")).verdict == PASS

    def test_a_task_that_fails_while_others_complete_fails(self) -> None:
        calls = (self.hung_up(), reading("t", "failed"), *self.completed("u", "v", "w"))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_one_failure_beside_few_others_may_be_chance(self) -> None:
        calls = (self.hung_up(), reading("t", "failed"), *self.completed("u", "v"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_two_tasks_that_fail_alike_are_no_chance(self) -> None:
        both = (self.hung_up(), self.hung_up("u"), reading("t", "failed"), reading("u", "failed"))
        assert judged(self.rule, *both, *self.completed("v")).verdict == FAIL
        assert judged(self.rule, *both).verdict == NOT_EXERCISED

    def test_a_task_that_nobody_asked_to_cancel_and_is_cancelled_fails(self) -> None:
        calls = (self.hung_up(), reading("t", "cancelled"))
        verdict = judged(self.rule, *calls, *self.completed("u"))
        assert verdict.verdict == FAIL
        assert "cancelled" in verdict.reason

    @pytest.mark.parametrize("status", ["failed", "cancelled"])
    def test_without_others_to_compare_it_is_not_judged(self, status: str) -> None:
        calls = (self.hung_up(), reading("t", status))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_server_that_cancels_others_too_is_not_judged(self) -> None:
        others = (*self.completed("u"), creation("v"), reading("v", "cancelled"))
        calls = (self.hung_up(), reading("t", "cancelled"), *others)
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_another_that_was_cancelled_on_request_is_no_excuse(self) -> None:
        cancel = exchange("tasks/cancel", {"taskId": "v"})
        others = (*self.completed("u"), creation("v"), cancel, reading("v", "cancelled"))
        calls = (self.hung_up(), reading("t", "cancelled"), *others)
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_tool_that_fails_at_times_proves_nothing(self) -> None:
        others = (*self.completed("u", "v", "w"), creation("x"), reading("x", "failed"))
        calls = (self.hung_up(), reading("t", "failed"), *others)
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_others_whose_connection_was_closed_are_no_excuse(self) -> None:
        fresh = (creation("v", connection="fresh-2"), reading("v", "failed"))
        calls = (self.hung_up(), reading("t", "failed"), *self.completed("u"), *fresh)
        assert judged(self.rule, *calls).verdict == FAIL

    @pytest.mark.parametrize("status", ["failed", "cancelled"])
    def test_a_task_whose_time_was_over_or_that_was_cancelled_proves_nothing(
        self, status: str
    ) -> None:
        others = self.completed("u", "v", "w")
        brief = creation("t", intent="create-and-hang-up", result=handle("t", ttlMs=50))
        assert judged(self.rule, brief, reading("t", status), *others).verdict == NOT_EXERCISED
        made = (self.hung_up(), exchange("tasks/cancel", {"taskId": "t"}), reading("t", status))
        assert judged(self.rule, *made, *others).verdict == NOT_EXERCISED

    def test_a_call_that_always_fails_proves_nothing(self) -> None:
        others = (creation("u"), reading("u", "failed"))
        calls = (self.hung_up(), reading("t", "failed"), *others)
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_task_that_was_not_seen_to_end_is_not_judged(self) -> None:
        assert judged(self.rule, self.hung_up(), reading("t")).verdict == NOT_EXERCISED
