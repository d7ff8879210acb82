"""Calls the same tools both ways, directly and as a task, so that the outcomes can be compared.

Intents:

* ``call-plainly``: a correct call that does not declare the extension.
* ``call-as-task``: the same call by a client that declares it, whose task is left in peace.
"""

from __future__ import annotations

import anyio

from conformance.drive.draft import UNDECLARED
from conformance.drive.driver import Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import CODE_NAMES, INTERNAL_ERROR, OBSOLETE_CODES
from conformance.target.roles import PROTOCOL_ERROR, SLOW, TASK, TOOL_ERROR
from conformance.wire.exchange import Exchange

# What a server answers before it runs a tool: nothing can be compared with these.
_REFUSALS = (*OBSOLETE_CODES, *(code for code in CODE_NAMES if code != INTERNAL_ERROR))
# A plain call keeps its caller waiting: what takes longer is compared only in thorough runs.
_LONGEST_SECONDS = 3.0
# A tool whose isError gets lost is not seen to be one that errs: it has to be among these.
_TOOLS_COMPARED = 8


@scenario("outcome.both-ways", needs=(TASK,))
async def both_ways(driver: Driver) -> None:
    """Directly, twice as a task, and directly again: what changed meanwhile then shows."""
    async with anyio.create_task_group() as group:
        for tool in _tools_to_compare(driver):
            group.start_soon(_compare, driver, tool)


def _tools_to_compare(driver: Driver) -> list[ToolUse]:
    avoiding = ("input", "before", "task-only")
    if driver.thorough:
        return driver.tools(TASK, avoiding=avoiding)[:16]
    candidates = driver.tools(TASK, avoiding=(*avoiding, "large", SLOW))
    chosen = candidates[:_TOOLS_COMPARED]
    for role in (TOOL_ERROR, PROTOCOL_ERROR):
        # How errors are told differs most between the two ways.
        chosen += [tool for tool in candidates if tool.plays(role)][:1]
    if not chosen:
        slow = driver.tools(TASK, avoiding=(*avoiding, "large"))
        chosen = [t for t in slow[:1] if t.seconds is None or t.seconds <= _LONGEST_SECONDS]
    return list({tool.name: tool for tool in chosen}.values())


async def _compare(driver: Driver, tool: ToolUse) -> None:
    first = await _call_plainly(driver, tool)
    if not _ended(first):
        return
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(_call_as_task, driver, tool)
    await _call_plainly(driver, tool)


async def _call_plainly(driver: Driver, tool: ToolUse) -> Exchange:
    return await driver.send(driver.call_draft(tool, capabilities=UNDECLARED), "call-plainly")


def _ended(exchange: Exchange) -> bool:
    """Whether a plain call came to an end: with a result of the tool, or with an error."""
    if exchange.result is not None:
        return "content" in exchange.result
    return exchange.error is not None and exchange.error_code not in _REFUSALS


async def _call_as_task(driver: Driver, tool: ToolUse) -> None:
    created = await driver.create(tool, "call-as-task")
    if created is not None:
        await driver.wait_for_end(created.task_id)
