"""Declares the extension, or does not, or in a way that does not count."""

from __future__ import annotations

import uuid

import anyio

from conformance.drive.answers import answers_to
from conformance.drive.draft import CORE_CAPABILITIES, LEGACY_DECLARED, UNDECLARED, Draft
from conformance.drive.driver import Created, Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.drive.trying import create_a_task
from conformance.specification.names import (
    EXTENSION,
    HEADER_METHOD,
    HEADER_SESSION,
    HEADER_VERSION,
    TASK_METHODS,
)
from conformance.target.roles import BEFORE, INPUT, SLOW, SYNC, TASK, TASK_ONLY
from conformance.wire.client import FRESH
from conformance.wire.exchange import Exchange, JsonObject

NO_EXTENSIONS: JsonObject = {**CORE_CAPABILITIES, "extensions": {}}
ANOTHER_EXTENSION: JsonObject = {
    **CORE_CAPABILITIES,
    "extensions": {"com.example/mcp-tasks-conformance": {}},
}
EXPERIMENTAL: JsonObject = {**CORE_CAPABILITIES, "experimental": {EXTENSION: {}}}

# A plain call lasts as long as the work does, in seconds.
_LONGEST_PLAIN_CALL = 5.0
# So many tools are called until one of them answers a plain call.
_MOST_TOOLS = 4

OLDER_VERSION = "2025-11-25"
# A lifetime that no server would choose by itself.
TASK_PARAMETER: JsonObject = {"ttl": 7_654_321}


def _tool_for_calls(driver: Driver) -> ToolUse | None:
    """A tool that becomes a task; else one that answers at once, or that did neither."""
    return driver.plain_task_tool() or driver.tool(SYNC) or next(iter(driver.tools()), None)


@scenario("negotiation.methods", also=("transport",))
async def methods(driver: Driver) -> None:
    """The three methods are asked for a task that does not exist, first by a client that
    declares the extension (``method-served``), then by one that does not (``undeclared``)."""
    unknown = str(uuid.uuid4())
    params: dict[str, JsonObject] = {method: {"taskId": unknown} for method in TASK_METHODS}
    params["tasks/update"] = {"taskId": unknown, "inputResponses": {}}
    for method in TASK_METHODS:
        await driver.send(driver.draft(method, params[method]), "method-served")
        draft = driver.draft(method, params[method], capabilities=UNDECLARED)
        await driver.send(draft, "undeclared", connection=FRESH)


@scenario("negotiation.undeclared-calls", needs=(TASK,))
async def undeclared_calls(driver: Driver) -> None:
    """Tools that became tasks are called without declaring the extension (``undeclared``), one
    of them in three ways of not declaring it."""
    tool = driver.plain_task_tool()

    async def call(use: ToolUse, capabilities: JsonObject, control: Exchange | None) -> None:
        draft = driver.call_draft(use, capabilities=capabilities)
        seconds = min(max(5.0, 3 * (use.seconds or 0.0)), max(driver.target.max_wait, 5.0))
        await driver.send(draft, "undeclared", connection=FRESH, control=control, seconds=seconds)

    async with anyio.create_task_group() as group:
        if tool is not None:
            created = await create_a_task(driver, tool)
            for capabilities in (UNDECLARED, NO_EXTENSIONS, ANOTHER_EXTENSION):
                if created is not None:
                    group.start_soon(call, tool, capabilities, created.exchange)
        others = [use for use in driver.tools(TASK) if use != tool and _answers_soon(use)]
        for use in others[: 40 if driver.thorough else 12]:
            group.start_soon(call, use, UNDECLARED, None)


def _answers_soon(tool: ToolUse) -> bool:
    """Whether a plain call is worth its time: the work is short, or there is none at first."""
    short = tool.seconds is not None and tool.seconds <= _LONGEST_PLAIN_CALL
    return short or any(map(tool.plays, (INPUT, BEFORE, TASK_ONLY)))


@scenario("negotiation.declared-before", needs=(TASK,))
async def declared_before(driver: Driver) -> None:
    """On one connection a call and a read that declare the extension are repeated without
    (``undeclared-after-declared``)."""
    tool = driver.plain_task_tool()
    if tool is None:
        return
    connection = "declared-before"
    created = await create_a_task(driver, tool, connection=connection)
    if created is None:
        return
    again = driver.call_draft(tool, capabilities=UNDECLARED)
    await _undeclared_after(driver, again, created.exchange, connection)
    read = await driver.get(created.task_id, connection=connection)
    again = driver.get_draft(created.task_id, capabilities=UNDECLARED)
    await _undeclared_after(driver, again, read, connection)


async def _undeclared_after(
    driver: Driver, draft: Draft, control: Exchange, connection: str
) -> None:
    session = control.response_header(HEADER_SESSION)
    if session is not None:
        # There are no sessions in this revision; a server that mints one may remember by it.
        draft = draft.with_header(HEADER_SESSION, session)
    await driver.send(draft, "undeclared-after-declared", control=control, connection=connection)


@scenario("negotiation.other-declarations")
async def other_declarations(driver: Driver) -> None:
    """A call declares tasks in ways that do not count: by the capability of 2025-11-25
    (``legacy-declaration``), by a key of ``_meta`` or among the experimental capabilities
    (``declared-elsewhere``), or by the task parameter (``task-parameter-undeclared``)."""
    tool = _tool_for_calls(driver)
    if tool is None:
        return
    created = await create_a_task(driver, tool)
    control = created.exchange if created is not None else None
    undeclared = driver.call_draft(tool, capabilities=UNDECLARED)
    drafts = [
        (driver.call_draft(tool, capabilities=LEGACY_DECLARED), "legacy-declaration"),
        (undeclared.with_meta(EXTENSION, {}), "declared-elsewhere"),
        (driver.call_draft(tool, capabilities=EXPERIMENTAL), "declared-elsewhere"),
        (
            driver.call_draft(tool, capabilities=UNDECLARED).with_param("task", TASK_PARAMETER),
            "task-parameter-undeclared",
        ),
    ]
    async with anyio.create_task_group() as group:
        for draft, intent in drafts:
            group.start_soon(_send_fresh, driver, draft, intent, control)
    if created is not None:
        read = await driver.get(created.task_id)
        draft = driver.get_draft(created.task_id, capabilities=LEGACY_DECLARED)
        await _send_fresh(driver, draft, "legacy-declaration", read)


async def _send_fresh(driver: Driver, draft: Draft, intent: str, control: Exchange | None) -> None:
    await driver.send(draft, intent, control=control, connection=FRESH)


@scenario("negotiation.task-parameter")
async def task_parameter(driver: Driver) -> None:
    """A tool that becomes a task and one that answers at once are called three times each
    without and with the task parameter of 2025-11-25 (``task-parameter``)."""
    found = (driver.plain_task_tool(), driver.tool(SYNC, avoiding=(TASK,)))

    async def compare(tool: ToolUse) -> None:
        control = await driver.call(tool)
        draft = driver.call_draft(tool).with_param("task", TASK_PARAMETER)
        await driver.send(draft, "task-parameter", control=control)

    async with anyio.create_task_group() as group:
        for tool in [each for each in found if each is not None]:
            for _ in range(3):
                group.start_soon(compare, tool)


@scenario("negotiation.undeclared-get", needs=(TASK,), also=("transport",))
async def undeclared_get(driver: Driver) -> None:
    """A task is read by a client that declares the extension, then without (``undeclared``)."""
    tool = driver.plain_task_tool()
    created = await create_a_task(driver, tool) if tool is not None else None
    if created is None:
        return
    control = await driver.get(created.task_id)
    draft = driver.get_draft(created.task_id, capabilities=UNDECLARED)
    await _send_fresh(driver, draft, "undeclared", control)


@scenario("negotiation.undeclared-update", needs=(INPUT,))
async def undeclared_update(driver: Driver) -> None:
    """Of two tasks that ask, one is answered; then the other is answered by a client that does
    not declare the extension (``undeclared``), and read to see what became of it."""
    tool = driver.tool(INPUT, avoiding=(BEFORE,)) or driver.tool(INPUT)
    if tool is None:
        return
    asking: list[tuple[Created, Exchange]] = []

    async def ask() -> None:
        created = await create_a_task(driver, tool)
        asked = await driver.wait_for_input(created.task_id) if created is not None else None
        if created is not None and asked is not None:
            asking.append((created, asked))

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(ask)
    if len(asking) < 2:
        return
    (first, first_asked), (second, second_asked) = asking
    answers = answers_to((first_asked.task or {}).get("inputRequests"))
    control = await driver.update(first.task_id, answers)
    answers = answers_to((second_asked.task or {}).get("inputRequests"), "undeclared-answer")
    draft = driver.update_draft(second.task_id, answers, capabilities=UNDECLARED)
    await _send_fresh(driver, draft, "undeclared", control)
    for _ in range(2):
        await driver.get(second.task_id, "after-undeclared")
    async with anyio.create_task_group() as group:
        for created in (first, second):
            group.start_soon(driver.finish, created.task_id)


@scenario("negotiation.undeclared-cancel", needs=(SLOW,))
async def undeclared_cancel(driver: Driver) -> None:
    """Of two tasks at work, one is cancelled; then the other is cancelled by a client that does
    not declare the extension (``undeclared``), and followed to its end."""
    tool = driver.tool(SLOW, avoiding=(INPUT, BEFORE))
    if tool is None:
        return
    first = await create_a_task(driver, tool)
    control = await driver.cancel(first.task_id) if first is not None else None
    second = await create_a_task(driver, tool)
    if second is None:
        return
    draft = driver.cancel_draft(second.task_id, capabilities=UNDECLARED)
    await _send_fresh(driver, draft, "undeclared", control)
    await driver.wait_for_end(second.task_id)


@scenario("negotiation.older-protocol")
async def older_protocol(driver: Driver) -> None:
    """A session of 2025-11-25 is opened that declares the extension (``older-initialize``), a
    tool is called in it (``older-protocol-call``), and the session is closed. That revision has
    tools that refuse a plain call, so others are called too until one answers."""
    opening = {
        "protocolVersion": OLDER_VERSION,
        "capabilities": {"extensions": {EXTENSION: {}}},
        "clientInfo": {"name": "mcp-tasks-conformance", "version": "0"},
    }
    draft = _without_revision(driver.draft("initialize", opening))
    opened = await driver.send(draft, "older-initialize")
    if (opened.result or {}).get("protocolVersion") != OLDER_VERSION:
        return
    session = opened.response_header(HEADER_SESSION)
    first = _tool_for_calls(driver)
    others = [tool for tool in driver.tools(TASK, avoiding=(INPUT, BEFORE)) if tool != first]

    def in_session(draft: Draft) -> Draft:
        draft = _without_revision(draft).with_header(HEADER_VERSION, OLDER_VERSION)
        return draft if session is None else draft.with_header(HEADER_SESSION, session)

    ready = in_session(driver.draft("notifications/initialized")).without_member("id")
    await driver.send(ready, "older-protocol")
    candidates = [first, *others] if first is not None else []
    for tool in candidates[:_MOST_TOOLS]:
        created = await create_a_task(driver, tool)
        control = created.exchange if created is not None else None
        call = in_session(driver.call_draft(tool))
        called = await driver.send(call, "older-protocol-call", control=control)
        if called.result is not None:
            break
    if session is not None:
        closing = in_session(driver.draft("close"))
        await driver.send(Draft(b"", closing.headers, "DELETE"), "older-protocol")


def _without_revision(draft: Draft) -> Draft:
    """The request as 2025-11-25 has it: no ``_meta``, and no header that mirrors the body."""
    draft = draft.without_param("_meta")
    for name in (HEADER_VERSION, HEADER_METHOD, "Mcp-Name"):
        draft = draft.without_header(name)
    return draft


@scenario("negotiation.older-design")
async def older_design(driver: Driver) -> None:
    """Tools that seemed to do nothing are called again, and where they answer with a task in
    the form of 2025-11-25 it is read, called for without a declaration, and cancelled."""
    for tool in [use for use in driver.tools() if not use.roles][:2]:
        answer = await driver.call(tool)
        task = (answer.result or {}).get("task")
        task_id = task.get("taskId") if isinstance(task, dict) else None
        if isinstance(task_id, str):
            draft = driver.call_draft(tool, capabilities=UNDECLARED)
            await _send_fresh(driver, draft, "undeclared", answer)
            await driver.get(task_id)
            await driver.cancel(task_id)
