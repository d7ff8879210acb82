"""A rule: its declaration and, beside it, the small pure function that judges it.

    @rule("polling.unknown-id", MUST, tasks("protocol-errors"))
    def unknown_id_is_invalid_params(history):
        \"\"\"An id that does not exist is answered with -32602.\"\"\"
        for exchange in history.intended("unknown-id", method=TASKS_GET):
            yield expect_error(exchange, INVALID_PARAMS)

The docstring's first line is the rule's title: what the text asks, in our own words.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from conformance.judge.observation import Observation
from conformance.specification.revisions import DEFAULT_REVISION, revision_named
from conformance.wire.history import History

MUST = "must"
IMPLIED = "implied"
SHOULD = "should"
ADVICE = "advice"
LEVELS = (MUST, IMPLIED, SHOULD, ADVICE)

Judge = Callable[[History], Iterable[Observation]]


@dataclass(frozen=True)
class Rule:
    """``needs`` are the roles without which the rule cannot be observed. ``after`` are rules
    that have to hold first: where one of them is violated, this one is not judged against
    the server, since the same cause would be told twice."""

    id: str
    level: str
    source: str
    title: str
    explanation: str
    judge: Judge
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def topic(self) -> str:
        return self.id.partition(".")[0]

    @property
    def violated(self) -> str:
        """What a violation counts as: ``fail`` or ``warn``."""
        return "fail" if self.level in (MUST, IMPLIED) else "warn"


# The rules of each package of rules, by their ids. A revision is judged by some of these packages.
RULES: dict[str, dict[str, Rule]] = {}


def rule(
    id: str, level: str, source: str, *, needs: tuple[str, ...] = (), after: tuple[str, ...] = ()
) -> Callable[[Judge], Judge]:
    """Declare a rule of the package that its function is in. The function's docstring is the
    rule's title (first line) and explanation (the rest)."""

    def declare(function: Judge) -> Judge:
        package = function.__module__.rpartition(".")[0]
        _declare(function, id, level, source, needs, after, package)
        return function

    return declare


def adopt(
    judge: Judge,
    id: str,
    level: str,
    source: str,
    *,
    into: str,
    needs: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
) -> None:
    """Declare a rule of the package ``into`` that is judged as one of another revision is."""
    _declare(judge, id, level, source, needs, after, into)


def _declare(
    function: Judge,
    id: str,
    level: str,
    source: str,
    needs: tuple[str, ...],
    after: tuple[str, ...],
    package: str,
) -> None:
    if level not in LEVELS:
        raise ValueError(f"{id}: unknown level {level!r}")
    rules = RULES.setdefault(package, {})
    if id in rules:
        raise ValueError(f"two rules are called {id}")
    title, _, explanation = (inspect.getdoc(function) or "").partition("\n")
    if not title:
        raise ValueError(f"{id} has no title")
    rules[id] = Rule(id, level, source, title.strip(), explanation.strip(), function, needs, after)


# The order of the catalogue, which reports keep.
TOPICS = (
    "negotiation",
    "creation",
    "polling",
    "lifecycle",
    "outcome",
    "results",
    "listing",
    "input",
    "cancellation",
    "expiry",
    "removed",
    "transport",
    "jsonrpc",
    "security",
    "notifications",
    "concurrency",
    "endurance",
)


def catalogue(revision: str = DEFAULT_REVISION) -> dict[str, Rule]:
    """Every rule of a revision, topic by topic, in the order in which each topic declares them.

    A later package of the revision replaces rules of an earlier one by their ids. Raises
    ``UsageError`` for an unknown revision.
    """
    known = revision_named(revision)
    rules: dict[str, Rule] = {}
    for package in known.rules:
        rules.update(_rules_of(package))
    kept = [rule for rule in rules.values() if rule.id not in known.withdrawn]
    return {rule.id: rule for rule in sorted(kept, key=lambda r: TOPICS.index(r.topic))}


def _rules_of(name: str) -> dict[str, Rule]:
    package = importlib.import_module(name)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{name}.{module.name}")
    return RULES.get(name, {})
