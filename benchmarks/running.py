"""A whole run against the reference server, at each effort, and where its time goes."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.processes import SUITE, Ended, Serving, quickest, run, serving

_GOALS: dict[str, float | None] = {"quick": 4.0, "standard": 10.0, "thorough": None}
_TIMES = {"quick": 3, "standard": 3, "thorough": 1}
_LONGEST_WAIT = "30"
_FAULT, _BROKEN = "cancel-result-type-cancelled", "cancellation.ack-result-type"


def measure() -> Iterator[Figure]:
    """Seconds of a run at each effort, its memory, its phases, and a fault's first violation."""
    with serving() as server:
        for effort, goal in _GOALS.items():
            yield from _whole(server, effort, goal)
        for effort in ("quick", "standard"):
            yield from _phases(server, effort)
    yield from _first_violation()


def whole_run(server: Serving, *options: str) -> Ended:
    """One ``run`` in a process of its own. Its output is the summary that people see."""
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        where = Path(folder)
        paths = ("--history", str(where / "history"), "--html", str(where / "report.html"))
        results = ("--json", str(where / "results.json"))
        return run([*SUITE, "run", server.url, *options, *paths, *results])


def whole_run_kept(server: Serving, history: Path) -> Ended:
    """One standard run whose history is kept."""
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        html, results = str(Path(folder) / "report.html"), str(Path(folder) / "results.json")
        paths = ("--history", str(history), "--html", html, "--json", results)
        return run([*SUITE, "run", server.url, *paths])


def run_with_results(server: Serving, effort: str) -> tuple[float, int, int]:
    """The seconds of one run, and how many rules it decided and found violated."""
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        html, results = Path(folder) / "report.html", Path(folder) / "results.json"
        history = Path(folder) / "history"
        paths = ("--history", str(history), "--html", str(html), "--json", str(results))
        ended = run([*SUITE, "run", server.url, "--effort", effort, *paths])
        rules = json.loads(results.read_text(encoding="utf-8"))["rules"]
    verdicts = [rule["verdict"] for rule in rules]
    violated = sum(verdict in ("fail", "warn") for verdict in verdicts)
    return ended.seconds, violated + verdicts.count("pass"), violated


def _whole(server: Serving, effort: str, goal: float | None) -> Iterator[Figure]:
    options = ("--effort", effort, "--max-wait", _LONGEST_WAIT)
    ended = quickest(_TIMES[effort], partial(whole_run, server, *options))
    if ended.status != 0:
        raise RuntimeError(f"the reference server should pass: {ended.output[-2000:]}")
    summary = next(line for line in ended.output.splitlines() if line.startswith("conformant"))
    note = f"best of {_TIMES[effort]}; {ended.processor:.1f} s of processor; {summary}"
    yield Figure("running", f"run, {effort}", ended.seconds, "s", goal, note=note)
    memory_goal = 150.0 if effort == "standard" else None
    yield Figure("running", f"memory, {effort}", ended.memory, "MB", memory_goal)


def _phases(server: Serving, effort: str) -> Iterator[Figure]:
    ended = run([sys.executable, "-m", "benchmarks.street", server.url, effort])
    record = json.loads(ended.output.splitlines()[-1])
    for phase, seconds in record["wall"].items():
        note = f"{record['processor'][phase]:.2f} s of processor"
        yield Figure("running", f"{effort}: {phase}", seconds, "s", note=note)
    yield Figure(
        "running",
        f"{effort}: rules decided",
        record["decided"],
        "",
        note=(f"of {record['rules']}, from {record['exchanges']} exchanges"),
    )
    yield Figure(
        "running",
        f"{effort}: report",
        record["page"] / 1024,
        "kB",
        note=(f"results.json {record['results'] / 1024:.0f} kB"),
    )
    yield Figure("running", f"{effort}: rendering the report", record["rendering"], "s")


def _first_violation() -> Iterator[Figure]:
    with serving("--fault", _FAULT) as server:
        for name, options in (
            ("first violation, that rule alone", ("--only", _BROKEN, "--effort", "quick")),
            ("first violation, whole quick run", ("--effort", "quick")),
        ):
            ended = quickest(2, partial(whole_run, server, *options))
            if ended.status != 1:
                raise RuntimeError(f"{_FAULT} was not found: {ended.output[-2000:]}")
            yield Figure("running", name, ended.seconds, "s", note=_BROKEN)
