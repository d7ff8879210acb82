"""How a server is met: by ``server/discover`` or by ``initialize``, with a driver for each.

A revision says in its entry which of the two it is (``greeting``); all else follows from here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from conformance.drive.driver import Driver
from conformance.drive.exploration import look_at_server
from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.exploration import look_at_older_server
from conformance.drive.older.tools import try_older_tools
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.drive.tools import Tell, try_tools
from conformance.specification.revisions import DISCOVER, INITIALIZE, revision_named
from conformance.target.roles_2025 import task_support
from conformance.wire.exchange import JsonObject

Listed = list[JsonObject]


@dataclass(frozen=True)
class Manner:
    """``driver_class`` makes the drivers of scenarios. ``look`` is who answers, what it offers
    and the tools it lists; ``try_tools`` calls the planned ones once each."""

    driver_class: type[Driver]
    look: Callable[[Driver], Awaitable[tuple[Surroundings, Listed]]]
    try_tools: Callable[[Driver, list[ToolUse], Listed, Tell], Awaitable[list[ToolUse]]]


async def _try_tools(
    driver: Driver, uses: list[ToolUse], listed: Listed, tell: Tell
) -> list[ToolUse]:
    return await try_tools(driver, uses, tell)


async def _look_at_older(driver: Driver) -> tuple[Surroundings, Listed]:
    return await look_at_older_server(_older(driver))


async def _try_older(
    driver: Driver, uses: list[ToolUse], listed: Listed, tell: Tell
) -> list[ToolUse]:
    support = {tool["name"]: task_support(tool) for tool in listed}
    return await try_older_tools(_older(driver), uses, support, tell)


def _older(driver: Driver) -> OlderDriver:
    if not isinstance(driver, OlderDriver):
        raise TypeError("a server of 2025-11-25 wants an OlderDriver")
    return driver


MANNERS = {
    DISCOVER: Manner(Driver, look_at_server, _try_tools),
    INITIALIZE: Manner(OlderDriver, _look_at_older, _try_older),
}


def manner_of(spec: str) -> Manner:
    """The manner of a revision, by its name. Raises ``UsageError`` for an unknown one."""
    return MANNERS[revision_named(spec).greeting]
