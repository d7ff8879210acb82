"""A history: every exchange of a run, in the order they began, with the run's circumstances.

On disk it is JSON lines, one file a scenario; the first line names the format and the
circumstances, each further line is one exchange.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TextIO

from conformance.errors import UsageError
from conformance.version import __version__
from conformance.wire.exchange import Exchange, from_record, to_record
from conformance.wire.once import Views
from conformance.wire.parsing import dump_json, parse_json

FORMAT = "mcp-tasks-conformance/history/1"
# The first line of a file is short; what a run was killed in the middle of begins like this.
_LONGEST_HEAD = 16 * 1024 * 1024
_HEAD_START = b'{"format":"mcp-tasks-conformance/history/'


@dataclass(frozen=True)
class Circumstances:
    """What judging needs to know of a run beyond its exchanges.

    ``started`` is UTC, ISO 8601. ``max_wait`` is seconds. ``permitted`` and ``forbidden``
    are names of tools that might and might not be called. ``callers`` are the identities
    the user gave. ``named`` maps a tool to the roles its user gave it. ``hypothesis`` is the
    version of the library that chose the sequences. ``cut_short`` says why driving ended early,
    if it did. ``unjudged`` says why there is nothing to judge, if there is not. ``recorded`` is
    true of traffic that others made: nothing of it was driven.
    """

    url: str = ""
    spec: str = "2026-07-28"
    suite: str = __version__
    started: str = ""
    seed: int = 0
    effort: str = "standard"
    max_wait: float = 30.0
    explore: str = "safe"
    callers: tuple[str, ...] = ("first",)
    replicas: int = 1
    restart: bool = False
    loopback: bool = True
    permitted: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    named: dict[str, list[str]] = field(default_factory=dict)
    hypothesis: str = ""
    cut_short: str = ""
    unjudged: str = ""
    recorded: bool = False


_DEFAULTS = Circumstances()


class History(Views):
    """Exchanges in the order they began. Views that are derived from it are kept."""

    def __init__(
        self, exchanges: Iterable[Exchange], circumstances: Circumstances | None = None
    ) -> None:
        self.exchanges: tuple[Exchange, ...] = tuple(
            sorted(exchanges, key=lambda e: (e.started, e.ended, e.scenario, e.number))
        )
        self.circumstances = circumstances or Circumstances()
        self._by_key = {exchange.key: exchange for exchange in self.exchanges}

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self.exchanges)

    def __len__(self) -> int:
        return len(self.exchanges)

    def intended(self, *intents: str, method: str | None = None) -> list[Exchange]:
        """Exchanges sent with one of these intents, and optionally of one method."""
        by_intent = self.derive(_by_intent)
        found = [exchange for intent in intents for exchange in by_intent.get(intent, ())]
        if len(intents) > 1:
            found.sort(key=lambda exchange: exchange.started)
        return [e for e in found if method is None or e.method == method]

    def of_method(self, *methods: str) -> list[Exchange]:
        """Exchanges whose request had one of these JSON-RPC methods."""
        by_method = self.derive(_by_method)
        if len(methods) == 1:
            return list(by_method.get(methods[0], ()))
        wanted = frozenset(methods)
        return [exchange for exchange in self.exchanges if exchange.method in wanted]

    def control_of(self, probe: Exchange) -> Exchange | None:
        """The accepted exchange that a probe differs from in one thing."""
        return None if probe.control is None else self._by_key.get((probe.scenario, probe.control))


def _by_intent(history: History) -> dict[str, list[Exchange]]:
    groups: dict[str, list[Exchange]] = {}
    for exchange in history.exchanges:
        groups.setdefault(exchange.intent, []).append(exchange)
    return groups


def _by_method(history: History) -> dict[str | None, list[Exchange]]:
    groups: dict[str | None, list[Exchange]] = {}
    for exchange in history.exchanges:
        groups.setdefault(exchange.method, []).append(exchange)
    return groups


# ---- files -------------------------------------------------------------------------------


class Recorder(Protocol):
    """Takes exchanges as they end."""

    circumstances: Circumstances

    def append(self, exchange: Exchange) -> None:
        """Keep an exchange."""


class HistoryWriter:
    """Appends exchanges to one file, each line flushed: what was seen is never lost."""

    def __init__(
        self,
        path: Path,
        circumstances: Circumstances,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """``about`` are further members of the first line, for those who know them."""
        self.path = path
        self.circumstances = circumstances
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = path.open("w", encoding="utf-8", newline="\n")
        head = {"format": FORMAT, "scenario": path.stem, "circumstances": asdict(circumstances)}
        self._line({**head, **(about or {})})

    def _line(self, record: object) -> None:
        self._file.write(dump_json(record))
        self._file.write("\n")
        self._file.flush()

    def append(self, exchange: Exchange) -> None:
        self._line(to_record(exchange))

    def close(self) -> None:
        self._file.close()


def is_history(path: Path) -> bool:
    """Whether the file is one of ours, or the beginning of one whose run was killed."""
    with path.open("rb") as file:
        return _HEAD_START.startswith(file.read(len(_HEAD_START)))


def put_circumstances(path: Path, circumstances: Circumstances) -> None:
    """Replace the circumstances of a history file: some are only known after it was written."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        head = {**json.loads(next(lines)), "circumstances": asdict(circumstances)}
        beside = path.with_suffix(".new")
        with beside.open("w", encoding="utf-8", newline="\n") as copy:
            copy.write(dump_json(head) + "\n")
            shutil.copyfileobj(lines, copy)
    beside.replace(path)


def read_file(path: Path) -> tuple[Circumstances, list[Exchange]] | None:
    """One file of a history; ``None`` where its run was killed before it wrote anything.

    Raises ``UsageError`` that names the file and the line.
    """
    try:
        with path.open("rb") as lines:
            return _read_lines(path, lines)
    except OSError as error:
        raise UsageError(f"cannot read the history {path}: {error.strerror or error}") from None


def _read_lines(path: Path, lines: BinaryIO) -> tuple[Circumstances, list[Exchange]] | None:
    # Anything may be named by mistake, also a device that never ends a line.
    first = lines.readline(_LONGEST_HEAD)
    if not first.strip():
        if lines.read(1):
            raise _not_a_history(path)
        return None
    head = parse_json(first).value
    if (
        head is None
        and not first.endswith(b"\n")
        and (first.startswith(_HEAD_START) or _HEAD_START.startswith(first))
    ):
        return None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise _not_a_history(path)
    circumstances = _circumstances_of(path, head.get("circumstances", {}))
    scenario = str(head.get("scenario", path.stem))
    exchanges: list[Exchange] = []
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        record = parse_json(line)
        problem = record.problem
        if not problem:
            try:
                exchanges.append(from_record(record.value, scenario))
                continue
            except KeyError as error:
                problem = f"it has no {error}"
            except (TypeError, ValueError, AttributeError, OverflowError):
                problem = "a member of it is not as a run writes it"
        if not line.endswith(b"\n"):
            break  # the run was killed while it wrote this line; the rest stands
        raise UsageError(f"{path}, line {number}: not an exchange: {problem}")
    return circumstances, exchanges


def _not_a_history(path: Path) -> UsageError:
    return UsageError(f'{path} is not a history: its first line should have "format": "{FORMAT}"')


def _circumstances_of(path: Path, record: object) -> Circumstances:
    """Raises ``UsageError``. Members that this version does not know are left alone."""
    if not isinstance(record, dict):
        raise UsageError(f"{path}, line 1: circumstances should be an object")
    known: dict[str, Any] = {}
    for member in fields(Circumstances):
        if member.name not in record:
            continue
        value = _converted(record[member.name], getattr(_DEFAULTS, member.name))
        if value is None:
            raise UsageError(
                f"{path}, line 1: circumstances.{member.name} is {record[member.name]!r:.60}"
            )
        known[member.name] = value
    return Circumstances(**known)


def _converted(value: Any, like: object) -> Any:
    """The value as a circumstance of the same kind as ``like``; ``None`` where it is none."""
    if isinstance(like, tuple):
        return tuple(value) if _is_strings(value) else None
    if isinstance(like, dict):
        right = isinstance(value, dict) and all(map(_is_strings, value.values()))
        return value if right else None
    if isinstance(like, float):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if number else None
    return value if type(value) is type(like) else None


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The history files meant by files and folders, each once. Raises ``UsageError`` where a
    folder holds none."""
    files: dict[Path, Path] = {}
    for path in paths:
        found = [path]
        if path.is_dir():
            found = sorted(path.glob("*.jsonl"))
            if not found:
                raise UsageError(f"the folder {path} holds no history (*.jsonl)")
        for file in found:
            files.setdefault(file.resolve(), file)
    return list(files.values())


def read(paths: Sequence[Path]) -> History:
    """The history of files and folders together, which have to be of one run.

    Raises ``UsageError``. The times of two runs cannot be compared, and their servers may
    have given the same id twice: judged together they would accuse an innocent server.
    """
    runs = read_runs(paths)
    if len(runs) > 1:
        raise UsageError(
            f"{', '.join(map(str, paths[:3]))}: some of it is of another run: these are {len(runs)}"
        )
    return runs[0]


def read_runs(paths: Sequence[Path]) -> list[History]:
    """The histories of files and folders, one a run, in the order in which they were named.

    Where there are several, their scenarios begin with the folder they are in. Raises
    ``UsageError``.
    """
    files = files_of(paths)
    runs: dict[tuple[str, str, int], list[tuple[Path, Circumstances, list[Exchange]]]] = {}
    for path in files:
        found = read_file(path)
        if found is not None:
            runs.setdefault(_run_of(found[0]), []).append((path, *found))
    if not runs:
        raise UsageError(f"{', '.join(map(str, files[:3]))}: empty, not a history")
    above = Path(os.path.commonpath([path.resolve().parent for path in files]))
    return [_run(parts, above if len(runs) > 1 else None) for parts in runs.values()]


def _run(
    parts: Sequence[tuple[Path, Circumstances, list[Exchange]]], above: Path | None
) -> History:
    exchanges: list[Exchange] = []
    for path, _, found in parts:
        if above is not None:
            folder = path.resolve().parent.relative_to(above).as_posix()
            found = [replace(e, scenario=f"{folder}/{e.scenario}") for e in found]
        exchanges.extend(found)
    # Only the file that is written first and last knows whether it was cut short.
    cut_short = next((c.cut_short for _, c, _ in parts if c.cut_short), "")
    return History(exchanges, replace(parts[0][1], cut_short=cut_short))


def _run_of(circumstances: Circumstances) -> tuple[str, str, int]:
    return (circumstances.url, circumstances.started, circumstances.seed)
