"""What is particular to sequences that were found by search: they are told whole, and some of
them did not come back.

The exchanges of such a sequence stand in a scenario of its own, whose name begins like
``PREFIX``. Where the sequence was done again in vain, each of them is noted so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conformance.judge.observation import Observation
from conformance.judge.verdict import Judgement, Verdict, verdict_of
from conformance.wire.exchange import TIDY_UP, Exchange
from conformance.wire.history import History

PREFIX = "sequences."
# The note of an exchange whose sequence was done again, and did not show the same.
ONCE = "seenOnce"


def told_whole(judgement: Judgement, history: History) -> Judgement:
    """The judgement with every violation that a sequence shows told by the whole sequence, in
    order, up to the exchange that decided."""
    if not any(exchange.scenario.startswith(PREFIX) for exchange in history):
        return judgement
    scenarios: dict[str, list[Exchange]] = {}
    for exchange in history:
        if exchange.scenario.startswith(PREFIX) and exchange.intent != TIDY_UP:
            scenarios.setdefault(exchange.scenario, []).append(exchange)
    verdicts = tuple(_told_whole(verdict, scenarios) for verdict in judgement.verdicts)
    return replace(judgement, verdicts=verdicts)


def _told_whole(verdict: Verdict, scenarios: Mapping[str, list[Exchange]]) -> Verdict:
    if not verdict.violated:
        return verdict
    evidence = tuple(_whole(observation, scenarios) for observation in verdict.evidence)
    return replace(verdict, evidence=evidence)


def _whole(observation: Observation, scenarios: Mapping[str, list[Exchange]]) -> Observation:
    names = {exchange.scenario for exchange in observation.exchanges}
    sequence = scenarios.get(names.pop()) if len(names) == 1 else None
    if sequence is None:
        return observation
    last = observation.exchanges[-1]
    before = [e for e in sequence if e.started <= last.started and e.key != last.key]
    return replace(observation, exchanges=(*before, last))


def seen_once(judgement: Judgement, history: History) -> frozenset[str]:
    """The violated rules that a sequence which did not come back shows violated, by itself, and
    nothing else does. What it shows only together with other exchanges was never done again."""
    sequences: dict[str, list[Exchange]] = {}
    for exchange in history:
        if exchange.notes.get(ONCE):
            sequences.setdefault(exchange.scenario, []).append(exchange)
    if not sequences:
        return frozenset()
    told = history.circumstances
    rest = History([e for e in history if not e.notes.get(ONCE)], told)
    alone = [History(exchanges, told) for exchanges in sequences.values()]
    return frozenset(
        verdict.rule.id
        for verdict in judgement.verdicts
        if verdict.violated
        and not verdict_of(verdict.rule, rest).violated
        and any(verdict_of(verdict.rule, sequence).violated for sequence in alone)
    )
