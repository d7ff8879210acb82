"""Messages of 2025-11-25 as a careful client sends them.

What a client can do was said when its session was opened, so a request says nothing of it. The
version stands in a header alone. The header of the session is put in when a draft is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.drive.draft import CLIENT_INFO, CORE_CAPABILITIES, Draft
from conformance.specification.names import HEADER_VERSION
from conformance.wire.exchange import Headers, JsonObject

INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
PING = "ping"

# What the suite can answer. It takes no tasks itself.
CLIENT_CAPABILITIES: JsonObject = CORE_CAPABILITIES

_CONTENT_TYPE = ("Content-Type", "application/json")
_ACCEPT = ("Accept", "application/json, text/event-stream")
_ACCEPT_STREAM = ("Accept", "text/event-stream")


def _headers(version: str) -> Headers:
    return (_CONTENT_TYPE, _ACCEPT, (HEADER_VERSION, version))


def initialize(version: str, capabilities: JsonObject, *, request_id: object) -> Draft:
    """The first request of a session. No version was agreed on yet, so no header names one."""
    params = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": CLIENT_INFO,
    }
    message = {"jsonrpc": "2.0", "id": request_id, "method": INITIALIZE, "params": params}
    return Draft(message, (_CONTENT_TYPE, _ACCEPT))


def request(
    method: str, params: Mapping[str, Any] | None = None, *, request_id: object, version: str
) -> Draft:
    """A request of a session that is open. ``params`` that are ``None`` are left out."""
    message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = dict(params)
    return Draft(message, _headers(version))


def notification(method: str, params: Mapping[str, Any] | None = None, *, version: str) -> Draft:
    message: JsonObject = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = dict(params)
    return Draft(message, _headers(version))


def response(request_id: object, answer: Mapping[str, Any], *, version: str) -> Draft:
    """The answer to a request of the server; ``answer`` has ``result`` or ``error``."""
    return Draft({"jsonrpc": "2.0", "id": request_id, **answer}, _headers(version))


def stream(version: str) -> Draft:
    """The GET that listens for what the server sends by itself."""
    return Draft(b"", (_ACCEPT_STREAM, (HEADER_VERSION, version)), "GET")


def ending(version: str) -> Draft:
    """The DELETE that ends a session."""
    return Draft(b"", (_ACCEPT, (HEADER_VERSION, version)), "DELETE")
