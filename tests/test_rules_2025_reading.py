"""polling, lifecycle, outcome, results and listing of 2025-11-25, on histories written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.judge.verdict import FAIL, NOT_APPLICABLE, NOT_EXERCISED, PASS, WARN
from conformance.target.roles import PROTOCOL_ERROR
from conformance.target.roles_2025 import roles_of_2025
from conformance.wire.exchange import Exchange, Fault, JsonObject
from tests.builders_2025 import (
    RESULT,
    TOOL_ERROR,
    answer,
    at,
    call,
    cancel,
    creation,
    exchange,
    fetch,
    handshake,
    history,
    judged,
    page,
    question,
    reading,
    related,
    stream,
    task,
    violated,
)

LATER = {"lastUpdatedAt": "2025-11-25T12:00:05.123Z"}
NO_TASKS: JsonObject = {"tools": {}}
CALLS_ONLY: JsonObject = {"tasks": {"requests": {"tools": {"call": {}}}}}


class TestRead:
    rule = "polling.shape"

    def test_flat_passes(self) -> None:
        assert judged(self.rule, creation(), reading()).verdict == PASS

    def test_nested_fails(self) -> None:
        assert judged(self.rule, creation(), reading(result={"task": task()})).verdict == FAIL

    def test_another_result_fails(self) -> None:
        assert judged(self.rule, creation(), reading(result={"status_": 1})).verdict == FAIL

    @pytest.mark.parametrize("members", [{"taskId": ...}, {"taskId": 1}, {"statusMessage": 1}])
    def test_members(self, members: dict[str, object]) -> None:
        assert judged(self.rule, creation(), reading(members=members)).verdict == FAIL

    @pytest.mark.parametrize("name", ["createdAt", "lastUpdatedAt"])
    @pytest.mark.parametrize("where", ["handle", "get", "cancel", "list"])
    def test_times_are_always_told(self, name: str, where: str) -> None:
        rule, lacking = "polling.times-told", task(**{name: ...})
        whole = [creation(), reading(), cancel(), page(task())]
        assert judged(rule, *whole).verdict == PASS
        wrong = {
            "handle": creation(members={name: ...}),
            "get": reading(members={name: ...}),
            "cancel": cancel(result=lacking),
            "list": page(lacking),
        }
        assert judged(rule, *whole, wrong[where]).verdict == FAIL

    def test_a_notification_is_told_of_elsewhere(self) -> None:
        told = stream(at(1, method="notifications/tasks/status", params={"taskId": "t"}))
        assert judged("polling.times-told", creation(), told).verdict == PASS

    def test_the_ttl_is_always_told(self) -> None:
        rule = "polling.ttl-told"
        assert judged(rule, reading()).verdict == PASS
        assert judged(rule, reading(members={"ttl": None})).verdict == PASS
        assert judged(rule, reading(members={"ttl": ...})).verdict == FAIL

    def test_it_is_the_task_asked_for(self) -> None:
        rule = "polling.same-task"
        made = [creation("a"), creation("b")]
        assert judged(rule, *made, reading("a")).verdict == PASS
        assert judged(rule, *made, reading("a", result=task("b"))).verdict == FAIL


class TestReadsThatFail:
    served, passing = "polling.served", "polling.passing-errors"

    def kept(self, status: str = "working") -> Exchange:
        return reading(status=status, members={"ttl": None})

    def failed(self, times: int) -> list[Exchange]:
        return [exchange("tasks/get", {"taskId": "t"}, error=-32603) for _ in range(times)]

    def test_a_task_that_is_told_passes(self) -> None:
        scene = [creation(members={"ttl": None}), self.kept(), self.kept("completed")]
        assert judged(self.served, *scene).verdict == PASS
        assert judged(self.passing, *scene).verdict == PASS

    def test_a_state_that_is_skipped_fails(self) -> None:
        endless = {"ttl": None}
        scene = [creation(members=endless), creation("other", members=endless), *self.failed(3)]
        scene += [reading("other", members=endless), *self.failed(3), self.kept("completed")]
        assert judged(self.served, *scene).verdict == FAIL

    def test_errors_that_pass_warn(self) -> None:
        scene = [creation(members={"ttl": None})]
        for _ in range(2):
            scene += [self.kept(), *self.failed(1), self.kept()]
        assert judged(self.passing, *scene).verdict == WARN


@pytest.mark.parametrize(
    ("rule", "method"),
    [
        ("polling.unknown-id", "tasks/get"),
        ("results.unknown-id", "tasks/result"),
        ("cancellation.unknown-task", "tasks/cancel"),
    ],
)
class TestUnknown:
    def probe(self, method: str, intent: str = "unknown-id", **more: Any) -> Exchange:
        return exchange(method, {"taskId": "nobody"}, intent=intent, **more)

    def test_invalid_params_passes(self, rule: str, method: str) -> None:
        assert judged(rule, handshake(), self.probe(method, error=-32602)).verdict == PASS

    @pytest.mark.parametrize("code", [-32001, -32002, -32603, -32600])
    def test_other_codes_fail(self, rule: str, method: str, code: int) -> None:
        assert judged(rule, handshake(), self.probe(method, error=code)).verdict == FAIL

    def test_an_answer_fails(self, rule: str, method: str) -> None:
        assert judged(rule, handshake(), self.probe(method, result=task())).verdict == FAIL

    def test_resembling_a_real_one_is_not_enough(self, rule: str, method: str) -> None:
        probe = self.probe(method, "derived-id", result=task())
        assert judged(rule, handshake(), probe).verdict == FAIL

    def test_a_server_without_tasks_is_not_judged(self, rule: str, method: str) -> None:
        probe = self.probe(method, error=-32601)
        verdict = judged(rule, handshake(capabilities=NO_TASKS), probe).verdict
        assert verdict == NOT_APPLICABLE

    def test_nor_is_a_rate_limit(self, rule: str, method: str) -> None:
        probe = self.probe(method, status=429)
        assert judged(rule, handshake(), probe).verdict == NOT_EXERCISED


def test_an_unknown_result_is_not_waited_for() -> None:
    rule = "results.unknown-id"
    late = Fault("timeout", "no answer")
    held = fetch("nobody", intent="unknown-id", fault=late, started=1.0, ended=6.0)
    assert judged(rule, handshake(), held, reading(started=2.0)).verdict == FAIL
    assert judged(rule, handshake(), held).verdict == NOT_EXERCISED


class TestMembers:
    @pytest.mark.parametrize("wrong", ["12:00", 1_764_072_000, "2025-11-25 12:00:00Z"])
    def test_times_are_iso_8601(self, wrong: object) -> None:
        rule = "polling.timestamps"
        assert judged(rule, creation(), reading()).verdict == PASS
        assert judged(rule, creation(), reading(members={"createdAt": wrong})).verdict == FAIL
        verdict = judged(rule, creation(members={"createdAt": wrong}))
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/task/createdAt"

    def test_created_at_is_constant(self) -> None:
        rule = "polling.created-at-constant"
        moved = reading(members={"createdAt": "2025-11-25T12:00:01.123Z", **LATER})
        assert judged(rule, creation(), reading()).verdict == PASS
        assert judged(rule, creation(), moved).verdict == FAIL

    def test_updated_at_never_goes_back(self) -> None:
        rule = "polling.updated-at-monotonic"
        assert judged(rule, creation(), reading(members=LATER)).verdict == PASS
        assert judged(rule, creation(), reading(members=LATER), reading()).verdict == FAIL
        early = reading(members={"lastUpdatedAt": "2025-11-25T11:59:00.123Z"})
        assert judged(rule, creation(), early).verdict == FAIL

    def test_updated_at_tracks_changes(self) -> None:
        rule = "polling.updated-at-tracks-change"
        moved = [creation(), reading(), reading(status="completed", members=LATER)]
        assert judged(rule, *moved).verdict == PASS
        assert judged(rule, creation(), reading(), reading(status="completed")).verdict == WARN
        restless = {"lastUpdatedAt": "2025-11-25T12:00:09.123Z"}
        ended = [creation(), reading(status="completed", members=LATER)]
        assert judged(rule, *ended, reading(status="completed", members=restless)).verdict == WARN

    @pytest.mark.parametrize(
        "members", [{"ttl": "60000"}, {"ttl": True}, {"pollInterval": "5"}, {"pollInterval": None}]
    )
    def test_durations_are_numbers(self, members: dict[str, object]) -> None:
        rule = "polling.durations"
        assert judged(rule, creation(members={"ttl": None, "pollInterval": ...})).verdict == PASS
        assert judged(rule, creation(members={"ttl": 1.5})).verdict == PASS
        assert judged(rule, creation(members=members)).verdict == FAIL
        assert judged(rule, reading(members=members)).verdict == FAIL

    @pytest.mark.parametrize(
        "members",
        [
            {"ttl": 60},
            {"ttl": 0},
            {"pollInterval": 5},
            {"pollInterval": 0},
            {"ttl": 4000, "pollInterval": 5000},
        ],
    )
    def test_durations_are_milliseconds(self, members: dict[str, object]) -> None:
        rule = "polling.durations-plausible"
        assert judged(rule, creation()).verdict == PASS
        assert judged(rule, creation(members=members)).verdict == WARN

    def test_a_ttl_that_was_asked_for_is_the_client_s(self) -> None:
        made = creation(asked={"ttl": 60}, members={"ttl": 60})
        assert judged("polling.durations-plausible", made).verdict == PASS


class TestManners:
    def test_reads_come_as_json(self) -> None:
        rule = "polling.no-stream"
        assert judged(rule, reading()).verdict == PASS
        streamed = reading(request_id=7, result=None, events=[{"id": 7, "result": task()}])
        assert judged(rule, streamed).verdict == WARN

    def test_no_related_task_where_the_task_is(self) -> None:
        rule = "polling.no-related-task"
        assert judged(rule, reading(), page(), cancel()).verdict == PASS
        for wrong in (
            reading(result=related(task())),
            cancel(result=related(task())),
            page(result=related({"tasks": []})),
        ):
            assert judged(rule, wrong).verdict == WARN

    def test_the_parameter_decides(self) -> None:
        rule, intent = "polling.parameter-decides", "related-task-differs"
        control = reading("a")
        before = [creation("a"), creation("b"), control]
        about = related({"taskId": "a"}, "b")

        def probe(**more: Any) -> Exchange:
            return exchange("tasks/get", about, intent=intent, control=control, **more)

        assert judged(rule, *before, probe(result=task("a"))).verdict == PASS
        assert judged(rule, *before, probe(result=task("b"))).verdict == FAIL
        assert judged(rule, *before, probe(error=-32602)).verdict == FAIL

    def test_the_parameter_decides_for_results(self) -> None:
        rule, intent = "polling.parameter-decides", "related-task-differs"
        control = fetch("a")
        before = [creation("a"), creation("b"), reading("a", "completed"), control]
        about = related({"taskId": "a"}, "b")

        def probe(result: object) -> Exchange:
            return exchange("tasks/result", about, intent=intent, control=control, result=result)

        assert judged(rule, *before, probe(related(RESULT, "a"))).verdict == PASS
        assert judged(rule, *before, probe(related(RESULT, "b"))).verdict == FAIL
        assert judged(rule, *before, probe(related(TOOL_ERROR, "a"))).verdict == FAIL


class TestLifecycle:
    def test_five_statuses(self) -> None:
        rule = "lifecycle.known-status"
        assert judged(rule, creation(), reading(status="completed")).verdict == PASS
        verdict = judged(rule, creation(status="submitted"))
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/task/status"

    @pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
    def test_no_way_out_of_an_end(self, end: str) -> None:
        rule = "lifecycle.legal-transitions"
        right = [creation(), reading(), reading(status="input_required"), reading(status=end)]
        assert judged(rule, *right).verdict == PASS
        assert judged(rule, *right, reading()).verdict == FAIL

    def test_after_its_time_anything_may_be(self) -> None:
        short = [
            creation(members={"ttl": 2000}, started=1.0),
            reading(status="completed", members={"ttl": 2000}, started=1.5),
            reading(status="failed", members={"ttl": 2000}, started=9.0),
        ]
        assert judged("lifecycle.legal-transitions", *short).verdict == PASS

    def test_tasks_end(self) -> None:
        rule = "lifecycle.reaches-an-end"
        quick = [creation("a", started=1.0), reading("a", "completed", started=1.5)]
        assert judged(rule, *quick).verdict == PASS
        stuck = [creation("b", started=2.0), reading("b", started=20.0)]
        assert judged(rule, *quick, *stuck).verdict == WARN
        # What a tool asks may have come where nobody listened.
        asks = [creation("c", started=1.0), reading("c", "input_required", started=1.2)]
        assert judged(rule, *quick, *asks, *stuck).verdict == PASS
        heard = fetch("b", events=[question(3.0, "b")], started=2.5, ended=20.0)
        assert judged(rule, *asks, *quick, *stuck, heard, answer(started=4.0)).verdict == WARN


class TestOutcome:
    def test_a_tool_error_fails_the_task(self) -> None:
        rule = "outcome.tool-error-fails"
        error = related(TOOL_ERROR)
        right = [creation(), reading(status="failed"), fetch(result=error)]
        assert judged(rule, *right).verdict == PASS
        wrong = [creation(), reading(status="completed"), fetch(result=error)]
        assert judged(rule, *wrong).verdict == WARN
        plain = [creation(), reading(status="completed"), fetch()]
        assert judged(rule, *plain).verdict == NOT_EXERCISED

    def test_a_protocol_error_fails_the_task(self) -> None:
        rule = "outcome.protocol-error-fails"
        error = {"code": -32603, "message": "no disk"}
        plain = call(error=error, intent="call-plainly")
        failed = [plain, creation(), reading(status="failed"), fetch(error=error)]
        assert judged(rule, *failed).verdict == PASS
        completed = [plain, creation(), reading(status="completed"), fetch(error=error)]
        assert judged(rule, *completed).verdict == FAIL
        # Without the plain call nobody knows whose error it is.
        unknown = [creation(), reading(status="completed"), fetch(error=error)]
        assert judged(rule, *unknown).verdict == NOT_EXERCISED

    def test_a_tool_whose_error_completes_its_task_is_called_plainly_too(self) -> None:
        def played(code: int) -> frozenset[str]:
            whole = [creation(), reading(status="completed"), fetch(error=code)]
            return roles_of_2025(history(whole))["export"]

        assert PROTOCOL_ERROR in played(1001)
        # What is gone has not ended in that error.
        assert PROTOCOL_ERROR not in played(-32602)

    def test_a_failed_task_says_why(self) -> None:
        rule = "outcome.failed-status-message"
        told = reading(status="failed", members={"statusMessage": "The disk is full"})
        assert judged(rule, creation(), told).verdict == PASS
        assert judged(rule, creation(), reading(status="failed")).verdict == WARN

    def both(self, plain: dict[str, Any], task_result: dict[str, Any]) -> list[Exchange]:
        made = [
            each
            for name in ("a", "b")
            for each in (
                creation(name, intent="call-as-task"),
                reading(name, "completed"),
                fetch(
                    name,
                    **(
                        {"error": task_result["error"]}
                        if "error" in task_result
                        else {"result": related(task_result, name)}
                    ),
                ),
            )
        ]
        first, last = (
            call(
                intent="call-plainly",
                **({"error": plain["error"]} if "error" in plain else {"result": plain}),
            )
            for _ in range(2)
        )
        return [first, *made, last]

    def later(self, exchanges: list[Exchange]) -> list[Exchange]:
        """The plain calls, the first and the last, come before and after all others."""
        last = exchanges[-1]
        moment = max(e.ended for e in exchanges) + 1
        first = exchanges[0]
        earliest = min(e.started for e in exchanges) - 1
        return [
            replace(first, started=earliest, ended=earliest + 0.1),
            *exchanges[1:-1],
            replace(last, started=moment, ended=moment + 0.1),
        ]

    def test_the_same_both_ways(self) -> None:
        rule = "outcome.same-as-synchronous"
        error = {"error": {"code": -32603, "message": "no disk"}}
        other = {"error": {"code": -32000, "message": "no disk"}}
        assert judged(rule, *self.later(self.both(RESULT, RESULT))).verdict == PASS
        assert judged(rule, *self.later(self.both(TOOL_ERROR, TOOL_ERROR))).verdict == PASS
        assert judged(rule, *self.later(self.both(error, error))).verdict == PASS
        changed = {"content": [{"type": "text", "text": "Done!"}]}
        assert judged(rule, *self.later(self.both(RESULT, changed))).verdict == FAIL
        assert judged(rule, *self.later(self.both(RESULT, TOOL_ERROR))).verdict == FAIL
        assert judged(rule, *self.later(self.both(error, other))).verdict == FAIL
        lost = {**TOOL_ERROR, "isError": False}
        assert judged(rule, *self.later(self.both(TOOL_ERROR, lost))).verdict == FAIL
        assert judged(rule, *self.later(self.both(error, TOOL_ERROR))).verdict == FAIL

    def test_a_tool_that_works_only_as_a_task(self) -> None:
        rule = "outcome.same-as-synchronous"
        error = {"error": {"code": -32603, "message": "took too long"}}
        assert judged(rule, *self.later(self.both(error, RESULT))).verdict == NOT_EXERCISED


class TestResults:
    def test_an_ended_task_has_one(self) -> None:
        rule = "results.returned"
        before = [creation(), reading(status="completed")]
        assert judged(rule, *before, fetch()).verdict == PASS
        assert judged(rule, *before, fetch(error=-32602)).verdict == FAIL
        assert judged(rule, *before, fetch(error=-32603)).verdict == FAIL
        failed = [creation(), reading(status="failed")]
        assert judged(rule, *failed, fetch(error=-32000)).verdict == PASS
        assert judged(rule, *failed, fetch(error=-32602)).verdict == NOT_EXERCISED
        plain = call(result=TOOL_ERROR, intent="call-plainly")
        assert judged(rule, plain, *failed, fetch(error=-32602)).verdict == FAIL

    @pytest.mark.parametrize("status", ["completed", "failed"])
    def test_an_ended_one_has_its_result_in_words(self, status: str) -> None:
        rule = "results.returned"
        before = [creation("a"), creation("b"), reading("a", status), reading("b", status)]
        failed = [fetch(each, body="<html>", http_status=500) for each in ("a", "b")]
        assert judged(rule, *before, *failed).verdict == FAIL
        assert judged(rule, *before, failed[0]).verdict == NOT_EXERCISED
        assert judged(rule, *before, *failed, fetch("a")).verdict == PASS
        # Where there is no answer at all, results.released-at-end tells.
        silent = [fetch(each, fault=Fault("timeout", "no answer")) for each in ("a", "b")]
        assert judged(rule, *before, *silent).verdict == NOT_EXERCISED

    def test_a_cancelled_or_expired_one_may_be_gone(self) -> None:
        rule = "results.returned"
        gone = [creation(), cancel(), reading(status="cancelled"), fetch(error=-32602)]
        assert judged(rule, *gone).verdict == NOT_EXERCISED
        short = [
            creation(members={"ttl": 2000}, started=1.0),
            reading(status="completed", members={"ttl": 2000}, started=1.5),
            fetch(error=-32602, started=4.0),
        ]
        assert judged(rule, *short).verdict == NOT_EXERCISED

    @pytest.mark.parametrize(
        "result",
        [
            {"task": task()},
            task(),
            {"result": RESULT},
            {"content": "done"},
            {"content": [{"type": "text"}]},
            {},
        ],
        ids=["handle", "task", "wrapped", "text", "no text", "nothing"],
    )
    def test_it_is_that_of_the_call(self, result: dict[str, object]) -> None:
        rule = "results.shape"
        before = [creation(), reading(status="completed")]
        assert judged(rule, *before, fetch()).verdict == PASS
        assert judged(rule, *before, fetch(result=related(result))).verdict == FAIL

    def test_it_names_its_task(self) -> None:
        rule = "results.related-task"
        before = [creation(), reading(status="completed")]
        assert judged(rule, *before, fetch()).verdict == PASS
        assert judged(rule, *before, fetch(result=RESULT)).verdict == FAIL
        assert judged(rule, *before, fetch(result=related(RESULT, "u"))).verdict == FAIL
        assert judged(rule, *before, fetch(error=-32000)).verdict == NOT_EXERCISED

    def test_it_waits_for_the_end(self) -> None:
        rule = "results.blocks"
        early = [creation(started=1.0), fetch(started=2.0, ended=2.1), reading(started=3.0)]
        assert judged(rule, *early).verdict == FAIL
        refused = [
            creation(started=1.0),
            fetch(started=2.0, error=-32602),
            reading(status="input_required", started=3.0),
        ]
        assert judged(rule, *refused).verdict == FAIL
        waited = [
            creation(started=1.0),
            fetch(started=2.0, ended=4.0),
            reading(started=3.0),
            reading(status="completed", started=5.0),
        ]
        assert judged(rule, *waited).verdict == PASS

    def test_a_stream_that_broke_off_has_not_answered(self) -> None:
        broken = [
            creation(started=1.0),
            fetch(events=[": "], started=2.0, ended=2.1),
            reading(started=3.0),
        ]
        assert judged("results.blocks", *broken).verdict == NOT_EXERCISED

    def test_it_comes_with_the_end(self) -> None:
        rule = "results.released-at-end"
        late = Fault("timeout", "no answer")
        before = [creation(started=1.0), reading(status="completed", started=3.0)]
        answered = fetch(started=2.0, ended=3.2)
        assert judged(rule, *before, answered).verdict == PASS
        waiting = fetch(fault=late, started=2.0, ended=9.0)
        assert judged(rule, *before, waiting).verdict == FAIL
        soon = fetch(fault=late, started=2.0, ended=4.0)
        assert judged(rule, *before, soon).verdict == NOT_EXERCISED

    def test_also_with_a_cancellation(self) -> None:
        waiting = [
            creation(started=1.0),
            fetch(
                fault=Fault("timeout", "no answer"),
                started=2.0,
                ended=9.0,
                intent="result-while-cancelled",
            ),
            cancel(started=3.0),
            reading(status="cancelled", started=4.0),
        ]
        assert judged("results.released-at-end", *waiting).verdict == FAIL

    def test_of_a_ttl_that_is_no_number_nobody_knows_the_end(self) -> None:
        text = {"ttl": "2000"}
        made = [creation(members=text), reading(status="completed", members=text)]
        whole = [*made, fetch(), fetch(error=-32602)]
        assert judged("results.returned", *made, fetch(error=-32602)).verdict == NOT_EXERCISED
        assert judged("results.repeatable", *whole).verdict == NOT_EXERCISED

    def test_it_stays_the_same(self) -> None:
        rule = "results.repeatable"
        before = [creation(), reading(status="completed"), fetch()]
        assert judged(rule, *before, fetch()).verdict == PASS
        other = related({"content": [{"type": "text", "text": "else"}]})
        assert judged(rule, *before, fetch(result=other)).verdict == FAIL
        # An error that could as well be another matter says nothing.
        assert judged(rule, *before, fetch(error=-32601)).verdict == NOT_EXERCISED
        assert judged(rule, *before, fetch(error=-32602)).verdict == FAIL


class TestListing:
    def test_it_has_its_shape(self) -> None:
        rule = "listing.shape"
        assert judged(rule, handshake(), page(task(), next_cursor="2")).verdict == PASS
        for wrong in (
            page(result={}),
            page(result={"tasks": {}}),
            page(result={"tasks": [], "nextCursor": None}),
            page(task(taskId=...)),
            page(task(ttl=...)),
        ):
            assert judged(rule, handshake(), wrong).verdict == FAIL
        assert judged(rule, handshake(capabilities=CALLS_ONLY)).verdict == NOT_APPLICABLE

    def test_what_is_found_is_listed(self) -> None:
        rule = "listing.complete"
        before = [handshake(), creation("a"), creation("b")]
        whole = [page(task("a"), next_cursor="2"), page(task("b"), cursor="2"), reading("b")]
        assert judged(rule, *before, *whole).verdict == PASS
        before = [handshake(), creation("a"), creation("b")]
        lacking = [page(task("a")), reading("b")]
        assert judged(rule, *before, *lacking).verdict == FAIL

    def test_a_walk_that_was_not_finished_says_nothing(self) -> None:
        walk = [handshake(), creation("b"), page(task("a"), next_cursor="2"), reading("b")]
        assert judged("listing.complete", *walk).verdict == NOT_EXERCISED

    def test_another_session_or_caller_may_see_less(self) -> None:
        rule = "listing.complete"
        made = [handshake(), creation("b"), page(session="two"), reading("b")]
        assert judged(rule, *made).verdict == NOT_EXERCISED
        made = [handshake(), creation("b"), page(caller="second"), reading("b")]
        assert judged(rule, *made).verdict == NOT_EXERCISED

    def test_a_task_that_is_gone_need_not_be_listed(self) -> None:
        made = [handshake(), creation("b"), page(), reading("b", error=-32602)]
        assert judged("listing.complete", *made).verdict == NOT_EXERCISED
        # Nor need one that came back when its time was over.
        short = {"ttl": 2000}
        made = [handshake(), creation("b", members=short, started=1.0), page(started=2.0)]
        back = reading("b", members=short, started=9.0)
        assert judged("listing.complete", *made, back).verdict == NOT_EXERCISED

    def test_a_task_that_is_stored_late_is_told_of_once(self) -> None:
        made = [handshake(), creation("b"), reading("b", error=-32602, intent="read-at-once")]
        made += [page(), reading("b")]
        assert judged("listing.complete", *made).verdict == FAIL
        found = violated(*made)
        assert "creation.durable" in found
        assert "listing.complete" not in found

    def test_cursors_lead_on(self) -> None:
        rule = "listing.cursors-advance"
        right = [page(next_cursor="2"), page(cursor="2")]
        assert judged(rule, handshake(), *right).verdict == PASS
        own = [page(next_cursor="2"), page(cursor="2", next_cursor="2")]
        assert judged(rule, handshake(), *own).verdict == FAIL
        circle = [
            page(next_cursor="2"),
            page(cursor="2", next_cursor="3"),
            page(cursor="3", next_cursor="2"),
        ]
        assert judged(rule, handshake(), *circle).verdict == FAIL

    def test_a_bad_cursor_is_refused(self) -> None:
        rule, cursor = "listing.bad-cursor", "mcp-tasks-conformance-no-cursor"
        control = page()

        def probe(**more: Any) -> Exchange:
            return page(cursor=cursor, intent="bad-cursor", control=control, **more)

        assert judged(rule, handshake(), control, probe(error=-32602)).verdict == PASS
        assert judged(rule, handshake(), control, probe(error=-32603)).verdict == FAIL
        assert judged(rule, handshake(), control, probe()).verdict == FAIL

    def test_it_agrees_with_get(self) -> None:
        rule = "listing.agrees-with-get"
        before = [handshake(), creation(), reading(status="completed")]
        assert judged(rule, *before, page(task("t", "completed"))).verdict == PASS
        assert judged(rule, *before, page(task("t", "working"))).verdict == FAIL
        other = task("t", "completed", createdAt="2025-11-25T11:00:00.123Z")
        assert judged(rule, *before, page(other)).verdict == FAIL
        live = [handshake(), creation(), reading(), page(task("t", "completed"))]
        assert judged(rule, *live).verdict == NOT_EXERCISED


def test_histories_are_of_this_revision() -> None:
    assert history([reading()]).circumstances.spec == "2025-11-25"
