"""The files of what sequences saw and found.

``sequences/`` in the folder of a run holds what was seen on the way: the latest exchanges of all
sequences, and each sequence that broke a rule. It is not judged. What was found in the end, the
smallest sequence of each cause, is a history of its own beside the others, and is judged with
them. Both say in their first line which steps they are, so that they can be done again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from conformance.drive.sequences.steps import Plan, flat, from_json, to_json
from conformance.drive.surroundings import ToolUse, tools_from_json
from conformance.errors import UsageError
from conformance.judge.sequences import ONCE, PREFIX
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import Circumstances, HistoryWriter, is_history, read_file
from conformance.wire.parsing import dump_json, parse_json
from conformance.wire.secrets import Redactor

FOLDER = "sequences"
FOUND = PREFIX
_SEEN = "seen-"
_COUNTS = "counts-"
# How the script of what was found begins to tell about itself, and within how many bytes.
SCRIPT_HEADING, _SCRIPT_LOOK = "A sequence that breaks: ", 256
# Of the exchanges that broke nothing, so many bytes are kept for each search, twice.
_LOG_BYTES = 16 * 1024 * 1024
_LOG_LOOK = 256
_LONGEST_HEAD = 16 * 1024 * 1024


@dataclass(frozen=True)
class Sequence:
    """A sequence that broke rules, as its file tells it.

    ``rules`` are the rules it broke by the judge's verdict, ``suspected`` those that only the
    model saw broken. ``repeated`` says whether it did so again when it was done again; ``None``
    where there was no time for that. ``tools`` are the tools it calls, with what is known of them.
    ``company`` is the plan together with what other sequences did at the same time; empty where
    there was none.
    """

    plan: Plan
    rules: tuple[str, ...]
    suspected: tuple[str, ...] = ()
    repeated: bool | None = None
    exchanges: tuple[Exchange, ...] = ()
    circumstances: Circumstances = field(default_factory=Circumstances)
    tools: tuple[ToolUse, ...] = ()
    company: Plan = ()

    def to_json(self) -> JsonObject:
        called = {step.tool for step in flat((*self.plan, *self.company))}
        company = {"company": to_json(self.company)} if self.company else {}
        return {
            "rules": list(self.rules),
            "suspected": list(self.suspected),
            "repeated": self.repeated,
            "steps": to_json(self.plan),
            "tools": [asdict(tool) for tool in self.tools if tool.name in called],
            **company,
        }


def _about(path: Path) -> Mapping[str, Any] | None:
    """What the first line of a history tells of its sequence; ``None`` where it is none."""
    try:
        with path.open("rb") as lines:
            head = parse_json(lines.readline(_LONGEST_HEAD)).value
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    about = head.get("sequence") if isinstance(head, dict) else None
    return about if isinstance(about, dict) else None


def is_sequence(path: Path) -> bool:
    """Whether a history is one of a sequence that was found."""
    return _about(path) is not None


def read_sequence(path: Path) -> Sequence:
    """The sequence of a file. Raises ``UsageError`` where it holds none."""
    about = _about(path)
    kept = read_file(path) if about is not None else None
    if about is None or kept is None:
        raise UsageError(f"{path} holds no sequence: give a file that a run named {FOUND}….jsonl")
    try:
        plan = from_json(about.get("steps"))
        company = from_json(about.get("company", []))
        tools = tools_from_json(_objects(about.get("tools")))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    except (TypeError, KeyError):
        raise UsageError(f"{path}: its tools are not written as a run writes them") from None
    circumstances, exchanges = kept
    return Sequence(
        plan,
        _texts(about.get("rules")),
        _texts(about.get("suspected")),
        about.get("repeated") if isinstance(about.get("repeated"), bool) else None,
        tuple(exchanges),
        circumstances,
        tools,
        company,
    )


def _objects(value: object) -> list[JsonObject]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    return tuple(t for t in value if isinstance(t, str)) if isinstance(value, list) else ()


def write_sequence(path: Path, sequence: Sequence, redactor: Redactor) -> None:
    """Write a sequence as a history file whose first line tells its steps, without secrets."""
    about = {"sequence": redactor.value(sequence.to_json())}
    writer = HistoryWriter(path, sequence.circumstances, about)
    try:
        for exchange in sequence.exchanges:
            writer.append(exchange)
    finally:
        writer.close()


def write_seen(
    folder: Path, search: str, number: int, sequence: Sequence, redactor: Redactor
) -> None:
    """Keep a sequence that broke a rule, until it is known whether it does so again."""
    write_sequence(folder / FOLDER / f"{_SEEN}{search}-{number}.jsonl", sequence, redactor)


def read_seen(folder: Path) -> list[Sequence]:
    """All sequences that broke a rule, the shortest first."""
    paths = sorted((folder / FOLDER).glob(f"{_SEEN}*.jsonl"))
    return sorted(map(read_sequence, paths), key=lambda seen: len(seen.plan))


@dataclass(frozen=True)
class Counts:
    """How many sequences were done, with how many requests, which made how many tasks."""

    sequences: int = 0
    requests: int = 0
    tasks: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.sequences + other.sequences,
            self.requests + other.requests,
            self.tasks + other.tasks,
        )

    def without(self, other: Counts) -> Counts:
        """The same sequences, without the requests and tasks of some that are counted elsewhere."""
        return Counts(self.sequences, self.requests - other.requests, self.tasks - other.tasks)


def counts_of(exchanges: Iterable[Exchange]) -> Counts:
    """What the exchanges of one sequence amount to."""
    known = tuple(exchanges)
    made = sum(exchange.handle is not None for exchange in known)
    return Counts(1, len(known), made)


def write_counts(folder: Path, name: str, counts: Counts) -> None:
    """Keep what a search, or the settling after it, has done."""
    path = folder / FOLDER / f"{_COUNTS}{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_json(asdict(counts)), encoding="utf-8")


def read_counts(folder: Path) -> Counts:
    """What all searches of a run have done together."""
    total = Counts()
    for path in sorted((folder / FOLDER).glob(f"{_COUNTS}*.json")):
        found = parse_json(path.read_bytes()).value
        if isinstance(found, dict):
            total += Counts(**{member.name: int(found[member.name]) for member in fields(Counts)})
    return total


def forget(folder: Path) -> None:
    """Remove what an earlier run left in a folder; other files stay."""
    beside = folder / FOLDER
    ours = [path for path in beside.glob("*.jsonl") if is_history(path)]
    ours += beside.glob(f"{_COUNTS}*.json")
    ours += [path for path in folder.glob(f"{FOUND}*.sh") if is_script(path)]
    for path in ours:
        path.unlink()


def is_script(path: Path) -> bool:
    """Whether a file is a script that was written beside what was found."""
    with path.open("rb") as file:
        return file.read(_SCRIPT_LOOK).find(SCRIPT_HEADING.encode()) >= 0


def found_path(folder: Path, rule_id: str, which: str = "") -> Path:
    """The file of what was found of a rule; ``which`` tells further files of it apart."""
    return folder / f"{FOUND}{rule_id}{which and '.' + which}.jsonl"


class Log:
    """Keeps the latest exchanges of all sequences of a search: a file, and the one before it.

    Memory and disk stay bounded however long a search goes on.
    """

    def __init__(self, folder: Path, search: str, circumstances: Circumstances) -> None:
        self._path = folder / FOLDER / f"{search}.jsonl"
        self._circumstances = circumstances
        self._writer = HistoryWriter(self._path, circumstances)
        self._numbers = itertools.count(1)
        self._kept = 0

    def append(self, exchange: Exchange) -> None:
        """Keep an exchange. Its number is that of the log; its notes tell its sequence."""
        notes = {**exchange.notes, "sequence": exchange.scenario, "step": exchange.number}
        number = next(self._numbers)
        self._writer.append(replace(exchange, number=number, control=None, notes=notes))
        self._kept += 1
        if self._kept % _LOG_LOOK == 0 and self._path.stat().st_size > _LOG_BYTES:
            self._writer.close()
            self._path.replace(self._path.with_suffix(".earlier.jsonl"))
            self._writer = HistoryWriter(self._path, self._circumstances)

    def close(self) -> None:
        self._writer.close()


def as_found(
    exchanges: Iterable[Exchange], scenario: str, *, repeated: bool | None
) -> tuple[Exchange, ...]:
    """The exchanges as those of a scenario of their own, noted where they did not come back."""
    once = {ONCE: True} if repeated is False else {}
    return tuple(
        replace(exchange, scenario=scenario, notes={**exchange.notes, **once})
        for exchange in exchanges
    )
