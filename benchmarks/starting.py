"""How soon a command answers that asks nobody."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.figures import Figure
from benchmarks.processes import SUITE, quickest, run

_TIMES = 7


def measure() -> Iterator[Figure]:
    """``--help`` and ``rules``, each the best of several."""
    for arguments, goal in ((("--help",), 0.3), (("rules",), None)):
        ended = quickest(_TIMES, partial(run, [*SUITE, *arguments]))
        note = f"best of {_TIMES}; {ended.processor:.2f} s of processor, {ended.memory:.0f} MB"
        yield Figure("starting", " ".join(arguments), ended.seconds, "s", goal, note=note)
