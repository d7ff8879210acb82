"""Makes tasks, and reads them at once, from elsewhere, and many at a time."""

from __future__ import annotations

import anyio

from conformance.drive.answers import ACCEPT, DECLINE
from conformance.drive.driver import Created, Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import HEADER_NAME
from conformance.target.roles import BEFORE, SLOW, TASK
from conformance.wire.client import FRESH
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.headers import header_value


@scenario("creation.read-at-once", needs=(TASK,))
async def read_at_once(driver: Driver) -> None:
    """Every task is read the moment its handle is here, on a connection of its own."""
    tool = driver.plain_task_tool()
    if tool is None:
        return

    async def one(number: int) -> None:
        created = await driver.create(tool, notes={"burst": number})
        if created is not None:
            await driver.get(created.task_id, "read-at-once", paced=False, connection=FRESH)

    async with anyio.create_task_group() as group:
        for number in range(20 if driver.thorough else 6):
            group.start_soon(one, number)


@scenario("creation.parallel-readers", needs=(TASK,))
async def parallel_readers(driver: Driver) -> None:
    """One new task is read by several callers at the same moment."""
    tool = driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is None:
        return
    await read_together(driver, created)
    await driver.finish(created.task_id)


async def read_together(driver: Driver, created: Created) -> None:
    """Read a new task at the same moment on several connections (``read-at-once``)."""

    async def read(number: int) -> None:
        connection = f"reader-{number}"
        await driver.get(created.task_id, "read-at-once", paced=False, connection=connection)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(read, number)


@scenario("creation.replicas", needs=(TASK,))
async def replicas(driver: Driver) -> None:
    """A task made on one URL is read at once on each of the others."""
    tool = driver.plain_task_tool()
    if tool is None or not driver.target.replicas:
        return
    for origin in range(len(driver.target.urls)):
        created = await driver.create(tool, replica=origin)
        if created is None:
            continue
        for other in range(len(driver.target.urls)):
            if other != origin:
                await driver.get(created.task_id, "read-at-once", paced=False, replica=other)


@scenario("creation.disconnect", needs=(SLOW,))
async def disconnect(driver: Driver) -> None:
    """The connection that a handle came on is closed; the task is followed elsewhere. Two tasks
    are, since one may fail by chance."""
    tool = driver.tool(SLOW, avoiding=("input", "before"))
    if tool is None:
        return

    async def follow() -> None:
        created = await driver.create(tool, "create-and-hang-up", connection=FRESH)
        if created is not None:
            await driver.wait_for_end(created.task_id, connection="after-hang-up")

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(follow)


@scenario("creation.other-methods")
async def other_methods(driver: Driver) -> None:
    """Methods that may not become tasks are sent by a client that could take one.

    What is listed first is also read, where that takes no arguments.
    """
    listed = await driver.send(driver.draft("resources/list"))
    uri = _first(listed, "resources").get("uri")
    if isinstance(uri, str):
        draft = driver.draft("resources/read", {"uri": uri})
        await driver.send(draft.with_header(HEADER_NAME, header_value(uri)))
    listed = await driver.send(driver.draft("prompts/list"))
    prompt = _first(listed, "prompts")
    name, arguments = prompt.get("name"), prompt.get("arguments")
    if isinstance(name, str) and not arguments:
        draft = driver.draft("prompts/get", {"name": name})
        await driver.send(draft.with_header(HEADER_NAME, header_value(name)))
    await driver.send(driver.draft("resources/templates/list"))


def _first(listed: Exchange, kind: str) -> JsonObject:
    found = (listed.result or {}).get(kind)
    first = found[0] if isinstance(found, list) and found else None
    return first if isinstance(first, dict) else {}


@scenario("creation.input-first", needs=(BEFORE,))
async def input_first(driver: Driver) -> None:
    """A tool that asks before it creates its task is answered in several ways.

    ``accept-before`` and ``decline-before`` answer what is asked; ``empty-before`` retries
    without an answer.
    """
    tool = driver.tool(BEFORE)
    if tool is None:
        return

    async def accept() -> None:
        await _answer_first(driver, tool, "accept-before", ACCEPT)

    async def decline() -> None:
        await _answer_first(driver, tool, "decline-before", DECLINE)

    async def say_nothing() -> None:
        asked = await driver.call(tool)
        if asked.result_type != "input_required":
            return
        draft = driver.call_draft(tool).with_param("inputResponses", {})
        if "requestState" in (asked.result or {}):
            draft = draft.with_param("requestState", (asked.result or {})["requestState"])
        created = driver.created(tool, await driver.send(draft, "empty-before"))
        if created is not None:
            await driver.finish(created.task_id)

    async with anyio.create_task_group() as group:
        for way in (accept, decline, say_nothing):
            group.start_soon(way)


async def _answer_first(driver: Driver, tool: ToolUse, intent: str, action: str) -> None:
    exchange = await driver.call(tool)
    for _ in range(4):
        if exchange.result_type != "input_required":
            break
        exchange = await driver.answer_before(tool, exchange, intent=intent, action=action)
    created = driver.created(tool, exchange)
    if created is not None:
        await driver.finish(created.task_id)
