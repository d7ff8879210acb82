"""Side by side with the official suite, in one run, against the same server.

The npm packages are installed into a temporary folder, by npm's ordinary client.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import AT_LEAST, Figure
from benchmarks.processes import Serving, serving
from benchmarks.running import run_with_results

PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22")
_DECIDED = ("SUCCESS", "FAILURE", "WARNING")
_LONGEST_SECONDS = 180


@dataclass(frozen=True)
class Official:
    """What the official suite did: the checks it decided, by id, and how long it took."""

    scenarios: int
    checks: frozenset[str]
    failed: frozenset[str]
    seconds: float


def measure() -> Iterator[Figure]:
    """Rules decided and seconds of both. Without npm there is nothing to compare with."""
    if shutil.which("npm") is None:
        print("official-suite: left out, since there is no npm on this machine")
        return
    with tempfile.TemporaryDirectory(prefix="mcp-official-") as folder:
        environment = _installed(Path(folder))
        with serving("--official-names") as server:
            official = _official(server, Path(folder), environment)
            ours = {effort: run_with_results(server, effort) for effort in ("quick", "standard")}
    failed = ", ".join(sorted(official.failed)) or "none"
    yield Figure(
        "official-suite",
        "its checks decided",
        len(official.checks),
        "",
        note=(f"{official.scenarios} scenarios; not passed: {failed}"),
    )
    yield Figure("official-suite", "its seconds", official.seconds, "s", note="one by one")
    for effort, (seconds, decided, violated) in ours.items():
        note = f"{violated} violated, in {seconds:.1f} s"
        yield Figure("official-suite", f"our rules decided, {effort}", decided, "", note=note)
        rules = decided / len(official.checks)
        named = f"rules, ours ({effort}) to theirs"
        yield Figure("official-suite", named, rules, "times", 2.0, AT_LEAST)
        # A third of its time is what is meant to be enough to decide twice as much.
        goal = 1 / 3 if effort == "quick" else None
        named = f"time, ours ({effort}) to theirs"
        yield Figure("official-suite", named, seconds / official.seconds, "times", goal)


def _installed(folder: Path) -> dict[str, str]:
    """Install the packages; the environment in which they are found."""
    subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES],
        check=True,
        capture_output=True,
        timeout=300,
    )
    programs = folder / "node_modules" / ".bin"
    return {**os.environ, "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", "")])}


def _official(server: Serving, folder: Path, environment: Mapping[str, str]) -> Official:
    program = str(folder / "node_modules" / ".bin" / "conformance")
    listed = subprocess.run(
        [program, "list", "--server"],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    ).stdout
    words = (line.strip(" -").split(" ")[0] for line in listed.splitlines())
    scenarios = sorted({word for word in words if word.startswith("tasks-")})
    begun = time.perf_counter()
    for scenario in scenarios:
        subprocess.run(
            [program, "server", "--url", server.url, "--scenario", scenario, "-o", "checks"],
            cwd=folder,
            capture_output=True,
            env=environment,
            timeout=_LONGEST_SECONDS,
        )
    seconds = time.perf_counter() - begun
    statuses: dict[str, set[str]] = {}
    for path in (folder / "checks").rglob("checks.json"):
        for check in json.loads(path.read_text(encoding="utf-8")):
            if check["status"] in _DECIDED:
                statuses.setdefault(check["id"], set()).add(check["status"])
    failed = frozenset(name for name, found in statuses.items() if found != {"SUCCESS"})
    return Official(len(scenarios), frozenset(statuses), failed, seconds)
