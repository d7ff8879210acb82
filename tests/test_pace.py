"""At which pace tasks were polled, and what a refusal for the pace looks like."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from conformance.drive.driver import seconds_to_wait
from conformance.judge.lives import lives
from conformance.judge.pace import first_impatience, one_was_early, polls
from conformance.wire.exchange import Exchange
from tests.builders import creation, exchange, handle, history, reading


def read(**answer: Any) -> Exchange:
    return exchange("tasks/get", {"taskId": "t"}, **answer)


class TestRefusals:
    @pytest.mark.parametrize(
        "answer",
        [
            {"status": 429},
            {"status": 429, "body": "<html>", "content_type": "text/html"},
            {"status": 429, "error": -32602},
            {"error": {"code": -32000, "message": "Rate limit exceeded"}},
            {"error": {"code": -32603, "message": "Slow down, please"}},
            {"error": {"code": 429, "message": "no"}},
        ],
    )
    def test_of_the_pace(self, answer: dict[str, Any]) -> None:
        assert read(**answer).rate_limited

    @pytest.mark.parametrize(
        "answer",
        [
            {"status": 503},
            {"error": {"code": -32602, "message": "Too many requests"}},
            {"error": {"code": -32021, "message": "Rate limit"}},
            {"error": {"code": -32603, "message": "Internal error"}},
            {"result": {"message": "too many requests"}},
        ],
    )
    def test_of_something_else(self, answer: dict[str, Any]) -> None:
        assert not read(**answer).rate_limited

    @pytest.mark.parametrize(
        "method", ["tools/call", "tasks/update", "tasks/cancel", "subscriptions/listen"]
    )
    def test_of_what_else_is_asked_of_tasks(self, method: str) -> None:
        error = {"code": -32000, "message": "Rate limit exceeded, try again in a second"}
        assert exchange(method, {}, error=error).rate_limited
        assert not exchange(method, {}, error=-32000).rate_limited

    def test_of_other_methods_only_the_status_tells(self) -> None:
        error = {"code": -32000, "message": "Rate limit exceeded"}
        assert not exchange("tools/list", {}, error=error).rate_limited
        assert exchange("tools/list", {}, error=error, status=429).rate_limited


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("value", "seconds"), [("3", 3.0), (" 0 ", 0.0), ("soon", 0.0), ("-1", 0.0), ("1.5", 0.0)]
    )
    def test_seconds(self, value: str, seconds: float) -> None:
        assert seconds_to_wait(read(status=429, headers={"Retry-After": value})) == seconds

    def test_a_date(self) -> None:
        date = format_datetime(datetime.now(timezone.utc) + timedelta(hours=1), usegmt=True)
        wait = seconds_to_wait(read(status=429, headers={"Retry-After": date}))
        assert 3500 < wait <= 3600

    def test_a_date_that_is_over(self) -> None:
        date = format_datetime(datetime(2020, 1, 1, tzinfo=timezone.utc), usegmt=True)
        assert seconds_to_wait(read(status=429, headers={"Retry-After": date})) == 0.0

    def test_none(self) -> None:
        assert seconds_to_wait(read(status=429)) == 0.0


class TestPolls:
    """The interval of these tasks is 0.5 s."""

    def kept(self, *calls: Exchange) -> list[bool]:
        found = polls(history(creation("t", started=0.0, ended=0.1), *calls))
        return [poll.kept for poll in found]

    def test_a_poll_an_interval_after_the_answer_kept_it(self) -> None:
        assert self.kept(reading("t", started=0.6, ended=0.7)) == [True]

    def test_a_first_poll_that_comes_sooner_did_not(self) -> None:
        assert self.kept(reading("t", started=0.2, ended=0.3)) == [False]

    def test_in_between_nobody_can_tell(self) -> None:
        calls = (reading("t", started=1.0, ended=1.4), reading("t", started=1.6, ended=1.7))
        assert self.kept(*calls) == [True, False]

    def test_overlapping_polls_did_not_keep_it(self) -> None:
        calls = (reading("t", started=1.0, ended=3.0), reading("t", started=2.0, ended=2.1))
        assert self.kept(*calls) == [True, False]

    def test_the_longest_interval_told_is_to_be_kept(self) -> None:
        slower = reading("t", members={"pollIntervalMs": 2000}, started=1.0, ended=1.1)
        assert self.kept(slower, reading("t", started=2.0, ended=2.1)) == [False, False]

    def test_without_an_interval_there_is_nothing_to_keep(self) -> None:
        made = creation("t", result=handle("t", pollIntervalMs=...), started=0.0)
        bare = reading("t", members={"pollIntervalMs": ...}, started=9.0)
        assert [p.kept for p in polls(history(made, bare))] == [False]

    @pytest.mark.parametrize("interval", [0, -1, "500", None, True, 2**60])
    def test_what_is_no_interval_is_none(self, interval: object) -> None:
        made = creation("t", result=handle("t", pollIntervalMs=interval), started=0.0)
        bare = reading("t", members={"pollIntervalMs": interval}, started=9.0)
        assert [p.kept for p in polls(history(made, bare))] == [False]

    def test_the_first_read_out_of_step_is_where_impatience_begins(self) -> None:
        made = creation("t", started=0.0, ended=0.1)
        patient = reading("t", started=1.0, ended=1.1)
        assert first_impatience(history(made, patient)) == float("inf")
        hasty = reading("t", started=1.2, ended=1.3)
        assert first_impatience(history(made, patient, hasty)) == 1.2
        unknown = exchange("tasks/get", {"taskId": "nobody"}, error=-32602, started=0.5)
        assert first_impatience(history(made, unknown, patient)) == 0.5


class TestOneWasEarly:
    """The interval of these tasks is 0.5 s."""

    def early(self, *calls: Exchange) -> bool:
        told = history(creation("t", started=0.0, ended=0.1), *calls)
        return one_was_early(lives(told)["t"])

    def test_one_that_was_answered_within_the_interval_of_the_one_before(self) -> None:
        once = reading("t", started=1.0, ended=1.1)
        assert not self.early(once)
        assert self.early(once, reading("t", started=1.2, ended=1.3))
        assert not self.early(once, reading("t", started=1.6, ended=1.7))

    def test_two_that_took_longer_may_have_come_far_apart(self) -> None:
        calls = (reading("t", started=1.0, ended=1.4), reading("t", started=1.2, ended=1.7))
        assert not self.early(*calls)

    def test_of_several_that_took_longer_two_came_close_together(self) -> None:
        together = [reading("t", started=1.0 + n / 100, ended=1.8) for n in range(3)]
        assert self.early(*together)

    def test_without_an_interval_none_was(self) -> None:
        made = creation("t", result=handle("t", pollIntervalMs=...), started=0.0)
        bare = [reading("t", members={"pollIntervalMs": ...}, started=2.0) for _ in range(3)]
        assert not one_was_early(lives(history(made, *bare))["t"])
