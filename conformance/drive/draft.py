"""A request as it is about to be sent: right by default, broken on purpose in one place.

``request`` builds what a careful client sends. Each method of ``Draft`` returns a copy that
differs in exactly one thing, so that a probe can be told from its accepted counterpart.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.specification.names import (
    EXTENSION,
    HEADER_METHOD,
    HEADER_NAME,
    HEADER_PARAMETER_PREFIX,
    HEADER_VERSION,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_PROTOCOL_VERSION,
    TASK_METHODS,
    TOOLS_CALL,
)
from conformance.version import __version__
from conformance.wire.exchange import Headers, JsonObject
from conformance.wire.headers import header_value, is_token
from conformance.wire.parsing import dump_json

CLIENT_INFO = {"name": "mcp-tasks-conformance", "version": __version__}

# What the suite can answer, and says so on every ordinary request.
CORE_CAPABILITIES: JsonObject = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
DECLARED: JsonObject = {**CORE_CAPABILITIES, "extensions": {EXTENSION: {}}}
UNDECLARED: JsonObject = CORE_CAPABILITIES
# The capability of 2025-11-25, alone: it does not declare the extension.
LEGACY_DECLARED: JsonObject = {
    **CORE_CAPABILITIES,
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}


@dataclass(frozen=True)
class Draft:
    """``message`` is the JSON-RPC message, or raw bytes where it is deliberately none.
    ``headers`` are those of the protocol; the caller's own are added when it is sent."""

    message: JsonObject | bytes | list[Any]
    headers: Headers
    http_method: str = "POST"

    @property
    def body(self) -> bytes:
        if isinstance(self.message, bytes):
            return self.message
        return dump_json(self.message).encode("utf-8", "surrogatepass")

    @property
    def method(self) -> str | None:
        return self.message.get("method") if isinstance(self.message, dict) else None

    def with_header(self, name: str, value: str) -> Draft:
        """The header set to this value, in this spelling, whether it was there or not."""
        kept = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=(*kept, (name, value)))

    def without_header(self, name: str) -> Draft:
        return replace(
            self, headers=tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        )

    def with_raw_body(self, body: bytes) -> Draft:
        return replace(self, message=body)

    def _edited(self, edit: Mapping[str, Any], remove: tuple[str, ...] = ()) -> Draft:
        message = copy.deepcopy(self.message)
        assert isinstance(message, dict)
        message.update(edit)
        for name in remove:
            message.pop(name, None)
        return replace(self, message=message)

    def with_member(self, name: str, value: object) -> Draft:
        """A top-level member of the message set (``id``, ``jsonrpc`` …)."""
        return self._edited({name: value})

    def without_member(self, name: str) -> Draft:
        return self._edited({}, (name,))

    def _params(self) -> JsonObject:
        assert isinstance(self.message, dict)
        params: JsonObject = copy.deepcopy(self.message.get("params", {}))
        return params

    def with_param(self, name: str, value: object) -> Draft:
        return self._edited({"params": {**self._params(), name: value}})

    def without_param(self, name: str) -> Draft:
        params = self._params()
        params.pop(name, None)
        return self._edited({"params": params})

    def with_meta(self, name: str, value: object) -> Draft:
        params = self._params()
        params["_meta"] = {**params.get("_meta", {}), name: value}
        return self._edited({"params": params})

    def without_meta(self, name: str) -> Draft:
        params = self._params()
        params.get("_meta", {}).pop(name, None)
        return self._edited({"params": params})

    def declaring(self, capabilities: JsonObject) -> Draft:
        """The same request with other client capabilities."""
        return self.with_meta(META_CLIENT_CAPABILITIES, capabilities)


def request(
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    request_id: object,
    version: str,
    capabilities: JsonObject | None = None,
    mirrored: Mapping[str, str] | None = None,
) -> Draft:
    """A request as a careful client sends it.

    ``mirrored`` are the ``Mcp-Param-*`` headers that a tool's inputSchema asks for, by the
    rest of their name. ``Mcp-Name`` is set for ``tools/call`` and the three task methods.
    """
    parameters: JsonObject = dict(params or {})
    meta = dict(parameters.pop("_meta", {}))
    meta.update(
        {
            META_PROTOCOL_VERSION: version,
            META_CLIENT_INFO: CLIENT_INFO,
            META_CLIENT_CAPABILITIES: DECLARED if capabilities is None else capabilities,
        }
    )
    parameters["_meta"] = meta
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": parameters}
    headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        (HEADER_VERSION, version),
        (HEADER_METHOD, header_value(method)),
    ]
    source = {TOOLS_CALL: "name", **dict.fromkeys(TASK_METHODS, "taskId")}.get(method)
    if source is not None and isinstance(parameters.get(source), str):
        headers.append((HEADER_NAME, header_value(parameters[source])))
    for name, value in (mirrored or {}).items():
        headers.append((HEADER_PARAMETER_PREFIX + name, header_value(value)))
    return Draft(message, tuple(headers))


def mirrored_parameters(schema: object, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The ``Mcp-Param-*`` headers that ``x-mcp-header`` annotations of an inputSchema ask for.

    Source: core specification, Streamable HTTP, "Custom Headers from Tool Parameters".
    """
    headers: dict[str, str] = {}
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        value = arguments.get(name)
        if not isinstance(part, Mapping) or value is None:
            continue
        if isinstance(value, Mapping):
            headers.update(mirrored_parameters(part, value))
        header = part.get("x-mcp-header")
        if isinstance(header, str) and is_token(header):
            if isinstance(value, bool):
                headers[header] = "true" if value else "false"
            elif isinstance(value, str | int):
                headers[header] = str(value)
    return headers
