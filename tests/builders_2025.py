"""Histories of 2025-11-25 written by hand, for tests of its rules.

``exchange("tasks/get", {"taskId": "t"}, result=task("t"))`` is what a careful client sends in its
session and a good server answers; each argument makes one thing different. ``session`` names the
session, whose id is sent as well; ``None`` is a request without one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.drive.draft import Draft
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Verdict, judge, verdict_of
from conformance.specification.names import (
    HEADER_METHOD,
    HEADER_NAME,
    HEADER_SESSION,
    HEADER_VERSION,
    META_RELATED_TASK,
)
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History
from conformance.wire.sse import Event
from tests import builders

VERSION = "2025-11-25"
ONE = "one"

RESULT: JsonObject = {"content": [{"type": "text", "text": "done"}]}
TOOL_ERROR: JsonObject = {"content": [{"type": "text", "text": "no disk"}], "isError": True}
CAPABILITIES: JsonObject = {
    "tools": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}
CLIENT: JsonObject = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
SERVER_INFO = {"name": "server", "version": "1"}
FORM: JsonObject = {
    "message": "Go on?",
    "requestedSchema": {"type": "object", "properties": {"go": {"type": "boolean"}}},
}


def session_id(session: str) -> str:
    """The ``Mcp-Session-Id`` of a session: different enough for ids of different sessions."""
    return f"{session}-4b1c0e0a7d2f4f6c"


def exchange(
    method: str | None = "tasks/get",
    params: Mapping[str, Any] | None = None,
    *,
    session: str | None = ONE,
    message: object = None,
    http_method: str = "POST",
    request_headers: Mapping[str, str] | None = None,
    version: str | None = VERSION,
    http_status: int | None = None,
    **more: Any,
) -> Exchange:
    """One exchange; ``more`` are arguments of ``tests.builders.exchange``.

    ``message`` replaces the whole message that was sent: a response or a notification of the
    client. Errors come with HTTP 200, unless ``status`` says otherwise.
    """
    if more.get("error") is not None:
        more.setdefault("status", 200)
    if http_status is not None:
        more["status"] = http_status

    def edit(draft: Draft) -> Draft:
        assert isinstance(draft.message, dict)
        whole = {**draft.message, "params": dict(params or {})}
        if http_method != "POST":
            draft = Draft(b"", draft.headers, http_method)
        else:
            draft = Draft(message if isinstance(message, dict) else whole, draft.headers)
        draft = draft.without_header(HEADER_METHOD).without_header(HEADER_NAME)
        draft = draft.without_header(HEADER_VERSION)
        if version is not None:
            draft = draft.with_header(HEADER_VERSION, version)
        if session is not None:
            draft = draft.with_header(HEADER_SESSION, session_id(session))
        for name, value in (request_headers or {}).items():
            draft = draft.with_header(name, value)
        return draft

    notes = {**({} if session is None else {"session": session}), **more.pop("notes", {})}
    return builders.exchange(method or "none", params, edit=edit, notes=notes, **more)


def task(task_id: object = "t", status: object = "working", /, **members: Any) -> JsonObject:
    """A task; ``members`` replace or add, ``...`` takes one away."""
    fields: JsonObject = {
        "taskId": task_id,
        "status": status,
        "createdAt": "2025-11-25T12:00:00.123Z",
        "lastUpdatedAt": "2025-11-25T12:00:00.123Z",
        "ttl": 60_000,
        "pollInterval": 500,
        **members,
    }
    return {name: value for name, value in fields.items() if value is not ...}


def handshake(
    session: str = ONE,
    *,
    capabilities: JsonObject = CAPABILITIES,
    client: JsonObject = CLIENT,
    given: str | None = "",
    version: str = VERSION,
    result: object = None,
    **more: Any,
) -> Exchange:
    """An ``initialize``. ``given`` is the session id of the answer, by default that of the
    session's name; ``None`` gives none."""
    identifier = session_id(session) if given == "" else given
    answer = {"protocolVersion": VERSION, "capabilities": capabilities, "serverInfo": SERVER_INFO}
    headers = {} if identifier is None else {HEADER_SESSION: identifier}
    more.setdefault("intent", "initialize")
    if more.get("error") is None and more.get("status") is None:
        more["result"] = answer if result is None else result
    return exchange(
        "initialize",
        {"protocolVersion": version, "capabilities": client},
        session=None,
        version=None,
        headers=headers,
        notes={"session": session},
        **more,
    )


def initialized(session: str = ONE, **more: Any) -> Exchange:
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    more.setdefault("status", 202)
    return exchange(None, session=session, message=message, **more)


def tools(*listed: tuple[str, object], **more: Any) -> Exchange:
    """A ``tools/list``: names with their taskSupport, ``...`` for a tool that says nothing."""
    answer = [
        {
            "name": name,
            "inputSchema": {"type": "object"},
            **({} if support is ... else {"execution": {"taskSupport": support}}),
        }
        for name, support in listed
    ]
    more.setdefault("result", {"tools": answer})
    return exchange("tools/list", {}, **more)


def creation(
    task_id: object = "t",
    status: object = "working",
    *,
    tool: str = "export",
    arguments: object = None,
    members: Mapping[str, Any] | None = None,
    asked: object = None,
    meta: JsonObject | None = None,
    **more: Any,
) -> Exchange:
    """A ``tools/call`` with ``task`` that became one."""
    if more.get("error") is None:
        more.setdefault("result", {"task": task(task_id, status, **(members or {}))})
    params = {"name": tool, "arguments": arguments or {}, "task": asked or {}}
    return exchange("tools/call", {**params, **({"_meta": meta} if meta else {})}, **more)


def call(tool: str = "export", result: object = RESULT, **more: Any) -> Exchange:
    """A plain ``tools/call``."""
    if more.get("error") is None:
        more["result"] = result
    arguments = more.pop("arguments", {})
    return exchange("tools/call", {"name": tool, "arguments": arguments}, **more)


def reading(
    task_id: object = "t",
    status: object = "working",
    *,
    members: Mapping[str, Any] | None = None,
    **more: Any,
) -> Exchange:
    """A ``tasks/get``; ``status`` is that of the task, ``http_status`` that of the response."""
    if all(more.get(name) is None for name in ("error", "fault", "http_status")):
        more.setdefault("result", task(task_id, status, **(members or {})))
    return exchange("tasks/get", {"taskId": task_id}, **more)


def related(result: JsonObject, task_id: object = "t") -> JsonObject:
    """A result or params that belong to a task."""
    return {**result, "_meta": {META_RELATED_TASK: {"taskId": task_id}}}


def fetch(task_id: object = "t", result: object = None, **more: Any) -> Exchange:
    """A ``tasks/result``."""
    if all(more.get(name) is None for name in ("error", "fault", "events", "status")):
        more["result"] = related(RESULT, task_id) if result is None else result
    return exchange("tasks/result", {"taskId": task_id}, **more)


def cancel(task_id: object = "t", status: object = "cancelled", **more: Any) -> Exchange:
    """A ``tasks/cancel``."""
    if more.get("error") is None:
        more.setdefault("result", task(task_id, status))
    return exchange("tasks/cancel", {"taskId": task_id}, **more)


def page(
    *tasks: object, cursor: str | None = None, next_cursor: object = None, **more: Any
) -> Exchange:
    """A page of ``tasks/list``; its walk is ``walk`` unless the notes say otherwise."""
    result: JsonObject = {"tasks": list(tasks)}
    if next_cursor is not None:
        result["nextCursor"] = next_cursor
    if more.get("error") is None:
        more.setdefault("result", result)
    more["notes"] = {"walk": "walk", **more.get("notes", {})}
    more.setdefault("intent", "list-all")
    return exchange("tasks/list", {} if cursor is None else {"cursor": cursor}, **more)


def at(moment: float, **message: Any) -> Event:
    """A message on a stream."""
    return Event(moment, json.dumps({"jsonrpc": "2.0", **message}))


def question(
    moment: float,
    task_id: object = "t",
    *,
    identifier: object = "q",
    method: str = "elicitation/create",
    params: JsonObject = FORM,
) -> Event:
    """A request of the server, with the related task unless ``task_id`` is ``None``."""
    belongs = params if task_id is None else related(params, task_id)
    return at(moment, id=identifier, method=method, params=belongs)


def stream(*events: object, session: str | None = ONE, **more: Any) -> Exchange:
    """A GET that was answered with a stream."""
    more.setdefault("intent", "listen")
    if more.get("status") is None:
        more["events"] = list(events) or [": "]
    return exchange(None, session=session, http_method="GET", **more)


def answer(identifier: object = "q", result: JsonObject | None = None, **more: Any) -> Exchange:
    """A response that the client posted."""
    given = {"action": "accept", "content": {"go": True}} if result is None else result
    message = {"jsonrpc": "2.0", "id": identifier, "result": given}
    if more.get("result") is None and more.get("body") is None:
        more.setdefault("status", 202)
    more.setdefault("intent", "answer")
    return exchange(None, message=message, **more)


def history(exchanges: Sequence[Exchange], **circumstances: Any) -> History:
    return builders.history(*exchanges, **{"spec": VERSION, **circumstances})


def judged(rule_id: str, *exchanges: Exchange, **circumstances: Any) -> Verdict:
    """The verdict of one rule of 2025-11-25, by itself."""
    return verdict_of(catalogue(VERSION)[rule_id], history(exchanges, **circumstances))


def violated(*exchanges: Exchange, **circumstances: Any) -> set[str]:
    """The rules of 2025-11-25 that are held against a server when all are judged together."""
    judgement = judge(catalogue(VERSION), history(exchanges, **circumstances))
    return {verdict.rule.id for verdict in judgement.verdicts if verdict.violated}
