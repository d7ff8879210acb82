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
from conformance.errors import NothingToJudge, UsageError
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
        from conformance.wire.exchange import TIDY_UP

        return tuple(e for e in self.performed.history if e.intent != TIDY_UP)


def replay_sequence(sequence: Sequence, target: Target) -> Replayed:
    """Do a sequence again on a server, and judge it.

    Raises ``UsageError`` where the target lacks what the steps take, and ``NothingToJudge`` where
    the sequence could not be done to its end, so that nothing can be told of what it shows.
    """
    from conformance.drive.running import in_event_loop

    lacking = _lacking(sequence, target)
    if lacking:
        raise UsageError(lacking)
    replayed = in_event_loop(_replay, sequence, target)
    in_vain = _in_vain(replayed, target)
    if in_vain and not _shows(sequence, replayed):
        raise NothingToJudge(in_vain)
    return replayed


def _lacking(sequence: Sequence, target: Target) -> str:
    """What the steps take that is not there, and how to give it; empty where nothing is."""
    from conformance.drive.sequences.steps import ELSEWHERE, flat

    steps = list(flat(sequence.plan))
    if any(step.do == "foreign" for step in steps) and len(target.callers) < 2:
        return "a step is another caller's: pass --header and --other-header"
    if any(step.where == ELSEWHERE for step in steps) and not target.replicas:
        return "a step is done on another replica: pass --replica URL"
    return ""


def _in_vain(replayed: Replayed, target: Target) -> str:
    """Why nothing can be told, where that is so: there was no answer, no time, or no task."""
    from conformance.specification.names import TOOLS_CALL

    performed = replayed.performed
    if performed.gone or not any(e.seen is not None for e in performed.history):
        return f"no answer from {target.url}: is the server running?"
    if performed.cut:
        return "the sequence took too long and was ended: pass a shorter --max-wait"
    calls = [e for e in replayed.exchanges if e.method == TOOLS_CALL and e.declares_tasks]
    if calls and not any(call.handle is not None for call in calls):
        refused = calls[0].status in (401, 403)
        advice = "pass --header 'Authorization: …'" if refused else "are these the same tools?"
        return f"no call became a task; the first was answered: {calls[0].outcome}: {advice}"
    return ""


async def _replay(sequence: Sequence, target: Target) -> Replayed:
    import anyio

    from conformance.drive.running import new_session, new_wire
    from conformance.drive.sequences.judging import rules_for_sequences, violations
    from conformance.drive.sequences.limits import full_patience
    from conformance.drive.sequences.performing import Performance
    from conformance.drive.surroundings import Surroundings

    circumstances = replace(
        sequence.circumstances,
        url=target.url,
        spec=target.spec,
        callers=target.callers,
        loopback=target.loopback,
        max_wait=target.max_wait,
    )
    patience = full_patience(circumstances)
    rules = rules_for_sequences(circumstances.spec)
    async with new_wire(target) as wire:
        seconds = 60.0 + 2 * patience
        surroundings = Surroundings(tools=sequence.tools, extension=True)
        session = new_session(target, surroundings, wire, seconds=seconds)
        performance = Performance(
            session, circumstances, name="replay", slot="replay", patience=patience, rules=rules
        )
        async with anyio.create_task_group() as beating:
            beating.start_soon(session.pulse.beat)
            performed = await performance.perform(sequence.plan)
            beating.cancel_scope.cancel()
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
    not show, 1 it shows, 3 it could not be done: no answer, or no call became a task.
    """
    from conformance.drive.sequences.finds import read_sequence

    options = with_profile(context)
    sequence = read_sequence(options["file"])
    options["url"] = options.get("url") or sequence.circumstances.url
    if not sequence.plan:
        raise UsageError(f"{file} has no steps")
    options["spec"] = options.get("spec") or sequence.circumstances.spec
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
