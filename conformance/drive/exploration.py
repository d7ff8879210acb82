"""Looking around: is it there, is it MCP of this revision, what does it offer? No tool is
called. Everything sent is recorded like in any scenario."""

from __future__ import annotations

import time
from typing import Any

from conformance.drive.driver import Driver, OutOfTime, ServerGone
from conformance.drive.surroundings import Surroundings
from conformance.errors import NothingToJudge
from conformance.specification.names import (
    EXTENSION,
    HEADER_MISMATCH,
    META_SERVER_INFO,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
)
from conformance.specification.revisions import REVISIONS
from conformance.target.permission import may_call
from conformance.target.target import FIXTURE_TOOLS, Target
from conformance.wire.exchange import Exchange, JsonObject

# A server may go on paging for ever; a person's list of tools does not.
_MOST_PAGES = 50
_MOST_TOOLS = 5000
_LISTING_SECONDS = 20.0
_MODERN_ERRORS = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION, -32602, -32601)


async def look_at_server(driver: Driver) -> tuple[Surroundings, list[JsonObject]]:
    """Who answers at the URL, what it offers, and the tools it lists.

    Raises ``NothingToJudge`` with one line that says what is wrong and what to do.
    """
    try:
        result = await _discovered(driver)
        await _look_at_replicas(driver)
    except NothingToJudge as error:
        raise NothingToJudge(driver.session.redactor.text(str(error))) from None
    listed = await list_all_tools(driver)
    capabilities = _object(result.get("capabilities"))
    versions = result.get("supportedVersions")
    names = [tool["name"] for tool in listed]
    permitted = {tool["name"] for tool in listed if is_permitted(driver.target, tool)}
    return (
        Surroundings(
            server=_object(_object(result.get("_meta")).get(META_SERVER_INFO)),
            versions=tuple(str(v) for v in versions) if isinstance(versions, list) else (),
            extension=EXTENSION in _object(capabilities.get("extensions")),
            discovered=bool(result),
            capabilities=capabilities,
            permitted=tuple(name for name in names if name in permitted),
            forbidden=tuple(name for name in names if name not in permitted),
        ),
        listed,
    )


async def _discovered(driver: Driver) -> JsonObject:
    """The result of ``server/discover``; empty where it is not served and the server can be
    judged all the same."""
    discovered = await driver.discover(seconds=_seconds(driver))
    url = driver.session.redactor.url(driver.target.url)
    complain_about_transport(discovered, url)
    if discovered.result is None:
        await _complain_about_era(driver, discovered, url)
    return discovered.result or {}


async def _look_at_replicas(driver: Driver) -> None:
    """Raises ``NothingToJudge`` for one that does not answer: the whole server would seem gone."""
    for replica, given in enumerate(driver.target.replicas, 1):
        answer = await driver.discover(
            intent="replica", connection="replica", replica=replica, seconds=_seconds(driver)
        )
        complain_about_transport(answer, f"the replica {driver.session.redactor.url(given)}")


def _seconds(driver: Driver) -> float:
    """How long a first answer may take."""
    return min(10.0, max(driver.target.max_wait, 1.0))


def is_permitted(target: Target, tool: JsonObject) -> bool:
    """Whether a tool of ``tools/list`` may be called, by what the user said."""
    named = {each.name for each in target.tools}
    if target.loopback and target.explore != "none":
        # A server that was prepared for the official suite needs no options here.
        named |= FIXTURE_TOOLS.keys()
    return may_call(tool, named=named, explore=target.explore, loopback=target.loopback)


def complain_about_transport(exchange: Exchange, url: str) -> None:
    fault = exchange.fault
    if fault is not None:
        advice = {
            "connect": "is the server running, and are host and port right?",
            "tls": "check the certificate, or whether the URL should begin with http://",
            "timeout": "it accepts connections but does not answer; check its log",
            "reset": "it closed the connection without an answer; check its log, or whether"
            " the URL should begin with https://",
            "encoding": "it compresses answers in a way that was not asked for; turn that off",
            "redirect": "give the URL it redirects to, if you trust it",
        }.get(fault.kind, "check the URL and the server's log")
        raise NothingToJudge(f"no answer from {url} ({fault.kind}: {fault.detail}): {advice}")
    location = exchange.response_header("location")
    if exchange.status in (301, 302, 303) and location:
        raise NothingToJudge(f"{url} redirects to {location[:200]}: give that URL, if you trust it")
    if exchange.status in (401, 403, 407):
        raise NothingToJudge(
            f"{url} refused the caller (HTTP {exchange.status}): "
            "pass --header 'Authorization: Bearer …' or --header-env Authorization=VARIABLE"
        )
    if exchange.rate_limited:
        raise NothingToJudge(f"{url} is rate limiting (HTTP 429): try again later")


async def _complain_about_era(driver: Driver, discovered: Exchange, url: str) -> None:
    """``server/discover`` was not served: say what the server is, unless it can be judged."""
    if discovered.error_code == UNSUPPORTED_VERSION:
        data = (discovered.error or {}).get("data")
        supported = data.get("supported") if isinstance(data, dict) else None
        names = ", ".join(map(str, supported)) if isinstance(supported, list) else "other versions"
        raise NothingToJudge(f"{url} does not speak {driver.target.spec}; it speaks {names}")
    legacy = await _legacy_version(driver)
    if discovered.error_code in _MODERN_ERRORS or legacy is not None:
        listed = await driver.list_tools()
        tools = (listed.result or {}).get("tools")
        if isinstance(tools, list):
            return  # it serves requests of this revision, though it cannot be discovered
    if legacy is not None:
        advice = f"; pass --spec {legacy} to judge its tasks" if legacy in REVISIONS else ""
        raise NothingToJudge(
            f"{url} speaks MCP {legacy} with the initialize handshake, not {driver.target.spec}:"
            f" there is nothing of the Tasks extension to judge{advice}"
        )
    if discovered.error is not None:
        message = str(discovered.error.get("message", ""))[:120]
        raise NothingToJudge(
            f"{url} answers server/discover with error {discovered.error_code} ({message}):"
            f" it does not serve {driver.target.spec}"
        )
    raise NothingToJudge(
        f"{url} is not an MCP endpoint: {discovered.outcome}; check the path of the URL"
    )


async def _legacy_version(driver: Driver) -> str | None:
    """The protocol version that an ``initialize`` handshake of 2025-11-25 agrees on."""
    draft = driver.draft(
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "mcp-tasks-conformance", "version": "0"},
        },
    )
    draft = draft.without_param("_meta")
    for header in ("MCP-Protocol-Version", "Mcp-Method"):
        draft = draft.without_header(header)
    answer = await driver.send(draft, "initialize", seconds=5)
    version = (answer.result or {}).get("protocolVersion")
    return version if isinstance(version, str) else None


async def list_all_tools(driver: Driver) -> list[JsonObject]:
    """All tools, page by page, each name once. Ends with what came so far where the server
    stops answering or goes on for too long."""
    tools: dict[str, JsonObject] = {}
    cursors: set[str] = set()
    cursor: str | None = None
    ends = time.monotonic() + _LISTING_SECONDS
    for _ in range(_MOST_PAGES):
        try:
            page = await driver.list_tools(cursor, seconds=_LISTING_SECONDS / 2)
        except (ServerGone, OutOfTime):
            break
        found = (page.result or {}).get("tools")
        for tool in found if isinstance(found, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if isinstance(name, str) and len(tools) < _MOST_TOOLS:
                tools.setdefault(name, tool)
        cursor = (page.result or {}).get("nextCursor")
        if not isinstance(cursor, str) or cursor in cursors or time.monotonic() > ends:
            break
        cursors.add(cursor)
    return list(tools.values())


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}
