"""The rules of polling that look at times and durations, on histories written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import Exchange, JsonObject
from tests.builders import CALL_RESULT, QUESTION, creation, exchange, handle, history, reading


def judged(rule_id: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges))


def with_times(
    status: str = "working",
    updated: object = "2026-07-28T12:00:00.123Z",
    *,
    created: object = "2026-07-28T12:00:00.123Z",
    members: JsonObject | None = None,
    **more: Any,
) -> Exchange:
    times = {"createdAt": created, "lastUpdatedAt": updated}
    return reading("t", status, members={**times, **(members or {})}, **more)


def second(number: float) -> str:
    return f"2026-07-28T12:00:{number + 0.123:06.3f}Z"


class TestTimestamps:
    rule = "polling.timestamps"

    @pytest.mark.parametrize(
        "text",
        [
            "2026-07-28T12:00:00Z",
            "2026-07-28T12:00:00.123456+00:00",
            "2026-07-28T17:30:00.123456789+05:30",
            "20260728T120000Z",
        ],
    )
    def test_iso_8601_passes(self, text: str) -> None:
        made = creation("t", result=handle("t", createdAt=text))
        assert judged(self.rule, made, with_times(updated=text)).verdict == PASS

    @pytest.mark.parametrize(
        "value",
        [
            1785240000,
            1785240000.5,
            None,
            "1785240000",
            "2026-07-28",
            "2026-07-28 12:00:00Z",
            "Tue, 28 Jul 2026 12:00:00 GMT",
            "",
            {"seconds": 1},
        ],
    )
    @pytest.mark.parametrize("name", ["createdAt", "lastUpdatedAt"])
    def test_anything_else_fails(self, name: str, value: object) -> None:
        wrong = reading("t", members={name: value})
        verdict = judged(self.rule, creation("t"), wrong)
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == f"/result/{name}"

    def test_a_handle_is_looked_at_too(self) -> None:
        made = creation("t", result=handle("t", createdAt=1785240000))
        assert judged(self.rule, made).verdict == FAIL

    def test_a_missing_zone_is_a_note(self) -> None:
        text = "2026-07-28T12:00:00"
        made = creation("t", result=handle("t", createdAt=text, lastUpdatedAt=text))
        verdict = judged(self.rule, made)
        assert verdict.verdict == PASS
        assert "zone" in verdict.reason

    def test_a_missing_time_is_left_to_another_rule(self) -> None:
        assert judged(self.rule, creation("t", result=handle("t", createdAt=...))).verdict == PASS


class TestCreatedAtConstant:
    rule = "polling.created-at-constant"

    def test_the_same_moment_passes(self) -> None:
        assert judged(self.rule, creation("t"), with_times(), with_times()).verdict == PASS

    @pytest.mark.parametrize(
        "text",
        [
            "2026-07-28T14:00:00.123+02:00",
            "2026-07-28T12:00:00Z",
            "2026-07-28T12:00:00.123400Z",
            "2026-07-28T12:00:01Z",
        ],
    )
    def test_the_same_moment_written_otherwise_passes(self, text: str) -> None:
        assert judged(self.rule, creation("t"), with_times(created=text)).verdict == PASS

    @pytest.mark.parametrize("text", ["2026-07-28T12:00:00.002Z", "2026-07-28T12:00:02Z"])
    def test_another_moment_fails(self, text: str) -> None:
        verdict = judged(self.rule, creation("t"), with_times(), with_times(created=text))
        assert verdict.verdict == FAIL
        assert len(verdict.evidence[0].exchanges) == 2

    def test_one_time_may_be_cut_where_another_is_rounded(self) -> None:
        cut, rounded = "2026-07-28T12:00:00Z", "2026-07-28T12:00:01Z"
        made = creation("t", result=handle("t", createdAt=cut, lastUpdatedAt=cut))
        read = with_times(created=rounded, updated=rounded)
        assert judged(self.rule, made, read).verdict == PASS

    def test_another_task_has_another_moment(self) -> None:
        other = creation("u", result=handle("u", createdAt="2026-07-28T13:00:00.123Z"))
        assert judged(self.rule, creation("t"), other, with_times()).verdict == PASS

    def test_moments_that_cannot_be_read_are_not_judged(self) -> None:
        made = creation("t", result=handle("t", createdAt="yesterday"))
        assert judged(self.rule, made, with_times(created="today")).verdict == NOT_EXERCISED


class TestUpdatedAtMonotonic:
    rule = "polling.updated-at-monotonic"

    def test_the_same_and_later_pass(self) -> None:
        calls = (creation("t"), with_times(updated=second(1)), with_times(updated=second(2)))
        assert judged(self.rule, *calls).verdict == PASS

    def test_before_the_creation_fails(self) -> None:
        early = "2026-07-28T11:59:57.123Z"
        assert judged(self.rule, creation("t"), with_times(updated=early)).verdict == FAIL

    def test_two_clocks_of_one_server_may_differ_a_little(self) -> None:
        early = "2026-07-28T11:59:59.600Z"
        assert judged(self.rule, creation("t"), with_times(updated=early)).verdict == NOT_EXERCISED
        calls = (creation("t"), with_times(updated=second(2)), with_times(updated=second(1)))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED

    def test_a_worse_fault_is_told_behind_a_doubtful_one(self) -> None:
        made = creation("t")
        calls = (with_times(updated=second(9)), with_times(updated=second(8)), with_times())
        assert judged(self.rule, made, *calls).verdict == FAIL

    def test_one_sighting_proves_nothing(self) -> None:
        assert judged(self.rule, creation("t")).verdict == NOT_EXERCISED
        elsewhere = with_times(created="2026-07-28T12:00:00", updated="2026-07-28T12:00:00")
        assert judged(self.rule, creation("t"), elsewhere).verdict == NOT_EXERCISED

    def test_the_second_it_was_created_in_passes(self) -> None:
        made = "2026-07-28T12:00:00.700Z"
        made_then = creation("t", result=handle("t", createdAt=made, lastUpdatedAt=made))
        cut = with_times(created=made, updated="2026-07-28T12:00:00Z")
        assert judged(self.rule, made_then, cut).verdict == PASS

    def test_going_back_fails(self) -> None:
        calls = (creation("t"), with_times(updated=second(9)), with_times(updated=second(1)))
        verdict = judged(self.rule, *calls)
        assert verdict.verdict == FAIL
        assert "went back" in verdict.reason

    def test_another_replica_may_learn_of_a_change_late(self) -> None:
        late = replace(with_times(updated=second(1)), replica=1)
        calls = (creation("t"), with_times(updated=second(1)), with_times(updated=second(9)), late)
        assert judged(self.rule, *calls).verdict == PASS

    def test_reads_that_overlap_prove_nothing(self) -> None:
        made = creation("t", started=1.0)
        later = with_times(updated=second(2), started=2.0, ended=2.2)
        earlier = with_times(updated=second(1), started=2.1, ended=2.3)
        assert judged(self.rule, made, later, earlier).verdict == PASS


class TestUpdatedAtTracksChange:
    rule = "polling.updated-at-tracks-change"

    def test_moving_with_the_state_passes(self) -> None:
        made = creation("t")
        calls = (with_times(), with_times(), with_times("completed", second(3)))
        assert judged(self.rule, made, *calls).verdict == PASS

    def test_not_moving_with_the_state_is_warned_of(self) -> None:
        made = creation("t")
        calls = (with_times(), with_times(), with_times("completed"))
        verdict = judged(self.rule, made, *calls)
        assert verdict.verdict == WARN
        assert "did not" in verdict.reason

    def test_not_moving_with_new_requests_is_warned_of(self) -> None:
        made = creation("t")
        more = {"inputRequests": {"question-1": QUESTION, "question-2": QUESTION}}
        calls = [with_times("input_required", second(1)) for _ in range(2)]
        calls.append(with_times("input_required", second(1), members=more))
        assert judged(self.rule, made, *calls).verdict == WARN

    def test_nothing_open_before_the_status_follows_is_no_state(self) -> None:
        made = creation("t")
        asking = [reading("t", "input_required") for _ in range(2)]
        none = reading("t", "input_required", members={"inputRequests": {}})
        assert judged(self.rule, made, *asking, none, reading("t")).verdict == NOT_EXERCISED

    def test_a_change_right_after_the_first_sighting_may_be_in_the_same_millisecond(self) -> None:
        assert judged(self.rule, creation("t"), with_times("completed")).verdict == NOT_EXERCISED

    def test_whole_seconds_hide_changes_in_the_same_second(self) -> None:
        noon = "2026-07-28T12:00:00Z"
        made = creation("t", result=handle("t", lastUpdatedAt=noon), started=1.0, ended=1.1)
        calls = [with_times(updated=noon, started=1.2 + n / 10) for n in range(5)]
        calls.append(with_times("completed", noon, started=1.8))
        assert judged(self.rule, made, *calls).verdict == NOT_EXERCISED

    def test_whole_seconds_do_not_hide_changes_of_later_seconds(self) -> None:
        noon = "2026-07-28T12:00:00Z"
        made = creation("t", result=handle("t", lastUpdatedAt=noon), started=1.0, ended=1.1)
        calls = (
            with_times(updated=noon, started=2.5),
            with_times(updated=noon, started=2.6),
            with_times("completed", noon, started=2.8),
        )
        assert judged(self.rule, made, *calls).verdict == WARN
        # A server that shows a change one read late may have changed the task long before.
        assert judged(self.rule, made, *calls[1:]).verdict == NOT_EXERCISED

    def test_a_message_may_change_without_it(self) -> None:
        made = creation("t")
        calls = [with_times(members={"statusMessage": text}) for text in ("a", "b", "c")]
        assert judged(self.rule, made, *calls).verdict == NOT_EXERCISED

    def test_resting_after_the_end_passes(self) -> None:
        made = creation("t")
        calls = (with_times("completed", second(3)), with_times("completed", second(3)))
        assert judged(self.rule, made, *calls).verdict == PASS

    def test_moving_after_the_end_is_warned_of(self) -> None:
        made = creation("t")
        calls = (with_times("completed", second(3)), with_times("completed", second(4)))
        verdict = judged(self.rule, made, *calls)
        assert verdict.verdict == WARN
        assert "ended" in verdict.reason

    def test_moving_with_the_ttl_after_the_end_is_an_update(self) -> None:
        def read(updated: str, ttl: int) -> Exchange:
            members = {"lastUpdatedAt": updated, "ttlMs": ttl}
            return reading("t", "completed", members=members)

        calls = [creation("t"), read(second(2), 60_000), read(second(5), 90_000)]
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED
        assert judged(self.rule, *calls, read(second(5), 90_000)).verdict == PASS
        assert judged(self.rule, *calls, read(second(8), 90_000)).verdict == WARN

    def test_moving_once_the_ttl_is_over_is_not_judged(self) -> None:
        made = creation("t", result=handle("t", ttlMs=1500))
        calls = (with_times("completed", second(3)), with_times("completed", second(4)))
        assert judged(self.rule, made, *calls).verdict == NOT_EXERCISED

    def test_moving_while_it_works_is_a_note(self) -> None:
        made = creation("t")
        calls = (with_times(updated=second(1)), with_times(updated=second(2)))
        verdict = judged(self.rule, made, *calls)
        assert verdict.verdict == PASS
        assert "no other change" in verdict.reason

    def test_moving_with_an_answer_needs_no_note(self) -> None:
        made = creation("t")
        waiting = with_times("input_required", second(1))
        update = exchange("tasks/update", {"taskId": "t", "inputResponses": {}})
        calls = (waiting, update, with_times("input_required", second(2)))
        assert judged(self.rule, made, *calls).verdict == NOT_EXERCISED


class TestDurations:
    rule = "polling.durations"

    @pytest.mark.parametrize("ttl", [60_000, None, 0, -1, 1, 2**53 - 1])
    def test_integers_and_null_pass(self, ttl: object) -> None:
        made = creation("t", result=handle("t", ttlMs=ttl, pollIntervalMs=...))
        assert judged(self.rule, made).verdict == PASS

    @pytest.mark.parametrize("ttl", ["60000", 0.5, True, [], {}, 2**63 - 1, 1e300])
    def test_other_ttls_fail(self, ttl: object) -> None:
        verdict = judged(self.rule, creation("t"), reading("t", members={"ttlMs": ttl}))
        assert verdict.verdict == FAIL
        assert verdict.evidence[0].member == "/result/ttlMs"

    @pytest.mark.parametrize("interval", ["500", None, 99.5, True])
    def test_other_intervals_fail(self, interval: object) -> None:
        wrong = reading("t", members={"pollIntervalMs": interval})
        assert judged(self.rule, creation("t"), wrong).verdict == FAIL

    def test_a_decimal_point_before_nothing_is_a_note(self) -> None:
        made = creation("t", result=handle("t", ttlMs=60_000.0))
        verdict = judged(self.rule, made)
        assert verdict.verdict == PASS
        assert "decimal point" in verdict.reason

    def test_a_missing_ttl_is_left_to_another_rule(self) -> None:
        assert judged(self.rule, creation("t", result=handle("t", ttlMs=...))).verdict == PASS


class TestDurationsPlausible:
    rule = "polling.durations-plausible"

    @pytest.mark.parametrize(
        ("ttl", "interval"), [(60_000, 5000), (2000, 100), (None, 20), (3_600_000, ...)]
    )
    def test_milliseconds_pass(self, ttl: object, interval: object) -> None:
        made = creation("t", result=handle("t", ttlMs=ttl, pollIntervalMs=interval))
        assert judged(self.rule, made).verdict == PASS

    @pytest.mark.parametrize(
        ("ttl", "interval"),
        [(60_000, 0), (60_000, -5), (60_000, 2), (0, 500), (-1, ...), (600, ...), (3600, 5000)],
    )
    def test_anything_else_is_warned_of(self, ttl: object, interval: object) -> None:
        made = creation("t", result=handle("t", ttlMs=ttl, pollIntervalMs=interval))
        assert judged(self.rule, made).verdict == WARN

    def test_no_durations_prove_nothing(self) -> None:
        made = creation("t", result=handle("t", ttlMs=None, pollIntervalMs=...))
        assert judged(self.rule, made).verdict == NOT_EXERCISED


class TestNoLegacyNames:
    rule = "polling.no-legacy-names"

    def test_the_names_of_the_extension_pass(self) -> None:
        assert judged(self.rule, creation("t"), reading("t", "completed")).verdict == PASS

    @pytest.mark.parametrize("name", ["ttl", "pollInterval"])
    def test_an_old_name_is_warned_of(self, name: str) -> None:
        verdict = judged(self.rule, creation("t"), reading("t", members={name: 5}))
        assert verdict.verdict == WARN
        assert name in verdict.reason

    def test_related_task_metadata_on_the_result_is_warned_of(self) -> None:
        meta = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
        ended = reading("t", "completed", members={"result": {**CALL_RESULT, "_meta": meta}})
        assert judged(self.rule, creation("t"), ended).verdict == WARN

    def test_other_metadata_passes(self) -> None:
        meta = {"com.example/trace": 7}
        ended = reading("t", "completed", members={"result": {**CALL_RESULT, "_meta": meta}})
        assert judged(self.rule, creation("t"), ended).verdict == PASS
