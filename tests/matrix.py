"""The kill matrix: every fault is found by its rule and by no other, no variant is accused.

    python -m tests.matrix                  # everything, unnarrowed; writes reports/matrix.md
    python -m tests.matrix --narrow         # each fault by the topics of its rules only
    python -m tests.matrix NAME…            # some faults or variants
    python -m tests.matrix --spec 2025-11-25 …   # of another revision; reports/matrix-….md

What is not right is driven once more by itself, and the report tells both: five servers at once
keep a machine busy, and some faults are to be seen for a moment only. Exits with 1 where a fault is
missed then too, or somebody is accused at any time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from conformance.judge.rule import TOPICS, catalogue
from conformance.specification.revisions import DEFAULT_REVISION
from fixtures.faults import Fault
from fixtures.faults.combinations import load_combinations
from fixtures.serve import Settings, faults_of, variants_of
from fixtures.variants import Variant
from tests.driving import drive_fault, drive_reference, drive_variant, violations

REPORTS = Path(__file__).resolve().parent.parent / "reports"
PLAIN = "(plain)"


@dataclass(frozen=True)
class Row:
    """One server driven. ``wanted`` is the rule that has to speak (empty for a variant),
    ``undeclared`` the violations that nobody declared, with their reasons."""

    name: str
    kind: str
    wanted: str
    declared: tuple[str, ...]
    violated: tuple[str, ...]
    undeclared: dict[str, str]
    seconds: float
    error: str = ""

    @property
    def detected(self) -> bool:
        return not self.wanted or self.wanted in self.violated

    @property
    def right(self) -> bool:
        return self.detected and not self.undeclared and not self.error


def row_of_fault(name: str, *, narrow: bool, spec: str = DEFAULT_REVISION) -> Row:
    fault = faults_of(spec)[name]
    begun = time.monotonic()
    topics = None if narrow else TOPICS
    found = violations(drive_fault(fault, topics=topics, spec=spec))
    return _row(fault, found, time.monotonic() - begun)


def _row(fault: Fault, found: dict[str, str], seconds: float) -> Row:
    declared = (fault.breaks, *fault.also)
    undeclared = {rule: reason for rule, reason in found.items() if rule not in declared}
    return Row(fault.name, "fault", fault.breaks, declared, tuple(found), undeclared, seconds)


def row_of_variant(
    name: str, *, topics: Iterable[str] | None = None, spec: str = DEFAULT_REVISION
) -> Row:
    variant: Variant = variants_of(spec)[name]
    begun = time.monotonic()
    found = violations(drive_variant(variant, topics=topics, spec=spec))
    undeclared = {rule: reason for rule, reason in found.items() if rule not in variant.misses}
    seconds = time.monotonic() - begun
    return Row(name, "variant", "", tuple(variant.misses), tuple(found), undeclared, seconds)


def row_of_plain(spec: str = DEFAULT_REVISION) -> Row:
    begun = time.monotonic()
    found = violations(drive_reference(Settings(revision=spec), identities=True, spec=spec))
    return Row(PLAIN, "variant", "", (), tuple(found), found, time.monotonic() - begun)


def _row_of(kind: str, name: str, narrow: bool, spec: str) -> Row:
    try:
        if kind == "fault":
            return row_of_fault(name, narrow=narrow, spec=spec)
        return row_of_plain(spec) if name == PLAIN else row_of_variant(name, spec=spec)
    except Exception as error:  # one server that does not come up must not end the matrix
        return Row(name, kind, "", (), (), {}, 0.0, f"{type(error).__name__}: {error}"[:300])


def wanted_faults(spec: str) -> dict[str, Fault]:
    """The faults that a matrix is about: each breaks one rule.

    Deep faults are for sequences to find, and have a report of their own.
    """
    combined = load_combinations()
    return {
        name: fault
        for name, fault in faults_of(spec).items()
        if "sequences" not in fault.needs and name not in combined
    }


def rows(names: list[str], *, narrow: bool, processes: int, spec: str) -> Iterator[Row]:
    """Drive all servers, several at a time: most of the time is spent waiting."""
    work = [("variant", PLAIN), *(("variant", n) for n in variants_of(spec))]
    work += [("fault", name) for name in wanted_faults(spec)]
    if names:
        work = [(kind, name) for kind, name in work if name in names]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = [pool.submit(_row_of, kind, name, narrow, spec) for kind, name in work]
        for future in as_completed(futures):
            yield future.result()


def again(done: list[Row], *, narrow: bool, spec: str) -> dict[str, Row]:
    """What came of those that were not right, by name, each driven once more by itself."""
    return {row.name: _row_of(row.kind, row.name, narrow, spec) for row in done if not row.right}


def summary(done: list[Row]) -> str:
    faults = [row for row in done if row.kind == "fault"]
    variants = [row for row in done if row.kind == "variant"]
    detected = sum(row.detected and not row.error for row in faults)
    clean = sum(not row.undeclared and not row.error for row in faults)
    accused = sum(bool(row.undeclared) for row in variants)
    return (
        f"{detected} of {len(faults)} faults found by their rule, {clean} of them with nothing"
        f" undeclared; {accused} of {len(variants)} conformant servers accused"
    )


def summary_of_second(second: dict[str, Row]) -> str:
    right = sum(row.right for row in second.values())
    return f"{right} of the {len(second)} that were not right are, driven again by themselves"


def written(
    done: list[Row], second: dict[str, Row], seconds: float, narrow: bool, spec: str
) -> str:
    """The report, in Markdown."""
    how = "narrowed to the topics of each fault" if narrow else "unnarrowed"
    by_rule: dict[str, list[Row]] = {}
    for row in done:
        if row.kind == "fault":
            by_rule.setdefault(row.wanted, []).append(row)
    lines = [
        f"# The kill matrix of {spec}",
        "",
        f"Made by `python -m tests.matrix{_option(spec)}`. Each fault is the reference server with",
        "one thing wrong; each variant is the reference server, different and right.",
        "",
        f"**{summary(done)}** ({how}, {seconds / 60:.1f} minutes).",
        "",
        *([f"{summary_of_second(second)}.", ""] if second else []),
        "| rule | fault | found | also violated, as declared | undeclared |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule in catalogue(spec):
        for row in sorted(by_rule.get(rule, []), key=lambda r: r.name):
            also = ", ".join(r for r in row.violated if r in row.declared and r != row.wanted)
            found = "yes" if row.detected else "**no**"
            found += _again(second.get(row.name))
            lines.append(f"| {rule} | {row.name} | {found} | {also} | {_cell(row)} |")
    lines += ["", "| conformant server | knowingly missed | accused |", "| --- | --- | --- |"]
    for row in sorted((r for r in done if r.kind == "variant"), key=lambda r: r.name):
        missed = ", ".join(r for r in row.violated if r in row.declared)
        lines.append(f"| {row.name} | {missed} | {_cell(row)}{_again(second.get(row.name))} |")
    return "\n".join(lines) + "\n"


def _again(row: Row | None) -> str:
    if row is None:
        return ""
    return ", again: right" if row.right else f", again: not right {_cell(row)}"


def _option(spec: str) -> str:
    return "" if spec == DEFAULT_REVISION else f" --spec {spec}"


def report_of(spec: str) -> Path:
    """Where the matrix of a revision is written."""
    suffix = "" if spec == DEFAULT_REVISION else f"-{spec}"
    return REPORTS / f"matrix{suffix}.md"


def _cell(row: Row) -> str:
    return row.error or ", ".join(row.undeclared)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--narrow", action="store_true")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--spec", default=DEFAULT_REVISION)
    chosen = parser.parse_args()
    begun = time.monotonic()
    done: list[Row] = []
    spec = chosen.spec
    for row in rows(chosen.names, narrow=chosen.narrow, processes=chosen.processes, spec=spec):
        done.append(row)
        _tell(row)
    seconds = time.monotonic() - begun
    second = again(done, narrow=chosen.narrow, spec=spec)
    for row in second.values():
        _tell(row)
    print(summary(done))
    if second:
        print(summary_of_second(second))
    if not chosen.names:
        report = written(done, second, seconds, chosen.narrow, spec)
        report_of(spec).write_text(report, "utf-8")
        print(f"written: {report_of(spec)}")
    accused = any(row.undeclared or row.error for row in done)
    return 1 if accused or not all(row.right for row in second.values()) else 0


def _tell(row: Row) -> None:
    mark = "ok  " if row.right else "BAD "
    missed = "" if row.detected else f" missed {row.wanted}"
    print(f"{mark}{row.kind} {row.name} ({row.seconds:.1f} s){missed} {row.error}", flush=True)
    for rule, reason in row.undeclared.items():
        print(f"      {rule}: {reason}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
