"""Asks for results: of unknown tasks, of ended ones, again, and while the work goes on.

* ``unknown-id``: a task that does not exist.
* ``result-after-end``, ``result-again``: a task that was seen to have ended, and once more.
* ``result-while-working``: a task that has just begun; ``result-while-cancelled``: the same,
  and it is cancelled meanwhile on another connection (``cancel-live``).
"""

from __future__ import annotations

import uuid

import anyio

from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.states import is_terminal
from conformance.target.roles import INPUT, PROTOCOL_ERROR, SLOW, TASK, TOOL_ERROR
from conformance.wire.client import FRESH

_UNKNOWN_SECONDS = 5.0
_A_MOMENT = 0.5


@older_scenario("results.unknown")
async def unknown(driver: OlderDriver) -> None:
    """Results of tasks that do not exist. A server that has not answered after a moment is
    asked for the task meanwhile, to know that it answers at all."""
    for task_id in (str(uuid.uuid4()), "conformance-no-such-task"):
        await _one_unknown(driver, task_id)


async def _one_unknown(driver: OlderDriver, task_id: str) -> None:
    answered = anyio.Event()

    async def read_meanwhile() -> None:
        with anyio.move_on_after(_A_MOMENT):
            await answered.wait()
        if not answered.is_set():
            await driver.get(task_id, "unknown-id", paced=False, connection="reader")

    async with anyio.create_task_group() as group:
        group.start_soon(read_meanwhile)
        await driver.result(task_id, "unknown-id", seconds=_UNKNOWN_SECONDS)
        answered.set()


@older_scenario("results.after-end", needs=(TASK,))
async def after_end(driver: OlderDriver) -> None:
    """Tasks that ended in different ways are asked for their result three times. Where all of
    them ask for input, one is answered first."""
    tools = [driver.plain_task_tool() or driver.tool(INPUT)]
    tools += [driver.tool(role, avoiding=(INPUT,)) for role in (TOOL_ERROR, PROTOCOL_ERROR)]

    async def one(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is None:
            return
        follow = driver.finish if tool.plays(INPUT) else driver.wait_for_end
        ended = await follow(created.task_id)
        if ended is None or ended.task is None or not is_terminal(ended.task.get("status")):
            return
        await driver.fetch(created.task_id, "result-after-end")
        await driver.fetch(created.task_id, "result-again")
        await driver.fetch(created.task_id, "result-again", connection=FRESH)
        await driver.get(created.task_id)

    async with anyio.create_task_group() as group:
        for tool in {tool.name: tool for tool in tools if tool is not None}.values():
            group.start_soon(one, tool)


@older_scenario("results.while-working", needs=(SLOW,), also=("lifecycle",))
async def while_working(driver: OlderDriver) -> None:
    """Tasks at work are asked for their result at once, and read meanwhile and right after."""

    async def one(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is None:
            return
        task_id = created.task_id
        async with anyio.create_task_group() as group:

            async def read_meanwhile() -> None:
                await driver.wait_for_end(task_id)

            group.start_soon(read_meanwhile)
            await driver.result(task_id, "result-while-working", connection=f"held-{task_id}")
            # It shows the state at the moment the answer came, not at the next poll.
            await driver.get(task_id, paced=False)

    async with anyio.create_task_group() as group:
        for tool in driver.tools(SLOW, avoiding=("input",))[:2]:
            group.start_soon(one, tool)


@older_scenario("results.while-cancelled", needs=(SLOW,), also=("cancellation",))
async def while_cancelled(driver: OlderDriver) -> None:
    """The result of a task at work is waited for while the task is cancelled."""
    tool = driver.tool(SLOW, avoiding=("input",))
    if tool is None or not driver.cancels_tasks:
        return
    created = await driver.create(tool)
    if created is None:
        return
    task_id = created.task_id

    async def cancel() -> None:
        await driver.pause(0.1)
        await driver.cancel(task_id, "cancel-live", connection="canceller")
        await driver.get(task_id, paced=False, connection="canceller")

    async with anyio.create_task_group() as group:
        group.start_soon(cancel)
        await driver.result(task_id, "result-while-cancelled", connection=f"held-{task_id}")
    await driver.get(task_id)
