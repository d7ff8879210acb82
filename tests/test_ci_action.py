"""The GitHub Action: its steps are run as a runner would, from a stranger's repository."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@dataclass
class Runner:
    """Runs the steps of the composite action: what GitHub's runner does of it."""

    folder: Path
    inputs: dict[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    output: str = ""

    def run(self) -> bool:
        """Run all steps; give whether none failed."""
        action = loaded("action.yml")
        given = self.inputs
        self.inputs = {name: str(i.get("default", "")) for name, i in action["inputs"].items()}
        assert set(given) <= set(self.inputs)
        self.inputs |= given
        failed = False
        for step in action["runs"]["steps"]:
            condition = str(step.get("if", "success()"))
            if failed and "always()" not in condition:
                continue
            if not all(map(self._holds, condition.split("&&"))) or "uses" in step:
                continue
            failed = not self._step(step) or failed
        return not failed

    def _holds(self, condition: str) -> bool:
        condition = condition.strip()
        if condition in ("always()", "success()"):
            return True
        match = re.fullmatch(r"inputs\.([\w-]+) != ''", condition)
        assert match is not None, condition
        return self.inputs[match[1]] != ""

    def _step(self, step: dict[str, Any]) -> bool:
        assert step["shell"] == "bash"
        assert not _EXPRESSION.search(step["run"]), "an input in a script could be a script"
        if step["id"] == "install":
            self._install(step["run"])
            return True
        temp = self.folder / "temp"
        told = temp / f"{step['id']}.output"
        told.touch()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "RUNNER_TEMP": str(temp),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(told),
            "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
            **{name: self._evaluated(str(v)) for name, v in step.get("env", {}).items()},
        }
        script = temp / f"{step['id']}.sh"
        script.write_text(step["run"])
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.folder / "repository" / self._evaluated(step.get("working-directory", ".")),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
        )
        self.output += ran.stdout + ran.stderr
        self.status[step["id"]] = ran.returncode
        pairs = (line.partition("=") for line in told.read_text().splitlines())
        self.outputs[step["id"]] = {name: value for name, _, value in pairs}
        return ran.returncode == 0

    def _install(self, script: str) -> None:
        """What the step would have installed, without a download: this checkout."""
        assert '"$GITHUB_ACTION_PATH"' in script
        assert '"$RUNNER_TEMP/mcp-tasks-conformance"' in script
        command = self.folder / "temp" / "mcp-tasks-conformance" / "bin" / "mcp-tasks-conformance"
        command.parent.mkdir(parents=True)
        command.write_text(
            f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m conformance "$@"\n'
        )
        command.chmod(command.stat().st_mode | stat.S_IXUSR)

    def _evaluated(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            kind, _, name = match[1].partition(".")
            return self.inputs[name] if kind == "inputs" else ""

        return _EXPRESSION.sub(value, text)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def runner(tmp_path: Path, **inputs: str) -> tuple[Runner, int]:
    """A runner in a clean directory, and the port that its server should listen on."""
    for name in ("temp", "repository"):
        (tmp_path / name).mkdir()
    port = free_port()
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    named["url"] = f"http://127.0.0.1:{port}/mcp"
    # Narrow, so that it does not take long.
    named.setdefault("options", "--seed 1 --only removed --explore none --tool 'shout'")
    named["start"] = named.get("start", "").replace("PORT", str(port))
    return Runner(tmp_path, named), port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_conformant_server(tmp_path: Path) -> None:
    ran, port = runner(tmp_path, start="exec mcp-tasks-conformance serve --port PORT")
    assert ran.run(), ran.output
    assert ran.outputs["run"] == {"status": "0", "verdict": "conformant"}
    reports = tmp_path / "repository" / "conformance-reports"
    names = {path.name for path in reports.iterdir()}
    assert names == {
        "report.html", "results.json", "junit.xml", "results.sarif", "badge.svg", "history",
    }  # fmt: skip
    summary = (tmp_path / "temp" / "summary.md").read_text()
    assert summary.startswith("## MCP Tasks conformance: conformant")
    assert not listens(port)
    assert "What the server wrote" in ran.output
    # Nothing else was left in the repository.
    assert [path.name for path in (tmp_path / "repository").iterdir()] == ["conformance-reports"]


def test_a_faulty_server_fails_the_step_and_is_still_ended(tmp_path: Path) -> None:
    # Without `exec` there is a shell between; the server is ended all the same.
    start = "mcp-tasks-conformance serve --port PORT --fault tasks-list-served; true"
    ran, port = runner(tmp_path, start=start, reports="out/of here")
    assert not ran.run()
    assert ran.outputs["run"] == {"status": "1", "verdict": "non-conformant"}
    assert ran.status["stop"] == 0
    assert not listens(port)
    assert (tmp_path / "repository" / "out" / "of here" / "results.json").exists()


def test_a_server_that_does_not_come_up(tmp_path: Path) -> None:
    ran, _ = runner(tmp_path, start="echo 'no such module' >&2; exit 3", wait="1")
    assert not ran.run()
    assert ran.outputs["run"] == {"status": "3", "verdict": ""}
    assert "is the server running" in ran.output
    assert "no such module" in ran.output


def test_a_server_that_is_there_already_needs_no_command(tmp_path: Path) -> None:
    from fixtures.serve import Settings, running

    ran, port = runner(tmp_path, artifact="")
    with running(Settings(port=port)):
        assert ran.run(), ran.output
    assert "start" not in ran.status
    assert "stop" not in ran.status


def test_wrong_options_are_told(tmp_path: Path) -> None:
    ran, _ = runner(tmp_path, options="--no-such-option", wait="0")
    assert not ran.run()
    assert ran.outputs["run"]["status"] == "2"
    assert "no-such-option" in ran.output


# ---- the files -----------------------------------------------------------------------------


def _steps(path: str) -> list[dict[str, Any]]:
    content = loaded(path)
    if "runs" in content:
        return list(content["runs"]["steps"])
    return [step for job in content["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", ["action.yml", ".github/workflows/self.yml"])
def test_what_is_used_is_pinned_to_a_commit(path: str) -> None:
    used = [step["uses"] for step in _steps(path) if "uses" in step]
    assert used
    for each in used:
        assert each == "./" or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each), each


def test_our_own_workflow_uses_what_the_action_has() -> None:
    action = loaded("action.yml")
    own = [step for step in _steps(".github/workflows/self.yml") if step.get("uses") == "./"]
    assert len(own) == 2
    for step in own:
        assert set(step["with"]) <= set(action["inputs"])
        assert "start" in step["with"]
    text = (ROOT / ".github/workflows/self.yml").read_text()
    for name in re.findall(r"steps\.suite\.outputs\.(\w+)", text):
        assert name in action["outputs"]


def test_the_options_that_are_used_exist() -> None:
    from conformance.cli import main

    known = {option for c in main.commands.values() for p in c.params for option in p.opts}
    for path in ("action.yml", ".github/workflows/self.yml", "examples/gitlab-ci.yml"):
        lines = [line for line in (ROOT / path).read_text().splitlines() if "pip" not in line]
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]+", "\n".join(lines)):
            assert option in known, f"{path}: {option}"


def test_the_gitlab_example_names_what_it_writes() -> None:
    job = loaded("examples/gitlab-ci.yml")["mcp-tasks-conformance"]
    script = "\n".join(job["script"])
    assert job["artifacts"]["reports"]["junit"] in script
    assert job["artifacts"]["when"] == "always"
