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


RULES: dict[str, Rule] = {}


def rule(
    id: str, level: str, source: str, *, needs: tuple[str, ...] = (), after: tuple[str, ...] = ()
) -> Callable[[Judge], Judge]:
    """Declare a rule of the catalogue. The function's docstring is its title (first line)
    and explanation (the rest)."""
    if level not in LEVELS:
        raise ValueError(f"{id}: unknown level {level!r}")

    def declare(function: Judge) -> Judge:
        if id in RULES:
            raise ValueError(f"two rules are called {id}")
        title, _, explanation = (inspect.getdoc(function) or "").partition("\n")
        if not title:
            raise ValueError(f"{id} has no title")
        RULES[id] = Rule(
            id, level, source, title.strip(), explanation.strip(), function, needs, after
        )
        return function

    return declare


# The order of the catalogue, which reports keep.
TOPICS = (
    "negotiation",
    "creation",
    "polling",
    "lifecycle",
    "outcome",
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


def catalogue() -> dict[str, Rule]:
    """Every rule, topic by topic, in the order in which each topic declares them."""
    package = importlib.import_module("conformance.judge.rules")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    ordered = sorted(RULES.values(), key=lambda rule: TOPICS.index(rule.topic))
    return {rule.id: rule for rule in ordered}
