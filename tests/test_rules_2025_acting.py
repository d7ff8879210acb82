"""input, cancellation and expiry of 2025-11-25, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.verdict import FAIL, NOT_APPLICABLE, NOT_EXERCISED, PASS, WARN
from conformance.wire.exchange import Exchange, JsonObject
from tests.builders_2025 import (
    FORM,
    answer,
    at,
    call,
    cancel,
    creation,
    fetch,
    handshake,
    judged,
    page,
    question,
    reading,
    stream,
    task,
)

CALLS_ONLY: JsonObject = {"tasks": {"requests": {"tools": {"call": {}}}}}


def asking(*questions: Any, ended: float = 9.0, **more: Any) -> Exchange:
    """A tasks/result whose stream, open from 2.0, brought these requests."""
    return fetch(events=list(questions), started=2.0, ended=ended, **more)


MADE_AT = 1.0


def made(**more: Any) -> Exchange:
    return creation(started=MADE_AT, **more)


class TestStatus:
    rule = "input.status"

    def life(self, status: str, read_at: float = 4.0) -> list[Exchange]:
        return [
            made(),
            asking(question(3.0)),
            reading(status=status, started=read_at),
            answer(started=5.0),
        ]

    def test_input_required_passes(self) -> None:
        assert judged(self.rule, *self.life("input_required")).verdict == PASS

    def test_working_is_advised_against(self) -> None:
        assert judged(self.rule, *self.life("working")).verdict == WARN

    def test_after_the_answer_it_may_work(self) -> None:
        assert judged(self.rule, *self.life("working", read_at=6.0)).verdict == NOT_EXERCISED

    def test_a_copy_of_an_answered_question_is_not_open(self) -> None:
        first = asking(question(3.0), ended=4.0)
        copy = stream(question(6.0), started=2.0, ended=9.0)
        works = reading(status="working", started=7.0)
        life = [made(), first, answer(started=5.0), copy, works]
        assert judged(self.rule, *life).verdict == NOT_EXERCISED

    def test_before_the_question_it_may_work(self) -> None:
        assert judged(self.rule, *self.life("working", read_at=2.5)).verdict == NOT_EXERCISED


class TestQuestions:
    def test_they_name_their_task(self) -> None:
        rule = "input.related-task"
        assert judged(rule, made(), asking(question(3.0))).verdict == PASS
        assert judged(rule, made(), asking(question(3.0, None))).verdict == FAIL
        assert judged(rule, made(), asking(question(3.0, "nobody"))).verdict == FAIL
        assert judged(rule, made(), asking(question(3.0, 7))).verdict == FAIL

    def test_other_requests_need_no_task(self) -> None:
        rule = "input.related-task"
        ping = question(3.0, None, method="ping", params={})
        assert judged(rule, made(), asking(ping)).verdict == NOT_EXERCISED
        elsewhere = stream(question(3.0, None), started=2.0, ended=9.0)
        assert judged(rule, made(), elsewhere).verdict == NOT_EXERCISED

    def test_what_the_only_task_of_a_session_asks_names_it(self) -> None:
        rule = "input.related-task"
        waits = at(2.9, method="notifications/tasks/status", params=task("t", "input_required"))
        elsewhere = stream(waits, question(3.0, None), started=0.5, ended=9.0)
        assert judged(rule, made(), elsewhere).verdict == FAIL
        read = reading(status="input_required", started=2.0, ended=2.5)
        alone = stream(question(3.0, None), started=0.5, ended=9.0)
        assert judged(rule, made(), read, alone).verdict == FAIL
        # Here it may be for something else.
        another = creation("another", started=MADE_AT)
        assert judged(rule, made(), another, elsewhere).verdict == NOT_EXERCISED
        assert judged(rule, made(), call(started=1.5), elsewhere).verdict == NOT_EXERCISED
        early = stream(question(2.5, None), waits, started=0.5, ended=9.0)
        assert judged(rule, made(), early).verdict == NOT_EXERCISED
        roots = question(3.0, None, method="roots/list", params={})
        assert judged(rule, made(), stream(waits, roots, started=0.5)).verdict == NOT_EXERCISED

    def test_they_may_come_on_another_stream(self) -> None:
        elsewhere = stream(question(3.0), started=2.0, ended=9.0)
        assert judged("input.related-task", made(), elsewhere).verdict == PASS

    @pytest.mark.parametrize(
        "params",
        [
            {"message": "Go on?"},
            {"message": "Go on?", "mode": "form"},
            {**FORM, "mode": "voice"},
            {"message": "Go", "mode": "url", "url": "https://x.example/"},
            {**FORM, "requestedSchema": {"type": "object"}},
        ],
    )
    def test_forms_are_valid(self, params: dict[str, object]) -> None:
        rule = "input.requests-valid"
        assert judged(rule, made(), asking(question(3.0))).verdict == PASS
        assert judged(rule, made(), asking(question(3.0, params=params))).verdict == FAIL

    def test_other_kinds_are_valid(self) -> None:
        rule = "input.requests-valid"
        message = {"role": "user", "content": {"type": "text", "text": "Hi"}}
        sampling = {"messages": [message], "maxTokens": 10}
        right = [
            question(3.0, method="sampling/createMessage", params=sampling),
            question(4.0, method="roots/list", params={}),
        ]
        assert judged(rule, made(), asking(*right)).verdict == PASS
        wrong = question(3.0, method="sampling/createMessage", params={"messages": [message]})
        assert judged(rule, made(), asking(wrong)).verdict == FAIL

    @pytest.mark.parametrize(
        ("client", "params"),
        [
            ({}, FORM),
            ({"sampling": {}}, FORM),
            (
                {"elicitation": {"form": {}}},
                {"mode": "url", "message": "Go", "url": "https://x.example/", "elicitationId": "e"},
            ),
        ],
    )
    def test_only_what_was_declared(self, client: dict[str, Any], params: dict[str, Any]) -> None:
        rule = "input.only-declared-kinds"
        asked = [made(), asking(question(3.0, params=params))]
        all_modes = handshake(client={"elicitation": {"form": {}, "url": {}}})
        assert judged(rule, all_modes, *asked).verdict == PASS
        assert judged(rule, handshake(client=client), *asked).verdict == FAIL
        assert judged(rule, *asked).verdict == NOT_EXERCISED

    def test_an_elicitation_without_a_mode_takes_forms(self) -> None:
        rule = "input.only-declared-kinds"
        opening = handshake(client={"elicitation": {}})
        assert judged(rule, opening, made(), asking(question(3.0))).verdict == PASS

    def test_no_task_of_a_client_that_takes_none(self) -> None:
        rule = "input.no-undeclared-augmentation"
        augmented = question(3.0, params={**FORM, "task": {"ttl": 60_000}})
        assert judged(rule, handshake(), made(), asking(question(3.0))).verdict == PASS
        assert judged(rule, handshake(), made(), asking(augmented)).verdict == WARN
        takes: JsonObject = {
            "elicitation": {},
            "tasks": {"requests": {"elicitation": {"create": {}}}},
        }
        assert judged(rule, handshake(client=takes), made(), asking(augmented)).verdict == PASS

    def test_ids_are_used_once(self) -> None:
        rule = "input.request-ids-unique"
        other = {**FORM, "message": "Sure?"}
        once = asking(question(3.0, identifier=1), question(4.0, identifier=2, params=other))
        assert judged(rule, made(), once).verdict == PASS
        twice = asking(question(3.0, identifier=1), question(4.0, identifier=1, params=other))
        assert judged(rule, made(), twice).verdict == FAIL
        text_and_number = asking(question(3.0, identifier=1), question(4.0, identifier="1"))
        assert judged(rule, made(), text_and_number).verdict == PASS

    def test_the_same_message_may_be_sent_again(self) -> None:
        again = asking(question(3.0), question(4.0))
        assert judged("input.request-ids-unique", made(), again).verdict == PASS

    def test_without_sessions_ids_begin_anew(self) -> None:
        other = {**FORM, "message": "Sure?"}
        streams = [
            fetch(events=[question(3.0)], session=None),
            fetch(events=[question(4.0, params=other)], session=None),
        ]
        assert judged("input.request-ids-unique", *streams).verdict == NOT_EXERCISED


@pytest.mark.parametrize(
    ("rule", "given"),
    [
        ("input.resumes", {"action": "accept", "content": {"go": True}}),
        ("input.refusals-move-on", {"action": "decline"}),
        ("input.refusals-move-on", {"action": "cancel"}),
    ],
)
class TestMovesOn:
    def life(self, given: dict[str, Any], *reads: Exchange, **more: Any) -> list[Exchange]:
        return [
            made(),
            asking(question(3.0), ended=30.0),
            answer(result=given, started=4.0, **more),
            *reads,
        ]

    @pytest.mark.parametrize("status", ["working", "completed", "failed"])
    def test_going_on_passes(self, rule: str, given: dict[str, Any], status: str) -> None:
        life = self.life(given, reading(status=status, started=5.0))
        assert judged(rule, *life).verdict == PASS

    def test_waiting_on_is_advised_against(self, rule: str, given: dict[str, Any]) -> None:
        life = self.life(given, reading(status="input_required", started=20.0))
        assert judged(rule, *life, max_wait=10.0).verdict == WARN

    def test_a_moment_is_no_waiting(self, rule: str, given: dict[str, Any]) -> None:
        life = self.life(given, reading(status="input_required", started=4.5))
        assert judged(rule, *life, max_wait=10.0).verdict == NOT_EXERCISED

    def test_another_question_may_be_open(self, rule: str, given: dict[str, Any]) -> None:
        two = asking(question(3.0), question(5.0, identifier="r"), ended=30.0)
        waits = reading(status="input_required", started=20.0)
        life = [made(), two, answer(result=given, started=4.0), waits]
        assert judged(rule, *life, max_wait=10.0).verdict == NOT_EXERCISED

    def test_it_may_ask_where_nobody_listens(self, rule: str, given: dict[str, Any]) -> None:
        closed = asking(question(3.0), ended=4.5)
        waits = reading(status="input_required", started=20.0)
        life = [made(), closed, answer(result=given, started=4.0), waits]
        assert judged(rule, *life, max_wait=10.0).verdict == NOT_EXERCISED

    def test_what_was_read_while_somebody_listened_counts(
        self, rule: str, given: dict[str, Any]
    ) -> None:
        waiting = [reading(status="input_required", started=moment) for moment in (20.0, 31.0)]
        life = self.life(given, *waiting)
        assert judged(rule, *life, max_wait=10.0).verdict == WARN

    def test_a_refused_answer_is_another_matter(self, rule: str, given: dict[str, Any]) -> None:
        life = self.life(given, reading(status="input_required", started=20.0), status=400)
        assert judged(rule, *life, max_wait=10.0).verdict == NOT_EXERCISED


class TestCancelled:
    def test_the_answer_is_the_task(self) -> None:
        rule = "cancellation.answers-with-task"
        assert judged(rule, handshake(), creation(), cancel()).verdict == PASS
        for wrong in ({}, {"task": task("t", "cancelled")}, task("u", "cancelled")):
            assert judged(rule, handshake(), creation(), cancel(result=wrong)).verdict == FAIL
        absent = handshake(capabilities=CALLS_ONLY)
        assert judged(rule, absent, creation(), cancel(error=-32601)).verdict == NOT_APPLICABLE

    def test_one_whose_time_is_over_may_be_unknown(self) -> None:
        """Then to acknowledge it is wrong for another reason."""
        rule = "cancellation.answers-with-task"
        brief = creation(members={"ttl": 1000})
        late = cancel(result={}, started=brief.ended + 60)
        assert judged(rule, handshake(), brief, late).verdict == NOT_EXERCISED

    def test_it_is_answered_in_words(self) -> None:
        rule = "cancellation.answers-with-task"
        page: dict[str, Any] = {"result": None, "body": "<html>", "http_status": 500}
        made = [handshake(), creation("a"), reading("a"), creation("b"), reading("b")]
        failed = [cancel("a", **page), cancel("b", **page)]
        assert judged(rule, *made, *failed).verdict == FAIL
        assert judged(rule, *made, failed[0]).verdict == NOT_EXERCISED
        assert judged(rule, *made, failed[0], cancel("b")).verdict == PASS
        # One that has ended cannot be cancelled: it is to be refused, and in words as well.
        ended = [*made, reading("a", "completed"), reading("b", "completed")]
        ended += [cancel("a", **page), cancel("b", **page)]
        assert judged(rule, *ended).verdict == NOT_EXERCISED
        assert judged("cancellation.terminal-refused", *ended).verdict == FAIL
        assert judged("cancellation.terminal-refused", *ended[:-1]).verdict == NOT_EXERCISED
        better = cancel("a", error=-32602)
        assert judged("cancellation.terminal-refused", *ended, better).verdict == PASS

    def test_it_is_effective(self) -> None:
        rule = "cancellation.effective"
        right = [handshake(), creation(), cancel(), reading(status="cancelled")]
        assert judged(rule, *right).verdict == PASS
        says = [handshake(), creation(), cancel(status="working")]
        assert judged(rule, *says).verdict == FAIL
        # It may have ended in the meantime; to say so here is another fault.
        too_late = [handshake(), creation(), cancel(status="completed")]
        assert judged(rule, *too_late).verdict == NOT_EXERCISED
        goes_on = [handshake(), creation(), made := cancel()]
        right_after = reading(started=made.ended + 0.1)
        assert judged(rule, *goes_on, right_after).verdict == FAIL
        # What is read later may have become of it since.
        later = [*goes_on, reading(started=made.ended + 1)]
        assert judged(rule, *later).verdict == NOT_EXERCISED
        assert judged("cancellation.stays-cancelled", *later).verdict == FAIL
        refused = [handshake(), creation(), cancel(error=-32602), reading()]
        assert judged(rule, *refused).verdict == FAIL

    def test_it_may_have_ended_or_been_deleted(self) -> None:
        rule = "cancellation.effective"
        ended = [handshake(), creation(), cancel(error=-32602), reading(status="completed")]
        assert judged(rule, *ended).verdict == NOT_EXERCISED
        deleted = [handshake(), creation(), cancel(), reading(error=-32602)]
        assert judged(rule, *deleted).verdict == PASS

    def test_it_stays_cancelled(self) -> None:
        rule = "cancellation.stays-cancelled"
        right = [handshake(), creation(), cancel(), reading(status="cancelled")]
        assert judged(rule, *right).verdict == PASS
        assert judged(rule, *right, reading(status="completed")).verdict == FAIL
        told = [handshake(), creation(), cancel(), reading(status="failed")]
        assert judged(rule, *told).verdict == FAIL
        # It had failed before, and was never cancelled: that it is said to be is another fault.
        ended = [handshake(), creation(), reading(status="failed"), cancel()]
        assert judged(rule, *ended, reading(status="failed")).verdict == NOT_EXERCISED
        assert judged("cancellation.terminal-refused", *ended).verdict == FAIL

    @pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
    def test_an_ended_task_refuses(self, end: str) -> None:
        rule = "cancellation.terminal-refused"
        before = [handshake(), creation(), reading(status=end)]
        assert judged(rule, *before, cancel(error=-32602)).verdict == PASS
        assert judged(rule, *before, cancel(error=-32600)).verdict == FAIL
        assert judged(rule, *before, cancel(status=end)).verdict == FAIL

    def test_an_ended_task_whose_time_is_over_is_another_matter(self) -> None:
        short = {"ttl": 2000}
        made = [handshake(), creation(started=1.0, members=short)]
        ended = [*made, reading(status="completed", started=2.0, members=short)]
        late = cancel(error=-32603, started=9.0)
        assert judged("cancellation.terminal-refused", *ended, late).verdict == NOT_EXERCISED

    def test_a_second_cancellation_is_refused(self) -> None:
        rule = "cancellation.terminal-refused"
        twice = [handshake(), creation(), cancel(), cancel()]
        assert judged(rule, *twice).verdict == FAIL
        live = [handshake(), creation(), reading(), cancel()]
        assert judged(rule, *live).verdict == NOT_EXERCISED

    def test_an_ended_task_is_unaffected(self) -> None:
        rule = "cancellation.terminal-unaffected"
        before = [handshake(), creation(), reading(status="completed"), cancel(error=-32602)]
        assert judged(rule, *before, reading(status="completed")).verdict == PASS
        assert judged(rule, *before, reading(status="cancelled")).verdict == FAIL


class TestExpiry:
    def made(self, ttl: object = 60_000) -> Exchange:
        return creation(members={"ttl": ttl}, started=1.0)

    def test_found_until_its_time_is_over(self) -> None:
        rule = "expiry.not-before-ttl"
        assert judged(rule, self.made(), reading(started=5.0)).verdict == PASS
        gone = judged(rule, self.made(), reading(error=-32602, started=5.0))
        assert gone.verdict == FAIL
        assert "ttl 60000" in gone.reason
        unlimited = judged(rule, self.made(None), reading(error=-32602, started=5.0))
        assert unlimited.verdict == FAIL
        assert "ttl null" in unlimited.reason

    def test_a_cancelled_task_may_be_deleted(self) -> None:
        gone = [self.made(), cancel(started=2.0), reading(error=-32602, started=5.0)]
        assert judged("expiry.not-before-ttl", *gone).verdict == NOT_EXERCISED

    def test_the_ttl_agrees(self) -> None:
        rule = "expiry.ttl-agrees"
        assert judged(rule, creation(), reading()).verdict == PASS
        assert judged(rule, creation(), reading(members={"ttl": 30_000})).verdict == WARN

    def test_expired_is_there_or_unknown(self) -> None:
        rule = "expiry.expired-code"
        late: dict[str, Any] = {"started": 9.0, "intent": "after-ttl"}
        assert judged(rule, self.made(2000), reading(error=-32602, **late)).verdict == PASS
        kept = reading(members={"ttl": 2000}, **late)
        assert judged(rule, self.made(2000), kept).verdict == PASS
        assert judged(rule, self.made(2000), reading(error=-32603, **late)).verdict == FAIL

    def test_gone_stays_gone(self) -> None:
        rule = "expiry.stays-expired"
        gone = reading(error=-32602, started=9.0, intent="after-ttl")
        again = reading(error=-32602, started=10.0, intent="after-ttl")
        back = reading(members={"ttl": 2000}, started=10.0, intent="after-ttl")
        assert judged(rule, self.made(2000), gone, again).verdict == PASS
        assert judged(rule, self.made(2000), gone, back).verdict == FAIL

    def test_methods_agree(self) -> None:
        rule = "expiry.methods-agree"
        gone = reading(error=-32602, started=9.0, intent="after-ttl")
        late: dict[str, Any] = {"started": 10.0, "intent": "after-ttl"}
        before = [self.made(2000), gone]
        right = [fetch(error=-32602, **late), cancel(error=-32602, **late)]
        assert judged(rule, *before, *right).verdict == PASS
        assert judged(rule, *before, fetch(**late)).verdict == WARN
        assert judged(rule, *before, cancel(**late)).verdict == WARN
        assert judged(rule, *before, page(started=10.0)).verdict == PASS
        assert judged(rule, *before, page(task(), started=10.0)).verdict == WARN
