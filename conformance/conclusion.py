"""What a command does with results: reports, the summary, the baseline and the exit status."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.errors import BaselineError, UsageError
from conformance.options import REPORTS

if TYPE_CHECKING:
    from conformance.report.results import Results


def report_paths(options: dict[str, Any]) -> dict[str, Path]:
    """Where each report goes, by its kind."""
    paths = {
        "html": options.get("html") or REPORTS / "report.html",
        "json": options.get("json_") or REPORTS / "results.json",
        "junit": options.get("junit"),
        "markdown": options.get("markdown"),
        "sarif": options.get("sarif"),
        "badge": options.get("badge"),
    }
    return {kind: path for kind, path in paths.items() if path is not None}


def written_by(options: dict[str, Any]) -> list[Path]:
    """Every file that ``conclude`` writes anew, the baseline apart."""
    log = options.get("log")
    return [*report_paths(options).values(), *([log] if log else [])]


def check_writable(options: dict[str, Any]) -> None:
    """Raise ``UsageError`` for a path that cannot be written: before the run, not after it."""
    from conformance.report.badge import check_suffix

    if options.get("badge"):
        check_suffix(options["badge"])
    paths = written_by(options)
    if options.get("update_baseline") and options.get("baseline"):
        paths.append(options["baseline"])
    check_paths(paths)


def check_paths(paths: Iterable[Path]) -> None:
    """Raise ``UsageError`` for a file that cannot be written. None is changed."""
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            existed = path.exists()
            with path.open("a", encoding="utf-8"):
                pass
            if not existed:
                path.unlink()
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def expected_by(options: dict[str, Any]) -> dict[str, str]:
    """The rules whose violation the baseline expects, with the reasons. Raises ``UsageError``."""
    path = options.get("baseline")
    if path is None:
        if options.get("update_baseline"):
            raise UsageError("--update-baseline needs --baseline FILE")
        return {}
    from conformance.baseline import read_baseline

    if options.get("update_baseline") and not path.exists():
        return {}
    return {entry.rule: entry.reason for entry in read_baseline(path)}


def conclude(results: Results, options: dict[str, Any]) -> int:
    """Write the reports, show the summary, and return the exit status."""
    from conformance.report import badge, html, junit, markdown, sarif
    from conformance.report.results import json_text, write_text
    from conformance.report.terminal import summary_lines

    stale = ""
    try:
        results = _with_baseline(results, options)
    except BaselineError as error:
        stale = str(error)
    strict = bool(options.get("strict"))
    history = Path(options.get("history") or REPORTS / "history")
    writers: dict[str, Callable[[], str]] = {
        "html": lambda: html.render(results, history=history),
        "json": lambda: json_text(results) + "\n",
        "junit": lambda: junit.render(results, strict=strict, history=history),
        "markdown": lambda: markdown.render(results, history=history),
        "sarif": lambda: sarif.render(results, history=history),
        "badge": lambda: badge.render(results, options["badge"]),
    }
    paths = report_paths(options)
    for kind, path in paths.items():
        write_text(path, writers[kind]())
    if options.get("log"):
        from conformance.engine import log_with_pytest

        log_with_pytest(results, options["log"], history)
    _add_to_step_summary(writers["markdown"])
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    say(summary_lines(results, width=_width(), colour=colour, history=history))
    say("report: " + ", ".join(map(str, written_by(options))), err=True)
    status = exit_status(
        results, strict=strict, require_exercised=bool(options.get("require_exercised"))
    )
    if stale:
        say(f"error: {stale}", err=True)
        # A new violation, or nothing to judge, matters more.
        return status if status in (1, 3) else BaselineError.exit_status
    return status


def _with_baseline(results: Results, options: dict[str, Any]) -> Results:
    """The results, after the baseline was updated or found to be true."""
    path = options.get("baseline")
    if path is None:
        return results
    from conformance.baseline import check_baseline, update_baseline
    from conformance.report.results import with_expected

    if not options.get("update_baseline"):
        check_baseline(path, results)
        return results
    update_baseline(path, results)
    return with_expected(results, expected_by(options))


def _add_to_step_summary(markdown: Callable[[], str]) -> None:
    """GitHub shows this file on the page of a run."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as summary:
            summary.write(markdown())
    except OSError as error:
        say(f"note: cannot write the step summary: {error.strerror or error}", err=True)


def say(text: str, *, err: bool = False) -> None:
    """Print, also where nobody reads any more: the exit status still has to be the right one."""
    try:
        click.echo(text, err=err)
    except BrokenPipeError:
        stream = sys.stderr if err else sys.stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def tell(text: str) -> None:
    """Print for people: on a terminal, or where it is said how wide that is, in lines that fit. A
    pipe gets the lines whole."""
    from conformance.report.wrapping import hung

    say(hung(text, _width() if sys.stdout.isatty() or "COLUMNS" in os.environ else None))


def _width() -> int:
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 120))


def exit_status(results: Results, *, strict: bool = False, require_exercised: bool = False) -> int:
    """The exit status that results mean. See the table in the README."""
    if results.verdict == "not-offered":
        return 3
    violated = ("fail", "warn") if strict else ("fail",)
    if any(rule.verdict in violated and not rule.expected for rule in results.rules):
        return 1
    if results.verdict == "inconclusive":
        return 3
    if require_exercised and any(
        rule.level == "must" and rule.verdict == "not-exercised" for rule in results.rules
    ):
        return 4
    return 0
