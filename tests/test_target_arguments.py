"""Arguments made from a stranger's inputSchema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.target.arguments import CannotFill, arguments_for

MARKER = "conformance-7"


def one(schema: object) -> Any:
    """What a required argument of this schema is filled with."""
    whole = {"type": "object", "properties": {"it": schema}, "required": ["it"]}
    return arguments_for(whole, MARKER)["it"]


def check(schema: dict[str, Any], value: object) -> None:
    validator = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    validator.validate(value)


# ---- examples ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, MARKER),
        ({}, MARKER),
        (True, MARKER),
        ({"title": "Anything"}, MARKER),
        ({"type": "integer"}, 1),
        ({"type": "number"}, 1),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "object"}, {}),
        ({"type": ["null", "integer"]}, 1),
        ({"type": ["null"]}, None),
        ({"const": {"a": [1]}}, {"a": [1]}),
        ({"type": "string", "default": "red"}, "red"),
        ({"type": "string", "default": None}, MARKER),
        ({"type": "integer", "minimum": 5, "default": 2}, 5),
        ({"type": "string", "examples": ["first", "second"]}, "first"),
        ({"type": "string", "examples": "not a list"}, MARKER),
        ({"enum": ["north", "south"]}, "north"),
        ({"type": "string", "enum": [None, "south"]}, "south"),
        ({"type": "string", "minLength": 20}, MARKER + "x" * 7),
        ({"type": "string", "maxLength": 4}, "conf"),
        ({"type": "string", "maxLength": 0}, ""),
        ({"type": "string", "minLength": 2.0}, MARKER),
        ({"type": "string", "format": "unheard-of"}, MARKER),
        ({"type": "string", "pattern": "^(a+)+$"}, MARKER),
        ({"type": "string", "pattern": "("}, MARKER),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "minimum": 1.5}, 2),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "exclusiveMinimum": 1}, 2),
        ({"type": "integer", "exclusiveMaximum": 1}, 0),
        ({"type": "integer", "minimum": 2**60 + 1}, 2**60 + 1),
        ({"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
        ({"type": "integer", "maximum": -7, "multipleOf": 5}, -10),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 2),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "maximum": 0.25}, 0),
        ({"type": "number", "minimum": 0.25, "maximum": 0.5}, 0.25),
        ({"type": "number", "multipleOf": 0.5, "minimum": 1.25}, 1.5),
        ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [1, 1]),
        ({"type": "array", "minItems": 2, "prefixItems": [{"const": "a"}]}, ["a", MARKER]),
        ({"type": "array", "minItems": 2, "items": [{"const": "a"}, {"const": 2}]}, ["a", 2]),
        (
            {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "integer"}},
            [1, 2, 3],
        ),
        (
            {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": ["a", "b"]}},
            ["a", "b"],
        ),
        (
            {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"type": "string"}},
            [MARKER, f"{MARKER}-1"],
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 1),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, None),
        ({"oneOf": [False, {"type": "boolean"}]}, True),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}, "a"),
        ({"type": "integer", "anyOf": [{"minimum": 10}]}, 10),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}, {"minimum": 5}]}, 5),
        ({"allOf": [{"type": "number"}, {"type": "integer", "minimum": 2.5}]}, 3),
        ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, "b"),
        (
            {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]},
            {"a": 1},
        ),
        (
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"minimum": 2}},
                "allOf": [{"properties": {"a": {"type": "integer"}, "b": {"const": 3}}}],
                "anyOf": [{"required": ["b"]}],
            },
            {"a": 2, "b": 3},
        ),
        ({"type": "object", "minProperties": 1, "properties": {"a": {"const": 1}}}, {"a": 1}),
        ({"type": "object", "required": ["a"], "additionalProperties": {"const": 1}}, {"a": 1}),
        ({"type": "object", "required": ["a", 7, None]}, {"a": MARKER}),
    ],
)  # fmt: skip
def test_the_plainest_value(schema: object, value: object) -> None:
    filled = one(schema)
    assert filled == value
    assert type(filled) is type(value)


@pytest.mark.parametrize(
    "name",
    ["date", "date-time", "time", "duration", "email", "uri", "uuid", "ipv4", "ipv6", "hostname"],
)
def test_formats(name: str) -> None:
    schema = {"type": "string", "format": name}
    check(schema, one(schema))


@pytest.mark.parametrize(
    "schema",
    [{}, True, {"type": "object"}, {"properties": {"a": {}}}, {"type": "object", "required": []}],
)
def test_what_wants_nothing_gets_nothing(schema: object) -> None:
    assert arguments_for(schema) == {}


def test_only_what_is_required_is_filled() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {"default": 5}}, "required": ["a"]}
    assert arguments_for(schema) == {"a": 1}


def test_the_same_schema_gives_the_same_arguments() -> None:
    schema = {"allOf": [{"properties": {name: {} for name in "abcdef"}}] * 2, "required": ["a"]}
    assert all(arguments_for(schema) == arguments_for(schema) for _ in range(5))


# ---- references ----------------------------------------------------------------------------


def test_references_are_followed() -> None:
    schema = {
        "type": "object",
        "properties": {"it": {"$ref": "#/$defs/a"}, "deep": {"$ref": "#/$defs/b~1c%20d/anyOf/1"}},
        "required": ["it", "deep"],
        "$defs": {
            "a": {"$ref": "#/$defs/color"},
            "color": {"enum": ["red"]},
            "b/c d": {"anyOf": [{"const": 1}, {"const": 2}]},
        },
    }
    assert arguments_for(schema) == {"it": "red", "deep": 2}


def test_what_stands_beside_a_reference_counts() -> None:
    schema = {
        "properties": {"it": {"$ref": "#/$defs/number", "minimum": 4}},
        "required": ["it"],
        "$defs": {"number": {"type": "integer"}},
    }
    assert arguments_for(schema) == {"it": 4}


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/schema.json",
        "http://127.0.0.1:1/schema.json#/a",
        "file:///etc/passwd",
        "other.json",
        "#anchor",
        "#/nowhere",
        "#/required/7",
        "#/required/x",
        "",
        7,
        None,
        {"a": 1},
    ],
)
def test_references_to_elsewhere_are_not_followed(
    reference: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*arguments: object) -> None:
        pytest.fail("it was fetched")

    monkeypatch.setattr("socket.socket.connect", connect)
    with pytest.raises(CannotFill):
        one({"$ref": reference})


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$ref": "#"}, id="itself"),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, id="loop"),
        pytest.param(
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            },
            id="loop-of-two",
        ),
        pytest.param({"allOf": [{"$ref": "#"}]}, id="through-all-of"),
        pytest.param(
            {"properties": {"child": {"$ref": "#"}}, "required": ["child"]}, id="required-child"
        ),
        pytest.param(
            {
                "properties": {name: {"$ref": "#"} for name in "abcdefghij"},
                "required": list("abcdefghij"),
            },
            id="ten-children",
        ),
        pytest.param({"anyOf": [{"$ref": "#"}] * 50}, id="fifty-alternatives"),
        pytest.param(
            {
                "properties": {"c": {"anyOf": [{"$ref": "#"}] * 5}, "d": {"$ref": "#"}},
                "required": ["c", "d"],
            },
            id="alternatives-and-children",
        ),
        pytest.param(
            {
                "properties": {"c": {"type": "array", "minItems": 90, "items": {"$ref": "#"}}},
                "required": ["c"],
            },
            id="items",
        ),
    ],
)
def test_endless_schemas_end(schema: dict[str, Any]) -> None:
    with pytest.raises(CannotFill):
        arguments_for(schema)


def test_recursion_that_may_end_ends() -> None:
    schema = {
        "properties": {"tree": {"$ref": "#/$defs/tree"}},
        "required": ["tree"],
        "$defs": {
            "tree": {
                "anyOf": [
                    {"properties": {"left": {"$ref": "#/$defs/tree"}}, "required": ["left"]},
                    {"type": "null"},
                ]
            }
        },
    }
    arguments = arguments_for(schema)
    check(schema, arguments)


def test_deep_is_told() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        schema = {"properties": {"a": schema}, "required": ["a"]}
    with pytest.raises(CannotFill):
        arguments_for(schema)


# ---- nonsense ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        False,
        None,
        "string",
        7,
        [],
        {"type": "strnig"},
        {"type": 7},
        {"type": {"a": 1}},
        {"type": []},
        {"enum": []},
        {"anyOf": [False]},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "integer", "const": "a"},
        {"type": "string", "minLength": 1_000_000},
        {"type": "string", "minLength": 5, "maxLength": 3},
        {"type": "string", "format": "date", "maxLength": 3},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "integer", "minimum": 0.2, "maximum": 0.8},
        {"type": "array", "minItems": 10**9},
        {"type": "array", "minItems": 3, "maxItems": 1},
        {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}},
        {"type": "array", "minItems": 1, "items": False},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "object", "minProperties": 3},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
    ],
)
def test_what_cannot_be_met_is_told(schema: object) -> None:
    with pytest.raises(CannotFill, match="inputSchema"):
        one(schema)


@pytest.mark.parametrize("schema", [False, None, [], "x", {"type": "string"}, {"const": 7}])
def test_arguments_are_an_object(schema: object) -> None:
    with pytest.raises(CannotFill):
        arguments_for(schema)


WORDS = ["type", "properties", "required", "$ref", "anyOf", "allOf", "items", "minItems", "enum"]
KEYS = st.sampled_from([*WORDS, "minimum", "default", "const", "uniqueItems", "multipleOf", "x"])
LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(
    ["object", "string", "array", "integer", "#", "#/properties/x", "x"]
)  # fmt: skip
NONSENSE = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(NONSENSE)
def test_nonsense_is_filled_or_told(schema: object) -> None:
    try:
        one(schema)
    except CannotFill:
        pass


# ---- what is made is valid -----------------------------------------------------------------


def _sizes(least: str, most: str, top: int) -> st.SearchStrategy[dict[str, Any]]:
    pairs = st.tuples(st.integers(0, top), st.integers(0, top)).map(sorted)
    return st.tuples(pairs, st.booleans(), st.booleans()).map(
        lambda drawn: {
            **({least: drawn[0][0]} if drawn[1] else {}),
            **({most: drawn[0][1]} if drawn[2] else {}),
        }
    )


BOUNDS = st.lists(st.integers(-30, 30) | st.floats(-30, 30), min_size=2, max_size=2).map(sorted)
NUMBERS = st.builds(
    lambda kind, bounds, keys: {
        "type": kind,
        **{key: bounds[0 if "inimum" in key else 1] for key in keys},
    },
    st.sampled_from(["integer", "number"]),
    BOUNDS,
    st.sets(st.sampled_from(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])),
)
STRINGS = _sizes("minLength", "maxLength", 40).map(lambda sizes: {"type": "string", **sizes})
SIMPLE = st.one_of(
    NUMBERS,
    STRINGS,
    st.sampled_from(
        [{"type": "boolean"}, {"type": "null"}, {}, {"enum": [3, "a"]}, {"const": "c"}, True]
    ),
)


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.dictionaries(st.sampled_from("abcd"), inner, max_size=4).flatmap(
        lambda properties: st.builds(
            lambda required, closed: {
                "type": "object",
                "properties": properties,
                "required": sorted(required),
                **({"additionalProperties": False} if closed else {}),
            },
            st.sets(st.sampled_from(sorted(properties))) if properties else st.just(set()),
            st.booleans(),
        )
    )
    arrays = st.builds(
        lambda items, sizes, unique: {"type": "array", "items": items, **sizes, **unique},
        inner,
        _sizes("minItems", "maxItems", 4),
        st.sampled_from([{}, {"uniqueItems": True}]),
    )
    unions = st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches})
    both = st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"allOf": parts})
    return objects | arrays | unions | both


@given(st.recursive(SIMPLE, _larger, max_leaves=8))
def test_what_is_made_is_valid(schema: Any) -> None:
    try:
        value = one(schema)
    except CannotFill:
        return
    check({"properties": {"it": schema}}, {"it": value})


@given(st.one_of(STRINGS, SIMPLE))
def test_what_is_simple_can_be_made(schema: Any) -> None:
    numbers = isinstance(schema, dict) and schema.get("type") in ("integer", "number")
    try:
        value = one(schema)
    except CannotFill:
        # Bounds that leave no room, and nothing else.
        assert numbers
        return
    check({"properties": {"it": schema}}, {"it": value})


@pytest.mark.parametrize("least", [-1, -(10**30), 10**30])
def test_a_number_of_items_that_cannot_be(least: int) -> None:
    with pytest.raises(CannotFill, match="too many items"):
        one({"type": "array", "minItems": least})
