"""Listens to what the server sends by itself while tasks run (``listen``), and asks it to tell
how far they are (``create-with-progress``)."""

from __future__ import annotations

import anyio

from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.surroundings import ToolUse
from conformance.target.roles import INPUT, PROTOCOL_ERROR, SLOW, TASK, TOOL_ERROR

_LINGER = 0.3


@older_scenario("notifications.progress", needs=(TASK,), also=("lifecycle", "transport"))
async def progress(driver: OlderDriver) -> None:
    """Tasks are asked to tell of their progress; their results are waited for."""
    tools = [driver.plain_task_tool(), driver.tool(SLOW, avoiding=(INPUT,))]
    limit = min(driver.target.max_wait, 12.0)

    async def one(tool: ToolUse, token: str) -> None:
        draft = driver.call_draft(tool, task={"ttl": driver.asked_ttl})
        draft = draft.with_meta("progressToken", token)
        called = await driver.send(draft, "create-with-progress")
        created = driver.created(tool, called)
        if created is not None:
            held = f"held-{created.task_id}"
            await driver.result(created.task_id, seconds=limit, connection=held)
            await driver.get(created.task_id)

    async with driver.listening():
        async with anyio.create_task_group() as group:
            for tool in {tool.name: tool for tool in tools if tool is not None}.values():
                group.start_soon(one, tool, f"conformance-{tool.name}")
        await driver.pause(_LINGER)


@older_scenario("notifications.statuses", needs=(TASK,), also=("lifecycle",))
async def statuses(driver: OlderDriver) -> None:
    """Tasks that end in different ways are polled to their end while the stream is open."""
    tools = [driver.plain_task_tool(), driver.tool(SLOW, avoiding=(INPUT,)), driver.tool(INPUT)]
    tools += [driver.tool(role, avoiding=(INPUT,)) for role in (TOOL_ERROR, PROTOCOL_ERROR)]

    async def one(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is not None:
            await driver.finish(created.task_id)

    async def cancelled(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is not None:
            await driver.cancel(created.task_id)
            await driver.get(created.task_id)

    slow = driver.tool(SLOW, avoiding=(INPUT,))
    async with driver.listening():
        async with anyio.create_task_group() as group:
            for tool in {tool.name: tool for tool in tools if tool is not None}.values():
                group.start_soon(one, tool)
            if slow is not None and driver.cancels_tasks:
                group.start_soon(cancelled, slow)
        await driver.pause(_LINGER)
