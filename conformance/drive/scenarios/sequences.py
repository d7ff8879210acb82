"""Does what nobody thought of: sequences that Hypothesis made up.

The searches run beside all other scenarios. What they saw broken is done again when nobody else
is at work, and what was found then stands in histories of its own.
"""

from __future__ import annotations

from conformance.drive.driver import Driver
from conformance.drive.scenario import scenario
from conformance.drive.sequences.searching import Search
from conformance.drive.sequences.settling import Settling
from conformance.target.roles import TASK


@scenario("sequences.search-1", needs=(TASK,))
async def first_search(driver: Driver) -> None:
    """One search; each makes plans of its own."""
    await Search(driver, 1).run()


@scenario("sequences.search-2", needs=(TASK,), effort="standard")
async def second_search(driver: Driver) -> None:
    """Another."""
    await Search(driver, 2).run()


@scenario("sequences.search-3", needs=(TASK,), effort="thorough")
async def third_search(driver: Driver) -> None:
    """Another."""
    await Search(driver, 3).run()


@scenario("sequences.search-4", needs=(TASK,), effort="thorough")
async def fourth_search(driver: Driver) -> None:
    """Another."""
    await Search(driver, 4).run()


@scenario("sequences.settle", needs=(TASK,), alone=True)
async def settle(driver: Driver) -> None:
    """What the searches saw broken, again and shorter."""
    await Settling(driver).run()
