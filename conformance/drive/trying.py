"""Makes a task where the server decides anew with each call whether there is one."""

from __future__ import annotations

from typing import Any

from conformance.drive.driver import Created, Driver
from conformance.drive.surroundings import ToolUse
from conformance.target.roles import TASK

_MOST_CALLS = 3
_SOON_SECONDS = 3.0


async def create_a_task(driver: Driver, tool: ToolUse, **options: Any) -> Created | None:
    """The task that a call of this tool makes, or one of the next calls, if any does.

    ``options`` are those of ``Driver.create``. A tool that never became a task is called once.
    """
    for _ in range(_MOST_CALLS if tool.plays(TASK) else 1):
        created = await driver.create(tool, **options)
        if created is not None:
            return created
    return None


def is_soon_done(tool: ToolUse) -> bool:
    """Whether a task of this tool may be made once more, where this process was too busy to see
    well what became of the first."""
    return (tool.seconds or 0.0) < _SOON_SECONDS
