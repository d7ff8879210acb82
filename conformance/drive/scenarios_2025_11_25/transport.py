"""Sessions, their end, the version header, streams, and what web pages send.

* ``without-session``, ``ended-session``: a request without the header of its session, and one
  in a session that was ended (``end-session``).
* ``version-header-unknown``: a version that does not exist, and one that is none.
* ``http-get``, ``listen``: the GET stream, shortly, and while tasks run.
* ``foreign-origin``: as a web page from elsewhere would send it.
* ``ping``: a ping.
"""

from __future__ import annotations

import anyio

from conformance.drive.older.draft import PING
from conformance.drive.older.driver import OlderDriver, in_session
from conformance.drive.older.scenario import older_scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import HEADER_VERSION, TOOLS_LIST
from conformance.target.roles import INPUT, SLOW, TASK

# Nothing here takes long: who has not answered by then does not answer.
_SECONDS = 5.0
# What the end of a task has set off may take a moment to arrive.
_LINGER = 0.3


@older_scenario("transport.sessions")
async def sessions(driver: OlderDriver) -> None:
    """Requests outside of a session, and in one that was ended."""
    session = await driver.open("ended")
    control = await driver.list_tools(in_session="ended")
    if session.id is None:
        return
    notes = {"session": session.name}
    await driver.send(
        driver.draft(TOOLS_LIST, {}),
        "without-session",
        control=control,
        in_session=None,
        seconds=_SECONDS,
        notes=notes,
    )
    await driver.end_session(session, seconds=_SECONDS)
    for _ in range(2):
        await driver.send(
            in_session(session, driver.draft(TOOLS_LIST, {})),
            "ended-session",
            control=control,
            in_session=None,
            seconds=_SECONDS,
            notes=notes,
        )


@older_scenario("transport.versions")
async def versions(driver: OlderDriver) -> None:
    """Version headers that name no version."""
    control = await driver.list_tools()
    for version in ("2099-12-31", "conformance"):
        draft = driver.draft(TOOLS_LIST, {}).with_header(HEADER_VERSION, version)
        await driver.send(draft, "version-header-unknown", control=control, seconds=_SECONDS)


@older_scenario("transport.foreign-origin")
async def foreign_origin(driver: OlderDriver) -> None:
    """An accepted request again, from another site, and from one whose name begins like that
    of this machine."""
    if not (driver.target.loopback or driver.target.judge_origin):
        return
    control = await driver.list_tools()
    for origin in ("http://attacker.example", "http://localhost.attacker.example"):
        draft = driver.draft(TOOLS_LIST, {}).with_header("Origin", origin)
        await driver.send(draft, "foreign-origin", control=control, seconds=_SECONDS)


@older_scenario("transport.get")
async def get(driver: OlderDriver) -> None:
    """The GET stream for a moment, and a ping."""
    await driver.listen("get", "http-get", seconds=0.5)
    await driver.send(driver.draft(PING), "ping", in_session="get", seconds=_SECONDS)


@older_scenario("transport.listening", needs=(TASK,), also=("notifications", "input", "lifecycle"))
async def listening(driver: OlderDriver) -> None:
    """The GET stream is held while tasks run and their results are waited for."""
    tools = [driver.tool(SLOW, avoiding=(INPUT,)) or driver.plain_task_tool(), driver.tool(INPUT)]

    async def one(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is None:
            return
        limit = min(driver.target.max_wait, 12.0)
        await driver.result(created.task_id, seconds=limit, connection=f"held-{created.task_id}")
        await driver.get(created.task_id)

    async with driver.listening():
        async with anyio.create_task_group() as group:
            for tool in tools:
                if tool is not None:
                    group.start_soon(one, tool)
        await driver.pause(_LINGER)
