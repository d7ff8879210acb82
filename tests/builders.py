"""Histories written by hand, for tests of rules and reports.

``exchange("tasks/get", {"taskId": "t"}, result=task("t", "working"))`` is what a careful client
sends and a good server answers; each argument makes one thing different. Exchanges that are
built one after another also happened one after another.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.drive.draft import Draft, request
from conformance.specification.names import (
    CODE_NAMES,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from conformance.wire.exchange import ORDINARY, Exchange, Fault, JsonObject, Seen, Sent
from conformance.wire.history import Circumstances, History
from conformance.wire.sse import Event

URL = "http://127.0.0.1:8000/mcp"
VERSION = "2026-07-28"

# The HTTP status a good server gives an error; 200 for every other code.
STATUS_OF_CODE = {
    METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
}

CALL_RESULT: JsonObject = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
QUESTION: JsonObject = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Go on?",
        "requestedSchema": {"type": "object", "properties": {"go": {"type": "boolean"}}},
    },
}
_PAYLOADS: dict[str, JsonObject] = {
    "completed": {"result": CALL_RESULT},
    "failed": {
        "error": {"code": -32603, "message": "Internal error"},
        "statusMessage": "The export failed",
    },
    "input_required": {"inputRequests": {"question-1": QUESTION}},
}

_numbers = itertools.count(1)


def exchange(
    method: str = "tasks/get",
    params: Mapping[str, Any] | None = None,
    *,
    result: object = None,
    error: int | JsonObject | None = None,
    answer: object = None,
    body: str | bytes | None = None,
    events: Sequence[object] | None = None,
    status: int | None = None,
    content_type: str | None = None,
    headers: Mapping[str, str] | None = None,
    fault: Fault | None = None,
    cut: bool = False,
    intent: str = ORDINARY,
    capabilities: JsonObject | None = None,
    edit: Callable[[Draft], Draft] | None = None,
    request_id: object = None,
    started: float | None = None,
    ended: float | None = None,
    scenario: str = "scenario",
    number: int | None = None,
    caller: str = "first",
    replica: int = 0,
    connection: str = "main:1",
    control: Exchange | int | None = None,
    notes: Mapping[str, Any] | None = None,
) -> Exchange:
    """One exchange.

    The request is a correct one that declares the extension; ``capabilities`` declares
    something else (``UNDECLARED`` and ``LEGACY_DECLARED`` are in ``conformance.drive.draft``),
    ``edit`` changes the draft: ``edit=lambda draft: draft.without_header("Mcp-Name")``.

    Of the answer give one: ``result``; ``error``, a code or the whole object; ``answer``, the
    whole JSON-RPC message; ``body``, the raw body; ``events``, messages (or raw data, as text)
    of an event stream, where a message without ``jsonrpc`` gets it. With none of them the
    answer is an empty acknowledgement; with ``status`` alone, a response without a body; with
    ``fault`` alone, no response. ``headers`` are further response headers.

    ``started`` and ``ended`` are seconds. The n-th exchange built starts at n and takes 0.1 s.
    """
    nth = next(_numbers)
    number = nth if number is None else number
    started = float(nth) if started is None else started
    draft = request(
        method,
        params,
        request_id=number if request_id is None else request_id,
        version=VERSION,
        capabilities=capabilities,
    )
    draft = edit(draft) if edit is not None else draft
    sent_id = draft.message.get("id") if isinstance(draft.message, dict) else None

    if answer is None and error is not None:
        answer = {"jsonrpc": "2.0", "id": sent_id, "error": _error_object(error)}
        if status is None and isinstance(error, int):
            status = STATUS_OF_CODE.get(error, 200)
    elif answer is None and result is not None:
        answer = {"jsonrpc": "2.0", "id": sent_id, "result": result}
    elif not any(part is not None for part in (answer, body, events, status, fault)):
        answer = {"jsonrpc": "2.0", "id": sent_id, "result": {"resultType": "complete"}}

    end = started + 0.1 if ended is None else ended
    seen: Seen | None = None
    came = (result, error, answer, body, events, status)
    if fault is None or any(part is not None for part in came):
        stream = [_event(item, started, end) for item in events or ()]
        raw = _body(answer, body, stream)
        if content_type is None and raw:
            content_type = "application/json" if events is None else "text/event-stream"
        kind = (("Content-Type", content_type),) if content_type else ()
        more = tuple((headers or {}).items())
        seen = Seen(200 if status is None else status, (*kind, *more), raw, tuple(stream), cut)

    return Exchange(
        scenario=scenario,
        number=number,
        started=started,
        ended=end,
        intent=intent,
        sent=Sent(draft.http_method, URL, draft.headers, draft.body),
        seen=seen,
        fault=fault,
        caller=caller,
        replica=replica,
        connection=connection,
        control=control.number if isinstance(control, Exchange) else control,
        notes=dict(notes or {}),
    )


def history(*exchanges: Exchange, **circumstances: Any) -> History:
    """A history of these exchanges; the rest are members of ``Circumstances``."""
    return History(exchanges, Circumstances(**{"url": URL, **circumstances}))


def task(
    task_id: str = "task-1", status: str = "working", *, type: str = "complete", **members: Any
) -> JsonObject:
    """The result of a ``tasks/get``, with what its status asks for. ``members`` replace or
    add; ``...`` takes one away: ``task("t", ttlMs=...)``."""
    fields: JsonObject = {
        "resultType": type,
        "taskId": task_id,
        "status": status,
        "createdAt": "2026-07-28T12:00:00.123Z",
        "lastUpdatedAt": "2026-07-28T12:00:00.123Z",
        "ttlMs": 60_000,
        "pollIntervalMs": 500,
        **(_PAYLOADS.get(status, {}) if type == "complete" else {}),
        **members,
    }
    return {name: value for name, value in fields.items() if value is not ...}


def handle(task_id: str = "task-1", status: str = "working", **members: Any) -> JsonObject:
    """The result of a ``tools/call`` that became a task."""
    return task(task_id, status, type="task", **members)


def creation(
    task_id: str = "task-1", *, tool: str = "export", arguments: object = None, **more: Any
) -> Exchange:
    """A ``tools/call`` that became a task; ``more`` are arguments of ``exchange``."""
    more.setdefault("result", handle(task_id))
    return exchange("tools/call", {"name": tool, "arguments": arguments or {}}, **more)


def reading(
    task_id: str = "task-1",
    status: str = "working",
    *,
    members: Mapping[str, Any] | None = None,
    **more: Any,
) -> Exchange:
    """A ``tasks/get`` that was served; ``members`` are those of ``task``, ``more`` arguments
    of ``exchange``."""
    if more.get("error") is None:
        more.setdefault("result", task(task_id, status, **(members or {})))
    return exchange("tasks/get", {"taskId": task_id}, **more)


def _error_object(error: int | JsonObject) -> JsonObject:
    if isinstance(error, int):
        return {"code": error, "message": CODE_NAMES.get(error, "Error")}
    return error


def _event(item: object, started: float, ended: float) -> Event:
    at = (started + ended) / 2
    if isinstance(item, Event):
        return item
    if isinstance(item, dict):
        return Event(at, json.dumps({"jsonrpc": "2.0", **item}))
    return Event(at, item if isinstance(item, str) else json.dumps(item))


def _body(answer: object, body: str | bytes | None, stream: Sequence[Event]) -> bytes:
    if stream:
        return "".join(f"data: {event.data}\n\n" for event in stream).encode()
    if body is not None:
        return body.encode() if isinstance(body, str) else body
    return b"" if answer is None else json.dumps(answer).encode()


def left_alone() -> tuple[Exchange, ...]:
    """A task that asks something for more than a minute, and nobody answers: what shows that tasks
    of this server do not go on by themselves."""
    waits = [reading("left-alone", "input_required", started=at) for at in (-99.0, -9.0)]
    return creation("left-alone", tool="left", started=-100.0), *waits
