"""Scenarios: what to send, in which order, so that rules have something to look at.

A scenario is an async function of a ``Driver``. It draws no conclusions; the judge does.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from conformance.drive.driver import Driver
from conformance.specification.revisions import DEFAULT_REVISION, revision_named
from conformance.target.target import EFFORTS

Drive = Callable[[Driver], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """``name`` is ``topic.what``; ``topics`` are those whose rules it feeds; ``effort`` is
    the least effort at which it runs; ``needs`` are roles without which it has nothing to do.
    A scenario that is ``alone`` runs last, when no other is at work any more: it may disturb
    the whole server. One that is ``long``, however quick the server is, begins before the others.
    """

    name: str
    drive: Drive
    topics: tuple[str, ...]
    needs: tuple[str, ...] = ()
    effort: str = "quick"
    alone: bool = False
    long: bool = False


# The scenarios of each package of scenarios, by their names.
SCENARIOS: dict[str, dict[str, Scenario]] = {}


def scenario(
    name: str,
    *,
    needs: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
    effort: str = "quick",
    alone: bool = False,
    long: bool = False,
) -> Callable[[Drive], Drive]:
    """Declare a scenario of the package that its function is in. ``also`` names further topics
    that it feeds."""

    def declare(function: Drive) -> Drive:
        scenarios = SCENARIOS.setdefault(function.__module__.rpartition(".")[0], {})
        if name in scenarios:
            raise ValueError(f"two scenarios are called {name}")
        topics = (name.partition(".")[0], *also)
        scenarios[name] = Scenario(name, function, topics, needs, effort, alone, long)
        return function

    return declare


def all_scenarios(revision: str = DEFAULT_REVISION) -> list[Scenario]:
    """Every scenario of a revision, by name; the modules of its packages are loaded first."""
    found: dict[str, Scenario] = {}
    for name in revision_named(revision).scenarios:
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{name}.{module.name}")
        found.update(SCENARIOS.get(name, {}))
    return [found[name] for name in sorted(found)]


def chosen(
    scenarios: list[Scenario], *, effort: str, topics: frozenset[str] | None = None
) -> list[Scenario]:
    """Those that run at this effort and feed one of these topics (``None``: any)."""
    level = EFFORTS.index(effort)
    return [
        scenario
        for scenario in scenarios
        if EFFORTS.index(scenario.effort) <= level
        and (topics is None or topics.intersection(scenario.topics))
    ]
