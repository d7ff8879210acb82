"""The judge's rules over one sequence: the same that judge every history.

What a short history cannot show is left out: rules that look at a whole run, and those that
only advise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from conformance.judge.rule import ADVICE, Rule, catalogue
from conformance.judge.verdict import Verdict, conclude, verdict_of
from conformance.wire.history import History

# They estimate over a whole run, or need what no sequence does.
_OF_WHOLE_RUNS = frozenset(("security.unguessable-ids",))


def rules_for_sequences(revision: str) -> dict[str, Rule]:
    """The rules of a revision that sequences are judged by."""
    return {
        rule_id: rule
        for rule_id, rule in catalogue(revision).items()
        if rule.level != ADVICE and rule_id not in _OF_WHOLE_RUNS
    }


def violations(rules: Mapping[str, Rule], history: History) -> dict[str, Verdict]:
    """The rules that a history breaks, each cause once, in the order of the catalogue."""
    alone = {rule_id: verdict_of(rule, history) for rule_id, rule in rules.items()}
    if not any(verdict.violated for verdict in alone.values()):
        return {}
    return {v.rule.id: v for v in conclude(alone).verdicts if v.violated}


def blocked_by(rules: Mapping[str, Rule], rule_id: str, broken: Collection[str]) -> bool:
    """Whether a rule builds, near or far, on one that is broken."""
    to_see, seen = [rule_id], {rule_id}
    while to_see:
        rule = rules.get(to_see.pop())
        for earlier in rule.after if rule is not None else ():
            if earlier in broken:
                return True
            if earlier not in seen:
                seen.add(earlier)
                to_see.append(earlier)
    return False
