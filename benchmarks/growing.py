"""How a run grows with the tools that a server lists, and judging with its tasks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.processes import run, serving

_NUMBERS = (1, 10, 100, 1000)


def measure() -> Iterator[Figure]:
    """A quick run against servers that list one tool and up to a thousand."""
    for number in _NUMBERS:
        command = (sys.executable, "-m", "benchmarks.many_tools", str(number))
        with serving(command=command) as server:
            ended = run([sys.executable, "-m", "benchmarks.street", server.url, "quick"])
        record = json.loads(ended.output.splitlines()[-1])
        wall = record["wall"]
        before = wall["looking"] + wall.get("trying tools", 0.0)
        note = (
            f"{before:.1f} s of it before driving; {record['exchanges']} exchanges,"
            f" {ended.memory:.0f} MB"
        )
        total = sum(wall.values())
        yield Figure("growing", f"quick run, tools listed: {number:,}", total, "s", note=note)
