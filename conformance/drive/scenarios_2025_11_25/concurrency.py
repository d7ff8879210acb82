"""Makes and reads tasks many at a time.

* ``create-with-marker``: a call with a text of its own, which the exchange's note ``marker``
  repeats; its task's result should hold that text, and no other.
* ``read-in-parallel``: one of several readers of the same task, each keeping its pace.
"""

from __future__ import annotations

import anyio

from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.scenarios.concurrency import READERS, follow, may_vary
from conformance.drive.surroundings import ToolUse
from conformance.target.marking import marked
from conformance.target.roles import ECHO, INPUT, LARGE, PROTOCOL_ERROR, SLOW, TASK, TOOL_ERROR

# No reader goes on longer than this, in seconds.
_LONGEST_SECONDS = 6.0


@older_scenario("concurrency.own-arguments", needs=(ECHO,), also=("results",))
async def own_arguments(driver: OlderDriver) -> None:
    """Tasks of one tool are made together, each with a text of its own."""
    tools = driver.tools(ECHO, TASK, avoiding=(INPUT, LARGE, TOOL_ERROR, PROTOCOL_ERROR))

    async def one(tool: ToolUse, number: int) -> None:
        # What tells them apart comes first: a text may be cut to what its schema allows.
        marker = f"{number:02d}-conformance-{driver.target.seed}"
        arguments = marked(tool.schema, tool.arguments, marker)
        if arguments == tool.arguments:
            return
        created = await driver.create(
            tool, "create-with-marker", arguments=arguments, notes={"marker": marker}
        )
        if created is not None and await driver.wait_for_end(created.task_id) is not None:
            await driver.fetch(created.task_id, notes={"marker": marker})

    async with anyio.create_task_group() as group:
        for tool in [tool for tool in tools if may_vary(driver, tool)][:2]:
            for number in range(20 if driver.thorough else 6):
                group.start_soon(one, tool, number)


@older_scenario("concurrency.readers", needs=(TASK,), also=("lifecycle", "polling"))
async def readers(driver: OlderDriver) -> None:
    """One task is followed on several connections at the same time."""
    tool = driver.tool(SLOW, avoiding=(INPUT,)) or driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is not None:
        async with anyio.create_task_group() as group:
            for number in range(READERS):
                group.start_soon(follow, driver, created, number, _LONGEST_SECONDS)
