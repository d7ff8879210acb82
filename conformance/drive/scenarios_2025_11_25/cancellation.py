"""Cancels tasks that live, that have ended, and that never were.

* ``unknown-id``: a task that does not exist.
* ``cancel-live``: the first cancellation of a task that is at work.
* ``cancel-again``: the same task once more, after the first was answered.
* ``cancel-ended``, ``cancel-failed``: a task that was seen to have ended, well or badly.
* ``cancel-together``: several cancellations of one living task, sent at the same moment.
"""

from __future__ import annotations

import uuid

import anyio

from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.states import COMPLETED, FAILED
from conformance.target.roles import INPUT, PROTOCOL_ERROR, SLOW, TASK, TOOL_ERROR
from conformance.wire.exchange import Exchange

# Where much is going on, a task of a second may end before its cancellation arrives.
_ATTEMPTS = 3
# How much longer than the work takes a cancelled task is watched, in seconds.
_AFTERWARDS = 0.5


@older_scenario("cancellation.unknown")
async def unknown(driver: OlderDriver) -> None:
    """Tasks that do not exist are cancelled."""
    if driver.cancels_tasks:
        for task_id in (str(uuid.uuid4()), "conformance-no-such-task"):
            await driver.cancel(task_id, "unknown-id")


@older_scenario("cancellation.live", needs=(SLOW,), also=("lifecycle", "outcome", "results"))
async def live(driver: OlderDriver) -> None:
    """Tasks that have just begun are cancelled, and cancelled again, and looked at until their
    work would have ended."""
    if not driver.cancels_tasks:
        return

    async def one(tool: ToolUse) -> None:
        for _ in range(_ATTEMPTS):
            if not await _came_too_late(driver, tool):
                return

    async with anyio.create_task_group() as group:
        for tool in driver.tools(SLOW, avoiding=(INPUT,))[:2]:
            for _ in range(2 if driver.thorough else 1):
                group.start_soon(one, tool)


async def _came_too_late(driver: OlderDriver, tool: ToolUse) -> bool:
    """Cancel a new task, twice. Returns whether it may have ended before."""
    created = await driver.create(tool)
    if created is None:
        return False
    task_id = created.task_id
    begun = anyio.current_time()
    await driver.cancel(task_id, "cancel-live")
    # A cancelled task is not at work any more: nothing is won by its pace.
    read = await driver.get(task_id, paced=False)
    await driver.cancel(task_id, "cancel-again")
    await driver.get(task_id)
    if _had_ended(read):
        return True
    left = begun + (tool.seconds or 0.0) + _AFTERWARDS - anyio.current_time()
    if 0 < left <= driver.target.max_wait:
        await driver.pause(left)
    await driver.get(task_id)
    await driver.result(task_id, "result-after-cancel", seconds=5)
    return False


def _had_ended(read: Exchange) -> bool:
    return read.task is not None and read.task.get("status") in (COMPLETED, FAILED)


@older_scenario("cancellation.waiting", needs=(INPUT,), also=("input", "lifecycle"))
async def waiting(driver: OlderDriver) -> None:
    """A task that waits for its client is cancelled."""
    tool = driver.tool(INPUT)
    if tool is None or not driver.cancels_tasks:
        return
    created = await driver.create(tool)
    if created is None or await driver.wait_for_input(created.task_id) is None:
        return
    await driver.cancel(created.task_id, "cancel-live")
    await driver.get(created.task_id, paced=False)
    await driver.get(created.task_id)


@older_scenario("cancellation.together", needs=(SLOW,), also=("lifecycle",))
async def together(driver: OlderDriver) -> None:
    """One task is cancelled on several connections at the same moment."""
    tool = driver.tool(SLOW, avoiding=(INPUT,))
    created = None
    if tool is not None and driver.cancels_tasks:
        created = await driver.create(tool)
    if created is None:
        return
    task_id = created.task_id

    async def cancel(number: int) -> None:
        await driver.cancel(task_id, "cancel-together", connection=f"canceller-{number}")

    async with anyio.create_task_group() as group:
        for number in range(8 if driver.thorough else 3):
            group.start_soon(cancel, number)
    await driver.get(task_id)


@older_scenario("cancellation.ended", needs=(TASK,), also=("lifecycle", "expiry"))
async def ended(driver: OlderDriver) -> None:
    """Tasks that ended in different ways are cancelled, and read before and after."""
    if not driver.cancels_tasks:
        return
    tools = [driver.plain_task_tool()]
    tools += [driver.tool(role, avoiding=(INPUT,)) for role in (TOOL_ERROR, PROTOCOL_ERROR)]
    async with anyio.create_task_group() as group:
        for tool in {tool.name: tool for tool in tools if tool is not None}.values():
            group.start_soon(_cancel_ended, driver, tool)


async def _cancel_ended(driver: OlderDriver, tool: ToolUse) -> None:
    created = await driver.create(tool)
    seen = await driver.finish(created.task_id) if created is not None else None
    if created is None or seen is None or seen.task is None:
        return
    # Twice, to know what reading alone does to it.
    await driver.get(created.task_id)
    failed = seen.task.get("status") == FAILED
    await driver.cancel(created.task_id, "cancel-failed" if failed else "cancel-ended")
    await driver.get(created.task_id)
    await driver.result(created.task_id, "result-again")
