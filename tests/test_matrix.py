"""Every rule is proven by a server that breaks it, and accuses none that is merely different.

``python -m tests.matrix`` drives all faults and variants, unnarrowed; here is a part of it in
which every rule is, quick enough for every change.
"""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from conformance.judge.rule import MUST, catalogue
from conformance.specification.revisions import DEFAULT_REVISION
from fixtures.serve import variants_of
from tests.matrix import row_of_fault, row_of_variant, wanted_faults

OLDER = "2025-11-25"
REVISIONS = (DEFAULT_REVISION, OLDER)


def _one_fault_of_each_rule() -> list[ParameterSet]:
    """Of 2025-11-25, at night and in the matrix those of rules that are no must, or that the newer
    revision has too and its faults prove."""
    chosen: list[ParameterSet] = []
    newer = {rule.judge for rule in catalogue(DEFAULT_REVISION).values()}
    for spec in REVISIONS:
        first = {f.breaks: name for name, f in reversed(wanted_faults(spec).items())}
        for rule, name in sorted(first.items(), key=lambda pair: pair[1]):
            known = catalogue(spec)[rule]
            late = spec == OLDER and (known.level != MUST or known.judge in newer)
            marks = [pytest.mark.nightly] if late else []
            chosen.append(pytest.param(spec, name, marks=marks))
    return chosen


@pytest.mark.parametrize("spec", REVISIONS)
def test_every_rule_has_a_fault_and_every_fault_a_rule(spec: str) -> None:
    rules = set(catalogue(spec))
    faults = wanted_faults(spec).values()
    named = {rule for fault in faults for rule in fault.also}
    missed = {rule for variant in variants_of(spec).values() for rule in variant.misses}
    assert {fault.breaks for fault in faults} == rules
    assert named | missed <= rules


@pytest.mark.parametrize(("spec", "name"), _one_fault_of_each_rule())
def test_fault_is_found_by_its_rule_alone(spec: str, name: str) -> None:
    row = row_of_fault(name, narrow=True, spec=spec)
    assert row.undeclared == {}
    if not row.detected:
        # On a machine that is busy with other tests a request may come too late to see it.
        row = row_of_fault(name, narrow=True, spec=spec)
    assert row.detected, f"{row.wanted} did not speak; {row.violated} did"
    assert row.undeclared == {}


def _variants() -> list[ParameterSet]:
    """One of each topic by default; all of them at night, and in the matrix."""
    seen: set[str] = set()
    chosen: list[ParameterSet] = []
    for spec in REVISIONS:
        for name, variant in sorted(variants_of(spec).items()):
            topic = variant.server.__module__
            marks = [pytest.mark.nightly] if topic in seen else []
            chosen.append(pytest.param(spec, name, marks=marks))
            seen.add(topic)
    return chosen


@pytest.mark.parametrize(("spec", "name"), _variants())
def test_variant_is_not_accused(spec: str, name: str) -> None:
    # The topics in which most careless rules would stumble; the matrix drives all.
    topics = ("creation", "polling", "results", "input", "cancellation")
    row = row_of_variant(name, topics=topics, spec=spec)
    assert row.undeclared == {}
