"""The rules of outcome, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.drive.draft import UNDECLARED
from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History
from tests.builders import creation, exchange, history, reading, task

TOOL_ERROR: JsonObject = {"content": [{"type": "text", "text": "No header row"}], "isError": True}
DONE: JsonObject = {"content": [{"type": "text", "text": "done"}]}
REFUSED: JsonObject = {"code": 1001, "message": "Connection refused"}


def judged(rule_id: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges, **circumstances))


def ended(task_id: str, status: str, tool: str = "export", **members: Any) -> list[Exchange]:
    """A task that was made and then read at its end."""
    return [creation(task_id, tool=tool), reading(task_id, status, members=members)]


def plain_call(tool: str = "export", **answer: Any) -> Exchange:
    return exchange(
        "tools/call",
        {"name": tool, "arguments": {}},
        capabilities=UNDECLARED,
        intent="call-plainly",
        **answer,
    )


def task_call(
    task_id: str, status: str, members: JsonObject, *, tool: str = "export"
) -> list[Exchange]:
    return [
        creation(task_id, tool=tool, intent="call-as-task"),
        reading(task_id, status, members=members),
    ]


def both_ways(
    plain: JsonObject,
    status: str,
    members: JsonObject,
    *,
    tool: str = "export",
    again: JsonObject | None = None,
    second: JsonObject | None = None,
) -> list[Exchange]:
    """A tool called directly, twice as a task, and directly again. ``again`` is the second
    plain answer, ``second`` the members of the second task, where they differ."""
    return [
        plain_call(tool, **plain),
        *task_call("t1", status, members, tool=tool),
        *task_call("t2", status, members if second is None else second, tool=tool),
        plain_call(tool, **(plain if again is None else again)),
    ]


class TestToolErrorCompletes:
    rule = "outcome.tool-error-completes"

    def test_a_completed_task_with_the_tools_error_passes(self) -> None:
        assert judged(self.rule, *ended("t", "completed", result=TOOL_ERROR)).verdict == PASS

    def test_a_failed_task_with_a_tool_result_in_its_error_fails(self) -> None:
        error = {"code": -32603, "message": "The tool failed", "data": TOOL_ERROR}
        assert judged(self.rule, *ended("t", "failed", error=error)).verdict == FAIL

    def test_a_failed_task_that_carries_the_tool_result_fails(self) -> None:
        assert judged(self.rule, *ended("t", "failed", result=TOOL_ERROR)).verdict == FAIL

    def test_a_tool_that_its_user_named_for_this_must_not_fail(self) -> None:
        verdict = judged(self.rule, *ended("t", "failed"), named={"export": ["tool-error"]})
        assert verdict.verdict == FAIL

    def test_a_named_tool_whose_arguments_were_refused_proves_nothing(self) -> None:
        error = {"code": -32602, "message": "Unknown table"}
        calls = ended("t", "failed", error=error)
        verdict = judged(self.rule, *calls, named={"export": ["tool-error"]})
        assert verdict.verdict == NOT_EXERCISED

    def test_a_server_prepared_for_the_official_suite_must_complete_failing_job(self) -> None:
        other = ended("u", "failed", "protocol_error_job")
        verdict = judged(self.rule, *ended("t", "failed", "failing_job"), *other)
        assert verdict.verdict == FAIL

    def test_a_tool_of_that_name_alone_proves_nothing(self) -> None:
        assert judged(self.rule, *ended("t", "failed", "failing_job")).verdict == NOT_EXERCISED

    def test_a_named_tool_that_ends_in_a_jsonrpc_error_directly_was_named_wrongly(self) -> None:
        calls = both_ways({"error": REFUSED}, "failed", {"error": REFUSED})
        verdict = judged(self.rule, *calls, named={"export": ["tool-error"]})
        assert verdict.verdict == NOT_EXERCISED

    def test_a_result_that_lost_its_flag_fails(self) -> None:
        lost = {"result": {**TOOL_ERROR, "isError": False}}
        assert judged(self.rule, *both_ways({"result": TOOL_ERROR}, "completed", lost)).verdict == (
            FAIL
        )

    def test_a_failed_task_of_an_unknown_tool_is_not_judged(self) -> None:
        assert judged(self.rule, *ended("t", "failed")).verdict == NOT_EXERCISED


class TestProtocolErrorFails:
    rule = "outcome.protocol-error-fails"

    def test_a_failed_task_of_a_call_that_ends_in_an_error_passes(self) -> None:
        calls = both_ways({"error": REFUSED}, "failed", {"error": REFUSED})
        assert judged(self.rule, *calls).verdict == PASS
        named = {"export": ["protocol-error"]}
        assert judged(self.rule, *ended("t", "failed"), named=named).verdict == PASS

    def test_a_failed_task_alone_may_be_one_of_a_tools_own_error(self) -> None:
        assert judged(self.rule, *ended("t", "failed")).verdict == NOT_EXERCISED
        calls = both_ways({"result": TOOL_ERROR}, "failed", {"error": REFUSED})
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_an_error_told_as_a_tool_result_fails(self) -> None:
        text = {"content": [{"type": "text", "text": "Error: Connection refused"}], "isError": True}
        calls = both_ways({"error": REFUSED}, "completed", {"result": text})
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_tool_that_its_user_named_for_this_must_not_complete(self) -> None:
        verdict = judged(self.rule, *ended("t", "completed"), named={"export": ["protocol-error"]})
        assert verdict.verdict == FAIL

    def test_a_named_tool_that_answers_directly_with_a_result_was_named_wrongly(self) -> None:
        calls = both_ways({"result": DONE}, "completed", {"result": DONE})
        verdict = judged(self.rule, *calls, named={"export": ["protocol-error"]})
        assert verdict.verdict == NOT_EXERCISED

    def test_a_plain_call_that_fails_where_its_task_completes_is_not_judged(self) -> None:
        calls = both_ways({"error": REFUSED}, "completed", {"result": DONE})
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_an_error_before_the_tool_ran_is_not_judged(self) -> None:
        calls = both_ways({"error": -32021}, "completed", {"result": TOOL_ERROR})
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


class TestFailedCarriesError:
    rule = "outcome.failed-carries-error"

    def test_code_and_message_pass(self) -> None:
        assert judged(self.rule, *ended("t", "failed", error=REFUSED)).verdict == PASS

    def test_further_members_are_allowed(self) -> None:
        error = {**REFUSED, "data": {"host": "mail"}}
        assert judged(self.rule, *ended("t", "failed", error=error)).verdict == PASS

    @pytest.mark.parametrize(
        "error",
        [
            "Connection refused",
            {"code": "1001", "message": "Connection refused"},
            {"code": True, "message": "Connection refused"},
            {"code": 1001},
            {"code": 1001, "message": None},
            {"message": "Connection refused"},
            {"error": REFUSED},
        ],
    )
    def test_anything_else_fails(self, error: object) -> None:
        assert judged(self.rule, *ended("t", "failed", error=error)).verdict == FAIL

    def test_a_failed_task_without_any_error_is_for_another_rule(self) -> None:
        assert judged(self.rule, *ended("t", "failed", error=...)).verdict == NOT_EXERCISED


class TestFailedStatusMessage:
    rule = "outcome.failed-status-message"

    def test_a_message_passes(self) -> None:
        assert judged(self.rule, *ended("t", "failed")).verdict == PASS

    @pytest.mark.parametrize("message", [..., "", "  "])
    def test_none_is_a_warning(self, message: object) -> None:
        verdict = judged(self.rule, *ended("t", "failed", statusMessage=message))
        assert verdict.verdict == WARN

    def test_a_task_that_may_have_run_out_of_time_is_not_judged(self) -> None:
        late = reading("t", "failed", members={"statusMessage": ..., "ttlMs": 1000})
        made = creation("t", result=task("t", type="task", ttlMs=1000), started=0.5, ended=0.6)
        assert judged(self.rule, made, late).verdict == NOT_EXERCISED


class TestSameAsSynchronous:
    rule = "outcome.same-as-synchronous"

    def test_equal_results_pass(self) -> None:
        calls = both_ways({"result": DONE}, "completed", {"result": DONE})
        assert judged(self.rule, *calls).verdict == PASS

    def test_equal_errors_pass(self) -> None:
        calls = both_ways({"error": REFUSED}, "failed", {"error": REFUSED})
        assert judged(self.rule, *calls).verdict == PASS

    @pytest.mark.parametrize(
        "result",
        [
            {**DONE, "isError": False},
            {**DONE, "resultType": "complete"},
            {**DONE, "_meta": {"example.com/job": 1}},
            {**DONE, "structuredContent": None},
            {"content": [{"type": "text", "text": "done", "_meta": {"n": 1}, "annotations": None}]},
        ],
    )
    def test_what_belongs_to_the_message_is_not_compared(self, result: JsonObject) -> None:
        calls = both_ways({"result": DONE}, "completed", {"result": result})
        assert judged(self.rule, *calls).verdict == PASS

    @pytest.mark.parametrize(
        "result",
        [
            {"content": []},
            {"content": [{"type": "text", "text": "don"}]},
            {**DONE, "structuredContent": {"rows": 1}},
            {**DONE, "isError": True},
        ],
    )
    def test_another_result_fails(self, result: JsonObject) -> None:
        calls = both_ways({"result": DONE}, "completed", {"result": result})
        assert judged(self.rule, *calls).verdict == FAIL

    @pytest.mark.parametrize(
        ("plain", "task"),
        [
            ("Started: you will find it in your inbox", "42 rows"),
            ("The job will be done at noon", "done"),
        ],
    )
    def test_something_else_for_clients_without_tasks_is_not_judged(
        self, plain: str, task: str
    ) -> None:
        told = {"result": {"content": [{"type": "text", "text": plain}]}}
        result: JsonObject = {"content": [{"type": "text", "text": task}]}
        shown = {"result": result}
        verdict = judged(self.rule, *both_ways(told, "completed", shown))
        assert verdict.verdict == NOT_EXERCISED
        assert "nothing in common" in verdict.reason
        result["isError"] = True
        assert judged(self.rule, *both_ways(told, "completed", shown)).verdict == NOT_EXERCISED

    @pytest.mark.parametrize(
        "result",
        [
            {"content": [{"type": "text", "text": "42 rows"}]},
            {"content": [{"type": "text", "text": "42 rows"}], "structuredContent": {"rows": 7}},
            {"content": [], "structuredContent": {"rows": 42}},
            {"content": [{"type": "text", "text": '{"text": "42 rows"}'}]},
            {"content": [{"type": "text", "text": "Result: 42 rows"}]},
            {"content": []},
        ],
    )
    def test_a_loss_of_the_same_result_fails(self, result: JsonObject) -> None:
        text = {"type": "text", "text": "42 rows"}
        told = {"content": [text], "structuredContent": {"rows": 42}}
        calls = both_ways({"result": told}, "completed", {"result": result})
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_lost_block_fails(self) -> None:
        image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        told = {"content": [{"type": "text", "text": "a chart"}, image]}
        calls = both_ways({"result": told}, "completed", {"result": {"content": [image]}})
        assert judged(self.rule, *calls).verdict == FAIL

    def test_two_internal_errors_of_different_words_are_not_judged(self) -> None:
        told = {"error": {"code": -32603, "message": "Ask for it as a task"}}
        shown = {"error": {"code": -32603, "message": "No disk"}}
        assert judged(self.rule, *both_ways(told, "failed", shown)).verdict == NOT_EXERCISED

    @pytest.mark.parametrize(
        "error", [{**REFUSED, "code": -32603}, {**REFUSED, "message": "Internal error"}]
    )
    def test_another_error_fails(self, error: JsonObject) -> None:
        calls = both_ways({"error": REFUSED}, "failed", {"error": error})
        assert judged(self.rule, *calls).verdict == FAIL

    def test_the_data_of_an_error_is_not_compared(self) -> None:
        calls = both_ways({"error": REFUSED}, "failed", {"error": {**REFUSED, "data": 1}})
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_tool_error_that_fails_the_task_is_told_with_both_exchanges(self) -> None:
        error = {"code": -32603, "message": "Error calling export: No header row"}
        calls = both_ways({"result": TOOL_ERROR}, "failed", {"error": error})
        verdict = judged(self.rule, *calls)
        assert verdict.verdict == FAIL
        assert "isError true" in verdict.reason
        assert [e.method for e in verdict.evidence[0].exchanges] == ["tools/call", "tasks/get"]

    def test_a_task_that_fails_where_the_call_succeeds_is_not_judged(self) -> None:
        calls = both_ways({"result": DONE}, "failed", {"error": REFUSED})
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_result_that_became_the_message_of_an_error_fails(self) -> None:
        error = {"code": -32000, "message": "done"}
        calls = both_ways({"result": DONE}, "failed", {"error": error})
        assert judged(self.rule, *calls).verdict == FAIL

    def test_answers_that_differ_each_time_are_not_compared(self) -> None:
        other = {"content": [{"type": "text", "text": "done at noon"}]}
        plain = both_ways({"result": DONE}, "completed", {"result": DONE}, again={"result": other})
        tasks = both_ways({"result": DONE}, "completed", {"result": DONE}, second={"result": other})
        assert judged(self.rule, *plain).verdict == NOT_EXERCISED
        assert judged(self.rule, *tasks).verdict == NOT_EXERCISED

    def test_a_change_between_the_calls_and_the_tasks_proves_nothing(self) -> None:
        later = {"result": {"content": [{"type": "text", "text": "done today"}]}}
        calls = [
            plain_call(result=DONE),
            plain_call(result=DONE),
            *task_call("t1", "completed", later),
            *task_call("t2", "completed", later),
        ]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_plain_call_that_gives_up_proves_nothing(self) -> None:
        for plain in ({"error": {"code": -32603, "message": "Timeout"}}, {"result": TOOL_ERROR}):
            calls = both_ways(plain, "completed", {"result": DONE})
            assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("status", [401, 429, 503])
    def test_a_refused_caller_and_an_overloaded_server_are_not_compared(self, status: int) -> None:
        plain = {"error": {"code": -32000, "message": "Not now"}, "status": status}
        calls = both_ways(plain, "completed", {"result": TOOL_ERROR})
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_tool_that_works_only_as_a_task_is_not_compared(self) -> None:
        verdict = judged(self.rule, plain_call(error=-32021))
        assert verdict.verdict == NOT_EXERCISED
        assert "cannot be called both ways" in verdict.reason

    def test_a_task_that_was_cancelled_is_not_compared(self) -> None:
        calls = both_ways({"result": DONE}, "failed", {"error": REFUSED})
        cancels = [exchange("tasks/cancel", {"taskId": t}) for t in ("t1", "t2")]
        assert (
            verdict_of(catalogue()[self.rule], History([*calls, *cancels])).verdict == NOT_EXERCISED
        )
