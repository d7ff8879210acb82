"""What an HTTP response is as an answer to a JSON-RPC message."""

from __future__ import annotations

from conformance.wire.exchange import Exchange, JsonObject

# About the caller, the pace and the load, whatever else is said.
_ABOUT_CALLER = (401, 407, 429, 503)
# Of the HTTP request, or told by what stands before the server, unless JSON-RPC comes with it.
_ABOUT_HTTP = (403, 406, 411, 413, 414, 415, 417, 426, 431, 502, 503, 504)


def is_about_http(exchange: Exchange) -> bool:
    """Whether the status speaks of who sent the request, how often, in which media type or how
    long it is, and so says nothing of the message."""
    if exchange.status in _ABOUT_CALLER:
        return True
    return exchange.status in _ABOUT_HTTP and not json_rpc_responses(exchange)


def may_be_unread(exchange: Exchange) -> bool:
    """Whether a server that answers with this status need not have read the message."""
    return exchange.status == 405 or exchange.status in (*_ABOUT_CALLER, *_ABOUT_HTTP)


def json_rpc_responses(exchange: Exchange) -> tuple[JsonObject, ...]:
    """The JSON-RPC responses that came, well formed or not.

    A gateway's ``{"error": "not found"}``, or what an authorization server says, is none.
    """
    return tuple(m for m in exchange.responses if _is_json_rpc(m, exchange))


def _is_json_rpc(message: JsonObject, exchange: Exchange) -> bool:
    if "jsonrpc" in message or "result" in message:
        return True
    error = message.get("error")
    if isinstance(error, dict) and "code" in error:
        return True
    return exchange.status is not None and exchange.status < 300


def is_web_page(exchange: Exchange) -> bool:
    """Whether HTML came, by its label or by its looks."""
    if exchange.content_type in ("text/html", "application/xhtml+xml"):
        return True
    start = exchange.seen.body[:200].lstrip().lower() if exchange.seen else b""
    return start.startswith((b"<!doctype html", b"<html"))
