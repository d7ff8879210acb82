"""Header values that mirror the body, and their Base64 form."""

from __future__ import annotations

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conformance.wire.headers import decoded, encoded, header_value, is_token

# What UTF-8 can carry: no surrogates.
TEXTS = st.text(st.characters(codec="utf-8"))


@given(TEXTS)
@example("=?base64??=")
@example("=?base64?=")
@example("=?base64?PT8=?=")
@example(" padded ")
@example("\t")
@example("")
def test_what_is_encoded_is_decoded(value: str) -> None:
    assert decoded(header_value(value)) == value
    assert decoded(encoded(value)) == value


@given(TEXTS)
def test_only_safe_characters_are_sent(value: str) -> None:
    sent = header_value(value)
    assert sent
    assert sent == sent.strip(" \t")
    assert all(" " <= character <= "~" or character == "\t" for character in sent)


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("us-west1", "us-west1"),
        ("with space", "with space"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ],
)
def test_the_examples_of_the_specification(value: str, sent: str) -> None:
    assert header_value(value) == sent
    assert decoded(sent) == value


@pytest.mark.parametrize(
    "value", ["=?BASE64?YQ==?=", "=?base64?YQ==", "YQ==?=", "=?base64?=", "x=?base64?YQ==?="]
)
def test_what_only_looks_like_the_base64_form_is_itself(value: str) -> None:
    assert decoded(value) == value


@pytest.mark.parametrize("inside", ["!!!", "YQ", "YQ=", "YQ==YQ==", "YQ= =", "_-_-"])
def test_broken_base64_carries_nothing(inside: str) -> None:
    assert decoded(f"=?base64?{inside}?=") is None


def test_base64_that_is_not_utf_8_carries_nothing() -> None:
    assert decoded(f"=?base64?{base64.b64encode(bytes([255])).decode()}?=") is None


def test_a_lone_surrogate_can_be_sent() -> None:
    assert header_value("\ud800") == "=?base64?7aCA?="


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("X-Key", True), ("a_b", True), ("", False), ("a b", False), ("a:b", False), ("é", False)],
)
def test_names_of_headers(name: str, is_one: bool) -> None:
    assert is_token(name) is is_one
