"""Looking around and trying tools: at servers of all kinds, and at what is none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from conformance.doctor import Finding, examine
from conformance.drive.driver import Driver
from conformance.drive.exploration import look_at_server
from conformance.drive.running import new_session, new_wire
from conformance.drive.surroundings import Surroundings, ToolUse, surroundings_from_json
from conformance.drive.tools import planned, try_tools
from conformance.errors import NothingToJudge, UsageError
from conformance.run import circumstances_of
from conformance.specification.names import EXTENSION, META_SERVER_INFO
from conformance.target.target import Target, named_tool, target_of
from conformance.wire.history import HistoryWriter
from fixtures.serve import Settings, running
from tests import subjects
from tests.driving import FIRST_HEADERS, OTHER_HEADERS, TOKENS
from tests.sockets import Answer, Listening, Writer, listening, response, saying

PATIENCE = 40.0
ANYWHERE = "http://127.0.0.1:9/mcp"

DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}, "extensions": {EXTENSION: {}}},
    "_meta": {META_SERVER_INFO: {"name": "it", "version": "1"}},
}


def tool(name: str, **members: object) -> dict[str, object]:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


# Closes the connection without an answer.
SILENT = saying(b"")

Results = Mapping[str, object]


def server(results: Results | Callable[[dict[str, Any]], object]) -> Answer:
    """Answers each method with a result, or -32601. A callable is given the whole message."""

    async def answer(request: bytes, writer: Writer) -> None:
        message = json.loads(request.partition(b"\r\n\r\n")[2])
        method = message["method"]
        found = results(message) if callable(results) else results.get(method)
        part = (
            {"result": found} if found is not None else {"error": {"code": -32601, "message": ""}}
        )
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **part}).encode()
        writer.write(response(body))
        await writer.drain()

    return answer


@asynccontextmanager
async def driving(target: Target, folder: Path) -> AsyncIterator[Driver]:
    async with new_wire(target) as wire:
        session = new_session(target, Surroundings(), wire, seconds=PATIENCE)
        writer = HistoryWriter(folder / "discovery.jsonl", circumstances_of(target, ""))
        yield Driver(session, "discovery", writer)
        writer.close()


def looking_at(
    answer: Answer, folder: Path, **options: Any
) -> tuple[Surroundings, list[dict[str, Any]], Listening]:
    """What looking at a server that answers so leads to."""

    async def look() -> tuple[Surroundings, list[dict[str, Any]], Listening]:
        with anyio.fail_after(PATIENCE):
            async with listening(answer, keep_alive=answer is not SILENT) as found:
                target = target_of(found.url, **{"max_wait": 1.0, **options})
                async with driving(target, folder) as driver:
                    return (*await look_at_server(driver), found)

    return anyio.run(look)


def methods(found: Listening) -> list[str]:
    return [json.loads(r.partition(b"\r\n\r\n")[2])["method"] for r in found.requests]


# ---- servers -------------------------------------------------------------------------------


def test_what_a_server_says_of_itself(tmp_path: Path) -> None:
    tools = [tool("a", annotations={"readOnlyHint": True}), tool("b")]
    destructive = tool("c", annotations={"destructiveHint": True})
    listed = {"server/discover": DISCOVERED, "tools/list": {"tools": [*tools, destructive]}}
    found, raw, asked = looking_at(server(listed), tmp_path)
    assert found.server == {"name": "it", "version": "1"}
    assert found.versions == ("2026-07-28",)
    assert found.extension
    assert found.discovered
    assert found.permitted == ("a", "b")
    assert found.forbidden == ("c",)
    assert raw == [*tools, destructive]
    assert methods(asked) == ["server/discover", "tools/list"]


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"_meta": None, "capabilities": [], "supportedVersions": "2026-07-28"},
        {"_meta": [], "capabilities": {"extensions": []}, "supportedVersions": {}},
        {"_meta": {META_SERVER_INFO: "me"}, "capabilities": {"extensions": EXTENSION}},
        {"_meta": {META_SERVER_INFO: []}, "capabilities": 7, "supportedVersions": [1, None]},
    ],
)
def test_odd_discovery_results(tmp_path: Path, odd: dict[str, object]) -> None:
    answer = server({"server/discover": {"resultType": "complete", **odd}, "tools/list": {}})
    found, _, _ = looking_at(answer, tmp_path)
    assert found.discovered
    assert not found.extension
    assert found.server == {}


@pytest.mark.parametrize(
    "listed",
    [
        {},
        {"tools": None},
        {"tools": {"a": 1}},
        {"tools": [None, 7, [], {}, {"name": 7}, {"name": None}]},
        {"tools": [], "nextCursor": 7},
        {"tools": [], "nextCursor": None},
    ],
)
def test_odd_tool_lists(tmp_path: Path, listed: object) -> None:
    answer = server({"server/discover": DISCOVERED, "tools/list": listed})
    found, raw, asked = looking_at(answer, tmp_path)
    assert (found.permitted, found.forbidden, raw) == ((), (), [])
    assert methods(asked) == ["server/discover", "tools/list"]


def test_pages_of_tools_are_read_to_their_end(tmp_path: Path) -> None:
    def paging(message: dict[str, Any]) -> object:
        if message["method"] != "tools/list":
            return DISCOVERED
        page = int(message["params"].get("cursor", "0"))
        more = {"nextCursor": str(page + 1)} if page < 3 else {}
        return {"tools": [tool(f"tool-{page}"), tool("again")], **more}

    found, _, _ = looking_at(server(paging), tmp_path)
    assert found.permitted == ("tool-0", "again", "tool-1", "tool-2", "tool-3")


@pytest.mark.parametrize("cursor", ["same", None])
def test_endless_pages_end(tmp_path: Path, cursor: str | None) -> None:
    count = iter(range(10**6))

    def paging(message: dict[str, Any]) -> object:
        if message["method"] != "tools/list":
            return DISCOVERED
        page = next(count)
        return {"tools": [tool(f"tool-{page}")], "nextCursor": cursor or str(page)}

    found, _, asked = looking_at(server(paging), tmp_path)
    assert 1 <= len(found.permitted) == len(asked.requests) - 1 <= 50


def test_a_thousand_tools_are_listed_and_some_are_tried(tmp_path: Path) -> None:
    tools = [tool(f"tool-{number}") for number in range(1000)]
    answer = server({"server/discover": DISCOVERED, "tools/list": {"tools": tools}})
    found, raw, _ = looking_at(answer, tmp_path)
    assert len(found.permitted) == 1000
    for effort, tried in (("quick", 16), ("standard", 32), ("thorough", 200)):
        assert len(planned(Target(url=ANYWHERE, effort=effort), found, raw)) == tried


def test_a_list_that_never_comes_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.drive.exploration._LISTING_SECONDS", 0.4)

    async def answer(request: bytes, writer: Writer) -> None:
        if b"tools/list" in request:
            await anyio.sleep_forever()
        await server({"server/discover": DISCOVERED})(request, writer)

    found, raw, _ = looking_at(answer, tmp_path)
    assert found.extension
    assert raw == []


def test_a_run_that_is_over_ends_the_list(tmp_path: Path) -> None:
    def paging(message: dict[str, Any]) -> object:
        if message["method"] != "tools/list":
            return DISCOVERED
        sessions[0].ends = 0.0
        return {"tools": [tool("a")], "nextCursor": "more"}

    sessions: list[Any] = []

    async def look() -> Surroundings:
        async with (
            listening(server(paging), keep_alive=True) as found,
            driving(target_of(found.url), tmp_path) as driver,
        ):
            sessions.append(driver.session)
            return (await look_at_server(driver))[0]

    assert anyio.run(look).permitted == ("a",)


def test_the_reference_server(tmp_path: Path) -> None:
    async def look(target: Target) -> tuple[Surroundings, list[ToolUse]]:
        async with driving(target, tmp_path) as driver:
            found, listed = await look_at_server(driver)
            told: list[str] = []
            uses = await try_tools(driver, planned(target, found, listed), told.append)
            assert sorted(told) == sorted(f"tried {use.name}" for use in uses)
            return found, uses

    with running(Settings(work_seconds=0.2)) as url:
        found, uses = anyio.run(look, Target(url=url, max_wait=10.0))
    assert found.extension
    assert found.discovered
    assert {use.name for use in uses} == set(found.permitted)
    ended = {use.name: use.status for use in uses if use.status is not None}
    assert ended["sync_mailbox"] == "failed"
    assert ended["haggle_price"] == "completed"
    assert "add_numbers" not in ended
    assert all(use.seconds is not None for use in uses if use.status is not None)


@pytest.mark.parametrize(("name", "extension"), [("no_extension", False), ("never_tasks", True)])
def test_servers_other_people_would_write(tmp_path: Path, name: str, extension: bool) -> None:
    async def look(url: str) -> Surroundings:
        async with driving(target_of(url), tmp_path) as driver:
            return (await look_at_server(driver))[0]

    with subjects.running(name) as url:
        found = anyio.run(look, url)
    assert found.extension is extension
    assert found.discovered


# ---- what cannot be judged -----------------------------------------------------------------

UNDISCOVERED = {"tools/list": {"tools": [tool("a")]}}


def test_a_server_without_discovery_can_be_judged(tmp_path: Path) -> None:
    found, raw, _ = looking_at(server(UNDISCOVERED), tmp_path)
    assert not found.discovered
    assert not found.extension
    assert found.permitted == ("a",)
    assert len(raw) == 1


def refusing(code: int, message: str = "no", data: object = None) -> Answer:
    error = {"code": code, "message": message, "data": data}
    return saying(response(json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(SILENT, "(reset: ", id="closed"),
        pytest.param(saying(b"SSH-2.0\r\n\r\n"), "(protocol: ", id="not-http"),
        pytest.param(
            saying(response(b"<html>", content_type="text/html")), "not an MCP", id="html"
        ),
        pytest.param(saying(response(b"")), "an empty body", id="empty"),
        pytest.param(saying(response(b"not json")), "not an MCP endpoint", id="not-json"),
        pytest.param(saying(response(b"[]")), "not an MCP endpoint", id="array"),
        pytest.param(saying(response(b"{}")), "not an MCP endpoint", id="object"),
        pytest.param(saying(response(status="404 Not Found", body=b"")), "HTTP 404", id="404"),
        pytest.param(saying(response(status="500 Oops", body=b"oops")), "HTTP 500", id="500"),
        pytest.param(saying(response(status="401 No", body=b"")), "--header-env", id="401"),
        pytest.param(saying(response(status="403 No", body=b"")), "--header-env", id="403"),
        pytest.param(saying(response(status="429 Slow", body=b"")), "rate limiting", id="429"),
        pytest.param(
            saying(response(b"", status="307 Go", headers="Location: http://a.example/\r\n")),
            "http://a.example/",
            id="307",
        ),
        pytest.param(
            saying(response(b"", status="301 Go", headers="Location: https://a.example/\r\n")),
            "redirects to https://a.example/",
            id="301",
        ),
        pytest.param(
            refusing(-32022, data={"supported": ["2027-01-01"]}), "speaks 2027-01-01", id="version"
        ),
        pytest.param(refusing(-32022, data=7), "speaks other versions", id="version-odd"),
        pytest.param(refusing(-32000, "Bad\nRequest"), "error -32000", id="another-error"),
        pytest.param(refusing(-32601), "it does not serve 2026-07-28", id="no-method"),
    ],
)
def test_what_is_no_server_of_this_revision(tmp_path: Path, answer: Answer, message: str) -> None:
    with pytest.raises(NothingToJudge) as raised:
        looking_at(answer, tmp_path)
    assert message in str(raised.value)
    assert "http://127.0.0.1:" in str(raised.value)
    assert (tmp_path / "discovery.jsonl").stat().st_size > 0


def test_nothing_secret_is_told_of_a_server_that_cannot_be_judged(tmp_path: Path) -> None:
    header = ("Authorization", "Bearer tell-no-one-77")
    with pytest.raises(NothingToJudge) as raised:
        looking_at(refusing(-32000, "you are tell-no-one-77"), tmp_path, headers=(header,))
    assert "tell-no-one-77" not in str(raised.value)
    assert "tell-no-one-77" not in (tmp_path / "discovery.jsonl").read_text()


# ---- the doctor ----------------------------------------------------------------------------


def problems(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings if finding.mark == "problem"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("html", "not an MCP endpoint"),
        ("empty", "not an MCP endpoint"),
        ("not_json", "not an MCP endpoint"),
        ("unauthorized", "refused the caller (HTTP 401)"),
        ("hanging", "does not answer"),
        ("slow_drip", "does not answer"),
        ("reset", "closed the connection"),
        ("redirect_elsewhere", "elsewhere.example"),
        ("internal_error", "HTTP 500"),
    ],
)
def test_the_doctor_tells_what_is_wrong(kind: str, message: str) -> None:
    with subjects.running("misbehaving", kind) as url:
        findings = examine(target_of(url, max_wait=1.0))
    assert [finding.mark for finding in findings] == ["problem"]
    assert message in findings[0].text


def test_the_doctor_and_an_address_where_nobody_is() -> None:
    with subjects.running("misbehaving", "html") as url:
        pass
    assert "is the server running" in problems(examine(target_of(url)))[0]


def test_the_doctor_and_tls_at_a_plain_port() -> None:
    with subjects.running("misbehaving", "html") as url:
        findings = examine(target_of(url.replace("http:", "https:"), max_wait=2.0))
    assert len(problems(findings)) == 1


def test_the_doctor_and_the_protocol_before_this_one() -> None:
    with subjects.running("initialize_only") as url:
        (problem,) = problems(examine(target_of(url)))
    assert "speaks MCP 2025-11-25 with the initialize handshake" in problem


def test_the_doctor_and_a_server_without_the_extension() -> None:
    with subjects.running("no_extension") as url:
        (problem,) = problems(examine(target_of(url)))
    assert problem == f"{EXTENSION} is not advertised"


def examined(answer: Answer, **options: Any) -> tuple[list[Finding], list[str]]:
    """The doctor's findings on a server that answers so, and what was asked of it."""

    async def look() -> tuple[list[Finding], list[str]]:
        async with listening(answer, keep_alive=True) as found:
            target = target_of(found.url, **options)
            findings = await anyio.to_thread.run_sync(examine, target)
            return findings, methods(found)

    return anyio.run(look)


LISTED = {
    "server/discover": DISCOVERED,
    "tools/list": {
        "tools": [
            tool("safe"),
            tool("dangerous", annotations={"destructiveHint": True}),
            tool("odd", inputSchema={"type": "unheard-of"}),
        ]
    },
}


def test_the_doctor_calls_no_tool() -> None:
    findings, asked = examined(server(LISTED))
    assert set(asked) == {"server/discover", "tools/list"}
    assert problems(findings) == []
    told = {finding.what.strip(): finding.text for finding in findings}
    assert told["server"] == "it 1"
    assert told["tools"] == "2 of 3 may be called"
    assert told["safe"] == "with {}"
    assert "pass --tool dangerous" in told["dangerous"]
    assert "pass --tool 'odd={…}'" in told["odd"]


def test_the_doctor_tells_of_a_tool_that_there_is_not() -> None:
    findings, _ = examined(server(LISTED), tools=(named_tool("slow:saef"),))
    (problem,) = problems(findings)
    assert "did you mean 'safe'" in problem


def test_the_doctor_names_the_tools_that_there_are() -> None:
    findings, _ = examined(server(LISTED), tools=(named_tool("quite-another"),))
    (problem,) = problems(findings)
    assert problem.endswith("it lists dangerous, odd, safe")


def test_the_doctor_asks_as_the_second_caller_too() -> None:
    with running(Settings(tokens=TOKENS)) as url:
        well = examine(target_of(url, headers=FIRST_HEADERS, other_headers=OTHER_HEADERS))
        wrong = (("Authorization", "Bearer nobody-77"),)
        ill = examine(target_of(url, headers=FIRST_HEADERS, other_headers=wrong))
    assert Finding("ok", "callers", "two") in well
    (problem,) = problems(ill)
    assert "the second is refused (" in problem
    assert "HTTP 401" in problem
    assert "--other-header" in problem


def test_the_doctor_asks_a_server_of_sessions_as_the_second_caller_too() -> None:
    with running(Settings(tokens=TOKENS, revision="2025-11-25")) as url:
        for given, right in ((OTHER_HEADERS, True), ((("Authorization", "Bearer no"),), False)):
            target = target_of(url, headers=FIRST_HEADERS, other_headers=given, spec="2025-11-25")
            assert (problems(examine(target)) == []) is right


def test_the_doctor_is_brief_about_a_thousand_tools() -> None:
    tools = [tool(f"tool-{number}") for number in range(1000)]
    findings, _ = examined(server({**LISTED, "tools/list": {"tools": tools}}))
    assert len(findings) < 60
    assert findings[-1].text == "and 950 more tools"


def test_the_doctor_when_nothing_may_be_called() -> None:
    findings, _ = examined(server(LISTED), explore="none")
    told = {finding.what: finding.text for finding in findings}
    assert told["tools"] == "none of 3 may be called: pass --tool NAME or --explore all"
    empty, _ = examined(server({**LISTED, "tools/list": {"tools": []}}))
    assert empty[-1].text == "none are listed for this caller"


def test_the_doctor_keeps_secrets() -> None:
    secret = "tell-no-one-77"
    discovered = {**DISCOVERED, "_meta": {META_SERVER_INFO: {"name": secret, "version": secret}}}
    results = {"server/discover": discovered, "tools/list": {"tools": [tool(secret)]}}
    findings, _ = examined(server(results), headers=(("X-Key", secret),))
    assert secret not in repr(findings)


# ---- the plan ------------------------------------------------------------------------------

LOOKED = Surroundings(permitted=("a", "greet", "odd"))
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "a", "inputSchema": SCHEMA},
    {"name": "greet", "inputSchema": SCHEMA},
    {"name": "odd", "inputSchema": {"type": "unheard-of"}},
    {"name": "bare"},
]


def plan(*tools: str, listed: list[dict[str, Any]] | None = None) -> list[ToolUse]:
    target = Target(url=ANYWHERE, tools=tuple(map(named_tool, tools)), seed=7)
    return planned(target, LOOKED, TOOLS if listed is None else listed)


def test_permitted_tools_are_planned_with_arguments() -> None:
    assert plan() == [
        ToolUse("a", {"n": 1}, SCHEMA),
        ToolUse("greet", {"name": "conformance"}, SCHEMA, (), "recognised"),
    ]


def test_named_tools_come_first_and_once() -> None:
    uses = plan('slow:a={"n": 5}', "bare", "a")
    assert [(use.name, use.arguments, use.roles, use.how) for use in uses] == [
        ("a", {"n": 5}, ("slow",), "named"),
        ("bare", {}, (), "named"),
        ("a", {"n": 1}, (), "named"),
        ("greet", {"name": "conformance"}, (), "recognised"),
    ]


def test_a_tool_that_is_not_listed_is_told() -> None:
    with pytest.raises(UsageError, match="did you mean 'greet'"):
        plan("gret")
    with pytest.raises(
        UsageError, match="the server lists no such tool; it lists a, bare, greet, odd"
    ):
        plan("zzz")


def test_a_server_that_lists_nothing_is_taken_at_the_users_word() -> None:
    target = Target(url=ANYWHERE, tools=(named_tool("hidden"),))
    assert planned(target, Surroundings(), []) == [ToolUse("hidden", {}, {}, (), "named")]


def test_surroundings_survive_json() -> None:
    found = Surroundings(
        server={"name": "it"},
        versions=("2026-07-28",),
        extension=True,
        capabilities={"tools": {}},
        tools=(ToolUse("a", {"n": 1}, SCHEMA, ("slow",), "named", 1.5, "completed"),),
        permitted=("a",),
        forbidden=("b",),
    )
    assert surroundings_from_json(json.loads(json.dumps(found.to_json()))) == found
