"""Messages that are unusual, ill-formed, or want no answer."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator

import anyio

from conformance.drive.controls import accepted_request
from conformance.drive.draft import Draft
from conformance.drive.driver import Driver
from conformance.drive.scenario import scenario
from conformance.specification.names import (
    DISCOVER,
    HEADER_NAME,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_UPDATE,
    TOOLS_LIST,
)
from conformance.wire.client import FRESH
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.parsing import dump_json

# Nothing here takes long: who has not answered by then does not answer.
_SECONDS = 5.0


@scenario("jsonrpc.request-ids", also=("transport",))
async def request_ids(driver: Driver) -> None:
    """An accepted request again, under ids of all the shapes an id may have (``id-shape``)."""
    control = await accepted_request(driver)
    shapes: list[object] = [0, -1, 9_007_199_254_740_991, "1", "", "words and spaces", "ключ-鍵"]

    async def one(shape: object) -> None:
        draft = driver.draft(str(control.method), request_id=shape)
        await driver.send(draft, "id-shape", control=control, seconds=_SECONDS)

    async with anyio.create_task_group() as group:
        for shape in shapes:
            group.start_soon(one, shape)


@scenario("jsonrpc.unknown-members")
async def unknown_members(driver: Driver) -> None:
    """Accepted requests again, with a member that nobody knows in ``params`` or in ``_meta``
    (``unknown-members``)."""
    for control in (await driver.discover(), await driver.list_tools()):
        draft = driver.draft(str(control.method))
        for edited in (
            draft.with_param("conformanceUnknown", {"any": ["thing"]}),
            draft.with_meta("com.example/conformance", {"any": ["thing"]}),
        ):
            # Each goes out alone: they may share their id.
            await driver.send(edited, "unknown-members", control=control, seconds=_SECONDS)


@scenario("jsonrpc.task-ids")
async def task_ids(driver: Driver) -> None:
    """The three methods with no ``taskId`` (``task-id-missing``) or one that is not a text
    (``task-id-ill-typed``). ``Mcp-Name`` has nothing to carry, so it is left out."""
    for method in (TASKS_GET, TASKS_UPDATE, TASKS_CANCEL):
        more: JsonObject = {"inputResponses": {}} if method == TASKS_UPDATE else {}
        await driver.send(driver.draft(method, more), "task-id-missing", seconds=_SECONDS)
        # An empty list and an empty object are false in some languages, and true in others.
        ill_typed: tuple[object, ...] = (None, 5, True, [], {})
        for value in ill_typed if method == TASKS_GET else ill_typed[:2]:
            draft = driver.draft(method, {"taskId": value, **more})
            await driver.send(draft, "task-id-ill-typed", seconds=_SECONDS)


@scenario("jsonrpc.odd-task-ids")
async def odd_task_ids(driver: Driver) -> None:
    """Ids that no server ever gave out, and that make careless ones stumble (``odd-task-id``).
    They differ from an ordinary unknown id (``plain-task-id``). ``Mcp-Name`` carries them as it
    should, in Base64 where they need it; the two that no header can carry well go without."""
    control = await driver.send(driver.get_draft(str(uuid.uuid4())), "plain-task-id")
    ids = ["../../../etc/passwd", "__proto__", "constructor", " ", "任务-tâche-🗂", "a\x00b\n"]
    drafts = [driver.get_draft(task_id) for task_id in (*ids, "x" * 2_000)]
    for task_id in ("", "y" * 60_000):
        drafts.append(driver.get_draft(task_id).without_header(HEADER_NAME))
    await _trouble(driver, drafts, "odd-task-id", control)


@scenario("jsonrpc.ill-formed")
async def ill_formed(driver: Driver) -> None:
    """Bodies that are no JSON-RPC request (``ill-formed``)."""
    control = await accepted_request(driver)
    await _trouble(driver, _ill_formed(driver, str(control.method)), "ill-formed", control)


async def _trouble(driver: Driver, drafts: Iterable[Draft], intent: str, control: Exchange) -> None:
    """Send what may make a server stumble, each on a connection of its own, so that one that
    is dropped takes nothing else with it. What got no answer is sent once more, with
    ``again`` in its notes, after an ordinary request has shown the server to be there."""
    places = anyio.CapacityLimiter(4)

    async def one(draft: Draft) -> None:
        async with places:
            first = await driver.send(
                draft, intent, control=control, connection=FRESH, seconds=_SECONDS
            )
            if first.fault is None:
                return
            await accepted_request(driver)
            await driver.send(
                _with_new_id(driver, draft),
                intent,
                control=control,
                connection=FRESH,
                seconds=_SECONDS,
                notes={"again": first.number},
            )

    async with anyio.create_task_group() as group:
        for draft in drafts:
            group.start_soon(one, draft)


def _with_new_id(driver: Driver, draft: Draft) -> Draft:
    """The same, under an id that is not still waiting for its answer."""
    if isinstance(draft.message, dict) and type(draft.message.get("id")) is int:
        return draft.with_member("id", next(driver.session.request_ids))
    return draft


def _ill_formed(driver: Driver, method: str) -> Iterator[Draft]:
    draft = driver.draft(method)
    raw = [b"", draft.body[: len(draft.body) // 2], b"\xff\xfe\x00{", b"[" * 20_000]
    raw += [b"5", b'"tools/list"', b"null", b"{}", b"[]"]
    yield from (driver.draft(method).with_raw_body(body) for body in raw)
    batch = dump_json([driver.draft(DISCOVER).message, driver.draft(TOOLS_LIST).message])
    yield driver.draft(method).with_raw_body(batch.encode())
    ids: tuple[object, ...] = (None, 1.5, True, [], {})
    yield from (driver.draft(method).with_member("id", value) for value in ids)
    params: tuple[object, ...] = ([], "text", 5)
    yield from (driver.draft(method).with_member("params", value) for value in params)
    yield driver.draft(method).with_member("method", 5)
    yield driver.draft(method).with_member("method", "")
    yield driver.draft(method).without_member("method")
    yield driver.draft(method).without_member("jsonrpc")
    yield driver.draft(method).with_member("jsonrpc", "1.0")


@scenario("jsonrpc.notifications")
async def notifications(driver: Driver) -> None:
    """Messages without an id: notifications, and methods that otherwise answer
    (``without-id``)."""
    unknown = str(uuid.uuid4())
    drafts = (
        driver.draft("notifications/conformance"),
        driver.draft("notifications/cancelled", {"requestId": unknown, "reason": "not needed"}),
        driver.draft(DISCOVER),
        driver.get_draft(unknown),
    )
    for draft in drafts:
        await driver.send(draft.without_member("id"), "without-id", seconds=_SECONDS)
