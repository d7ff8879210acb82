"""Headers that say something other than the body, HTTP statuses, and what older revisions had."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio

from conformance.drive.answers import answers_to
from conformance.drive.controls import accepted_request
from conformance.drive.draft import CLIENT_INFO, UNDECLARED, Draft
from conformance.drive.driver import Created, Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import (
    DISCOVER,
    HEADER_METHOD,
    HEADER_NAME,
    HEADER_SESSION,
    HEADER_VERSION,
    META_CLIENT_CAPABILITIES,
    META_PROTOCOL_VERSION,
    TASKS_CANCEL,
    TOOLS_LIST,
)
from conformance.target.roles import BEFORE, INPUT, SLOW, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.headers import encoded, header_value

# No server implements the one; many implement the other.
UNKNOWN_VERSION = "2099-01-01"
OLDER_VERSION = "2025-11-25"
# Nothing here takes long: who has not answered by then does not answer.
_SECONDS = 5.0

Probe = tuple[Draft, str]
# How a read of a task is changed, given its id.
Edit = Callable[[Draft, str], Draft]


async def _send_all(driver: Driver, control: Exchange, probes: Sequence[Probe]) -> None:
    """Send the probes at the same time. What they open by mistake is closed again."""

    async def one(draft: Draft, intent: str) -> None:
        sent = await driver.send(draft, intent, control=control, seconds=_SECONDS)
        await _end_session(driver, sent)

    async with anyio.create_task_group() as group:
        for draft, intent in probes:
            group.start_soon(one, draft, intent)


async def _end_session(driver: Driver, opening: Exchange) -> None:
    """End the session of an older revision that an answer opened, if it did (``end-session``)."""
    session = opening.response_header(HEADER_SESSION)
    if session is not None:
        ending = _bodiless("DELETE", OLDER_VERSION).with_header(HEADER_SESSION, session)
        await driver.send(ending, "end-session", seconds=_SECONDS)


def respelled(draft: Draft, spell: Callable[[str], str]) -> Draft:
    """The same headers, the names of the protocol's own spelled differently."""
    return replace(
        draft,
        headers=tuple(
            (spell(name) if name.lower().startswith("mcp-") else name, value)
            for name, value in draft.headers
        ),
    )


def _mixed_case(name: str) -> str:
    return "".join(c.upper() if i % 2 else c.lower() for i, c in enumerate(name))


@scenario("transport.headers")
async def headers(driver: Driver) -> None:
    """An accepted request again, each time with one header that differs from the body.

    ``mcp-method-differs`` names another method, ``mcp-method-other-case`` the same in capitals,
    ``mcp-method-missing`` none. ``version-header-unknown`` and ``version-header-older`` have
    another version in the header, ``version-body-differs`` in the body. ``header-names`` has
    correct headers, their names in lower, upper and mixed case.
    """
    control = await accepted_request(driver)
    method = str(control.method)
    other = TOOLS_LIST if method == DISCOVER else DISCOVER

    def draft() -> Draft:
        return driver.draft(method)

    await _send_all(
        driver,
        control,
        [
            (draft().with_header(HEADER_METHOD, other), "mcp-method-differs"),
            (draft().with_header(HEADER_METHOD, method.upper()), "mcp-method-other-case"),
            (draft().without_header(HEADER_METHOD), "mcp-method-missing"),
            (draft().with_header(HEADER_VERSION, UNKNOWN_VERSION), "version-header-unknown"),
            (draft().with_header(HEADER_VERSION, OLDER_VERSION), "version-header-older"),
            (draft().with_meta(META_PROTOCOL_VERSION, UNKNOWN_VERSION), "version-body-differs"),
            (respelled(draft(), str.lower), "header-names"),
            (respelled(draft(), str.upper), "header-names"),
            (respelled(draft(), _mixed_case), "header-names"),
        ],
    )


@scenario("transport.versions")
async def versions(driver: Driver) -> None:
    """Header and body agree on a version that does not exist (``version-unknown``)."""
    for control in (await driver.discover(), await driver.list_tools()):
        draft = driver.draft(str(control.method)).with_header(HEADER_VERSION, UNKNOWN_VERSION)
        await driver.send(
            draft.with_meta(META_PROTOCOL_VERSION, UNKNOWN_VERSION),
            "version-unknown",
            control=control,
            seconds=_SECONDS,
        )


@scenario("transport.meta")
async def meta(driver: Driver) -> None:
    """Accepted requests again, without a field that every request must have.

    ``without-client-capabilities`` and ``without-protocol-version`` lack one member of
    ``_meta``, ``without-meta`` lacks all of it, or all of ``params``.
    """
    control = await accepted_request(driver)

    def draft() -> Draft:
        return driver.draft(str(control.method))

    await _send_all(
        driver,
        control,
        [
            (draft().without_meta(META_CLIENT_CAPABILITIES), "without-client-capabilities"),
            (draft().without_meta(META_PROTOCOL_VERSION), "without-protocol-version"),
            (draft().without_param("_meta"), "without-meta"),
            (draft().without_member("params"), "without-meta"),
        ],
    )
    listed = await driver.list_tools()
    bare = driver.draft(TOOLS_LIST).without_meta(META_CLIENT_CAPABILITIES)
    await driver.send(bare, "without-client-capabilities", control=listed, seconds=_SECONDS)


@scenario("transport.statuses")
async def statuses(driver: Driver) -> None:
    """A method that does not exist (``unknown-method``), and a task method for a client that
    does not declare the extension (``undeclared-status``)."""
    control = await accepted_request(driver)
    for seconds in (_SECONDS - 1, 2 * _SECONDS):
        # One that is never answered is asked again, lest it was only slow.
        unknown = driver.draft("conformance/no-such-method")
        sent = await driver.send(unknown, "unknown-method", control=control, seconds=seconds)
        if sent.fault is None:
            break
    undeclared = driver.get_draft(str(uuid.uuid4()), capabilities=UNDECLARED)
    await driver.send(undeclared, "undeclared-status", seconds=_SECONDS)


@scenario("transport.older-revisions")
async def older_revisions(driver: Driver) -> None:
    """What clients of older revisions send: GET (``http-get``), DELETE (``http-delete``), a
    session (``session-sent``), and the handshake (``initialize``), which tells whether an
    older revision is served here too."""
    await _end_session(
        driver, await driver.send(_handshake(driver), "initialize", seconds=_SECONDS)
    )
    version = driver.session.revision.protocol_version
    # A server that opens a stream here never ends it: its head is all that is needed.
    await driver.send(_bodiless("GET", version), "http-get", hang_up_after=_SECONDS / 2)
    await driver.send(_bodiless("DELETE", version), "http-delete", seconds=_SECONDS)
    control = await accepted_request(driver)
    draft = driver.draft(str(control.method)).with_header(HEADER_SESSION, "conformance-no-session")
    await driver.send(draft, "session-sent", control=control, seconds=_SECONDS)


def _handshake(driver: Driver) -> Draft:
    parameters = {
        "protocolVersion": OLDER_VERSION,
        "capabilities": {},
        "clientInfo": CLIENT_INFO,
    }
    draft = driver.draft("initialize", parameters).without_param("_meta")
    return draft.without_header(HEADER_VERSION).without_header(HEADER_METHOD)


def _bodiless(http_method: str, version: str) -> Draft:
    accept = ("Accept", "application/json, text/event-stream")
    return Draft(b"", (accept, (HEADER_VERSION, version)), http_method)


@scenario("transport.foreign-origin")
async def foreign_origin(driver: Driver) -> None:
    """An accepted request again, as a web page from elsewhere would send it: from another
    site, and from one whose name begins like that of this machine (``foreign-origin``)."""
    if not (driver.target.loopback or driver.target.judge_origin):
        return
    control = await accepted_request(driver)
    for origin in ("http://foreign.example", "http://localhost.foreign.example"):
        draft = driver.draft(str(control.method)).with_header("Origin", origin)
        await driver.send(draft, "foreign-origin", control=control, seconds=_SECONDS)


@scenario("transport.task-reads", needs=(TASK,), also=("jsonrpc",))
async def task_reads(driver: Driver) -> None:
    """Tasks are read with headers that differ in one thing, a few tasks in parallel so that
    each is read at its pace.

    Of ``Mcp-Name``: ``mcp-name-differs`` carries another task's id, or the same in other case;
    ``mcp-name-missing`` nothing; ``mcp-name-encoded`` the Base64 form of the id;
    ``mcp-name-encoded-differs`` that of another task's, ``mcp-name-encoded-empty`` that of the
    empty text, ``mcp-name-encoded-broken`` no Base64. ``mcp-method-differs`` names another
    method; ``header-names`` spells names in other case. ``unknown-members`` has a member
    in ``params`` that nobody knows.
    """
    tool = driver.plain_task_tool()
    created = await _several(driver, tool, 5)
    if len(created) < 2:
        return
    ids = list(dict.fromkeys(task.task_id for task in created))
    if len(ids) < 2:
        return

    def other(task_id: str) -> str:
        return ids[ids.index(task_id) - 1]

    def other_case(task_id: str) -> str:
        swapped = task_id.swapcase()
        return header_value(swapped if swapped != task_id else other(task_id))

    named = _name_header
    plans: list[list[tuple[Edit, str]]] = [
        [
            (named(lambda task_id: header_value(other(task_id))), "mcp-name-differs"),
            (lambda draft, _: draft.without_header(HEADER_NAME), "mcp-name-missing"),
        ],
        [
            (named(encoded), "mcp-name-encoded"),
            (named(lambda task_id: encoded(other(task_id))), "mcp-name-encoded-differs"),
        ],
        [
            (named(lambda _: encoded("")), "mcp-name-encoded-empty"),
            (named(lambda _: "=?base64?%%%?="), "mcp-name-encoded-broken"),
        ],
        [
            (named(other_case), "mcp-name-differs"),
            (lambda draft, _: draft.with_header(HEADER_METHOD, TASKS_CANCEL), "mcp-method-differs"),
        ],
        [
            (lambda draft, _: respelled(draft, str.upper), "header-names"),
            (lambda draft, _: draft.with_param("conformanceUnknown", [1]), "unknown-members"),
        ],
    ]

    async def read(task_id: str, plan: list[tuple[Edit, str]]) -> None:
        control = await driver.get(task_id)
        for edit, intent in plan:
            await driver.pace(task_id)
            await driver.send(edit(driver.get_draft(task_id), task_id), intent, control=control)
        if control.error is not None:
            await driver.get(task_id)  # is it the task that is refused, or the header?

    async with anyio.create_task_group() as group:
        for task, plan in zip(created, plans, strict=False):
            group.start_soon(read, task.task_id, plan)


def _name_header(value: Callable[[str], str]) -> Edit:
    return lambda draft, task_id: draft.with_header(HEADER_NAME, value(task_id))


@scenario("transport.task-cancels", needs=(TASK,))
async def task_cancels(driver: Driver) -> None:
    """One task is cancelled as it should be; others with the first one's id in ``Mcp-Name``
    (``mcp-name-differs``) and with none (``mcp-name-missing``). The one whose cancellation
    must be refused is followed to its end."""
    tool = driver.tool(SLOW, avoiding=(INPUT, BEFORE)) or driver.plain_task_tool()
    first = await driver.create(tool) if tool is not None else None
    if tool is None or first is None:
        return
    control = await driver.cancel(first.task_id)
    # Each is made at the last moment, so that it is still at work.
    second = await driver.create(tool)
    if second is not None:
        name = header_value(first.task_id)
        draft = driver.cancel_draft(second.task_id).with_header(HEADER_NAME, name)
        await driver.send(draft, "mcp-name-differs", control=control)
    third = await driver.create(tool)
    if third is not None:
        draft = driver.cancel_draft(third.task_id).without_header(HEADER_NAME)
        await driver.send(draft, "mcp-name-missing", control=control)
    if second is not None:
        await driver.wait_for_end(second.task_id, limit=min(driver.target.max_wait, 6.0))


@scenario("transport.task-updates", needs=(TASK,))
async def task_updates(driver: Driver) -> None:
    """The same for ``tasks/update``. Where there is a tool that asks, real answers are sent,
    and the task that must not have got them is read before it gets them properly."""
    tool = driver.tool(TASK, INPUT, avoiding=(BEFORE,))
    if tool is not None:
        await _updates_of_asking(driver, tool)
        return
    tool = driver.tool(SLOW, avoiding=(BEFORE,)) or driver.plain_task_tool()
    created = await _several(driver, tool, 2)
    if len(created) == 2:
        first, second = (task.task_id for task in created)
        unknown = {"conformance-unknown-key": {"action": "accept", "content": {}}}
        await _updates(driver, first, unknown, second, unknown)


async def _updates_of_asking(driver: Driver, tool: ToolUse) -> None:
    created = await _several(driver, tool, 2)
    asked: list[Exchange] = []

    async def wait(task: Created) -> None:
        seen = await driver.wait_for_input(task.task_id)
        if seen is not None:
            asked.append(seen)

    async with anyio.create_task_group() as group:
        for task in created:
            group.start_soon(wait, task)
    if len(asked) < 2:
        return
    (first, first_answers), (second, second_answers) = (
        (str(seen.task_id), answers_to((seen.task or {}).get("inputRequests"))) for seen in asked
    )
    await _updates(driver, first, first_answers, second, second_answers)


async def _updates(
    driver: Driver, first: str, first_answers: object, second: str, second_answers: object
) -> None:
    control = await driver.update(first, first_answers)
    draft = driver.update_draft(second, second_answers)
    draft = draft.with_header(HEADER_NAME, header_value(first))
    await driver.send(draft, "mcp-name-differs", control=control)
    await driver.get(second)
    draft = driver.update_draft(second, second_answers).without_header(HEADER_NAME)
    await driver.send(draft, "mcp-name-missing", control=control)
    await driver.update(second, second_answers)


async def _several(driver: Driver, tool: ToolUse | None, count: int) -> list[Created]:
    """So many tasks of one tool, made at the same time; fewer where not every call made one."""
    created: list[Created] = []

    async def one(tool: ToolUse) -> None:
        task = await driver.create(tool)
        if task is not None:
            created.append(task)

    if tool is not None:
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(one, tool)
    return created
