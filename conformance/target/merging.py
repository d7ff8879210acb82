"""Two JSON Schemas that both hold, as one: as much of it as arguments are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

ALL_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

_HIGHER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_LOWER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")

_MOST_PAIRS = 100


class CannotFill(Exception):
    """Says why no arguments can be made; the user has to give them."""


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a schema allows. Raises ``CannotFill`` for one that there is not."""
    said = schema.get("type")
    if said is None:
        return ALL_TYPES
    types = tuple(said) if isinstance(said, list) else (said,)
    unknown = [kind for kind in types if kind not in ALL_TYPES]
    if unknown or not types:
        raise CannotFill(f"its inputSchema has the unknown type {str(said)[:40]!r}")
    return types


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A schema that only allows what both allow. Neither has ``$ref`` or ``allOf`` of its own.

    Raises ``CannotFill`` where they have no type in common.
    """
    whole = {**other, **one}
    for key in one.keys() & other.keys():
        how = _HOW.get(key)
        if how is not None:
            whole[key] = how(one[key], other[key])
    if "type" in one and "type" in other:
        whole["type"] = _common_types(types_of(one), types_of(other))
    if "properties" in whole:
        whole["properties"] = _properties(one, other)
    return whole


def _common_types(one: tuple[str, ...], other: tuple[str, ...]) -> list[str]:
    def allows(types: tuple[str, ...], kind: str) -> bool:
        return kind in types or (kind == "integer" and "number" in types)

    common = [kind for kind in ALL_TYPES if allows(one, kind) and allows(other, kind)]
    if not common:
        raise CannotFill("its inputSchema contradicts itself")
    return common


def _both(compare: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def choose(one: Any, other: Any) -> Any:
        try:
            return compare(one, other)
        except TypeError:
            return one

    return choose


def _properties(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Each property as both see it: what one does not name is additional to it."""
    names = [*_mapping(one.get("properties")), *_mapping(other.get("properties"))]
    return {
        name: {
            "allOf": [
                _mapping(schema.get("properties")).get(
                    name, schema.get("additionalProperties", True)
                )
                for schema in (one, other)
            ]
        }
        for name in names
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _joined(one: Any, other: Any) -> Any:
    return [*one, *other] if isinstance(one, list) and isinstance(other, list) else one


def _shared(one: Any, other: Any) -> Any:
    if not isinstance(one, list) or not isinstance(other, list):
        return one
    return [value for value in one if value in other]


def _same(one: Any, other: Any) -> Any:
    if one != other:
        raise CannotFill("its inputSchema contradicts itself")
    return one


def _pairs(one: Any, other: Any) -> Any:
    """One of these and one of those."""
    if not isinstance(one, list) or not isinstance(other, list):
        return one
    pairs = ({"allOf": [this, that]} for this in one for that in other)
    return list(islice(pairs, _MOST_PAIRS))


def _all_of(one: Any, other: Any) -> Any:
    return {"allOf": [one, other]}


_HOW: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(_HIGHER, _both(max)),
    **dict.fromkeys(_LOWER, _both(min)),
    "required": _joined,
    "enum": _shared,
    "const": _same,
    "anyOf": _pairs,
    "oneOf": _pairs,
    "items": _all_of,
    "additionalProperties": _all_of,
}
