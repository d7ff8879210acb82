"""``conformance.check``: for people who start their server in their own tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import conformance
from conformance.errors import NothingToJudge, UsageError
from fixtures.serve import Settings, running

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "test_my_server.py"

# A server that somebody else might have: an ASGI application in a module of its own.
MY_SERVER = """
from pathlib import Path
from fixtures.faults import load_faults
from fixtures.reference.server import Server
from fixtures.reference.settings import Settings

kind = load_faults()[{fault!r}].server if {fault!r} else Server
app = kind(Settings(store=Path(__file__).with_name("tasks.sqlite"))).application()
"""


def check(url: str, **options: object) -> conformance.Results:
    """Narrow, so that it does not take long."""
    options = {"only": ["removed"], "tools": ["shout"], "explore": "none", "seed": 1} | options
    return conformance.check(url, **options)  # type: ignore[arg-type]


def test_a_server_in_the_same_process() -> None:
    with running(Settings()) as url:
        results = check(url)
    assert results.verdict == "conformant"
    assert results.causes == ()
    assert {rule.topic for rule in results.rules} == {"removed"}
    assert results.run.requests > 0
    assert results.run.seed == 1


def test_what_is_wrong_is_told_as_typed_objects() -> None:
    with running(Settings(fault="tasks-list-served")) as url:
        results = check(url)
    assert results.verdict == "non-conformant"
    (cause,) = results.causes
    assert cause.rule == "removed.tasks-list"
    found = results.rule(cause.rule)
    assert found is not None
    assert found.evidence[-1].history == "removed.methods.jsonl"
    assert "curl" in found.reproduce


def test_nothing_to_judge_and_wrong_usage_are_exceptions() -> None:
    with running(Settings()) as url:
        gone = url
        with pytest.raises(UsageError, match="unknown rule"):
            check(url, only=["no.such-rule"])
        with pytest.raises(UsageError, match="no-such-tool"):
            check(url, tools=["no-such-tool"])
    with pytest.raises(NothingToJudge, match="no answer"):
        check(gone)


@pytest.mark.parametrize("fault", ["", "tasks-list-served"])
def test_the_example_with_pytest(fault: str, tmp_path: Path) -> None:
    """As somebody else's repository: their server, and the example as their test."""
    (tmp_path / "my_server.py").write_text(MY_SERVER.format(fault=fault))
    example = EXAMPLE.read_text().replace("export", "shout")
    narrow = example.replace("seed=1)", 'seed=1, only=["removed"], explore="none")')
    assert narrow != example
    (tmp_path / "test_my_server.py").write_text(narrow)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_server.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == (1 if fault else 0), ran.stdout + ran.stderr
    if fault:
        assert "tasks/list" in ran.stdout


def test_the_readme_shows_the_example() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "examples/test_my_server.py" in readme
    call = next(line for line in EXAMPLE.read_text().splitlines() if "conformance.check(" in line)
    assert call.strip() in readme
