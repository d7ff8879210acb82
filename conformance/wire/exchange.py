"""One HTTP exchange: what was sent, what was seen, when, and what the driver meant by it.

Nothing is interpreted when an exchange is recorded. The properties read the record as
JSON-RPC over HTTP, lazily, for those who judge. What a hundred rules ask of every exchange is
worked out once and kept.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from conformance.specification.names import (
    CODES_WITH_ANOTHER_MEANING,
    EXTENSION,
    HEADER_VERSION,
    LISTEN,
    META_CLIENT_CAPABILITIES,
    META_PROTOCOL_VERSION,
    TASK_METHODS,
    TOOLS_CALL,
    VERSIONS_OF_SESSIONS,
)
from conformance.wire.once import once
from conformance.wire.parsing import Parsed, parse_json
from conformance.wire.sse import DEFAULT_KIND, Event

Headers: TypeAlias = tuple[tuple[str, str], ...]
JsonObject: TypeAlias = dict[str, Any]

# The intent of a request that a careful client would send.
ORDINARY = "ordinary"
# The intent of what is sent at the end, to leave nothing behind.
TIDY_UP = "tidy-up"
# The kind of fault where a response came whose coding is not known.
ENCODING = "encoding"
# The note of how many seconds the suite itself was held up meanwhile.
HELD_UP = "heldUp"
_HOLD_UPS_COUNT = 3

# There is no code for "too early"; a server that has no HTTP 429 can only say it in words.
_PACE_WORDS = (
    "rate limit",
    "rate-limit",
    "ratelimit",
    "too many",
    "too fast",
    "too often",
    "too early",
    "too soon",
    "too frequent",
    "slow down",
    "throttl",
)
# What a server may limit apart from the rest of its requests.
_METHODS_AT_A_PACE = (*TASK_METHODS, TOOLS_CALL, LISTEN)


def header_of(headers: Headers, name: str) -> str | None:
    """The first value of a header, its name in any case; ``None`` where it is absent."""
    wanted = name.lower()
    return next((value for key, value in headers if key.lower() == wanted), None)


def _first_of_each(headers: Headers) -> dict[str, str]:
    """The first value of each header, by its name in lower case."""
    return {name.lower(): value for name, value in reversed(headers)}


def certain_seconds(passed: float, held_up: float) -> float:
    """The seconds of those that passed that a server had, without those that the suite was held
    up itself.

    What holds up the suite is a busy machine, and it holds up a server on it as well: it counts
    several times.
    """
    return max(passed - _HOLD_UPS_COUNT * held_up, 0.0)


@dataclass(frozen=True)
class Sent:
    """An HTTP request as it went out, secrets replaced."""

    http_method: str
    url: str
    headers: Headers
    body: bytes


@dataclass(frozen=True)
class Seen:
    """An HTTP response as it came in. ``body`` is decompressed; ``events`` are those of an
    event stream, in which case ``body`` still holds the raw stream.

    ``cut`` is true where the suite itself stopped reading (a stream it had enough of).
    """

    status: int
    headers: Headers
    body: bytes
    events: tuple[Event, ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class Fault:
    """Why an exchange has no complete response.

    ``kind`` is one of ``connect``, ``tls``, ``timeout``, ``reset``, ``protocol``, ``encoding``,
    ``too-large``, ``redirect``, ``interrupted``. With ``encoding`` the response came, compressed
    in a way that we did not ask for and do not read.
    """

    kind: str
    detail: str


@dataclass(frozen=True)
class Exchange:
    """An exchange, identified by its scenario and its number there.

    ``started`` and ``ended`` are monotonic seconds of this machine. ``connection`` names the
    TCP connection it travelled on, ``caller`` who sent it (``first``, ``second``,
    ``nobody``, ``wrong-token``), ``replica`` the index of the URL. ``control`` is the number
    of the accepted exchange, in the same scenario, from which a probe differs in one thing.
    ``notes`` are facts only the driver knows (the tool's role, the burst it belonged to).
    """

    scenario: str
    number: int
    started: float
    ended: float
    intent: str
    sent: Sent
    seen: Seen | None = None
    fault: Fault | None = None
    caller: str = "first"
    replica: int = 0
    connection: str = ""
    control: int | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @once
    def key(self) -> tuple[str, int]:
        return (self.scenario, self.number)

    # ---- the request -------------------------------------------------------------------

    @once
    def request_body(self) -> Parsed:
        return parse_json(self.sent.body)

    @once
    def request(self) -> JsonObject:
        """The JSON-RPC message sent, or an empty object where it was none."""
        value = self.request_body.value
        return value if isinstance(value, dict) else {}

    @once
    def method(self) -> str | None:
        method = self.request.get("method")
        return method if isinstance(method, str) else None

    @once
    def request_id(self) -> Any:
        return self.request.get("id")

    @once
    def is_request(self) -> bool:
        """Whether a JSON-RPC request was sent: it has a method and an id."""
        return self.method is not None and "id" in self.request

    @once
    def params(self) -> JsonObject:
        params = self.request.get("params")
        return params if isinstance(params, dict) else {}

    @once
    def task_id(self) -> str | None:
        """The ``taskId`` asked for, where it is a string."""
        task_id = self.params.get("taskId")
        return task_id if isinstance(task_id, str) else None

    @once
    def tool(self) -> str | None:
        """The name of the tool called."""
        name = self.params.get("name")
        return name if self.method == "tools/call" and isinstance(name, str) else None

    @once
    def capabilities(self) -> JsonObject:
        """The client capabilities that this request declared."""
        meta = self.params.get("_meta")
        value = meta.get(META_CLIENT_CAPABILITIES) if isinstance(meta, dict) else None
        return value if isinstance(value, dict) else {}

    @once
    def protocol_version(self) -> str | None:
        """The version this request was sent under; ``None`` where header and body differ.

        Versions that are agreed on by ``initialize`` stand in the header alone.
        """
        meta = self.params.get("_meta")
        version = meta.get(META_PROTOCOL_VERSION) if isinstance(meta, dict) else None
        header = self.request_header(HEADER_VERSION)
        if version is None and header in VERSIONS_OF_SESSIONS:
            return header
        same = isinstance(version, str) and version == header
        return version if same else None

    @once
    def declares_tasks(self) -> bool:
        """Whether this very request declared the extension."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and EXTENSION in extensions

    @once
    def certainly_took(self) -> float:
        """The seconds that the answer took, as ``certain_seconds``."""
        held_up = self.notes.get(HELD_UP, 0.0)
        known = held_up if isinstance(held_up, int | float) else 0.0
        return certain_seconds(self.ended - self.started, known)

    @property
    def is_ordinary(self) -> bool:
        return self.intent == ORDINARY

    # ---- the response ------------------------------------------------------------------

    @property
    def status(self) -> int | None:
        return self.seen.status if self.seen else None

    def response_header(self, name: str) -> str | None:
        return self._response_headers.get(name.lower())

    def request_header(self, name: str) -> str | None:
        return self._request_headers.get(name.lower())

    @once
    def _response_headers(self) -> dict[str, str]:
        return _first_of_each(self.seen.headers) if self.seen else {}

    @once
    def _request_headers(self) -> dict[str, str]:
        return _first_of_each(self.sent.headers)

    @once
    def content_type(self) -> str:
        """The media type of the response, lower case, without its parameters."""
        return (self.response_header("content-type") or "").partition(";")[0].strip().lower()

    @property
    def is_stream(self) -> bool:
        return self.content_type == "text/event-stream"

    @once
    def parsed(self) -> tuple[Parsed, ...]:
        """Every JSON text of the response: the body, or the data of each event."""
        if self.seen is None:
            return ()
        if self.is_stream:
            return tuple(parse_json(event.data) for event in self.seen.events)
        return (parse_json(self.seen.body),) if self.seen.body else ()

    @once
    def beyond_limits(self) -> str:
        """Which limit of ours kept a JSON text of the response from being read; empty where none
        did."""
        return next((part.problem for part in self.parsed if part.limited), "")

    @once
    def messages(self) -> tuple[JsonObject, ...]:
        """The JSON objects of the response, in order: of an event stream, those that are MCP's."""
        if self.seen is not None and self.is_stream:
            return tuple(message for _, message in self.timed_messages)
        return tuple(part.value for part in self.parsed if isinstance(part.value, dict))

    @once
    def timed_messages(self) -> tuple[tuple[float, JsonObject], ...]:
        """The messages of an event stream, each with the time it was seen.

        Events of a type of their own are no messages to those who listen for messages, so that
        whatever they carry is not MCP's, unless it says that it is JSON-RPC.
        """
        if self.seen is None or not self.is_stream:
            return ()
        return tuple(
            (event.at, part.value)
            for event, part in zip(self.seen.events, self.parsed, strict=True)
            if isinstance(part.value, dict)
            and (event.kind == DEFAULT_KIND or "jsonrpc" in part.value)
        )

    @once
    def responses(self) -> tuple[JsonObject, ...]:
        """Those messages that answer: they carry ``result`` or ``error``."""
        return tuple(m for m in self.messages if "result" in m or "error" in m)

    @once
    def response(self) -> JsonObject | None:
        """The answer to this request, or the first answer of any id."""
        own = (m for m in self.responses if m.get("id") == self.request_id)
        return next(own, next(iter(self.responses), None))

    @once
    def notifications(self) -> tuple[tuple[float, JsonObject], ...]:
        """Notifications of an event stream, each with the time it was seen."""
        return tuple(
            (at, message)
            for at, message in self.timed_messages
            if "method" in message and "id" not in message
        )

    @once
    def result(self) -> JsonObject | None:
        """The ``result`` of the response where it is an object and no ``error`` stands by it.

        A null ``error`` is wrong as well, and hides nothing.
        """
        response = self.response
        if response is None or response.get("error") is not None:
            return None
        result = response.get("result")
        return result if isinstance(result, dict) else None

    @once
    def error(self) -> JsonObject | None:
        """The ``error`` of the response where it is an object."""
        error = self.response.get("error") if self.response is not None else None
        return error if isinstance(error, dict) else None

    @once
    def error_code(self) -> Any:
        return self.error.get("code") if self.error is not None else None

    @once
    def result_type(self) -> Any:
        return self.result.get("resultType") if self.result is not None else None

    @once
    def handle(self) -> JsonObject | None:
        """The result, where it is a task handle by its discriminator.

        Under the versions of sessions a task is asked for by a parameter, and what is handed out
        is nested.
        """
        if self.result is not None and self.protocol_version in VERSIONS_OF_SESSIONS:
            task = self.result.get("task") if "task" in self.params else None
            return task if isinstance(task, dict) else None
        return self.result if self.result_type == "task" else None

    @once
    def task(self) -> JsonObject | None:
        """The result of a served ``tasks/get``, where it at least names a status."""
        if self.method == TASK_METHODS[0] and self.result is not None and "status" in self.result:
            return self.result
        return None

    @once
    def rate_limited(self) -> bool:
        """HTTP 429, or a request about tasks refused with an error that speaks of the pace: such
        an answer says nothing about anything else."""
        return self.status == 429 or (self.method in _METHODS_AT_A_PACE and self._speaks_of_pace())

    def _speaks_of_pace(self) -> bool:
        if self.error is None or self.error_code in CODES_WITH_ANOTHER_MEANING:
            return False
        message = str(self.error.get("message", "")).lower()
        return self.error_code == 429 or any(words in message for words in _PACE_WORDS)

    @property
    def outcome(self) -> str:
        """What came, in a few words: for messages to people."""
        if self.fault is not None and self.fault.kind == ENCODING:
            return f"an answer that could not be decoded ({self.fault.detail})"
        if self.fault is not None:
            return f"no complete answer ({self.fault.kind}: {self.fault.detail})"
        if self.seen is None:
            return "no answer"
        prefix = f"HTTP {self.seen.status}"
        if self.error is not None:
            return f"{prefix}, error {self.error_code}"
        if self.result is not None:
            words = [f"resultType {self.result_type!r}"] if "resultType" in self.result else []
            if isinstance(self.result.get("status"), str):
                words.append(f"status {self.result['status']!r}")
            return f"{prefix}, a result" + (f" ({', '.join(words)})" if words else "")
        if not self.seen.body:
            return f"{prefix}, an empty body"
        if self.is_stream:
            return f"{prefix}, a stream without a response"
        kind = self.content_type or "no content type"
        return f"{prefix}, {kind}, no JSON-RPC response"


# ---- records -----------------------------------------------------------------------------


def _body_record(name: str, body: bytes) -> JsonObject:
    try:
        return {name: body.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(body).decode("ascii")}


def _body_of(record: Mapping[str, Any], name: str) -> bytes:
    if f"{name}Base64" in record:
        return base64.b64decode(record[f"{name}Base64"], validate=True)
    return str(record.get(name, "")).encode("utf-8")


def _headers_of(record: Sequence[Sequence[str]]) -> Headers:
    return tuple(_kept_once(str(name), str(value)) for name, value in record)


def _kept_once(name: str, value: str) -> tuple[str, str]:
    """A header. The same few stand in nearly every exchange of a long history."""
    return _header(name, value) if len(value) <= _LONGEST_KEPT else (name, value)


_LONGEST_KEPT = 100


@lru_cache(maxsize=4096)
def _header(name: str, value: str) -> tuple[str, str]:
    return (name, value)


def _seconds(value: float) -> float:
    seconds = float(value)
    if not math.isfinite(seconds):
        raise ValueError(f"{value!r} is no time")
    return seconds


def to_record(exchange: Exchange) -> JsonObject:
    """The exchange as one JSON object: a line of a history file."""
    sent, seen, fault = exchange.sent, exchange.seen, exchange.fault
    record: JsonObject = {
        "exchange": exchange.number,
        "started": exchange.started,
        "ended": exchange.ended,
        "intent": exchange.intent,
        "caller": exchange.caller,
        "connection": exchange.connection,
        "sent": {
            "method": sent.http_method,
            "url": sent.url,
            "headers": [list(pair) for pair in sent.headers],
            **_body_record("body", sent.body),
        },
    }
    if exchange.replica:
        record["replica"] = exchange.replica
    if exchange.control is not None:
        record["control"] = exchange.control
    if exchange.notes:
        record["notes"] = dict(exchange.notes)
    if seen is not None:
        record["seen"] = {
            "status": seen.status,
            "headers": [list(pair) for pair in seen.headers],
            **_body_record("body", seen.body),
        }
        if seen.events:
            record["seen"]["events"] = [
                {"at": event.at, "data": event.data, "kind": event.kind} for event in seen.events
            ]
        if seen.cut:
            record["seen"]["cut"] = True
    if fault is not None:
        record["fault"] = {"kind": fault.kind, "detail": fault.detail}
    return record


def from_record(record: Mapping[str, Any], scenario: str) -> Exchange:
    """The exchange of one line. Raises ``KeyError``, ``TypeError``, ``ValueError``,
    ``AttributeError`` or ``OverflowError`` where the line is not a record; ``history.read``
    turns these into one readable error."""
    sent = record["sent"]
    seen = record.get("seen")
    fault = record.get("fault")
    return Exchange(
        scenario=scenario,
        number=int(record["exchange"]),
        started=_seconds(record["started"]),
        ended=_seconds(record["ended"]),
        intent=str(record["intent"]),
        caller=str(record.get("caller", "first")),
        replica=int(record.get("replica", 0)),
        connection=str(record.get("connection", "")),
        control=None if record.get("control") is None else int(record["control"]),
        notes=dict(record.get("notes", {})),
        sent=Sent(
            http_method=str(sent["method"]),
            url=str(sent["url"]),
            headers=_headers_of(sent["headers"]),
            body=_body_of(sent, "body"),
        ),
        seen=None
        if seen is None
        else Seen(
            status=int(seen["status"]),
            headers=_headers_of(seen["headers"]),
            body=_body_of(seen, "body"),
            events=tuple(
                Event(
                    _seconds(event["at"]), str(event["data"]), str(event.get("kind", DEFAULT_KIND))
                )
                for event in seen.get("events", ())
            ),
            cut=bool(seen.get("cut", False)),
        ),
        fault=None if fault is None else Fault(str(fault["kind"]), str(fault["detail"])),
    )
