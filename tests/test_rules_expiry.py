"""The rules of expiry, on histories written by hand. A task's time begins at 10 s here."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import Exchange
from tests.builders import creation, exchange, handle, history, reading

MADE = 10.0


def judged(rule_id: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges))


def made(ttl: object = 2000, **more: Any) -> Exchange:
    members = more.pop("members", {})
    more.setdefault("result", handle("t", ttlMs=ttl, **members))
    return creation("t", **{"started": MADE, "ended": MADE + 0.01, **more})


def read(at: float, status: str = "completed", *, ttl: object = 2000, **more: Any) -> Exchange:
    """A read so many seconds after the task was made."""
    return reading(
        "t", status, members={"ttlMs": ttl}, started=MADE + at, ended=MADE + at + 0.01, **more
    )


def gone(at: float, code: int = -32602, **more: Any) -> Exchange:
    return read(at, error=code, **more)


def sent(method: str, at: float, **answer: Any) -> Exchange:
    params: dict[str, object] = {"taskId": "t"}
    if method == "tasks/update":
        params["inputResponses"] = {}
    return exchange(method, params, started=MADE + at, ended=MADE + at + 0.01, **answer)


class TestNotBeforeTtl:
    rule = "expiry.not-before-ttl"

    def test_a_task_that_can_be_read_passes(self) -> None:
        assert judged(self.rule, made(), read(1.5)).verdict == PASS

    def test_a_task_that_is_gone_early_fails(self) -> None:
        assert judged(self.rule, made(), read(0.5), gone(1.5)).verdict == FAIL

    def test_also_after_a_cancellation(self) -> None:
        verdict = judged(self.rule, made(), sent("tasks/cancel", 0.5), gone(1.0))
        assert verdict.verdict == FAIL
        assert "after it was cancelled" in verdict.reason

    def test_a_task_without_limit_that_is_gone_fails(self) -> None:
        verdict = judged(self.rule, made(None), read(1.0, ttl=None), gone(30.0))
        assert verdict.verdict == FAIL
        assert "without limit" in verdict.reason

    def test_a_task_that_is_gone_afterwards_is_not_judged(self) -> None:
        assert judged(self.rule, made(), gone(2.5)).verdict == NOT_EXERCISED

    def test_what_the_clocks_cannot_tell_is_not_judged(self) -> None:
        slow_call = made(ended=MADE + 3.0)
        assert judged(self.rule, made(), gone(1.97)).verdict == NOT_EXERCISED
        assert judged(self.rule, slow_call, gone(3.1)).verdict == NOT_EXERCISED

    def test_a_created_at_in_whole_seconds_may_be_a_second_off(self) -> None:
        whole = made(members={"createdAt": "2026-07-28T12:00:00Z"})
        assert judged(self.rule, whole, gone(1.2)).verdict == NOT_EXERCISED
        assert judged(self.rule, whole, gone(0.5)).verdict == FAIL

    def test_a_task_that_was_created_before_the_call_ends_sooner(self) -> None:
        # createdAt is 12:00:00; by the server's Date it is 5 s older than its handle.
        older = made(8000, headers={"Date": "Tue, 28 Jul 2026 12:00:05 GMT"})
        assert judged(self.rule, older, gone(3.0)).verdict == NOT_EXERCISED
        assert judged(self.rule, older, gone(0.5)).verdict == FAIL

    def test_where_the_servers_own_clock_says_that_it_is_over_it_is_not_judged(self) -> None:
        late = gone(1.0, headers={"Date": "Tue, 28 Jul 2026 12:00:03 GMT"})
        assert judged(self.rule, made(), late).verdict == NOT_EXERCISED

    def test_the_latest_ttl_counts(self) -> None:
        longer = read(1.0, ttl=8000)
        shorter = read(1.0, ttl=1500)
        assert judged(self.rule, made(), longer, gone(4.0)).verdict == FAIL
        assert judged(self.rule, made(8000), shorter, gone(3.0)).verdict == PASS

    def test_a_ttl_that_was_told_meanwhile_counts_too(self) -> None:
        overlapping = reading(
            "t", "completed", members={"ttlMs": 500}, started=MADE + 0.9, ended=MADE + 1.2
        )
        assert judged(self.rule, made(), overlapping, gone(1.0)).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("code", [-32603, -32020, -32021])
    def test_another_error_does_not_say_that_it_is_gone(self, code: int) -> None:
        assert judged(self.rule, made(), gone(1.0, code)).verdict == NOT_EXERCISED

    def test_the_servers_own_code_for_unknown_ids_does(self) -> None:
        unknown = exchange("tasks/get", {"taskId": "x"}, intent="unknown-id", error=-32001)
        assert judged(self.rule, unknown, made(), gone(1.0, -32001)).verdict == FAIL

    def test_other_callers_replicas_and_odd_requests_are_not_judged(self) -> None:
        odd = gone(1.0, edit=lambda draft: draft.with_param("extra", 1))
        foreign = gone(1.0, caller="second")
        elsewhere = gone(1.0, replica=1)
        restarted = gone(1.0, intent="after-restart")
        verdict = judged(self.rule, made(), odd, foreign, elsewhere, restarted)
        assert verdict.verdict == NOT_EXERCISED

    @pytest.mark.parametrize("first", [60_000, None])
    def test_a_server_that_shortens_ttls_may_have_done_so_unseen(self, first: object) -> None:
        # A task is kept for a while after its end, whatever was said while it worked.
        shortened = [
            creation("u", result=handle("u", ttlMs=first), started=MADE, ended=MADE + 0.01),
            reading("u", "completed", members={"ttlMs": 1000}, started=MADE + 0.5),
        ]
        found = (*shortened, made(first), read(0.2, "working", ttl=first), gone(5.0))
        assert judged(self.rule, *found).verdict == PASS
        assert judged(self.rule, *found[2:]).verdict == FAIL

    @pytest.mark.parametrize("ttl", [0, -1, "2000", True])
    def test_a_ttl_that_is_none_is_for_another_rule(self, ttl: object) -> None:
        assert judged(self.rule, made(ttl), gone(1.0)).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("zone", ["Z", ""])
    def test_a_task_that_was_older_than_its_call_is_not_judged(self, zone: str) -> None:
        """No clock is needed: the handle itself tells how old the task is at least."""
        older = {
            "createdAt": f"2026-07-28T12:00:00.000{zone}",
            "lastUpdatedAt": f"2026-07-28T12:00:01.900{zone}",
        }
        call = made(2000, members=older)
        assert judged(self.rule, call, gone(1.0)).verdict == NOT_EXERCISED


class TestExpiredCode:
    rule = "expiry.expired-code"

    def test_invalid_params_passes(self) -> None:
        assert judged(self.rule, made(), gone(2.5)).verdict == PASS

    @pytest.mark.parametrize("status", ["working", "completed", "failed", "cancelled"])
    def test_a_task_that_is_still_there_passes(self, status: str) -> None:
        assert judged(self.rule, made(), read(2.5, status)).verdict == PASS

    @pytest.mark.parametrize("code", [-32603, -32001, 404])
    def test_another_error_fails(self, code: int) -> None:
        assert judged(self.rule, made(), gone(2.5, code)).verdict == FAIL

    def test_an_error_that_does_not_last_is_not_judged(self) -> None:
        words = {"code": -32000, "message": "pollIntervalMs has not elapsed"}
        limited = exchange("tasks/get", {"taskId": "t"}, error=words, started=12.5, ended=12.6)
        assert judged(self.rule, made(), limited, read(3.0)).verdict == PASS
        assert judged(self.rule, made(), limited, gone(3.0)).verdict == PASS

    def test_an_error_that_lasts_fails(self) -> None:
        assert judged(self.rule, made(), gone(2.5, -32603), gone(3.0, -32603)).verdict == FAIL

    def test_a_result_that_is_no_task_fails(self) -> None:
        empty = reading("t", result={"resultType": "complete"}, started=12.5, ended=12.6)
        assert judged(self.rule, made(), empty).verdict == FAIL

    def test_before_the_time_is_over_it_is_not_judged(self) -> None:
        assert judged(self.rule, made(), gone(1.0, -32603)).verdict == NOT_EXERCISED
        assert judged(self.rule, made(None), gone(50.0, -32603)).verdict == NOT_EXERCISED

    def test_a_longer_ttl_that_was_told_counts(self) -> None:
        longer = read(1.0, ttl=60_000)
        assert judged(self.rule, made(), longer, gone(2.5, -32603)).verdict == NOT_EXERCISED

    def test_where_the_servers_own_clock_is_slower_it_is_not_judged(self) -> None:
        call = made(4000, headers={"Date": "Tue, 28 Jul 2026 12:00:00 GMT"})
        slow = gone(4.5, -32603, headers={"Date": "Tue, 28 Jul 2026 12:00:01 GMT"})
        assert judged(self.rule, call, slow).verdict == NOT_EXERCISED

    def test_an_overloaded_server_is_not_judged(self) -> None:
        busy = exchange(
            "tasks/get", {"taskId": "t"}, error=-32603, status=503, started=12.5, ended=12.6
        )
        assert judged(self.rule, made(), busy).verdict == NOT_EXERCISED

    def test_a_rate_limit_is_not_judged(self) -> None:
        limited = exchange("tasks/get", {"taskId": "t"}, status=429, started=12.5, ended=12.6)
        assert judged(self.rule, made(), limited).verdict == NOT_EXERCISED


class TestStaysExpired:
    rule = "expiry.stays-expired"

    def test_gone_for_good_passes(self) -> None:
        assert judged(self.rule, made(), gone(2.5), gone(3.0)).verdict == PASS

    def test_a_task_that_comes_back_fails(self) -> None:
        assert judged(self.rule, made(), gone(2.5), read(3.0)).verdict == FAIL

    def test_a_task_that_is_kept_is_not_judged(self) -> None:
        assert judged(self.rule, made(), read(2.5), read(3.0)).verdict == NOT_EXERCISED

    def test_a_read_that_overlapped_proves_nothing(self) -> None:
        late = reading(
            "t", "completed", members={"ttlMs": 2000}, started=MADE + 2.495, ended=MADE + 2.8
        )
        assert judged(self.rule, made(), gone(2.5), late).verdict == NOT_EXERCISED

    def test_a_task_that_was_missed_before_its_time_is_for_another_rule(self) -> None:
        assert judged(self.rule, made(), gone(1.0), read(1.5)).verdict == NOT_EXERCISED


class TestMethodsAgree:
    rule = "expiry.methods-agree"

    @pytest.mark.parametrize("method", ["tasks/cancel", "tasks/update"])
    def test_the_same_error_passes(self, method: str) -> None:
        assert judged(self.rule, made(), gone(2.5), sent(method, 3.0, error=-32602)).verdict == (
            PASS
        )

    @pytest.mark.parametrize("method", ["tasks/cancel", "tasks/update"])
    @pytest.mark.parametrize("answer", [{}, {"error": -32603}])
    def test_anything_else_is_a_warning(self, method: str, answer: dict[str, Any]) -> None:
        assert judged(self.rule, made(), gone(2.5), sent(method, 3.0, **answer)).verdict == WARN

    def test_before_the_task_was_gone_it_is_not_judged(self) -> None:
        assert judged(self.rule, made(), sent("tasks/cancel", 2.3), gone(2.5)).verdict == (
            NOT_EXERCISED
        )

    def test_a_refusal_for_another_reason_is_not_judged(self) -> None:
        refused = sent("tasks/cancel", 3.0, error=-32020)
        assert judged(self.rule, made(), gone(2.5), refused).verdict == NOT_EXERCISED
