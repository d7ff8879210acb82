"""Makes and reads tasks many at a time.

Intents:

* ``create-with-marker``: a call with a text of its own, which the exchange's note ``marker``
  repeats; its task's result should hold that text, and no other.
* ``read-in-parallel``: one of several readers of the same task, each keeping its pace.
"""

from __future__ import annotations

import time

import anyio

from conformance.drive.driver import Created, Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.states import is_terminal
from conformance.target.marking import marked
from conformance.target.roles import ECHO, SLOW, TASK

READERS = 3
# No reader goes on longer than this, in seconds.
_LONGEST_SECONDS = 4.0


@scenario("concurrency.own-arguments", needs=(ECHO,))
async def own_arguments(driver: Driver) -> None:
    """Tasks of one tool are made together, each with a text of its own."""
    avoiding = ("input", "before", "large", "short-ttl", "tool-error", "protocol-error")
    tools = [tool for tool in driver.tools(ECHO, avoiding=avoiding) if may_vary(driver, tool)]

    async def one(tool: ToolUse, number: int) -> None:
        # What tells them apart comes first: a text may be cut to what its schema allows.
        marker = f"{number:02d}-conformance-{driver.target.seed}"
        arguments = marked(tool.schema, tool.arguments, marker)
        if arguments == tool.arguments:
            return
        created = await driver.create(
            tool, "create-with-marker", arguments=arguments, notes={"marker": marker}
        )
        if created is not None:
            await driver.wait_for_end(created.task_id)

    async with anyio.create_task_group() as group:
        for tool in tools[:2]:
            for number in range(20 if driver.thorough else 6):
                group.start_soon(one, tool, number)


def may_vary(driver: Driver, tool: ToolUse) -> bool:
    """Arguments that the user gave are kept, unless it was for this very purpose."""
    return all(
        named.arguments is None or named.role == ECHO
        for named in driver.target.tools
        if named.name == tool.name
    )


@scenario("concurrency.readers", needs=(TASK,), also=("lifecycle", "polling"))
async def readers(driver: Driver) -> None:
    """One task is followed on several connections at the same time."""
    tool = driver.tool(SLOW, avoiding=("input", "before")) or driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is not None:
        async with anyio.create_task_group() as group:
            for number in range(READERS):
                group.start_soon(follow, driver, created, number, _LONGEST_SECONDS)


async def follow(driver: Driver, created: Created, number: int, seconds: float) -> None:
    """Read a task at its pace on a connection of its own, at most so long, and thrice after its
    end (``read-in-parallel``)."""
    task_id = created.task_id
    interval = driver.session.intervals.get(task_id, 0.25)
    ends = time.monotonic() + min(seconds, driver.target.max_wait)
    after_the_end = 0
    await driver.pause(interval * (number + 1) / READERS)
    while after_the_end < 3:
        read = await driver.send(
            driver.get_draft(task_id), "read-in-parallel", connection=f"reader-{number}"
        )
        if read.task is None:
            return
        after_the_end += is_terminal(read.task.get("status"))
        if time.monotonic() + interval > ends:
            return
        await driver.pause(interval)
