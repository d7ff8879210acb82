"""Several runs told as one: of each rule the worst that was seen, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.judge.rule import LEVELS
from conformance.judge.verdict import (
    FAIL,
    NOT_APPLICABLE,
    NOT_EXERCISED,
    PASS,
    VERDICTS,
    WARN,
    Cause,
)
from conformance.report.results import (
    CONFORMANT,
    INCONCLUSIVE,
    NON_CONFORMANT,
    NOT_OFFERED,
    Results,
    RuleResult,
    RunFacts,
)

_WORST_FIRST = (FAIL, WARN, PASS, NOT_EXERCISED, NOT_APPLICABLE)
_OVERALL_WORST_FIRST = (NON_CONFORMANT, INCONCLUSIVE, CONFORMANT, NOT_OFFERED)


def together(runs: Sequence[Results]) -> Results:
    """The results of one or more runs, judged by the same rules, as one.

    A rule that was violated in any run is violated; one that passed in any, and was violated in
    none, passes. Where its verdict was not that of every run, the reason says so.
    """
    if len(runs) == 1:
        return runs[0]
    first = runs[0]
    rules = tuple(_together([run.rules[n] for run in runs]) for n in range(len(first.rules)))
    verdicts = [run.verdict for run in runs]
    return replace(
        first,
        run=_facts(runs),
        target=replace(first.target, extension=any(run.target.extension for run in runs)),
        tools=tuple({tool.name: tool for run in reversed(runs) for tool in run.tools}.values()),
        verdict=min(verdicts, key=_OVERALL_WORST_FIRST.index),
        summary={
            level: {v: sum(r.level == level and r.verdict == v for r in rules) for v in VERDICTS}
            for level in LEVELS
        },
        causes=_causes(runs, rules),
        rules=rules,
    )


def _together(each: Sequence[RuleResult]) -> RuleResult:
    worst = min(each, key=lambda result: _WORST_FIRST.index(result.verdict))
    alike = [result for result in each if result.verdict == worst.verdict]
    reason = worst.reason
    if len(alike) < len(each) and worst.exercised:
        reason = f"{reason} (in {len(alike)} of {len(each)} runs)"
    observations = sum(result.observations for result in alike)
    return replace(worst, reason=reason, observations=observations)


def _causes(runs: Sequence[Results], rules: Sequence[RuleResult]) -> tuple[Cause, ...]:
    settled = {rule.id: rule for rule in rules}
    also: dict[str, list[str]] = {}
    for run in runs:
        for cause in run.causes:
            named = also.setdefault(cause.rule, [])
            named += [i for i in cause.also if i not in named and not settled[i].exercised]
    violated = [rule for rule in rules if rule.id in also]
    violated.sort(key=lambda rule: rule.verdict != FAIL)
    return tuple(Cause(rule.id, rule.reason, tuple(also[rule.id])) for rule in violated)


def _facts(runs: Sequence[Results]) -> RunFacts:
    facts = [run.run for run in runs]
    return replace(
        facts[0],
        started=min(fact.started for fact in facts),
        seconds=round(sum(fact.seconds for fact in facts), 3),
        requests=sum(fact.requests for fact in facts),
        tasks=sum(fact.tasks for fact in facts),
        unjudged="; ".join(dict.fromkeys(fact.unjudged for fact in facts if fact.unjudged)),
        cut_short="; ".join(dict.fromkeys(fact.cut_short for fact in facts if fact.cut_short)),
        options={**facts[0].options, "runs": len(runs)},
    )
