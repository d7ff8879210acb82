"""Makes tasks, and reads them at once, from elsewhere, and many at a time.

* ``read-at-once``: read the moment the handle is here.
* ``task-parameter-elsewhere``: a request that cannot be a task, with the parameter.
* ``create-and-hang-up``: a call whose connection is closed once the handle is here.
"""

from __future__ import annotations

from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.scenarios import creation
from conformance.specification.names import TOOLS_LIST
from conformance.target.roles import SLOW, TASK
from conformance.wire.client import FRESH

_TASK = {"ttl": 60_000}


@older_scenario("creation.read-at-once", needs=(TASK,))
async def read_at_once(driver: OlderDriver) -> None:
    """Several tasks are made by the same call at the same moment, and read at once."""
    await creation.read_at_once(driver)


@older_scenario("creation.parallel-readers", needs=(TASK,))
async def parallel_readers(driver: OlderDriver) -> None:
    """One new task is read by several readers at the same moment."""
    tool = driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is None:
        return
    await creation.read_together(driver, created)
    await driver.finish(created.task_id)


@older_scenario("creation.slow", needs=(SLOW,))
async def slow(driver: OlderDriver) -> None:
    """Tasks that take their time are made and read at once."""
    for tool in driver.tools(SLOW, avoiding=("input",))[:2]:
        created = await driver.create(tool)
        if created is not None:
            await driver.get(created.task_id, "read-at-once", paced=False)


@older_scenario("creation.disconnect", needs=(SLOW,))
async def disconnect(driver: OlderDriver) -> None:
    """The connection that the handle came on is closed; the task is followed elsewhere."""
    tool = driver.tool(SLOW, avoiding=("input",))
    if tool is None:
        return
    created = await driver.create(tool, "create-and-hang-up", connection=FRESH)
    if created is not None:
        await driver.wait_for_end(created.task_id, connection="after-hang-up")


@older_scenario("creation.other-methods")
async def other_methods(driver: OlderDriver) -> None:
    """A request that no server takes as a task is sent as one."""
    control = await driver.list_tools()
    draft = driver.draft(TOOLS_LIST, {"task": _TASK})
    await driver.send(draft, "task-parameter-elsewhere", control=control)
