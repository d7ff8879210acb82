"""A quick yes for values that are the message they claim to be.

Nearly every message of a history is right, and a right one needs no list of problems. A schema is
turned into one function here, which says yes about a hundred times as fast as a validator that
could also say why not. What it does not say yes to, the validator decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Accepts: TypeAlias = Callable[[Any], bool]

_ANNOTATIONS = frozenset({"$schema", "$id", "$defs", "title", "description", "default"})
# Read together with the keyword that they belong to.
_PARTS = frozenset({"then"})


def _is_integer(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: Mapping[str, Accepts] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


def acceptance(schema: Any) -> Accepts:
    """A function that is true only of values that meet a schema without references.

    It is true of none where the schema uses a keyword that is not known here.
    """
    return _acceptance(schema, {})


def _acceptance(schema: Any, made: dict[int, Accepts]) -> Accepts:
    """``made`` are those of this schema's parts, of which many stand in it again and again."""
    if isinstance(schema, bool):
        return lambda value: schema
    if id(schema) not in made:
        made[id(schema)] = _all_of([_keyword(name, schema, made) for name in _asking(schema)])
    return made[id(schema)]


def _asking(schema: Mapping[str, Any]) -> list[str]:
    # The type first: what follows mostly speaks of one type.
    names = [name for name in schema if name not in _ANNOTATIONS | _PARTS]
    return sorted(names, key=lambda name: name != "type")


def _all_of(checks: list[Accepts]) -> Accepts:
    if not checks:
        return lambda value: True
    if len(checks) == 1:
        return checks[0]

    def accepts(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 - this is quicker, and quick is the point
            if not check(value):
                return False
        return True

    return accepts


def _keyword(name: str, schema: Mapping[str, Any], made: dict[int, Accepts]) -> Accepts:
    wanted = schema[name]
    if name == "type":
        return _of_type(wanted)
    if name == "const":
        return _one_of([wanted])
    if name == "enum":
        return _one_of(wanted)
    if name == "minimum":
        return lambda value: not _is_number(value) or value >= wanted
    if name == "maximum":
        return lambda value: not _is_number(value) or value <= wanted
    if name == "maxProperties":
        return lambda value: not isinstance(value, dict) or len(value) <= wanted
    if name == "required":
        names = frozenset(wanted)
        return lambda value: not isinstance(value, dict) or names <= value.keys()
    if name == "properties":
        return _properties({key: _acceptance(each, made) for key, each in wanted.items()})
    if name == "additionalProperties":
        return _others(frozenset(schema.get("properties", ())), _acceptance(wanted, made))
    if name == "items":
        return _items(_acceptance(wanted, made))
    if name == "allOf":
        return _all_of([_acceptance(each, made) for each in wanted])
    if name == "anyOf":
        return _any_of([_acceptance(each, made) for each in wanted])
    if name == "if":
        condition, then = _acceptance(wanted, made), _acceptance(schema.get("then", True), made)
        if "else" not in schema and _is_exact(wanted):
            return lambda value: not condition(value) or then(value)
    return lambda value: False


def _of_type(wanted: str | list[str]) -> Accepts:
    if isinstance(wanted, str):
        return _TYPES[wanted]
    return _any_of([_TYPES[each] for each in wanted])


def _one_of(wanted: list[Any]) -> Accepts:
    if not _are_scalars(wanted):
        return lambda value: False
    values = frozenset(wanted)
    return lambda value: (isinstance(value, str) or _is_number(value)) and value in values


def _are_scalars(values: list[Any]) -> bool:
    return all(isinstance(value, str) or _is_number(value) for value in values)


def _properties(members: Mapping[str, Accepts]) -> Accepts:
    def accepts(value: Any) -> bool:
        if isinstance(value, dict):
            for name, content in value.items():
                check = members.get(name)
                if check is not None and not check(content):
                    return False
        return True

    return accepts


def _others(known: frozenset[str], check: Accepts) -> Accepts:
    return lambda value: (
        not isinstance(value, dict)
        or all(check(content) for name, content in value.items() if name not in known)
    )


def _items(check: Accepts) -> Accepts:
    return lambda value: not isinstance(value, list) or all(map(check, value))


def _any_of(checks: list[Accepts]) -> Accepts:
    return lambda value: any(check(value) for check in checks)


def _is_exact(schema: Any) -> bool:
    """Whether the function of a schema also says no rightly: a condition must be told both ways."""
    if isinstance(schema, bool):
        return True
    exact = {"type", "const", "enum", "required", "properties"} | _ANNOTATIONS
    values = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
    return (
        exact.issuperset(schema)
        and _are_scalars(values)
        and all(map(_is_exact, schema.get("properties", {}).values()))
    )
