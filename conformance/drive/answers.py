"""Answers to what a task asks: elicitation, sampling and roots.

Where free text is wanted the answer carries a marker, so that it can be found again in what
the task results in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.target.arguments import CannotFill, arguments_for
from conformance.wire.exchange import JsonObject

ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"


def answer_to(request: object, marker: str = "conformance", action: str = ACCEPT) -> JsonObject:
    """The response to one entry of ``inputRequests``; ``action`` is for elicitations."""
    method = request.get("method") if isinstance(request, Mapping) else None
    params = request.get("params") if isinstance(request, Mapping) else None
    params = params if isinstance(params, Mapping) else {}
    if method == "sampling/createMessage":
        return {
            "role": "assistant",
            "content": {"type": "text", "text": marker},
            "model": "conformance-model",
            "stopReason": "endTurn",
        }
    if method == "roots/list":
        return {"roots": [{"uri": "file:///conformance", "name": marker}]}
    if action != ACCEPT:
        return {"action": action}
    if params.get("mode") == "url":
        return {"action": ACCEPT}
    return {"action": ACCEPT, "content": content_for(params.get("requestedSchema"), marker)}


def content_for(schema: object, marker: str) -> JsonObject:
    """Content of a form that meets its schema; every property is filled, not only required
    ones, so that the marker has the best chance to be seen again."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return {}
    content: dict[str, Any] = {}
    for name, part in schema["properties"].items():
        # The marker is wanted back: a default would hide it.
        plain = (
            {k: v for k, v in part.items() if k != "default"} if isinstance(part, Mapping) else {}
        )
        alone = {"$defs": schema.get("$defs"), "required": [name]}
        try:
            content[name] = arguments_for({**alone, "properties": {name: plain}}, marker)[name]
        except CannotFill:
            continue
    return content


def answers_to(requests: object, marker: str = "conformance", action: str = ACCEPT) -> JsonObject:
    """``inputResponses`` for all of ``inputRequests``."""
    if not isinstance(requests, Mapping):
        return {}
    return {key: answer_to(request, marker, action) for key, request in requests.items()}
