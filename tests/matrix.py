"""The kill matrix: every fault is found by its rule and by no other, no variant is accused.

    python -m tests.matrix                  # everything, unnarrowed; writes reports/matrix.md
    python -m tests.matrix --narrow         # each fault by the topics of its rules only
    python -m tests.matrix NAME…            # some faults or variants

Exits with 1 where a fault is missed or somebody is accused.
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
from fixtures.faults import Fault, load_faults
from fixtures.variants import Variant, load_variants
from tests.driving import drive_fault, drive_reference, drive_variant, violations

REPORT = Path(__file__).resolve().parent.parent / "reports" / "matrix.md"
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


def row_of_fault(name: str, *, narrow: bool) -> Row:
    fault = load_faults()[name]
    begun = time.monotonic()
    topics = None if narrow else TOPICS
    found = violations(drive_fault(fault, topics=topics))
    return _row(fault, found, time.monotonic() - begun)


def _row(fault: Fault, found: dict[str, str], seconds: float) -> Row:
    declared = (fault.breaks, *fault.also)
    undeclared = {rule: reason for rule, reason in found.items() if rule not in declared}
    return Row(fault.name, "fault", fault.breaks, declared, tuple(found), undeclared, seconds)


def row_of_variant(name: str, *, topics: Iterable[str] | None = None) -> Row:
    variant: Variant = load_variants()[name]
    begun = time.monotonic()
    found = violations(drive_variant(variant, topics=topics))
    undeclared = {rule: reason for rule, reason in found.items() if rule not in variant.misses}
    seconds = time.monotonic() - begun
    return Row(name, "variant", "", tuple(variant.misses), tuple(found), undeclared, seconds)


def row_of_plain() -> Row:
    begun = time.monotonic()
    found = violations(drive_reference(identities=True))
    return Row(PLAIN, "variant", "", (), tuple(found), found, time.monotonic() - begun)


def _row_of(kind: str, name: str, narrow: bool) -> Row:
    try:
        if kind == "fault":
            return row_of_fault(name, narrow=narrow)
        return row_of_plain() if name == PLAIN else row_of_variant(name)
    except Exception as error:  # one server that does not come up must not end the matrix
        return Row(name, kind, "", (), (), {}, 0.0, f"{type(error).__name__}: {error}"[:300])


def rows(names: list[str], *, narrow: bool, processes: int) -> Iterator[Row]:
    """Drive all servers, several at a time: most of the time is spent waiting."""
    work = [("variant", PLAIN), *(("variant", n) for n in load_variants())]
    # Deep faults are for sequences to find, and have a report of their own.
    work += [("fault", n) for n, f in load_faults().items() if "sequences" not in f.needs]
    if names:
        work = [(kind, name) for kind, name in work if name in names]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = [pool.submit(_row_of, kind, name, narrow) for kind, name in work]
        for future in as_completed(futures):
            yield future.result()


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


def written(done: list[Row], seconds: float, narrow: bool) -> str:
    """The report, in Markdown."""
    how = "narrowed to the topics of each fault" if narrow else "unnarrowed"
    by_rule: dict[str, list[Row]] = {}
    for row in done:
        if row.kind == "fault":
            by_rule.setdefault(row.wanted, []).append(row)
    lines = [
        "# The kill matrix",
        "",
        "Made by `python -m tests.matrix`. Each fault is the reference server with one thing",
        "wrong; each variant is the reference server, different and right.",
        "",
        f"**{summary(done)}** ({how}, {seconds / 60:.1f} minutes).",
        "",
        "| rule | fault | found | also violated, as declared | undeclared |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule in catalogue():
        for row in sorted(by_rule.get(rule, []), key=lambda r: r.name):
            also = ", ".join(r for r in row.violated if r in row.declared and r != row.wanted)
            found = "yes" if row.detected else "**no**"
            lines.append(f"| {rule} | {row.name} | {found} | {also} | {_cell(row)} |")
    lines += ["", "| conformant server | knowingly missed | accused |", "| --- | --- | --- |"]
    for row in sorted((r for r in done if r.kind == "variant"), key=lambda r: r.name):
        missed = ", ".join(r for r in row.violated if r in row.declared)
        lines.append(f"| {row.name} | {missed} | {_cell(row)} |")
    return "\n".join(lines) + "\n"


def _cell(row: Row) -> str:
    return row.error or ", ".join(row.undeclared)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--narrow", action="store_true")
    parser.add_argument("--processes", type=int, default=3)
    chosen = parser.parse_args()
    begun = time.monotonic()
    done: list[Row] = []
    for row in rows(chosen.names, narrow=chosen.narrow, processes=chosen.processes):
        done.append(row)
        mark = "ok  " if row.right else "BAD "
        missed = "" if row.detected else f" missed {row.wanted}"
        print(f"{mark}{row.kind} {row.name} ({row.seconds:.1f} s){missed} {row.error}", flush=True)
        for rule, reason in row.undeclared.items():
            print(f"      {rule}: {reason}", flush=True)
    print(summary(done))
    if not chosen.names:
        REPORT.write_text(written(done, time.monotonic() - begun, chosen.narrow), "utf-8")
        print(f"written: {REPORT}")
    return 0 if all(row.right for row in done) else 1


if __name__ == "__main__":
    sys.exit(main())
