"""Reads tasks: unknown ones, ended ones, waiting ones, at their pace and too early."""

from __future__ import annotations

import random
import uuid

import anyio

from conformance.drive.draft import UNDECLARED
from conformance.drive.driver import DEFAULT_POLL_SECONDS, Driver, seconds_to_wait
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.drive.trying import is_soon_done
from conformance.target.roles import (
    INPUT,
    LARGE,
    PROTOCOL_ERROR,
    SLOW,
    SLOW_SECONDS,
    TASK,
    TASK_ONLY,
)
from conformance.wire.client import FRESH
from conformance.wire.exchange import Exchange

EARLY_POLLS = 5
_TRIES_TO_BE_EARLY = 3
MOST_WAITING = 4
LONG_INTERVAL = 2.0
REQUESTS_MEANWHILE = 8
_URL_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
# Servers have been seen to keep the parts of a task under its id and a suffix, and to serve
# those parts to whoever asks for them.
_INTERNAL_SUFFIXES = (":result", ":current_leg")
# Of a shorter id, a neighbour may well exist.
_SHORTEST_ID_TO_CHANGE = 16


@scenario("polling.unknown-ids", also=("transport",))
async def unknown_ids(driver: Driver) -> None:
    """Ids that no server has handed out, in the forms that ids usually have."""
    rng = random.Random(f"{driver.target.seed} {driver.scenario}")
    ids = [
        str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "".join(rng.choices(_URL_SAFE, k=32)),
        f"{rng.getrandbits(96):024x}",
    ]
    for task_id in ids:
        await driver.get(task_id, "unknown-id")


@scenario("polling.derived-ids", needs=(TASK,))
async def derived_ids(driver: Driver) -> None:
    """Ids made from a real one by a small change, each beside the accepted read of the real."""
    tool = driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is None:
        return
    ended = await driver.wait_for_end(created.task_id)
    if ended is None:
        return
    for task_id, change in changed_ids(created.task_id):
        await driver.get(task_id, "derived-id", control=ended, notes={"change": change})


def changed_ids(task_id: str) -> list[tuple[str, str]]:
    """Ids that resemble a real one, each with what was done to it in words."""
    changed = [(f"{task_id}x", "adding a character")]
    changed += [(task_id + suffix, f"adding {suffix!r}") for suffix in _INTERNAL_SUFFIXES]
    if len(task_id) < _SHORTEST_ID_TO_CHANGE:
        return changed
    changed.append((task_id[:-1], "leaving out its last character"))
    middle = len(task_id) // 2
    # A digit stays a digit, so that the id keeps its form. The ends of an id are left alone:
    # they may hold bits that decoders pass over.
    place = next((i for i in range(middle, len(task_id) - 4) if task_id[i].isdigit()), None)
    if place is not None:
        digit = str((int(task_id[place]) + 1) % 10)
        changed.append((task_id[:place] + digit + task_id[place + 1 :], "changing one digit"))
    return changed


@scenario("polling.read-again", needs=(TASK,))
async def read_again(driver: Driver) -> None:
    """A task is polled to its end, and its end is read again, also on a new connection."""
    tool = driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is not None and await driver.wait_for_end(created.task_id) is not None:
        await driver.get(created.task_id)
        await driver.get(created.task_id, connection=FRESH)


@scenario("polling.slow", needs=(TASK,))
async def slow(driver: Driver) -> None:
    """Two tasks that take their time are polled at their pace to the end, which is read again.

    Where this process was too busy to say what a read of theirs took so long for, two more are,
    and other requests show meanwhile how lively the server is.
    """
    tool = slow_tool(driver)
    if tool is None:
        return
    doubtful: list[Exchange] = []

    async def follow() -> None:
        created = await driver.create(tool)
        if created is None:
            return
        first = await driver.get(created.task_id)
        if first.certainly_took < SLOW_SECONDS <= first.ended - first.started:
            doubtful.append(first)
        if await driver.wait_for_end(created.task_id) is not None:
            await driver.get(created.task_id)
            await driver.get(created.task_id)

    async def follow_two() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(follow)

    async def ask_meanwhile() -> None:
        for _ in range(REQUESTS_MEANWHILE):
            await driver.pause(SLOW_SECONDS / 4)
            await driver.discover()

    await follow_two()
    if doubtful and is_soon_done(tool):
        async with anyio.create_task_group() as group:
            group.start_soon(follow_two)
            group.start_soon(ask_meanwhile)


def slow_tool(driver: Driver) -> ToolUse | None:
    """A tool whose tasks take their time by themselves, whether or not they were seen at it."""
    avoiding = ("input", "before", "short-ttl")
    slow_ones = [
        tool
        for tool in driver.tools(TASK, avoiding=avoiding)
        if tool.seconds is not None and tool.seconds >= SLOW_SECONDS
    ]
    return driver.tool(SLOW, avoiding=avoiding) or next(iter(slow_ones), None)


@scenario("polling.early", needs=(SLOW,))
async def early(driver: Driver) -> None:
    """A working task is polled several times at once, and then at its pace again.

    ``early-poll`` are the reads at once. One read at the task's pace goes before them. Where much
    is going on, none may have been early for certain: then it is done again.
    """
    tool = slow_tool(driver)
    created = await driver.create(tool) if tool is not None else None
    if created is None:
        return
    for _ in range(_TRIES_TO_BE_EARLY):
        if (await driver.get(created.task_id)).task is None:
            return
        interval = driver.session.intervals.get(created.task_id, DEFAULT_POLL_SECONDS)
        answers = await _polled_at_once(driver, created.task_id)
        waits = [interval, *map(seconds_to_wait, answers)]
        await driver.pause(min(max(waits), driver.target.max_wait))
        took = max(a.ended for a in answers) - min(a.started for a in answers)
        # Then two of them came no further apart than this.
        if took / (len(answers) - 1) < interval:
            break
    await driver.get(created.task_id)
    await driver.wait_for_end(created.task_id)


async def _polled_at_once(driver: Driver, task_id: str) -> list[Exchange]:
    answers: list[Exchange] = []

    async def poll() -> None:
        answers.append(await driver.send(driver.get_draft(task_id), "early-poll"))

    async with anyio.create_task_group() as group:
        for _ in range(EARLY_POLLS):
            group.start_soon(poll)
    return answers


@scenario("polling.waiting", needs=(INPUT,))
async def waiting(driver: Driver) -> None:
    """Tasks of several tools that wait for input are read three times before they are answered,
    or twice where polls are far apart."""

    async def read(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is None or await driver.wait_for_input(created.task_id) is None:
            return
        interval = driver.session.intervals.get(created.task_id, 0.0)
        for _ in range(2 if driver.thorough or interval <= LONG_INTERVAL else 1):
            await driver.get(created.task_id)
        await driver.finish(created.task_id)

    async with anyio.create_task_group() as group:
        for tool in driver.tools(INPUT, avoiding=("before",))[:MOST_WAITING]:
            group.start_soon(read, tool)


@scenario("polling.failed", needs=(PROTOCOL_ERROR,))
async def failed(driver: Driver) -> None:
    """A task that ends in a JSON-RPC error is polled to its end, which is read again."""
    tool = driver.tool(PROTOCOL_ERROR, avoiding=("input", "before")) or driver.tool(PROTOCOL_ERROR)
    created = await driver.create(tool) if tool is not None else None
    if created is not None and await driver.finish(created.task_id) is not None:
        await driver.get(created.task_id)


@scenario("polling.large", needs=(LARGE,))
async def large(driver: Driver) -> None:
    """A large result is fetched directly, twice, since it may differ from call to call, then as a
    task, then again on a new connection."""
    tool = driver.tool(LARGE, avoiding=("before",))
    if tool is None:
        return
    if not tool.plays(TASK_ONLY):
        for _ in range(2):
            await driver.send(driver.call_draft(tool, capabilities=UNDECLARED), "plain-call")
    created = await driver.create(tool)
    if created is not None and await driver.finish(created.task_id) is not None:
        await driver.get(created.task_id, connection=FRESH)
