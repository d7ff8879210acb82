"""The same server gets the same verdicts, whatever the seed and however busy the machine.

    python -m tests.steadiness                    # thirty runs of the plain server, ten of each
                                                  # of the slowest variants, beside busy processes
    python -m tests.steadiness --runs 3 NAME…     # some variants; ``plain`` is the plain server

Writes reports/steadiness.md, and exits with 1 where two runs of a server differ.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.judge.verdict import Judgement
from fixtures.reference.settings import Settings
from fixtures.variants import load_variants
from tests.driving import drive_reference

REPORT = Path(__file__).resolve().parent.parent / "reports" / "steadiness.md"
PLAIN = "plain"
# The two variants whose runs take longest, by the matrix.
SLOWEST = ("slow-network", "times-with-offset")


@dataclass(frozen=True)
class Steadiness:
    """``verdicts`` of each rule, with how often each came in ``runs`` runs."""

    name: str
    runs: int
    seconds: float
    verdicts: dict[str, Counter[str]]

    @property
    def unsteady(self) -> dict[str, Counter[str]]:
        return {rule: counts for rule, counts in self.verdicts.items() if len(counts) > 1}


def _keep_busy(ends: float) -> None:
    while time.time() < ends:
        sum(range(100_000))


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Other processes compute all the while, as many as said."""
    context = multiprocessing.get_context("spawn")
    ends = time.time() + 3600
    workers = [
        context.Process(target=_keep_busy, args=(ends,), daemon=True) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def _judgement_of(name: str, seed: int) -> Judgement:
    if name == PLAIN:
        return drive_reference(identities=True, seed=seed)
    variant = load_variants()[name]
    return drive_reference(Settings(variant=name, **variant.settings), seed=seed)


def steadiness_of(name: str, runs: int) -> Steadiness:
    """Drive a server with so many seeds, one run after another."""
    verdicts: dict[str, Counter[str]] = {}
    begun = time.monotonic()
    for seed in range(1, runs + 1):
        judgement = _judgement_of(name, seed)
        for verdict in judgement.verdicts:
            verdicts.setdefault(verdict.rule.id, Counter())[verdict.verdict] += 1
        violated = [v.rule.id for v in judgement.verdicts if v.violated]
        print(f"{name}, seed {seed}: {', '.join(violated) or 'nothing violated'}", flush=True)
    return Steadiness(name, runs, time.monotonic() - begun, verdicts)


def written(done: list[Steadiness], processes: int) -> str:
    """The report, in Markdown."""
    lines = [
        "# Steadiness",
        "",
        "Made by `python -m tests.steadiness`: the reference server and its slowest variants, each",
        f"driven with one seed after another while {processes} other processes keep"
        f" {os.cpu_count()} cores busy.",
        "",
        "| server | runs | seconds a run | rules with more than one verdict |",
        "| --- | ---: | ---: | --- |",
    ]
    for each in done:
        told = "; ".join(
            f"{rule} ({', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())})"
            for rule, counts in each.unsteady.items()
        )
        lines.append(
            f"| {each.name} | {each.runs} | {each.seconds / each.runs:.1f} | {told or 'none'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--busy", type=int, default=os.cpu_count() or 2, metavar="PROCESSES")
    chosen = parser.parse_args()
    names = chosen.names or [PLAIN, *SLOWEST]
    with busy(chosen.busy):
        done = [steadiness_of(name, chosen.runs or (30 if name == PLAIN else 10)) for name in names]
    report = written(done, chosen.busy)
    print(report)
    if not chosen.names:
        REPORT.write_text(report, "utf-8")
    return 1 if any(each.unsteady for each in done) else 0


if __name__ == "__main__":
    sys.exit(main())
