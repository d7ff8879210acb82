"""Arguments for a stranger's tool, made from its inputSchema alone.

Only what is required is filled in: from ``const``, ``default``, ``examples`` or ``enum``
where the schema gives them, else with the plainest value that its type and bounds allow. The
schema is a stranger's too: nothing is fetched, its patterns are never run, and its recursion
and size are bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeGuard
from urllib.parse import unquote

from conformance.target.merging import ALL_TYPES, CannotFill, merged, types_of

__all__ = ["CannotFill", "arguments_for"]

_DEEPEST = 12
# Schemas that refer to themselves in several places would go on for years.
_MOST_VALUES = 2_000
_MOST_ITEMS = 100
_LONGEST_TEXT = 10_000

_TEXT_OF_FORMAT = {
    "date": "2026-07-28",
    "date-time": "2026-07-28T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1S",
    "email": "conformance@example.com",
    "uri": "https://example.com/conformance",
    "uuid": "6f1f64ae-3c1c-4c0b-8a4e-8f8c8f0f2b11",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "hostname": "example.com",
}
_UNIONS = ("oneOf", "anyOf")


def arguments_for(schema: object, marker: str = "conformance") -> dict[str, Any]:
    """Arguments that a tool with this inputSchema accepts, as far as can be told.

    ``marker`` is the text used where any text will do, so that it can be found again in a
    result. Raises ``CannotFill``.
    """
    value = _Filler(schema, marker).value({"type": "object"} if schema is True else schema)
    if not isinstance(value, dict):
        raise CannotFill("its inputSchema does not describe an object")
    return value


class _Filler:
    """Makes values for parts of one schema; ``root`` is what ``$ref`` refers into."""

    def __init__(self, root: object, marker: str) -> None:
        self._root = root
        self._marker = marker
        self._left = _MOST_VALUES

    def value(self, schema: object, depth: int = 0) -> Any:
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            raise CannotFill("its inputSchema nests or refers to itself too deeply")
        flat = self._flat(schema)
        for suggested in _given(flat, ("default", "examples")):
            if _fits(suggested, flat):
                return suggested
        for union in _UNIONS:
            branches = flat.get(union)
            if isinstance(branches, list) and branches:
                rest = {key: part for key, part in flat.items() if key != union}
                return self._first_that_can(rest, branches, depth)
        for allowed in _given(flat, ("const", "enum")):
            if _fits(allowed, flat):
                return allowed
        if "const" in flat or "enum" in flat:
            raise CannotFill("its inputSchema contradicts itself")
        return self._of_type(flat, depth)

    def _first_that_can(self, rest: dict[str, Any], branches: list[Any], depth: int) -> Any:
        for branch in branches:
            try:
                return self.value(merged(rest, self._flat(branch)), depth + 1)
            except CannotFill:
                continue
        raise CannotFill("none of the alternatives in its inputSchema can be met")

    # ---- one schema without references -------------------------------------------------

    def _flat(self, schema: object, steps: int = 0) -> dict[str, Any]:
        """The schema with its ``$ref`` and ``allOf`` put in their places."""
        if steps > _DEEPEST:
            raise CannotFill("its inputSchema refers to itself")
        if schema is True:
            return {}
        if not isinstance(schema, Mapping):
            raise CannotFill("its inputSchema cannot be met")
        flat = {key: part for key, part in schema.items() if key not in ("$ref", "allOf")}
        if "$ref" in schema:
            flat = merged(flat, self._flat(self._resolved(schema["$ref"]), steps + 1))
        for part in schema["allOf"] if isinstance(schema.get("allOf"), list) else ():
            flat = merged(flat, self._flat(part, steps + 1))
        return flat

    def _resolved(self, reference: object) -> object:
        if not isinstance(reference, str) or not (reference + "/").startswith("#/"):
            raise CannotFill(f"its inputSchema refers elsewhere ({str(reference)[:60]!r})")
        found: Any = self._root
        for step in reference.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and name in found:
                found = found[name]
            elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            else:
                raise CannotFill(f"its inputSchema refers to nothing ({reference[:60]!r})")
        return found

    # ---- values by type ----------------------------------------------------------------

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        kinds = types_of(schema)
        if kinds == ALL_TYPES:
            kinds = ("object",) if depth == 0 or "properties" in schema else ("string",)
        kind = next((kind for kind in kinds if kind != "null"), "null")
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind == "string":
            return _text(schema, self._marker)
        if kind in ("integer", "number"):
            return _number(schema, whole=kind == "integer")
        return True if kind == "boolean" else None

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required")
        names = [n for n in required if isinstance(n, str)] if isinstance(required, list) else []
        least = _whole(schema.get("minProperties"), 0)
        more = [n for n in properties if n not in names][: max(least - len(set(names)), 0)]
        others = schema.get("additionalProperties", True)
        filled = {n: self.value(properties.get(n, others), depth + 1) for n in [*names, *more]}
        if len(filled) < least:
            raise CannotFill("its inputSchema wants more members than it names")
        return filled

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        least = _whole(schema.get("minItems"), 0)
        if not 0 <= least <= min(_MOST_ITEMS, _whole(schema.get("maxItems"), least)):
            raise CannotFill("its inputSchema wants too many items")
        first, rest = schema.get("prefixItems"), schema.get("items", True)
        if isinstance(rest, list):  # as prefixItems was written before 2020-12
            first, rest = rest, schema.get("additionalItems", True)
        parts = [*(first if isinstance(first, list) else ()), *[rest] * least][:least]
        items = [self.value(part, depth + 1) for part in parts]
        if schema.get("uniqueItems") is True:
            for index, part in enumerate(parts):
                items[index] = self._another(items, index, part, depth)
        return items

    def _another(self, items: list[Any], index: int, part: object, depth: int) -> Any:
        """The item, or one like it that none of those before it is."""
        item = items[index]
        schema = {k: v for k, v in self._flat(part).items() if k not in ("default", "examples")}
        like: list[Any] = [item, *_given(schema, ("enum",))]
        if isinstance(item, str):
            like.append(f"{item}-{index}")
        elif _is_number(item):
            like += [item + index, item - index]
        for candidate in like:
            if candidate not in items[:index] and self._allows(candidate, schema, depth):
                return candidate
        raise CannotFill("its inputSchema wants items that all differ")

    def _allows(self, candidate: Any, schema: dict[str, Any], depth: int) -> bool:
        try:
            chosen = self.value(merged({"const": candidate}, schema), depth + 1)
        except CannotFill:
            return False
        return bool(chosen == candidate)


def _given(schema: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Any]:
    """The values that a schema itself gives under these keys."""
    for key in keys:
        if key in ("const", "default") and key in schema:
            yield schema[key]
        elif isinstance(schema.get(key), list):
            yield from schema[key]


def _text(schema: Mapping[str, Any], marker: str) -> str:
    least = _whole(schema.get("minLength"), 0)
    most = _whole(schema.get("maxLength"), _LONGEST_TEXT)
    known = _TEXT_OF_FORMAT.get(str(schema.get("format")))
    text = known or marker.ljust(min(least, _LONGEST_TEXT), "x")[: max(most, 0)]
    if not least <= len(text) <= most:
        raise CannotFill("its inputSchema wants a text that is too long or of no length")
    return text


def _number(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    step = schema.get("multipleOf")
    step = Fraction(step) if _is_number(step) and step > 0 else None
    for candidate in _candidates(schema, step):
        number: int | float = float(candidate)
        if candidate.denominator == 1:
            number = int(candidate)
        elif whole:
            continue
        if _within(number, schema):
            return number
    raise CannotFill("its inputSchema wants a number that is not to be found")


def _candidates(schema: Mapping[str, Any], step: Fraction | None) -> Iterator[Fraction]:
    """Numbers worth a try: 1 where it may be, else something at the bounds or between."""
    keys = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    bounds = [Fraction(schema[key]) for key in keys if _is_number(schema.get(key))]
    near = [Fraction(1), Fraction(0)]
    for bound in bounds:
        near += [bound, Fraction(math.ceil(bound)), Fraction(math.floor(bound))]
        near += [Fraction(math.floor(bound) + 1), Fraction(math.ceil(bound) - 1)]
    near += [(one + other) / 2 for one in bounds for other in bounds if one < other]
    for number in near:
        if step is None:
            yield number
        else:
            yield math.ceil(number / step) * step
            yield math.floor(number / step) * step


# ---- checks --------------------------------------------------------------------------------


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value meets what a schema says of its type, size and choice. Patterns,
    formats and what is inside are not looked at."""
    if not any(_is_of(value, kind) for kind in types_of(schema)):
        return False
    if "const" in schema and schema["const"] != value:
        return False
    if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
        return False
    if _is_number(value):
        return _within(value, schema)
    required = schema.get("required")
    if (
        isinstance(value, dict)
        and isinstance(required, list)
        and not all(name in value for name in required if isinstance(name, str))
    ):
        return False
    for kind, least, most in (
        (str, "minLength", "maxLength"),
        (list, "minItems", "maxItems"),
        (dict, "minProperties", "maxProperties"),
    ):
        if isinstance(value, kind):
            size = len(value)
            return _whole(schema.get(least), 0) <= size <= _whole(schema.get(most), size)
    return True


def _is_of(value: Any, kind: str) -> bool:
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in ("integer", "number"):
        return _is_number(value) and (kind == "number" or value == int(value))
    return isinstance(value, {"string": str, "array": list, "object": dict}[kind])


def _within(number: int | float, schema: Mapping[str, Any]) -> bool:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if above is True:  # as it was written before draft 6
        above = low
    if below is True:
        below = high
    step = schema.get("multipleOf")
    return (
        not (_is_number(low) and number < low)
        and not (_is_number(high) and number > high)
        and not (_is_number(above) and number <= above)
        and not (_is_number(below) and number >= below)
        and not (_is_number(step) and step > 0 and Fraction(number) % Fraction(step) != 0)
    )


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object, otherwise: int) -> int:
    return int(value) if _is_number(value) and value == int(value) else otherwise
