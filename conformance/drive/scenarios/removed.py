"""Asks for what 2025-11-25 had."""

from __future__ import annotations

import uuid

import anyio

from conformance.drive.draft import Draft
from conformance.drive.driver import Driver
from conformance.drive.scenario import scenario
from conformance.specification.names import HEADER_NAME
from conformance.target.roles import TASK
from conformance.wire.exchange import JsonObject

# Names that servers have been seen to add, and one that none has.
FURTHER_METHODS = ("tasks/delete", "tasks/create", "tasks/status", "tasks/no-such-method")


@scenario("removed.methods", also=("negotiation",))
async def methods(driver: Driver) -> None:
    """A method that does not exist is called (``unknown-method``), then ``tasks/result`` and
    ``tasks/list`` of 2025-11-25, and further names under ``tasks/`` (``removed-method``). The
    id they name is none of a task."""
    unknown = str(uuid.uuid4())
    await driver.send(driver.draft("conformance/no-such-method"), "unknown-method")
    await driver.send(driver.draft("tasks/list"), "removed-method")

    async def ask(draft: Draft) -> None:
        await driver.send(draft, "removed-method")

    async with anyio.create_task_group() as group:
        for method in ("tasks/result", *FURTHER_METHODS):
            group.start_soon(ask, _naming(driver, method, unknown))
    await driver.list_tools()


@scenario("removed.result-of-a-task", needs=(TASK,))
async def result_of_a_task(driver: Driver) -> None:
    """``tasks/result`` is called for a task that has ended and can be read
    (``removed-method``)."""
    tool = driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    end = await driver.wait_for_end(created.task_id) if created is not None else None
    if created is not None and end is not None:
        draft = _naming(driver, "tasks/result", created.task_id)
        await driver.send(draft, "removed-method", control=end)


def _naming(driver: Driver, method: str, task_id: str) -> Draft:
    """A request about a task, with the header that ``tasks/get`` would have."""
    params: JsonObject = {"taskId": task_id}
    header = dict(driver.get_draft(task_id).headers)[HEADER_NAME]
    return driver.draft(method, params).with_header(HEADER_NAME, header)
