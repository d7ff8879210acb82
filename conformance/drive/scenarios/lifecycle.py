"""Follows tasks to their ends, and sees whether the ends last."""

from __future__ import annotations

import time

import anyio

from conformance.drive.driver import Driver
from conformance.drive.scenario import scenario
from conformance.drive.scenarios.polling import slow_tool
from conformance.drive.surroundings import ToolUse
from conformance.target.roles import PROTOCOL_ERROR, SLOW, TASK

# How long to wait, at most, for work that goes on behind a cancelled task.
_LATE_WORK_SECONDS = 3.0


@scenario("lifecycle.to-the-end", needs=(TASK,))
async def to_the_end(driver: Driver) -> None:
    """Several tasks of one tool, and one that takes its time, are followed to their ends."""
    quick, patient = driver.plain_task_tool(), slow_tool(driver)

    async def follow(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is not None:
            # Long enough to call a task stuck whose like has been seen to end.
            limit = max(4.0, 8 * (tool.seconds or 0.0))
            await driver.wait_for_end(created.task_id, limit=min(limit, driver.target.max_wait))

    async with anyio.create_task_group() as group:
        for tool in (quick, quick, quick, patient):
            if tool is not None:
                group.start_soon(follow, tool)


@scenario("lifecycle.after-the-end", needs=(TASK,))
async def after_the_end(driver: Driver) -> None:
    """To tasks that have ended, well or badly, an answer and a cancellation are sent.

    ``answer-after-end`` answers a key that was never open; ``cancel-after-end`` cancels.
    """

    async def disturb(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is None or await driver.wait_for_end(created.task_id) is None:
            return
        task_id = created.task_id
        answers = {"conformance-key": {"action": "accept", "content": {}}}
        await driver.update(task_id, answers, "answer-after-end")
        await driver.get(task_id)
        await driver.cancel(task_id, "cancel-after-end")
        await driver.get(task_id)

    completing = driver.plain_task_tool()
    failing = driver.tool(PROTOCOL_ERROR, avoiding=("input", "before"))
    async with anyio.create_task_group() as group:
        for tool in {t.name: t for t in (completing, failing) if t is not None}.values():
            group.start_soon(disturb, tool)


@scenario("lifecycle.after-cancelling", needs=(SLOW,), also=("polling",))
async def after_cancelling(driver: Driver) -> None:
    """A working task is cancelled, and read again when its work would have been done."""
    tool = driver.tool(SLOW, avoiding=("input", "before"))
    created = await driver.create(tool) if tool is not None else None
    if tool is None or created is None:
        return
    longest = driver.target.max_wait if driver.thorough else _LATE_WORK_SECONDS
    done = time.monotonic() + min((tool.seconds or 1.0) + 0.3, longest)
    await driver.cancel(created.task_id)
    if await driver.wait_for_end(created.task_id, limit=longest) is None:
        return
    await driver.get(created.task_id)
    await driver.pause(max(done - time.monotonic(), 0.0))
    await driver.get(created.task_id)
