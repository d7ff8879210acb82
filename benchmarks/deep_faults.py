"""How well deep faults are found: writes ``reports/sequences.md``.

    python -m benchmarks.deep_faults                        # all of it: an hour or two
    python -m benchmarks.deep_faults --seeds 3 NAME…        # some faults, nothing is written

Every deep fault is searched for with several seeds; nothing but sequences is driven. The conformant
variants are searched as well, and nothing may be found there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path

from conformance.drive.sequences.finds import read_counts
from conformance.drive.sequences.steps import length
from conformance.target.target import Target
from fixtures.faults import load_faults
from fixtures.faults.deep import SHORTEST
from fixtures.serve import Settings, running
from fixtures.variants import load_variants
from tests.at_work import extent, searched, two_callers

REPORT = Path(__file__).resolve().parent.parent / "reports" / "sequences.md"
PLAIN = "(the reference server)"


@dataclass(frozen=True)
class Hunt:
    """One search. ``steps`` is the length of the shortest sequence that shows the fault, 0 where
    none was found; ``others`` are finds besides, ``sequences`` how many were done."""

    name: str
    effort: str
    seed: int
    steps: int
    others: tuple[str, ...]
    sequences: int
    seconds: float


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """The reference server in a process of its own, as servers are."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(settings, there))
    server.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        server.join()


def _serve(settings: Settings, there: Connection) -> None:
    with running(settings) as url:
        there.send(url)
        there.recv()


def hunt(name: str, effort: str, seed: int, seconds: float | None) -> Hunt:
    """Search for a deep fault, or, where the name is that of a variant, for nothing."""
    begun = time.monotonic()
    fault = load_faults().get(name)
    limits = nullcontext() if seconds is None else extent(effort, seconds=seconds)
    with tempfile.TemporaryDirectory(prefix="deep-") as folder, limits:
        if fault is not None or name == PLAIN:
            wrong = name if fault else None
            with two_callers(wrong, serving=served, effort=effort, seed=seed) as target:
                result = searched(target, Path(folder))
        else:
            settings = load_variants()[name].settings
            with served(Settings(variant=name, **settings)) as url:
                result = searched(Target(url=url, effort=effort, seed=seed), Path(folder))
        counts = read_counts(Path(folder))
    wanted = fault.breaks if fault is not None else ""
    found = result.of(wanted)
    others = {rule for s in result.found.values() for rule in s.rules} - {wanted}
    return Hunt(
        name,
        effort,
        seed,
        length(found.plan) if found is not None else 0,
        tuple(sorted(others)),
        counts.sequences,
        time.monotonic() - begun,
    )


def hunts(work: Sequence[tuple[str, str, int, float | None]], processes: int) -> Iterator[Hunt]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = [pool.submit(hunt, *each) for each in work]
        for future in futures:
            done = future.result()
            print(f"{done}", file=sys.stderr, flush=True)
            yield done


def _row(name: str, done: Sequence[Hunt]) -> str:
    fault, least = load_faults()[name], len(SHORTEST[name])
    cells = [name.removeprefix("deep-").replace("-", " "), fault.breaks, str(least)]
    for effort in ("standard", "thorough"):
        tried = [h for h in done if h.name == name and h.effort == effort]
        found = [h.steps for h in tried if h.steps]
        longest = f", at most {max(found)} steps" if found else ""
        cells.append(f"{len(found)} of {len(tried)}{longest}" if tried else "")
    return f"| {' | '.join(cells)} |"


def report(done: Sequence[Hunt], thorough_seconds: float) -> str:
    """The report, in Markdown."""
    faults = [h for h in done if h.name in SHORTEST]
    clean = [h for h in done if h.name not in SHORTEST]
    accused = [h for h in clean if h.others]
    small = [h for h in faults if h.steps and h.steps <= len(SHORTEST[h.name]) + 1]
    standard = [h for h in faults if h.effort == "standard"]
    lines = [
        "# Sequences",
        "",
        "Made by `python -m benchmarks.deep_faults`. A deep fault is the reference server with one"
        " thing wrong that needs three or more steps in the right order, and that no scenario"
        " sees. Each was searched for with several seeds, by sequences alone.",
        "",
        f"* {len({h.name for h in faults})} deep faults; found at `standard` in"
        f" {sum(bool(h.steps) for h in standard)} of {len(standard)} searches.",
        f"* {len(small)} of {sum(bool(h.steps) for h in faults)} finds are within one step of the"
        " fewest steps known.",
        f"* {len(clean)} searches of conformant servers"
        f" ({len({h.name for h in clean})} of them, {sum(h.sequences for h in clean):,} sequences):"
        f" {len(accused)} accused.",
        f"* `thorough` was given {thorough_seconds:g} seconds a search here, less than it takes.",
        f"* Hypothesis {metadata.version('hypothesis')}, Python {platform.python_version()}.",
        "",
        "| fault | rule | fewest steps | found at standard | found at thorough |",
        "| --- | --- | --- | --- | --- |",
        *(_row(name, done) for name in sorted(SHORTEST) if any(h.name == name for h in done)),
        "",
    ]
    if accused:
        lines += ["Accused:", "", *(f"* {h.name}, {h.effort}, seed {h.seed}: "
                                    f"{', '.join(h.others)}" for h in accused), ""]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="faults or variants; all where none is named")
    parser.add_argument("--seeds", type=int, default=10, help="searches of each at standard")
    parser.add_argument("--thorough-seeds", type=int, default=2, help="searches at thorough")
    parser.add_argument("--thorough-seconds", type=float, default=40.0)
    parser.add_argument("--variant-seeds", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    names = chosen.names or [*SHORTEST, PLAIN, *load_variants()]
    work: list[tuple[str, str, int, float | None]] = []
    for name in names:
        deep = name in SHORTEST
        seeds = chosen.seeds if deep else chosen.variant_seeds
        work += [(name, "standard", seed, None) for seed in range(1, seeds + 1)]
        seeds = chosen.thorough_seeds if deep else chosen.variant_seeds
        work += [(name, "thorough", seed, chosen.thorough_seconds) for seed in range(1, seeds + 1)]
    done = list(hunts(work, chosen.processes))
    text = report(done, chosen.thorough_seconds)
    print(text)
    if not chosen.names:
        REPORT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
