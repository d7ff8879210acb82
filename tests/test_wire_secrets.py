"""Secrets are replaced in every form, and what is no secret stays as it is."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.wire.exchange import Fault
from conformance.wire.parsing import parse_json
from conformance.wire.secrets import MASK, Redactor, secrets_of_url, without_credentials
from conformance.wire.sse import Event
from tests import builders

SECRET = 's3cr3t+/="\\&<key>~-9f86d081'
HEADER = f"Bearer {SECRET}"


def _base64(before: str = "", after: str = "") -> Callable[[str], str]:
    return lambda secret: base64.b64encode(f"{before}{secret}{after}".encode()).decode()


FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda secret: secret,
    "in-a-word": lambda secret: f"x{secret}y",
    "whole-value": lambda secret: f"Bearer {secret}",
    "url": lambda secret: quote(secret, safe=""),
    "url-with-slashes": quote,
    "url-plus": quote_plus,
    "url-lower-case": lambda secret: quote(secret, safe="").replace("%2B", "%2b"),
    "json": lambda secret: json.dumps(secret),
    "json-slashes": lambda secret: json.dumps(secret).replace("/", "\\/"),
    "html": html.escape,
    "base64": _base64(),
    "base64-unpadded": lambda secret: _base64()(secret).rstrip("="),
    "base64-url": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "base64-after-1": _base64("a"),
    "base64-after-2": _base64("ab", "tail"),
    "base64-after-3": _base64("abc", "tail"),
    "base64-of-the-header": _base64("Authorization: Bearer "),
}


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_secret_is_left(form: str) -> None:
    redactor = Redactor([HEADER])
    there = FORMS[form](SECRET)
    masked = redactor.text(f"before {there} after")
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert MASK in masked
    assert there not in masked
    assert SECRET not in masked
    assert redactor.data(f"before {there} after".encode()) == masked.encode()


# A secret of digits alone is left where it is a number of a message: see below.
TOKENS = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=";,"), min_size=11
).map(lambda text: f"k{text}")


@given(TOKENS, st.sampled_from(sorted(FORMS)), st.binary(max_size=4), st.text(max_size=4))
def test_whatever_the_secret_is(token: str, form: str, before: bytes, after: str) -> None:
    redactor = Redactor([f"Bearer {token}"])
    body = before + FORMS[form](token).encode() + after.encode("utf-8", "replace")
    assert token.encode() not in redactor.data(body)
    assert base64.b64encode(token.encode()) not in redactor.data(body)


@given(TOKENS)
def test_a_message_stays_json(token: str) -> None:
    message = {"said": f"you are {token}", token: [token, {"status": "working"}], "n": 12345678}
    redactor = Redactor([f"Bearer {token}"])
    parsed = parse_json(redactor.text(json.dumps(message)))
    assert parsed.problem == ""
    assert parsed.value["n"] == 12345678


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("Bearer abcdefgh", ["abcdefgh"]),
        ("Basic " + base64.b64encode(b"alice:wonderland").decode(), ["wonderland"]),
        ("Basic " + base64.b64encode(b"sk-live-key:").decode(), ["sk-live-key"]),
        ("session=abcd1234; theme=darkmode9", ["abcd1234", "darkmode9"]),
        ('Digest username="Mufasa77", response="6629fae49393"', ["Mufasa77", "6629fae49393"]),
        ("k9", []),
        ("plain-key-without-scheme", ["plain-key-without-scheme"]),
    ],
)
def test_the_parts_of_a_value_are_secrets_too(value: str, parts: list[str]) -> None:
    redactor = Redactor([value])
    for part in parts:
        assert redactor.text(f'{{"echo": "{part}"}}') == f'{{"echo": "{MASK}"}}'


@pytest.mark.parametrize(
    "value",
    ["task", "Bearer working", "2026-07-28", "1234", "application/json", "true", "input_required"],
)
def test_words_of_the_protocol_are_no_secrets(value: str) -> None:
    message = (
        '{"resultType":"task","status":"working","createdAt":"2026-07-28T12:34:56Z","a":1234,'
        '"b":true,"c":"input_required"}'
    )
    redactor = Redactor([value], ["X-Kind"])
    assert redactor.text(message) == message
    assert redactor.headers((("x-kind", value),)) == (("x-kind", MASK),)


@pytest.mark.parametrize(
    ("secret", "text", "masked"),
    [
        ("alice", '{"owner":"alice","malice":1}', '{"owner":"***","malice":1}'),
        ("12345678", '{"a":12345678,"b":"12345678"}', '{"a":12345678,"b":"***"}'),
        ("12345678", "[12345678, 12345678]", "[12345678, 12345678]"),
        ("12345678", '{"at":1.12345678}', '{"at":1.12345678}'),
    ],
)
def test_short_secrets_are_words_and_numbers_stay(secret: str, text: str, masked: str) -> None:
    assert Redactor([secret]).text(text) == masked


def test_every_part_of_an_exchange_is_masked() -> None:
    exchange = builders.exchange(
        answer={"echo": SECRET},
        headers={"X-Echo": SECRET, "Set-Cookie": "session=unknown-to-us"},
        fault=Fault("redirect", f"to http://elsewhere/?t={quote(SECRET, safe='')}"),
        notes={"seen": [SECRET, {SECRET: 1}]},
        edit=lambda draft: draft.with_header("Authorization", HEADER).with_param("p", SECRET),
    )
    stream = builders.exchange(events=[Event(1.0, SECRET, SECRET)])
    redactor = Redactor([HEADER], ["Authorization"])
    for each in (exchange, stream):
        masked = redactor.exchange(each)
        assert SECRET not in repr(masked)
        assert quote(SECRET, safe="") not in repr(masked)
        assert json.dumps(SECRET)[1:-1] not in repr(masked)
        assert "unknown-to-us" not in repr(masked)
    assert redactor.exchange(exchange).request_header("authorization") == MASK


def test_an_exchange_without_secrets_is_the_same() -> None:
    exchange = builders.exchange(answer={"a": 1}, notes={"burst": 3})
    assert Redactor([HEADER]).exchange(exchange) == exchange


def test_any_value_can_be_masked() -> None:
    redactor = Redactor([HEADER])
    value = {"a": [SECRET, 1, None, True, 1.5], SECRET: {"b": SECRET}, "t": (SECRET,)}
    masked = {"a": [MASK, 1, None, True, 1.5], MASK: {"b": MASK}, "t": [MASK]}
    assert redactor.value(value) == masked


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/mcp"),
        ("https://alice:pw@host:1/mcp", "https://***@host:1/mcp"),
        ("https://key@host/mcp", "https://***@host/mcp"),
        ("https://a@b@host/mcp", "https://***@host/mcp"),
        ("https://host/mcp?token=abc&v=2", "https://host/mcp?token=***&v=***"),
        ("https://host/mcp?flag", "https://host/mcp?flag"),
        ("http://[::1/?token=abc", "***"),
        ("http://a:b@[::1/", "***"),
        ("http://[::1/", "http://[::1/"),
    ],
)
def test_urls_are_shown_without_credentials(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
    assert Redactor([]).url(url) == shown


def test_the_secrets_of_a_url() -> None:
    url = "https://al%40ice:p%2Fw@host/mcp?token=a%20b&empty=&v=2"
    assert secrets_of_url(url) == ["al@ice", "p/w", "a b", "2"]
    assert secrets_of_url("http://host/mcp") == []
