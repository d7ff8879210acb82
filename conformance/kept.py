"""What is kept of a run, or of somebody's traffic, as histories to be judged again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.errors import UsageError
from conformance.wire.exchange import JsonObject
from conformance.wire.har import read_har
from conformance.wire.history import Circumstances, History, read_runs


@dataclass(frozen=True)
class Kept:
    """The history of one run, or of one HAR file. ``options`` says what a report should tell of
    how it came about."""

    history: History
    options: JsonObject = field(default_factory=dict)


def read_kept(paths: Sequence[Path]) -> list[Kept]:
    """The histories of files, folders and HAR files, one a run. Raises ``UsageError``."""
    recordings = [path for path in paths if path.suffix.lower() == ".har"]
    histories = [path for path in paths if path not in recordings]
    kept = (
        [Kept(run, _told(run.circumstances)) for run in read_runs(histories)] if histories else []
    )
    for path in recordings:
        recording = read_har(path)
        told = {"recorded": path.name, "entries-left-out": recording.left_out}
        kept.append(Kept(recording.history, told))
    return kept


def one_spec(kept: Sequence[Kept]) -> str:
    """The revision that all of them were made under. Raises ``UsageError``."""
    specs = sorted({each.history.circumstances.spec for each in kept})
    if len(specs) > 1:
        raise UsageError(f"these were made under {' and '.join(specs)}: pass --spec REVISION")
    return specs[0]


def _told(given: Circumstances) -> JsonObject:
    """What is known of a run's options: those that are not as they would be anyway."""
    usual = Circumstances()
    told: JsonObject = {
        "explore": given.explore if given.explore != usual.explore else "",
        "max-wait": given.max_wait if given.max_wait != usual.max_wait else 0,
        "tool": [
            f"{role}:{name}" if role else name
            for name, roles in given.named.items()
            for role in roles or [""]
        ],
        "replicas": given.replicas - 1,
        "restart-command": given.restart,
        "callers": len(given.callers) if len(given.callers) > 1 else 0,
    }
    return {name: value for name, value in told.items() if value}
