"""What the user says of a server: URLs, headers and tools."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from conformance.errors import UsageError
from conformance.target.roles import TOOL_ROLES
from conformance.target.target import (
    FIRST,
    NOBODY,
    SECOND,
    WRONG_TOKEN,
    NamedTool,
    Target,
    checked_url,
    header_from_environment,
    is_loopback,
    named_tool,
    parsed_header,
    target_of,
)

URL = "http://127.0.0.1:8000/mcp"


def basic(pair: str) -> tuple[str, str]:
    return ("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())


# ---- URLs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [URL, "https://example.com", "http://[::1]:1/", "HTTP://a/?q=1"])
def test_urls_of_servers(url: str) -> None:
    assert checked_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000/mcp",
        "127.0.0.1:8000",
        "/mcp",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "http:///mcp",
        "http://:8000/",
        "http://[::1/",
        "http://a:port/",
        "http://a:99999/",
        "http://a:0/",
        "http://a/ b",
        "http://a/\x1b[31m",
        "http://a/\u202e",
    ],
)
def test_what_is_no_url_of_a_server(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        checked_url(url)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("url", ["ftp://bob:pa55word@a/", "http://bob:pa55word@[::1/"])
def test_credentials_in_a_wrong_url_are_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        checked_url(url)
    assert "pa55word" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1/", True),
        ("http://127.9.9.9:1/", True),
        ("http://[::1]/", True),
        ("http://localhost:8000/", True),
        ("http://LOCALHOST/", True),
        ("http://api.localhost/", True),
        ("http://0.0.0.0/", False),
        ("http://10.0.0.1/", False),
        ("http://localhost.example.com/", False),
        ("http://127.0.0.1.example.com/", False),
        ("http://user@127.0.0.1/", True),
        ("http://127.0.0.1@example.com/", False),
    ],
)
def test_loopback(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


def test_a_target_with_a_replica_elsewhere_is_not_on_loopback() -> None:
    assert target_of(URL, replicas=[URL.replace("8000", "8001")]).loopback
    assert not target_of(URL, replicas=["https://example.com/mcp"]).loopback


# ---- credentials ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "plain", "pair"),
    [
        ("http://alice:wonder@127.0.0.1:8000/mcp", URL, "alice:wonder"),
        ("http://al%40ice:p%2Fw%3A@127.0.0.1:8000/mcp", URL, "al@ice:p/w:"),
        ("http://key@127.0.0.1:8000/mcp", URL, "key:"),
        ("http://:pw@127.0.0.1:8000/mcp", URL, ":pw"),
        ("http://a@b:c@127.0.0.1:8000/mcp", URL, "a@b:c"),
    ],
)
def test_credentials_of_a_url_become_the_first_callers(url: str, plain: str, pair: str) -> None:
    target = target_of(url, other_headers=(("Authorization", "Bearer other"),))
    assert target.url == plain
    assert target.headers_of(FIRST) == (basic(pair),)
    # Nobody else may carry them, or a caller without a token would seem to get in.
    assert basic(pair) not in target.headers_of(SECOND)
    assert target.headers_of(NOBODY) == ()
    assert basic(pair) not in target.headers_of(WRONG_TOKEN)


def test_replicas_may_repeat_the_credentials_and_have_no_others() -> None:
    url = URL.replace("127", "alice:wonder@127")
    one, other = (URL.replace("8000", port) for port in ("8001", "8002"))
    replica = one.replace("127", "alice:wonder@127")
    assert target_of(url, replicas=[replica]).headers == (basic("alice:wonder"),)
    assert target_of(url, replicas=[replica, other]).urls == (URL, one, other)
    with pytest.raises(UsageError, match="two Authorization"):
        target_of(url, replicas=[replica.replace("alice", "bob")])


def test_a_replica_is_another_url() -> None:
    for same in (URL, URL.replace("127", "alice:wonder@127"), URL.replace("http", "HTTP")):
        with pytest.raises(UsageError, match="was given already"):
            target_of(URL, replicas=[same])


def test_a_caller_has_one_authorization() -> None:
    two = (("Authorization", "Bearer a"), ("authorization", "Bearer b"))
    with pytest.raises(UsageError, match="two Authorization"):
        target_of(URL, headers=two)
    with pytest.raises(UsageError, match="two Authorization"):
        target_of(URL, headers=two[:1], other_headers=two)
    with pytest.raises(UsageError, match="two Authorization"):
        target_of(URL.replace("127", "alice:wonder@127"), headers=two[:1])


def test_the_second_caller_is_another_one() -> None:
    one, same = (("Authorization", "Bearer a"),), (("authorization", "Bearer a"),)
    with pytest.raises(UsageError, match="names the first caller again") as raised:
        target_of(URL, headers=one, other_headers=same)
    assert "Bearer" not in str(raised.value)
    assert target_of(URL, headers=one, other_headers=(("Authorization", "Bearer b"),)).callers


def test_secrets() -> None:
    target = target_of(
        URL.replace("127", "alice:wonder@127") + "?token=abc%20d",
        headers=(("X-Key", "k1"),),
        other_headers=(("X-Key", "k2"),),
        replicas=[URL + "?token=other"],
    )
    assert target.secrets == ["k1", basic("alice:wonder")[1], "k2", "abc d", "other"]


def test_a_wrong_token_has_the_form_of_the_right_one_and_nothing_of_it() -> None:
    headers = (
        ("Authorization", "Bearer right-token"),
        ("X-Key", "right-key"),
        ("Cookie", "session=right-session; theme=right-theme"),
        ("Cookie", "right-alone"),
        ("X-Digest", 'Digest username="right-user", response="right-response"'),
    )
    wrong = dict(target_of(URL, headers=headers).headers_of(WRONG_TOKEN))
    assert wrong.keys() == dict(headers).keys()
    assert "right" not in repr(wrong)
    assert wrong["Authorization"].startswith("Bearer wrong-")


def test_callers() -> None:
    assert target_of(URL).callers == (FIRST,)
    assert target_of(URL, other_headers=(("A", "b"),)).callers == (FIRST, SECOND)


# ---- choices -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"explore": "some"}, "explore should be one of safe, all, none"),
        ({"effort": "huge"}, "effort should be one of"),
        ({"max_wait": 0}, "max-wait"),
        ({"max_wait": -1.0}, "max-wait"),
        ({"max_wait": 3601}, "max-wait"),
        ({"max_wait": float("nan")}, "max-wait"),
        ({"max_wait": float("inf")}, "max-wait"),
        ({"spec": "2024-11-05"}, "unknown revision '2024-11-05': this suite knows 2025-11-25, "),
    ],
)
def test_choices_that_there_are_not(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Target(url=URL, **choice)


# ---- headers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("Authorization: Bearer abc", ("Authorization", "Bearer abc")),
        ("X-Key:abc", ("X-Key", "abc")),
        ("  X-Key  :  a: b  ", ("X-Key", "a: b")),
        ("X-Empty:", ("X-Empty", "")),
        ("Host: example.com", ("Host", "example.com")),
    ],
)
def test_headers(text: str, pair: tuple[str, str]) -> None:
    assert parsed_header(text) == pair


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s3cret",
        ": s3cret",
        "Two Words: s3cret",
        "Umläut: s3cret",
        "X: s3cret\r\nInjected: yes",
        "X: s3cret\nInjected: yes",
        "X: s3cret\x00",
        "X: s3cret-ü",
        "X\r\nInjected: s3cret",
        "(X): s3cret",
    ],
)
def test_headers_that_cannot_be_sent_are_told_without_their_value(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parsed_header(text)
    assert "s3cret" not in str(raised.value)
    assert "Injected" not in str(raised.value)


@pytest.mark.parametrize(
    "name",
    [
        "Content-Type",
        "accept",
        "MCP-Protocol-Version",
        "mcp-method",
        "Mcp-Name",
        "Mcp-Param-X",
        "Origin",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Accept-Encoding",
    ],
)
def test_headers_of_the_protocol_are_the_suites_own(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is set by the suite itself"):
        parsed_header(f"{name}: x")
    with pytest.raises(UsageError, match=f"{name} is set by the suite itself"):
        header_from_environment(f"{name}=V", {"V": "x"})


def test_headers_from_the_environment() -> None:
    there = {"TOKEN": " Bearer abc\n"}
    assert header_from_environment("Authorization=TOKEN", there) == ("Authorization", "Bearer abc")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Authorization", "--header-env wants NAME=VARIABLE"),
        ("=TOKEN", "--header-env wants NAME=VARIABLE"),
        ("A B=TOKEN", "--header-env wants NAME=VARIABLE"),
        ("Authorization=NOT_THERE", "'NOT_THERE' is not set"),
        ("Authorization=EMPTY", "'EMPTY' is not set"),
        ("Authorization=", "'' is not set"),
        ("Authorization=INJECTED", "the value in 'INJECTED' cannot stand in a header"),
    ],
)
def test_wrong_headers_from_the_environment(text: str, message: str) -> None:
    environment = {"TOKEN": "x", "EMPTY": "", "INJECTED": "s3cret\r\nX: y"}
    with pytest.raises(UsageError, match=message) as raised:
        header_from_environment(text, environment)
    assert "s3cret" not in str(raised.value)


# ---- tools ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("export", NamedTool("export")),
        ("export={}", NamedTool("export", None, {})),
        ('export={"rows": 3, "a=b": "c:d"}', NamedTool("export", None, {"rows": 3, "a=b": "c:d"})),
        ("slow:export", NamedTool("export", "slow")),
        ('slow:export={"rows": 3}', NamedTool("export", "slow", {"rows": 3})),
        ("protocol-error:sync_mailbox", NamedTool("sync_mailbox", "protocol-error")),
        ("files:read", NamedTool("files:read")),
        ("slow:files:read", NamedTool("files:read", "slow")),
        ("名前", NamedTool("名前")),
    ],
)
def test_tools(text: str, tool: NamedTool) -> None:
    assert named_tool(text) == tool


@pytest.mark.parametrize("role", TOOL_ROLES)
def test_every_role_can_be_given(role: str) -> None:
    assert named_tool(f"{role}:x={{}}") == NamedTool("x", role, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wants \\[ROLE:\\]NAME"),
        ("={}", "wants \\[ROLE:\\]NAME"),
        ("slow:", "wants \\[ROLE:\\]NAME"),
        ("slow:={}", "wants \\[ROLE:\\]NAME"),
        ("slwo:export", "did you mean 'slow'"),
        ("tool_error:export", "did you mean 'tool-error'"),
        ("export=", "not a JSON object"),
        ("export=3", "not a JSON object"),
        ("export=[1]", "not a JSON object"),
        ("export={rows: 3}", "not a JSON object"),
        ('export={"rows": NaN}', "not a JSON object"),
        ("export=" + "[" * 100_000, "not a JSON object"),
    ],
)
def test_wrong_tools(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        named_tool(text)
    assert len(str(raised.value)) < 200
