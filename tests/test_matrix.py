"""Every rule is proven by a server that breaks it, and accuses none that is merely different.

``python -m tests.matrix`` drives all faults and variants, unnarrowed; here is a part of it in
which every rule is, quick enough for every change.
"""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from conformance.judge.rule import catalogue
from fixtures.faults import load_faults
from fixtures.variants import load_variants
from tests.matrix import row_of_fault, row_of_variant


def _one_fault_of_each_rule() -> list[str]:
    first: dict[str, str] = {}
    for fault in load_faults().values():
        # A deep fault is seen by no scenario: test_sequences.py is about them.
        if "sequences" not in fault.needs:
            first.setdefault(fault.breaks, fault.name)
    return sorted(first.values())


def test_every_rule_has_a_fault_and_every_fault_a_rule() -> None:
    rules = set(catalogue())
    broken = {fault.breaks for fault in load_faults().values()}
    named = {rule for fault in load_faults().values() for rule in fault.also}
    missed = {rule for variant in load_variants().values() for rule in variant.misses}
    assert broken == rules
    assert named | missed <= rules


@pytest.mark.parametrize("name", _one_fault_of_each_rule())
def test_fault_is_found_by_its_rule_alone(name: str) -> None:
    row = row_of_fault(name, narrow=True)
    assert row.undeclared == {}
    if not row.detected:
        # On a machine that is busy with other tests a request may come too late to see it.
        row = row_of_fault(name, narrow=True)
    assert row.detected, f"{row.wanted} did not speak; {row.violated} did"
    assert row.undeclared == {}


def _variants() -> list[ParameterSet]:
    """One of each topic by default; all of them at night, and in the matrix."""
    seen: set[str] = set()
    chosen: list[ParameterSet] = []
    for name, variant in sorted(load_variants().items()):
        topic = variant.server.__module__
        chosen.append(pytest.param(name, marks=[pytest.mark.nightly] if topic in seen else []))
        seen.add(topic)
    return chosen


@pytest.mark.parametrize("name", _variants())
def test_variant_is_not_accused(name: str) -> None:
    # The topics in which most careless rules would stumble; the matrix drives all.
    row = row_of_variant(name, topics=("creation", "polling", "input", "cancellation"))
    assert row.undeclared == {}
