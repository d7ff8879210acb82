"""The server under test: its URLs, who calls it, and what the suite may do to it."""

from __future__ import annotations

import base64
import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from conformance.errors import UsageError
from conformance.specification.revisions import revision_named
from conformance.target.permission import EXPLORE_CHOICES
from conformance.target.roles import TOOL_ROLES
from conformance.wire.exchange import Headers
from conformance.wire.headers import is_token
from conformance.wire.parsing import parse_json
from conformance.wire.secrets import secrets_of_url, without_credentials

FIRST, SECOND, NOBODY, WRONG_TOKEN = "first", "second", "nobody", "wrong-token"

# The official suite's fixtures by name: a server prepared for it needs no options here.
FIXTURE_TOOLS = {
    "greet": "sync",
    "slow_compute": "slow",
    "failing_job": "tool-error",
    "protocol_error_job": "protocol-error",
    "confirm_delete": "input",
    "multi_input": "inputs",
    "test_tool_with_task": "task",
}
FIXTURE_ARGUMENTS: dict[str, dict[str, Any]] = {
    "greet": {"name": "conformance"},
    "slow_compute": {"seconds": 1},
    "confirm_delete": {"filename": "conformance.txt"},
}

EFFORTS = ("quick", "standard", "thorough")
# The most that --max-wait may be, in seconds.
LONGEST_WAIT = 3600.0

# Headers that a caller cannot have, since each request has its own.
_PROTOCOL_HEADERS = {
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "origin",
    "transfer-encoding",
}


@dataclass(frozen=True)
class NamedTool:
    """``--tool [ROLE:]NAME[=ARGUMENTS]``."""

    name: str
    role: str | None = None
    arguments: dict[str, Any] | None = None


@dataclass(frozen=True)
class Target:
    """Everything the user said about the server and the run. ``target_of`` makes one.

    ``headers`` and ``other_headers`` are those of the first and the second caller, as pairs;
    ``max_wait`` is seconds; ``seed`` decides every choice that is free. ``sequences_for`` is how
    many seconds sequences are searched for, where the effort is not to say.
    """

    url: str
    headers: Headers = ()
    other_headers: Headers = ()
    replicas: tuple[str, ...] = ()
    restart_command: str | None = None
    tools: tuple[NamedTool, ...] = ()
    explore: str = "safe"
    spec: str = "2026-07-28"
    effort: str = "standard"
    max_wait: float = 30.0
    seed: int = 0
    judge_origin: bool = False
    sequences_for: float | None = None

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("explore", self.explore, EXPLORE_CHOICES),
            ("effort", self.effort, EFFORTS),
        ):
            if value not in choices:
                raise UsageError(f"{name} should be one of {', '.join(choices)}, not {value!r}")
        if not 0 < self.max_wait <= LONGEST_WAIT:
            raise UsageError(
                f"max-wait should be at most {LONGEST_WAIT:g} seconds, not {self.max_wait:g}"
            )
        revision_named(self.spec)

    @property
    def urls(self) -> tuple[str, ...]:
        """The main URL and the replicas: an exchange names its index here."""
        return (self.url, *self.replicas)

    @property
    def loopback(self) -> bool:
        return all(map(is_loopback, self.urls))

    @property
    def callers(self) -> tuple[str, ...]:
        return (FIRST, SECOND) if self.other_headers else (FIRST,)

    def headers_of(self, caller: str) -> Headers:
        """The headers that make a request this caller's."""
        if caller == FIRST:
            return self.headers
        if caller == SECOND:
            return self.other_headers
        if caller == WRONG_TOKEN:
            return tuple((name, _spoiled(name, value)) for name, value in self.headers)
        return ()

    @property
    def secrets(self) -> list[str]:
        """What must not be shown: values of headers, and of the URLs' queries."""
        values = [value for _, value in (*self.headers, *self.other_headers)]
        return values + [value for url in self.urls for value in secrets_of_url(url)]


def target_of(
    url: str,
    *,
    headers: Headers = (),
    other_headers: Headers = (),
    replicas: Iterable[str] = (),
    **others: Any,
) -> Target:
    """A target from what the user wrote; ``others`` are further members of ``Target``.

    Credentials in a URL become the first caller's ``Authorization`` header, or every caller
    would carry them. Raises ``UsageError``.
    """
    plain_urls: list[str] = []
    headers, other_headers = tuple(headers), tuple(other_headers)
    for given in (url, *replicas):
        plain, credentials = _split_credentials(checked_url(given))
        plain_urls.append(plain)
        if credentials is not None and credentials not in headers:
            headers = (*headers, credentials)
    for number, plain in enumerate(plain_urls):
        if _as_reached(plain) in map(_as_reached, plain_urls[:number]):
            raise UsageError(
                f"--replica {without_credentials(plain)} is a URL that was given already: give"
                " another one of the same service"
            )
    for pairs in (headers, other_headers):
        if sum(name.lower() == "authorization" for name, _ in pairs) > 1:
            raise UsageError("one caller has two Authorization headers: give one of them")
    if other_headers and _as_sent(headers) == _as_sent(other_headers):
        raise UsageError("--other-header names the first caller again: give the second one's own")
    return Target(
        url=plain_urls[0],
        headers=headers,
        other_headers=other_headers,
        replicas=tuple(plain_urls[1:]),
        **others,
    )


def _as_reached(url: str) -> tuple[object, ...]:
    """What two URLs have in common that lead to the same place."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, parts.hostname, port, parts.path or "/", parts.query


def _as_sent(headers: Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def _spoiled(name: str, value: str) -> str:
    """A value of the same form that is not the caller's, and holds nothing that is."""
    wrong = f"wrong-{'x' * 24}"
    if name.lower() == "cookie":
        return re.sub(r"=[^;]*", f"={wrong}", value) if "=" in value else wrong
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {wrong}" if space else wrong


# ---- URLs ----------------------------------------------------------------------------------


def checked_url(url: str) -> str:
    """The URL of an MCP endpoint. Raises ``UsageError``."""
    shown = without_credentials(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{shown!r} is not a URL: {error}") from None
    printable = url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not printable:
        raise UsageError(
            f"{shown!r} is not the URL of a server: give one like http://127.0.0.1:8000/mcp"
        )
    return url


def _split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """The URL without ``user:password@``, and these as an ``Authorization`` header."""
    parts = urlsplit(url)
    if parts.username is None:
        return url, None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    encoded = base64.b64encode(pair.encode()).decode()
    plain = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return plain, ("Authorization", f"Basic {encoded}")


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# ---- headers -------------------------------------------------------------------------------


def parsed_header(text: str) -> tuple[str, str]:
    """``Name: value`` as a pair. Raises ``UsageError``, which never repeats the value."""
    name, colon, value = text.partition(":")
    if not colon or not is_token(name.strip()) or not _is_field_value(value.strip()):
        raise UsageError("--header wants 'Name: value', for example 'Authorization: Bearer …'")
    return _callers_own(name.strip()), value.strip()


def header_from_environment(
    text: str, environment: Mapping[str, str] = os.environ
) -> tuple[str, str]:
    """``NAME=VARIABLE``: the header's value is in the environment. Raises ``UsageError``."""
    name, equals, variable = text.partition("=")
    if not equals or not is_token(name.strip()) or not variable.isprintable():
        raise UsageError("--header-env wants NAME=VARIABLE, for example Authorization=MCP_TOKEN")
    value = environment.get(variable.strip(), "").strip()
    if not value:
        raise UsageError(f"the environment variable {variable.strip()!r} is not set")
    if not _is_field_value(value):
        raise UsageError(f"the value in {variable.strip()!r} cannot stand in a header")
    return _callers_own(name.strip()), value


def _callers_own(name: str) -> str:
    """The name, unless it is a header that requests are made of."""
    lower = name.lower()
    if lower in _PROTOCOL_HEADERS or lower.startswith("mcp-param-"):
        raise UsageError(f"{name} is set by the suite itself: leave it out")
    return name


def _is_field_value(value: str) -> bool:
    return all(" " <= c <= "~" or c == "\t" for c in value)


# ---- tools ---------------------------------------------------------------------------------


def named_tool(text: str) -> NamedTool:
    """``[ROLE:]NAME[={json}]`` as a ``NamedTool``. Raises ``UsageError``."""
    head, equals, body = text.partition("=")
    first, colon, rest = head.partition(":")
    role: str | None = None
    if colon and first in TOOL_ROLES:
        role, head = first, rest
    elif colon and (close := get_close_matches(first, TOOL_ROLES, n=1)):
        raise UsageError(f"--tool {head!r}: unknown role {first!r}, did you mean {close[0]!r}?")
    if not head:
        raise UsageError("--tool wants [ROLE:]NAME[={json arguments}]")
    arguments: dict[str, Any] | None = None
    if equals:
        parsed = parse_json(body)
        if not isinstance(parsed.value, dict):
            raise UsageError(f"--tool {head!r}: its arguments are not a JSON object")
        arguments = parsed.value
    return NamedTool(head, role, arguments)
