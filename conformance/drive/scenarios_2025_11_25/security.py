"""Makes ids to look at, and asks for what it may not have.

* ``foreign``: the second caller, in a session of its own, asks for a task of the first;
  ``foreign-unknown``: for one that does not exist. ``foreign-list``: it lists its tasks.
* ``after-foreign``: the first caller reads its task afterwards.
* ``unauthenticated``: nobody, or somebody with a wrong token, in the first caller's session.
* ``list-from-other-session``: where callers cannot be told apart, another session lists.
* ``provoked-error``: requests that are wrong in ways that servers stumble over.
"""

from __future__ import annotations

import uuid

import anyio

from conformance.drive.draft import Draft
from conformance.drive.older.driver import OlderDriver, in_session
from conformance.drive.older.scenario import older_scenario
from conformance.drive.scenarios.security import two_unlike, unlike
from conformance.specification.names import TASKS_GET, TOOLS_CALL
from conformance.target.roles import IDENTITIES, INPUT, SLOW, TASK
from conformance.target.target import NOBODY, SECOND, WRONG_TOKEN

_FOREIGN_SECONDS = 5.0


@older_scenario("security.ids", needs=(TASK,))
async def ids(driver: OlderDriver) -> None:
    """One tool makes several tasks, so that their ids can be compared."""
    tool = driver.plain_task_tool()
    if tool is None:
        return
    for _ in range(30 if driver.thorough else 8):
        await driver.create(tool)


@older_scenario("security.errors", also=("jsonrpc",))
async def errors(driver: OlderDriver) -> None:
    """Requests that are wrong in ways that servers stumble over."""
    drafts = [
        driver.get_draft("x" * 2000),
        driver.get_draft("conformance' OR '1'='1"),
        driver.draft(TASKS_GET, {"taskId": ["a", "list"]}),
        driver.result_draft("conformance' OR '1'='1"),
        driver.draft(TOOLS_CALL, {"name": "no-such-tool", "arguments": {}}),
        driver.draft(TOOLS_CALL, {"name": "no-such-tool", "arguments": {}, "task": {}}),
    ]

    async def send(draft: Draft) -> None:
        await driver.send(draft, "provoked-error", seconds=_FOREIGN_SECONDS)

    async with anyio.create_task_group() as group:
        for draft in drafts:
            group.start_soon(send, draft)


@older_scenario("security.foreign-read", needs=(IDENTITIES, TASK))
async def foreign_read(driver: OlderDriver) -> None:
    """A task of the first caller is read, fetched and listed by the second, which has one of
    its own."""
    tool = driver.plain_task_tool()
    if tool is None or SECOND not in driver.target.callers:
        return
    theirs = await driver.create(tool, caller=SECOND)
    created = await driver.create(tool)
    if created is None:
        return
    task_id, unknown = created.task_id, unlike(created.task_id)
    admitted = await driver.list_tools(caller=SECOND)
    if theirs is not None:
        admitted = await driver.get(theirs.task_id, caller=SECOND)
    await driver.get(task_id, "foreign", caller=SECOND, control=admitted, paced=False)
    for other in two_unlike(task_id):
        await driver.get(other, "foreign-unknown", caller=SECOND, paced=False)
    if driver.lists_tasks:
        await driver.walk()
        await driver.walk("foreign-list", caller=SECOND)
    await driver.finish(task_id)
    for asked, intent in ((task_id, "foreign"), (unknown, "foreign-unknown")):
        await driver.result(
            asked, intent, caller=SECOND, control=admitted, seconds=_FOREIGN_SECONDS
        )
    await driver.get(task_id, "foreign", caller=SECOND, control=admitted)
    await driver.get(task_id, "after-foreign")
    if theirs is not None:
        await driver.wait_for_end(theirs.task_id, caller=SECOND)
        await driver.result(theirs.task_id, caller=SECOND)


@older_scenario("security.foreign-cancel", needs=(IDENTITIES, SLOW))
async def foreign_cancel(driver: OlderDriver) -> None:
    """A task of the first caller is cancelled by the second, and followed to its end."""
    tool = driver.tool(SLOW, avoiding=(INPUT,))
    if tool is None or SECOND not in driver.target.callers or not driver.cancels_tasks:
        return
    admitted = await driver.list_tools(caller=SECOND)
    created = await driver.create(tool)
    if created is None:
        return
    draft = driver.cancel_draft(created.task_id)
    await driver.send(draft, "foreign", caller=SECOND, control=admitted)
    await driver.get(created.task_id, "after-foreign", paced=False)
    for unknown in two_unlike(created.task_id):
        await driver.send(driver.cancel_draft(unknown), "foreign-unknown", caller=SECOND)
    await driver.wait_for_end(created.task_id)


@older_scenario("security.unauthenticated", needs=(IDENTITIES, TASK))
async def unauthenticated(driver: OlderDriver) -> None:
    """A task is read in its own session, but by nobody, and with a wrong token."""
    tool = driver.plain_task_tool()
    if tool is None or not driver.target.headers or SECOND not in driver.target.callers:
        return
    created = await driver.create(tool)
    if created is None:
        return
    control = await driver.get(created.task_id)
    session = driver.sessions["main"]
    for caller in (NOBODY, WRONG_TOKEN):
        await driver.send(
            in_session(session, driver.get_draft(created.task_id)),
            "unauthenticated",
            caller=caller,
            control=control,
            in_session=None,
            seconds=_FOREIGN_SECONDS,
            notes={"session": session.name},
        )


@older_scenario("security.other-session", needs=(TASK,), also=("listing",))
async def other_session(driver: OlderDriver) -> None:
    """Where callers cannot be told apart, tasks are listed from another session."""
    tool = driver.plain_task_tool()
    if tool is None or not driver.lists_tasks or SECOND in driver.target.callers:
        return
    created = await driver.create(tool)
    if created is None:
        return
    await driver.walk()
    await driver.open("other")
    await driver.walk("list-from-other-session", in_session="other")
    draft = driver.get_draft(str(uuid.uuid4()))
    await driver.send(draft, "unknown-id", in_session="other")
    await driver.wait_for_end(created.task_id)
