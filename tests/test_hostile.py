"""Against a hostile server a run ends in time, with a true verdict or one clear line.

The short tests drive only what the harm is about. Marked ``nightly``: everything, each run as a
process of its own, with its memory measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from fixtures.hostile import Ends, Hostile, Witness, load_hostile
from fixtures.hostile.answers import TOO_LARGE
from fixtures.hostile.sockets import connections, listening
from tests.commands import CHECKOUT, command

MAX_WAIT = 1
# A run may take twice --max-wait and a minute; starting and reporting are on top of it.
SECONDS = 2 * MAX_WAIT + 60 + 20
MEGABYTES = 500
QUICKLY = ("--max-wait", str(MAX_WAIT), "--effort", "quick")

ALL = load_hostile()
UNJUDGED = {name: hostile for name, hostile in ALL.items() if hostile.ends.says}
JUDGED = {name: hostile for name, hostile in ALL.items() if not hostile.ends.says}
SHORT = {name: hostile for name, hostile in JUDGED.items() if not hostile.slow}

# Runs a command, and leaves two files: the most memory that it took, in kB, and which hosts it
# asked for or connected to.
MEASURED = """
import atexit, pathlib, re, sys
from conformance.cli import main

hosts = set()

def watch(event, arguments):
    if event == "socket.getaddrinfo":
        hosts.add(str(arguments[0]))
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        hosts.add(str(arguments[1][0]))

def leave():
    pathlib.Path("hosts").write_text("\\n".join(sorted(hosts)))
    status = pathlib.Path("/proc/self/status").read_text()
    pathlib.Path("peak").write_text(re.search(r"VmHWM:\\s+(\\d+)", status)[1])

sys.addaudithook(watch)
atexit.register(leave)
main()
"""


@contextmanager
def met(hostile: Hostile) -> Iterator[str]:
    """Serve it, and see that nothing was injected and that nobody went elsewhere."""
    visits: list[object] = []

    async def visited(*streams: object) -> None:
        visits.append(streams)

    with listening() as port, connections(port, visited):
        witness = Witness(f"http://127.0.0.1:{port.getsockname()[1]}/schema.json")
        with hostile.serve(witness) as url:
            yield url
    assert witness.requests > 0
    assert witness.injected == []
    assert visits == []


def results_in(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "reports" / "results.json").read_text())
    return results


def ended_as_it_must(ends: Ends, status: int, results: dict[str, Any]) -> None:
    """A true verdict: only those rules are violated that the server breaks."""
    violated = {
        rule["id"]: rule["reason"]
        for rule in results["rules"]
        if rule["verdict"] in ("fail", "warn")
    }
    accused = {
        rule: reason
        for rule, reason in violated.items()
        if not any(fnmatchcase(rule, pattern) for pattern in ends.may_violate)
    }
    assert accused == {}
    assert not set(ends.violates) - violated.keys()
    failed = any(rule["verdict"] == "fail" for rule in results["rules"])
    if failed:
        assert status == 1
    elif status != 0:
        assert ends.cut_short
        assert (status, results["verdict"]) == (3, "inconclusive")


def test_there_are_enough_of_them() -> None:
    assert len(ALL) >= 40
    assert all(hostile.summary.endswith(".") for hostile in ALL.values())
    assert all(hostile.topics for hostile in JUDGED.values())


@pytest.mark.parametrize("name", UNJUDGED)
def test_nothing_to_judge(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # What is too large ends by its size: on a busy machine not always within a second.
    patience = ("--max-wait", "20") if ALL[name].ends == TOO_LARGE else ()
    begun = time.monotonic()
    with met(ALL[name]) as url:
        finished = command("run", url, *QUICKLY, *patience)
    assert time.monotonic() - begun < SECONDS
    assert finished.status == 3, finished
    assert ALL[name].ends.says in finished.complaint
    assert finished.complaint.isprintable()
    assert len(finished.complaint) < 1100
    assert finished.output == ""
    assert not (tmp_path / "reports" / "results.json").exists()


@pytest.mark.parametrize("name", SHORT)
def test_a_short_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hostile = ALL[name]
    begun = time.monotonic()
    with met(hostile) as url:
        only = [word for topic in hostile.topics for word in ("--only", topic)]
        finished = command("run", url, *QUICKLY, *only)
    assert time.monotonic() - begun < SECONDS
    assert "Traceback" not in finished.errors
    assert "error: " not in finished.errors
    assert "\x1b" not in finished.output + finished.errors
    ended_as_it_must(hostile.ends, finished.status, results_in(tmp_path))
    page = (tmp_path / "reports" / "report.html").read_text()
    assert "<script>alert" not in page


def test_a_stream_that_is_held_open_was_answered() -> None:
    """The answer counts, whatever the stream goes on with."""
    with met(ALL["answers-and-holds-on"]) as url:
        finished = command("doctor", url, "--max-wait", MAX_WAIT)
    assert finished.status == 0, finished
    assert "is advertised" in finished.output


@pytest.mark.nightly
@pytest.mark.parametrize("name", ALL)
def test_a_whole_run(name: str, tmp_path: Path) -> None:
    hostile = ALL[name]
    with met(hostile) as url:
        finished = subprocess.run(
            [sys.executable, "-c", MEASURED, "run", url, *QUICKLY],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    assert "Traceback" not in finished.stderr
    assert (tmp_path / "hosts").read_text() == "127.0.0.1"
    if Path("/proc/self/status").exists():
        assert int((tmp_path / "peak").read_text()) < MEGABYTES * 1024
    if hostile.ends.says:
        complaints = [x for x in finished.stderr.splitlines() if x.startswith("error: ")]
        assert finished.returncode == 3
        assert len(complaints) == 1
        assert hostile.ends.says in complaints[0]
    else:
        ended_as_it_must(hostile.ends, finished.returncode, results_in(tmp_path))
