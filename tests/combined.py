"""Conformant servers that differ from the reference server in many ways at once.

    python -m tests.combined                  # 150 of them; writes reports/combined.md
    python -m tests.combined 1 20             # those of the seeds 1 to 20; nothing is written
    python -m tests.combined 7 7 --variants 3

Each variant alone is driven by ``tests.matrix``. What two of them do together no rule has thought
of: a question that times out where reads are limited, say. A seed stands for some variants that get
along, a pace, a form of answers, and one caller or two. Exits with 1 where a server is accused.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from conformance.judge.rule import TOPICS
from fixtures.reference.server import Server
from fixtures.serve import Settings
from fixtures.variants import Variant, load_variants
from tests.driving import drive_reference, violations

REPORT = Path(__file__).resolve().parent.parent / "reports" / "combined.md"
SEEDS = 150
#: How many variants one server has.
VARIANTS = 8
#: Pairs that contradict each other: a request by URL has no default mode to leave out, and a time
#: that is not known until the task ends cannot be over before.
CONTRARY = (
    frozenset({"elicitation-by-url", "elicitation-without-mode"}),
    frozenset({"created-before-the-call", "ttl-told-at-the-end"}),
)


@dataclass(frozen=True)
class Combined:
    """What one seed stands for."""

    seed: int
    variants: tuple[Variant, ...]
    settings: Settings
    identities: bool

    @property
    def names(self) -> list[str]:
        return sorted(variant.name for variant in self.variants)

    def server(self, settings: Settings) -> Server:
        """The server that has all the variants."""
        classes = [v.server for v in self.variants]
        # A class comes before those that it is made from.
        tops = [c for c in classes if not any(c is not d and issubclass(d, c) for d in classes)]
        server: type[Server] = type("Combined", tuple(tops), {"__doc__": ", ".join(self.names)})
        return server(settings)


@dataclass(frozen=True)
class Row:
    """One server driven. ``accused`` are the violations, with their reasons."""

    seed: int
    names: tuple[str, ...]
    accused: dict[str, str]
    seconds: float


def combined(seed: int, number: int = VARIANTS) -> Combined:
    """So many variants of which no two override the same method, nor want other settings."""
    chance = random.Random(seed)
    variants = list(load_variants().values())
    chance.shuffle(variants)
    chosen: list[Variant] = []
    overridden: set[str] = set()
    wanted: dict[str, Any] = {}
    for variant in variants:
        differs = any(wanted.get(name, value) != value for name, value in variant.settings.items())
        contrary = any(pair <= {v.name for v in (*chosen, variant)} for pair in CONTRARY)
        if not (differs or contrary or overridden & _overridden(variant)):
            chosen.append(variant)
            overridden |= _overridden(variant)
            wanted |= variant.settings
        if len(chosen) == number:
            break
    wanted.setdefault("rate_limit", chance.random() < 0.3)
    wanted.setdefault("sse", chance.random() < 0.3)
    identities = chance.random() < 0.5
    return Combined(seed, tuple(chosen), Settings(**wanted), identities)


def _overridden(variant: Variant) -> set[str]:
    """The methods that a variant has of its own; all of them may have an ``__init__``."""
    own = variant.server.__mro__[: variant.server.__mro__.index(Server)]
    return {name for each in own for name in vars(each) if not name.startswith("__")}


def row_of(seed: int, number: int = VARIANTS) -> Row:
    """Drive the server of a seed."""
    begun = time.monotonic()
    chosen = combined(seed, number)
    found = violations(
        drive_reference(
            chosen.settings,
            topics=TOPICS,
            identities=chosen.identities,
            made_by=chosen.server,
        )
    )
    missed = {rule for variant in chosen.variants for rule in variant.misses}
    accused = {rule: reason for rule, reason in found.items() if rule not in missed}
    return Row(seed, tuple(chosen.names), accused, time.monotonic() - begun)


def rows(seeds: range, number: int, processes: int) -> Iterator[Row]:
    """Drive all servers, several at a time."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = [pool.submit(row_of, seed, number) for seed in seeds]
        for future in as_completed(futures):
            yield future.result()


def written(done: list[Row], number: int, seconds: float) -> str:
    """The report, in Markdown."""
    pairs = {pair for row in done for pair in combinations(row.names, 2)}
    accused = [row for row in done if row.accused]
    lines = [
        "# Servers that are different in many ways at once",
        "",
        f"Made by `python -m tests.combined`. Each server has {number} of the conformant variants,",
        "chosen by its seed, and is driven by all scenarios.",
        "",
        f"**{len(accused)} of {len(done)} accused** ({len(pairs):,} pairs of variants in one",
        f"server, {seconds / 60:.1f} minutes).",
        "",
    ]
    for row in accused:
        rules = ", ".join(row.accused)
        lines.append(f"* seed {row.seed} ({', '.join(row.names)}): {rules}")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", nargs="?", type=int, default=1, help="the first seed")
    parser.add_argument("last", nargs="?", type=int, help="the last seed")
    parser.add_argument("--variants", type=int, default=VARIANTS, help="how many a server has")
    parser.add_argument("--processes", type=int, default=5)
    chosen = parser.parse_args()
    begun = time.monotonic()
    last = SEEDS if chosen.last is None else chosen.last
    done: list[Row] = []
    for row in rows(range(chosen.first, last + 1), chosen.variants, chosen.processes):
        done.append(row)
        mark = "BAD " if row.accused else "ok  "
        print(f"{mark}{row.seed} ({row.seconds:.1f} s) {', '.join(row.names)}", flush=True)
        for rule, reason in row.accused.items():
            print(f"      {rule}: {reason}", flush=True)
    done.sort(key=lambda row: row.seed)
    if (chosen.first, chosen.last, chosen.variants) == (1, None, VARIANTS):
        REPORT.write_text(written(done, chosen.variants, time.monotonic() - begun), "utf-8")
        print(f"written: {REPORT}")
    return 1 if any(row.accused for row in done) else 0


if __name__ == "__main__":
    sys.exit(main())
