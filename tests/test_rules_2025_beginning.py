"""negotiation and creation of 2025-11-25, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.verdict import FAIL, NOT_APPLICABLE, NOT_EXERCISED, PASS, WARN
from conformance.wire.exchange import Exchange, JsonObject
from tests import builders
from tests.builders_2025 import (
    CAPABILITIES,
    RESULT,
    SERVER_INFO,
    TOOL_ERROR,
    VERSION,
    call,
    cancel,
    creation,
    exchange,
    fetch,
    handshake,
    initialized,
    judged,
    page,
    question,
    reading,
    stream,
    task,
    tools,
)

NO_JSON_RPC: dict[str, Any] = {"result": None, "body": "<html>", "http_status": 500}
NO_TASKS: JsonObject = {"tools": {}}
LISTED = ("export", "optional")


def offering(*listed: tuple[str, object]) -> list[Exchange]:
    """A session with a server that declares tasks, and its tools."""
    return [handshake(), tools(*(listed or (LISTED,)))]


class TestHandshake:
    rule = "negotiation.handshake"

    def test_a_whole_answer_passes(self) -> None:
        assert judged(self.rule, handshake()).verdict == PASS

    @pytest.mark.parametrize("name", ["protocolVersion", "capabilities", "serverInfo"])
    def test_each_member_is_required(self, name: str) -> None:
        result = {"protocolVersion": VERSION, "capabilities": {}, "serverInfo": SERVER_INFO}
        verdict = judged(self.rule, handshake(result={**result, name: None}))
        assert verdict.verdict == FAIL

    def test_the_tasks_capability_is_told_elsewhere(self) -> None:
        assert judged(self.rule, handshake(capabilities={"tasks": []})).verdict == PASS

    def test_a_refusal_says_nothing(self) -> None:
        assert judged(self.rule, handshake(error=-32602)).verdict == NOT_EXERCISED


class TestVersions:
    def test_agreed_to_each_time(self) -> None:
        rule = "negotiation.version-agreed"
        assert judged(rule, handshake(), handshake("two")).verdict == PASS
        other = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": SERVER_INFO}
        assert judged(rule, handshake(), handshake("two", result=other)).verdict == FAIL
        # A server that never agrees does not support it.
        assert judged(rule, handshake(result=other)).verdict == NOT_EXERCISED

    def test_unknown_is_not_agreed_to(self) -> None:
        rule, unknown = "negotiation.version-answered", "2099-12-31"
        told = {"protocolVersion": unknown, "capabilities": {}, "serverInfo": SERVER_INFO}
        intent = "initialize-unknown-version"
        assert judged(rule, handshake(version=unknown, intent=intent)).verdict == PASS
        assert judged(rule, handshake(version=unknown, intent=intent, error=-32602)).verdict == PASS
        echoed = handshake(version=unknown, intent=intent, result=told)
        assert judged(rule, echoed).verdict == FAIL


class TestQuietBeforeInitialized:
    rule = "negotiation.quiet-before-initialized"
    intent = "listen-before-initialized"

    def test_a_quiet_stream_passes(self) -> None:
        listening = stream(intent=self.intent, started=10.0, ended=10.5)
        assert judged(self.rule, handshake(), listening, initialized(started=11)).verdict == PASS

    def test_a_ping_is_allowed(self) -> None:
        ping = question(10.2, None, method="ping", params={})
        listening = stream(ping, intent=self.intent, started=10.0, ended=10.5)
        assert judged(self.rule, handshake(), listening, initialized(started=11)).verdict == PASS

    def test_a_form_is_too_early(self) -> None:
        listening = stream(question(10.2), intent=self.intent, started=10.0, ended=10.5)
        assert judged(self.rule, handshake(), listening, initialized(started=11)).verdict == WARN

    def test_a_form_may_come_later(self) -> None:
        listening = stream(question(11.3), intent=self.intent, started=10.0, ended=11.5)
        assert judged(self.rule, handshake(), listening, initialized(started=11)).verdict == PASS

    def test_no_stream_cannot_be_judged(self) -> None:
        refused = stream(intent=self.intent, status=405, started=10.0)
        verdict = judged(self.rule, handshake(), refused, initialized(started=11)).verdict
        assert verdict == NOT_APPLICABLE


class TestDeclared:
    def test_tasks_are_declared(self) -> None:
        rule = "negotiation.advertised"
        assert judged(rule, handshake(), creation()).verdict == PASS
        assert judged(rule, handshake(capabilities=NO_TASKS), creation()).verdict == FAIL
        only_list: JsonObject = {"tasks": {"list": {}}}
        assert judged(rule, handshake(capabilities=only_list), creation()).verdict == FAIL
        assert judged(rule, creation()).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("tasks", [True, [], {"list": True}, {"requests": {"tools": True}}])
    def test_members_are_objects(self, tasks: object) -> None:
        verdict = judged("negotiation.settings-object", handshake(capabilities={"tasks": tasks}))
        assert verdict.verdict == FAIL

    def test_fewer_members_are_fine(self) -> None:
        rule = "negotiation.settings-object"
        assert judged(rule, handshake()).verdict == PASS
        assert judged(rule, handshake(capabilities={"tasks": {}})).verdict == PASS
        assert judged(rule, handshake(capabilities=NO_TASKS)).verdict == NOT_APPLICABLE

    @pytest.mark.parametrize(
        "refused",
        [reading(error=-32601), fetch(error=-32601), page(error=-32601), cancel(error=-32601)],
        ids=["get", "result", "list", "cancel"],
    )
    def test_what_is_declared_is_served(self, refused: Exchange) -> None:
        assert judged("negotiation.methods-served", handshake(), refused).verdict == FAIL

    def test_methods_that_are_not_declared_may_be_missing(self) -> None:
        rule = "negotiation.methods-served"
        capabilities: JsonObject = {"tasks": {"requests": {"tools": {"call": {}}}}}
        opening = handshake(capabilities=capabilities)
        refused = [page(error=-32601), cancel(error=-32601)]
        assert judged(rule, opening, *refused).verdict == NOT_APPLICABLE
        assert judged(rule, opening, *refused, reading()).verdict == PASS

    def test_an_unknown_id_answered_so_is_another_matter(self) -> None:
        rule = "negotiation.methods-served"
        assert judged(rule, handshake(), reading("x", error=-32601), reading()).verdict == PASS

    @pytest.mark.parametrize("answer", [{"error": -32603}, NO_JSON_RPC])
    def test_a_method_that_fails_whatever_is_asked(self, answer: dict[str, Any]) -> None:
        rule = "negotiation.methods-served"
        before = [handshake(), creation(), reading(status="completed")]
        for asked in (fetch, cancel, reading):
            failed = [asked(**answer), asked(**answer)]
            assert judged(rule, handshake(), creation(), *failed).verdict == FAIL
            assert judged(rule, *before, *failed, asked("x", error=-32602)).verdict == PASS
        assert judged(rule, *before, page(**answer), page(**answer)).verdict == FAIL
        assert judged(rule, *before, page(**answer), page(task())).verdict == PASS
        assert judged(rule, *before, page(**answer)).verdict == PASS


class TestTools:
    @pytest.mark.parametrize("support", ["never", None, True])
    def test_task_support_has_three_values(self, support: object) -> None:
        rule = "negotiation.task-support-values"
        assert judged(rule, tools(("a", support))).verdict == FAIL
        assert judged(rule, tools(("a", "forbidden"), ("b", "required"))).verdict == PASS
        assert judged(rule, tools(("a", ...))).verdict == NOT_EXERCISED

    @pytest.mark.parametrize("support", ["forbidden", ...])
    def test_a_forbidden_tool_is_not_found(self, support: object) -> None:
        rule, intent = "negotiation.forbidden-tool", "forbidden-tool-as-task"
        before = [*offering(("export", support)), plain := call()]

        def probe(**more: object) -> Exchange:
            return creation(intent=intent, control=plain, **more)  # type: ignore[arg-type]

        assert judged(rule, *before, probe(error=-32601)).verdict == PASS
        assert judged(rule, *before, probe(error=-32602)).verdict == WARN
        assert judged(rule, *before, probe()).verdict == WARN
        assert judged(rule, *before, probe(result=RESULT)).verdict == WARN

    def test_a_server_without_tasks_ignores_the_parameter(self) -> None:
        probe = creation(intent="forbidden-tool-as-task", result=RESULT)
        opening = handshake(capabilities=NO_TASKS)
        verdict = judged("negotiation.forbidden-tool", opening, tools(("export", ...)), probe)
        assert verdict.verdict == NOT_APPLICABLE

    def test_a_task_only_tool_refuses_plain_calls(self) -> None:
        rule = "negotiation.task-only-tool"
        before = [*offering(("export", "required")), made := creation()]
        right = call(error=-32601, intent="task-only", control=made)
        assert judged(rule, *before, right).verdict == PASS
        # Elsewhere the text allows this for a whole type of request.
        other = call(error=-32600, intent="task-only", control=made)
        assert judged(rule, *before, other).verdict == PASS
        served = call(intent="task-only", control=made)
        assert judged(rule, *before, served).verdict == FAIL
        wrong = call(error=-32602, intent="task-only", control=made)
        assert judged(rule, *before, wrong).verdict == FAIL

    def test_the_parameter_is_ignored_where_nothing_is_declared(self) -> None:
        rule = "negotiation.task-parameter-ignored"
        opening = handshake(capabilities=NO_TASKS)
        plain = call()
        ignored = creation(result=RESULT, intent="task-parameter", control=plain)
        assert judged(rule, opening, plain, ignored).verdict == PASS
        refused = creation(error=-32602, intent="task-parameter", control=plain)
        assert judged(rule, opening, plain, refused).verdict == FAIL
        assert judged(rule, handshake(), plain, refused).verdict == NOT_APPLICABLE


class TestOlderTasksReachable:
    rule = "negotiation.older-tasks-reachable"

    def looked(self, **answer: Any) -> Exchange:
        return builders.exchange("server/discover", intent="newer-discover", **answer)

    def test_served_passes_and_refused_fails(self) -> None:
        known = [*offering(), self.looked(result={"supportedVersions": ["2026-07-28"]})]
        made, seen = creation(), reading()
        ask: dict[str, Any] = {"intent": "older-task-newly", "control": seen}
        shown = {"resultType": "complete", **task()}
        served = builders.exchange("tasks/get", {"taskId": "t"}, result=shown, **ask)
        refused = builders.exchange("tasks/cancel", {"taskId": "t"}, error=-32021, **ask)
        assert judged(self.rule, *known, made, seen, served).verdict == PASS
        assert judged(self.rule, *known, made, seen, served, refused).verdict == WARN

    def test_a_server_of_this_revision_alone_does_not_offer_it(self) -> None:
        look = self.looked(error=-32601)
        assert judged(self.rule, *offering(), look).verdict == NOT_APPLICABLE


class TestHandle:
    rule = "creation.shape"

    def test_nested_and_whole_passes(self) -> None:
        assert judged(self.rule, *offering(), creation()).verdict == PASS
        assert judged(self.rule, *offering(), creation(members={"ttl": None})).verdict == PASS

    def test_flat_fails(self) -> None:
        flat = creation(result=task())
        assert judged(self.rule, *offering(), flat).verdict == FAIL

    @pytest.mark.parametrize("name", ["taskId", "status", "ttl", "createdAt", "lastUpdatedAt"])
    def test_each_member_of_the_task_is_required(self, name: str) -> None:
        assert judged(self.rule, creation(members={name: ...})).verdict == FAIL

    @pytest.mark.parametrize("name", ["taskId", "status", "ttl", "createdAt", "pollInterval"])
    def test_wrong_values_are_told_elsewhere(self, name: str) -> None:
        assert judged(self.rule, creation(members={name: []})).verdict == PASS

    def test_a_status_message_is_text(self) -> None:
        assert judged(self.rule, creation(members={"statusMessage": 1})).verdict == FAIL

    def test_calls_of_the_later_revision_are_not_looked_at(self) -> None:
        later = creation(result=task(), version="2026-07-28")
        assert judged(self.rule, *offering(), later).verdict == NOT_EXERCISED

    def test_ids_are_strings(self) -> None:
        rule = "creation.id-is-string"
        assert judged(rule, creation()).verdict == PASS
        assert judged(rule, creation(7)).verdict == FAIL
        assert judged(rule, creation("")).verdict == FAIL

    def test_ids_are_unique(self) -> None:
        rule = "creation.unique-ids"
        assert judged(rule, creation("a"), creation("b")).verdict == PASS
        assert judged(rule, creation("a"), creation("a")).verdict == FAIL

    def test_no_result_beside_it(self) -> None:
        rule = "creation.base-task-only"
        assert judged(rule, creation()).verdict == PASS
        assert judged(rule, creation(result={"task": task(), **RESULT})).verdict == FAIL
        empty = {"task": task(), "content": []}
        assert judged(rule, creation(result=empty)).verdict == PASS

    def test_the_immediate_response_is_text(self) -> None:
        rule, key = (
            "creation.immediate-response-text",
            ("io.modelcontextprotocol/model-immediate-response"),
        )
        right = creation(result={"task": task(), "_meta": {key: "Working on it"}})
        assert judged(rule, right).verdict == PASS
        wrong = creation(result={"task": task(), "_meta": {key: {"text": "x"}}})
        assert judged(rule, wrong).verdict == WARN
        assert judged(rule, creation()).verdict == NOT_EXERCISED


class TestBecomesTask:
    rule = "creation.returns-task"

    @pytest.mark.parametrize("support", ["optional", "required"])
    def test_a_result_instead_of_a_task_fails(self, support: str) -> None:
        before = offering(("export", support))
        assert judged(self.rule, *before, creation()).verdict == PASS
        assert judged(self.rule, *before, creation(result=RESULT)).verdict == FAIL

    def test_a_refusal_accepts_nothing(self) -> None:
        refused = [creation(result=TOOL_ERROR), creation(error=-32603)]
        assert judged(self.rule, *offering(), *refused).verdict == NOT_EXERCISED

    def test_tools_without_tasks_are_another_matter(self) -> None:
        before = offering(("export", "forbidden"))
        assert judged(self.rule, *before, creation(result=RESULT)).verdict == NOT_EXERCISED

    def test_plain_calls_make_no_task(self) -> None:
        rule = "creation.only-on-request"
        assert judged(rule, *offering(), call()).verdict == PASS
        assert judged(rule, *offering(), call(result={"task": task()})).verdict == FAIL

    def test_a_tool_may_speak_of_a_task(self) -> None:
        spoken = call(result={**RESULT, "task": task()})
        assert judged("creation.only-on-request", *offering(), spoken).verdict == PASS

    def test_other_methods_make_none(self) -> None:
        rule, intent = "creation.only-tools-call", "task-parameter-elsewhere"
        plain = tools(LISTED)

        def probe(**answered: object) -> Exchange:
            return exchange(
                "tools/list",
                {"task": {"ttl": 60_000}},
                intent=intent,
                control=plain,
                **answered,  # type: ignore[arg-type]
            )

        assert judged(rule, plain, probe(result={"tools": []})).verdict == PASS
        assert judged(rule, plain, probe(error=-32602)).verdict == FAIL
        assert judged(rule, plain, probe(result={"task": task()})).verdict == FAIL


class TestBegins:
    rule = "creation.begins-working"

    def test_working_passes(self) -> None:
        assert judged(self.rule, creation()).verdict == PASS

    @pytest.mark.parametrize("status", ["completed", "input_required"])
    def test_another_beginning_fails(self, status: str) -> None:
        finely = dict.fromkeys(("createdAt", "lastUpdatedAt"), "2025-11-25T12:00:00.020417Z")
        assert judged(self.rule, creation(status=status, members=finely)).verdict == FAIL

    @pytest.mark.parametrize("status", ["completed", "input_required"])
    @pytest.mark.parametrize(
        ("created", "updated"),
        [
            ("00.019417", "00.020417"),
            ("00", "00"),
            ("00.020", "00.020"),
            ("00.020000", "00.020000"),
        ],
        ids=["moved", "told in seconds", "in a millisecond", "in a millisecond, with more noughts"],
    )
    def test_it_may_have_moved_before_the_answer(
        self, status: str, created: str, updated: str
    ) -> None:
        begun = "2025-11-25T12:00:"
        told = {"createdAt": f"{begun}{created}Z", "lastUpdatedAt": f"{begun}{updated}Z"}
        made = creation(status=status, members=told)
        assert judged(self.rule, made).verdict == NOT_EXERCISED


class TestDurable:
    rule = "creation.durable"

    def test_found_at_once(self) -> None:
        assert judged(self.rule, creation(), reading(intent="read-at-once")).verdict == PASS
        missed = reading(error=-32602, intent="read-at-once")
        assert judged(self.rule, creation(), missed).verdict == FAIL

    def test_its_time_may_be_over(self) -> None:
        made = creation(members={"ttl": 10}, started=1.0)
        missed = reading(error=-32602, intent="read-at-once", started=2.0)
        assert judged(self.rule, made, missed).verdict == NOT_EXERCISED


class TestPrompt:
    rule = "creation.prompt"

    def made(
        self, name: str, start: float, took: float, status: str = "completed"
    ) -> list[Exchange]:
        return [
            creation(name, started=start, ended=start + took),
            reading(name, status, started=start + took + 0.1, ended=start + took + 0.11),
        ]

    def test_a_handle_that_waits_for_the_work(self) -> None:
        waited = [*self.made("a", 1, 1.2), *self.made("b", 4, 1.2)]
        assert judged(self.rule, *waited).verdict == WARN

    def test_once_may_be_an_accident(self) -> None:
        assert judged(self.rule, *self.made("a", 1, 1.2)).verdict == NOT_EXERCISED
        once = [*self.made("a", 1, 1.2), *self.made("b", 4, 0.01)]
        assert judged(self.rule, *once).verdict == NOT_EXERCISED

    def test_work_that_goes_on_was_not_awaited(self) -> None:
        lively = [*self.made("a", 1, 1.2, "working"), *self.made("b", 4, 1.2)]
        assert judged(self.rule, *lively).verdict == PASS

    def test_a_slow_network_is_no_wait(self) -> None:
        slow = [
            each
            for name, start in (("a", 1.0), ("b", 4.0))
            for each in (
                creation(name, started=start, ended=start + 0.6),
                reading(name, "completed", started=start + 0.7, ended=start + 1.2),
            )
        ]
        assert judged(self.rule, *slow).verdict == NOT_EXERCISED


def test_all_capabilities_are_the_objects_of_the_text() -> None:
    assert (
        judged("negotiation.settings-object", handshake(capabilities=CAPABILITIES)).verdict == PASS
    )
