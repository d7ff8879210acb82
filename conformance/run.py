"""``run``: look around, drive, judge. Two pytest runs in a row, and the histories between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from conformance import plugin
from conformance.drive.manners import manner_of
from conformance.drive.running import Running, in_event_loop, new_session, new_wire, redactor_of
from conformance.drive.sequences.extents import further_seconds
from conformance.drive.sequences.finds import forget as forget_sequences
from conformance.drive.surroundings import Surroundings, ToolUse, surroundings_from_json
from conformance.drive.tools import planned
from conformance.engine import drive_with_pytest
from conformance.errors import NothingToJudge, UsageError
from conformance.judge.rule import Rule, catalogue
from conformance.lock import cannot_write
from conformance.specification.revisions import DEFAULT_REVISION
from conformance.target.roles import roles_seen
from conformance.target.target import Target
from conformance.wire.exchange import Exchange
from conformance.wire.history import (
    Circumstances,
    History,
    HistoryWriter,
    is_history,
    put_circumstances,
)

DISCOVERY = "discovery"


@dataclass(frozen=True)
class Driven:
    """What a run left behind: the history's folder, and what was found by looking around.

    ``seconds`` is how long it took; ``cut_short`` says why driving ended early, if it did.
    """

    folder: Path
    surroundings: Surroundings
    started: str
    seconds: float
    cut_short: str = ""


@dataclass(frozen=True)
class Telling:
    """How a run says what it is doing: ``doing`` gets a few words, ``exchanged`` each
    exchange, so that a long run is never silent."""

    doing: Callable[[str], None] = lambda text: None
    exchanged: Callable[[Exchange], None] = lambda exchange: None


def drive(
    target: Target,
    folder: Path,
    *,
    telling: Telling | None = None,
    workers: int | None = 0,
    topics: frozenset[str] | None = None,
    replaces: Sequence[Path] = (),
) -> Driven:
    """Drive a server and leave its history in a folder.

    ``workers`` are processes of pytest-xdist; ``None`` drives without pytest, for those who
    are inside a pytest run of their own. ``replaces`` are files of an earlier run that go when
    its history goes: whatever becomes of this one, they tell nothing of it.

    Raises ``NothingToJudge`` where the server is not there or is something else, and
    ``UsageError`` where the folder cannot be written or a named tool does not exist. Ctrl-C
    raises ``KeyboardInterrupt``: what was seen is in the folder.
    """
    telling = telling or Telling()
    prepare_folder(folder)
    remove(replaces)
    begun = time.monotonic()
    started = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    circumstances = circumstances_of(target, started)
    budget = 2 * target.max_wait + 50
    told_in = folder / f"{DISCOVERY}.jsonl"
    try:
        surroundings = in_event_loop(
            look_around, target, folder, circumstances, budget / 2, telling
        )
    except NothingToJudge as error:
        put_circumstances(told_in, replace(circumstances, unjudged=str(error)))
        raise
    # What is kept and shown has no secrets; what is driven with is what really came.
    shown = surroundings_from_json(redactor_of(target).value(surroundings.to_json()))
    circumstances = replace(circumstances, permitted=shown.permitted, forbidden=shown.forbidden)
    # True of what a run leaves behind that is killed; the end of this function takes it back.
    put_circumstances(told_in, replace(circumstances, cut_short="it did not come to its end"))
    seconds = max(budget + further_seconds(target) - (time.monotonic() - begun), 1.0)
    plan = plugin.DrivePlan(
        target, surroundings, circumstances, folder, seconds, topics, telling.exchanged
    )
    telling.doing("driving")
    if workers is None:
        cut_short = _plain_drive(plan)
    else:
        cut_short = drive_with_pytest(plan, workers, telling.doing)
    put_circumstances(told_in, replace(circumstances, cut_short=cut_short))
    return Driven(folder, shown, started, time.monotonic() - begun, cut_short)


def prepare_folder(folder: Path) -> None:
    """Make the folder; earlier histories in it go, other files stay. Raises ``UsageError``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for there in folder.glob("*.jsonl"):
            if not is_history(there):
                raise UsageError(f"{there} is not a history: pass --history PATH of another folder")
            there.unlink()
        forget_sequences(folder)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise cannot_write(folder, error) from None


def remove(files: Iterable[Path]) -> None:
    """Remove the files that are there, but no devices; a link stays, and what it leads to goes.
    Raises ``UsageError``."""
    for path in files:
        try:
            if path.is_file():
                path.resolve().unlink()
        except OSError as error:
            raise UsageError(f"cannot replace {path}: {error.strerror or error}") from None


def circumstances_of(target: Target, started: str) -> Circumstances:
    named: dict[str, list[str]] = {}
    for tool in target.tools:
        named.setdefault(tool.name, []).extend([tool.role] if tool.role else [])
    return Circumstances(
        url=redactor_of(target).url(target.url),
        spec=target.spec,
        started=started,
        seed=target.seed,
        effort=target.effort,
        max_wait=target.max_wait,
        explore=target.explore,
        callers=target.callers,
        replicas=len(target.urls),
        restart=target.restart_command is not None,
        loopback=target.loopback,
        named=redactor_of(target).value(named),
        hypothesis=metadata.version("hypothesis"),
    )


async def look_around(
    target: Target, folder: Path, circumstances: Circumstances, seconds: float, telling: Telling
) -> Surroundings:
    path = folder / f"{DISCOVERY}.jsonl"
    seen: list[Exchange] = []

    def remember(exchange: Exchange) -> None:
        seen.append(exchange)
        telling.exchanged(exchange)

    async with new_wire(target) as wire:
        session = new_session(target, Surroundings(), wire, seconds=seconds, on_exchange=remember)
        writer = HistoryWriter(path, circumstances)
        manner = manner_of(target.spec)
        driver = manner.driver_class(session, DISCOVERY, writer)
        try:
            telling.doing("looking at the server")
            found, listed = await manner.look(driver)
            try:
                uses = planned(target, found, listed)
            except UsageError as error:
                # It names tools as the server does, who may say anything.
                raise UsageError(redactor_of(target).text(str(error))) from None
            if uses:
                telling.doing(f"trying {len(uses)} tools")
            uses = await manner.try_tools(driver, uses, listed, telling.doing)
            await driver.tidy_up()
        finally:
            writer.close()
    roles = roles_seen(History(seen, circumstances))
    return replace(
        found,
        tools=tuple(_with_roles(use, roles.get(use.name, frozenset())) for use in uses),
    )


def _with_roles(use: ToolUse, seen: frozenset[str]) -> ToolUse:
    return replace(use, roles=tuple(sorted(seen.union(use.roles))))


# ---- driving without pytest, and choosing rules ----------------------------------------------


def _plain_drive(plan: plugin.DrivePlan) -> str:
    """Run the scenarios without pytest. Returns why driving was cut short, if it was."""
    scenarios = plan.scenarios
    with Running(
        scenarios,
        target=plan.target,
        surroundings=plan.surroundings,
        circumstances=plan.circumstances,
        folder=plan.folder,
        seconds=plan.seconds,
        process=1,
        on_exchange=plan.on_exchange,
    ) as running:
        reasons = [running.result(scenario.name) for scenario in scenarios]
    return next(filter(None, reasons), "")


def selected_rules(
    only: Sequence[str] = (), skip: Sequence[str] = (), *, spec: str = DEFAULT_REVISION
) -> dict[str, Rule]:
    """The catalogue of a revision, narrowed. An entry may be an id or a whole topic. Raises
    ``UsageError`` for one that matches nothing."""
    rules = catalogue(spec)

    def matching(entry: str) -> set[str]:
        found = {r for r in rules if r == entry or r.partition(".")[0] == entry.rstrip(".*")}
        if not found:
            raise UsageError(f"unknown rule {entry!r}: {_suggestion(entry, rules)}")
        return found

    wanted = set().union(*map(matching, only)) if only else set(rules)
    unwanted = set().union(*map(matching, skip)) if skip else set()
    return {rule_id: r for rule_id, r in rules.items() if rule_id in wanted - unwanted}


def _suggestion(entry: str, rules: dict[str, Rule]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(entry, rules, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "`mcp-tasks-conformance rules` lists them"
