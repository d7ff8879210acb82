"""Listens for tasks while they are polled, and asks for what should not be agreed to.

The intents, each on ``subscriptions/listen``:

``listen``                several tasks, from before they have gone far until all have ended
``listen-beside``         a second stream, for one of them and for changes of the tool list
``listen-other-types``    only changes of the tool list, while tasks come and go
``listen-known``          one task that exists; the accepted counterpart of the next two
``listen-undeclared``     the same, without declaring the extension
``listen-known-and-unknown``  the same, and an id that does not exist
``listen-unknown``        only an id that does not exist
"""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio

from conformance.drive.draft import UNDECLARED, Draft
from conformance.drive.driver import Created, Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import ACKNOWLEDGED, LISTEN, TASK_NOTIFICATION
from conformance.specification.states import is_terminal
from conformance.target.roles import (
    BEFORE,
    INPUT,
    LARGE,
    PROTOCOL_ERROR,
    SLOW,
    TASK,
    TOOL_ERROR,
)
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.parsing import parse_json
from conformance.wire.sse import Event

_NO_SUCH_TASK = "0c6d9f1e-7b0a-4e53-b1f7-2a6a4f9d8c10"
_META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"

# Seconds for a message that may come a little later than what it tells of.
_LATE = 0.5
# Seconds for the first message of a stream, which the suite was not held up; a little more than
# what the judge takes for silence.
_FIRST = 12.0
# On a busy machine these are so many times as many, at most.
_FIRST_AT_MOST = 3


class _Ear:
    """What was heard on a stream so far."""

    def __init__(self) -> None:
        self.heard_first = anyio.Event()
        self.enough = anyio.Event()
        self.agreed: set[str] = set()
        self.ended: set[str] = set()
        self.closed = False

    def hear(self, event: Event) -> bool:
        """Take in an event; the stream goes on."""
        message = parse_json(event.data).value
        if isinstance(message, dict):
            self._understand(message)
            self.heard_first.set()
        return False

    def _understand(self, message: JsonObject) -> None:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if message.get("method") == ACKNOWLEDGED:
            filters = params.get("notifications")
            agreed = filters.get("taskIds") if isinstance(filters, dict) else None
            if isinstance(agreed, list):
                self.agreed.update(task_id for task_id in agreed if isinstance(task_id, str))
        elif message.get("method") == TASK_NOTIFICATION and is_terminal(params.get("status")):
            self.ended.add(str(params.get("taskId")))

    def heard_all(self) -> bool:
        """Whether the end of every agreed task was told."""
        return self.agreed <= self.ended


def _listen_draft(driver: Driver, filters: JsonObject, name: str = "") -> Draft:
    """A request to listen; with a name its id is a string."""
    request_id = f"{name}-{next(driver.session.request_ids)}" if name else None
    return driver.draft(LISTEN, {"notifications": filters}, request_id=request_id)


async def _listen(
    driver: Driver, draft: Draft, intent: str, ear: _Ear, connection: str
) -> Exchange:
    """Listen until the ear has heard enough, or the server ends the stream."""
    exchange = await driver.send(
        draft, intent, connection=connection, on_event=ear.hear, enough=ear.enough
    )
    ear.closed = True
    ear.heard_first.set()
    return exchange


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds, but not for longer than these seconds."""
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(0.02)


@scenario("notifications.follow", needs=(TASK,))
async def follow(driver: Driver) -> None:
    """Several tasks are followed by listening and by polling at the same time; one task of the
    same kind is not listened for."""
    tools = _different_tools(driver)
    listened = [created for tool in tools if (created := await _create_telling(driver, tool))]
    if not listened:
        return
    aside = await driver.create(tools[0])
    task_ids = [created.task_id for created in listened]
    ears = {name: _Ear() for name in ("listen", "listen-beside", "listen-other-types")}
    drafts = {
        "listen": _listen_draft(driver, {"taskIds": task_ids}, "listen"),
        "listen-beside": _listen_draft(driver, {"taskIds": task_ids[:1], "toolsListChanged": True}),
        "listen-other-types": _listen_draft(driver, {"toolsListChanged": True}, "other"),
    }
    async with anyio.create_task_group() as group:
        for name, ear in ears.items():
            group.start_soon(_listen, driver, drafts[name], name, ear, f"{name}-stream")
        await _first_of_each(driver, list(ears.values()))
        if ears["listen"].closed:
            # Nothing is told here, so there is nothing to compare.
            group.cancel_scope.cancel()
            return
        async with anyio.create_task_group() as polling:
            for created in (*listened, *([aside] if aside is not None else [])):
                polling.start_soon(_poll, driver, created.task_id)
        # What ended last may be told a moment later.
        await _until(lambda: all(ear.heard_all() for ear in ears.values()), _LATE)
        for ear in ears.values():
            ear.enough.set()


async def _first_of_each(driver: Driver, ears: list[_Ear]) -> None:
    """Wait until each heard something, or a server that could had the time to tell it."""
    began = time.monotonic()
    patience = min(_FIRST, driver.target.max_wait)

    def settled() -> bool:
        heard = all(ear.heard_first.is_set() for ear in ears)
        return heard or driver.certain_seconds_since(began) >= patience

    await _until(settled, _FIRST_AT_MOST * patience)


async def _poll(driver: Driver, task_id: str) -> None:
    """Follow a task to its end, and look once more."""
    await driver.finish(task_id)
    await driver.get(task_id)


def _different_tools(driver: Driver) -> list[ToolUse]:
    """Tools whose tasks live long enough to be told about, and end in different ways."""
    slow = driver.tool(SLOW, avoiding=(INPUT, BEFORE, LARGE))
    chosen = [
        slow or driver.plain_task_tool(),
        driver.tool(INPUT, avoiding=(BEFORE,)),
        driver.tool(PROTOCOL_ERROR, avoiding=(BEFORE, INPUT)),
        driver.tool(TOOL_ERROR, avoiding=(BEFORE, INPUT)),
    ]
    if driver.thorough:
        chosen += driver.tools(INPUT, avoiding=(BEFORE,))[1:]
    found = [tool for tool in chosen if tool is not None]
    return list({tool.name: tool for tool in found}.values())


async def _create_telling(driver: Driver, tool: ToolUse) -> Created | None:
    """A task whose call asks for progress and log messages, as any call may."""
    draft = driver.call_draft(tool)
    draft = draft.with_meta("progressToken", f"progress-{next(driver.session.request_ids)}")
    draft = draft.with_meta(_META_LOG_LEVEL, "debug")
    return driver.created(tool, await driver.send(draft))


async def _first_message(
    driver: Driver, draft: Draft, intent: str, control: Exchange | None = None
) -> Exchange:
    """Listen for one message only."""
    return await driver.send(
        draft,
        intent,
        control=control,
        connection=f"{intent}-stream",
        seconds=min(_FIRST, driver.target.max_wait),
        on_event=lambda event: isinstance(parse_json(event.data).value, dict),
    )


@scenario("notifications.refused")
async def refused(driver: Driver) -> None:
    """Listening without declaring the extension, and for a task that does not exist."""
    tool = driver.tool(SLOW, avoiding=(INPUT, BEFORE)) or driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    known = [created.task_id] if created is not None else []
    accepted: Exchange | None = None
    if known:
        draft = _listen_draft(driver, {"taskIds": known})
        accepted = await _first_message(driver, draft, "listen-known")
        await _listen_undeclared(driver, known, accepted)
        draft = _listen_draft(driver, {"taskIds": [_NO_SUCH_TASK, *known]})
        await _first_message(driver, draft, "listen-known-and-unknown", accepted)
    draft = _listen_draft(driver, {"taskIds": [_NO_SUCH_TASK]})
    unknown = await _first_message(driver, draft, "listen-unknown", accepted)
    if not known:
        await _listen_undeclared(driver, [_NO_SUCH_TASK], unknown)


async def _listen_undeclared(driver: Driver, task_ids: list[str], accepted: Exchange) -> None:
    draft = _listen_draft(driver, {"taskIds": task_ids}).declaring(UNDECLARED)
    await _first_message(driver, draft, "listen-undeclared", accepted)
