"""What the rules of 2025-11-25 ask of a history: its handshakes and sessions, the tasks that its
messages show, results fetched by ``tasks/result``, walks through ``tasks/list``, and what a server
asked of its client on its streams.

Sessions are told apart by the note ``session`` that the driver leaves on each exchange, or else by
the ``Mcp-Session-Id`` that was sent.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.judge.expectations import unanswered
from conformance.judge.lives import Life, lives, may_have_expired
from conformance.judge.requests import of_this_revision
from conformance.specification.names import (
    HEADER_SESSION,
    HEADER_VERSION,
    INITIALIZE,
    META_RELATED_TASK,
    STATUS_NOTIFICATION,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TASKS_RESULT,
    TOOLS_CALL,
    TOOLS_LIST,
)
from conformance.specification.revisions import revision_named
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History

REQUIRED, OPTIONAL, FORBIDDEN = "required", "optional", "forbidden"


def wanted_version(history: History) -> str:
    return revision_named(history.circumstances.spec).protocol_version


def ours(exchange: Exchange, history: History) -> bool:
    """Whether an exchange, also one without a JSON-RPC request, was sent under this revision."""
    if exchange.is_request:
        return of_this_revision(exchange, history)
    return exchange.request_header(HEADER_VERSION) == wanted_version(history)


def requests_of(history: History, *methods: str) -> list[Exchange]:
    """Requests of these methods that were sent under this revision."""
    return [e for e in history.of_method(*methods) if of_this_revision(e, history)]


# ---- sessions -----------------------------------------------------------------------------


def session_of(exchange: Exchange) -> str:
    """The name of the session that an exchange belongs to; empty where there is none."""
    name = exchange.notes.get("session")
    return name if isinstance(name, str) else exchange.request_header(HEADER_SESSION) or ""


def handshakes(history: History) -> list[Exchange]:
    """Every ``initialize`` that asked for this revision and was answered with a result."""
    return history.derive(_handshakes)


def _handshakes(history: History) -> list[Exchange]:
    version = wanted_version(history)
    return [
        exchange
        for exchange in history.of_method(INITIALIZE)
        if exchange.result is not None and exchange.params.get("protocolVersion") == version
    ]


def handshake_of(history: History, exchange: Exchange) -> Exchange | None:
    """The handshake that opened the session of an exchange, where it is known."""
    return history.derive(_by_session).get(session_of(exchange))


def _by_session(history: History) -> dict[str, Exchange]:
    found: dict[str, Exchange] = {}
    for handshake in handshakes(history):
        noted = handshake.notes.get("session")
        given = handshake.response_header(HEADER_SESSION)
        for name in (noted, given):
            if isinstance(name, str):
                found.setdefault(name, handshake)
    return found


def server_capabilities(handshake: Exchange) -> JsonObject:
    """The capabilities that a server declared in a handshake."""
    capabilities = (handshake.result or {}).get("capabilities")
    return capabilities if isinstance(capabilities, dict) else {}


def client_capabilities(history: History, exchange: Exchange) -> JsonObject | None:
    """What the client declared in the session of an exchange; ``None`` where it is not known."""
    handshake = handshake_of(history, exchange)
    if handshake is None:
        return None
    capabilities = handshake.params.get("capabilities")
    return capabilities if isinstance(capabilities, dict) else {}


def declares(handshake: Exchange, *path: str) -> bool:
    """Whether a server declared ``tasks`` and, beneath it, the members of this path."""
    value: Any = server_capabilities(handshake)
    for name in ("tasks", *path):
        value = value.get(name) if isinstance(value, Mapping) else None
    # An object, as the schema has it; what else stands there, negotiation.settings-object tells.
    return value is not None and value is not False


def offered(history: History, *path: str) -> Exchange | None:
    """A handshake in which the server declared ``tasks`` with the members of this path."""
    return next((h for h in handshakes(history) if declares(h, *path)), None)


def not_declared(history: History, *path: str) -> Exchange | None:
    """A handshake, where none of them declared this: the server does not offer it."""
    known = handshakes(history)
    return known[0] if known and offered(history, *path) is None else None


TOOLS = ("requests", "tools", "call")


def augments_calls(history: History, exchange: Exchange) -> bool | None:
    """Whether the server declared, in the session of a call, that calls may become tasks;
    ``None`` where no handshake is known."""
    handshake = handshake_of(history, exchange)
    if handshake is None:
        known = handshakes(history)
        handshake = known[0] if known else None
    return None if handshake is None else declares(handshake, *TOOLS)


def is_authorized(exchange: Exchange) -> bool:
    """Whether the request said who sent it."""
    return exchange.request_header("Authorization") is not None


# ---- tools --------------------------------------------------------------------------------


def tool_support(history: History) -> dict[str, str]:
    """``execution.taskSupport`` of each listed tool, ``forbidden`` where it says nothing. Tools
    that are listed differently at different times, or oddly, are left out."""
    return history.derive(_tool_support)


def _tool_support(history: History) -> dict[str, str]:
    told: dict[str, set[str]] = {}
    for exchange in requests_of(history, TOOLS_LIST):
        tools = (exchange.result or {}).get("tools")
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                told.setdefault(tool["name"], set()).add(_support_of(tool))
    known = (REQUIRED, OPTIONAL, FORBIDDEN)
    return {
        name: next(iter(values))
        for name, values in told.items()
        if len(values) == 1 and next(iter(values)) in known
    }


def _support_of(tool: JsonObject) -> str:
    execution = tool.get("execution")
    support = execution.get("taskSupport") if isinstance(execution, dict) else None
    return FORBIDDEN if support is None else str(support)


# ---- tasks that messages show -------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """A task as one message shows it. ``how`` is ``handle``, ``get``, ``cancel``, ``list`` or
    ``notification``; ``pointer`` is its place in the message."""

    how: str
    exchange: Exchange
    pointer: str
    task: JsonObject


def tasks_in_messages(history: History) -> list[Shown]:
    """Every task that a message of this revision shows, however badly."""
    return history.derive(_tasks_in_messages)


def _tasks_in_messages(history: History) -> list[Shown]:
    found: list[Shown] = []
    for exchange in history.exchanges:
        if not ours(exchange, history):
            continue
        result = exchange.result
        if exchange.handle is not None:
            found.append(Shown("handle", exchange, "/result/task", exchange.handle))
        elif result is not None and exchange.method in (TASKS_GET, TASKS_CANCEL):
            if "taskId" in result or "status" in result:
                how = "get" if exchange.method == TASKS_GET else "cancel"
                found.append(Shown(how, exchange, "/result", result))
        elif result is not None and exchange.method == TASKS_LIST:
            for place, task in enumerate(tasks_on(exchange)):
                found.append(Shown("list", exchange, f"/result/tasks/{place}", task))
        for _, params in statuses_told(exchange):
            found.append(Shown("notification", exchange, "/params", params))
    return found


def statuses_told(exchange: Exchange) -> list[tuple[float, JsonObject]]:
    """The tasks that status notifications of one stream showed, each with its time."""
    return [
        (at, message["params"])
        for at, message in exchange.notifications
        if message.get("method") == STATUS_NOTIFICATION and isinstance(message.get("params"), dict)
    ]


def related_task(message: Mapping[str, Any]) -> Any:
    """The ``taskId`` of the related-task member of the ``_meta`` of a result or of params;
    ``None`` where there is no such member."""
    meta = message.get("_meta")
    related = meta.get(META_RELATED_TASK) if isinstance(meta, Mapping) else None
    return related.get("taskId") if isinstance(related, Mapping) else None


def has_related_task(message: Mapping[str, Any]) -> bool:
    meta = message.get("_meta")
    return isinstance(meta, Mapping) and META_RELATED_TASK in meta


# ---- results ------------------------------------------------------------------------------


def fetched(history: History, life: Life) -> list[Exchange]:
    """Every ``tasks/result`` for a task that its own caller sent, in order."""
    return [
        e
        for e in history.derive(_fetched).get(life.task_id, ())
        if e.caller == life.caller and e.intent not in NOT_FETCHED_PLAINLY
    ]


# Sent in a way that may rightly be refused, or from another session.
RELATED_TASK_DIFFERS = "related-task-differs"
NOT_FETCHED_PLAINLY = (
    "foreign",
    "after-ttl",
    "without-session",
    "ended-session",
    RELATED_TASK_DIFFERS,
)


def _fetched(history: History) -> dict[str, list[Exchange]]:
    found: dict[str, list[Exchange]] = {}
    for exchange in requests_of(history, TASKS_RESULT):
        if exchange.task_id is not None:
            found.setdefault(exchange.task_id, []).append(exchange)
    return found


def ended_before(life: Life, moment: float) -> bool:
    """Whether the task had been seen to have ended by that moment."""
    return any(s.terminal and s.ended <= moment for s in life.sightings)


def may_be_deleted(life: Life, at: float) -> bool:
    """Whether a server might have deleted a task by then: its time may be over, or somebody had
    asked to cancel it."""
    return may_have_expired(life, at) or any(cancel.started < at for cancel in life.cancels)


def is_answered(exchange: Exchange) -> bool:
    """Whether a result or an error came that is about what was asked."""
    return not unanswered(exchange) and (exchange.result is not None or exchange.error is not None)


# ---- lists --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    """The pages of one walk through ``tasks/list``, in order. ``whole`` tells whether it began
    without a cursor, followed each nextCursor, and came to a page that names none."""

    pages: tuple[Exchange, ...]
    whole: bool

    @property
    def task_ids(self) -> frozenset[str]:
        return frozenset(
            task["taskId"]
            for page in self.pages
            for task in tasks_on(page)
            if isinstance(task.get("taskId"), str)
        )


def tasks_on(page: Exchange) -> list[JsonObject]:
    """The tasks of one page of ``tasks/list``."""
    tasks = (page.result or {}).get("tasks")
    return [t for t in tasks if isinstance(t, dict)] if isinstance(tasks, list) else []


def walks(history: History) -> list[Walk]:
    """Every walk through ``tasks/list``: the pages that share the note ``walk``, or, without
    one, that follow each other's cursors in the same session."""
    return history.derive(_walks)


def _walks(history: History) -> list[Walk]:
    groups: dict[object, list[Exchange]] = {}
    for page in requests_of(history, TASKS_LIST):
        if page.intent not in _NO_WALK:
            name = page.notes.get("walk")
            key = (page.scenario, page.caller, session_of(page), name)
            groups.setdefault(key if name is not None else page.key, []).append(page)
    return [Walk(tuple(pages), _is_whole(pages)) for pages in groups.values()]


_NO_WALK = ("bad-cursor", "without-session", "ended-session", "version-header-unknown")


def _is_whole(pages: list[Exchange]) -> bool:
    cursor: Any = None
    for page in pages:
        if page.params.get("cursor") != cursor or page.result is None:
            return False
        cursor = page.result.get("nextCursor")
    return cursor is None


# ---- what the server asks of its client ----------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A request of the server, on the stream of an exchange, with the time it came."""

    exchange: Exchange
    at: float
    message: JsonObject

    @property
    def params(self) -> JsonObject:
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def task_id(self) -> Any:
        return related_task(self.params)


def asked(history: History) -> list[Asked]:
    """Every request that the server sent on a stream, in the order they came."""
    return history.derive(_asked)


def _asked(history: History) -> list[Asked]:
    found = [
        Asked(exchange, at, message)
        for exchange in history.exchanges
        if ours(exchange, history)
        for at, message in exchange.timed_messages
        if isinstance(message.get("method"), str) and "id" in message
    ]
    return sorted(found, key=lambda each: each.at)


def answers(history: History) -> list[Exchange]:
    """Every JSON-RPC response that the client posted."""
    return [
        e
        for e in history.exchanges
        if e.sent.http_method == "POST"
        and e.method is None
        and ("result" in e.request or "error" in e.request)
        and ours(e, history)
    ]


def answer_to(history: History, question: Asked) -> Exchange | None:
    """What the client posted in answer to a request of the server, where it did."""
    return next(
        (
            e
            for e in answers(history)
            if e.started >= question.at
            and e.request.get("id") == question.message.get("id")
            and session_of(e) == session_of(question.exchange)
            and e.caller == question.exchange.caller
        ),
        None,
    )


def questions_of(history: History, life: Life) -> list[Asked]:
    """The requests of the server that say they belong to a task, or that came on the stream of
    its ``tasks/result`` and say nothing of another."""
    return [
        each
        for each in asked(history)
        if each.task_id == life.task_id
        or (
            each.task_id is None
            and each.exchange.method == TASKS_RESULT
            and each.exchange.task_id == life.task_id
        )
    ]


# ---- streams --------------------------------------------------------------------------------


def event_ids(exchange: Exchange) -> list[str]:
    """The ``id`` of each event of a stream that has one, in order."""
    if exchange.seen is None or not exchange.is_stream:
        return []
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    text = decoder.decode(exchange.seen.body).replace("\r\n", "\n").replace("\r", "\n")
    found: list[str] = []
    for block in text.split("\n\n"):
        ids = [line[3:].removeprefix(" ") for line in block.split("\n") if line.startswith("id:")]
        # The last one counts; one with a NUL is to be ignored, and an empty one is none.
        if ids and ids[-1] and "\0" not in ids[-1]:
            found.append(ids[-1])
    return found


def calls_as_tasks(history: History) -> list[Exchange]:
    """Every ``tools/call`` with the ``task`` parameter."""
    return [e for e in requests_of(history, TOOLS_CALL) if "task" in e.params]


def life_of(history: History, exchange: Exchange) -> Life | None:
    """The task that a request asks for, where a handle of this history introduced it."""
    return lives(history).get(exchange.task_id or "")
