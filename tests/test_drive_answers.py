"""Answers to what a task asks."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.drive.answers import CANCEL, DECLINE, answer_to, answers_to

MARKER = "marker-7"


def form(**schema: Any) -> dict[str, Any]:
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "?", "requestedSchema": schema},
    }


def test_a_form_is_filled_whole_and_with_the_marker() -> None:
    asked = form(
        type="object",
        properties={
            "name": {"type": "string", "default": "hidden"},
            "age": {"type": "integer", "minimum": 18},
            "ok": {"type": "boolean", "default": False},
            "mail": {"type": "string", "format": "email"},
            "color": {"type": "string", "enum": ["red", "green"], "default": "green"},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
            "short": {"type": "string", "maxLength": 4},
            "many": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1},
            "there": {"$ref": "#/$defs/there"},
        },
        required=["name"],
        **{"$defs": {"there": {"const": "elsewhere"}}},
    )
    assert answer_to(asked, MARKER) == {
        "action": "accept",
        "content": {
            "name": MARKER,
            "age": 18,
            "ok": True,
            "mail": "conformance@example.com",
            "color": "red",
            "size": "s",
            "short": "mark",
            "many": ["a"],
            "there": "elsewhere",
        },
    }


def test_what_cannot_be_filled_is_left_out() -> None:
    asked = form(properties={"a": {"type": "unheard-of"}, "b": {"type": "string"}})
    assert answer_to(asked, MARKER)["content"] == {"b": MARKER}


@pytest.mark.parametrize("action", [DECLINE, CANCEL])
def test_refusing(action: str) -> None:
    assert answer_to(form(properties={"a": {}}), MARKER, action) == {"action": action}


@pytest.mark.parametrize("schema", [None, 7, [], {}, {"properties": 7}])
def test_forms_without_fields(schema: object) -> None:
    asked = {"method": "elicitation/create", "params": {"requestedSchema": schema}}
    assert answer_to(asked, MARKER) == {"action": "accept", "content": {}}


def test_an_address_to_visit_is_accepted_without_content() -> None:
    asked = {"method": "elicitation/create", "params": {"mode": "url", "url": "https://a/"}}
    assert answer_to(asked, MARKER) == {"action": "accept"}


def test_sampling_and_roots() -> None:
    sampled = answer_to({"method": "sampling/createMessage", "params": {}}, MARKER)
    assert sampled["content"] == {"type": "text", "text": MARKER}
    assert sampled["role"] == "assistant"
    assert answer_to({"method": "roots/list"}, MARKER, DECLINE)["roots"][0]["name"] == MARKER


@pytest.mark.parametrize("asked", [None, 7, "x", [], {}, {"method": 7}, {"params": []}])
def test_odd_requests_are_answered_somehow(asked: object) -> None:
    assert answer_to(asked, MARKER) == {"action": "accept", "content": {}}


def test_all_at_once() -> None:
    asked = {"a": form(properties={"x": {}}), "b": {"method": "roots/list"}}
    answers = answers_to(asked, MARKER)
    assert answers.keys() == asked.keys()
    assert answers_to(asked, MARKER, DECLINE)["a"] == {"action": "decline"}
    assert answers_to(None) == answers_to([]) == answers_to({}) == {}
