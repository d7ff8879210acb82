"""A figure: what was measured, and the goal it has."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path

AT_MOST = "at most"
AT_LEAST = "at least"


@dataclass(frozen=True)
class Figure:
    """One number. ``goal`` is the number it should reach, ``sense`` from which side; without a
    goal it is only told. ``note`` says what stands behind it."""

    benchmark: str
    name: str
    value: float
    unit: str
    goal: float | None = None
    sense: str = AT_MOST
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; ``None`` where there is none."""
        if self.goal is None:
            return None
        return self.value <= self.goal if self.sense == AT_MOST else self.value >= self.goal


def measured(module: str) -> list[Figure]:
    """The figures of the benchmark in a module of this name."""
    return list(import_module(module).measure())


def table(figures: Sequence[Figure]) -> str:
    """The figures for a terminal, and as Markdown: pipes line up the columns."""
    rows = [("benchmark", "figure", "value", "goal", "reached", "note")]
    for figure in figures:
        goal = "" if figure.goal is None else f"{figure.sense} {_number(figure.goal)}"
        reached = {None: "", True: "yes", False: "no"}[figure.reached]
        value = f"{_number(figure.value)} {figure.unit}".strip()
        rows.append((figure.benchmark, figure.name, value, goal, reached, figure.note))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, _line(tuple("-" * width for width in widths), widths))
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def write(path: Path, figures: Sequence[Figure]) -> list[Figure]:
    """Write the figures as JSON, those of benchmarks that did not run this time kept, and
    return them all."""
    measured = {figure.benchmark for figure in figures}
    together = [*(each for each in read(path) if each.benchmark not in measured), *figures]
    told = [{**asdict(figure), "reached": figure.reached} for figure in together]
    record = {"machine": f"{os.cpu_count()} cores", "figures": told}
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return together


def read(path: Path) -> list[Figure]:
    """The figures of a file; none where there is no file."""
    if not path.exists():
        return []
    record = json.loads(path.read_text(encoding="utf-8"))
    names = [member.name for member in fields(Figure)]
    return [Figure(**{name: told[name] for name in names}) for told in record["figures"]]


def put_table(path: Path, figures: Sequence[Figure]) -> None:
    """Put the table where a Markdown file says that it belongs."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- figures -->\n")
    _, end, after = rest.partition("<!-- end of figures -->\n")
    if begin and end:
        path.write_text(f"{before}{begin}\n{table(figures)}\n\n{end}{after}", encoding="utf-8")
