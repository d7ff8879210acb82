"""Sequences at work on real servers, in tests and in the programs that measure them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from conformance.drive.driver import Driver
from conformance.drive.running import new_session, new_wire
from conformance.drive.sequences import extents
from conformance.drive.sequences.finds import Sequence, is_sequence, read_sequence, write_seen
from conformance.drive.sequences.judging import rules_for_sequences, violations
from conformance.drive.sequences.limits import full_patience
from conformance.drive.sequences.performing import Performance, Performed
from conformance.drive.sequences.settling import Settling
from conformance.drive.sequences.steps import Plan
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.judge.verdict import Verdict
from conformance.run import Telling, circumstances_of, drive
from conformance.target.target import Target
from conformance.wire.history import HistoryWriter
from fixtures.faults import load_faults
from fixtures.reference.tools import TOOLS
from fixtures.serve import Settings, running
from tests.driving import FIRST_HEADERS, OTHER_HEADERS, TOKENS

# Serves the reference server with these settings, at a URL.
Serving = Callable[[Settings], AbstractContextManager[str]]

# So many plans are done at a time.
_AT_ONCE = 5

# The parts that tools of the reference server play.
_ROLES: Mapping[str, tuple[str, ...]] = {
    "book_table": ("task", "input"),
    "plan_trip": ("task", "input", "inputs"),
    "haggle_price": ("task", "input", "rounds"),
    "shout": ("task", "echo"),
    "export_report": ("task", "slow"),
    "peek_cache": ("task", "short-ttl"),
}


def reference_tools() -> tuple[ToolUse, ...]:
    """Tools of the reference server, as looking around finds them."""
    return tuple(
        ToolUse(
            tool.name,
            {"text": "hello"} if tool.name == "shout" else {},
            tool.describe()["inputSchema"],
            _ROLES[tool.name],
            seconds=1.0 if tool.name == "export_report" else 0.1,
        )
        for tool in TOOLS
        if tool.name in _ROLES
    )


@contextmanager
def two_callers(
    fault: str | None = None, *, serving: Serving = running, **target: object
) -> Iterator[Target]:
    """A reference server, right or wrong in one thing, that knows two callers."""
    found = load_faults().get(fault or "")
    settings = replace(Settings(tokens=TOKENS, fault=fault), **(found.settings if found else {}))
    if found is not None and found.max_wait is not None:
        target.setdefault("max_wait", found.max_wait)
    with serving(settings) as url:
        yield Target(
            url=url,
            headers=FIRST_HEADERS,
            other_headers=OTHER_HEADERS,
            **target,  # type: ignore[arg-type]
        )


def performed(target: Target, *plans: Plan) -> list[tuple[Performed, dict[str, Verdict]]]:
    """Do plans, some at a time, and judge each."""
    return anyio.run(_perform, target, plans)


async def _perform(
    target: Target, plans: tuple[Plan, ...]
) -> list[tuple[Performed, dict[str, Verdict]]]:
    circumstances = circumstances_of(target, "")
    rules = rules_for_sequences(target.spec)
    surroundings = Surroundings(tools=reference_tools(), extension=True)
    found: dict[int, tuple[Performed, dict[str, Verdict]]] = {}
    places = anyio.CapacityLimiter(_AT_ONCE)
    async with new_wire(target) as wire:
        session = new_session(target, surroundings, wire, seconds=60.0 * len(plans))

        async def work(number: int, plan: Plan) -> None:
            async with places:
                performance = Performance(
                    session,
                    circumstances,
                    name=f"plan-{number}",
                    slot=f"alone-{number}",
                    patience=full_patience(circumstances),
                    rules=rules,
                )
                done = await performance.perform(plan)
                found[number] = (done, violations(rules, done.history))

        async with anyio.create_task_group() as group:
            for number, plan in enumerate(plans):
                group.start_soon(work, number, plan)
    return [found[number] for number in range(len(plans))]


@dataclass(frozen=True)
class Searched:
    """What a search left in its folder: the sequences that were found, by their file's name."""

    folder: Path
    seconds: float
    cut_short: str
    found: dict[str, Sequence]

    def of(self, rule_id: str) -> Sequence | None:
        """The shortest sequence that breaks a rule."""
        breaking = [s for s in self.found.values() if rule_id in s.rules]
        return min(breaking, key=lambda s: len(s.plan), default=None)


def searched(
    target: Target,
    folder: Path,
    *,
    workers: int | None = None,
    telling: Telling | None = None,
) -> Searched:
    """Search sequences and nothing else, and settle what they show."""
    topics = frozenset({"sequences"})
    driven = drive(target, folder, workers=workers, topics=topics, telling=telling)
    found = {
        path.name: read_sequence(path)
        for path in sorted(folder.glob("sequences.*.jsonl"))
        if is_sequence(path)
    }
    return Searched(folder, driven.seconds, driven.cut_short, found)


def settled(target: Target, folder: Path, *seen: Sequence) -> dict[str, Sequence]:
    """What becomes of sequences that were seen to break rules: what is found, by its rule."""
    anyio.run(_settle, target, folder, seen)
    found = map(read_sequence, sorted(folder.glob("sequences.*.jsonl")))
    return {sequence.rules[0]: sequence for sequence in found if sequence.rules}


async def _settle(target: Target, folder: Path, seen: tuple[Sequence, ...]) -> None:
    circumstances = circumstances_of(target, "")
    surroundings = Surroundings(tools=reference_tools(), extension=True)
    async with new_wire(target) as wire:
        session = new_session(target, surroundings, wire, seconds=300.0)
        for number, sequence in enumerate(seen, 1):
            known = replace(sequence, circumstances=circumstances, tools=surroundings.tools)
            write_seen(folder, "search", number, known, session.redactor)
        writer = HistoryWriter(folder / "settling.jsonl", circumstances)
        try:
            await Settling(Driver(session, "settling", writer)).run()
        finally:
            writer.close()


@contextmanager
def extent(effort: str, **members: object) -> Iterator[None]:
    """Sequences of an effort go so far for a while: by their number, say, and not by the time
    that a busy machine gives them."""
    before = extents.EXTENTS[effort]
    extents.EXTENTS[effort] = replace(before, **members)  # type: ignore[arg-type]
    try:
        yield
    finally:
        extents.EXTENTS[effort] = before
