"""A session of 2025-11-25: opened by ``initialize``, and perhaps named by the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio

from conformance.drive.answers import ACCEPT, answer_to
from conformance.drive.older.draft import CLIENT_CAPABILITIES, PING
from conformance.specification.names import (
    HEADER_SESSION,
    META_RELATED_TASK,
    METHOD_NOT_FOUND,
)
from conformance.target.target import FIRST
from conformance.wire.exchange import Exchange, JsonObject

ASKING_METHODS = ("elicitation/create", "sampling/createMessage", "roots/list")

# What a client says to a request of the server: ``result`` or ``error``, or ``None`` where it
# says nothing for now.
Answering: TypeAlias = Callable[[JsonObject], "JsonObject | None"]


def answering(
    marker: str = "conformance", action: str = ACCEPT
) -> Callable[[JsonObject], JsonObject]:
    """Answers all that a server may ask. ``marker`` is put where free text is wanted; ``action``
    is for elicitations."""

    def answer(asked: JsonObject) -> JsonObject:
        method = asked.get("method")
        if method == PING:
            return {"result": {}}
        if method in ASKING_METHODS:
            return {"result": {**answer_to(asked, marker, action), **_meta_of(asked)}}
        return {"error": {"code": METHOD_NOT_FOUND, "message": "This client does not do that."}}

    return answer


def refusing(asked: JsonObject) -> JsonObject | None:
    """Answers with an error, as a client whose user turned the request down."""
    if asked.get("method") == PING:
        return {"result": {}}
    return {"error": {"code": -1, "message": "The user turned the request down."}}


def related_task(message: Mapping[str, Any]) -> str | None:
    """The task that a request or a notification says it belongs to."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    related = meta.get(META_RELATED_TASK) if isinstance(meta, dict) else None
    task_id = related.get("taskId") if isinstance(related, dict) else None
    return task_id if isinstance(task_id, str) else None


def _meta_of(asked: JsonObject) -> JsonObject:
    """Whatever belongs to a task says so, answers included."""
    task_id = related_task(asked)
    return {} if task_id is None else {"_meta": {META_RELATED_TASK: {"taskId": task_id}}}


@dataclass
class ServerSession:
    """``name`` is unique in a history. ``opened`` is the exchange of ``initialize``, ``None``
    before it was sent. ``asked`` counts the requests of the server that were heard in it."""

    name: str
    capabilities: JsonObject = field(default_factory=lambda: CLIENT_CAPABILITIES)
    caller: str = FIRST
    answers: Answering = field(default_factory=answering)
    answer_intent: str = "answer"
    opened: Exchange | None = None
    ended: bool = False
    offers_stream: bool = True
    listening: bool = False
    asked: int = 0
    answered: set[str | int] = field(default_factory=set)
    opening: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def id(self) -> str | None:
        """What the server calls it, where it names sessions."""
        return self.opened.response_header(HEADER_SESSION) if self.opened is not None else None

    @property
    def result(self) -> JsonObject:
        """The server's answer to ``initialize``; empty where there was none."""
        return (self.opened.result or {}) if self.opened is not None else {}

    @property
    def server_capabilities(self) -> JsonObject:
        capabilities = self.result.get("capabilities")
        return capabilities if isinstance(capabilities, dict) else {}
