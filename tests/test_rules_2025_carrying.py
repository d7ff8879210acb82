"""transport, jsonrpc, security, notifications and concurrency of 2025-11-25, on histories
written by hand."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_APPLICABLE, NOT_EXERCISED, PASS, WARN
from conformance.wire.exchange import Exchange, Fault, JsonObject
from tests.builders_2025 import (
    RESULT,
    VERSION,
    answer,
    at,
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
    related,
    session_id,
    stream,
    task,
    tools,
    violated,
)

STATUS = "notifications/tasks/status"
CALLS_ONLY: JsonObject = {"tasks": {"requests": {"tools": {"call": {}}}}}
AUTHORIZED = {"Authorization": "Bearer one"}


class TestSessions:
    @pytest.mark.parametrize("given", ["a b", "ä", "a\tb"])
    def test_ids_are_visible_ascii(self, given: str) -> None:
        rule = "transport.session-id-visible"
        assert judged(rule, handshake()).verdict == PASS
        assert judged(rule, handshake(given=given)).verdict == FAIL
        assert judged(rule, handshake(given=None)).verdict == NOT_APPLICABLE

    def test_ids_are_unique_and_secret(self) -> None:
        rule = "transport.session-id-strong"
        strong = [
            handshake(
                str(n), given=str(uuid.UUID(int=0x9E3779B97F4A7C15 ** (n + 2) % 2**128, version=4))
            )
            for n in range(6)
        ]
        assert judged(rule, *strong).verdict == PASS
        counted = [handshake(str(n), given=f"session-{n}") for n in range(6)]
        assert judged(rule, *counted).verdict == WARN
        same = [handshake("a", given=session_id("one")), handshake("b", given=session_id("one"))]
        assert judged(rule, *same).verdict == WARN

    def test_one_is_required_by_400(self) -> None:
        rule, control = "transport.session-required", tools(("a", ...))

        def probe(**more: Any) -> Exchange:
            return tools(session=None, intent="without-session", control=control, **more)

        before = [handshake(), control]
        assert judged(rule, *before, probe(error=-32000, status=400)).verdict == PASS
        assert judged(rule, *before, probe()).verdict == NOT_APPLICABLE
        assert judged(rule, *before, probe(error=-32000, status=404)).verdict == WARN

    def test_an_ended_one_is_404(self) -> None:
        rule, control = "transport.ended-session", tools(("a", ...))

        def probe(**more: Any) -> Exchange:
            return tools(intent="ended-session", control=control, **more)

        def before(status: int) -> list[Exchange]:
            end = exchange(None, http_method="DELETE", status=status, intent="end-session")
            return [handshake(), control, end]

        assert judged(rule, *before(200), probe(error=-32000, status=404)).verdict == PASS
        assert judged(rule, *before(204), probe()).verdict == FAIL
        assert judged(rule, *before(200), probe(error=-32000, status=400)).verdict == FAIL
        assert judged(rule, *before(405), probe()).verdict == NOT_APPLICABLE

    def test_unknown_versions_are_400(self) -> None:
        rule, control = "transport.unsupported-version", tools(("a", ...))

        def probe(**more: Any) -> Exchange:
            return tools(
                version="2099-12-31", intent="version-header-unknown", control=control, **more
            )

        assert judged(rule, control, probe(error=-32000, status=400)).verdict == PASS
        assert judged(rule, control, probe()).verdict == FAIL
        assert judged(rule, control, probe(error=-32000, status=404)).verdict == FAIL


class TestAnswers:
    def test_media_types(self) -> None:
        rule = "transport.content-type"
        assert judged(rule, reading()).verdict == PASS
        assert judged(rule, reading(content_type="text/plain")).verdict == FAIL

    def test_every_request_is_answered(self) -> None:
        rule = "transport.answered"
        assert judged(rule, reading()).verdict == PASS
        assert judged(rule, tools(result=None, body="", status=200)).verdict == FAIL
        assert judged(rule, creation(), reading(http_status=200)).verdict == FAIL

    def test_a_result_that_waits_is_another_matter(self) -> None:
        late = [fetch(fault=Fault("timeout", "no answer")) for _ in range(2)]
        assert judged("transport.answered", creation(), *late).verdict != FAIL

    def test_a_stream_that_ends_has_to_answer(self) -> None:
        ended = fetch(events=[": "])
        assert judged("transport.answered", ended).verdict == FAIL

    def test_a_stream_can_be_taken_up_again(self) -> None:
        begun = exchange(
            "tools/list",
            body="id: 1\ndata:\n\n",
            content_type="text/event-stream",
            fault=Fault("reset", "closed"),
        )
        assert judged("transport.answered", begun).verdict == NOT_EXERCISED

    def test_posted_responses(self) -> None:
        rule = "transport.response-accepted"
        assert judged(rule, answer()).verdict == PASS
        assert judged(rule, answer(status=200)).verdict == FAIL
        assert judged(rule, answer(body="{}", status=202)).verdict == FAIL
        assert judged(rule, answer(status=400)).verdict == NOT_EXERCISED

    def test_ping(self) -> None:
        rule = "transport.ping-answered"
        assert judged(rule, exchange("ping", result={})).verdict == PASS
        assert judged(rule, exchange("ping", error=-32601)).verdict == FAIL
        assert judged(rule, exchange("ping", result={"pong": True})).verdict == FAIL

    def test_a_foreign_origin(self) -> None:
        rule, control = "transport.foreign-origin", tools(("a", ...))

        def probe(**more: Any) -> Exchange:
            return tools(intent="foreign-origin", control=control, **more)

        assert judged(rule, control, probe(result=None, status=403)).verdict == PASS
        assert judged(rule, control, probe()).verdict == FAIL


class TestStreams:
    def test_get(self) -> None:
        rule = "transport.get-stream"
        assert judged(rule, stream(intent="http-get")).verdict == PASS
        assert judged(rule, stream(intent="http-get", status=405)).verdict == PASS
        assert judged(rule, handshake(), stream(intent="http-get", status=404)).verdict == FAIL
        page_of_html = stream(status=200, body="<html>", content_type="text/html")
        assert judged(rule, page_of_html).verdict == FAIL

    def test_get_may_be_refused_for_other_reasons(self) -> None:
        rule = "transport.get-stream"
        assert judged(rule, handshake(), stream(status=409)).verdict == NOT_EXERCISED
        without = stream(session=None, status=400)
        assert judged(rule, handshake(), without).verdict == NOT_EXERCISED
        assert judged(rule, handshake(given=None), without).verdict == FAIL

    def test_no_response_comes_there(self) -> None:
        rule = "transport.no-response-on-get"
        assert judged(rule, stream(question(1.0))).verdict == PASS
        assert judged(rule, stream(at(1.0, id=7, result={}))).verdict == FAIL
        resumed = stream(at(1.0, id=7, result={}), request_headers={"Last-Event-ID": "1"})
        assert judged(rule, resumed).verdict == NOT_EXERCISED

    def test_a_message_goes_on_one(self) -> None:
        rule = "transport.no-broadcast"
        asked = fetch(events=[question(3.0)], started=2.0, ended=9.0)
        quiet = stream(started=2.0, ended=9.0)
        assert judged(rule, asked, quiet).verdict == PASS
        both = stream(question(3.1), started=2.0, ended=9.0)
        assert judged(rule, asked, both).verdict == FAIL
        resumed = stream(question(3.1), request_headers={"Last-Event-ID": "1"})
        assert judged(rule, asked, resumed).verdict == PASS
        elsewhere = stream(question(3.1), session="two", started=2.0, ended=9.0)
        assert judged(rule, asked, elsewhere).verdict == PASS

    def test_a_status_goes_on_one(self) -> None:
        rule = "transport.no-broadcast"
        told = stream(at(3.0, method=STATUS, params=task()), started=2.0)
        again = fetch(events=[at(3.01, method=STATUS, params=task())], started=2.0)
        assert judged(rule, told, again).verdict == FAIL

    def test_event_ids_are_used_once(self) -> None:
        rule = "transport.event-ids-unique"

        def sent(*ids: str, **more: Any) -> Exchange:
            body = "".join(f"id: {name}\r\ndata: {{}}\r\n\r\n" for name in ids)
            return exchange("tools/list", body=body, content_type="text/event-stream", **more)

        assert judged(rule, sent("a", "b"), sent("c")).verdict == PASS
        assert judged(rule, sent("a", "b"), sent("b")).verdict == FAIL
        assert judged(rule, sent("a", "a")).verdict == FAIL
        assert judged(rule, sent("a"), sent("a", session="two")).verdict == PASS
        assert judged(rule, reading()).verdict == NOT_EXERCISED


class TestJsonRpc:
    def test_envelope(self) -> None:
        rule = "jsonrpc.envelope"
        assert judged(rule, reading()).verdict == PASS
        assert judged(rule, reading(request_id="text")).verdict == PASS
        for wrong in (
            {"id": 7, "result": task()},
            {"jsonrpc": "2.0", "id": "7", "result": task()},
            {"jsonrpc": "2.0", "id": 7, "result": task(), "error": None},
            {"jsonrpc": "2.0", "id": 7, "result": []},
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "?"}},
        ):
            assert judged(rule, reading(request_id=7, answer=wrong, result=None)).verdict == FAIL

    def test_a_refusal_by_http_may_lack_the_id(self) -> None:
        answered = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "?"}}
        refused = reading(request_id=7, answer=answered, result=None, http_status=404)
        assert judged("jsonrpc.envelope", refused).verdict == PASS

    def test_errors(self) -> None:
        rule = "jsonrpc.error-shape"
        assert judged(rule, reading(error=-32602)).verdict == PASS
        for wrong in ({"code": "-32602", "message": "?"}, {"code": -32602}, {"message": "?"}):
            assert judged(rule, reading(error=wrong)).verdict == FAIL

    @pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
    @pytest.mark.parametrize(
        ("intent", "params"), [("task-id-missing", {}), ("task-id-ill-typed", {"taskId": 7})]
    )
    def test_ids_are_checked(self, method: str, intent: str, params: dict[str, Any]) -> None:
        rule = "jsonrpc.invalid-params"

        def probe(**more: Any) -> Exchange:
            return exchange(method, params, intent=intent, **more)

        assert judged(rule, handshake(), probe(error=-32602)).verdict == PASS
        assert judged(rule, handshake(), probe(error=-32603)).verdict == FAIL
        assert judged(rule, handshake(), probe(result=task())).verdict == FAIL

    def test_unknown_methods(self) -> None:
        rule = "jsonrpc.unknown-method"

        def probe(**more: Any) -> Exchange:
            return exchange("tasks/conformance-unknown", intent="unknown-method", **more)

        assert judged(rule, probe(error=-32601)).verdict == PASS
        assert judged(rule, probe(error=-32601, status=404)).verdict == PASS
        assert judged(rule, probe(error=-32602)).verdict == FAIL
        assert judged(rule, probe(result={})).verdict == FAIL

    def test_notifications(self) -> None:
        rule = "jsonrpc.notification-unanswered"
        assert judged(rule, initialized()).verdict == PASS
        assert judged(rule, initialized(status=200, body="{}")).verdict == FAIL
        assert judged(rule, initialized(status=200)).verdict == FAIL

    def test_bad_input(self) -> None:
        rule, control = "jsonrpc.survives-bad-input", reading()

        def probe(**more: Any) -> Exchange:
            return exchange(
                "tasks/get", {"taskId": "\0"}, intent="odd-task-id", control=control, **more
            )

        assert judged(rule, control, probe(error=-32602)).verdict == PASS
        assert judged(rule, control, probe(body="oops", status=500)).verdict == FAIL

    def test_unknown_members(self) -> None:
        rule, control = "jsonrpc.unknown-members-ignored", reading()

        def probe(**more: Any) -> Exchange:
            return exchange(
                "tasks/get",
                {"taskId": "t", "x": 1},
                intent="unknown-members",
                control=control,
                **more,
            )

        assert judged(rule, creation(), control, probe(result=task())).verdict == PASS
        assert judged(rule, creation(), control, probe(error=-32602)).verdict == FAIL
        # Here it was the task that was gone.
        found = violated(creation(), control, probe(error=-32602), reading(error=-32602))
        assert "expiry.not-before-ttl" in found
        assert rule not in found


class TestSecurity:
    def test_ids(self) -> None:
        rule = "security.unguessable-ids"
        strong = [
            creation(uuid.UUID(int=0x9E3779B97F4A7C15 ** (n + 2) % 2**128, version=4).hex)
            for n in range(8)
        ]
        assert judged(rule, *strong).verdict == PASS
        counted = [creation(f"task-{n}") for n in range(8)]
        assert judged(rule, *counted).verdict == FAIL
        bound = [creation(f"task-{n}", request_headers=AUTHORIZED) for n in range(8)]
        assert judged(rule, *bound).verdict == NOT_APPLICABLE

    def admitted(self) -> Exchange:
        """The second caller is let in: a tool call of it is served."""
        return call(caller="second", session="two")

    @pytest.mark.parametrize(
        "rule", ["security.foreign-get", "security.foreign-result", "security.foreign-cancel"]
    )
    def test_others_are_refused(self, rule: str) -> None:
        send: Any = {"get": reading, "result": fetch, "cancel": cancel}[rule.rpartition("-")[2]]
        foreign: dict[str, Any] = {"caller": "second", "session": "two", "intent": "foreign"}
        before = [creation(), self.admitted()]
        assert judged(rule, *before, send(error=-32602, **foreign)).verdict == PASS
        assert judged(rule, *before, send(**foreign)).verdict == FAIL
        # Who is refused everything shows nothing.
        alone = judged(rule, creation(), send(error=-32602, **foreign))
        assert alone.verdict == NOT_EXERCISED

    @pytest.mark.parametrize("rule", ["security.foreign-result", "security.foreign-cancel"])
    def test_what_everybody_gets_for_any_id_gives_nothing_away(self, rule: str) -> None:
        send: Any = {"result": fetch, "cancel": cancel}[rule.rpartition("-")[2]]
        other: dict[str, Any] = {"caller": "second", "session": "two"}
        before = [creation(started=0.5), self.admitted()]
        before.append(send(result={"_meta": {}}, intent="foreign", **other))
        unknown = send("u", result={"_meta": {}}, intent="foreign-unknown", **other)
        assert judged(rule, *before, unknown).verdict == NOT_EXERCISED
        refused = send("u", error=-32602, intent="foreign-unknown", **other)
        assert judged(rule, *before, refused).verdict == FAIL

    def test_a_cancellation_that_is_served_to_anybody_may_have_an_effect(self) -> None:
        other: dict[str, Any] = {"caller": "second", "session": "two", "result": {}}
        found = [creation(started=0.5), self.admitted(), cancel(intent="foreign", **other)]
        found += [cancel("u", intent="foreign-unknown", **other), reading(status="cancelled")]
        assert judged("security.foreign-cancel", *found).verdict == FAIL

    def test_a_refused_cancellation_has_no_effect(self) -> None:
        rule = "security.foreign-cancel"
        foreign = cancel(error=-32602, caller="second", session="two", intent="foreign")
        late = reading(status="cancelled")
        assert judged(rule, creation(started=0.5), self.admitted(), foreign, late).verdict == FAIL
        own = cancel(started=foreign.ended + 0.1)
        both = [creation(started=0.5), self.admitted(), foreign, own, late]
        assert judged(rule, *both).verdict == PASS

    def test_others_are_not_shown_it(self) -> None:
        rule = "security.foreign-list"
        other: dict[str, Any] = {"caller": "second", "session": "two", "intent": "foreign-list"}
        assert judged(rule, handshake(), creation(), page(task("u"), **other)).verdict == PASS
        assert judged(rule, handshake(), creation(), page(task(), **other)).verdict == FAIL
        absent = handshake(capabilities=CALLS_ONLY)
        assert judged(rule, absent, creation()).verdict == NOT_APPLICABLE

    def test_a_foreign_task_looks_unknown(self) -> None:
        rule = "security.no-existence-oracle"
        other: dict[str, Any] = {"caller": "second", "session": "two"}

        def answered(message: str) -> list[Exchange]:
            error = {"code": -32602, "message": message}
            unknown = {"code": -32602, "message": "No such task"}
            return [
                creation(),
                self.admitted(),
                reading(error=error, intent="foreign", **other),
                reading("nobody", error=unknown, intent="foreign-unknown", **other),
                reading("nobodys", error=unknown, intent="foreign-unknown", **other),
            ]

        assert judged(rule, *answered("No such task")).verdict == PASS
        assert judged(rule, *answered("Not yours")).verdict == WARN

    def test_no_list_for_anybody(self) -> None:
        rule, intent = "security.list-needs-identity", "list-from-other-session"
        before = [handshake(), handshake("two"), creation()]
        assert judged(rule, *before, page(session="two", intent=intent)).verdict == PASS
        shown = page(task(), session="two", intent=intent)
        assert judged(rule, *before, shown).verdict == WARN
        authorized = page(task(), session="two", intent=intent, request_headers=AUTHORIZED)
        assert judged(rule, *before, authorized).verdict == NOT_APPLICABLE

    def test_quiet_errors(self) -> None:
        rule = "security.quiet-errors"
        assert judged(rule, reading(error=-32602)).verdict == PASS
        trace = {"code": -32603, "message": "Traceback (most recent call last):"}
        assert judged(rule, reading(error=trace)).verdict == WARN


class TestNotifications:
    def told(self, moment: float = 3.0, **params: Any) -> Exchange:
        message = at(moment, method=STATUS, params={**task("t", "completed"), **params})
        return stream(message, started=0.5, ended=9.0)

    def test_the_full_task(self) -> None:
        rule = "notifications.full-task"
        assert judged(rule, self.told()).verdict == PASS
        only = stream(at(3.0, method=STATUS, params={"taskId": "t", "status": "completed"}))
        assert judged(rule, only).verdict == FAIL
        assert judged(rule, stream()).verdict == NOT_APPLICABLE

    def test_no_related_task(self) -> None:
        rule = "notifications.no-related-task"
        assert judged(rule, self.told()).verdict == PASS
        assert judged(rule, self.told(**related({}, "t"))).verdict == WARN

    def test_they_agree_with_reads(self) -> None:
        rule = "notifications.agree-with-polling"
        made = creation(started=1.0)
        right = reading(status="completed", started=4.0)
        assert judged(rule, made, self.told(), right).verdict == PASS
        wrong = reading(started=4.0)
        assert judged(rule, made, self.told(), wrong).verdict == FAIL
        before = [made, self.told(5.0), reading(started=4.0)]
        assert judged(rule, *before).verdict == NOT_EXERCISED

    def test_progress_names_its_task(self) -> None:
        rule = "notifications.progress-related-task"
        made = creation(started=1.0, meta={"progressToken": "p"})
        params = {"progressToken": "p", "progress": 1}

        def told(moment: float, params: dict[str, Any]) -> Exchange:
            message = at(moment, method="notifications/progress", params=params)
            return stream(message, started=0.5, ended=9.0)

        assert judged(rule, made, told(3.0, related(params))).verdict == PASS
        assert judged(rule, made, told(3.0, params)).verdict == FAIL
        assert judged(rule, made, told(3.0, related(params, "u"))).verdict == FAIL
        # Before the answer there was no task that it could name.
        assert judged(rule, made, told(1.05, params)).verdict == NOT_APPLICABLE
        other = told(3.0, {**params, "progressToken": "q"})
        assert judged(rule, made, other).verdict == NOT_APPLICABLE


class TestConcurrency:
    def test_results_are_kept_apart(self) -> None:
        rule = "concurrency.no-cross-talk"

        def made(name: str, text: str) -> Exchange:
            return creation(
                name,
                arguments={"text": text},
                intent="create-with-marker",
                notes={"marker": text},
            )

        def shown(name: str, text: str) -> Exchange:
            content = [{"type": "text", "text": text}]
            return fetch(name, result=related({"content": content}, name))

        both = [made("a", "marker-one"), made("b", "marker-two")]
        right = [shown("a", "marker-one"), shown("b", "marker-two")]
        assert judged(rule, *both, *right).verdict == PASS
        assert judged(rule, *both, shown("a", "marker-two")).verdict == FAIL
        together = shown("a", "marker-one, marker-two")
        assert judged(rule, *both, together).verdict == NOT_EXERCISED

    def test_readers_agree(self) -> None:
        rule = "concurrency.reads-agree"
        right = [
            creation(),
            reading(),
            reading(status="completed", connection="a"),
            reading(status="completed", connection="b"),
        ]
        assert judged(rule, *right).verdict == PASS
        stale = [
            creation(),
            reading(status="completed", connection="a"),
            reading(connection="b"),
            reading(status="completed", connection="a"),
        ]
        assert judged(rule, *stale).verdict == FAIL


def test_a_correct_session_breaks_no_rule() -> None:
    """Many rules look at everything that passes by: none objects to what a good server does."""
    name = "786512e2-9e0d-44bd-8f29-789f320fe840"
    whole = [
        handshake(),
        initialized(),
        tools(("export", "optional"), ("plain", "forbidden")),
        call("plain"),
        call(),
        creation(name),
        reading(name),
        reading(name, "completed", members={"lastUpdatedAt": "2025-11-25T12:00:05.123Z"}),
        fetch(name, result=related(RESULT, name)),
        page(task(name, "completed")),
        cancel(name, error=-32602),
        reading(name, "completed", members={"lastUpdatedAt": "2025-11-25T12:00:05.123Z"}),
        exchange("ping", result={}),
    ]
    for rule in catalogue(VERSION).values():
        verdict = judged(rule.id, *whole)
        assert not verdict.violated, (rule.id, verdict.reason)


def test_every_rule_has_histories_here() -> None:
    files = Path(__file__).parent.glob("test_rules_2025_*.py")
    written = "\n".join(file.read_text(encoding="utf-8") for file in files)
    assert [rule for rule in catalogue(VERSION) if f'"{rule}"' not in written] == []
