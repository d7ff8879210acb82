"""Tasks of short lives: read on the way (``within-ttl``) and when their time is over
(``after-ttl``)."""

from __future__ import annotations

import time

import anyio

from conformance.drive.driver import Created
from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.target.roles import SHORT_TTL, TASK
from conformance.wire.exchange import JsonObject

_SHORT = 1_500
_LONGER = 4_000
# Clocks differ, and whoever cleans up may do it now and then.
_MARGIN_SECONDS = 0.5
_MARGIN_PART = 0.05
# tasks/result of a task that is still there and still at work does not answer.
_HANG_UP_SECONDS = 2.0


@older_scenario("expiry.lifetimes", needs=(TASK,))
async def lifetimes(driver: OlderDriver) -> None:
    """Tasks are made for lives of several lengths, and for one that is not said; each is read."""
    tool = driver.plain_task_tool()
    if tool is None:
        return

    async def one(task: JsonObject) -> None:
        created = await driver.create(tool, task=task)
        if created is not None:
            await driver.get(created.task_id, paced=False)
            await driver.get(created.task_id)

    async with anyio.create_task_group() as group:
        for task in ({"ttl": 1_000}, {"ttl": 60_000}, {"ttl": 3_600_000}, {}):
            group.start_soon(one, task)


@older_scenario("expiry.short", needs=(TASK,), also=("results", "cancellation", "listing"))
async def short(driver: OlderDriver) -> None:
    """Short lives, one read on the way and one left in peace, until they are over."""
    tool = driver.plain_task_tool()
    if tool is None:
        return

    async def one(ttl: int, read_at: tuple[float, ...]) -> None:
        created = await driver.create(tool, task={"ttl": ttl})
        if created is not None:
            await _outlive(driver, created, read_at)

    async with anyio.create_task_group() as group:
        group.start_soon(one, _SHORT, ())
        group.start_soon(one, _SHORT, (0.1, 0.5, 0.8))
        group.start_soon(one, _LONGER, (0.2, 0.4, 0.6, 0.85))


async def _outlive(driver: OlderDriver, created: Created, read_at: tuple[float, ...]) -> None:
    task_id, begun = created.task_id, created.exchange.ended
    ttl = _seconds(created.seed)
    if ttl is None or _over(begun, ttl) - begun > driver.target.max_wait:
        return
    for part in read_at:
        await driver.pause(max(begun + part * ttl - time.monotonic(), 0.0))
        await driver.get(task_id, "within-ttl")
    await driver.pause(max(_over(begun, ttl) - time.monotonic(), 0.0))
    await driver.get(task_id, "after-ttl")
    await driver.result(task_id, "after-ttl", hang_up_after=_HANG_UP_SECONDS)
    if driver.cancels_tasks:
        await driver.cancel(task_id, "after-ttl")
    if driver.lists_tasks:
        await driver.walk()
    await driver.get(task_id, "after-ttl")
    await driver.get(task_id, "after-ttl")


@older_scenario("expiry.of-itself", needs=(SHORT_TTL,))
async def of_itself(driver: OlderDriver) -> None:
    """A tool whose tasks live shortly, whatever is asked for."""
    tool = driver.tool(SHORT_TTL, avoiding=("input",))
    created = await driver.create(tool) if tool is not None else None
    if created is not None:
        await _outlive(driver, created, (0.1, 0.5, 0.8))


def _over(begun: float, ttl: float) -> float:
    """The monotonic second at which the time of a task is certainly over."""
    return begun + ttl * (1 + _MARGIN_PART) + _MARGIN_SECONDS


def _seconds(task: JsonObject) -> float | None:
    """The ttl of a task in seconds; ``None`` where its time has no end."""
    milliseconds = task.get("ttl")
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    # The number may be too large, or too small, to be divided.
    return max(min(milliseconds, 10**15), 0) / 1000
