"""``doctor``: is the set-up right, before anybody is blamed?"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from conformance.drive.driver import Driver, OutOfTime, ServerGone
from conformance.drive.manners import manner_of
from conformance.drive.running import in_event_loop, new_session, new_wire, redactor_of
from conformance.drive.surroundings import Surroundings
from conformance.drive.tools import planned
from conformance.errors import NothingToJudge, UsageError
from conformance.run import circumstances_of
from conformance.specification.names import EXTENSION
from conformance.specification.revisions import DISCOVER, INITIALIZE, revision_named
from conformance.target.target import SECOND, Target
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import HistoryWriter
from conformance.wire.parsing import dump_json

# Long enough for a slow server, short enough for whoever waits.
_SECONDS = 60.0
_TOOLS_SHOWN = 50
# What a server advertises that has tasks, by how it is greeted.
_OFFERS = {
    DISCOVER: ("extension", EXTENSION),
    INITIALIZE: ("capability", "tasks.requests.tools.call"),
}
# Seconds from one look at a server that is not there yet to the next.
_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True)
class Finding:
    """One line of the doctor: ``mark`` is ``ok``, ``note`` or ``problem``."""

    mark: str
    what: str
    text: str


def wait_for(url: str, seconds: float) -> bool:
    """Wait until something listens at a URL, at most so long. Returns whether it does."""
    parts = urlsplit(url)
    address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    ends = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(address, timeout=5.0).close()
            return True
        except OSError:
            if time.monotonic() >= ends:
                return False
        time.sleep(_BETWEEN_LOOKS)


def examine(target: Target) -> list[Finding]:
    """Look at a server without calling any tool."""
    try:
        found, listed, other = in_event_loop(_look, target)
    except NothingToJudge as error:
        return [Finding("problem", "server", str(error))]
    redactor = redactor_of(target)
    return [
        Finding(finding.mark, redactor.text(finding.what), redactor.text(finding.text))
        for finding in (
            *_server_findings(target, found),
            _caller_finding(target, other),
            *_tool_findings(target, found, listed),
        )
    ]


async def _look(target: Target) -> tuple[Surroundings, list[JsonObject], Exchange | None]:
    """What the first caller sees, and how a request of the second one was answered."""
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        async with new_wire(target) as wire:
            session = new_session(target, Surroundings(), wire, seconds=_SECONDS)
            writer = HistoryWriter(Path(folder) / "doctor.jsonl", circumstances_of(target, ""))
            try:
                manner = manner_of(target.spec)
                driver = manner.driver_class(session, "doctor", writer)
                found, listed = await manner.look(driver)
                return found, listed, await _asked_by_other(driver)
            finally:
                writer.close()


async def _asked_by_other(driver: Driver) -> Exchange | None:
    if not driver.target.other_headers:
        return None
    try:
        return await driver.list_tools(caller=SECOND, connection="other", seconds=_SECONDS / 4)
    except (ServerGone, OutOfTime):
        return None


def _server_findings(target: Target, found: Surroundings) -> Iterator[Finding]:
    name = found.server.get("name", "a server that does not say its name")
    yield Finding("ok", "server", f"{name} {found.server.get('version', '')}".strip())
    if not found.discovered:
        yield Finding("problem", "discovery", "server/discover is not served")
    else:
        yield Finding("ok", "versions", ", ".join(found.versions) or "none named")
    what, where = _OFFERS[revision_named(target.spec).greeting]
    if found.extension:
        yield Finding("ok", what, f"{where} is advertised")
    else:
        yield Finding("problem", what, f"{where} is not advertised")


def _caller_finding(target: Target, other: Exchange | None) -> Finding:
    if not target.other_headers:
        return Finding("ok", "callers", "one (--other-header adds another)")
    if other is not None and other.result is not None:
        return Finding("ok", "callers", "two")
    came = other.outcome if other is not None else "no answer"
    return Finding("problem", "callers", f"the second is refused ({came}): check --other-header")


def _tool_findings(
    target: Target, found: Surroundings, listed: list[JsonObject]
) -> Iterator[Finding]:
    tools = len(listed)
    if not tools:
        yield Finding("note", "tools", "none are listed for this caller")
    elif not found.permitted:
        yield Finding(
            "note", "tools", f"none of {tools} may be called: pass --tool NAME or --explore all"
        )
    else:
        yield Finding("ok", "tools", f"{len(found.permitted)} of {tools} may be called")
    try:
        uses = planned(target, found, listed)
    except UsageError as error:
        yield Finding("problem", "tools", str(error))
        return
    used = {use.name for use in uses}
    lines = [Finding("ok", f"  {use.name}", f"with {dump_json(use.arguments)}") for use in uses]
    for tool in found.permitted:
        if tool not in used:
            advice = f"not tried: pass --tool '{tool}={{…}}' with arguments"
            lines.append(Finding("note", f"  {tool}", advice))
    for tool in found.forbidden:
        advice = f"not allowed: pass --tool {tool} to allow it"
        lines.append(Finding("note", f"  {tool}", advice))
    yield from lines[:_TOOLS_SHOWN]
    if len(lines) > _TOOLS_SHOWN:
        yield Finding("note", "  …", f"and {len(lines) - _TOOLS_SHOWN} more tools")
