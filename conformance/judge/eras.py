"""Whether the server also speaks an older revision, with sessions or streams, on the same URL.

Such a server may serve what looks like older traffic by the older rules, so that rules on
what became of sessions and streams have nothing to say to it.
"""

from __future__ import annotations

import re
from typing import Any

from conformance.judge.requests import discoveries
from conformance.specification.names import UNSUPPORTED_VERSION
from conformance.specification.revisions import revision_named
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

INITIALIZE = "initialize"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def older_revision_served(history: History) -> Exchange | None:
    """An exchange that shows the server to speak an older revision as well: it lists one, agrees
    to a handshake, or opens the stream of 2024-11-05. ``None`` where none does."""
    return history.derive(_older_revision_served)


def only_this_revision(history: History) -> tuple[Exchange, Exchange] | None:
    """A discovery that lists no older revision, and a handshake that was refused.

    ``None`` where an older revision is served, or it is not known: a server need not list
    every revision that it still serves.
    """
    if older_revision_served(history) is not None:
        return None
    refused = next((e for e in history.of_method(INITIALIZE) if _was_refused(e)), None)
    for discovery in discoveries(history):
        if refused is not None and isinstance(_result(discovery).get("supportedVersions"), list):
            return discovery, refused
    return None


def _was_refused(handshake: Exchange) -> bool:
    """Refused for what it is, and not for who sent it or how often."""
    return handshake.error is not None or handshake.status in (400, 404, 405, 406)


def _older_revision_served(history: History) -> Exchange | None:
    judged = revision_named(history.circumstances.spec).protocol_version
    for exchange in history.exchanges:
        if any(_DATE.fullmatch(v) and v < judged for v in _versions_listed(exchange)):
            return exchange
        version = _result(exchange).get("protocolVersion")
        if exchange.method == INITIALIZE and isinstance(version, str):
            return exchange
        if _is_told_where_to_post(exchange):
            return exchange
    return None


def _is_told_where_to_post(exchange: Exchange) -> bool:
    """Whether a GET opened the stream of HTTP+SSE, whose first event is of the type ``endpoint``.

    Servers that want to support the oldest clients go on hosting it.
    """
    if exchange.sent.http_method != "GET" or exchange.seen is None or not exchange.is_stream:
        return False
    return any(event.kind == "endpoint" for event in exchange.seen.events[:1])


def _versions_listed(exchange: Exchange) -> list[str]:
    listed: Any = _result(exchange).get("supportedVersions")
    if exchange.error is not None and exchange.error_code == UNSUPPORTED_VERSION:
        data = exchange.error.get("data")
        listed = data.get("supported") if isinstance(data, dict) else None
    return [v for v in listed if isinstance(v, str)] if isinstance(listed, list) else []


def _result(exchange: Exchange) -> dict[str, Any]:
    return exchange.result or {}
