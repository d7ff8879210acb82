"""The command ``replay``: does a sequence that was found again, and tells whether it still shows.

The sequence is done on fresh tasks, alone, as it was when it was found. What only calling them
tells of the server's tools is taken from the file.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.conclusion import say
from conformance.errors import UsageError
from conformance.options import server_options, target_from, with_profile

if TYPE_CHECKING:
    from conformance.drive.sequences.finds import Sequence
    from conformance.drive.sequences.performing import Performed
    from conformance.judge.verdict import Verdict
    from conformance.target.target import Target
    from conformance.wire.exchange import Exchange


@dataclass(frozen=True)
class Replayed:
    """What came of doing a sequence again. ``broken`` are the rules that it broke this time."""

    performed: Performed
    broken: dict[str, Verdict]

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        return tuple(e for e in self.performed.history if e.intent != "tidy-up")


def replay_sequence(sequence: Sequence, target: Target) -> Replayed:
    """Do a sequence again on a server, and judge it.

    Raises ``NothingToJudge`` where the server does not answer.
    """
    from conformance.drive.running import in_event_loop

    return in_event_loop(_replay, sequence, target)


async def _replay(sequence: Sequence, target: Target) -> Replayed:
    from conformance.drive.running import new_session, new_wire
    from conformance.drive.sequences.judging import rules_for_sequences, violations
    from conformance.drive.sequences.limits import full_patience
    from conformance.drive.sequences.performing import Performance
    from conformance.drive.surroundings import Surroundings
    from conformance.errors import NothingToJudge

    circumstances = replace(
        sequence.circumstances,
        url=target.url,
        callers=target.callers,
        loopback=target.loopback,
        max_wait=target.max_wait,
    )
    patience = full_patience(circumstances)
    rules = rules_for_sequences()
    async with new_wire(target) as wire:
        seconds = 60.0 + 2 * patience
        surroundings = Surroundings(tools=sequence.tools, extension=True)
        session = new_session(target, surroundings, wire, seconds=seconds)
        performance = Performance(
            session, circumstances, name="replay", slot="replay", patience=patience, rules=rules
        )
        performed = await performance.perform(sequence.plan)
    if performed.gone or not any(e.seen is not None for e in performed.history):
        raise NothingToJudge(f"no answer from {target.url}: is the server running?")
    return Replayed(performed, violations(rules, performed.history))


@click.command(
    epilog="Example: mcp-tasks-conformance replay"
    " reports/history/sequences.input.resumes.jsonl http://127.0.0.1:8000/mcp"
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("url", required=False)
@server_options
@click.pass_context
def replay(context: click.Context, /, file: Path, **_: Any) -> None:
    """Do a sequence that a run found again, and tell whether it still shows.

    FILE is a history that a run named sequences.….jsonl; beside it is a script that does the same
    with curl. Without a URL it is done on the server where it was found. Exit status: 0 it does
    not show, 1 it shows.
    """
    from conformance.drive.sequences.finds import read_sequence

    options = with_profile(context)
    sequence = read_sequence(options["file"])
    options["url"] = options.get("url") or sequence.circumstances.url
    if not sequence.plan:
        raise UsageError(f"{file} has no steps")
    options["max_wait"] = options.get("max_wait") or sequence.circumstances.max_wait
    replayed = replay_sequence(sequence, target_from(options))
    for line in told(sequence, replayed):
        say(line)
    sys.exit(1 if _shows(sequence, replayed) else 0)


def _shows(sequence: Sequence, replayed: Replayed) -> bool:
    return any(rule in replayed.broken for rule in sequence.rules or replayed.broken)


def told(sequence: Sequence, replayed: Replayed) -> list[str]:
    """What was done and what came of it, for people."""
    from conformance.report.visible import visible

    lines = [f"{number}. {step.words}" for number, step in enumerate(sequence.plan, 1)]
    lines.append("")
    for place, exchange in enumerate(replayed.exchanges, 1):
        intent = "" if exchange.is_ordinary else f" ({exchange.intent})"
        lines.append(f"{place:4} {exchange.method or 'no request'}{intent}: {exchange.outcome}")
    lines.append("")
    for rule_id in sequence.rules:
        verdict = replayed.broken.get(rule_id)
        lines.append(
            f"{rule_id}: it shows. {verdict.reason}" if verdict else f"{rule_id}: it does not show"
        )
    for rule_id, verdict in replayed.broken.items():
        if rule_id not in sequence.rules:
            lines.append(f"{rule_id}: it shows, and did not before. {verdict.reason}")
    return [visible(line, 600) for line in lines]
