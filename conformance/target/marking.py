"""Arguments of which each text that is free carries a marker, to tell calls apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What narrows a text so far that a marker would not do.
_NARROWING = ("const", "enum", "format", "pattern", "$ref", "oneOf", "anyOf", "allOf", "not", "if")


def marked(schema: object, arguments: Mapping[str, Any], marker: str) -> dict[str, Any]:
    """The arguments with the marker in every text that their inputSchema leaves free.

    Equal to ``arguments`` where there is no such text. The marker is padded, or cut, to what
    the schema allows: what tells one marker from another should stand at its beginning.
    """
    changed = dict(arguments)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    for name, value in arguments.items():
        part = properties.get(name) if isinstance(properties, Mapping) else None
        if isinstance(value, str) and isinstance(part, Mapping) and _is_free_text(part):
            changed[name] = _fitted(part, marker)
    return changed


def _is_free_text(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    of_text = kind == "string" or (isinstance(kind, list) and "string" in kind)
    return of_text and not any(keyword in schema for keyword in _NARROWING)


def _fitted(schema: Mapping[str, Any], marker: str) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and least <= 10_000:
        marker = marker.ljust(least, "x")
    return marker[:most] if isinstance(most, int) and most >= 0 else marker
