"""Traffic that others recorded: a HAR file (1.2) of a proxy or a browser becomes a history.

Nothing of it was driven, so most rules find nothing in it to look at. What a careful client
of the extension would have sent has the intent ``ordinary``; everything else is ``foreign``.
What the file leaves out (a body that was not recorded) is an interrupted exchange, which
nobody is accused of.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from conformance.errors import UsageError
from conformance.specification.names import (
    HEADER_METHOD,
    HEADER_NAME,
    META_CLIENT_INFO,
    TASK_METHODS,
    TOOLS_CALL,
)
from conformance.wire.exchange import (
    ORDINARY,
    Exchange,
    Fault,
    Headers,
    JsonObject,
    Seen,
    Sent,
    header_of,
)
from conformance.wire.headers import decoded
from conformance.wire.history import Circumstances, History
from conformance.wire.parsing import parse_json
from conformance.wire.secrets import Redactor, secrets_of_url
from conformance.wire.sse import EventReader

FOREIGN = "foreign"

# Times are told to the millisecond: an order that hangs on less is none.
_RESOLUTION = 0.002
_SECRET_NAME = re.compile(
    r"auth|cookie|credential|csrf|jwt|key|password|secret|session|token", re.I
)
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\d*(Z|z|[+-]\d\d:?\d\d)?"
)
_NO_SECRETS = ("mcp-method", "mcp-name", "www-authenticate", "proxy-authenticate")
_WITHOUT_BODY = (202, 204, 304)
# The headers that say who sent a request: others that hold a secret change from one to the next.
_IDENTITY = ("authorization", "proxy-authorization", "x-api-key", "api-key", "cookie")


@dataclass(frozen=True)
class Recording:
    """The history of a HAR file; ``left_out`` counts its entries that are not part of it: other
    addresses, other callers, and what is no MCP."""

    history: History
    left_out: int


def read_har(path: Path) -> Recording:
    """The MCP traffic of a HAR file: that with the address, and of the caller, that most of it
    is about. Its scenario is the file's name. Raises ``UsageError`` where there is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    log = _object(parse_json(content.removeprefix(b"\xef\xbb\xbf")).value).get("log")
    entries = _object(log).get("entries")
    if not isinstance(entries, list):
        raise UsageError(f"{path} is not a HAR file: it has no log.entries")
    found = [_Entry.of(number, entry) for number, entry in enumerate(entries, 1)]
    chosen = _of_one_caller(_of_one_address([entry for entry in found if entry is not None]))
    if not chosen:
        raise UsageError(f"{path}: none of its {len(entries)} entries is MCP over HTTP")
    return Recording(_history(chosen, path.name), len(entries) - len(chosen))


@dataclass(frozen=True)
class _Entry:
    """An entry of the file with what has to be there. ``number`` is its place among all entries,
    from 1; ``began`` is seconds since 1970."""

    number: int
    began: float
    seconds: float
    sent: Sent
    response: JsonObject
    connection: str

    @staticmethod
    def of(number: int, record: object) -> _Entry | None:
        entry = _object(record)
        request = _object(entry.get("request"))
        began = _moment(entry.get("startedDateTime"))
        url, method = request.get("url"), request.get("method")
        if began is None or not isinstance(url, str) or not isinstance(method, str):
            return None
        took = entry.get("time")
        if not isinstance(took, int | float) or isinstance(took, bool) or took < 0:
            return None  # nothing is known to come after it
        connection = entry.get("connection")
        return _Entry(
            number=number,
            began=began,
            seconds=took / 1000,
            sent=Sent(method.upper(), url.partition("#")[0], _headers(request), _posted(request)),
            response=_object(entry.get("response")),
            connection=str(connection) if isinstance(connection, str | int) else "",
        )

    @property
    def is_mcp(self) -> bool:
        """Whether a JSON-RPC message was posted."""
        message = parse_json(self.sent.body).value if self.sent.http_method == "POST" else None
        return isinstance(message, dict) and "jsonrpc" in message

    @property
    def identity(self) -> Headers:
        return tuple(pair for pair in self.sent.headers if pair[0].lower() in _IDENTITY)


def _of_one_address(entries: list[_Entry]) -> list[_Entry]:
    counts = Counter(entry.sent.url for entry in entries if entry.is_mcp)
    if not counts:
        return []
    url = counts.most_common(1)[0][0]
    return [entry for entry in entries if entry.sent.url == url]


def _of_one_caller(entries: list[_Entry]) -> list[_Entry]:
    """What one caller may not do with another's task is no fault of the server's."""
    counts = Counter(entry.identity for entry in entries if entry.is_mcp)
    identity = counts.most_common(1)[0][0] if counts else ()
    return [entry for entry in entries if entry.identity == identity]


def _history(entries: list[_Entry], scenario: str) -> History:
    first = min(entry.began for entry in entries)
    redactor = Redactor(*_secrets(entries))
    exchanges = [
        redactor.exchange(_exchange(entry, scenario, entry.began - first)) for entry in entries
    ]
    circumstances = Circumstances(
        url=redactor.url(entries[0].sent.url),
        suite="",
        started=datetime.fromtimestamp(int(first), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        effort="",
        explore="none",
        loopback=False,
        recorded=True,
    )
    return History(exchanges, circumstances)


def _secrets(entries: list[_Entry]) -> tuple[list[str], list[str]]:
    """Values that are secret wherever they stand, and headers whose values always are."""
    values: set[str] = set()
    names: set[str] = set()
    for entry in entries:
        values.update(secrets_of_url(entry.sent.url))
        for name, value in (*entry.sent.headers, *_headers(entry.response)):
            if _SECRET_NAME.search(name) and name.lower() not in _NO_SECRETS:
                names.add(name)
                values.add(value)
    return sorted(values), sorted(names)


def _exchange(entry: _Entry, scenario: str, began: float) -> Exchange:
    ended = began + entry.seconds + _RESOLUTION
    exchange = Exchange(
        scenario=scenario,
        number=entry.number,
        started=max(began - _RESOLUTION, 0.0),
        ended=ended,
        intent=FOREIGN,
        sent=entry.sent,
        # Without a name of its own each might share a connection with any other.
        connection=f"har:{entry.connection or f'entry-{entry.number}'}",
    )
    seen = _seen(entry.response, ended)
    if seen is None:
        why = str(entry.response.get("_error") or "the file holds no complete response")
        exchange = replace(exchange, fault=Fault("interrupted", why))
    else:
        exchange = replace(exchange, seen=seen)
        answered = any(m.get("id") == exchange.request_id for m in exchange.responses)
        if exchange.is_stream and not answered:
            # Whether the stream had ended is not told.
            exchange = replace(exchange, seen=replace(seen, cut=True))
    return replace(exchange, intent=ORDINARY if _is_ordinary(exchange) else FOREIGN)


def _is_ordinary(exchange: Exchange) -> bool:
    """Whether a careful client that declares the extension would have sent it."""
    if exchange.sent.http_method != "POST" or not exchange.is_request:
        return False
    if exchange.request.get("jsonrpc") != "2.0" or not exchange.declares_tasks:
        return False
    meta = _object(exchange.params.get("_meta"))
    if exchange.protocol_version is None or not isinstance(meta.get(META_CLIENT_INFO), dict):
        return False
    if exchange.request_header(HEADER_METHOD) != exchange.method:
        return False
    accepted = (exchange.request_header("accept") or "").lower()
    if "application/json" not in accepted or "text/event-stream" not in accepted:
        return False
    member = {TOOLS_CALL: "name", **dict.fromkeys(TASK_METHODS, "taskId")}.get(str(exchange.method))
    if member is None:
        return True
    name = exchange.request_header(HEADER_NAME)
    return name is not None and decoded(name) == exchange.params.get(member)


# ---- parts of the file ---------------------------------------------------------------------


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _moment(text: object) -> float | None:
    """Seconds since 1970 of an ISO 8601 text; without a zone it is taken as UTC."""
    match = _TIME.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return None
    date, fraction, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z", "z") else zone
    if ":" not in zone:
        zone = f"{zone[:3]}:{zone[3:]}"
    try:
        moment = datetime.fromisoformat(date.upper().replace(" ", "T") + zone)
        return moment.timestamp() + float(f"0.{fraction or 0}")
    except (ValueError, OverflowError):
        return None


def _headers(record: JsonObject) -> Headers:
    return tuple(_header_pairs(record.get("headers")))


def _header_pairs(listed: Any) -> Iterator[tuple[str, str]]:
    for header in listed if isinstance(listed, list) else ():
        name, value = _object(header).get("name"), _object(header).get("value")
        # HTTP/2 has pseudo headers, which say again what the request line says.
        if isinstance(name, str) and isinstance(value, str) and not name.startswith(":"):
            yield name, value


def _posted(request: JsonObject) -> bytes:
    data = _object(request.get("postData"))
    return _bytes(data.get("text"), data.get("encoding")) or b""


def _bytes(text: object, encoding: object) -> bytes | None:
    if not isinstance(text, str):
        return None
    if encoding != "base64":
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return None


def _seen(response: JsonObject, at: float) -> Seen | None:
    """The response, or ``None`` where the file does not hold the whole of it."""
    status = response.get("status")
    if not isinstance(status, int) or isinstance(status, bool) or not 100 <= status <= 599:
        return None
    content, headers = _object(response.get("content")), _headers(response)
    body = _bytes(content.get("text"), content.get("encoding"))
    size = content.get("size", 0)
    if not headers or not isinstance(size, int | float) or size > len(body or b""):
        return None
    empty = status in _WITHOUT_BODY or header_of(headers, "content-length") == "0"
    if not body and not empty:
        # Recorders leave out what was too large, or no longer in memory: some with an empty text.
        return None
    body = body or b""
    kind = (header_of(headers, "content-type") or "").partition(";")[0].strip().lower()
    events = EventReader().feed(body, at) if kind == "text/event-stream" else []
    return Seen(status, headers, body, tuple(events))
