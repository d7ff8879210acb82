"""Reads tasks: unknown ones, ended ones, at work, and with a hint that points elsewhere.

* ``unknown-id``, ``derived-id``: tasks that do not exist; the second is made from a real id.
* ``related-task-differs``: ``_meta`` of the request names another task than ``taskId``.
"""

from __future__ import annotations

import random
import uuid

import anyio

from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.scenarios.polling import changed_ids
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import META_RELATED_TASK
from conformance.target.roles import PROTOCOL_ERROR, SLOW, TASK, TOOL_ERROR
from conformance.wire.client import FRESH

# Two reads of an ended task so far apart show whether its times rest.
_REST_SECONDS = 1.1


@older_scenario("polling.unknown-ids", also=("transport",))
async def unknown_ids(driver: OlderDriver) -> None:
    """Ids that no server has handed out, in the forms that ids usually have."""
    rng = random.Random(f"{driver.target.seed} {driver.scenario}")
    for task_id in (
        str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        f"{rng.getrandbits(96):024x}",
        f"conformance-no-such-task-{rng.getrandbits(64):x}",
    ):
        await driver.get(task_id, "unknown-id")


@older_scenario("polling.derived-ids", needs=(TASK,))
async def derived_ids(driver: OlderDriver) -> None:
    """Ids made from a real one by a small change, each beside the accepted read of the real."""
    tool = driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    ended = await driver.finish(created.task_id) if created is not None else None
    if created is None or ended is None or ended.task is None:
        return
    for task_id, change in changed_ids(created.task_id):
        await driver.get(task_id, "derived-id", control=ended, notes={"change": change})


@older_scenario("polling.to-the-end", needs=(TASK,), also=("lifecycle", "expiry"))
async def to_the_end(driver: OlderDriver) -> None:
    """Tasks of several kinds are polled at their pace to the end, which is read again later."""
    tools = [driver.plain_task_tool(), driver.tool(SLOW, avoiding=("input",))]
    tools += [driver.tool(role, avoiding=("input",)) for role in (TOOL_ERROR, PROTOCOL_ERROR)]

    async def follow(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is None:
            return
        await driver.get(created.task_id)
        if await driver.finish(created.task_id) is None:
            return
        await driver.get(created.task_id)
        await driver.pause(_REST_SECONDS)
        await driver.get(created.task_id, connection=FRESH)

    async with anyio.create_task_group() as group:
        for tool in {tool.name: tool for tool in tools if tool is not None}.values():
            for _ in range(2):
                group.start_soon(follow, tool)


@older_scenario("polling.related-task", needs=(TASK,), also=("results",))
async def related_task(driver: OlderDriver) -> None:
    """Two tasks that have ended are asked for, with a hint in ``_meta`` at the other, and at
    one that does not exist."""
    tool = driver.plain_task_tool()
    if tool is None:
        return
    first, second = await driver.create(tool), await driver.create(tool)
    if first is None or second is None:
        return
    for created in (first, second):
        await driver.finish(created.task_id)
    for hint in (second.task_id, str(uuid.uuid4())):
        related = {"taskId": hint}
        control = await driver.get(first.task_id)
        draft = driver.get_draft(first.task_id).with_meta(META_RELATED_TASK, related)
        await driver.pace(first.task_id)
        await driver.send(draft, "related-task-differs", control=control)
        control = await driver.result(first.task_id)
        draft = driver.result_draft(first.task_id).with_meta(META_RELATED_TASK, related)
        await driver.send(draft, "related-task-differs", control=control)
