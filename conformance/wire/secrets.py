"""Secrets are replaced before anything is stored, printed or quoted.

A secret is replaced in every form it travels in, and everywhere alike, so that a history
still agrees with itself. What is no secret but a word of the protocol is left alone in
bodies: a token that is called ``task`` must not make nonsense of every message.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

from conformance.wire.exchange import Exchange, Fault, Headers, Seen, Sent
from conformance.wire.sse import Event

MASK = "***"

# Their values are never stored, whoever set them.
_SECRET_HEADERS = {
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "api-key",
    "x-auth-token",
}

# Shorter values are masked in headers and URLs only.
_SHORTEST = 4
# Shorter ones are only masked where they stand as a word of their own.
_LONG = 12
# A shorter piece of Base64 may as well be a piece of something else.
_SHORTEST_PIECE = 8

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_SHORTEST_NUMBER = 8
_DATE = re.compile(r"\d{4}-\d\d-\d\d")

_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        2.0 accept acknowledged action application application/json arguments array base64 boolean
        call cancel cancelled capabilities client clientCapabilities clientInfo code complete
        completed content createdAt cursor data date decline description discover elicitation
        error event extensions failed false form full get http https image input inputRequests
        inputResponses inputSchema input_required integer isError json jsonrpc lastUpdatedAt list
        listen localhost message meta method mode model name no-cache notifications null number
        object params pollIntervalMs progress progressToken properties protocolVersion required
        requestState requests requested resource result resultType role roots sampling server
        serverInfo status statusMessage string subscriptionId subscriptions supported
        supportedVersions task taskId taskIds tasks text text/event-stream text/plain title tool
        tools true ttlMs type update uri user assistant version working
        """,
    )
)


class Redactor:
    """Replaces secrets by ``***``.

    ``values`` are whole header values and the like; their parts (the ``abc`` of
    ``Bearer abc``, the values of cookies) are secrets too. ``header_names`` are headers whose
    values are masked whatever they are.
    """

    def __init__(self, values: Iterable[str], header_names: Iterable[str] = ()) -> None:
        self._header_names = _SECRET_HEADERS | {name.lower() for name in header_names}
        forms: dict[str, re.Pattern[str]] = {}
        for part in {part for value in values for part in _parts(value)}:
            forms.update((form, _matching(form)) for form in _forms(part))
            forms.update((piece, re.compile(re.escape(piece))) for piece in _pieces(part))
        # The longest first, or a part would leave the rest of the whole standing.
        self._forms = sorted(forms.items(), key=lambda item: (-len(item[0]), item[0]))
        self._byte_forms = [
            (form.encode(), re.compile(pattern.pattern.encode())) for form, pattern in self._forms
        ]

    def text(self, text: str) -> str:
        for form, pattern in self._forms:
            if form in text:
                text = pattern.sub(MASK, text)
        return text

    def data(self, data: bytes) -> bytes:
        for form, pattern in self._byte_forms:
            if form in data:
                data = pattern.sub(MASK.encode(), data)
        return data

    def value(self, value: Any) -> Any:
        """Any value of JSON, its member names included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value

    def headers(self, headers: Headers) -> Headers:
        return tuple(
            (name, MASK if name.lower() in self._header_names else self.text(value))
            for name, value in headers
        )

    def url(self, url: str) -> str:
        return self.text(without_credentials(url))

    def exchange(self, exchange: Exchange) -> Exchange:
        """The exchange as it may be stored."""
        sent, seen, fault = exchange.sent, exchange.seen, exchange.fault
        return replace(
            exchange,
            sent=Sent(
                sent.http_method,
                self.url(sent.url),
                self.headers(sent.headers),
                self.data(sent.body),
            ),
            seen=None
            if seen is None
            else Seen(
                seen.status,
                self.headers(seen.headers),
                self.data(seen.body),
                tuple(Event(e.at, self.text(e.data), self.text(e.kind)) for e in seen.events),
                seen.cut,
            ),
            fault=None if fault is None else Fault(fault.kind, self.text(fault.detail)),
            notes=self.value(dict(exchange.notes)),
        )


def without_credentials(url: str) -> str:
    """The URL with ``user:password@`` and the values of its query masked."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK if "@" in url or "?" in url else url
    if "@" in parts.netloc:
        parts = parts._replace(netloc=f"{MASK}@{parts.netloc.rpartition('@')[2]}")
    return urlunsplit(parts._replace(query=re.sub(r"=[^&;]*", f"={MASK}", parts.query)))


def secrets_of_url(url: str) -> list[str]:
    """What in a URL may be a secret: its user, password and the values of its query."""
    parts = urlsplit(url)
    named = [unquote(part) for part in (parts.username, parts.password) if part]
    return [*named, *(value for _, value in parse_qsl(parts.query))]


# ---- parts and forms -----------------------------------------------------------------------


def _parts(value: str) -> set[str]:
    """The value and what in it is a secret by itself."""
    words = [word for word in re.split(r"[\s;,]+", value) if word]
    if len(words) > 1:
        words = words[1:] if "=" not in words[0] else words  # the scheme: Bearer, Basic
    parts = {value, *words}
    for word in words:
        _, equals, right = word.partition("=")
        if equals:
            parts.add(right.strip("\"'"))
        parts |= _credentials(word)
    return {part for part in parts if len(part) >= _SHORTEST and not _is_plain(part)}


def _credentials(word: str) -> set[str]:
    """``user:password`` and the password, where the word is their Base64 form."""
    try:
        decoded = base64.b64decode(word, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return set()
    user, colon, password = decoded.partition(":")
    if not colon or not decoded.isprintable():
        return set()
    # A user without a password is a key that came as a user.
    return {decoded, password or user}


def _is_plain(part: str) -> bool:
    """Whether it is an ordinary word of messages: no secret worth the name."""
    if part in _WORDS or _DATE.fullmatch(part):
        return True
    return bool(_NUMBER.fullmatch(part)) and len(part) < _SHORTEST_NUMBER


def _forms(secret: str) -> set[str]:
    """The secret as it stands, and as it stands in URLs, JSON, HTML and Base64."""
    in_json = json.dumps(secret)[1:-1]
    quoted = [quote(secret, safe=""), quote(secret), quote_plus(secret)]
    lower = [re.sub(r"%[0-9A-F]{2}", lambda hex: hex[0].lower(), form) for form in quoted]
    plain = {
        secret,
        in_json,
        in_json.replace("/", "\\/"),
        html.escape(secret),
        *quoted,
        *lower,
    }
    encoded = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode()
    return plain | {encoded, encoded.rstrip("="), *_url_safe(encoded, encoded.rstrip("="))}


def _pieces(secret: str) -> set[str]:
    """What is always there of a secret in the Base64 of a longer text that it is part of:
    that depends only on where in a group of three bytes it begins."""
    pieces = set()
    raw = secret.encode("utf-8", "surrogatepass")
    for before in range(3):
        characters = base64.b64encode(bytes(before) + raw).decode()
        first = -(-before * 8 // 6)
        piece = characters[first : (before + len(raw)) * 8 // 6]
        if len(piece) >= _SHORTEST_PIECE:
            pieces.add(piece)
    return pieces | _url_safe(*pieces)


def _url_safe(*forms: str) -> set[str]:
    return {form.translate(str.maketrans("+/", "-_")) for form in forms}


def _matching(form: str) -> re.Pattern[str]:
    pattern = re.escape(form)
    if _NUMBER.fullmatch(form):
        # A number that is a member of a message has to stay a number.
        return re.compile(rf"(?<![:\[,])(?<![:\[,] )(?<![\w.-]){pattern}(?![\w.])")
    if len(form) < _LONG:
        return re.compile(rf"(?<![A-Za-z0-9_]){pattern}(?![A-Za-z0-9_])")
    return re.compile(pattern)
