"""Reads tasks on other replicas, and after a restart of the server.

Intents:

* ``elsewhere``: a request about a task on another URL than the one that made it.
* ``before-restart``: the last read of a task before the server was restarted.
* ``restarted``: the first request that was answered after the restart; its notes say how the
  restart command ended.
* ``after-restart``: a read of a task that was made before the restart.
"""

from __future__ import annotations

import subprocess
import time
from urllib.parse import urlsplit

import anyio

from conformance.drive.driver import Created, Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.target.roles import INPUT, REPLICAS, RESTART, SLOW, TASK

ELSEWHERE = "elsewhere"
AFTER_RESTART = "after-restart"
_AFTER_THE_END_SECONDS = 2.0
_CONNECTION = "after-restart"


@scenario("endurance.replicas", needs=(TASK, REPLICAS))
async def replicas(driver: Driver) -> None:
    """Each replica is asked about the tasks of the first, and the first about theirs."""
    if not driver.target.replicas:
        return
    others = range(1, len(driver.target.urls))
    async with anyio.create_task_group() as group:
        for other in others if driver.thorough else others[:2]:
            for origin, elsewhere in ((0, other), (other, 0)):
                group.start_soon(_ends_elsewhere, driver, origin, elsewhere)
                group.start_soon(_cancelled_elsewhere, driver, origin, elsewhere)
                group.start_soon(_answered_elsewhere, driver, origin, elsewhere)


async def _ends_elsewhere(driver: Driver, origin: int, elsewhere: int) -> None:
    tool = driver.plain_task_tool()
    created = await driver.create(tool, replica=origin) if tool is not None else None
    if created is None:
        return
    await driver.get(created.task_id, ELSEWHERE, replica=elsewhere)
    if await driver.wait_for_end(created.task_id, replica=origin) is not None:
        await driver.wait_for_end(
            created.task_id, limit=_AFTER_THE_END_SECONDS, intent=ELSEWHERE, replica=elsewhere
        )
        await driver.get(created.task_id, replica=origin)


async def _cancelled_elsewhere(driver: Driver, origin: int, elsewhere: int) -> None:
    tool = driver.tool(SLOW, avoiding=("input", "before"))
    created = await driver.create(tool, replica=origin) if tool is not None else None
    if created is not None:
        await driver.cancel(created.task_id, ELSEWHERE, replica=elsewhere)
        await driver.get(created.task_id, ELSEWHERE, replica=elsewhere)


async def _answered_elsewhere(driver: Driver, origin: int, elsewhere: int) -> None:
    tool = driver.tool(INPUT, avoiding=("before",))
    created = await driver.create(tool, replica=origin) if tool is not None else None
    if created is None or not await driver.wait_for_input(created.task_id, replica=origin):
        return
    # A key that is not open changes nothing, but only a task that is known is acknowledged.
    unknown = {"conformance-unknown-key": {"action": "decline"}}
    await driver.update(created.task_id, unknown, ELSEWHERE, replica=elsewhere)
    await driver.cancel(created.task_id, replica=origin)


@scenario("endurance.restart", needs=(TASK, RESTART), alone=True)
async def restart(driver: Driver) -> None:
    """Tasks that have ended, are at work, and wait for input are looked for after a restart."""
    command = driver.target.restart_command
    if command is None:
        return
    made: list[Created] = []

    async def make(tool: ToolUse | None, to_its_end: bool) -> None:
        created = await driver.create(tool) if tool is not None else None
        if created is None:
            return
        if to_its_end:
            await driver.wait_for_end(created.task_id)
        else:
            await driver.get(created.task_id, "before-restart")
        made.append(created)

    async with anyio.create_task_group() as group:
        group.start_soon(make, driver.plain_task_tool(), True)
        group.start_soon(make, driver.tool(INPUT, avoiding=("before",)), False)
    # Last, so that it is still at work when the server stops.
    await make(driver.tool(SLOW, avoiding=("input", "before")), False)
    if made and await _restarted(driver, command):
        async with anyio.create_task_group() as group:
            for created in made:
                group.start_soon(_look_again, driver, created)


async def _look_again(driver: Driver, created: Created) -> None:
    """Until it ends, or was given far more time than it took when it was tried."""
    limit = min(max(2.6 * (created.tool.seconds or 0.0), 4.0), driver.target.max_wait)
    if created.tool.plays(INPUT):
        await driver.get(created.task_id, AFTER_RESTART, connection=_CONNECTION)
        return
    await driver.wait_for_end(
        created.task_id, limit=limit, intent=AFTER_RESTART, connection=_CONNECTION
    )


async def _restarted(driver: Driver, command: str) -> bool:
    """Run the command and wait until the server answers. What came of it is in the notes."""
    limit = driver.target.max_wait
    outcome = await _run(command, limit)
    ends = time.monotonic() + limit
    while time.monotonic() < ends:
        if await _accepts_connections(driver.target.url):
            answer = await driver.discover(
                intent="restarted", connection=_CONNECTION, notes={"restart": outcome}
            )
            if answer.response is not None:
                return outcome == ""
        await driver.pause(0.2)
    return False


async def _run(command: str, seconds: float) -> str:
    """Run a command line of the user's shell. Returns what went wrong, or an empty text."""
    # It may leave a server behind that keeps its files open: nothing waits for these to close.
    process = await anyio.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with anyio.move_on_after(seconds):
        status = await process.wait()
        return "" if status == 0 else f"the restart command ended with status {status}"
    process.kill()
    return (
        f"the restart command did not end within {seconds:g} s: it has to come back, and leave"
        " the server running in the background"
    )


async def _accepts_connections(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with anyio.fail_after(1):
            async with await anyio.connect_tcp(parts.hostname or "", port):
                return True
    except (OSError, TimeoutError):
        return False
