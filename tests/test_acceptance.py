"""The quick yes and the thorough validator say the same of every value."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.specification.acceptance import acceptance
from conformance.specification.schemas import (
    compiled,
    definitions,
    explained,
    messages,
    problems,
    validator,
)
from fixtures.messages.make import FOLDER

REVISION = "2026-07-28"
EXAMPLES: list[tuple[str, Any]] = [
    (example["message"], example["value"])
    for file in sorted(FOLDER.glob("*.jsonl"))
    for example in map(json.loads, file.read_text(encoding="utf-8").splitlines())
]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 1.5, 1e300])
    | st.sampled_from(["", "a", "text", "task", "complete", "working"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "type", "status"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def is_right(message: str, value: object) -> bool:
    return not explained(validator(REVISION, message), value)


def test_every_example_is_judged_alike() -> None:
    accepts = {name: acceptance(definitions(REVISION)[name]) for name in messages(REVISION)}
    for name, value in EXAMPLES:
        assert accepts[name](value) == is_right(name, value), (name, value)


def test_right_examples_are_accepted_at_once() -> None:
    """Else the way that is quick would be no way at all."""
    right = [(name, value) for name, value in EXAMPLES if is_right(name, value)]
    assert len(right) > 50
    for name, value in right:
        assert acceptance(definitions(REVISION)[name])(value)
        assert problems(REVISION, name, value) == []


@settings(max_examples=300)
@given(data=st.data())
def test_a_changed_example_is_judged_alike(data: st.DataObject) -> None:
    name, value = data.draw(st.sampled_from(EXAMPLES))
    changed = copy.deepcopy(value)
    places = list(_places(changed))
    if places:
        container, key = data.draw(st.sampled_from(places))
        if isinstance(container, dict) and data.draw(st.booleans()):
            del container[key]
        else:
            container[key] = data.draw(json_values)
    assert acceptance(definitions(REVISION)[name])(changed) == is_right(name, changed)


def _places(value: Any) -> Any:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


@pytest.mark.parametrize(
    "schema",
    [
        True,
        False,
        {},
        {"type": "integer"},
        {"type": ["string", "null"]},
        {"const": "a"},
        {"const": 1},
        {"enum": ["a", 1]},
        {"minimum": 1},
        {"maximum": 1},
        {"maxProperties": 1},
        {"required": ["a"], "properties": {"a": {"type": "string"}}},
        {"properties": {"a": True}, "additionalProperties": {"type": "string"}},
        {"additionalProperties": False},
        {"items": {"type": "string"}},
        {"allOf": [{"type": "number"}, {"minimum": 0}]},
        {"anyOf": [{"title": "a", "type": "string"}, {"title": "b", "type": "null"}]},
        {"if": {"properties": {"a": {"const": "a"}}}, "then": {"required": ["b"]}},
        {"if": {"type": "object"}, "then": {"required": ["b"]}},
    ],
    ids=json.dumps,
)
@settings(max_examples=60)
@given(value=json_values)
def test_each_keyword_is_judged_alike(schema: Any, value: Any) -> None:
    assert acceptance(schema)(value) == (not list(compiled(schema).iter_errors(value)))


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a"},
        {"oneOf": [True]},
        {"const": None},
        {"if": True, "then": True, "else": False},
        {"if": {"pattern": "a"}, "then": False},
    ],
    ids=json.dumps,
)
def test_what_is_not_known_is_left_to_the_validator(schema: dict[str, Any]) -> None:
    assert not acceptance(schema)("a")
