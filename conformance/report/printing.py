"""Exchanges printed line by line, as HTML shows them, with the deciding member marked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.report.evidence import Evidence
from conformance.report.visible import visible
from conformance.wire.parsing import dump_json

_INDENT = "  "


@dataclass(frozen=True)
class Line:
    """A printed line. ``missing`` names a member that should be here and is not."""

    text: str
    marked: bool = False
    missing: str = ""

    @property
    def words(self) -> str:
        """The text without its indent."""
        return self.text.lstrip(" ")

    @property
    def indent(self) -> str:
        return self.text[: len(self.text) - len(self.words)]


def request_lines(evidence: Evidence) -> list[Line]:
    """The request as HTTP has it: request line, headers, body."""
    request = evidence.request
    lines = [_line(f"{request.get('method', '')} {request.get('url', '')}")]
    lines.extend(_headers(request))
    if "body" in request:
        lines.extend((Line(""), *_body(request["body"], None)))
    lines.extend(_cut(request))
    return lines


def response_lines(evidence: Evidence) -> list[Line]:
    """The response as HTTP has it; of an event stream, its events. What decided is marked."""
    response = evidence.response
    lines: list[Line] = []
    marked = _tokens(evidence.marked) if evidence.marked else None
    missing = _missing(evidence)
    if "status" in response:
        lines.append(_line(f"HTTP {response['status']}"))
        lines.extend(_headers(response))
    if "body" in response:
        here = marked[1:] if marked and marked[0] == "body" else None
        lines.extend((Line(""), *_body(response["body"], here, missing)))
    events = response.get("events")
    for index, event in enumerate(events if isinstance(events, list) else ()):
        if isinstance(event, dict):
            here = marked[3:] if marked and marked[:3] == ("events", str(index), "data") else None
            kind = f"{event.get('kind', '')} event after {event.get('after_seconds', '?')} s"
            lines.extend((Line(""), _line(kind), *_body(event.get("data"), here, missing)))
    if "events_left_out" in response:
        lines.append(_line(f"({response['events_left_out']} more events are not shown)"))
    lines.extend(_cut(response))
    if response.get("stopped_reading") is True:
        lines.append(Line("(the suite stopped reading here)"))
    fault = response.get("fault")
    if isinstance(fault, dict):
        lines.append(_line(f"({fault.get('kind')}: {fault.get('detail')})"))
    return lines or [Line("(no answer)")]


def _missing(evidence: Evidence) -> str:
    """The first part of the member's path that the response does not have."""
    member, marked = _tokens(evidence.member), _tokens(evidence.marked)
    found = len(marked) - (3 if marked[:1] == ("events",) else 1)
    return member[found] if evidence.marked and 0 <= found < len(member) else ""


def _tokens(pointer: str) -> tuple[str, ...]:
    parts = pointer.split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _headers(record: Mapping[str, Any]) -> Iterator[Line]:
    headers = record.get("headers")
    for pair in headers if isinstance(headers, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            yield _line(f"{pair[0]}: {pair[1]}")


def _cut(record: Mapping[str, Any]) -> Iterator[Line]:
    cut = record.get("cut")
    if isinstance(cut, int):
        yield Line(f"({cut:,} bytes more are in the history)")


def _line(text: str) -> Line:
    return Line(visible(text))


def _body(body: object, marked: tuple[str, ...] | None, missing: str = "") -> Iterator[Line]:
    if isinstance(body, str):
        # Not JSON, or a lone JSON string: shown as it is.
        for text in body.split("\n"):
            yield _line(text)
        return
    yield from _value("", body, marked, missing, "", "")


def _value(
    name: str,
    value: object,
    marked: tuple[str, ...] | None,
    missing: str,
    indent: str,
    end: str,
) -> Iterator[Line]:
    """The lines of one JSON value. ``marked`` leads on from here to what is marked."""
    here = marked == ()
    whole = here and not missing
    if not isinstance(value, dict | list) or not value:
        text = visible(dump_json(value))
        yield Line(f"{indent}{name}{text}{end}", here, missing if here else "")
        return
    brackets = "{}" if isinstance(value, dict) else "[]"
    yield Line(f"{indent}{name}{brackets[0]}", here, missing if here else "")
    members: list[tuple[str, str, object]] = (
        [(key, f"{visible(json.dumps(key, ensure_ascii=False))}: ", v) for key, v in value.items()]
        if isinstance(value, dict)
        else [(str(index), "", item) for index, item in enumerate(value)]
    )
    for number, (key, label, item) in enumerate(members, 1):
        on = marked[1:] if marked and marked[0] == key else None
        comma = "," if number < len(members) else ""
        for line in _value(label, item, on, missing, indent + _INDENT, comma):
            yield Line(line.text, True) if whole else line
    yield Line(f"{indent}{brackets[1]}{end}", whole)
