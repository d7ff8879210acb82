"""HAR files as a proxy would write them of exchanges."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

from conformance.wire.exchange import Exchange, Headers, JsonObject

_BEGAN = datetime(2026, 11, 30, 10, 0, tzinfo=timezone.utc)


def har_of(exchanges: Iterable[Exchange], *more: JsonObject) -> JsonObject:
    """A HAR file of these exchanges, and of further entries."""
    listed = list(exchanges)
    first = min((exchange.started for exchange in listed), default=0.0)
    entries = [har_entry(exchange, exchange.started - first) for exchange in listed]
    return {"log": {"version": "1.2", "creator": {"name": "proxy"}, "entries": [*entries, *more]}}


def har_entry(exchange: Exchange, seconds: float = 0.0) -> JsonObject:
    """One entry; ``seconds`` is how long after the first it began."""
    sent, seen = exchange.sent, exchange.seen
    began = _BEGAN + timedelta(seconds=seconds)
    response: JsonObject = {"status": 0, "headers": [], "content": {}, "_error": "net::ERR_ABORTED"}
    if seen is not None and exchange.fault is None:
        content: dict[str, Any] = {"size": len(seen.body), "mimeType": exchange.content_type}
        if seen.body:
            content["text"] = seen.body.decode()
        response = {"status": seen.status, "headers": _headers(seen.headers), "content": content}
    return {
        "startedDateTime": began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "time": round((exchange.ended - exchange.started) * 1000, 3),
        "request": {
            "method": sent.http_method,
            "url": sent.url,
            "headers": _headers(sent.headers),
            "postData": {
                "mimeType": "application/json",
                "text": sent.body.decode("utf-8", "replace"),
            },
        },
        "response": response,
    }


def _headers(headers: Headers) -> list[JsonObject]:
    return [{"name": name, "value": value} for name, value in headers]


def text_of(har: JsonObject) -> str:
    return json.dumps(har)
