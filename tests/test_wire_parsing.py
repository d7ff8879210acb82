"""JSON from strangers: a value or a sentence, never an exception."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.wire.parsing import DEEPEST, Parsed, dump_json, parse_json


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (b"", "empty"),
        (" \r\n", "empty"),
        ("NaN", "not JSON"),
        ('{"a": Infinity}', "not JSON"),
        ('{"a": -Infinity}', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("{", "not JSON"),
        ('{"a": 1} {"b": 2}', "not JSON"),
        ('{"a": 1,}', "not JSON"),
        ('"\x01"', "not JSON"),
        ("\ufeff{}", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b'{"a": "\xff"}', "not UTF-8 (byte 7)"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 3_000 + "]" * 3_000, "nested too deeply"),
        ('{"a":' * 200 + "1" + "}" * 200, "nested too deeply"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested too deeply"),
        ("9" * 5_000, "too large"),
        ("-" + "9" * 5_000, "too large"),
        ("1e999", "too large"),
        ('{"ttlMs": -1e999}', "too large"),
    ],
)
def test_what_cannot_be_read_is_told(text: str | bytes, problem: str) -> None:
    parsed = parse_json(text)
    assert problem in parsed.problem
    assert parsed.value is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (" {} ", {}),
        (b'{"a": "\xc3\xa9"}', {"a": "é"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('"\\ud800"', "\ud800"),
        ('"\\ud83c\\udf88"', "🎈"),
        ("9" * 400, int("9" * 400)),
        ("1e-999", 0.0),
        ('{"__proto__": {"a": 1}}', {"__proto__": {"a": 1}}),
        ("[" * DEEPEST + "]" * DEEPEST, json.loads("[" * DEEPEST + "]" * DEEPEST)),
        ('"' + "[" * 1000 + '"', "[" * 1000),
    ],
)
def test_what_json_allows_is_read(text: str | bytes, value: object) -> None:
    assert parse_json(text) == Parsed(value)


@pytest.mark.parametrize(
    ("text", "limited"),
    [
        ("[" * 200 + "]" * 200, True),
        ("9" * 5_000, True),
        ("1e400", True),
        ("NaN", False),
        ("{", False),
        ("", False),
        (b"\xff", False),
        ("{}", False),
    ],
)
def test_a_limit_of_ours_is_told_from_what_is_no_json(text: str | bytes, limited: bool) -> None:
    assert parse_json(text).limited is limited


def test_wide_is_not_deep() -> None:
    assert parse_json(json.dumps([[]] * 10_000)).value == [[]] * 10_000


@given(st.one_of(st.binary(), st.text(alphabet='[]{}",:0123456789eE+-.truefalsnN\\ud8\ufeff')))
def test_nothing_raises(data: bytes | str) -> None:
    parsed = parse_json(data)
    assert parsed.problem == "" or parsed.value is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
def test_what_is_written_is_read_again(value: object) -> None:
    assert parse_json(dump_json(value)) == Parsed(value)


@given(st.text(), st.sampled_from(["\ud800", "\udfff", "\udc80"]), st.text())
def test_lone_surrogates_are_written_as_escapes(before: str, lone: str, after: str) -> None:
    # A surrogate that finds its other half is a character of its own, and none is lone.
    value = {"a": before.replace("\ud800", "") + " " + lone + " " + after}
    text = dump_json(value)
    text.encode("utf-8")
    assert parse_json(text) == Parsed(value)


def test_what_is_nested_too_deeply_is_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Running out of stack in the decoder can end the whole process."""

    class Untouched:
        def decode(self, text: str) -> None:
            raise AssertionError("it was decoded")

    monkeypatch.setattr("conformance.wire.parsing._DECODER", Untouched())
    assert parse_json("[" * 100_000).problem.startswith("nested too deeply")
    assert parse_json('{"a":' * 200).problem.startswith("nested too deeply")


def test_brackets_in_strings_nest_nothing() -> None:
    for text in ('["' + "[" * 1000 + '"]', '{"a":"\\"' + "{" * 1000 + '"}', '["\\\\",' * 100 + "1"):
        assert not parse_json(text).problem.startswith("nested")
