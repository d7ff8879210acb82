"""``python -m benchmarks [NAME…]``: measure, print a table, and keep it.

The figures go to ``benchmarks/figures.json`` and into the table of ``benchmarks/README.md``.
"""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.figures import Figure, measured, put_table, table, write

BENCHMARKS = {
    "starting": "benchmarks.starting",
    "running": "benchmarks.running",
    "sending": "benchmarks.sending",
    "sequences": "benchmarks.sequences",
    "judging": "benchmarks.judging",
    "growing": "benchmarks.growing",
    "official-suite": "benchmarks.official_suite",
}
_WRITTEN = Path(__file__).parent / "figures.json"
_TOLD = Path(__file__).parent / "README.md"


def main(names: list[str]) -> int:
    """Run the benchmarks of these names, or all. Exits with 2 for a name that is none."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    for name in names or list(BENCHMARKS):
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        # Each in a process of its own: a process starts out with the memory of the one it comes
        # from, as far as the system's count is concerned.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as alone:
            figures += alone.submit(measured, BENCHMARKS[name]).result()
    order = list(BENCHMARKS)
    together = sorted(write(_WRITTEN, figures), key=lambda each: order.index(each.benchmark))
    put_table(_TOLD, together)
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
