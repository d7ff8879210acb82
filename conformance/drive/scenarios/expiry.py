"""Waits until tasks have outlived their ttlMs, and looks at them on the way and afterwards.

Intents:

* ``within-ttl``: a read while the time of the task still runs.
* ``after-ttl``: a request about a task whose time is over.
* ``cancel-early``: a task is cancelled long before its time is over.
"""

from __future__ import annotations

import time

import anyio

from conformance.drive.driver import Created, Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.target.roles import PROTOCOL_ERROR, SHORT_TTL, TASK, TOOL_ERROR
from conformance.wire.exchange import Exchange, JsonObject

# So long after its end the time of a task is over on every clock: some seconds, and a part of
# the whole for clocks that run at different speeds.
_MARGIN_SECONDS = 0.2
_MARGIN_PART = 0.03


@scenario("expiry.short", needs=(SHORT_TTL,), effort="standard")
async def short(driver: Driver) -> None:
    """Tasks of a short time: one is read on the way, one is cancelled, one left in peace."""
    tool = driver.tool(SHORT_TTL, avoiding=("input", "before"))
    if tool is None:
        return

    async def one(cancelled: bool, read_at: tuple[float, ...]) -> None:
        created = await driver.create(tool)
        if created is not None:
            await _outlive(driver, created, cancelled, read_at)

    async with anyio.create_task_group() as group:
        group.start_soon(one, False, (0.0, 0.1, 0.4, 0.6, 0.8))
        group.start_soon(one, True, (0.3, 0.55, 0.75))
        group.start_soon(one, False, ())


async def _outlive(
    driver: Driver, created: Created, cancelled: bool, read_at: tuple[float, ...]
) -> None:
    task_id = created.task_id
    begun = created.exchange.ended
    ttl = _seconds(created.seed)
    if cancelled:
        await driver.cancel(task_id, "cancel-early")
    for part in read_at:
        if ttl is None:
            return
        await driver.pause(max(begun + part * ttl - time.monotonic(), 0.0))
        ttl = _latest(await driver.get(task_id, "within-ttl"), ttl)
    # A ttlMs may grow: what counts is the latest.
    while ttl is not None and (left := _over(begun, ttl) - time.monotonic()) > 0:
        if time.monotonic() + left > begun + driver.target.max_wait:
            return
        await driver.pause(left)
        ttl = _latest(await driver.get(task_id, "after-ttl"), ttl)
    if ttl is not None:
        await _look_afterwards(driver, task_id)


async def _look_afterwards(driver: Driver, task_id: str) -> None:
    await driver.get(task_id, "after-ttl")
    await driver.cancel(task_id, "after-ttl")
    await driver.update(task_id, {"conformance": {"action": "decline"}}, "after-ttl")
    await driver.get(task_id, "after-ttl")


def _over(begun: float, ttl: float) -> float:
    """The monotonic second at which the time of a task is certainly over."""
    return begun + ttl * (1 + _MARGIN_PART) + _MARGIN_SECONDS


def _latest(read: Exchange, ttl: float) -> float | None:
    return ttl if read.task is None else _seconds(read.task)


def _seconds(task: JsonObject) -> float | None:
    """The ttlMs of a task in seconds; ``None`` where its time has no end."""
    milliseconds = task.get("ttlMs")
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    # The number may be too large, or too small, to be divided.
    return max(min(milliseconds, 10**15), 0) / 1000


@scenario("expiry.kept", needs=(TASK,), effort="standard")
async def kept(driver: Driver) -> None:
    """Tasks that ended in different ways are read again, a while later."""
    tools = [driver.plain_task_tool()]
    tools += [driver.tool(r, avoiding=("input", "before")) for r in (TOOL_ERROR, PROTOCOL_ERROR)]
    async with anyio.create_task_group() as group:
        for tool in {tool.name: tool for tool in tools if tool is not None}.values():
            group.start_soon(_read_later, driver, tool)


async def _read_later(driver: Driver, tool: ToolUse) -> None:
    created = await driver.create(tool)
    if created is None or await driver.wait_for_end(created.task_id) is None:
        return
    ended = time.monotonic()
    await driver.get(created.task_id, "within-ttl")
    for seconds in (0.8, 2.3, 10.0) if driver.thorough else (0.8, 2.3):
        # Where a task may be read only now and then, one read is late enough for several.
        if time.monotonic() - ended <= seconds:
            await driver.pause(ended + seconds - time.monotonic())
            await driver.get(created.task_id, "within-ttl")
