"""The rules of concurrency, on histories written by hand."""

from __future__ import annotations

from typing import Any

from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, Verdict, verdict_of
from conformance.wire.exchange import Exchange
from tests.builders import creation, exchange, history, reading


def judged(rule_id: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule_id], history(*exchanges))


class TestNoCrossTalk:
    rule = "concurrency.no-cross-talk"

    def made(self, number: int, text: str | None = None) -> Exchange:
        marker = f"{number:02d}-conformance-0"
        return creation(
            f"t{number}",
            tool="shout",
            arguments={"text": marker if text is None else text},
            intent="create-with-marker",
            notes={"marker": marker},
        )

    def ended(self, number: int, text: str) -> Exchange:
        result = {"content": [{"type": "text", "text": text}]}
        return reading(f"t{number}", "completed", members={"result": result})

    def test_own_texts_pass(self) -> None:
        made = [self.made(1), self.made(2)]
        ended = [self.ended(1, "01-conformance-0!"), self.ended(2, "02-conformance-0!")]
        assert judged(self.rule, *made, *ended).verdict == PASS

    def test_the_text_of_another_fails(self) -> None:
        made = [self.made(1), self.made(2)]
        ended = [self.ended(1, "02-conformance-0!"), self.ended(2, "02-conformance-0!")]
        assert judged(self.rule, *made, *ended).verdict == FAIL

    def test_a_text_that_was_cut_to_its_schema_is_told_apart(self) -> None:
        made = [self.made(1, "01-conf"), self.made(2, "02-conf")]
        assert judged(self.rule, *made, self.ended(1, "01-conf!")).verdict == PASS
        assert judged(self.rule, *made, self.ended(1, "02-conf!")).verdict == FAIL

    def test_a_tool_that_tells_of_all_its_calls_is_not_judged(self) -> None:
        made = [self.made(1), self.made(2)]
        all_notes = "Notes: 01-conformance-0, 02-conformance-0"
        verdict = judged(self.rule, *made, self.ended(1, all_notes), self.ended(2, all_notes))
        assert verdict.verdict == NOT_EXERCISED

    def test_a_text_too_short_to_tell_is_not_judged(self) -> None:
        made = [self.made(1, "01"), self.made(2, "02")]
        assert judged(self.rule, *made, self.ended(1, "done at 02:30")).verdict == NOT_EXERCISED

    def test_a_result_that_repeats_nothing_is_not_judged(self) -> None:
        made = [self.made(1), self.made(2)]
        assert judged(self.rule, *made, self.ended(1, "done")).verdict == NOT_EXERCISED

    def test_one_task_alone_is_not_judged(self) -> None:
        calls = (self.made(1), self.ended(1, "01-conformance-0!"))
        assert judged(self.rule, *calls).verdict == NOT_EXERCISED


class TestReadsAgree:
    rule = "concurrency.reads-agree"

    def read(self, status: str, reader: int, second: int = 0, **more: Any) -> Exchange:
        members = {
            "lastUpdatedAt": f"2026-07-28T12:00:{second:02d}.123Z",
            **more.pop("members", {}),
        }
        return reading("t", status, members=members, connection=f"reader-{reader}:1", **more)

    def test_one_history_passes(self) -> None:
        made = creation("t")
        seen = [self.read("working", 1), self.read("completed", 2, 1), self.read("completed", 1, 1)]
        assert judged(self.rule, made, *seen).verdict == PASS

    def test_an_end_that_is_taken_back_and_given_again_fails(self) -> None:
        made = creation("t")
        seen = [
            self.read("completed", 1, 1),
            self.read("working", 2),
            self.read("completed", 1, 1),
        ]
        assert judged(self.rule, made, *seen).verdict == FAIL

    def test_an_older_question_between_two_reads_of_a_newer_state_fails(self) -> None:
        made = creation("t")
        seen = [
            self.read("working", 1, 2),
            self.read("input_required", 2, 1),
            self.read("working", 1, 2),
        ]
        assert judged(self.rule, made, *seen).verdict == FAIL

    def test_a_task_that_goes_to_and_fro_is_not_judged(self) -> None:
        made = creation("t")
        seen = [
            self.read("working", 1, 1),
            self.read("input_required", 2, 1),
            self.read("working", 1, 1),
        ]
        verdict = judged(self.rule, made, *seen)
        assert verdict.verdict == NOT_EXERCISED

    def test_an_end_that_is_taken_back_for_good_is_for_another_rule(self) -> None:
        made = creation("t")
        seen = [self.read("completed", 1, 1), self.read("working", 2, 2)]
        assert judged(self.rule, made, *seen).verdict == NOT_EXERCISED

    def test_an_ended_task_that_is_read_again_elsewhere_proves_nothing(self) -> None:
        made = creation("t")
        seen = [self.read("completed", 1, 1), self.read("completed", 2, 1)]
        assert judged(self.rule, made, *seen).verdict == NOT_EXERCISED

    def test_readers_at_the_same_time_pass(self) -> None:
        made = creation("t", started=1.0)
        seen = [
            self.read("completed", 1, 1, started=2.0, ended=3.0),
            self.read("completed", 2, 1, started=2.5, ended=3.5),
        ]
        assert judged(self.rule, made, *seen).verdict == PASS

    def test_a_change_that_is_read_on_another_replica_passes(self) -> None:
        made = creation("t")
        seen = [self.read("working", 1), self.read("completed", 1, 1)]
        assert judged(self.rule, made, *seen).verdict == NOT_EXERCISED

    def test_overlapping_reads_prove_nothing(self) -> None:
        made = creation("t", started=1.0)
        seen = [
            self.read("completed", 1, 1, started=2.0, ended=3.0),
            self.read("working", 2, started=2.5, ended=3.5),
            self.read("completed", 1, 1, started=4.0, ended=4.5),
        ]
        assert judged(self.rule, made, *seen).verdict == PASS

    def test_an_answer_may_take_effect_late_and_not_everywhere_at_once(self) -> None:
        made = creation("t")
        answered = exchange("tasks/update", {"taskId": "t", "inputResponses": {}})
        seen = [
            self.read("working", 1, 2),
            self.read("input_required", 2, 1),
            self.read("working", 1, 2),
        ]
        assert judged(self.rule, made, answered, *seen).verdict == NOT_EXERCISED

    def test_an_end_that_was_seen_before_them_is_not_undone_by_them(self) -> None:
        made, end = creation("t"), self.read("completed", 1, 1)
        cancelled = exchange("tasks/cancel", {"taskId": "t"})
        seen = [self.read("working", 2), self.read("completed", 1, 1)]
        assert judged(self.rule, made, end, cancelled, *seen).verdict == FAIL

    def test_a_single_reader_is_not_judged(self) -> None:
        made = creation("t")
        seen = [self.read("working", 1), self.read("completed", 1, 1)]
        verdict = judged(self.rule, made, *seen)
        assert verdict.verdict == NOT_EXERCISED
