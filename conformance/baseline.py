"""The baseline: violations that are known, each with a reason, so that only news fails.

    [[expected]]
    rule = "polling.updated-at-tracks-change"
    reason = "the framework moves lastUpdatedAt at every read"
    since = "2026-11-29"

``flaky = true`` allows the rule to pass as well. An entry that no longer happens, or names
no rule, is an error: a baseline that lies hides the next violation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import BaselineError, UsageError
from conformance.report.visible import visible
from conformance.toml_files import read_toml

if TYPE_CHECKING:
    from conformance.report.results import Results

_KEYS = {"rule": str, "reason": str, "since": str, "flaky": bool}


@dataclass(frozen=True)
class Expected:
    """One known violation. ``since`` is a date, as text."""

    rule: str
    reason: str = ""
    since: str = ""
    flaky: bool = False


def read_baseline(path: Path) -> list[Expected]:
    """The entries of a baseline. Raises ``UsageError`` with the file and what is wrong."""
    content = read_toml(path, "the baseline")
    unknown = set(content) - {"expected"}
    if unknown:
        raise UsageError(f"{path}: unknown key {min(unknown)!r}; entries are [[expected]] tables")
    entries = content.get("expected", [])
    if not isinstance(entries, list):
        raise UsageError(f"{path}: entries are [[expected]] tables")
    return [_entry(path, number, entry) for number, entry in enumerate(entries, 1)]


def _entry(path: Path, number: int, entry: Any) -> Expected:
    if not isinstance(entry, dict) or not isinstance(entry.get("rule"), str):
        raise UsageError(f"{path}, entry {number}: it has no rule")
    for key, value in entry.items():
        if key == "since" and hasattr(value, "isoformat"):
            entry = {**entry, "since": value.isoformat()}
        elif key not in _KEYS or not isinstance(value, _KEYS[key]):
            known = ", ".join(_KEYS)
            raise UsageError(
                f"{path}, entry {number} ({entry['rule']}): {key} is wrong; known are {known}"
            )
    return Expected(**entry)


def check_baseline(path: Path, results: Results) -> None:
    """Raise ``BaselineError`` where entries name no rule or no longer happen.

    Entries that the results have no verdict for, or that were not exercised, are left alone.
    """
    from conformance.judge.rule import catalogue

    verdicts = {rule.id: rule.verdict for rule in results.rules}
    known = catalogue(results.spec)
    wrong: list[str] = []
    for entry in read_baseline(path):
        if entry.rule not in known:
            wrong.append(f"{visible(entry.rule, 100)} is not a rule")
        elif verdicts.get(entry.rule) == "pass" and not entry.flaky:
            wrong.append(f"{entry.rule} is not violated any more")
    if wrong:
        raise BaselineError(f"{path} is stale: {'; '.join(wrong)}; --update-baseline mends it")


def update_baseline(path: Path, results: Results) -> None:
    """Write what is violated now, and keep the reasons and dates that are there."""
    from conformance.judge.rule import catalogue

    there = read_baseline(path) if path.exists() else []
    known = catalogue(results.spec)
    kept = {entry.rule: entry for entry in there if entry.rule in known}
    today = results.run.started[:10]
    verdicts = {rule.id: rule.verdict for rule in results.rules}
    violated = [rule for rule, verdict in verdicts.items() if verdict in ("fail", "warn")]
    # A rule that this run could not judge is not thereby mended.
    unseen = [rule for rule in kept if verdicts.get(rule) not in ("pass", "fail", "warn")]
    flaky = [e.rule for e in kept.values() if e.flaky and verdicts.get(e.rule) == "pass"]
    entries = [
        kept.get(rule, Expected(rule, "to be explained", today))
        for rule in sorted({*violated, *unseen, *flaky})
    ]
    try:
        path.write_text(_written(entries), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the baseline {path}: {error.strerror or error}") from None


def _written(entries: Iterable[Expected]) -> str:
    lines = ["# Violations that are known. Each has a reason; --update-baseline keeps it.", ""]
    for entry in entries:
        lines += [
            "[[expected]]",
            f"rule = {_toml_string(entry.rule)}",
            f"reason = {_toml_string(entry.reason)}",
            f"since = {_toml_string(entry.since)}",
        ]
        if entry.flaky:
            lines.append("flaky = true")
        lines.append("")
    return "\n".join(lines)


def _toml_string(text: str) -> str:
    """A basic string of TOML: as in JSON, but for one character that has to be escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
