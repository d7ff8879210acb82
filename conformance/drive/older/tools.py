"""Trying the tools of a server of 2025-11-25: as a task where that may be, else plainly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import anyio

from conformance.drive.driver import OutOfTime, ServerGone
from conformance.drive.older.driver import OlderDriver
from conformance.drive.surroundings import ToolUse
from conformance.drive.tools import Tell, follow_task
from conformance.specification.states import is_terminal
from conformance.target.roles_2025 import FORBIDDEN
from conformance.wire.exchange import JsonObject

_TRIED_AT_ONCE = 8
# A tool that is no task keeps its caller waiting: who takes longer is left out.
_PLAIN_SECONDS = 5.0


async def try_older_tools(
    driver: OlderDriver, uses: list[ToolUse], support: Mapping[str, str], tell: Tell
) -> list[ToolUse]:
    """Call each tool once and follow what comes of it, all at the same time.

    ``support`` says of each tool what its ``execution.taskSupport`` is. Returns the uses with
    how long each task lived and how it ended; the roles themselves are read off the history.
    """
    tried: dict[int, ToolUse] = {}
    places = anyio.CapacityLimiter(_TRIED_AT_ONCE)

    async def follow(index: int, use: ToolUse) -> None:
        async with places:
            forbidden = support.get(use.name, FORBIDDEN) == FORBIDDEN
            if driver.takes_tasks and not forbidden:
                tried[index] = await _try_as_task(driver, use)
            else:
                await _try_plainly(driver, use)
            tell(f"tried {use.name}")

    # A server may ask on the GET stream whatever it needs to know.
    async with driver.listening(), anyio.create_task_group() as group:
        for index, use in enumerate(uses):
            group.start_soon(follow, index, use)
    return [tried.get(index, use) for index, use in enumerate(uses)]


async def _try_plainly(driver: OlderDriver, use: ToolUse) -> None:
    try:
        await driver.call(use, seconds=min(_PLAIN_SECONDS, driver.target.max_wait))
    except (ServerGone, OutOfTime):
        return


async def _try_as_task(driver: OlderDriver, use: ToolUse) -> ToolUse:
    try:
        followed = await follow_task(driver, use)
    except (ServerGone, OutOfTime):
        return use
    if followed is None:
        return use
    task, seconds = followed
    status = str(task.get("status"))
    if not is_terminal(status):
        return replace(use, status=status)
    return replace(use, seconds=seconds, status=status, at_least=_certainly(seconds, task))


def _certainly(seconds: float, task: JsonObject) -> float:
    """How long a task has lived at least that was seen to have ended after so many seconds."""
    pause = task.get("pollInterval")
    if isinstance(pause, int | float) and not isinstance(pause, bool) and pause > 0:
        return max(seconds - pause / 1000, 0.0)
    return seconds
