"""What is not held against a server besides, that loses tasks before their time."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.lost import loses_for_good, loses_unanswered, losses
from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import Exchange
from tests.builders import creation, exchange, handle, history, reading


def judged(rule_id: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges))


def made(task_id: str, at: float = 10.0) -> Exchange:
    return creation(task_id, result=handle(task_id, ttlMs=60_000), started=at, ended=at)


def read(task_id: str, at: float, status: str = "completed", **more: Any) -> Exchange:
    return reading(task_id, status, members={"ttlMs": 60_000}, started=at, ended=at + 0.01, **more)


def gone(task_id: str, at: float, **more: Any) -> Exchange:
    return read(task_id, at, error=-32602, **more)


def answer(task_id: str, at: float, **more: Any) -> Exchange:
    params = {"taskId": task_id, "inputResponses": {}}
    return exchange("tasks/update", params, started=at, ended=at + 0.01, **more)


LOST = (made("lost"), read("lost", 11.0), gone("lost", 12.0))


class TestRefusals:
    """A task may have been gone when a request about it was refused, where tasks are lost."""

    @pytest.mark.parametrize(
        ("rule", "intent", "violated"),
        [
            ("transport.mcp-name-encoded", "mcp-name-encoded", FAIL),
            ("transport.header-names-case-insensitive", "header-names", FAIL),
            ("jsonrpc.unknown-members-ignored", "unknown-members", FAIL),
        ],
    )
    def test_of_a_read(self, rule: str, intent: str, violated: str) -> None:
        control = read("t", 11.0, "working")
        refused = gone("t", 11.5, intent=intent, control=control)
        found = (made("t"), control, refused)
        assert judged(rule, *found).verdict == violated
        assert judged(rule, *found, *LOST).verdict == NOT_EXERCISED
        assert judged(rule, *found, read("t", 12.0), *LOST).verdict == violated

    def test_of_an_answer_under_an_unknown_key(self) -> None:
        rule = "input.unknown-key-ignored"
        control = answer("other", 9.0)
        refused = answer("t", 11.5, intent="unknown-key", control=control, error=-32602)
        found = (made("other", 8.0), control, made("t"), read("t", 11.0, "input_required"), refused)
        assert judged(rule, *found).verdict == WARN
        assert judged(rule, *found, *LOST).verdict == NOT_EXERCISED
        seen_again = read("t", 12.0, "input_required")
        assert judged(rule, *found, seen_again, *LOST).verdict == WARN

    def test_for_other_reasons(self) -> None:
        rule = "transport.mcp-name-encoded"
        control = read("t", 11.0, "working")
        refused = read("t", 11.5, error=-32020, intent="mcp-name-encoded", control=control)
        assert judged(rule, made("t"), control, refused, *LOST).verdict == FAIL


class TestAnAnswerToAnEndedTask:
    """Whether it is what loses a task, tasks that nobody answered show."""

    answered = (
        made("t"), read("t", 11.0), read("t", 11.1), answer("t", 11.5), gone("t", 12.0),
    )  # fmt: skip

    def test_it_may_be(self) -> None:
        assert judged("input.terminal-unaffected", *self.answered).verdict == FAIL
        assert judged("expiry.not-before-ttl", *self.answered).verdict == NOT_EXERCISED

    def test_it_is_not_where_others_are_lost_without_one(self) -> None:
        found = (*self.answered, *LOST)
        assert judged("input.terminal-unaffected", *found).verdict == NOT_EXERCISED
        assert judged("expiry.not-before-ttl", *found).verdict == FAIL
        assert loses_unanswered(history(*found))

    @pytest.mark.parametrize(
        "then",
        [
            (gone("t", 11.4), answer("t", 11.5)),
            (answer("t", 11.5, status=503), gone("t", 12.0)),
        ],
        ids=["it came afterwards", "a gateway refused it"],
    )
    def test_it_is_not_where_it_cannot_have_been(self, then: tuple[Exchange, ...]) -> None:
        found = (made("t"), read("t", 11.0), read("t", 11.1), *then)
        assert losses(history(*found))["t"].answer is None
        assert judged("expiry.not-before-ttl", *found).verdict == FAIL

    def test_one_of_two_that_were_under_way_is_told_with_the_others(self) -> None:
        """Nobody can say which answer lost a task: that answers do, another task shows."""
        both = (answer("u", 11.5), exchange("tasks/cancel", {"taskId": "u"}, started=11.6))
        found = (made("u"), read("u", 11.0), *both, gone("u", 12.0))
        assert losses(history(*found))["u"].answer is None
        assert judged("expiry.not-before-ttl", *found).verdict == FAIL
        assert judged("expiry.not-before-ttl", *found, *self.answered).verdict == NOT_EXERCISED

    def test_of_several_it_is_the_last(self) -> None:
        answers = (answer("t", 11.5), answer("t", 11.7))
        found = (made("t"), read("t", 11.0), read("t", 11.1), *answers, gone("t", 12.0))
        assert losses(history(*found))["t"].answer == answers[1]

    def test_a_task_that_stays_passes_both(self) -> None:
        found = (*self.answered[:-1], read("t", 12.0))
        assert judged("input.terminal-unaffected", *found).verdict == PASS
        assert judged("expiry.not-before-ttl", *found).verdict == PASS
        assert losses(history(*found)) == {}


class TestAFirstRead:
    """One that finds nothing says that a task was never there, or that it is there no more."""

    rule = "creation.durable"

    def test_where_tasks_are_lost(self) -> None:
        found = (made("t"), gone("t", 11.5, intent="read-at-once"))
        assert judged(self.rule, *found).verdict == FAIL
        assert judged(self.rule, *found, *LOST).verdict == NOT_EXERCISED
        assert judged("expiry.not-before-ttl", *found, *LOST).verdict == FAIL

    def test_of_a_task_that_is_there_later_where_others_are_lost(self) -> None:
        found = (made("t"), gone("t", 10.5, intent="read-at-once"), read("t", 11.0))
        assert judged(self.rule, *found, *LOST).verdict == FAIL

    def test_of_a_task_that_came_late(self) -> None:
        """Whenever it was looked for first, and whatever was sent to it in vain."""
        cancel = exchange("tasks/cancel", {"taskId": "t"}, error=-32602, started=10.2, ended=10.3)
        found = (made("t"), cancel, gone("t", 11.5))
        assert judged("expiry.not-before-ttl", *found).verdict == FAIL
        assert judged(self.rule, *found).verdict == NOT_EXERCISED
        late = (*found, read("t", 13.0))
        assert judged("expiry.not-before-ttl", *late).verdict == PASS
        assert judged(self.rule, *late).verdict == FAIL

    def test_of_a_task_that_came_late_to_a_replica(self) -> None:
        there = (gone("t", 11.5, replica=1), read("t", 13.0, replica=1))
        assert judged(self.rule, made("t"), *there).verdict == NOT_EXERCISED

    def test_where_tasks_come_back(self) -> None:
        """A server with several stores finds them now and then: none is lost for good."""
        found = (made("t"), gone("t", 11.5, intent="read-at-once"))
        back = (*LOST, read("lost", 13.0))
        assert loses_for_good(history(*found, *LOST))
        assert not loses_for_good(history(*found, *back))
        assert judged(self.rule, *found, *back).verdict == FAIL
