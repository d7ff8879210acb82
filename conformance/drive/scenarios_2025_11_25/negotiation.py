"""Opens sessions, and calls tools in the ways that were not agreed on.

* ``initialize``, ``initialize-unknown-version``: the handshake, with this version and with one
  that does not exist.
* ``listen-before-initialized``: the GET stream of a session whose handshake is not finished.
* ``forbidden-tool-as-task``: a call as a task of a tool that does not say it can be one;
  ``task-parameter`` where the server takes no tool calls as tasks at all.
* ``task-only``: a plain call of a tool that can only be called as a task.
* ``call-plainly``: a plain call of a tool that may be called either way.
* ``newer-discover``, ``older-task-newly``: whether 2026-07-28 is spoken too, and then a task of
  this revision read and cancelled by requests of that one, which declare no more than this one's
  capability.
"""

from __future__ import annotations

import uuid

import anyio

from conformance.drive.draft import LEGACY_DECLARED, Draft, request
from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import DISCOVER, TASKS_CANCEL, TASKS_GET
from conformance.specification.revisions import DEFAULT_REVISION, revision_named
from conformance.target.roles import SYNC, TASK, TASK_ONLY
from conformance.wire.exchange import JsonObject

UNKNOWN_VERSION = "2099-12-31"
# A plain call lasts as long as the work does, in seconds.
_LONGEST_PLAIN_CALL = 10.0
_BEFORE_READY = 0.5


@older_scenario("negotiation.handshakes", also=("transport",))
async def handshakes(driver: OlderDriver) -> None:
    """Two sessions are opened, and one is asked for with a version that does not exist."""
    for name in ("first", "second"):
        await driver.open(name)
        await driver.list_tools(in_session=name)
    unknown = await driver.open(
        "unknown", version=UNKNOWN_VERSION, intent="initialize-unknown-version", ready=False
    )
    if unknown.id is not None:
        await driver.end_session(unknown, seconds=5)


@older_scenario("negotiation.unready")
async def unready(driver: OlderDriver) -> None:
    """A stream is listened to before the client says that it is ready."""
    session = await driver.open("unready", ready=False)
    if not session.result:
        return
    await driver.listen("unready", "listen-before-initialized", seconds=_BEFORE_READY)
    await driver.say_ready(session)
    await driver.list_tools(in_session="unready")


@older_scenario("negotiation.methods", also=("polling", "results", "cancellation", "listing"))
async def methods(driver: OlderDriver) -> None:
    """Every method of tasks is asked for a task that does not exist."""
    unknown = str(uuid.uuid4())
    await driver.get(unknown, "unknown-id")
    await driver.result(unknown, "unknown-id", seconds=5)
    if driver.cancels_tasks:
        await driver.cancel(unknown, "unknown-id")
    if driver.lists_tasks:
        await driver.walk(most_pages=3)


@older_scenario("negotiation.forbidden-tools", needs=(SYNC,))
async def forbidden_tools(driver: OlderDriver) -> None:
    """Tools that do not say they can be tasks are called plainly, and then as tasks."""
    intent = "forbidden-tool-as-task" if driver.takes_tasks else "task-parameter"

    async def compare(tool: ToolUse) -> None:
        control = await driver.call(tool, seconds=_LONGEST_PLAIN_CALL)
        if control.result is None:
            return
        called = await driver.call_as_task(
            tool, intent, control=control, seconds=_LONGEST_PLAIN_CALL
        )
        created = driver.created(tool, called)
        if created is not None:
            await driver.finish(created.task_id)

    async with driver.listening(), anyio.create_task_group() as group:
        for tool in driver.tools(SYNC, avoiding=(TASK,))[: 12 if driver.thorough else 3]:
            group.start_soon(compare, tool)


@older_scenario("negotiation.undeclared")
async def undeclared(driver: OlderDriver) -> None:
    """Where the server takes no calls as tasks, tools that say they can be tasks are called
    plainly and then with the parameter, which is to be passed over."""
    if driver.takes_tasks:
        return
    for tool in [use for use in driver.tools() if not use.plays(SYNC)][:3]:
        control = await driver.call(tool, seconds=_LONGEST_PLAIN_CALL)
        if control.result is not None:
            await driver.call_as_task(
                tool, "task-parameter", control=control, seconds=_LONGEST_PLAIN_CALL
            )


@older_scenario("negotiation.task-only", needs=(TASK_ONLY,))
async def task_only(driver: OlderDriver) -> None:
    """Tools that can only be tasks are called as tasks, and then plainly."""

    async def compare(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is None:
            return
        await driver.call(tool, "task-only", control=created.exchange, seconds=_LONGEST_PLAIN_CALL)
        await driver.finish(created.task_id)

    async with anyio.create_task_group() as group:
        for tool in driver.tools(TASK_ONLY)[: 8 if driver.thorough else 3]:
            group.start_soon(compare, tool)


@older_scenario("negotiation.plain-calls", needs=(TASK,), also=("creation",))
async def plain_calls(driver: OlderDriver) -> None:
    """Tools that may be called either way are called plainly."""
    found = [tool for tool in driver.tools(TASK, avoiding=(TASK_ONLY, "input")) if _is_short(tool)]

    async def call(tool: ToolUse) -> None:
        await driver.call(tool, "call-plainly", seconds=_LONGEST_PLAIN_CALL)

    async with anyio.create_task_group() as group:
        for tool in found[: 12 if driver.thorough else 4]:
            group.start_soon(call, tool)


def _is_short(tool: ToolUse) -> bool:
    return tool.at_least is not None and tool.at_least <= _LONGEST_PLAIN_CALL / 2


@older_scenario("negotiation.newer-requests", needs=(TASK,))
async def newer_requests(driver: OlderDriver) -> None:
    """A task is asked for by requests of 2026-07-28, where that is spoken too."""
    version = revision_named(DEFAULT_REVISION).protocol_version

    def newer(method: str, params: JsonObject, capabilities: JsonObject) -> Draft:
        return request(
            method,
            params,
            request_id=next(driver.session.request_ids),
            version=version,
            capabilities=capabilities,
        )

    look = newer(DISCOVER, {}, LEGACY_DECLARED)
    found = await driver.send(look, "newer-discover", in_session=None, seconds=_LONGEST_PLAIN_CALL)
    tool = driver.plain_task_tool()
    if found.result is None or tool is None:
        return
    created = await driver.create(tool)
    if created is None:
        return
    control = await driver.get(created.task_id)
    for method in (TASKS_GET, TASKS_CANCEL):
        await driver.pace(created.task_id)
        draft = newer(method, {"taskId": created.task_id}, LEGACY_DECLARED)
        await driver.send(draft, "older-task-newly", in_session=None, control=control)
