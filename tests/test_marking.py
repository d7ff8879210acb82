"""Markers in the arguments of calls."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.target.marking import marked

MARKER = "07-conformance"


def marked_text(part: dict[str, Any], value: object = "hello") -> Any:
    schema = {"type": "object", "properties": {"text": part}}
    return marked(schema, {"text": value}, MARKER)["text"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string"},
        {"type": "string", "default": "hello", "examples": ["hello"], "description": "What."},
        {"type": ["string", "null"]},
        {"type": "string", "minLength": 2, "maxLength": 100},
    ],
)
def test_a_free_text_becomes_the_marker(part: dict[str, Any]) -> None:
    assert marked_text(part) == MARKER


def test_the_marker_fits_the_lengths() -> None:
    assert marked_text({"type": "string", "maxLength": 5}) == MARKER[:5]
    long = marked_text({"type": "string", "minLength": 20})
    assert long.startswith(MARKER)
    assert len(long) == 20


@pytest.mark.parametrize(
    "part",
    [
        {"enum": ["hello"], "type": "string"},
        {"const": "hello"},
        {"type": "string", "format": "email"},
        {"type": "string", "pattern": "^h"},
        {"$ref": "#/$defs/text"},
        {"type": "integer"},
        {},
    ],
)
def test_other_texts_stay(part: dict[str, Any]) -> None:
    assert marked_text(part) == "hello"


def test_other_values_and_arguments_without_schema_stay() -> None:
    assert marked_text({"type": "string"}, 5) == 5
    assert marked({}, {"text": "hello"}, MARKER) == {"text": "hello"}
    assert marked(True, {"text": "hello"}, MARKER) == {"text": "hello"}
