"""Cancels tasks that live, that have ended, and that never were; once, twice, and all at once.

Intents:

* ``unknown-id``: a task that does not exist.
* ``cancel-live``: the first cancellation of a task that is at work, or waits for its client.
* ``cancel-again``: the same task once more, after the first was answered.
* ``cancel-together``: several cancellations of one living task, sent at the same moment.
* ``cancel-ended``: a task that was seen to have ended.
* ``meanwhile``: something else, asked while a cancellation was not yet answered.
* ``create-and-notify``: a call whose task is not cancelled, but whose request then is, by
  ``notifications/cancelled`` with the intent ``cancel-by-notification``.
"""

from __future__ import annotations

import uuid

import anyio

from conformance.drive.driver import Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.drive.trying import is_soon_done
from conformance.specification.states import COMPLETED, FAILED
from conformance.target.roles import (
    INPUT,
    NOTICEABLE_SECONDS,
    PROTOCOL_ERROR,
    SLOW,
    TASK,
    TOOL_ERROR,
)
from conformance.wire.exchange import Exchange

# A server that takes longer to acknowledge is asked something else meanwhile.
_PATIENCE_SECONDS = 0.2
_QUESTIONS = 5
# A server that ignores cancellations leaves a task that waits for its client waiting.
_WAITING_SECONDS = 2.0
# Where much is going on, a task of a second may end before its cancellation arrives.
_ATTEMPTS = 3


@scenario("cancellation.unknown")
async def unknown(driver: Driver) -> None:
    """Tasks that do not exist are cancelled."""
    for task_id in (str(uuid.uuid4()), "conformance-no-such-task"):
        await driver.cancel(task_id, "unknown-id")


def slow_tool(driver: Driver) -> ToolUse | None:
    return driver.tool(SLOW, avoiding=("input", "before"))


@scenario("cancellation.live", needs=(SLOW,), also=("expiry", "lifecycle"))
async def live(driver: Driver) -> None:
    """Tasks that have just begun are cancelled, and cancelled again, and looked at."""
    tool = slow_tool(driver)
    if tool is not None:
        async with anyio.create_task_group() as group:
            for _ in range(4 if driver.thorough else 2):
                group.start_soon(_cancel_live, driver, tool)


async def _cancel_live(driver: Driver, tool: ToolUse) -> None:
    for _ in range(_ATTEMPTS):
        if await _says_enough(driver, tool):
            return


async def _says_enough(driver: Driver, tool: ToolUse) -> bool:
    """Cancel a new task, twice. Returns whether it was certainly in time, and answered so soon
    that it says something of how soon such answers come; where that takes too long to try again,
    whether it was in time."""
    created = await driver.create(tool)
    if created is None:
        return True
    task_id = created.task_id
    answered = anyio.Event()

    async def ask_meanwhile() -> None:
        with anyio.move_on_after(_PATIENCE_SECONDS):
            await answered.wait()
        for _ in range(_QUESTIONS):
            if answered.is_set():
                return
            await driver.discover(intent="meanwhile", connection=f"meanwhile-{task_id}")
            await driver.pause(0.05)

    async with anyio.create_task_group() as group:
        group.start_soon(ask_meanwhile)
        cancelled = await driver.cancel(task_id, "cancel-live")
        answered.set()
    read = await driver.get(task_id)
    await driver.cancel(task_id, "cancel-again")
    await driver.wait_for_end(task_id)
    # Where much is going on, an answer that takes longer may be its doing.
    was_soon = cancelled.ended - cancelled.started < NOTICEABLE_SECONDS
    return not _had_ended(read) and (was_soon or not is_soon_done(tool))


def _had_ended(read: Exchange) -> bool:
    return read.task is not None and read.task.get("status") in (COMPLETED, FAILED)


@scenario("cancellation.waiting", needs=(INPUT,), also=("lifecycle", "polling"))
async def waiting(driver: Driver) -> None:
    """A task that waits for its client is cancelled, and cancelled again, and looked at."""
    tool = driver.tool(INPUT, avoiding=("before",))
    created = await driver.create(tool) if tool is not None else None
    if created is None or await driver.wait_for_input(created.task_id) is None:
        return
    await driver.cancel(created.task_id, "cancel-live")
    await driver.get(created.task_id)
    await driver.cancel(created.task_id, "cancel-again")
    await driver.wait_for_end(created.task_id, limit=_WAITING_SECONDS)


@scenario("cancellation.together", needs=(SLOW,), also=("lifecycle",))
async def together(driver: Driver) -> None:
    """One task is cancelled on several connections at the same moment."""
    tool = slow_tool(driver)
    for _ in range(_ATTEMPTS if tool is not None else 0):
        if tool is None or not await _came_together_too_late(driver, tool):
            return


async def _came_together_too_late(driver: Driver, tool: ToolUse) -> bool:
    created = await driver.create(tool)
    if created is None:
        return False
    task_id = created.task_id

    async def cancel(number: int) -> None:
        await driver.cancel(task_id, "cancel-together", connection=f"canceller-{number}")

    async with anyio.create_task_group() as group:
        for number in range(8 if driver.thorough else 3):
            group.start_soon(cancel, number)
    read = await driver.get(task_id)
    await driver.wait_for_end(task_id)
    return _had_ended(read)


@scenario("cancellation.ended", needs=(TASK,), also=("expiry", "lifecycle"))
async def ended(driver: Driver) -> None:
    """Tasks that ended in different ways are cancelled, and read before and after."""
    tools = [driver.plain_task_tool()]
    tools += [driver.tool(r, avoiding=("input", "before")) for r in (TOOL_ERROR, PROTOCOL_ERROR)]
    async with anyio.create_task_group() as group:
        for tool in {tool.name: tool for tool in tools if tool is not None}.values():
            group.start_soon(_cancel_ended, driver, tool)


async def _cancel_ended(driver: Driver, tool: ToolUse) -> None:
    created = await driver.create(tool)
    if created is None or await driver.wait_for_end(created.task_id) is None:
        return
    # Twice, to know what reading alone does to it.
    await driver.get(created.task_id)
    await driver.cancel(created.task_id, "cancel-ended")
    await driver.get(created.task_id)


@scenario("cancellation.by-notification", needs=(SLOW,))
async def by_notification(driver: Driver) -> None:
    """The request that made a task is cancelled; its sibling is left alone."""
    tool = slow_tool(driver)
    if tool is None:
        return

    async def left_alone() -> None:
        created = await driver.create(tool)
        if created is not None:
            await driver.wait_for_end(created.task_id)

    async def notified() -> bool:
        created = await driver.create(tool, "create-and-notify")
        if created is None:
            return False
        params = {"requestId": created.exchange.request_id, "reason": "No longer wanted."}
        notification = driver.draft("notifications/cancelled", params).without_member("id")
        await driver.send(notification, "cancel-by-notification")
        read = await driver.get(created.task_id)
        await driver.wait_for_end(created.task_id)
        return _had_ended(read)

    async with anyio.create_task_group() as group:
        group.start_soon(left_alone)
        for _ in range(_ATTEMPTS):
            if not await notified():
                break
