"""Calls tools both ways and looks at how it ends: ``call-plainly`` and ``call-as-task``."""

from __future__ import annotations

import anyio

from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.states import FAILED
from conformance.target.roles import LARGE, PROTOCOL_ERROR, SLOW, TASK, TASK_ONLY, TOOL_ERROR
from conformance.wire.client import FRESH

# A plain call keeps its caller waiting: what takes longer is compared only in thorough runs.
_LONGEST_SECONDS = 5.0


@older_scenario("outcome.both-ways", needs=(TASK,), also=("results",))
async def both_ways(driver: OlderDriver) -> None:
    """Plainly, as a task, and plainly again: what changed meanwhile then shows. Tools that can
    only be tasks are called as such."""

    async def compare(tool: ToolUse) -> None:
        if tool.plays(TASK_ONLY):
            await _as_task(driver, tool)
            return
        first = await driver.call(tool, "call-plainly")
        if first.result is None and first.error is None:
            return
        # Twice, since a tool may answer another thing each time.
        async with anyio.create_task_group() as twice:
            twice.start_soon(_as_task, driver, tool)
            twice.start_soon(_as_task, driver, tool)
        await driver.call(tool, "call-plainly")

    async with anyio.create_task_group() as group:
        for tool in _tools_to_compare(driver):
            group.start_soon(compare, tool)


def _tools_to_compare(driver: OlderDriver) -> list[ToolUse]:
    avoiding: tuple[str, ...] = ("input",)
    if driver.thorough:
        return driver.tools(TASK, avoiding=avoiding)[:16]
    candidates = [
        tool
        for tool in driver.tools(TASK, avoiding=(*avoiding, LARGE))
        if tool.at_least is None or tool.at_least <= _LONGEST_SECONDS
    ]
    chosen = [tool for tool in candidates if not tool.plays(SLOW)][:3] or candidates[:1]
    chosen += [tool for tool in candidates if not tool.plays(TASK_ONLY)][:1]
    for role in (TOOL_ERROR, PROTOCOL_ERROR):
        chosen += [tool for tool in candidates if tool.plays(role)][:2]
    # Where errors are told wrongly, the status may yet say that there was one.
    chosen += [tool for tool in candidates if tool.status == FAILED][:2]
    return list({tool.name: tool for tool in chosen}.values())


async def _as_task(driver: OlderDriver, tool: ToolUse) -> None:
    created = await driver.create(tool, "call-as-task")
    if created is not None:
        await driver.finish(created.task_id)


@older_scenario("outcome.large", needs=(LARGE,), also=("results",))
async def large(driver: OlderDriver) -> None:
    """A large result is fetched twice, the second time on a new connection."""
    tool = driver.tool(LARGE, avoiding=("input",))
    created = await driver.create(tool) if tool is not None else None
    if created is not None and await driver.finish(created.task_id) is not None:
        await driver.result(created.task_id, "result-again", connection=FRESH)
