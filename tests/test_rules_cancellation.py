"""The rules of cancellation, on histories written by hand."""

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
from conformance.wire.exchange import Exchange, Fault
from tests.builders import creation, exchange, handle, history, reading, task


def judged(rule_id: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges))


def cancel(task_id: str = "t", intent: str = "cancel-live", **answer: Any) -> Exchange:
    return exchange("tasks/cancel", {"taskId": task_id}, intent=intent, **answer)


def at_work_for(seconds: float) -> list[Exchange]:
    """Another task of the same call, still at work so many seconds after it was made."""
    return [
        creation("long", started=0.1, ended=0.2),
        reading("long", "working", started=0.2 + seconds),
    ]


class TestAcknowledged:
    rule = "cancellation.acknowledged"

    @pytest.mark.parametrize("status", ["working", "input_required", "cancelled"])
    def test_an_acknowledgement_passes(self, status: str) -> None:
        assert judged(self.rule, creation("t"), cancel(), reading("t", status)).verdict == PASS

    @pytest.mark.parametrize("status", ["completed", "failed"])
    def test_a_task_that_ended_in_spite_of_it_may_have_ended_before(self, status: str) -> None:
        calls = (creation("t"), cancel(), reading("t", status))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("status", ["completed", "failed"])
    def test_unless_others_of_its_kind_work_for_longer(self, status: str) -> None:
        calls = (*at_work_for(5.0), creation("t"), cancel(), reading("t", status))
        assert judged(self.rule, *calls).verdict == PASS

    @pytest.mark.parametrize("code", [-32602, -32603, -32000])
    def test_an_error_for_a_task_that_lives_on_fails(self, code: int) -> None:
        calls = (creation("t"), cancel(error=code), reading("t", "working"))
        assert judged(self.rule, *calls).verdict == FAIL

    @pytest.mark.parametrize(
        "answer", [{"status": 500}, {"status": 404}, {"fault": Fault("timeout", "nothing in 30 s")}]
    )
    def test_pages_and_silence_fail_where_there_is_nothing_else(
        self, answer: dict[str, Any]
    ) -> None:
        calls = [creation("t"), cancel(**answer), reading("t", "working")]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED
        calls += [creation("u"), cancel("u", **answer)]
        assert judged(self.rule, *calls).verdict == FAIL
        served = [creation("v"), cancel("v"), reading("v", "cancelled")]
        assert judged(self.rule, *calls, *served).verdict == PASS

    def test_of_a_gateway_they_are_not_the_servers(self) -> None:
        calls = [creation("t"), cancel(status=502), creation("u"), cancel("u", status=503)]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_an_error_for_a_task_that_is_then_cancelled_fails(self) -> None:
        calls = [creation("t"), cancel(error=-32603), reading("t", "cancelled")]
        calls.append(cancel(intent="cancel-again"))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_task_that_may_have_ended_before_is_not_judged(self) -> None:
        calls = (creation("t"), cancel(error=-32602), reading("t", "completed"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_read_that_overlapped_proves_nothing(self) -> None:
        made = creation("t", started=1.0)
        refused = cancel(error=-32602, started=2.0, ended=3.0)
        overlapping = reading("t", "working", started=2.5, ended=2.6)
        assert judged(self.rule, made, refused, overlapping).verdict == NOT_EXERCISED

    def test_a_task_that_had_ended_is_not_judged(self) -> None:
        calls = (creation("t"), reading("t", "completed"), cancel(error=-32602))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    @pytest.mark.parametrize(
        "answer",
        [
            {"status": 429},
            {"error": -32601},
            {"error": -32020},
            {"error": -32021},
            {"fault": Fault("timeout", "nothing complete within 5 s")},
        ],
    )
    def test_a_refusal_for_another_reason_is_not_judged(self, answer: dict[str, Any]) -> None:
        calls = (creation("t"), cancel(**answer), reading("t", "working"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_one_that_comes_with_an_acknowledged_one_is_for_another_rule(self) -> None:
        made = creation("t", started=1.0)
        together = [
            cancel(intent="cancel-together", started=2.0 + n / 100, ended=2.1 + n / 100, error=code)
            for n, code in enumerate((None, -32602, -32602))
        ]
        after = [reading("t", started=2.5), reading("t", "cancelled", started=3.0)]
        assert judged(self.rule, made, *together, *after).verdict == PASS
        assert judged(self.rule, made, *together[1:], *after).verdict == FAIL

    def test_another_caller_is_not_judged(self) -> None:
        calls = (creation("t"), cancel(error=-32602, caller="second"), reading("t", "working"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


class TestAckEmpty:
    rule = "cancellation.ack-empty"

    def test_an_empty_result_passes(self) -> None:
        assert judged(self.rule, cancel()).verdict == PASS

    def test_meta_and_unknown_members_are_allowed(self) -> None:
        answer = {"resultType": "complete", "_meta": {"a": 1}, "example.com/took": 3}
        verdict = judged(self.rule, cancel(result=answer))
        assert verdict.verdict == PASS
        assert "example.com/took" in verdict.reason

    @pytest.mark.parametrize(
        "members",
        [
            task("t", "cancelled"),
            {"status": "cancelled"},
            {"taskId": "t"},
            {"task": task("t")},
        ],
    )
    def test_members_of_a_task_fail(self, members: dict[str, Any]) -> None:
        assert judged(self.rule, cancel(result={"resultType": "complete", **members})).verdict == (
            FAIL
        )

    def test_an_error_is_no_acknowledgement(self) -> None:
        assert judged(self.rule, cancel(error=-32602)).verdict == NOT_EXERCISED


class TestAckResultType:
    rule = "cancellation.ack-result-type"

    def test_complete_passes(self) -> None:
        assert judged(self.rule, cancel()).verdict == PASS

    @pytest.mark.parametrize("answer", [{"resultType": "task"}, {"resultType": None}])
    def test_anything_else_fails(self, answer: dict[str, Any]) -> None:
        assert judged(self.rule, cancel(result=answer)).verdict == FAIL


class TestUnknownTask:
    rule = "cancellation.unknown-task"

    def unknown(self, **answer: Any) -> Exchange:
        return cancel("no-such-task", "unknown-id", **answer)

    def test_invalid_params_passes(self) -> None:
        assert judged(self.rule, creation(), self.unknown(error=-32602)).verdict == PASS

    def test_an_acknowledgement_is_a_warning(self) -> None:
        assert judged(self.rule, creation(), self.unknown()).verdict == WARN

    def test_an_obsolete_code_is_named(self) -> None:
        verdict = judged(self.rule, creation(), self.unknown(error=-32001))
        assert verdict.verdict == WARN
        assert "obsolete" in verdict.reason

    def test_a_rate_limit_is_not_judged(self) -> None:
        assert judged(self.rule, creation(), self.unknown(status=429)).verdict == NOT_EXERCISED

    def test_without_the_extension_there_are_no_tasks_to_be_unknown(self) -> None:
        assert judged(self.rule, self.unknown(error=-32601)).verdict == NOT_APPLICABLE


class TestTerminalUnaffected:
    rule = "cancellation.terminal-unaffected"

    def test_the_same_task_passes(self) -> None:
        made, end = creation("t"), reading("t", "completed")
        assert judged(self.rule, made, end, cancel(), reading("t", "completed")).verdict == PASS

    @pytest.mark.parametrize("later", ["cancelled", "failed", "working"])
    def test_another_status_fails(self, later: str) -> None:
        made, end = creation("t"), reading("t", "completed")
        assert judged(self.rule, made, end, cancel(), reading("t", later)).verdict == FAIL

    def test_another_result_fails_where_reading_alone_does_not_change_it(self) -> None:
        made, one, two = creation("t"), reading("t", "completed"), reading("t", "completed")
        stopped = cancel()
        other = reading("t", "completed", members={"result": {"content": []}})
        assert judged(self.rule, made, one, two, stopped, other).verdict == FAIL
        assert judged(self.rule, made, one, stopped, other).verdict == NOT_EXERCISED

    def test_times_are_not_compared(self) -> None:
        made, end, stopped = creation("t"), reading("t", "completed"), cancel()
        later = {"lastUpdatedAt": "2026-07-28T12:05:00.123Z"}
        after = reading("t", "completed", members=later)
        assert judged(self.rule, made, end, stopped, after).verdict == PASS

    def test_a_task_that_lived_is_not_judged(self) -> None:
        calls = (creation("t"), reading("t", "working"), cancel(), reading("t", "cancelled"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    @pytest.mark.parametrize(
        "answer", [{"status": 429}, {"status": 401}, {"fault": Fault("connect", "refused")}]
    )
    def test_a_cancellation_that_did_not_arrive_shows_nothing(self, answer: dict[str, Any]) -> None:
        made, end = creation("t"), reading("t", "completed")
        calls = (made, end, cancel(**answer), reading("t", "completed"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_task_that_is_gone_is_for_another_rule(self) -> None:
        calls = (creation("t"), reading("t", "completed"), cancel(), reading("t", error=-32602))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


class TestTerminalAcknowledged:
    rule = "cancellation.terminal-acknowledged"

    def ended(self, status: str = "completed", **answer: Any) -> list[Exchange]:
        return [creation("t"), reading("t", status), cancel("t", "cancel-ended", **answer)]

    @pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
    def test_an_acknowledgement_passes(self, status: str) -> None:
        assert judged(self.rule, *self.ended(status)).verdict == PASS

    def test_a_refusal_is_a_warning(self) -> None:
        verdict = judged(self.rule, *self.ended(error=-32602))
        assert verdict.verdict == WARN
        assert "does not say so outright" in verdict.reason

    def test_a_refusal_for_another_reason_is_not_judged(self) -> None:
        assert judged(self.rule, *self.ended(error=-32020)).verdict == NOT_EXERCISED

    def test_a_task_that_was_not_seen_to_end_is_not_judged(self) -> None:
        calls = (creation("t"), cancel("t", "cancel-ended", error=-32602))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


class TestRepeatable:
    rule = "cancellation.repeatable"

    def test_twice_acknowledged_passes(self) -> None:
        calls = (creation("t"), cancel(), cancel(intent="cancel-again"))
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_refused_second_is_a_warning(self) -> None:
        calls = (creation("t"), cancel(), cancel(intent="cancel-again", error=-32602))
        assert judged(self.rule, *calls).verdict == WARN

    def test_one_refused_of_several_at_once_is_a_warning(self) -> None:
        together = [
            cancel(intent="cancel-together", started=2.0, ended=3.0, error=code)
            for code in (None, None, -32603)
        ]
        assert judged(self.rule, creation("t", started=1.0), *together).verdict == WARN

    def test_where_none_is_acknowledged_another_rule_speaks(self) -> None:
        calls = (
            creation("t"),
            cancel(error=-32603),
            cancel(intent="cancel-again", error=-32603),
        )
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_rate_limit_is_not_judged(self) -> None:
        calls = (creation("t"), cancel(), cancel(intent="cancel-again", status=429))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


class TestPrompt:
    rule = "cancellation.prompt"

    def slow(
        self,
        start: float,
        *,
        meanwhile: float = 0.01,
        questions: int = 3,
        after: str = "completed",
    ) -> list[Exchange]:
        """A cancellation that takes a second, and what was asked while it did."""
        task_id, begin, end = f"t-{start}", start + 0.1, start + 1.1
        asked = [
            exchange(
                "server/discover",
                intent="meanwhile",
                started=begin + 0.2 + 0.2 * number,
                ended=begin + 0.2 + 0.2 * number + meanwhile,
            )
            for number in range(questions)
        ]
        return [
            creation(task_id, started=start, ended=start + 0.01),
            cancel(task_id, started=begin, ended=end),
            *asked,
            reading(task_id, after, started=end + 0.1, ended=end + 0.11),
        ]

    def test_at_once_passes(self) -> None:
        calls = (creation("t"), cancel(), reading("t", "cancelled"))
        assert judged(self.rule, *calls).verdict == PASS

    def test_the_quick_answer_for_a_task_that_may_have_ended_is_not_judged(self) -> None:
        calls = (creation("t"), cancel(), reading("t", "completed"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_waiting_for_the_end_each_time_is_a_warning(self) -> None:
        assert judged(self.rule, *self.slow(1.0), *self.slow(5.0)).verdict == WARN

    def test_waiting_once_is_not_judged(self) -> None:
        assert judged(self.rule, *self.slow(1.0)).verdict == NOT_EXERCISED

    def test_a_server_that_is_slow_in_all_it_does_is_not_judged(self) -> None:
        calls = [*self.slow(1.0, meanwhile=0.25), *self.slow(5.0, meanwhile=0.25)]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_server_that_answered_only_one_other_request_is_not_judged(self) -> None:
        calls = [*self.slow(1.0, questions=1), *self.slow(5.0, questions=1)]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_an_answer_that_did_not_await_the_end_is_not_judged(self) -> None:
        calls = [*self.slow(1.0, after="working"), *self.slow(5.0, after="working")]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


class TestNotByNotification:
    rule = "cancellation.not-by-notification"

    def notified(
        self,
        status: str,
        *,
        arrived: bool = True,
        task_id: str = "t",
        http: int = 202,
        **made_: Any,
    ) -> list[Exchange]:
        number = 77 + ord(task_id)
        made = creation(task_id, intent="create-and-notify", request_id=number, **made_)
        answer: dict[str, Any] = {"status": http} if arrived else {"fault": Fault("reset", "")}
        told = exchange(
            "notifications/cancelled",
            {"requestId": number},
            intent="cancel-by-notification",
            edit=lambda draft: draft.without_member("id"),
            **answer,
        )
        return [made, told, reading(task_id, status)]

    def sibling(self, status: str = "completed") -> list[Exchange]:
        return [creation("s"), reading("s", status)]

    def test_a_task_that_goes_on_passes(self) -> None:
        calls = [*self.notified("working"), reading("t", "completed")]
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_task_that_may_have_ended_before_is_not_judged(self) -> None:
        assert judged(self.rule, *self.notified("completed")).verdict == NOT_EXERCISED

    def test_a_task_that_ends_by_it_fails(self) -> None:
        assert judged(self.rule, *self.sibling(), *self.notified("cancelled")).verdict == FAIL

    def test_a_task_may_fail_by_itself_once(self) -> None:
        calls = [*self.sibling(), *self.notified("failed")]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_tasks_that_fail_by_it_each_time_fail(self) -> None:
        again = self.notified("failed", task_id="u")
        calls = [*self.sibling(), *self.notified("failed"), *again]
        assert judged(self.rule, *calls).verdict == FAIL
        spared = [*self.notified("working", task_id="v"), reading("v", "completed")]
        assert judged(self.rule, *calls, *spared).verdict == PASS

    def test_a_task_that_ends_so_in_any_case_is_not_judged(self) -> None:
        calls = [*self.sibling("failed"), *self.notified("failed")]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_notification_that_did_not_arrive_is_not_judged(self) -> None:
        calls = [*self.sibling(), *self.notified("cancelled", arrived=False)]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("http", [401, 405, 429, 503])
    def test_a_notification_that_may_be_unread_is_not_judged(self, http: int) -> None:
        calls = [*self.notified("working", http=http), reading("t", "completed")]
        assert judged(self.rule, *self.sibling(), *calls).verdict == NOT_EXERCISED

    def test_a_server_that_cancels_such_tasks_itself_is_not_judged(self) -> None:
        given_up = [creation("g"), reading("g", "cancelled")]
        found = [*self.sibling(), *self.notified("cancelled")]
        assert judged(self.rule, *given_up, *found).verdict == NOT_EXERCISED
        # What was notified too was not left alone.
        assert judged(self.rule, *self.notified("cancelled", task_id="u"), *found).verdict == FAIL

    @pytest.mark.parametrize("status", ["cancelled", "failed"])
    def test_a_task_whose_time_is_over_is_not_judged(self, status: str) -> None:
        brief = self.notified(status, result=handle("t", ttlMs=1000))
        assert judged(self.rule, *self.sibling(), *brief).verdict == NOT_EXERCISED

    def test_a_task_that_had_ended_before_is_not_judged(self) -> None:
        made = creation(
            "t", intent="create-and-notify", request_id=77, result=handle("t", "failed")
        )
        told = self.notified("failed")[1]
        assert judged(self.rule, *self.sibling(), made, told).verdict == NOT_EXERCISED


class TestServersThatAreMerelyDifferent:
    def test_a_late_notification_does_not_prove_that_a_task_lived_on(self) -> None:
        message = {
            "method": "notifications/tasks",
            "params": {k: v for k, v in task("t").items() if k != "resultType"},
        }
        calls = [
            creation("t"),
            exchange("tasks/cancel", {"taskId": "t"}, error=-32602),
            exchange("subscriptions/listen", {"notifications": {}}, events=[message], cut=True),
            reading("t", "completed"),
        ]
        assert judged("cancellation.acknowledged", *calls).verdict == NOT_EXERCISED

    def test_a_server_that_gives_up_tasks_itself(self) -> None:
        """The task had been given up when its cancellation came, as its sibling was."""
        given_up = [creation("s"), reading("s", "cancelled")]
        calls = [creation("t"), exchange("tasks/cancel", {"taskId": "t"}, error=-32602)]
        calls += [reading("t", "cancelled")]
        assert judged("cancellation.acknowledged", *calls).verdict == FAIL
        assert judged("cancellation.acknowledged", *given_up, *calls).verdict == NOT_EXERCISED

    def test_what_meta_says_may_differ_from_read_to_read(self) -> None:
        def ended(trace: str) -> Exchange:
            result = {"content": [], "_meta": {"com.example/served-at": trace}}
            return reading("t", "completed", members={"result": result})

        calls = [creation("t"), ended("12:00"), ended("12:00")]
        calls += [exchange("tasks/cancel", {"taskId": "t"}), ended("12:01")]
        assert judged("cancellation.terminal-unaffected", *calls).verdict == PASS

    @pytest.mark.parametrize("status", [502, 503, 504])
    def test_a_server_without_time(self, status: int) -> None:
        calls = [creation("t")]
        calls += [exchange("tasks/cancel", {"taskId": "t"}, error=-32603, status=status)]
        calls += [reading("t"), reading("t", "completed")]
        assert judged("cancellation.acknowledged", *calls).verdict == NOT_EXERCISED
