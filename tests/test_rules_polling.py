"""The rules of polling that look at answers, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import (
    FAIL,
    NOT_APPLICABLE,
    NOT_EXERCISED,
    PASS,
    WARN,
    Verdict,
    verdict_of,
)
from conformance.wire.exchange import Exchange, JsonObject
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

EXTENSION = "io.modelcontextprotocol/tasks"


def judged(rule_id: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges))


def read(result: object, task_id: str = "t", **more: Any) -> Exchange:
    return exchange("tasks/get", {"taskId": task_id}, result=result, **more)


def older_read(result: object, task_id: str = "t") -> Exchange:
    """A read under the protocol of 2025-11-25."""
    return read(
        result,
        task_id,
        edit=lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25"),
    )


class TestResultType:
    rule = "polling.result-type"

    @pytest.mark.parametrize("status", ["working", "input_required", "completed", "failed"])
    def test_complete_passes(self, status: str) -> None:
        assert judged(self.rule, creation("t"), reading("t", status)).verdict == PASS

    @pytest.mark.parametrize("kind", ["task", "input_required", None, 1, ...])
    def test_anything_else_fails(self, kind: object) -> None:
        wrong = reading("t", members={"resultType": kind})
        assert judged(self.rule, creation("t"), wrong).verdict == FAIL

    def test_the_message_knows_the_examples_of_the_page(self) -> None:
        wrong = reading("t", "failed", members={"resultType": "task"})
        assert "example" in judged(self.rule, creation("t"), wrong).reason

    def test_an_error_is_no_result(self) -> None:
        refused = reading("t", error=-32602)
        assert judged(self.rule, creation("t"), refused).verdict == NOT_EXERCISED

    def test_the_older_protocol_is_not_judged(self) -> None:
        older = older_read(task("t", resultType=...))
        assert judged(self.rule, creation("t"), older).verdict == NOT_EXERCISED


class TestShape:
    rule = "polling.shape"

    @pytest.mark.parametrize(
        "status", ["working", "input_required", "completed", "failed", "cancelled"]
    )
    def test_a_whole_task_passes(self, status: str) -> None:
        assert judged(self.rule, creation("t"), reading("t", status)).verdict == PASS

    def test_more_members_pass(self) -> None:
        more = {"vendor": {"deep": [1]}, "_meta": {"com.example/a": 1}, "pollIntervalMs": ...}
        assert judged(self.rule, creation("t"), reading("t", members=more)).verdict == PASS

    @pytest.mark.parametrize("name", ["taskId", "createdAt", "lastUpdatedAt", "ttlMs"])
    def test_a_missing_member_fails(self, name: str) -> None:
        verdict = judged(self.rule, creation("t"), reading("t", members={name: ...}))
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == f"/result/{name}"

    @pytest.mark.parametrize(
        "result",
        [
            {"resultType": "complete", "task": task("t")},
            {"resultType": "complete", "taskId": "t"},
            {},
            None,
            "working",
        ],
    )
    def test_what_is_no_task_fails(self, result: object) -> None:
        answer: JsonObject = {"jsonrpc": "2.0", "id": 1, "result": result}
        wrong = exchange("tasks/get", {"taskId": "t"}, answer=answer, request_id=1)
        assert judged(self.rule, creation("t"), wrong).verdict == FAIL

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("createdAt", 1),
            ("lastUpdatedAt", None),
            ("ttlMs", "1"),
            ("pollIntervalMs", None),
        ],
    )
    def test_wrong_values_are_left_to_other_rules(self, name: str, value: object) -> None:
        assert judged(self.rule, creation("t"), reading("t", members={name: value})).verdict == PASS

    def test_so_is_an_unknown_status(self) -> None:
        assert judged(self.rule, creation("t"), reading("t", "running")).verdict == PASS

    @pytest.mark.parametrize(
        ("status", "name"),
        [("completed", "result"), ("failed", "error"), ("input_required", "inputRequests")],
    )
    def test_payloads_are_left_to_other_rules(self, status: str, name: str) -> None:
        bare = reading("t", status, members={name: ...})
        assert judged(self.rule, creation("t"), bare).verdict == PASS

    def test_a_task_nobody_made_is_not_judged(self) -> None:
        assert judged(self.rule, read({"resultType": "complete"})).verdict == NOT_EXERCISED

    def test_a_task_that_may_have_expired_is_not_judged(self) -> None:
        brief = creation("t", result=handle("t", ttlMs=10))
        assert judged(self.rule, brief, read({})).verdict == NOT_EXERCISED


class TestSameTask:
    rule = "polling.same-task"

    def test_the_same_id_passes(self) -> None:
        assert judged(self.rule, creation("t"), reading("t")).verdict == PASS

    def test_another_id_fails(self) -> None:
        verdict = judged(self.rule, creation("t"), read(task("u")))
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/taskId"

    def test_an_id_nobody_was_given_is_not_judged(self) -> None:
        derived = read(task("t"), "t:result", intent="derived-id")
        assert judged(self.rule, creation("t"), derived).verdict == NOT_EXERCISED


class TestUnknownId:
    rule = "polling.unknown-id"

    def probe(self, **answer: Any) -> Exchange:
        return exchange("tasks/get", {"taskId": "nobody"}, intent="unknown-id", **answer)

    @pytest.mark.parametrize("status", [200, 400, 404])
    def test_invalid_params_passes_with_any_http_status(self, status: int) -> None:
        assert judged(self.rule, self.probe(error=-32602, status=status)).verdict == PASS

    @pytest.mark.parametrize("code", [-32001, -32002, -32603, -32021, -32000, 404])
    def test_another_code_fails(self, code: int) -> None:
        assert judged(self.rule, self.probe(error=code)).verdict == FAIL

    def test_an_obsolete_code_is_named_so(self) -> None:
        assert "obsolete" in judged(self.rule, self.probe(error=-32001)).reason

    def test_a_made_up_task_fails(self) -> None:
        assert judged(self.rule, self.probe(result=task("nobody", "failed"))).verdict == FAIL

    @pytest.mark.parametrize("answer", [{"status": 429}, {"status": 403}, {"status": 502}])
    def test_no_answer_of_the_server_is_not_judged(self, answer: dict[str, Any]) -> None:
        assert judged(self.rule, self.probe(**answer)).verdict == NOT_EXERCISED

    def test_a_server_without_the_extension_is_not_judged(self) -> None:
        assert judged(self.rule, self.probe(error=-32601)).verdict == NOT_APPLICABLE

    def test_a_server_that_advertises_it_has_to_serve_it(self) -> None:
        offer = {"resultType": "complete", "capabilities": {"extensions": {EXTENSION: {}}}}
        discovered = exchange("server/discover", result=offer)
        assert judged(self.rule, discovered, self.probe(error=-32601)).verdict == FAIL

    def derived(self, control: Exchange, **answer: Any) -> Exchange:
        return exchange(
            "tasks/get",
            {"taskId": "t:result"},
            intent="derived-id",
            control=control,
            notes={"change": "adding ':result'"},
            **answer,
        )

    def test_an_id_made_from_a_real_one_is_unknown_too(self) -> None:
        made, control = creation("t"), reading("t", "completed")
        assert judged(self.rule, made, control, self.derived(control, error=-32602)).verdict == PASS
        served = judged(self.rule, made, control, self.derived(control, result=task("t:result")))
        assert served.verdict == FAIL
        assert "adding ':result'" in served.reason

    def test_it_proves_nothing_where_the_real_one_is_refused_as_well(self) -> None:
        control = reading("t", error=-32020)
        calls = (creation("t"), control, self.derived(control, error=-32020))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


@pytest.mark.parametrize(
    ("rule", "status", "member", "value"),
    [
        ("polling.working", "working", "result", CALL_RESULT),
        ("polling.working", "working", "error", {"code": 0, "message": "none"}),
        ("polling.working", "working", "inputRequests", {"a": QUESTION}),
        ("polling.one-outcome", "completed", "error", {"code": 0, "message": "none"}),
        ("polling.one-outcome", "completed", "inputRequests", {"a": QUESTION}),
        ("polling.one-outcome", "failed", "result", CALL_RESULT),
        ("polling.cancelled", "cancelled", "result", CALL_RESULT),
        ("polling.cancelled", "cancelled", "error", {"code": 1, "message": "cancelled"}),
    ],
)
class TestWhatAStatusDoesNotCarry:
    def test_without_it_passes(self, rule: str, status: str, member: str, value: object) -> None:
        assert judged(rule, creation("t"), reading("t", status)).verdict == PASS

    def test_with_it_is_warned_of(self, rule: str, status: str, member: str, value: object) -> None:
        wrong = reading("t", status, members={member: value})
        verdict = judged(rule, creation("t"), wrong)
        assert verdict.verdict == WARN
        assert verdict.evidence[0].member == f"/result/{member}"

    def test_null_is_a_note(self, rule: str, status: str, member: str, value: object) -> None:
        verdict = judged(rule, creation("t"), reading("t", status, members={member: None}))
        assert verdict.verdict == PASS
        assert member in verdict.reason

    def test_other_statuses_prove_nothing(
        self, rule: str, status: str, member: str, value: object
    ) -> None:
        other = "input_required" if status != "input_required" else "working"
        assert judged(rule, creation("t"), reading("t", other)).verdict == NOT_EXERCISED


class TestInputRequired:
    rule = "polling.input-required"

    def waiting(self, *keys: str, **more: Any) -> Exchange:
        requests = dict.fromkeys(keys, QUESTION)
        return reading("t", "input_required", members={"inputRequests": requests}, **more)

    def answering(self, *keys: str) -> Exchange:
        responses = {key: {"action": "accept"} for key in keys}
        return exchange("tasks/update", {"taskId": "t", "inputResponses": responses})

    def test_open_requests_pass(self) -> None:
        assert judged(self.rule, creation("t"), self.waiting("a", "b")).verdict == PASS

    @pytest.mark.parametrize("requests", [{}, None, [], "a", ...])
    def test_none_fails(self, requests: object) -> None:
        wrong = reading("t", "input_required", members={"inputRequests": requests})
        assert judged(self.rule, creation("t"), wrong).verdict == FAIL

    @pytest.mark.parametrize("method", ["tasks/update", "tasks/cancel"])
    def test_nothing_open_while_the_last_request_takes_effect_is_not_judged(
        self, method: str
    ) -> None:
        cancel = exchange("tasks/cancel", {"taskId": "t"})
        sent = self.answering("a") if method == "tasks/update" else cancel
        calls = (creation("t"), sent, self.waiting())
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED
        assert judged(self.rule, *calls, reading("t"), self.waiting("a")).verdict == PASS

    @pytest.mark.parametrize("requests", [None, [], ...])
    def test_no_object_fails_also_then(self, requests: object) -> None:
        wrong = reading("t", "input_required", members={"inputRequests": requests})
        assert judged(self.rule, creation("t"), self.answering("a"), wrong).verdict == FAIL

    def test_an_answer_to_another_task_is_no_excuse(self) -> None:
        other = exchange("tasks/update", {"taskId": "u", "inputResponses": {}})
        calls = (creation("t"), creation("u"), other, self.waiting())
        assert judged(self.rule, *calls).verdict == FAIL

    def test_an_answer_that_came_later_is_no_excuse(self) -> None:
        calls = (creation("t"), self.waiting(), self.answering("a"))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_request_left_out_in_between_fails(self) -> None:
        made = creation("t")
        calls = (self.waiting("a", "b"), self.waiting("a"), self.waiting("a", "b"))
        verdict = judged(self.rule, made, *calls)
        assert verdict.verdict == FAIL
        assert len(verdict.evidence[0].exchanges) == 3

    def test_a_request_that_is_gone_for_good_may_have_been_superseded(self) -> None:
        made = creation("t")
        calls = (self.waiting("a", "b"), self.waiting("a"), self.waiting("a"))
        assert judged(self.rule, made, *calls).verdict == PASS

    def test_an_answered_request_may_come_and_go(self) -> None:
        made = creation("t")
        calls = (self.waiting("a", "b"), self.answering("b"), self.waiting("a"))
        late = self.waiting("a", "b")
        assert judged(self.rule, made, *calls, late).verdict == PASS

    def test_reads_that_overlap_prove_nothing(self) -> None:
        made = creation("t", started=1.0)
        calls = [self.waiting("a", "b", started=2.0, ended=2.5)]
        calls.append(self.waiting("a", started=2.1, ended=2.6))
        calls.append(self.waiting("a", "b", started=2.2, ended=2.7))
        assert judged(self.rule, made, *calls).verdict == PASS


class TestCompleted:
    rule = "polling.completed"

    def test_its_result_passes_whatever_is_beside_it(self) -> None:
        ended = reading("t", "completed", members={"error": {"code": 0, "message": "OK"}})
        assert judged(self.rule, creation("t"), ended).verdict == PASS

    @pytest.mark.parametrize("result", [None, ..., "done", [CALL_RESULT]])
    def test_no_result_fails(self, result: object) -> None:
        wrong = reading("t", "completed", members={"result": result})
        assert judged(self.rule, creation("t"), wrong).verdict == FAIL


class TestFailed:
    rule = "polling.failed"

    def test_its_error_passes_whatever_is_beside_it(self) -> None:
        ended = reading("t", "failed", members={"result": CALL_RESULT})
        assert judged(self.rule, creation("t"), ended).verdict == PASS

    @pytest.mark.parametrize("error", [None, ...])
    def test_no_error_fails(self, error: object) -> None:
        wrong = reading("t", "failed", members={"error": error})
        assert judged(self.rule, creation("t"), wrong).verdict == FAIL

    def test_what_the_error_must_have_is_left_to_another_rule(self) -> None:
        bare = reading("t", "failed", members={"error": {}})
        assert judged(self.rule, creation("t"), bare).verdict == PASS
        text = reading("t", "failed", members={"error": "it failed"})
        assert judged(self.rule, creation("t"), text).verdict == NOT_EXERCISED


class TestCompletedIsOriginalResult:
    rule = "polling.completed-is-original-result"

    def completed(self, result: object) -> Exchange:
        return reading("t", "completed", members={"result": result})

    @pytest.mark.parametrize(
        "result",
        [
            CALL_RESULT,
            {"content": []},
            {"content": [], "isError": True, "structuredContent": {"a": 1}},
            {"content": [], "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "a"}}},
        ],
    )
    def test_a_call_result_passes(self, result: JsonObject) -> None:
        result = {k: v for k, v in result.items() if k != "_meta"}
        assert judged(self.rule, creation("t"), self.completed(result)).verdict == PASS

    @pytest.mark.parametrize(
        ("result", "word"),
        [
            ({"resultType": "input_required", "inputRequests": {}}, "request for input"),
            ({"inputRequests": {"a": QUESTION}}, "request for input"),
            ({"resultType": "task", "taskId": "u", "status": "working"}, "handle"),
            ({"result": CALL_RESULT}, "wrapped"),
            ({"toolResult": CALL_RESULT}, "wrapped"),
            ({"jsonrpc": "2.0", "id": 1, "result": CALL_RESULT}, "JSON-RPC"),
            ({"text": "done"}, "content"),
            ({}, "content"),
            ({"content": "done"}, "content"),
            ({"content": [{"type": "text"}]}, "text"),
        ],
    )
    def test_anything_else_fails(self, result: JsonObject, word: str) -> None:
        verdict = judged(self.rule, creation("t"), self.completed(result))
        assert verdict.verdict == FAIL
        assert word in verdict.reason

    def test_a_missing_result_is_left_to_another_rule(self) -> None:
        assert judged(self.rule, creation("t"), self.completed(...)).verdict == NOT_EXERCISED


class TestCancelled:
    rule = "polling.cancelled"

    def test_a_cancellation_that_is_not_honoured_is_said_to_be_so(self) -> None:
        cancel = exchange("tasks/cancel", {"taskId": "t"})
        verdict = judged(self.rule, creation("t"), cancel, reading("t", "completed"))
        assert verdict.verdict == NOT_EXERCISED
        assert "ended as completed" in verdict.reason
