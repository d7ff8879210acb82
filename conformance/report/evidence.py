"""The exchanges that show why a verdict is what it is, short enough to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.judge.observation import Observation
from conformance.report.visible import encodable
from conformance.wire.exchange import Exchange, Headers, JsonObject
from conformance.wire.parsing import Parsed, dump_json, parse_json

BODY_LIMIT = 4096
"""The most bytes shown of a body; what is longer is cut, and says by how much."""

_HEADER_LIMIT = 500
_HEADERS_SHOWN = 40
_EVENTS_SHOWN = 24
_TEXT_LIMIT = 1000
_EXCHANGES_OF_FIRST, _EXCHANGES_OF_OTHERS = 16, 4

# From generous to harsh: the longest string, the most members of an object or items of an
# array, and the deepest nesting that is kept. The first that fits is taken.
_STEPS = (
    (BODY_LIMIT, BODY_LIMIT, 48),
    (1000, 40, 24),
    (300, 20, 12),
    (100, 8, 8),
    (60, 3, 5),
    (40, 0, 0),
)
_DEEPEST_MEMBER = 40
_ELLIPSIS = "…"


@dataclass(frozen=True)
class Evidence:
    """One exchange as evidence.

    ``history`` and ``exchange`` say where it is. ``observation`` numbers, from 0, the look
    that it belongs to: exchanges of one number are told together, in order, and the last of
    them decides and has the words. ``member`` is a JSON pointer into the JSON-RPC message of
    the response as it came; ``marked`` one into ``response`` as it is shown here, to the same
    member or, where that is missing, to what should hold it. ``left_out`` counts exchanges of
    the same look that came just before and are not shown.
    """

    history: str
    exchange: int
    observation: int
    intent: str
    caller: str
    seconds: float
    note: str
    expected: str
    found: str
    member: str
    marked: str
    request: JsonObject
    response: JsonObject
    left_out: int = 0


def evidence_of(observations: Sequence[Observation]) -> tuple[Evidence, ...]:
    """The evidence of a verdict: a pure function of its observations."""
    found: list[Evidence] = []
    for number, observation in enumerate(observations):
        most = _EXCHANGES_OF_OTHERS if number else _EXCHANGES_OF_FIRST
        head, tail = observation.exchanges, observation.exchanges[:0]
        if len(head) > most:
            # The beginning says what was set up, the end what went wrong.
            head, tail = head[: most // 4], head[most // 4 - most :]
        left_out = len(observation.exchanges) - len(head) - len(tail)
        shown = (*head, *tail)
        for index, exchange in enumerate(shown):
            found.append(
                _evidence(
                    exchange,
                    observation,
                    number,
                    decides=index == len(shown) - 1,
                    left_out=left_out if index == len(head) else 0,
                )
            )
    return tuple(found)


def history_file(exchange: Exchange) -> str:
    """The file that holds the exchange: that of its scenario, or the HAR file it came from."""
    scenario = exchange.scenario
    return scenario if scenario.lower().endswith(".har") else f"{scenario}.jsonl"


def _evidence(
    exchange: Exchange, observation: Observation, number: int, *, decides: bool, left_out: int
) -> Evidence:
    member = observation.member if decides else ""
    response, marked = _response(exchange, member)
    return Evidence(
        history=history_file(exchange),
        exchange=exchange.number,
        observation=number,
        intent=exchange.intent,
        caller=exchange.caller,
        seconds=round(exchange.ended - exchange.started, 3),
        note=short_text(observation.note) if decides else "",
        expected=short_text(observation.expected) if decides else "",
        found=short_text(observation.found) if decides else "",
        member=short_text(member),
        marked=marked,
        request=_request(exchange),
        response=response,
        left_out=left_out,
    )


def _request(exchange: Exchange) -> JsonObject:
    sent = exchange.sent
    record: JsonObject = {
        "method": sent.http_method,
        "url": short_text(sent.url),
        "headers": _headers(sent.headers),
    }
    if sent.body:
        record.update(_body(exchange.request_body, sent.body, ()).record)
    return record


def _response(exchange: Exchange, member: str) -> tuple[JsonObject, str]:
    """The response as shown, and the pointer into it to the deciding member."""
    record: JsonObject = {}
    marked = ""
    seen = exchange.seen
    path = _path_of(member)
    if seen is not None:
        record = {"status": seen.status, "headers": _headers(seen.headers)}
        if seen.events:
            marked = _add_events(record, exchange, path)
        elif seen.body:
            parsed = exchange.parsed[0] if exchange.parsed else parse_json(seen.body)
            body = _body(parsed, seen.body, path)
            record.update(body.record)
            marked = "/body" + body.marked if path and exchange.response is not None else ""
        if seen.cut:
            record["stopped_reading"] = True
    if exchange.fault is not None:
        detail = short_text(exchange.fault.detail)
        record["fault"] = {"kind": exchange.fault.kind, "detail": detail}
    return record, marked


def _add_events(record: JsonObject, exchange: Exchange, path: tuple[str, ...]) -> str:
    assert exchange.seen is not None
    events, parsed = exchange.seen.events, exchange.parsed
    answer = -1
    if exchange.response is not None:
        answer = next(i for i, part in enumerate(parsed) if part.value is exchange.response)
    kept = sorted({*range(_EVENTS_SHOWN - 4), *range(len(events) - 4, len(events)), answer})
    kept = [index for index in kept if 0 <= index < len(events)]
    room = max(BODY_LIMIT // len(kept), 256)
    shown: list[JsonObject] = []
    cut = sum(len(event.data) for i, event in enumerate(events) if i not in kept)
    marked = ""
    for index in kept:
        event = events[index]
        raw = event.data.encode("utf-8", "surrogatepass")
        here = path if index == answer else ()
        limit = BODY_LIMIT if index == answer else room
        body = _body(parsed[index], raw, here, limit)
        if here:
            marked = f"/events/{len(shown)}/data{body.marked}"
        cut += body.record.get("cut", 0)
        shown.append(
            {
                "after_seconds": round(event.at - exchange.started, 3),
                "kind": short_text(event.kind, 100),
                "data": body.record["body"],
            }
        )
    record["events"] = shown
    if len(kept) < len(events):
        record["events_left_out"] = len(events) - len(kept)
    if cut:
        record["cut"] = cut
    return marked


def _headers(headers: Headers) -> list[list[str]]:
    shown = [[short_text(name, 100), short_text(value, _HEADER_LIMIT)] for name, value in headers]
    more = len(shown) - _HEADERS_SHOWN
    return [*shown[:_HEADERS_SHOWN], [_ELLIPSIS, f"{more} more"]] if more > 0 else shown


def short_text(text: str, limit: int = _TEXT_LIMIT) -> str:
    """A text from elsewhere, cut where it is too long, that can be written as UTF-8."""
    if len(text) <= limit:
        return encodable(text)
    return f"{encodable(text[:limit])}{_ELLIPSIS} ({len(text) - limit:,} more characters)"


# ---- bodies --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Body:
    """``record`` has ``body`` and, where something is left out, ``cut`` in bytes."""

    record: JsonObject
    marked: str


def _body(parsed: Parsed, raw: bytes, path: tuple[str, ...], limit: int = BODY_LIMIT) -> _Body:
    if parsed.problem:
        # Bytes that are not UTF-8 are shown as \xff.
        text = raw[:limit].decode("utf-8", "backslashreplace")
        record: JsonObject = {"body": text}
        if len(raw) > limit:
            record["cut"] = len(raw) - limit
        return _Body(record, "")
    body, size, shortening = _fitting(parsed.value, path, limit)
    record = {"body": body}
    if shortening.left_out:
        record["cut"] = max(len(raw) - size, 1)
    return _Body(record, _pointer(shortening.trail))


def shortened(value: JsonObject, limit: int = BODY_LIMIT) -> JsonObject:
    """A JSON object from elsewhere, small enough to be shown."""
    body = _fitting(value, None, limit)[0]
    return body if isinstance(body, dict) else {}


def _fitting(
    value: object, path: tuple[str, ...] | None, limit: int
) -> tuple[Any, int, _Shortening]:
    """The value, shortened until it fits, and its size in bytes as JSON."""
    for step in _STEPS:
        shortening = _Shortening(*step)
        body = shortening.value(value, path, step[2])
        size = len(dump_json(body).encode())
        if size <= limit:
            break
    return body, size, shortening


@dataclass
class _Shortening:
    """Shortens one JSON value, but for what leads to one member of it.

    ``trail`` is, afterwards, where in the shortened value that member is.
    """

    longest: int
    members: int
    depth: int
    left_out: bool = False
    trail: list[str] = field(default_factory=list)

    def value(self, value: object, path: tuple[str, ...] | None, depth: int) -> Any:
        """``path`` leads on from here; ``None`` where the member is elsewhere."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict) and value:
            return self._object(value, path, depth)
        if isinstance(value, list) and value:
            return self._array(value, path, depth)
        if isinstance(value, int) and abs(value) > 10**40:
            self.left_out = True
            return f"{str(value)[:40]}{_ELLIPSIS}"
        return value

    def _text(self, text: str) -> str:
        if len(text) > self.longest:
            self.left_out = True
        return short_text(text, self.longest)

    def _object(self, value: JsonObject, path: tuple[str, ...] | None, depth: int) -> Any:
        wanted = path[0] if path and path[0] in value else None
        room = self.members if depth > 0 else 0
        if room == 0 and wanted is None:
            self.left_out = True
            return f"{_ELLIPSIS} (an object of {len(value):,})"
        names = list(value)[:room]
        if wanted is not None and wanted not in names:
            names.append(wanted)
        shown: JsonObject = {}
        for name in names:
            here = path[1:] if path and name == wanted else None
            key = self._text(name)
            if here is not None:
                self.trail.append(key)
            shown[key] = self.value(value[name], here, depth - 1)
        if len(names) < len(value):
            self.left_out = True
            shown[_ELLIPSIS] = f"{len(value) - len(names):,} more members"
        return shown

    def _array(self, value: list[Any], path: tuple[str, ...] | None, depth: int) -> Any:
        wanted = _index(path[0], len(value)) if path else None
        room = self.members if depth > 0 else 0
        if room == 0 and wanted is None:
            self.left_out = True
            return f"{_ELLIPSIS} (an array of {len(value):,})"
        shown = [self.value(item, None, depth - 1) for item in value[:room] if wanted is None]
        if wanted is None:
            after = len(shown)
        else:
            # The wanted item, with what stands next before and after it.
            first = max(0, min(wanted - room // 2, len(value) - room))
            after = max(first + room, wanted + 1)
            first = min(first, wanted)
            if first:
                shown.append(f"{_ELLIPSIS} ({first:,} items before)")
            for index in range(first, min(after, len(value))):
                here = path[1:] if path and index == wanted else None
                if here is not None:
                    self.trail.append(str(len(shown)))
                shown.append(self.value(value[index], here, depth - 1))
            self.left_out = self.left_out or first > 0
        if after < len(value):
            self.left_out = True
            shown.append(f"{_ELLIPSIS} ({len(value) - after:,} more items)")
        return shown


def _path_of(pointer: str) -> tuple[str, ...]:
    """The reference tokens of a JSON pointer (RFC 6901)."""
    parts = pointer.split("/")[1 : _DEEPEST_MEMBER + 1]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _pointer(path: Sequence[str]) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def _index(text: str, length: int) -> int | None:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) >= length:
        return None
    return int(text)
