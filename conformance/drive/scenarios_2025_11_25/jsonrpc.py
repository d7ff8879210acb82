"""Messages that are unusual, ill-formed, or want no answer."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator

import anyio

from conformance.drive.draft import Draft
from conformance.drive.older.draft import PING
from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.specification.names import (
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_RESULT,
    TOOLS_LIST,
)
from conformance.target.roles import TASK
from conformance.wire.client import FRESH
from conformance.wire.exchange import Exchange
from conformance.wire.parsing import dump_json

# Nothing here takes long: who has not answered by then does not answer.
_SECONDS = 5.0


@older_scenario("jsonrpc.request-ids", also=("transport",))
async def request_ids(driver: OlderDriver) -> None:
    """An accepted request again, under ids of all the shapes an id may have (``id-shape``)."""
    control = await driver.list_tools()
    shapes: list[object] = [0, -1, 9_007_199_254_740_991, "1", "", "words and spaces", "ключ-鍵"]

    async def one(shape: object) -> None:
        draft = driver.draft(TOOLS_LIST, {}, request_id=shape)
        await driver.send(draft, "id-shape", control=control, seconds=_SECONDS)

    async with anyio.create_task_group() as group:
        for shape in shapes:
            group.start_soon(one, shape)


@older_scenario("jsonrpc.unknown-members", also=("polling",))
async def unknown_members(driver: OlderDriver) -> None:
    """Accepted requests again, with a member that nobody knows in ``params`` or in ``_meta``
    (``unknown-members``)."""
    control = await driver.list_tools()
    await _with_more(driver, driver.draft(TOOLS_LIST, {}), control)
    tool = driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is not None:
        control = await driver.get(created.task_id)
        await _with_more(driver, driver.get_draft(created.task_id), control)
        await driver.wait_for_end(created.task_id)


async def _with_more(driver: OlderDriver, draft: Draft, control: Exchange) -> None:
    for edited in (
        draft.with_param("conformanceUnknown", {"any": ["thing"]}),
        draft.with_meta("com.example/conformance", {"any": ["thing"]}),
    ):
        again = edited.with_member("id", next(driver.session.request_ids))
        await driver.send(again, "unknown-members", control=control, seconds=_SECONDS)


@older_scenario("jsonrpc.task-ids")
async def task_ids(driver: OlderDriver) -> None:
    """The methods of tasks with no ``taskId`` (``task-id-missing``) or one that is not a text
    (``task-id-ill-typed``)."""
    methods = [TASKS_GET, TASKS_RESULT, *([TASKS_CANCEL] if driver.cancels_tasks else [])]
    for method in methods:
        await driver.send(driver.draft(method, {}), "task-id-missing", seconds=_SECONDS)
        ill_typed: tuple[object, ...] = (None, 5, True, [], {})
        for value in ill_typed if method == TASKS_GET else ill_typed[:2]:
            draft = driver.draft(method, {"taskId": value})
            await driver.send(draft, "task-id-ill-typed", seconds=_SECONDS)


@older_scenario("jsonrpc.odd-task-ids")
async def odd_task_ids(driver: OlderDriver) -> None:
    """Ids that no server ever gave out, and that make careless ones stumble (``odd-task-id``).
    They differ from an ordinary unknown id (``plain-task-id``)."""
    control = await driver.get(str(uuid.uuid4()), "plain-task-id")
    ids = ["../../../etc/passwd", "__proto__", "constructor", " ", "任务-tâche-🗂", "a\x00b\n", ""]
    drafts = [driver.get_draft(task_id) for task_id in (*ids, "x" * 2_000, "y" * 60_000)]
    await _trouble(driver, drafts, "odd-task-id", control)


@older_scenario("jsonrpc.ill-formed")
async def ill_formed(driver: OlderDriver) -> None:
    """Bodies that are no JSON-RPC request (``ill-formed``)."""
    control = await driver.list_tools()
    await _trouble(driver, _ill_formed(driver), "ill-formed", control)


async def _trouble(
    driver: OlderDriver, drafts: Iterable[Draft], intent: str, control: Exchange
) -> None:
    """Send what may make a server stumble, each on a connection of its own. What got no answer
    is sent once more, with ``again`` in its notes, after an ordinary request has shown the
    server to be there."""
    places = anyio.CapacityLimiter(4)

    async def one(draft: Draft) -> None:
        async with places:
            first = await driver.send(
                draft, intent, control=control, connection=FRESH, seconds=_SECONDS
            )
            if first.fault is None:
                return
            await driver.list_tools()
            if isinstance(draft.message, dict) and type(draft.message.get("id")) is int:
                draft = draft.with_member("id", next(driver.session.request_ids))
            await driver.send(
                draft,
                intent,
                control=control,
                connection=FRESH,
                seconds=_SECONDS,
                notes={"again": first.number},
            )

    async with anyio.create_task_group() as group:
        for draft in drafts:
            group.start_soon(one, draft)


def _ill_formed(driver: OlderDriver) -> Iterator[Draft]:
    draft = driver.draft(TOOLS_LIST, {})
    raw = [b"", draft.body[: len(draft.body) // 2], b"\xff\xfe\x00{", b"[" * 20_000]
    raw += [b"5", b'"tools/list"', b"null", b"{}", b"[]"]
    yield from (driver.draft(TOOLS_LIST, {}).with_raw_body(body) for body in raw)
    batch = dump_json([driver.draft(PING).message, driver.draft(TOOLS_LIST, {}).message])
    yield driver.draft(TOOLS_LIST, {}).with_raw_body(batch.encode())
    ids: tuple[object, ...] = (None, 1.5, True, [], {})
    yield from (driver.draft(TOOLS_LIST, {}).with_member("id", value) for value in ids)
    params: tuple[object, ...] = ([], "text", 5)
    yield from (driver.draft(TOOLS_LIST, {}).with_member("params", value) for value in params)
    yield driver.draft(TOOLS_LIST, {}).with_member("method", 5)
    yield driver.draft(TOOLS_LIST, {}).with_member("method", "")
    yield driver.draft(TOOLS_LIST, {}).without_member("method")
    yield driver.draft(TOOLS_LIST, {}).without_member("jsonrpc")
    yield driver.draft(TOOLS_LIST, {}).with_member("jsonrpc", "1.0")


@older_scenario("jsonrpc.unknown-methods")
async def unknown_methods(driver: OlderDriver) -> None:
    """A request that nobody knows (``unknown-method``), and a notification that nobody knows."""
    draft = driver.draft("tasks/conformance-unknown", {})
    await driver.send(draft, "unknown-method", seconds=_SECONDS)
    for method, params in (
        ("notifications/conformance", {}),
        ("notifications/cancelled", {"requestId": str(uuid.uuid4()), "reason": "not needed"}),
    ):
        notification = driver.notification_draft(method, params)
        await driver.send(notification, "notification", seconds=_SECONDS)


@older_scenario("jsonrpc.tasks", needs=(TASK,), also=("creation", "results"))
async def tasks(driver: OlderDriver) -> None:
    """A task is made and followed by requests whose ids are texts."""
    tool = driver.plain_task_tool()
    if tool is None:
        return

    def named(draft: Draft) -> Draft:
        return draft.with_member("id", f"text-{next(driver.session.request_ids)}")

    call = named(driver.call_draft(tool, task={"ttl": driver.asked_ttl}))
    created = driver.created(tool, await driver.send(call))
    if created is not None:
        await driver.wait_for_end(created.task_id)
        await driver.send(named(driver.get_draft(created.task_id)))
        await driver.send(named(driver.result_draft(created.task_id)))
