"""The rules of polling that look at what reads do, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.drive.draft import UNDECLARED
from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import Exchange, Fault, JsonObject
from conformance.wire.history import History
from tests.builders import CALL_RESULT, QUESTION, creation, exchange, handle, history, reading


def judged(rule_id: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges))


def cancelling(task_id: str = "t", **more: Any) -> Exchange:
    return exchange("tasks/cancel", {"taskId": task_id}, **more)


def limited(**more: Any) -> Exchange:
    """A read that was refused with HTTP 429."""
    return exchange("tasks/get", {"taskId": "t"}, status=429, **more)


def early(status: str = "working", **more: Any) -> Exchange:
    return reading("t", status, intent="early-poll", **more)


class TestPureRead:
    rule = "polling.pure-read"

    @pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
    def test_the_same_again_passes(self, status: str) -> None:
        calls = (creation("t"), reading("t", status), reading("t", status))
        assert judged(self.rule, *calls).verdict == PASS

    def test_other_metadata_and_times_pass(self) -> None:
        again = {
            "result": {**CALL_RESULT, "_meta": {"com.example/served": 2}},
            "lastUpdatedAt": "2026-07-28T13:00:00.123Z",
            "ttlMs": 50_000,
        }
        calls = (creation("t"), reading("t", "completed"), reading("t", "completed", members=again))
        assert judged(self.rule, *calls).verdict == PASS

    @pytest.mark.parametrize("lost", [..., None, {}, {"content": []}])
    def test_a_result_that_is_gone_fails(self, lost: object) -> None:
        calls = [creation("t"), reading("t", "completed")]
        calls.append(reading("t", "completed", members={"result": lost}))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_result_that_was_never_there_is_left_to_another_rule(self) -> None:
        made = creation("t")
        calls = [reading("t", "completed", members={"result": ...}) for _ in range(2)]
        assert judged(self.rule, made, *calls).verdict == PASS

    def test_another_result_is_left_to_another_rule(self) -> None:
        made = creation("t")
        other = {"result": {"content": [{"type": "text", "text": "other"}]}}
        calls = (reading("t", "completed"), reading("t", "completed", members=other))
        assert judged(self.rule, made, *calls).verdict == NOT_EXERCISED

    def test_a_task_that_is_gone_when_read_again_fails(self) -> None:
        calls = (creation("t"), reading("t", "completed"), reading("t", error=-32602))
        verdict = judged(self.rule, *calls)
        assert verdict.verdict == FAIL
        assert "could not be read again" in verdict.reason

    def test_a_task_that_is_gone_once_its_ttl_is_over_is_not_judged(self) -> None:
        made = creation("t", result=handle("t", ttlMs=1500))
        ended = reading("t", "completed", members={"ttlMs": 1500})
        calls = (made, ended, reading("t", error=-32602))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    @pytest.mark.parametrize(
        "probe",
        [
            {"caller": "second"},
            {"capabilities": UNDECLARED},
            {"edit": lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25")},
        ],
    )
    def test_a_refusal_of_another_kind_is_not_judged(self, probe: dict[str, Any]) -> None:
        calls = (creation("t"), reading("t", "completed"), reading("t", error=-32602, **probe))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_what_a_cancellation_does_is_left_to_another_rule(self) -> None:
        calls = [creation("t"), reading("t", "completed"), cancelling()]
        calls.append(reading("t", "completed", members={"result": ...}))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def waiting(self, *keys: str) -> Exchange:
        requests = dict.fromkeys(keys, QUESTION)
        return reading("t", "input_required", members={"inputRequests": requests})

    def test_keys_that_stay_pass(self) -> None:
        calls = [creation("t"), *(self.waiting("a") for _ in range(3))]
        assert judged(self.rule, *calls).verdict == PASS

    def test_keys_that_are_new_at_each_read_fail(self) -> None:
        calls = [creation("t"), *(self.waiting(f"key-{number}") for number in range(3))]
        assert judged(self.rule, *calls).verdict == FAIL

    def test_keys_that_are_new_once_may_be_a_new_request(self) -> None:
        calls = (creation("t"), self.waiting("a"), self.waiting("b"), self.waiting("b"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def ends(
        self,
        hurried: str,
        patient: str,
        *more: Exchange,
        others: str = "uvw",
        ttl: int = 60_000,
    ) -> Verdict:
        calls = [creation("t", result=handle("t", ttlMs=ttl)), reading("t")]
        calls += [early() for _ in range(4)]
        calls.append(reading("t", hurried))
        for other in others:
            calls += [creation(other), reading(other), reading(other, patient)]
        return judged(self.rule, *calls, *more)

    def test_a_task_that_fails_because_it_is_read_often_fails(self) -> None:
        assert "read often" in self.ends("failed", "completed").reason
        assert self.ends("failed", "completed").verdict == FAIL

    def test_one_that_fails_beside_few_others_may_do_so_by_chance(self) -> None:
        assert self.ends("failed", "completed", others="u").verdict == NOT_EXERCISED
        assert self.ends("failed", "completed", others="uv").verdict == NOT_EXERCISED

    def test_two_that_fail_alike_are_no_chance(self) -> None:
        again = [creation("z"), reading("z")]
        again += [reading("z", intent="early-poll") for _ in range(2)]
        again.append(reading("z", "failed"))
        assert self.ends("failed", "completed", *again, others="u").verdict == FAIL

    def test_one_that_fails_when_its_time_is_over_is_not_judged(self) -> None:
        assert self.ends("failed", "completed", ttl=1000).verdict == NOT_EXERCISED

    def test_a_task_that_fails_anyway_is_not_judged(self) -> None:
        assert self.ends("failed", "failed").verdict == NOT_EXERCISED
        assert self.ends("completed", "failed").verdict == NOT_EXERCISED


class TestDoesNotBlock:
    rule = "polling.does-not-block"

    def followed(
        self, task_id: str, start: float, read: tuple[float, float], status: str, worked: float
    ) -> list[Exchange]:
        """A task made at a time, read from and to a time, that worked for some seconds."""
        updated = {"lastUpdatedAt": f"2026-07-28T12:00:{worked + 0.123:06.3f}Z"}
        began, ended = start + read[0], start + read[1]
        made = creation(task_id, started=start, ended=start + 0.02)
        first = reading(task_id, status, members=updated, started=began, ended=ended)
        again = reading(
            task_id, "completed", members=updated, started=ended + 0.2, ended=ended + 0.21
        )
        return [made, first, again]

    def blocking(
        self, *reads: tuple[float, float], worked: float = 1.0, others: int = 3
    ) -> Verdict:
        """Reads that last; meanwhile so many other requests are served at once."""
        calls: list[Exchange] = []
        for number, read in enumerate(reads):
            start = 10.0 * number
            calls += self.followed(f"t{number}", start, read, "completed", worked)
            for nth in range(others):
                at = start + read[0] + 0.05 * (nth + 1)
                calls.append(exchange("server/discover", started=at, ended=at + 0.01))
        return judged(self.rule, *calls)

    def test_a_quick_read_of_a_working_task_passes(self) -> None:
        calls = self.followed("t", 0.0, (0.1, 0.12), "working", 1.0)
        assert judged(self.rule, *calls).verdict == PASS

    def test_reads_that_last_until_the_end_are_warned_of(self) -> None:
        assert self.blocking((0.1, 1.05), (0.1, 1.03)).verdict == WARN

    def test_a_machine_that_is_busy_with_itself_is_not_meant(self) -> None:
        assert self.blocking((0.1, 1.05), (0.1, 1.03), others=0).verdict == NOT_EXERCISED

    def test_one_such_read_may_be_chance(self) -> None:
        assert self.blocking((0.1, 1.05)).verdict == NOT_EXERCISED

    def test_a_slow_server_is_not_meant(self) -> None:
        assert self.blocking((0.9, 1.6), (0.9, 1.6)).verdict == NOT_EXERCISED

    def test_slow_reads_of_a_quick_task_are_not_meant(self) -> None:
        assert self.blocking((0.1, 1.0), (0.1, 1.1), worked=0.05).verdict == NOT_EXERCISED

    def test_a_task_that_was_once_seen_at_work_shows_that_reads_do_not_wait(self) -> None:
        quick = self.followed("q", 50.0, (0.1, 0.12), "working", 1.0)
        slow = [
            call
            for number in range(2)
            for call in self.followed(f"t{number}", 10.0 * number, (0.1, 1.05), "completed", 1.0)
        ]
        assert judged(self.rule, *slow, *quick).verdict == PASS


class TestObedientPollServed:
    rule = "polling.obedient-poll-served"

    def test_served_polls_pass(self) -> None:
        assert judged(self.rule, creation("t"), reading("t"), reading("t")).verdict == PASS

    def test_a_refusal_at_the_pace_is_warned_of(self) -> None:
        verdict = judged(self.rule, creation("t"), reading("t"), limited())
        assert verdict.verdict == WARN
        assert len(verdict.evidence[0].exchanges) == 2

    def test_a_first_poll_at_the_pace_that_is_refused_is_warned_of(self) -> None:
        assert judged(self.rule, creation("t"), limited()).verdict == WARN

    def test_a_refusal_beside_a_poll_of_another_task_is_not_judged(self) -> None:
        made = [creation("t", started=0.0, ended=0.1), creation("u", started=0.0, ended=0.1)]
        refused = limited(started=2.0, ended=2.05)
        near = reading("u", started=1.8, ended=1.85)
        assert judged(self.rule, *made, near, refused).verdict == PASS
        before = reading("u", started=1.3, ended=1.35)
        assert judged(self.rule, *made, before, refused).verdict == WARN

    def test_an_error_that_speaks_of_the_pace_is_a_refusal(self) -> None:
        made = creation("t")
        refused = reading("t", error={"code": -32000, "message": "Too many requests"})
        assert judged(self.rule, made, refused).verdict == WARN

    def test_another_error_is_not(self) -> None:
        made = creation("t")
        failed = reading("t", error={"code": -32603, "message": "Internal error"})
        assert judged(self.rule, made, failed).verdict == NOT_EXERCISED

    def test_a_poll_that_is_early_may_be_refused(self) -> None:
        made = creation("t", started=0.0, ended=0.1)
        first = reading("t", started=1.0, ended=1.1)
        assert judged(self.rule, made, first, limited(started=1.3)).verdict == PASS

    def test_the_interval_counts_from_the_answer(self) -> None:
        made = creation("t", started=0.0, ended=0.1)
        first = reading("t", started=1.0, ended=1.4)
        assert judged(self.rule, made, first, limited(started=1.6)).verdict == PASS

    def test_the_longest_interval_that_was_told_counts(self) -> None:
        patient = reading("t", members={"pollIntervalMs": 5000}, started=1.0, ended=1.1)
        made = creation("t", started=0.0, ended=0.1)
        assert judged(self.rule, made, patient, limited(started=2.0)).verdict == NOT_EXERCISED

    def test_retry_after_counts_too(self) -> None:
        made = creation("t", started=0.0, ended=0.1)
        first = reading("t", started=1.0, ended=1.1)
        refused = limited(started=1.2, ended=1.3, headers={"Retry-After": "3"})
        again = limited(started=2.0)
        assert judged(self.rule, made, first, refused, again).verdict == PASS

    def test_a_client_that_was_early_elsewhere_may_be_limited_as_a_whole(self) -> None:
        other = [creation("u", started=0.0), reading("u", started=0.2, ended=0.3)]
        made = creation("t", started=0.0, ended=0.1)
        assert judged(self.rule, *other, made, limited(started=2.0)).verdict == NOT_EXERCISED

    def test_a_server_that_limits_all_requests_is_not_judged(self) -> None:
        listed = exchange("tools/list", status=429)
        assert judged(self.rule, listed, creation("t"), limited()).verdict == NOT_EXERCISED

    def test_without_an_interval_there_is_none_to_keep(self) -> None:
        made = creation("t", result=handle("t", pollIntervalMs=...))
        refused = limited()
        verdict = judged(self.rule, made, refused)
        assert verdict.verdict == NOT_EXERCISED
        assert "pollIntervalMs" in verdict.reason


class TestRateLimitHonest:
    rule = "polling.rate-limit-honest"

    def scene(self, *calls: Exchange) -> Verdict:
        made = creation("t", started=0.0, ended=0.1)
        return judged(self.rule, made, reading("t", started=1.0, ended=1.05), *calls)

    def refusals(self, **answer: Any) -> list[Exchange]:
        times = [(1.1, 1.12), (1.13, 1.15)]
        return [
            exchange(
                "tasks/get",
                {"taskId": "t"},
                intent="early-poll",
                started=started,
                ended=ended,
                **answer,
            )
            for started, ended in times
        ]

    def test_served_polls_pass(self) -> None:
        calls = (early(started=1.1), early(started=1.3))
        assert self.scene(*calls, reading("t", "completed", started=3.0)).verdict == PASS

    @pytest.mark.parametrize(
        "answer",
        [
            {"status": 429},
            {"status": 429, "headers": {"Retry-After": "1"}},
            {"error": {"code": -32000, "message": "Too many requests"}},
            {"error": {"code": -32603, "message": "Busy"}},
            {"status": 429, "error": -32602},
        ],
    )
    def test_clear_refusals_pass(self, answer: dict[str, Any]) -> None:
        after = reading("t", "completed", started=3.0)
        assert self.scene(*self.refusals(**answer), after).verdict == PASS

    @pytest.mark.parametrize("code", [-32602, -32601, -32020, -32021, -32022])
    def test_a_misleading_refusal_fails(self, code: int) -> None:
        verdict = self.scene(*self.refusals(error=code), reading("t", started=3.0))
        assert verdict.verdict == FAIL
        assert "429" in verdict.reason

    def test_a_task_that_is_not_there_afterwards_either_is_left_to_other_rules(self) -> None:
        gone = exchange("tasks/get", {"taskId": "t"}, error=-32603, started=3.0)
        verdict = self.scene(*self.refusals(error=-32602), gone)
        assert verdict.verdict == PASS

    def test_a_task_that_could_not_be_read_before_is_not_judged(self) -> None:
        made = creation("t", started=0.0)
        calls = (*self.refusals(error=-32602), reading("t", started=3.0))
        assert judged(self.rule, made, *calls).verdict == NOT_EXERCISED

    def test_a_refusal_of_the_next_poll_at_the_pace_fails(self) -> None:
        verdict = self.scene(*self.refusals(status=429), limited(started=2.0))
        assert verdict.verdict == FAIL
        assert "not served either" in verdict.reason

    def test_a_poll_that_is_served_later_is_not_judged(self) -> None:
        """For how long a client that was early may be refused, the text does not say."""
        calls = (*self.refusals(status=429), limited(started=2.0), reading("t", started=6.0))
        assert self.scene(*calls).verdict == NOT_EXERCISED

    def test_another_task_that_was_polled_meanwhile_may_be_the_reason(self) -> None:
        other = [creation("u", started=1.2), reading("u", started=1.8, ended=1.85)]
        calls = (*self.refusals(status=429), *other, limited(started=2.0))
        assert self.scene(*calls).verdict == NOT_EXERCISED

    def test_another_limit_meanwhile_may_be_the_reason(self) -> None:
        listed = exchange("tools/list", status=429, started=1.8)
        calls = (*self.refusals(status=429), listed, limited(started=2.0))
        assert self.scene(*calls).verdict == NOT_EXERCISED

    def test_a_task_that_is_refused_for_good_while_another_is_served_fails(self) -> None:
        other = [creation("u", started=1.2), reading("u", started=1.8, ended=1.85)]
        refused = [limited(started=at, ended=at + 0.1) for at in (2.0, 3.0, 4.0)]
        calls = (*self.refusals(status=429), *other, *refused)
        assert self.scene(*calls).verdict == NOT_EXERCISED
        assert self.scene(*calls, reading("u", started=5.0)).verdict == FAIL

    def test_polls_that_were_not_certainly_early_prove_nothing(self) -> None:
        calls = [early(started=2.0), early(started=3.0)]
        assert self.scene(*calls, reading("t", started=5.0)).verdict == NOT_EXERCISED

    def test_a_task_lost_after_early_polls_fails(self) -> None:
        lost = exchange("tasks/get", {"taskId": "t"}, error=-32602, started=2.0)
        assert self.scene(*self.refusals(status=429), lost).verdict == FAIL

    def test_retry_after_puts_the_next_poll_off(self) -> None:
        refusals = self.refusals(status=429, headers={"Retry-After": "2"})
        assert self.scene(*refusals, limited(started=2.0)).verdict == PASS

    def test_an_end_that_was_none_fails(self) -> None:
        false = early("failed", started=1.1, ended=1.12)
        verdict = self.scene(false, reading("t", started=3.0))
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/status"

    def test_a_task_that_fails_for_it_fails(self) -> None:
        ended = reading("t", "failed", started=3.0)
        calls = [*self.refusals(status=429), ended]
        for other in "uvw":
            assert self.scene(*calls).verdict != FAIL
            calls += [creation(other), reading(other), reading(other, "completed")]
        assert self.scene(*calls).verdict == FAIL

    def test_one_that_fails_beside_few_others_is_not_judged(self) -> None:
        other = [creation("u"), reading("u"), reading("u", "completed")]
        ended = reading("t", "failed", started=3.0)
        verdict = self.scene(*self.refusals(status=429), ended, *other)
        assert verdict.verdict == NOT_EXERCISED

    def test_a_task_whose_like_fails_anyway_passes(self) -> None:
        other = [creation("u"), reading("u"), reading("u", "failed")]
        ended = reading("t", "failed", started=3.0)
        assert self.scene(*self.refusals(status=429), ended, *other).verdict == PASS

    def test_no_answers_at_all_are_not_judged(self) -> None:
        lost = self.refusals(fault=Fault("reset", "connection lost"))
        assert self.scene(*lost, reading("t", started=3.0)).verdict == NOT_EXERCISED


LONG = "0123456789abcdef" * 20_000


class TestLargeResult:
    rule = "polling.large-result"

    def completed(self, text: str = LONG, **more: Any) -> Exchange:
        result = {"content": [{"type": "text", "text": text}]}
        return reading("t", "completed", members={"result": result}, **more)

    def plain(self, text: str, **more: Any) -> Exchange:
        result: JsonObject = {"content": [{"type": "text", "text": text}]}
        params = {"name": "export", "arguments": {}}
        return exchange("tools/call", params, result=result, capabilities=UNDECLARED, **more)

    def unread(self, **answer: Any) -> Exchange:
        return exchange("tasks/get", {"taskId": "t"}, **answer)

    def test_a_whole_result_passes(self) -> None:
        assert judged(self.rule, creation("t"), self.completed()).verdict == PASS

    def test_a_small_result_is_not_meant(self) -> None:
        assert judged(self.rule, creation("t"), self.completed("small")).verdict == NOT_EXERCISED

    def test_a_result_as_long_as_without_a_task_passes(self) -> None:
        calls = (self.plain(LONG), creation("t"), self.completed())
        assert judged(self.rule, *calls).verdict == PASS

    def test_a_beginning_of_what_came_without_a_task_fails(self) -> None:
        first = self.plain(LONG + "the end")
        calls = (first, self.plain(LONG + "the end"), creation("t"), self.completed())
        assert judged(self.rule, *calls).verdict == FAIL

    def test_a_text_that_is_of_another_length_each_time_is_not_judged(self) -> None:
        once, longer = self.plain(LONG + "the end"), self.plain(LONG + "the end, at last")
        made = (creation("t"), self.completed())
        assert judged(self.rule, once, *made).verdict == NOT_EXERCISED
        assert judged(self.rule, once, longer, *made).verdict == NOT_EXERCISED

    def test_a_connection_lost_once_is_not_judged(self) -> None:
        reset = Fault("reset", "connection lost")
        calls = [creation("t"), self.unread(body=LONG, fault=reset, status=200), self.completed()]
        assert judged(self.rule, *calls).verdict == PASS
        calls.append(self.unread(body=LONG, fault=reset, status=200))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_an_answer_that_is_no_json_once_fails(self) -> None:
        broken_off = self.unread(body='{"jsonrpc": "2.0", "id": 1, "result": {"a": "' + LONG)
        assert judged(self.rule, creation("t"), broken_off, self.completed()).verdict == FAIL

    def test_a_tool_called_large_whose_result_is_small_is_not_judged(self) -> None:
        named: History = history(
            creation("t"), self.completed("small"), named={"export": ["large"]}
        )
        assert verdict_of(catalogue()[self.rule], named).verdict == NOT_EXERCISED

    def test_a_log_that_has_grown_since_passes(self) -> None:
        calls = (creation("t"), self.completed(), self.plain(LONG + "one more line"))
        assert judged(self.rule, *calls).verdict == PASS

    @pytest.mark.parametrize(
        "answer",
        [
            {"body": '{"jsonrpc": "2.0", "id": 1, "result": {"a": "' + LONG},
            {"body": LONG, "fault": Fault("reset", "incomplete chunked read"), "status": 200},
        ],
    )
    def test_an_answer_that_breaks_off_fails(self, answer: dict[str, Any]) -> None:
        assert judged(self.rule, creation("t"), self.unread(**answer)).verdict == FAIL

    def test_an_empty_answer_where_a_large_one_had_been_fails(self) -> None:
        calls = (creation("t"), self.completed(), self.unread(status=200))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_an_empty_answer_of_a_small_tool_is_left_to_another_rule(self) -> None:
        assert judged(self.rule, creation("t"), self.unread(status=200)).verdict == NOT_EXERCISED

    def test_a_tool_that_its_user_calls_large_is_judged_by_that(self) -> None:
        named: History = history(
            creation("t"), self.unread(status=200), named={"export": ["large"]}
        )
        assert verdict_of(catalogue()[self.rule], named).verdict == FAIL

    def test_an_answer_beyond_limits_of_the_suite_is_not_judged(self) -> None:
        deep = '{"jsonrpc": "2.0", "id": 1, "result": ' + "[" * 200 + f'"{LONG}"' + "]" * 200 + "}"
        verdict = judged(self.rule, creation("t"), self.unread(body=deep))
        assert verdict.verdict == NOT_EXERCISED
        assert "limit of the suite" in verdict.reason

    @pytest.mark.parametrize("kind", ["timeout", "too-large", "interrupted"])
    def test_an_answer_the_suite_did_not_read_to_its_end_is_not_judged(self, kind: str) -> None:
        stopped = self.unread(body=LONG, fault=Fault(kind, "stopped"), status=200)
        assert judged(self.rule, creation("t"), stopped).verdict == NOT_EXERCISED

    def test_an_error_of_a_gateway_is_not_judged(self) -> None:
        calls = (creation("t"), self.unread(status=502, body="<html>" + LONG))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED
