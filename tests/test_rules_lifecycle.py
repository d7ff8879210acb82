"""The rules of the life of a task, on histories written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import Exchange, JsonObject
from tests.builders import CALL_RESULT, creation, exchange, handle, history, reading, task


def judged(rule_id: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges, **circumstances))


def cancelling(**more: Any) -> Exchange:
    return exchange("tasks/cancel", {"taskId": "t"}, **more)


def answering(**more: Any) -> Exchange:
    return exchange("tasks/update", {"taskId": "t", "inputResponses": {}}, **more)


def listening(*tasks: Any, started: float | None = None, ended: float | None = None) -> Exchange:
    messages = [{"method": "notifications/tasks", "params": params} for params in tasks]
    params = {"notifications": {"taskIds": ["t"]}}
    return exchange("subscriptions/listen", params, events=messages, started=started, ended=ended)


class TestKnownStatus:
    rule = "lifecycle.known-status"

    @pytest.mark.parametrize(
        "status", ["working", "input_required", "completed", "failed", "cancelled"]
    )
    def test_the_five_pass(self, status: str) -> None:
        assert judged(self.rule, creation("t"), reading("t", status)).verdict == PASS

    @pytest.mark.parametrize(
        ("status", "meant"),
        [
            ("canceled", "cancelled"),
            ("running", "working"),
            ("submitted", "working"),
            ("input-required", "input_required"),
            ("done", "completed"),
            ("error", "failed"),
            ("Working", "working"),
            ("", "working"),
            (None, "working"),
            (1, "working"),
        ],
    )
    def test_others_fail_and_are_told_what_to_say(self, status: Any, meant: str) -> None:
        verdict = judged(self.rule, creation("t"), reading("t", status))
        assert verdict.verdict == FAIL
        assert meant in verdict.reason
        assert verdict.evidence[0].member == "/result/status"

    def test_a_handle_is_looked_at_too(self) -> None:
        made = creation("t", result=handle("t", "pending"))
        assert judged(self.rule, made).verdict == FAIL

    def test_a_missing_status_is_left_to_other_rules(self) -> None:
        bare = {name: value for name, value in handle("t").items() if name != "status"}
        made = exchange("tools/call", {"name": "export"}, result=bare)
        assert judged(self.rule, made).verdict == NOT_EXERCISED


class TestLegalTransitions:
    rule = "lifecycle.legal-transitions"

    @pytest.mark.parametrize(
        "statuses",
        [
            ["working", "input_required", "working", "completed", "completed"],
            ["input_required", "cancelled", "cancelled"],
            ["failed", "failed"],
            ["completed"],
        ],
    )
    def test_the_diagram_passes(self, statuses: list[str]) -> None:
        made = creation("t")
        reads = [reading("t", status) for status in statuses]
        assert judged(self.rule, made, *reads).verdict == PASS

    @pytest.mark.parametrize(
        ("ended", "later"),
        [
            ("completed", "working"),
            ("completed", "failed"),
            ("failed", "input_required"),
            ("cancelled", "completed"),
        ],
    )
    def test_leaving_an_end_fails(self, ended: str, later: str) -> None:
        calls = (creation("t"), reading("t"), reading("t", ended), reading("t", later))
        verdict = judged(self.rule, *calls)
        assert verdict.verdict == FAIL
        assert [e.number for e in verdict.evidence[0].exchanges] == [
            calls[2].number,
            calls[3].number,
        ]

    def test_a_handle_that_says_completed_counts(self) -> None:
        made = creation("t", result=handle("t", "completed"))
        assert judged(self.rule, made, reading("t")).verdict == FAIL

    def test_late_work_behind_a_cancellation_fails(self) -> None:
        calls = (creation("t"), cancelling(), reading("t", "cancelled"), reading("t", "completed"))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_reads_that_overlap_prove_nothing(self) -> None:
        made = creation("t", started=1.0)
        ended = reading("t", "completed", started=2.0, ended=2.5)
        working = reading("t", "working", started=2.1, ended=2.6)
        assert judged(self.rule, made, ended, working).verdict == PASS

    @pytest.mark.parametrize("sent", [cancelling, answering])
    def test_what_is_sent_to_an_ended_task_is_left_to_other_rules(self, sent: Any) -> None:
        calls = [creation("t"), reading("t", "completed"), sent(), reading("t", "cancelled")]
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_cancellation_does_not_make_a_task_go_on(self) -> None:
        calls = (creation("t"), reading("t", "cancelled"), cancelling(), reading("t", "completed"))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_stale_reader_is_left_to_another_rule(self) -> None:
        statuses = ("completed", "working", "completed")
        made = creation("t")
        reads = [reading("t", status) for status in statuses]
        assert judged(self.rule, made, *reads).verdict == PASS

    def test_a_replica_that_learns_of_the_end_late_is_left_to_another_rule(self) -> None:
        calls = [creation("t"), reading("t", "completed")]
        calls.append(reading("t", "working", replica=1, intent="elsewhere"))
        assert judged(self.rule, *calls).verdict == PASS

    def test_replicas_that_tell_of_different_ends_fail(self) -> None:
        calls = [creation("t"), reading("t", "completed")]
        calls.append(reading("t", "failed", replica=1, intent="elsewhere"))
        assert judged(self.rule, *calls).verdict == FAIL

    @pytest.mark.parametrize("status", ["failed", "working"])
    def test_what_a_restart_does_to_a_task_is_left_to_another_rule(self, status: str) -> None:
        calls = [creation("t"), reading("t", "completed")]
        calls.append(reading("t", status, intent="after-restart"))
        assert judged(self.rule, *calls).verdict == PASS

    def test_once_its_ttl_is_over_a_task_may_become_failed(self) -> None:
        made = creation("t", result=handle("t", ttlMs=1500))
        calls = (made, reading("t", "completed"), reading("t", "failed"))
        assert judged(self.rule, *calls).verdict == PASS

    def test_another_task_is_another_life(self) -> None:
        calls = (creation("t"), creation("u"), reading("t", "completed"), reading("u", "working"))
        assert judged(self.rule, *calls).verdict == PASS

    def test_an_answer_about_another_task_is_left_to_another_rule(self) -> None:
        mistaken = exchange("tasks/get", {"taskId": "t"}, result=task("u", "working"))
        calls = (creation("t"), creation("u"), reading("t", "completed"), mistaken)
        assert judged(self.rule, *calls).verdict == PASS

    def test_an_id_of_two_tasks_is_left_to_another_rule(self) -> None:
        calls = (creation("t"), reading("t", "completed"), creation("t"), reading("t", "working"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_the_older_protocol_is_not_judged(self) -> None:
        older = reading(
            "t",
            "working",
            edit=lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25"),
        )
        calls = (creation("t"), reading("t", "completed"), older)
        assert judged(self.rule, *calls).verdict == PASS

    def test_notifications_of_one_stream_are_in_order(self) -> None:
        stream = listening(task("t", "completed"), task("t", "working"))
        assert judged(self.rule, creation("t"), stream).verdict == FAIL

    def test_notifications_and_reads_are_compared_by_another_rule(self) -> None:
        made = creation("t", started=1.0)
        stream = listening(task("t", "completed"), started=2.0, ended=3.0)
        calls = (made, stream, reading("t", "working", started=4.0))
        assert judged(self.rule, *calls).verdict == PASS


OTHER_RESULT = {"result": {"content": [{"type": "text", "text": "other"}]}}


def numbered(block: JsonObject, number: str) -> JsonObject:
    filled: JsonObject = json.loads(json.dumps(block).replace("{}", number))
    return filled


class TestTerminalIsFinal:
    rule = "lifecycle.terminal-is-final"

    def test_the_same_passes(self) -> None:
        calls = (creation("t"), reading("t", "completed"), answering(), cancelling())
        assert judged(self.rule, *calls, reading("t", "completed")).verdict == PASS

    def test_another_result_fails(self) -> None:
        made = creation("t")
        calls = (reading("t", "completed"), reading("t", "completed", members=OTHER_RESULT))
        verdict = judged(self.rule, made, *calls)
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/result"

    def test_another_error_fails(self) -> None:
        made = creation("t")
        other = {"error": {"code": 1, "message": "another"}}
        calls = (reading("t", "failed"), reading("t", "failed", members=other))
        verdict = judged(self.rule, made, *calls)
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/error"

    def test_other_metadata_passes(self) -> None:
        made = creation("t")
        again = {"result": {**CALL_RESULT, "_meta": {"com.example/served": 2}}}
        calls = (reading("t", "completed"), reading("t", "completed", members=again))
        assert judged(self.rule, made, *calls).verdict == PASS

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "text", "text": "done", "_meta": {"com.example/served": "{}"}},
            {"type": "resource_link", "name": "r", "uri": "https://b.example/r?signature={}#{}"},
            {
                "type": "resource",
                "resource": {"uri": "memo:r?{}", "text": "x", "_meta": {"n": "{}"}},
            },
        ],
    )
    def test_what_a_block_says_anew_at_each_read_passes(self, block: JsonObject) -> None:
        made = creation("t")
        reads = [
            reading("t", "completed", members={"result": {"content": [numbered(block, number)]}})
            for number in ("1", "2")
        ]
        assert judged(self.rule, made, *reads).verdict == PASS

    def test_a_link_to_another_place_fails(self) -> None:
        made = creation("t")
        reads = [
            reading("t", "completed", members={"result": {"content": [link]}})
            for link in (
                {"type": "resource_link", "name": "r", "uri": "https://b.example/one"},
                {"type": "resource_link", "name": "r", "uri": "https://b.example/other"},
            )
        ]
        assert judged(self.rule, made, *reads).verdict == FAIL

    @pytest.mark.parametrize("sent", [cancelling, answering])
    def test_what_is_sent_to_an_ended_task_is_left_to_other_rules(self, sent: Any) -> None:
        made = creation("t")
        calls = [reading("t", "completed"), sent()]
        calls.append(reading("t", "completed", members=OTHER_RESULT))
        assert judged(self.rule, made, *calls).verdict == NOT_EXERCISED

    def test_a_lost_result_and_another_status_are_left_to_other_rules(self) -> None:
        calls = [creation("t"), reading("t", "completed")]
        calls.append(reading("t", "completed", members={"result": ...}))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED
        left = (creation("u"), reading("u", "completed"), reading("u", "failed"))
        assert judged(self.rule, *left).verdict == NOT_EXERCISED

    def test_one_read_proves_nothing(self) -> None:
        assert judged(self.rule, creation("t"), reading("t", "completed")).verdict == NOT_EXERCISED

    def test_what_a_restart_does_to_a_task_is_left_to_another_rule(self) -> None:
        calls = [creation("t"), reading("t", "completed")]
        calls.append(reading("t", "completed", members=OTHER_RESULT, intent="after-restart"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


class TestReachesAnEnd:
    rule = "lifecycle.reaches-an-end"

    def watched(self, task_id: str, start: float, seconds: float, **more: Any) -> list[Exchange]:
        made = creation(task_id, started=start, ended=start + 0.1, **more)
        last = reading(task_id, started=start + seconds)
        return [made, reading(task_id, started=start + 0.5), last]

    def ended(self, task_id: str = "e") -> list[Exchange]:
        made = creation(task_id, started=1.0, ended=1.1)
        return [made, reading(task_id, "completed", started=1.3, ended=1.4)]

    def test_an_end_passes(self) -> None:
        assert judged(self.rule, *self.ended()).verdict == PASS

    def test_a_task_that_is_stuck_while_its_like_has_ended_is_warned_of(self) -> None:
        verdict = judged(self.rule, *self.ended(), *self.watched("t", 10.0, 8.0))
        assert verdict.verdict == WARN
        assert "others of the same call" in verdict.reason

    def test_a_task_that_was_not_watched_for_long_is_not_judged(self) -> None:
        assert judged(self.rule, *self.ended(), *self.watched("t", 10.0, 2.0)).verdict == PASS

    def test_another_call_may_take_longer(self) -> None:
        longer = self.watched("t", 10.0, 8.0, arguments={"rows": 10**6})
        assert judged(self.rule, *self.ended(), *longer).verdict == PASS

    def test_a_task_that_was_cancelled_is_not_judged(self) -> None:
        stuck = [*self.watched("t", 10.0, 8.0), cancelling(started=11.0)]
        assert judged(self.rule, *self.ended(), *stuck).verdict == PASS

    def test_a_task_that_a_restart_interrupted_is_left_to_another_rule(self) -> None:
        *before, last = self.watched("t", 10.0, 8.0)
        after = reading("t", started=last.started, intent="after-restart")
        assert judged(self.rule, *self.ended(), *before, after).verdict == PASS

    def test_a_cancellation_after_the_last_look_does_not_excuse(self) -> None:
        stuck = [*self.watched("t", 10.0, 8.0), cancelling(started=30.0)]
        assert judged(self.rule, *self.ended(), *stuck).verdict == WARN

    def test_a_task_that_waits_for_input_is_not_judged(self) -> None:
        made = creation("t", started=10.0)
        waiting = reading("t", "input_required", started=19.0)
        assert judged(self.rule, *self.ended(), made, waiting).verdict == PASS

    def test_a_task_is_watched_from_its_last_answer_on(self) -> None:
        made = creation("t", started=10.0)
        waiting = reading("t", "input_required", started=17.0)
        calls = (made, waiting, answering(started=17.5), reading("t", started=18.5))
        assert judged(self.rule, *self.ended(), *calls).verdict == PASS

    def test_a_long_task_alone_is_not_called_stuck(self) -> None:
        verdict = judged(self.rule, *self.watched("t", 1.0, 30.0), max_wait=30.0)
        assert verdict.verdict == NOT_EXERCISED
        assert "--max-wait" in verdict.reason

    def test_several_tools_of_which_none_ends_are_warned_of(self) -> None:
        one = self.watched("t", 1.0, 30.0)
        other = self.watched("u", 1.0, 30.0, tool="import")
        assert judged(self.rule, *one, *other, max_wait=30.0).verdict == WARN
