"""How well deep faults are found: writes ``reports/sequences.md``.

    python -m benchmarks.deep_faults --keep reports/sequences.jsonl   # an hour or two, if anew
    python -m benchmarks.deep_faults --seeds 3 NAME…                  # some; nothing is written

Every deep fault is searched for with several seeds; nothing but sequences is driven. The conformant
variants are searched as well, and nothing may be found there. With ``--keep`` it may be stopped and
gone on with, and with more seeds than before: ``reports/sequences.jsonl`` has a line for each
search that the report is made from. Lines that a change made doubtful are to be taken out first.

A search at standard effort does all its plans here, as it does on a machine that is free: how many
it gets through in its seconds depends on what else that machine has to do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

from benchmarks.kept_plans import plans_kept
from conformance.drive.sequences.extents import EXTENTS
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
EFFORTS = ("standard", "thorough")
# For all the plans of a standard run.
_ENOUGH_SECONDS = 60.0


@dataclass(frozen=True)
class Hunt:
    """One search. ``steps`` is the length of the shortest sequence that shows the fault, 0 where
    none was found; ``others`` are finds besides, ``sequences`` how many were done. ``commit`` is
    of the code that searched, ``given`` the seconds that it was given at most."""

    name: str
    effort: str
    seed: int
    steps: int
    others: tuple[str, ...]
    sequences: int
    seconds: float
    commit: str = ""
    given: float = 40.0

    @property
    def by_another(self) -> bool:
        """Whether only another rule spoke than the one that the fault breaks."""
        return not self.steps and bool(self.others)


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """The reference server in a process of its own, as servers are."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(settings, there))
    server.start()
    # With this end closed, a server that dies while it starts is noticed: nothing can come.
    there.close()
    try:
        yield here.recv()
    finally:
        with suppress(OSError):
            here.send(None)
        server.join()


def _serve(settings: Settings, there: Connection) -> None:
    with running(settings) as url:
        there.send(url)
        there.recv()


def hunt(name: str, effort: str, seed: int, seconds: float, plans: Path) -> Hunt:
    """Search for a deep fault, or, where the name is that of a variant, for nothing. ``plans`` is
    a folder of plans that were made before."""
    begun = time.monotonic()
    fault = load_faults().get(name)
    with (
        tempfile.TemporaryDirectory(prefix="deep-") as folder,
        extent(effort, seconds=seconds),
        plans_kept(plans),
    ):
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
    variant = load_variants().get(name)
    expected = {wanted, *(variant.misses if variant is not None else ())}
    others = {rule for s in result.found.values() for rule in s.rules} - expected
    return Hunt(
        name,
        effort,
        seed,
        length(found.plan) if found is not None else 0,
        tuple(sorted(others)),
        counts.sequences,
        time.monotonic() - begun,
        commit(),
        seconds,
    )


@cache
def commit() -> str:
    """The commit of this checkout; empty where it is none."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    told = subprocess.run(command, cwd=REPORT.parent, capture_output=True, text=True, check=False)
    return told.stdout.strip()


def hunts(
    work: Sequence[tuple[str, str, int, float]], processes: int, kept: Path | None
) -> Iterator[Hunt]:
    """What each search came to; those that are kept in a file are not done again."""
    known = {(each.name, each.effort, each.seed): each for each in _read(kept)}
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="plans-") as folder,
        ProcessPoolExecutor(processes, mp_context=context) as pool,
    ):
        futures = {
            each[:3]: pool.submit(hunt, *each, Path(folder))
            for each in work
            if each[:3] not in known
        }
        for number, (name, effort, seed, _) in enumerate(work, 1):
            which = (name, effort, seed)
            done = known[which] if which in known else futures[which].result()
            if which in futures:
                print(f"{number} of {len(work)}: {done}", file=sys.stderr, flush=True)
                if kept is not None:
                    with kept.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(done)) + "\n")
            yield done


def _read(kept: Path | None) -> Iterator[Hunt]:
    if kept is not None and kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            yield Hunt(**{**record, "others": tuple(record["others"])})


def _row(name: str, done: Sequence[Hunt]) -> str:
    fault, least = load_faults()[name], len(SHORTEST[name])
    cells = [name.removeprefix("deep-").replace("-", " "), fault.breaks, str(least)]
    for effort in EFFORTS:
        tried = [h for h in done if h.name == name and h.effort == effort]
        found = [h.steps for h in tried if h.steps]
        other = sum(h.by_another for h in tried)
        longest = f", at most {max(found)} steps" if found else ""
        besides = f", {other} by another rule" if other else ""
        cells.append(f"{len(found)} of {len(tried)}{longest}{besides}" if tried else "")
    return f"| {' | '.join(cells)} |"


def _commits(done: Sequence[Hunt]) -> list[tuple[str, int]]:
    """Each commit with the number of its searches, the most first."""
    return Counter(h.commit for h in done).most_common()


def _of_conformant(effort: str, done: Sequence[Hunt]) -> str:
    servers = Counter(h.name for h in done)
    return (
        f"* {len(done)} searches at `{effort}` of {len(servers)} conformant servers"
        f" (each with {min(servers.values())} to {max(servers.values())}"
        f" seeds, {sum(h.sequences for h in done):,} sequences in all, half of the searches"
        f" {median(h.sequences for h in done):.0f} or more):"
        f" {sum(bool(h.others) for h in done)} accused."
    )


def report(done: Sequence[Hunt], processes: int) -> str:
    """The report, in Markdown."""
    faults = [h for h in done if h.name in SHORTEST]
    clean = [h for h in done if h.name not in SHORTEST]
    accused = [h for h in clean if h.others]
    small = [h for h in faults if h.steps and h.steps <= len(SHORTEST[h.name]) + 1]
    efforts = {effort: [h for h in faults if h.effort == effort] for effort in EFFORTS}
    given = Counter(h.given for h in done if h.effort == "thorough")
    lines = [
        "# Sequences",
        "",
        "Made by `python -m benchmarks.deep_faults`. A deep fault is the reference server with one"
        " thing wrong that needs three or more steps in the right order, and that no scenario"
        " sees. Each was searched for with several seeds, by sequences alone.",
        "",
        f"* {len({h.name for h in faults})} deep faults: "
        + "; ".join(
            f"found at `{effort}` in {sum(bool(h.steps) for h in tried)} of {len(tried)} searches,"
            f" in {sum(h.by_another for h in tried)} more another rule spoke"
            for effort, tried in efforts.items()
            if tried
        )
        + ".",
        f"* {len(small)} of {sum(bool(h.steps) for h in faults)} finds are within one step of the"
        " fewest steps known.",
        *(
            _of_conformant(effort, [h for h in clean if h.effort == effort])
            for effort in EFFORTS
            if any(h.effort == effort for h in clean)
        ),
        "* Commits of the code that searched: "
        + ", ".join(f"{each or 'unknown'} ({n})" for each, n in _commits(done))
        + ".",
        f"* Seconds that a search at `thorough` was given, of the"
        f" {EXTENTS['thorough'].seconds:g} that it takes: "
        + ", ".join(f"{seconds:g} ({n})" for seconds, n in sorted(given.items()))
        + f". Searches at a time: {processes}.",
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


def _seeds(chosen: argparse.Namespace, name: str, effort: str) -> int:
    """With how many seeds something is searched."""
    if name not in SHORTEST:
        return int(chosen.plain_seeds if name == PLAIN else chosen.variant_seeds)
    return int(chosen.seeds if effort == "standard" else chosen.thorough_seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="faults or variants; all where none is named")
    parser.add_argument("--seeds", type=int, default=10, help="searches of each at standard")
    parser.add_argument("--thorough-seeds", type=int, default=2, help="searches at thorough")
    parser.add_argument("--thorough-seconds", type=float, default=40.0)
    parser.add_argument("--plain-seeds", type=int, default=20, help="of the reference server")
    parser.add_argument("--variant-seeds", type=int, default=1, help="of each variant")
    parser.add_argument("--effort", choices=EFFORTS, help="this one only; both if not named")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="go on with what FILE has")
    chosen = parser.parse_args()
    names = chosen.names or [*SHORTEST, PLAIN, *load_variants()]
    most = max(chosen.seeds, chosen.thorough_seeds, chosen.plain_seeds, chosen.variant_seeds)
    work = [
        (name, effort, seed, seconds)
        for effort, seconds in (
            ("standard", _ENOUGH_SECONDS),
            ("thorough", chosen.thorough_seconds),
        )
        if chosen.effort in (None, effort)
        for seed in range(1, most + 1)
        for name in names
        if seed <= _seeds(chosen, name, effort)
    ]
    done = list(hunts(work, chosen.processes, chosen.keep))
    # What a file has besides, of more seeds, counts too.
    asked = {each[:3] for each in work}
    done += [h for h in _read(chosen.keep) if (h.name, h.effort, h.seed) not in asked]
    text = report(done, chosen.processes)
    print(text)
    if not chosen.names and (chosen.effort is None or chosen.keep is not None):
        REPORT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
