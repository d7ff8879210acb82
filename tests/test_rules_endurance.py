"""The rules of endurance, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import Exchange
from tests.builders import creation, exchange, handle, history, reading


def judged(rule_id: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges, **circumstances))


class TestReplicas:
    rule = "endurance.replicas"

    def elsewhere(self, method: str = "tasks/get", **more: Any) -> Exchange:
        params: dict[str, Any] = {"taskId": "t"}
        if method == "tasks/update":
            params["inputResponses"] = {}
        return exchange(method, params, intent="elsewhere", replica=1, **more)

    def read(self, status: str = "working", **more: Any) -> Exchange:
        return reading("t", status, intent="elsewhere", replica=1, **more)

    def test_a_known_task_passes(self) -> None:
        made = creation("t")
        calls = (self.read(), self.elsewhere("tasks/update"), self.elsewhere("tasks/cancel"))
        assert judged(self.rule, made, *calls).verdict == PASS

    @pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
    def test_an_unknown_task_fails(self, method: str) -> None:
        calls = (creation("t"), self.elsewhere(method, error=-32602))
        assert judged(self.rule, *calls).verdict == FAIL

    def test_another_error_is_not_judged(self) -> None:
        calls = (creation("t"), self.elsewhere(error=-32603))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_task_whose_time_is_over_is_not_judged(self) -> None:
        made = creation("t", result=handle("t", ttlMs=500), started=1.0)
        late = self.elsewhere(error=-32602, started=2.0)
        assert judged(self.rule, made, late).verdict == NOT_EXERCISED

    def test_one_url_is_not_enough(self) -> None:
        assert "--replica" in judged(self.rule, creation("t")).reason


class TestTheEndElsewhere:
    rule = "endurance.end-known-elsewhere"

    def read(self, status: str = "working", **more: Any) -> Exchange:
        return reading("t", status, intent="elsewhere", replica=1, **more)

    def test_a_replica_that_never_learns_of_the_end_is_a_warning(self) -> None:
        made, end = creation("t", started=1.0), reading("t", "completed", started=2.0)
        late = self.read("working", started=5.0)
        assert judged(self.rule, made, end, late).verdict == WARN
        assert judged("endurance.replicas", made, end, late).verdict == PASS

    def test_a_replica_that_learns_of_it_late_passes(self) -> None:
        made, end = creation("t", started=1.0), reading("t", "completed", started=2.0)
        reads = (self.read("working", started=2.5), self.read("completed", started=6.0))
        assert judged(self.rule, made, end, *reads).verdict == PASS

    def test_a_replica_that_was_not_given_the_time_is_not_judged(self) -> None:
        made, end = creation("t", started=1.0), reading("t", "completed", started=2.0)
        assert judged(self.rule, made, end, self.read("working", started=2.5)).verdict == (
            NOT_EXERCISED
        )

    def test_replicas_may_differ_once_the_time_of_a_task_is_over(self) -> None:
        made = creation("t", result=handle("t", ttlMs=2500), started=1.0)
        end = reading("t", "failed", members={"ttlMs": 2500}, started=4.0)
        late = self.read("working", members={"ttlMs": 2500}, started=7.0)
        assert judged(self.rule, made, end, late).verdict == NOT_EXERCISED

    def test_a_cancelled_task_may_be_shown_as_it_was(self) -> None:
        made, end = creation("t", started=1.0), reading("t", "cancelled", started=2.0)
        cancel = exchange("tasks/cancel", {"taskId": "t"}, started=1.5)
        late = self.read("working", started=5.0)
        assert judged(self.rule, made, cancel, end, late).verdict == NOT_EXERCISED

    def test_one_url_is_not_enough(self) -> None:
        assert "--replica" in judged(self.rule, creation("t")).reason


class TestRestart:
    rule = "endurance.restart"

    def restarted(self, trouble: str = "", **answer: Any) -> Exchange:
        return exchange("server/discover", intent="restarted", notes={"restart": trouble}, **answer)

    def after(self, status: str = "completed", **more: Any) -> Exchange:
        return reading("t", status, intent="after-restart", **more)

    @pytest.mark.parametrize("status", ["completed", "failed", "input_required", "cancelled"])
    def test_a_task_that_is_there_passes(self, status: str) -> None:
        calls = (creation("t"), self.restarted(), self.after(status))
        assert judged(self.rule, *calls, restart=True).verdict == PASS

    def test_a_lost_task_is_a_warning(self) -> None:
        calls = (creation("t"), self.restarted(), self.after(error=-32602))
        assert judged(self.rule, *calls, restart=True).verdict == WARN

    def orphaned(self, until: float) -> list[Exchange]:
        return [
            creation("sibling", started=1.0),
            reading("sibling", "completed", started=2.0),
            creation("t", started=3.0),
            self.restarted(started=4.0),
            self.after("working", started=5.0),
            self.after("working", started=until),
        ]

    def test_a_task_that_works_for_ever_is_a_warning(self) -> None:
        assert judged(self.rule, *self.orphaned(10.0), restart=True).verdict == WARN

    def test_a_task_that_was_not_followed_for_long_is_not_judged(self) -> None:
        assert judged(self.rule, *self.orphaned(6.0), restart=True).verdict == NOT_EXERCISED

    def test_a_restart_that_failed_is_told(self) -> None:
        trouble = "the restart command ended with status 1"
        calls = (creation("t"), self.restarted(trouble), self.after(error=-32602))
        verdict = judged(self.rule, *calls, restart=True)
        assert (verdict.verdict, verdict.reason) == (NOT_EXERCISED, trouble)

    def test_a_server_that_did_not_come_back_is_told(self) -> None:
        before = reading("t", intent="before-restart")
        verdict = judged(self.rule, creation("t"), before, restart=True)
        assert verdict.verdict == NOT_EXERCISED
        assert "did not answer any more" in verdict.reason

    def test_without_a_command_it_is_said_what_to_pass(self) -> None:
        assert "--restart-command" in judged(self.rule, creation("t")).reason
