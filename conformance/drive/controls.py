"""The accepted request from which a probe differs in one thing."""

from __future__ import annotations

from conformance.drive.driver import Driver
from conformance.wire.exchange import Exchange


async def accepted_request(driver: Driver) -> Exchange:
    """A request that needs no tool and that every server must serve: ``server/discover``,
    or ``tools/list`` where that is refused. The driver makes a like one with
    ``driver.draft(str(exchange.method))``."""
    discovered = await driver.discover()
    return discovered if discovered.result is not None else await driver.list_tools()
