"""Looking around on a server of 2025-11-25: the handshake, and the tools it lists. No tool is
called. Everything sent is recorded like in any scenario."""

from __future__ import annotations

from dataclasses import replace

from conformance.drive import draft as newer
from conformance.drive.exploration import (
    complain_about_transport,
    is_permitted,
    list_all_tools,
)
from conformance.drive.older.driver import OlderDriver, declares_task_calls, task_capability
from conformance.drive.surroundings import Surroundings
from conformance.errors import NothingToJudge
from conformance.specification.names import DISCOVER
from conformance.specification.revisions import DEFAULT_REVISION, revision_named
from conformance.target.roles_2025 import FORBIDDEN, task_support
from conformance.wire.exchange import JsonObject


async def look_at_older_server(driver: OlderDriver) -> tuple[Surroundings, list[JsonObject]]:
    """Who answers at the URL, what it offers, and the tools it lists.

    Raises ``NothingToJudge`` with one line that says what is wrong and what to do.
    """
    try:
        result = await _agreed(driver)
    except NothingToJudge as error:
        raise NothingToJudge(driver.session.redactor.text(str(error))) from None
    listed = await list_all_tools(driver)
    # Only so many tools are tried: those that may be tasks come first.
    by_support = sorted(listed, key=lambda tool: task_support(tool) == FORBIDDEN)
    names = [tool["name"] for tool in by_support]
    permitted = {tool["name"] for tool in listed if is_permitted(driver.target, tool)}
    found = Surroundings(
        server=_object(result.get("serverInfo")),
        versions=(str(result.get("protocolVersion")),),
        capabilities=_object(result.get("capabilities")),
        permitted=tuple(name for name in names if name in permitted),
        forbidden=tuple(name for name in names if name not in permitted),
    )
    found = replace(found, extension=declares_task_calls(task_capability(found)))
    # What tries the tools next has to know whether they can be called as tasks.
    driver.session.surroundings = found
    return found, listed


async def _agreed(driver: OlderDriver) -> JsonObject:
    """The result of a handshake that agreed on this revision."""
    spec = driver.target.spec
    seconds = min(10.0, max(driver.target.max_wait, 1.0))
    session = await driver.open(seconds=seconds)
    opened = session.opened
    url = driver.session.redactor.url(driver.target.url)
    if opened is None:
        raise NothingToJudge(f"no answer from {url}")
    complain_about_transport(opened, url)
    if opened.result is not None:
        version = opened.result.get("protocolVersion")
        if version != spec:
            raise NothingToJudge(
                f"{url} speaks MCP {str(version)[:40]}, not {spec}, which is the first with tasks:"
                " there is nothing to judge"
            )
        return opened.result
    if await _speaks_newer(driver):
        raise NothingToJudge(
            f"{url} speaks {DEFAULT_REVISION}, not {spec}: pass --spec {DEFAULT_REVISION}"
        )
    if opened.error is not None:
        message = str(opened.error.get("message", ""))[:120]
        raise NothingToJudge(
            f"{url} answers initialize with error {opened.error_code} ({message}):"
            f" it does not serve {spec}"
        )
    raise NothingToJudge(
        f"{url} is not an MCP endpoint: {opened.outcome}; check the path of the URL"
    )


async def _speaks_newer(driver: OlderDriver) -> bool:
    """Whether ``server/discover`` is served, which 2025-11-25 does not have."""
    draft = newer.request(
        DISCOVER,
        request_id=next(driver.session.request_ids),
        version=revision_named(DEFAULT_REVISION).protocol_version,
    )
    answer = await driver.send(draft, "newer-discover", in_session=None, seconds=5)
    return answer.result is not None and "supportedVersions" in answer.result


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
