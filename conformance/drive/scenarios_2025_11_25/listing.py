"""Lists tasks, page after page (``list-all``), and with a cursor that is none (``bad-cursor``)."""

from __future__ import annotations

import anyio

from conformance.drive.driver import Created
from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.target.roles import TASK

_NO_CURSOR = "mcp-tasks-conformance-no-cursor"


@older_scenario("listing.bad-cursor", also=("negotiation",))
async def bad_cursor(driver: OlderDriver) -> None:
    """A cursor that the server never gave."""
    if driver.lists_tasks:
        control = await driver.list_tasks()
        await driver.list_tasks(_NO_CURSOR, "bad-cursor", control=control)


@older_scenario("listing.complete", needs=(TASK,))
async def complete(driver: OlderDriver) -> None:
    """A dozen tasks are made, listed while they may be at work, and listed when they ended;
    some are read before and after."""
    tool = driver.plain_task_tool()
    if tool is None or not driver.lists_tasks:
        return
    created: list[Created] = []

    async def one() -> None:
        task = await driver.create(tool)
        if task is not None:
            created.append(task)

    async with anyio.create_task_group() as group:
        for _ in range(24 if driver.thorough else 12):
            group.start_soon(one)
    if not created:
        return
    some = [created[0], created[len(created) // 2], created[-1]]
    await driver.walk()
    for task in some:
        await driver.get(task.task_id)
    async with anyio.create_task_group() as group:
        for task in some:
            group.start_soon(driver.wait_for_end, task.task_id)
    await driver.walk()
    for task in some:
        await driver.get(task.task_id)
