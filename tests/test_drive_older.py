"""The driver of 2025-11-25: its handshake, its sessions, and its answers to what is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from conformance.drive.answers import DECLINE
from conformance.drive.driver import Driver
from conformance.drive.manners import manner_of
from conformance.drive.older.driver import MAIN, OlderDriver
from conformance.drive.older.session import answering, refusing, related_task
from conformance.drive.running import drive_one, new_session, new_wire
from conformance.drive.scenario import all_scenarios
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.drive.tools import planned
from conformance.errors import NothingToJudge
from conformance.run import circumstances_of
from conformance.specification.names import HEADER_SESSION, META_RELATED_TASK
from conformance.target.roles import (
    ECHO,
    INPUT,
    LARGE,
    PROTOCOL_ERROR,
    SLOW,
    SYNC,
    TASK,
    TASK_ONLY,
    TOOL_ERROR,
    roles_seen,
)
from conformance.target.target import Target, target_of
from conformance.wire.exchange import Exchange
from conformance.wire.history import History, HistoryWriter
from fixtures.serve import Settings, running
from tests.sockets import Answer, Writer, listening, response

SPEC = "2025-11-25"
PATIENCE = 40.0
ANYWHERE = "http://127.0.0.1:9/mcp"
AGREED = {
    "protocolVersion": SPEC,
    "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
    "serverInfo": {"name": "it", "version": "1"},
}
SETTINGS = Settings(revision=SPEC, work_seconds=0.7, poll_interval_ms=20)

Work = Callable[[OlderDriver], Awaitable[None]]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(SETTINGS) as running_at:
        yield running_at


def target_at(url: str, **options: Any) -> Target:
    return target_of(url, spec=SPEC, **{"max_wait": 10.0, **options})


@asynccontextmanager
async def driving(
    target: Target, folder: Path, seen: list[Exchange], scenario: str = "discovery"
) -> AsyncIterator[OlderDriver]:
    async with new_wire(target) as wire:
        session = new_session(
            target, Surroundings(), wire, seconds=PATIENCE, on_exchange=seen.append
        )
        writer = HistoryWriter(folder / f"{scenario}.jsonl", circumstances_of(target, ""))
        driver = manner_of(SPEC).driver_class(session, scenario, writer)
        assert isinstance(driver, OlderDriver)
        yield driver
        writer.close()


def driven(target: Target, folder: Path, work: Work) -> list[Exchange]:
    """What was exchanged while some work was done, in the order in which it ended."""
    seen: list[Exchange] = []

    async def drive() -> None:
        with anyio.fail_after(PATIENCE):
            async with driving(target, folder, seen) as driver:
                await work(driver)
                await driver.tidy_up()

    anyio.run(drive)
    return seen


def looked(url: str, folder: Path, **options: Any) -> tuple[Surroundings, list[Exchange]]:
    """What looking around and trying the tools finds, with the roles that were seen."""
    target = target_at(url, **options)
    manner = manner_of(SPEC)
    found: list[Surroundings] = []

    async def look(driver: OlderDriver) -> None:
        surroundings, listed = await manner.look(driver)
        driver.session.surroundings = surroundings
        uses = planned(target, surroundings, listed)
        await manner.try_tools(driver, uses, listed, lambda text: None)
        found.append(surroundings)

    seen = driven(target, folder, look)
    return found[0], seen


def tool_named(name: str, *roles: str, **arguments: object) -> ToolUse:
    return ToolUse(name, dict(arguments), roles=roles)


# ---- looking around ------------------------------------------------------------------------


def server(results: Mapping[str, object]) -> Answer:
    """Answers each method with a result, or -32601; notifications with HTTP 202."""

    async def answer(request: bytes, writer: Writer) -> None:
        body = request.partition(b"\r\n\r\n")[2]
        message = json.loads(body) if body else {}
        if "id" not in message:
            writer.write(response(b"", status="202 Accepted"))
        else:
            found = results.get(message["method"])
            error = {"code": -32601, "message": "no such method"}
            part: dict[str, object] = {"error": error} if found is None else {"result": found}
            text = json.dumps({"jsonrpc": "2.0", "id": message["id"], **part})
            writer.write(response(text.encode()))
        await writer.drain()

    return answer


def complaint(answer: Answer, folder: Path) -> str:
    async def look() -> str:
        with anyio.fail_after(PATIENCE):
            async with listening(answer, keep_alive=True) as found:
                target = target_at(found.url)
                async with driving(target, folder, []) as driver:
                    with pytest.raises(NothingToJudge) as raised:
                        await manner_of(SPEC).look(driver)
        return str(raised.value)

    return anyio.run(look)


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ({"initialize": {**AGREED, "protocolVersion": "2025-06-18"}}, "speaks MCP 2025-06-18"),
        ({"server/discover": {"supportedVersions": ["2026-07-28"]}}, "pass --spec 2026-07-28"),
        ({}, "answers initialize with error -32601 (no such method)"),
    ],
)
def test_what_cannot_be_judged(tmp_path: Path, results: Mapping[str, object], words: str) -> None:
    said = complaint(server(results), tmp_path)
    assert words in said
    assert "\n" not in said


def test_what_is_no_server_at_all(tmp_path: Path) -> None:
    async def answer(request: bytes, writer: Writer) -> None:
        writer.write(response(b"<p>Hello</p>", content_type="text/html"))
        await writer.drain()

    assert "not an MCP endpoint" in complaint(answer, tmp_path)


def test_the_reference_server_is_looked_at(url: str, tmp_path: Path) -> None:
    found, seen = looked(url, tmp_path)
    assert found.extension
    assert found.versions == (SPEC,)
    roles = roles_seen(History(seen, circumstances_of(target_at(url), "")))
    together = set().union(*roles.values())
    wanted = {TASK, SLOW, TOOL_ERROR, PROTOCOL_ERROR, INPUT, LARGE, TASK_ONLY, SYNC, ECHO}
    assert wanted <= together
    assert not any({SYNC, TASK} <= played for played in roles.values())


def test_where_no_tasks_are_declared_tools_are_called_plainly(tmp_path: Path) -> None:
    tools = [
        {"name": "a", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}
    ]
    answer = server(
        {
            "initialize": {**AGREED, "capabilities": {"tools": {}}},
            "tools/list": {"tools": tools},
            "tools/call": {"content": []},
        }
    )

    async def look() -> tuple[Surroundings, list[Exchange]]:
        async with listening(answer, keep_alive=True) as found:
            return await anyio.to_thread.run_sync(lambda: looked(found.url, tmp_path))

    found, seen = anyio.run(look)
    assert not found.extension
    assert [e.params.get("task") for e in seen if e.tool == "a"] == [None]


# ---- sessions ------------------------------------------------------------------------------


def test_every_session_is_opened_once_and_ended(url: str, tmp_path: Path) -> None:
    async def work(driver: OlderDriver) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(driver.list_tools)
        await driver.open("other", capabilities={})
        await driver.list_tools(in_session="other")

    seen = driven(target_at(url), tmp_path, work)
    opened = [e for e in seen if e.method == "initialize"]
    names = ["discovery/main", "discovery/other"]
    assert [e.notes["session"] for e in opened] == names
    assert [e.params["capabilities"] for e in opened] == [
        {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}},
        {},
    ]
    ids = [e.response_header(HEADER_SESSION) for e in opened]
    assert len(set(ids)) == 2
    sent = {(e.notes["session"], e.request_header(HEADER_SESSION)) for e in seen if e not in opened}
    assert sent == set(zip(names, ids, strict=True))
    ended = [e.notes["session"] for e in seen if e.sent.http_method == "DELETE"]
    assert sorted(ended) == names


def test_a_session_that_the_server_ended_is_opened_anew(url: str, tmp_path: Path) -> None:
    async def work(driver: OlderDriver) -> None:
        await driver.list_tools()
        await driver.end_session(driver.sessions[MAIN])
        driver.sessions[MAIN].ended = False  # as if the server had ended it by itself
        refused = await driver.list_tools()
        assert refused.status == 404
        assert (await driver.list_tools()).result is not None

    seen = driven(target_at(url), tmp_path, work)
    assert len([e for e in seen if e.method == "initialize"]) == 2


@pytest.mark.parametrize("fault", [None, "quick-tasks-are-born-ended"])
def test_a_task_is_read_in_the_session_it_was_made_in(fault: str | None, tmp_path: Path) -> None:
    async def work(driver: OlderDriver) -> None:
        tool = tool_named("shout", TASK, text="hello there")
        await driver.list_tools()
        await driver.open("other")
        created = await driver.create(tool, in_session="other")
        assert created is not None
        read = await driver.get(created.task_id)
        assert read.task is not None
        assert read.notes["session"] == "discovery/other"

    with running(replace(SETTINGS, fault=fault)) as url:
        driven(target_at(url), tmp_path, work)


# ---- what the server asks ------------------------------------------------------------------


def test_questions_on_the_stream_of_a_result_are_answered(url: str, tmp_path: Path) -> None:
    async def work(driver: OlderDriver) -> None:
        created = await driver.create(tool_named("book_table", TASK, INPUT))
        assert created is not None
        ended = await driver.finish(created.task_id)
        assert ended is not None
        assert ended.task is not None
        assert ended.task["status"] == "completed"

    seen = driven(target_at(url), tmp_path, work)
    answers = [e for e in seen if e.intent == "answer"]
    assert answers
    for answer in answers:
        assert answer.status == 202
        related = answer.request["result"]["_meta"][META_RELATED_TASK]
        assert related == {"taskId": answer.notes["answers"]}
    ids = [answer.request_id for answer in answers]
    assert len(set(ids)) == len(ids)
    asking = next(e for e in seen if e.method == "tasks/result")
    # The answers were posted while the stream was open.
    assert all(asking.started < answer.started < asking.ended for answer in answers)


def test_an_answer_is_made_for_each_kind_of_question() -> None:
    meta = {META_RELATED_TASK: {"taskId": "t"}}
    asked = {"id": 1, "method": "elicitation/create", "params": {"_meta": meta}}
    assert answering(action=DECLINE)(asked) == {"result": {"action": "decline", "_meta": meta}}
    assert answering()({"id": 1, "method": "ping"}) == {"result": {}}
    assert answering()({"id": 1, "method": "other"})["error"]["code"] == -32601
    assert "error" in (refusing(asked) or {})
    assert related_task(asked) == "t"
    assert related_task({"method": "ping"}) is None


def test_a_listened_stream_ends_with_the_work(url: str, tmp_path: Path) -> None:
    async def work(driver: OlderDriver) -> None:
        async with driver.listening(), driver.listening():
            created = await driver.create(tool_named("shout", TASK, text="hello there"))
            assert created is not None
            await driver.finish(created.task_id)

    seen = driven(target_at(url), tmp_path, work)
    held = [e for e in seen if e.sent.http_method == "GET"]
    assert len(held) == 1
    assert held[0].is_stream
    assert held[0].fault is None


# ---- scenarios -----------------------------------------------------------------------------


def test_scenarios_are_of_their_revision() -> None:
    older = all_scenarios(SPEC)
    assert len(older) >= 50
    newer = {scenario.drive for scenario in all_scenarios("2026-07-28")}
    assert not newer & {scenario.drive for scenario in older}


def test_a_driver_of_another_revision_is_turned_away(tmp_path: Path) -> None:
    async def drive() -> None:
        target = target_of(ANYWHERE)
        async with new_wire(target) as wire:
            session = new_session(target, Surroundings(), wire, seconds=1)
            writer = HistoryWriter(tmp_path / "x.jsonl", circumstances_of(target, ""))
            with pytest.raises(TypeError):
                await all_scenarios(SPEC)[0].drive(Driver(session, "x", writer))
            writer.close()

    anyio.run(drive)


def test_every_scenario_runs_where_nothing_can_be_called(url: str, tmp_path: Path) -> None:
    target = target_at(url, explore="none", max_wait=3.0)
    reasons: dict[str, str] = {}

    async def drive() -> None:
        async with new_wire(target) as wire:
            session = new_session(target, Surroundings(), wire, seconds=PATIENCE)
            circumstances = circumstances_of(target, "")

            async def one(index: int) -> None:
                scenario = scenarios[index]
                reasons[scenario.name] = await drive_one(session, scenario, tmp_path, circumstances)

            async with anyio.create_task_group() as group:
                for index in range(len(scenarios)):
                    group.start_soon(one, index)

    scenarios = all_scenarios(SPEC)
    anyio.run(drive)
    assert set(reasons.values()) == {""}
