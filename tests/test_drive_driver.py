"""The driver: what is sent is recorded, whatever comes of it, and never a secret."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from conformance.drive.demise import GONE_AFTER
from conformance.drive.driver import Driver, OutOfTime, ServerGone
from conformance.drive.running import new_session, new_wire
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.run import circumstances_of
from conformance.target.target import NOBODY, SECOND, WRONG_TOKEN, Target, target_of
from conformance.wire.history import History, HistoryWriter, read
from tests.sockets import Listening, Writer, listening, response

pytestmark = pytest.mark.anyio

PATIENCE = 20.0
SECRET = "alice-77-secret"
CALLER = (("Authorization", f"Bearer {SECRET}"),)
OTHER = (("Authorization", "Bearer bob-88-secret"),)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


Reply = Callable[[dict[str, Any]], Any]


@asynccontextmanager
async def driving(
    reply: Reply, folder: Path, *, seconds: float = PATIENCE, **options: Any
) -> AsyncIterator[tuple[Driver, Listening]]:
    """A driver at a server that answers each message with this result, or never where the
    result is ``None``."""

    async def answer(request: bytes, writer: Writer) -> None:
        message = json.loads(request.partition(b"\r\n\r\n")[2])
        result = reply(message)
        if result is None:
            await anyio.sleep_forever()
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        writer.write(response(json.dumps(body).encode()))
        await writer.drain()

    with anyio.fail_after(PATIENCE):
        async with listening(answer, keep_alive=True) as server:
            target = target_of(server.url, **options)
            async with new_wire(target) as wire:
                session = new_session(target, Surroundings(), wire, seconds=seconds)
                writer = HistoryWriter(folder / "it.jsonl", circumstances_of(target, ""))
                yield Driver(session, "it", writer), server
                writer.close()


def kept(folder: Path) -> History:
    return read([folder])


async def until_requested(server: Listening) -> None:
    while not server.requests:
        await anyio.sleep(0.005)


async def test_what_came_is_kept_as_it_came(tmp_path: Path) -> None:
    async with driving(lambda message: {"tools": []}, tmp_path) as (driver, _):
        sent = await driver.list_tools(intent="look")
        probe = await driver.list_tools(control=sent, notes={"why": "a probe"})
    assert list(kept(tmp_path)) == [sent, probe]
    assert (sent.number, sent.intent, sent.caller) == (1, "look", "first")
    assert (probe.control, probe.notes) == (1, {"why": "a probe"})


async def test_the_scenario_sees_what_came_and_the_history_no_secret(tmp_path: Path) -> None:
    """A server may put its caller into the ids of tasks: they still have to work."""
    task = {"resultType": "task", "taskId": f"{SECRET}/1", "status": "working"}
    tool = ToolUse("it")
    async with driving(lambda _: task, tmp_path, headers=CALLER) as (driver, server):
        created = await driver.create(tool, notes={"echo": SECRET})
        assert created is not None
        assert created.task_id == f"{SECRET}/1"
        await driver.get(created.task_id)
    assert f'"taskId":"{SECRET}/1"'.encode() in server.requests[1]
    assert SECRET not in (tmp_path / "it.jsonl").read_text()
    creation, reading = kept(tmp_path)
    assert creation.handle is not None
    assert creation.handle["taskId"] == reading.task_id == "***/1"
    assert reading.request_header("mcp-name") == "***/1"


@pytest.mark.parametrize(
    ("caller", "authorization"),
    [
        ("first", f"Bearer {SECRET}"),
        (SECOND, "Bearer bob-88-secret"),
        (NOBODY, None),
        (WRONG_TOKEN, "Bearer wrong-xxxxxxxxxxxxxxxxxxxxxxxx"),
    ],
)
async def test_callers_send_their_own_headers(
    tmp_path: Path, caller: str, authorization: str | None
) -> None:
    async with driving(lambda _: {}, tmp_path, headers=CALLER, other_headers=OTHER) as (
        driver,
        server,
    ):
        await driver.discover(caller=caller)
    lines = server.requests[0].decode().split("\r\n")
    sent = [line.partition(": ")[2] for line in lines if line.lower().startswith("authorization")]
    assert sent == ([authorization] if authorization else [])


async def test_credentials_of_the_url_are_not_everybodys(tmp_path: Path) -> None:
    async def without(url: str) -> list[bytes]:
        target = target_of(url.replace("127", "alice:wonder@127"))
        async with new_wire(target) as wire:
            session = new_session(target, Surroundings(), wire, seconds=PATIENCE)
            writer = HistoryWriter(tmp_path / "it.jsonl", circumstances_of(target, ""))
            driver = Driver(session, "it", writer)
            await driver.discover()
            await driver.discover(caller=NOBODY)
            writer.close()
        return server.requests

    async with driving(lambda _: {}, tmp_path) as (_, server):
        first, nobody = await without(server.url)
    assert b"authorization: basic " in first.lower()
    assert b"authorization" not in nobody.lower()


async def test_what_was_stopped_on_the_way_is_kept(tmp_path: Path) -> None:
    async with (
        driving(lambda _: None, tmp_path) as (driver, server),
        anyio.create_task_group() as group,
    ):
        group.start_soon(driver.discover)
        await until_requested(server)
        group.cancel_scope.cancel()
    (exchange,) = kept(tmp_path)
    assert exchange.method == "server/discover"
    assert exchange.fault is not None
    assert exchange.fault.kind == "interrupted"


async def test_an_answer_that_the_end_of_the_run_cut_off_is_no_timeout(tmp_path: Path) -> None:
    async with driving(lambda _: None, tmp_path, seconds=0.3) as (driver, _):
        cut_off = await driver.discover()
    assert cut_off.fault is not None
    assert cut_off.fault.kind == "interrupted"
    async with driving(lambda _: None, tmp_path) as (driver, _):
        late = await driver.discover(seconds=0.3)
    assert late.fault is not None
    assert late.fault.kind == "timeout"


async def test_nothing_is_sent_when_the_time_is_up(tmp_path: Path) -> None:
    async with driving(lambda _: {}, tmp_path, seconds=-1.0) as (driver, server):
        with pytest.raises(OutOfTime):
            await driver.discover()
        with pytest.raises(OutOfTime):
            await driver.pause(1.0)
    assert server.requests == []


async def test_a_server_that_is_gone_is_left_alone(tmp_path: Path) -> None:
    async with driving(lambda _: {}, tmp_path) as (_, server):
        pass
    target = Target(url=server.url)
    async with new_wire(target) as wire:
        session = new_session(target, Surroundings(), wire, seconds=PATIENCE)
        writer = HistoryWriter(tmp_path / "it.jsonl", circumstances_of(target, ""))
        driver = Driver(session, "it", writer)
        for _ in range(GONE_AFTER):
            await driver.discover()
        with pytest.raises(ServerGone):
            await driver.discover()
        writer.close()
    assert len(kept(tmp_path)) == GONE_AFTER


async def test_what_is_unfinished_is_cancelled_at_the_end(tmp_path: Path) -> None:
    def reply(message: dict[str, Any]) -> dict[str, Any]:
        name = message["params"].get("name", message["params"].get("taskId"))
        status = "completed" if name == "ended" else "working"
        kind = "task" if message["method"] == "tools/call" else "complete"
        return {"resultType": kind, "taskId": name, "status": status, "pollIntervalMs": 1}

    async with driving(reply, tmp_path, other_headers=OTHER) as (driver, _):
        for name in ("ended", "left", "cancelled"):
            await driver.create(ToolUse(name))
        await driver.create(ToolUse("of-the-other"), caller=SECOND)
        await driver.cancel("cancelled")
        await driver.tidy_up()
    tidied = kept(tmp_path).intended("tidy-up")
    assert {(e.method, e.task_id, e.caller) for e in tidied} == {
        ("tasks/cancel", "left", "first"),
        ("tasks/cancel", "of-the-other", "second"),
    }


async def test_nothing_is_left_behind_when_the_time_is_over(tmp_path: Path) -> None:
    def reply(message: dict[str, Any]) -> dict[str, Any]:
        kind = "task" if message["method"] == "tools/call" else "complete"
        return {"resultType": kind, "taskId": "left", "status": "working", "pollIntervalMs": 1}

    async with driving(reply, tmp_path) as (driver, _):
        await driver.create(ToolUse("export"))
        driver.session.ends = 0.0
        with pytest.raises(OutOfTime):
            await driver.discover()
        await driver.tidy_up()
    assert [e.task_id for e in kept(tmp_path).intended("tidy-up")] == ["left"]


async def test_polls_keep_their_distance(tmp_path: Path) -> None:
    def reply(message: dict[str, Any]) -> dict[str, Any]:
        kind = "task" if message["method"] == "tools/call" else "complete"
        return {"resultType": kind, "taskId": "t", "status": "working", "pollIntervalMs": 150}

    async with driving(reply, tmp_path) as (driver, _):
        created = await driver.create(ToolUse("it"))
        assert created is not None
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(driver.get, "t")
    times = [exchange.started for exchange in kept(tmp_path)]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    # A timer may fire a little early; three polls at once would be next to nothing apart.
    assert min(gaps) > 0.1


async def test_a_429_is_waited_out(tmp_path: Path) -> None:
    polls = 0

    async def answer(request: bytes, writer: Writer) -> None:
        nonlocal polls
        polls += 1
        late = response(b"{}", status="429 Slow", headers="Retry-After: 0\r\n")
        writer.write(late if polls < 3 else response())
        await writer.drain()

    async with listening(answer, keep_alive=True) as server:
        target = Target(url=server.url)
        async with new_wire(target) as wire:
            session = new_session(target, Surroundings(), wire, seconds=PATIENCE)
            writer = HistoryWriter(tmp_path / "it.jsonl", circumstances_of(target, ""))
            seen = await Driver(session, "it", writer).get("t")
            writer.close()
    assert seen.status == 200
    assert [exchange.status for exchange in kept(tmp_path)] == [429, 429, 200]


async def test_held_streams_take_no_place_from_others(tmp_path: Path) -> None:
    def reply(message: dict[str, Any]) -> Any:
        return None if message["method"] == "held" else {}

    async with driving(reply, tmp_path) as (driver, server):
        enough = anyio.Event()
        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(hold, driver, enough)
            while len(server.requests) < 30:
                await anyio.sleep(0.005)
            assert (await driver.discover()).fault is None
            enough.set()
    assert len(kept(tmp_path)) == 31


async def hold(driver: Driver, enough: anyio.Event) -> None:
    await driver.send(driver.draft("held"), enough=enough)


async def test_waiting_is_bounded(tmp_path: Path) -> None:
    task = {"resultType": "complete", "taskId": "t", "status": "working", "pollIntervalMs": 1}
    async with driving(lambda _: task, tmp_path, max_wait=0.3) as (driver, _):
        begun = time.monotonic()
        assert await driver.wait_for_end("t") is None
        assert time.monotonic() - begun < 10
