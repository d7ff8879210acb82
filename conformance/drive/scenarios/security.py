"""Makes ids to look at, asks for what it may not have, and provokes errors."""

from __future__ import annotations

import uuid

import anyio

from conformance.drive.answers import answers_to
from conformance.drive.draft import Draft
from conformance.drive.driver import Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.drive.trying import create_a_task
from conformance.specification.names import ACKNOWLEDGED, LISTEN
from conformance.target.roles import BEFORE, INPUT, SLOW, TASK
from conformance.target.target import NOBODY, SECOND, WRONG_TOKEN
from conformance.wire.exchange import Exchange
from conformance.wire.parsing import parse_json
from conformance.wire.sse import Event

# Seconds for the first message of a stream.
_FIRST = 10.0


@scenario("security.ids", needs=(TASK,))
async def ids(driver: Driver) -> None:
    """One tool makes several tasks, so that their ids can be compared."""
    tool = driver.plain_task_tool()
    if tool is None:
        return
    created = [await create_a_task(driver, tool) for _ in range(30 if driver.thorough else 6)]
    async with anyio.create_task_group() as group:
        for one in created:
            if one is not None:
                group.start_soon(driver.wait_for_end, one.task_id)


@scenario("security.errors")
async def errors(driver: Driver) -> None:
    """Requests that are wrong in ways that servers stumble over (``provoked-error``)."""
    unknown = str(uuid.uuid4())
    drafts = [
        driver.get_draft("x" * 2000),
        driver.get_draft("conformance' OR '1'='1"),
        driver.draft("tasks/get", {"taskId": ["a", "list"]}),
        driver.draft("tasks/update", {"taskId": unknown, "inputResponses": "no object"}),
        driver.draft("tools/call", {"name": "no-such-tool", "arguments": {}}),
    ]

    async def send(draft: Draft) -> None:
        await driver.send(draft, "provoked-error")

    async with anyio.create_task_group() as group:
        for draft in drafts:
            group.start_soon(send, draft)


# ---- two callers ----------------------------------------------------------------------------


async def _admitted(driver: Driver, tool: ToolUse) -> Exchange:
    """A request of the second caller that should be served, and not to everybody."""
    return await driver.call(tool, caller=SECOND)


@scenario("security.foreign-get", needs=(TASK,))
async def foreign_get(driver: Driver) -> None:
    """Tasks of the first caller are read by the second (``foreign``), who also reads two ids that
    are nobody's (``foreign-unknown``), by nobody and with a wrong token (``unauthenticated``)."""
    tool = driver.plain_task_tool()
    if tool is None or SECOND not in driver.target.callers:
        return
    admitted = await _admitted(driver, tool)
    own = driver.created(tool, admitted) or await create_a_task(driver, tool, caller=SECOND)

    async def by_second() -> None:
        created = await create_a_task(driver, tool)
        if created is None:
            return
        read = await driver.get(own.task_id, caller=SECOND) if own is not None else admitted
        await driver.get(created.task_id, "foreign", caller=SECOND, control=read)
        for unknown in two_unlike(created.task_id):
            await driver.get(unknown, "foreign-unknown", caller=SECOND)
        await driver.wait_for_end(created.task_id)

    async def by_stranger(caller: str) -> None:
        created = await create_a_task(driver, tool)
        if created is not None:
            control = created.exchange
            await driver.get(created.task_id, "unauthenticated", caller=caller, control=control)

    async with anyio.create_task_group() as group:
        group.start_soon(by_second)
        if driver.target.headers:  # else the first caller is nobody itself
            group.start_soon(by_stranger, NOBODY)
            group.start_soon(by_stranger, WRONG_TOKEN)


def unlike(task_id: str) -> str:
    """An id of the same form that is not this one: its last characters are others."""
    changed = list(task_id)
    for index in range(max(len(changed) - 12, 0), len(changed)):
        for alphabet in ("0123456789", "abcdef", "ABCDEF", "ghijklmnopqrstuvwxyz"):
            if changed[index] in alphabet:
                place = alphabet.index(changed[index])
                changed[index] = alphabet[(place + 1 + index % 4) % len(alphabet)]
                break
    text = "".join(changed)
    return text if text != task_id else task_id + "0"


def two_unlike(task_id: str) -> tuple[str, str]:
    """Two ids of the same form, so that it is seen in what their answers differ by themselves."""
    one = unlike(task_id)
    return one, unlike(one)


@scenario("security.foreign-update", needs=(INPUT,))
async def foreign_update(driver: Driver) -> None:
    """What a task of the first caller asks is answered by the second (``foreign``); the first
    reads the task (``after-foreign``) and answers it."""
    tool = driver.tool(INPUT, avoiding=(BEFORE,)) or driver.tool(INPUT)
    if tool is None or SECOND not in driver.target.callers:
        return
    admitted = await _admitted(driver, tool)
    created = await create_a_task(driver, tool)
    asked = await driver.wait_for_input(created.task_id) if created is not None else None
    if created is None or asked is None:
        return
    answers = answers_to((asked.task or {}).get("inputRequests"), "foreign-answer")
    await driver.update(created.task_id, answers, "foreign", caller=SECOND, control=admitted)
    for unknown in two_unlike(created.task_id):
        await driver.update(unknown, answers, "foreign-unknown", caller=SECOND)
    await driver.get(created.task_id, "after-foreign")
    await driver.finish(created.task_id)


@scenario("security.foreign-cancel", needs=(SLOW,))
async def foreign_cancel(driver: Driver) -> None:
    """Tasks of the first caller are cancelled by the second (``foreign``), and by nobody and
    with a wrong token (``unauthenticated``), and followed to their end."""
    tool = driver.tool(SLOW, avoiding=(INPUT, BEFORE))
    if tool is None or SECOND not in driver.target.callers:
        return
    admitted = await _admitted(driver, tool)

    async def by_second() -> None:
        created = await create_a_task(driver, tool)
        if created is None:
            return
        draft = driver.cancel_draft(created.task_id)
        await driver.send(draft, "foreign", caller=SECOND, control=admitted)
        for unknown in two_unlike(created.task_id):
            draft = driver.cancel_draft(unknown)
            await driver.send(draft, "foreign-unknown", caller=SECOND)
        await driver.wait_for_end(created.task_id)

    async def by_strangers() -> None:
        created = await create_a_task(driver, tool)
        if created is None:
            return
        for caller in (NOBODY, WRONG_TOKEN):
            draft = driver.cancel_draft(created.task_id)
            await driver.send(draft, "unauthenticated", caller=caller, control=created.exchange)
        await driver.wait_for_end(created.task_id)

    async with anyio.create_task_group() as group:
        group.start_soon(by_second)
        if driver.target.headers:
            group.start_soon(by_strangers)


@scenario("security.foreign-listen", needs=(TASK,))
async def foreign_listen(driver: Driver) -> None:
    """A task is listened to by its caller (``own-listen``) and then by the second
    (``foreign-listen``), until it has ended."""
    tool = driver.tool(SLOW, avoiding=(INPUT, BEFORE)) or driver.plain_task_tool()
    if tool is None or SECOND not in driver.target.callers:
        return
    created = await create_a_task(driver, tool)
    if created is None:
        return
    filtered = {"notifications": {"taskIds": [created.task_id]}}
    own = await driver.send(
        driver.draft(LISTEN, filtered), "own-listen", on_event=_is_acknowledgement, seconds=_FIRST
    )
    answered, enough = anyio.Event(), anyio.Event()

    def hear(event: Event) -> bool:
        answered.set()
        return False

    async def follow() -> None:
        await driver.wait_for_end(created.task_id)
        with anyio.move_on_after(_FIRST):
            await answered.wait()
        # What the end has set off may take a moment to arrive.
        await driver.pause(0.2)
        enough.set()

    async with anyio.create_task_group() as group:
        group.start_soon(follow)
        await driver.send(
            driver.draft(LISTEN, filtered),
            "foreign-listen",
            caller=SECOND,
            control=own,
            on_event=hear,
            enough=enough,
        )
        answered.set()


def _is_acknowledgement(event: Event) -> bool:
    message = parse_json(event.data).value
    return isinstance(message, dict) and message.get("method") == ACKNOWLEDGED
