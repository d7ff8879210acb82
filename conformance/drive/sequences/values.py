"""Strategies for what a tool is called with, made from its inputSchema.

The values are modest: near the least that a schema allows, since a tool may do as much work as
it is asked to. What cannot be understood is filled in as when the tool was first tried.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from conformance.drive.surroundings import ToolUse
from conformance.target.arguments import CannotFill, arguments_for
from conformance.wire.exchange import JsonObject

# How far beyond its least a number goes.
_REACH = 3
_MOST_ITEMS = 2


def arguments_of(tool: ToolUse, marker: str) -> st.SearchStrategy[JsonObject]:
    """Arguments that a tool accepts, as far as its inputSchema tells."""
    properties = tool.schema.get("properties")
    if not isinstance(properties, Mapping):
        return st.just(tool.arguments)
    required = tool.schema.get("required")
    wanted = [n for n in required if isinstance(n, str)] if isinstance(required, list) else []
    known = {name: tool.arguments[name] for name in wanted if name in tool.arguments}
    parts = {
        name: _value(properties.get(name), marker, known.get(name))
        for name in wanted
        if name in known or name in properties
    }
    optional = {
        name: _value(part, marker, None)
        for name, part in properties.items()
        if name not in wanted and isinstance(part, Mapping) and _is_plain(part)
    }
    return st.fixed_dictionaries(parts, optional=optional)


def _is_plain(schema: Mapping[str, Any]) -> bool:
    """Whether a value can be made without guessing."""
    return schema.get("type") in ("string", "integer", "number", "boolean") and not any(
        word in schema for word in ("pattern", "format", "not", "oneOf", "anyOf", "allOf")
    )


def _value(schema: object, marker: str, otherwise: Any) -> st.SearchStrategy[Any]:
    if not isinstance(schema, Mapping):
        return st.just(otherwise)
    for names in ("enum", "examples"):
        choices = schema.get(names)
        if isinstance(choices, list) and choices and (names == "enum" or not _is_plain(schema)):
            return st.sampled_from(choices)
    if "const" in schema:
        return st.just(schema["const"])
    if not _is_plain(schema):
        return st.just(_filled(schema, marker, otherwise))
    return _of_type(schema, marker)


def _of_type(schema: Mapping[str, Any], marker: str) -> st.SearchStrategy[Any]:
    kind = schema["type"]
    if kind == "boolean":
        return st.booleans()
    if kind == "string":
        return st.just(_filled(schema, marker, marker))
    low = _number(schema.get("minimum", schema.get("exclusiveMinimum")), 1)
    if "exclusiveMinimum" in schema:
        low += 1
    high = _number(schema.get("maximum"), low + _REACH)
    least, most = math.ceil(low), math.floor(min(high, low + _REACH))
    # There may be no whole number between the two.
    if least > most or "multipleOf" in schema or "exclusiveMaximum" in schema:
        return st.just(_filled(schema, marker, low))
    return st.integers(least, most)


def _number(value: object, otherwise: float) -> float:
    """The value, where it is a number that can be counted from."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return otherwise
    # A whole number may be too large to be asked whether it is finite.
    return value if isinstance(value, int) or math.isfinite(value) else otherwise


def _filled(schema: Mapping[str, Any], marker: str, otherwise: Any) -> Any:
    if otherwise is not None and otherwise != marker:
        return otherwise
    try:
        return arguments_for({"properties": {"it": schema}, "required": ["it"]}, marker)["it"]
    except CannotFill:
        return otherwise
