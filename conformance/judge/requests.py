"""What a request was, read off the record: of which revision, how carefully sent, what it
declared, and whether it was answered with a task."""

from __future__ import annotations

from typing import Any

from conformance.specification.names import (
    DISCOVER,
    EXTENSION,
    HEADER_METHOD,
    HEADER_NAME,
    META_CLIENT_CAPABILITIES,
    TASK_METHODS,
    TOOLS_CALL,
    VERSIONS_OF_SESSIONS,
)
from conformance.specification.revisions import revision_named
from conformance.target.target import FIRST
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.headers import decoded
from conformance.wire.history import History

# The parameter that the header Mcp-Name repeats.
_NAMED_BY = {TOOLS_CALL: "name", **dict.fromkeys(TASK_METHODS, "taskId")}


def of_this_revision(exchange: Exchange, history: History) -> bool:
    """Whether the request was sent under the revision that is judged, and under no other.

    A server that also speaks an older protocol serves its requests by its rules.
    """
    return exchange.protocol_version == revision_named(history.circumstances.spec).protocol_version


def is_careful(exchange: Exchange, history: History) -> bool:
    """Whether a request of this revision is one that a server must understand: posted, with
    an id, and with headers that say what the body says."""
    known = history.derive(_careful_ones).get(id(exchange))
    return _is_careful(exchange, history) if known is None else known


def _careful_ones(history: History) -> dict[int, bool]:
    """Of each exchange, by its identity, whether it is careful: nearly every rule asks."""
    return {id(exchange): _is_careful(exchange, history) for exchange in history.exchanges}


def _is_careful(exchange: Exchange, history: History) -> bool:
    if exchange.sent.http_method != "POST" or not exchange.is_request:
        return False
    if not of_this_revision(exchange, history):
        return False
    if exchange.protocol_version in VERSIONS_OF_SESSIONS:
        return True  # headers that repeat the body came later
    if exchange.request_header(HEADER_METHOD) != exchange.method:
        return False
    member = _NAMED_BY.get(str(exchange.method))
    if member is None:
        return True
    name = exchange.request_header(HEADER_NAME)
    value = exchange.params.get(member)
    return isinstance(value, str) and name is not None and decoded(name) == value


def discoveries(history: History) -> list[Exchange]:
    """Every careful ``server/discover`` that was served."""
    return [
        exchange
        for exchange in history.of_method(DISCOVER)
        if exchange.result is not None and is_careful(exchange, history)
    ]


def capabilities_of(discovery: Exchange) -> JsonObject:
    """The server capabilities that a served ``server/discover`` told."""
    capabilities = (discovery.result or {}).get("capabilities")
    return capabilities if isinstance(capabilities, dict) else {}


def advertised_settings(discovery: Exchange) -> tuple[bool, Any]:
    """Whether the extension is advertised where it belongs, and with which value."""
    extensions = capabilities_of(discovery).get("extensions")
    if isinstance(extensions, dict) and EXTENSION in extensions:
        return True, extensions[EXTENSION]
    return False, None


def advertising(history: History) -> Exchange | None:
    """A ``server/discover`` that advertised the extension."""
    return next((d for d in discoveries(history) if advertised_settings(d)[0]), None)


def nested_task(exchange: Exchange) -> JsonObject | None:
    """The handle of 2025-11-25, which stood under ``task``."""
    task = (exchange.result or {}).get("task")
    return task if isinstance(task, dict) and "taskId" in task else None


def is_ordinary_result(result: JsonObject) -> bool:
    """What tools/call answers without a task, although it may be called one."""
    return "content" in result and "taskId" not in result and "status" not in result


def task_made(exchange: Exchange) -> JsonObject | None:
    """The task that an answer hands out, in whatever form: the handle of the extension, the
    same without its resultType, or the nested one of 2025-11-25."""
    if exchange.handle is not None:
        return None if is_ordinary_result(exchange.handle) else exchange.handle
    result = exchange.result or {}
    if result.get("resultType") == "complete" and result.get("content"):
        return None  # what a tool said, whatever else stands beside it
    if exchange.method == TOOLS_CALL and isinstance(result.get("taskId"), str):
        return result if "status" in result else None
    return nested_task(exchange)


def is_offered(history: History) -> bool:
    """Whether the server offers the extension: it says so, or it made a task."""
    return history.derive(_is_offered)


def _is_offered(history: History) -> bool:
    return advertising(history) is not None or any(
        task_made(exchange) is not None and exchange.declares_tasks
        for exchange in history.of_method(TOOLS_CALL)
    )


def undeclared(history: History, *methods: str) -> list[Exchange]:
    """Careful requests of the first caller that declare capabilities, and the extension not
    among them; those on a connection that had carried a declaration are left out."""
    return [e for e in _undeclared(history, methods) if e.key not in _declared_before(history)]


def undeclared_later(history: History, *methods: str) -> list[Exchange]:
    """The same, where the connection had carried a declaration before."""
    return [e for e in _undeclared(history, methods) if e.key in _declared_before(history)]


def _undeclared(history: History, methods: tuple[str, ...]) -> list[Exchange]:
    return [
        exchange
        for exchange in history.of_method(*methods)
        if not exchange.declares_tasks
        and exchange.caller == FIRST
        and _tells_capabilities(exchange)
        and is_careful(exchange, history)
    ]


def _tells_capabilities(exchange: Exchange) -> bool:
    meta = exchange.params.get("_meta")
    return isinstance(meta, dict) and isinstance(meta.get(META_CLIENT_CAPABILITIES), dict)


def _declared_before(history: History) -> frozenset[tuple[str, int]]:
    return history.derive(_later_on_declared_connections)


def _later_on_declared_connections(history: History) -> frozenset[tuple[str, int]]:
    declared: set[tuple[str, str, int]] = set()
    later: set[tuple[str, int]] = set()
    for exchange in history.exchanges:
        place = (exchange.connection, exchange.caller, exchange.replica)
        if place in declared:
            later.add(exchange.key)
        if exchange.declares_tasks:
            declared.add(place)
    return frozenset(later)
