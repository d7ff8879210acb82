"""Drives and logs with pytest, in a pytest of our own: what a stranger has set up for theirs
stays out."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance import plugin
from conformance.errors import SuiteBug
from conformance.report.again import HISTORY
from conformance.report.results import Results

_EMPTY_INI = "[pytest]\naddopts =\n"
# Without a terminal and with -s, or our own progress would be captured; without conftest.py,
# or the one of the folder we are called in would take part.
_QUIET = ("-p", "no:terminal", "-p", "no:cacheprovider", "-s", "--noconftest")
_ENVIRONMENT = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": None,
    "PYTEST_PLUGINS": None,
}


def drive_with_pytest(
    plan: plugin.DrivePlan, workers: int, tell: Callable[[str], None] = lambda text: None
) -> str:
    """Run the scenarios of a plan; ``tell`` is told how far it is.

    With several workers, what must run alone follows in one process. Returns why driving was
    cut short, or an empty text. Raises ``SuiteBug``, and ``KeyboardInterrupt`` on Ctrl-C.
    """
    if workers == 0 or not any(scenario.alone for scenario in plan.scenarios):
        return _drive(plan, workers, tell)
    begun = time.monotonic()
    cut_short = _drive(replace(plan, alone=False), workers, tell)
    left = max(plan.seconds - (time.monotonic() - begun), 1.0)
    return _drive(replace(plan, alone=True, seconds=left), 0, tell) or cut_short


def _drive(plan: plugin.DrivePlan, workers: int, tell: Callable[[str], None]) -> str:
    spread = ("-p", "xdist.plugin", "-n", str(workers), "--dist", "loadgroup")
    outcomes = _Outcomes(len(plan.scenarios), tell)
    plugin.use(plan)
    plugin.watch(outcomes)
    try:
        status = _pytest(plan.folder, *(spread if workers > 0 else ()))
    finally:
        plugin.use(None)
        plugin.watch(None)
    if outcomes.failed:
        text = outcomes.failed[0]
        last = text.strip().splitlines()[-1]
        raise SuiteBug(f"a scenario of the suite failed, which is a bug of ours: {last}", text)
    if status == int(pytest.ExitCode.INTERRUPTED):
        raise KeyboardInterrupt
    if status not in (0, int(pytest.ExitCode.NO_TESTS_COLLECTED)):
        raise SuiteBug(f"driving ended with pytest status {status}, which is a bug of ours")
    return outcomes.skipped[0] if outcomes.skipped else ""


def log_with_pytest(results: Results, path: Path, history: Path = HISTORY) -> None:
    """Write pytest-html's own page of the rules, an item each: one file that needs no other.
    ``history`` is the folder of the files that the evidence names.

    Raises ``SuiteBug``.
    """
    plugin.use(plugin.JudgePlan(results, history))
    plugin.watch(_Page())
    html = ("-p", "pytest_metadata.plugin", "-p", "pytest_html.plugin")
    to = (f"--html={path.resolve()}", "--self-contained-html")
    try:
        with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
            status = _pytest(Path(folder), *html, *to)
    finally:
        plugin.use(None)
        plugin.watch(None)
    if status not in (int(pytest.ExitCode.OK), int(pytest.ExitCode.TESTS_FAILED)):
        raise SuiteBug(f"the log ended with pytest status {status}, which is a bug of ours")


class _Page:
    """Says what the page of pytest-html is about."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        report.title = "MCP Tasks conformance: the rules, as pytest saw them"


def _pytest(folder: Path, *arguments: str) -> int:
    ini = folder / "pytest.ini"
    ini.write_text(_EMPTY_INI, encoding="utf-8")
    own = ("-p", "conformance.plugin", "-c", str(ini), "--rootdir", str(folder))
    with _environment():
        try:
            return int(pytest.main([*_QUIET, *own, *arguments]))
        finally:
            ini.unlink(missing_ok=True)


@contextmanager
def _environment() -> Iterator[None]:
    """The environment of our pytest and its workers."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    _set(_ENVIRONMENT)
    try:
        yield
    finally:
        _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class _Outcomes:
    """Collects how the items of a pytest run ended."""

    def __init__(self, scenarios: int, tell: Callable[[str], None]) -> None:
        self.skipped: list[str] = []
        self.failed: list[str] = []
        self._scenarios = scenarios
        self._ended = 0
        self._tell = tell

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid}\n{report.longreprtext}")
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.skipped.append(str(reason).removeprefix("Skipped: "))
        if report.when == "call":
            self._ended += 1
            self._tell(f"driving, {self._ended} of {self._scenarios} scenarios done")
