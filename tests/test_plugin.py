"""pytest as the engine: nothing of a stranger's pytest leaks in, and theirs is not disturbed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import plugin
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.errors import SuiteBug
from conformance.run import circumstances_of
from conformance.target.target import Target, named_tool
from fixtures.serve import Settings, running
from tests.commands import CHECKOUT, PATIENCE, Done, done

ONLY = ("--only", "removed", "--only", "cancellation")


@pytest.fixture(scope="module")
def good() -> Iterator[str]:
    with running(Settings(work_seconds=0.3)) as url:
        yield url


def results(finished: Done, folder: Path) -> dict[str, Any]:
    assert finished.status == 0, finished
    found: dict[str, Any] = json.loads((folder / "reports" / "results.json").read_text())
    return found


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {rule["id"]: rule["verdict"] for rule in found["rules"]}


HOSTILE_CONFTEST = """
from pathlib import Path
Path("conftest-was-here").touch()

def pytest_collection_modifyitems(items):
    items.clear()

def pytest_runtest_setup(item):
    raise RuntimeError("conftest was here")
"""
HOSTILE_PLUGIN = "from pathlib import Path\nPath('plugin-was-here').touch()\n"


def hostile(folder: Path) -> dict[str, str]:
    """Fill a folder with somebody's tests, and give the environment that goes with them."""
    (folder / "conftest.py").write_text(HOSTILE_CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option -x --maxfail=1\n")
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--nonsense'\n")
    (folder / "tox.ini").write_text("[pytest]\naddopts = --nonsense\n")
    (folder / "somebodys_plugin.py").write_text(HOSTILE_PLUGIN)
    (folder / "tests").mkdir()
    (folder / "tests" / "conftest.py").write_text(HOSTILE_CONFTEST)
    (folder / "tests" / "test_theirs.py").write_text("def test_theirs():\n    assert False\n")
    return {
        "PYTEST_ADDOPTS": "--no-such-option -p somebodys_plugin",
        "PYTEST_PLUGINS": "somebodys_plugin",
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(folder)]),
    }


@pytest.mark.parametrize("workers", [0, 2])
def test_what_others_set_up_stays_out(good: str, tmp_path: Path, workers: int) -> None:
    environment = hostile(tmp_path)
    finished = done("run", good, *ONLY, "-n", workers, folder=tmp_path, environment=environment)
    found = results(finished, tmp_path)
    assert found["verdict"] == "conformant"
    assert found["run"]["workers"] == workers
    assert not list(tmp_path.rglob("*-was-here"))
    assert not (tmp_path / ".pytest_cache").exists()
    assert not (tmp_path / "reports" / "history" / "pytest.ini").exists()


def test_workers_come_to_the_same_verdicts(good: str, tmp_path: Path) -> None:
    found = {}
    for workers in (0, 1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        finished = done("run", good, *ONLY, "--seed", 7, "-n", workers, folder=folder)
        found[workers] = verdicts(results(finished, folder))
        histories = {path.stem for path in folder.glob("reports/history/*.jsonl")}
        assert {name.partition(".")[0] for name in histories} >= {"cancellation", "discovery"}
    assert found[0] == found[1] == found[2]


THEIR_TEST = """
import conformance
import pytest
from conformance.errors import NothingToJudge, UsageError

URL = {url!r}

def test_our_server():
    results = conformance.check(URL, only="removed", seed=7)
    assert results.verdict == "conformant"
    assert results.run.seed == 7
    assert {{rule.verdict for rule in results.rules}} == {{"pass"}}

def test_our_server_again():
    results = conformance.check(URL, only=["removed.tasks-list"], tools="slow:export_report")
    assert [rule.id for rule in results.rules] == ["removed.tasks-list"]

def test_nobody_there():
    with pytest.raises(NothingToJudge, match="is the server running"):
        conformance.check("http://127.0.0.1:9/mcp")

def test_wrong_options():
    for options in ({{"only": "nothing"}}, {{"effort": "huge"}}, {{"headers": "x"}}):
        with pytest.raises(UsageError):
            conformance.check(URL, **options)

async def _in_an_event_loop():
    import anyio
    return await anyio.to_thread.run_sync(lambda: conformance.check(URL, only="removed"))

def test_beside_an_event_loop():
    import anyio
    assert anyio.run(_in_an_event_loop).verdict == "conformant"
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_in_somebody_elses_pytest(good: str, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "test_theirs.py").write_text(THEIR_TEST.format(url=good))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -W error\n")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "5 passed" in ended.stdout
    assert {path.name for path in tmp_path.iterdir()} <= {
        "test_theirs.py", "pytest.ini", ".pytest_cache", "__pycache__",
    }  # fmt: skip


def test_importing_the_package_is_cheap() -> None:
    shown = "import sys, conformance; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", shown],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    loaded = set(ended.stdout.split())
    assert not loaded & {"pytest", "httpx", "anyio", "hypothesis", "jsonschema", "click"}


def test_there_is_nothing_else_in_the_package() -> None:
    import conformance

    with pytest.raises(AttributeError, match="has no attribute 'chekc'"):
        conformance.chekc  # noqa: B018


def test_a_scenario_that_fails_is_a_bug_of_ours(
    good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conformance.drive import scenario
    from conformance.drive.driver import Driver
    from conformance.run import drive

    async def broken(driver: Driver) -> None:
        await driver.discover()
        raise ZeroDivisionError("several\nlines")

    named = scenario.Scenario("removed.broken", broken, ("removed",))
    scenario.all_scenarios()
    monkeypatch.setitem(scenario.SCENARIOS["conformance.drive.scenarios"], named.name, named)
    with pytest.raises(SuiteBug, match="ZeroDivisionError") as raised:
        drive(Target(url=good), tmp_path, topics=frozenset(["removed"]))
    assert "\n" not in str(raised.value)
    assert "removed.broken" in raised.value.details
    assert (tmp_path / "removed.broken.jsonl").stat().st_size > 0


def test_a_plan_survives_its_way_to_a_worker() -> None:
    target = Target(
        url="http://127.0.0.1:9/mcp",
        headers=(("Authorization", "Bearer x"),),
        other_headers=(("Authorization", "Bearer y"),),
        replicas=("http://127.0.0.1:10/mcp",),
        tools=(named_tool('slow:export={"rows": 3}'), named_tool("add")),
        seed=7,
    )
    found = Surroundings(
        server={"name": "é\ud800"},
        versions=("2026-07-28",),
        tools=(ToolUse("export", {"rows": 3}, {}, ("slow", "task")),),
        permitted=("export",),
    )
    for topics in (None, frozenset(["polling", "input"])):
        plan = plugin.DrivePlan(
            target, found, circumstances_of(target, "now"), Path("somewhere"), 12.5, topics
        )
        assert plugin.plan_from_json(plugin.plan_to_json(plan)) == plan
