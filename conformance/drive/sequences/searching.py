"""Searches: plans are made, done several at a time, and judged; what breaks a rule is kept.

Afterwards, when nobody else is at work on the server, ``settle`` does each of them again, looks
for the shortest sequence of each cause, and writes what it found.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from conformance.drive.driver import Driver, ServerGone, Session
from conformance.drive.sequences.company import Company
from conformance.drive.sequences.extents import extent_of
from conformance.drive.sequences.finds import (
    Counts,
    Log,
    Sequence,
    as_found,
    found_path,
    read_seen,
    write_counts,
    write_seen,
    write_sequence,
)
from conformance.drive.sequences.judging import blocked_by, rules_for_sequences, violations
from conformance.drive.sequences.performing import NEEDS_PATIENCE, Performance, Performed
from conformance.drive.sequences.plan_maker import PlanMaker
from conformance.drive.sequences.shrinking import Shrinking, looking_instead
from conformance.drive.sequences.steps import Plan, contains, key, length, unhurried
from conformance.drive.sequences.tools import Toolbox, toolbox
from conformance.judge.asking import long_enough
from conformance.judge.verdict import Verdict
from conformance.wire.exchange import Exchange
from conformance.wire.history import Circumstances, History, HistoryWriter

# So many plans are made in one go.
_BATCH = 60
# So many sequences that break the same rule are kept, and then it is set aside.
_ENOUGH = 3
# So often a sequence is done again, and one in which things happen at the same time.
_TIMES, _RACES = 2, 3
# Seconds after which a task that was answered and has not moved on is suspected.
_SHORT_PATIENCE = 1.0

# The sequences of this process, whichever search they are of.
_COMPANY = Company()


class Search:
    """One search, numbered from 1 among those of the run."""

    def __init__(self, driver: Driver, number: int) -> None:
        assert isinstance(driver.writer, HistoryWriter)
        self._driver = driver
        self._name = f"search-{number}"
        self._number = number
        self._folder: Path = driver.writer.path.parent
        self._circumstances: Circumstances = driver.writer.circumstances
        self._extent = extent_of(driver.target)
        self._tools = toolbox_of(driver)
        self._session = session_for(driver, self._extent.seconds)
        self._rules = rules_for_sequences()
        self._batches = 0
        self._taken = 0
        self._kept = 0
        self._broken: Counter[str] = Counter()
        self._counts = Counts()

    async def run(self) -> None:
        """Search until the plans or the time are used up. Raises ``ServerGone`` where the server
        stopped answering."""
        if not self._tools.weighted:
            return
        log = Log(self._folder, self._name, self._circumstances)
        makes, takes = anyio.create_memory_object_stream[Plan](_BATCH)
        try:
            async with anyio.create_task_group() as making:
                making.start_soon(self._make_plans, makes)
                async with takes:
                    async with anyio.create_task_group() as working:
                        for slot in range(self._extent.slots):
                            working.start_soon(self._work, f"{self._number}-{slot}", takes, log)
                    making.cancel_scope.cancel()
        finally:
            log.close()
            write_counts(self._folder, self._name, self._counts)
        if self._session.gone:
            raise ServerGone

    async def _work(self, slot: str, plans: MemoryObjectReceiveStream[Plan], log: Log) -> None:
        async for plan in plans:
            if self._session.gone or self._session.remaining() <= 0:
                return
            self._taken += 1
            name = f"{self._name}-{self._taken}"
            set_aside = {rule for rule, times in self._broken.items() if times >= _ENOUGH}
            performance = Performance(
                self._session,
                self._circumstances,
                name=name,
                slot=slot,
                patience=_SHORT_PATIENCE,
                rules=self._rules,
                set_aside=set_aside,
                kept=log.append,
            )
            _COMPANY.joins(performance)
            performed = await performance.perform(plan)
            self._counts += counts_of(performed)
            self._judge(performance, performed)

    async def _make_plans(self, plans: MemoryObjectSendStream[Plan]) -> None:
        """Make plans while others are done. Until there are some the time of the search does not
        count."""
        async with plans, PlanMaker(self._tools) as maker:
            made = 0
            while made < self._extent.plans:
                number = min(_BATCH, self._extent.plans - made)
                batch = await maker.plans(number=number, chosen_seed=self._next_seed())
                if made == 0:
                    self._session.ends = ends_after(self._driver, self._extent.seconds)
                if not batch:
                    return
                made += len(batch)
                for plan in batch:
                    await plans.send(plan)

    def _next_seed(self) -> int:
        self._batches += 1
        text = f"{self._session.target.seed} {self._number} {self._batches}"
        return random.Random(text).getrandbits(63)

    def _judge(self, performance: Performance, performed: Performed) -> None:
        broken = tuple(violations(self._rules, performed.history))
        in_vain = not broken and NEEDS_PATIENCE in performed.suspected
        suspected = (NEEDS_PATIENCE,) if in_vain else ()
        new = [r for r in (*broken, *suspected) if self._broken[r] < _ENOUGH]
        if not new:
            return
        self._broken.update(new)
        self._kept += 1
        seen = Sequence(
            performed.done,
            broken,
            suspected,
            exchanges=tuple(performed.history.exchanges),
            circumstances=self._circumstances,
            tools=self._session.surroundings.tools,
            company=_COMPANY.of(performance),
        )
        write_seen(self._folder, self._name, self._kept, seen, self._session.redactor)


def full_patience(circumstances: Circumstances) -> float:
    """Seconds after which the judge takes what has not happened as not happening."""
    return long_enough(History((), circumstances)) + 0.2


def _to_repeat(plans: Iterable[Plan]) -> Iterator[Plan]:
    """The plans of sequences, to see whether they show again what they showed; each more than
    once, since a server does not take the same time each time. Those in which things happen at
    the same time may come out another way more easily, and are done more often. At last each
    without hurry: when much is going on, what one waits for has happened sooner."""
    plans = [plan for plan in plans if plan]
    for turn in range(_RACES):
        for plan in plans:
            if turn < _TIMES or any(step.do == "together" for step in plan):
                yield plan
    yield from map(unhurried, plans)


def counts_of(performed: Performed) -> Counts:
    """What one sequence amounts to."""
    made = sum(exchange.handle is not None for exchange in performed.history)
    return Counts(1, len(performed.history), made)


def toolbox_of(driver: Driver) -> Toolbox:
    return toolbox(
        driver.surroundings.tools,
        identities=len(driver.target.callers) > 1,
        replicas=bool(driver.target.replicas),
        revision=driver.session.revision.schemas,
    )


def ends_after(driver: Driver, seconds: float) -> float:
    """The monotonic second after so many more, but not after the end of the run."""
    return min(driver.session.ends, time.monotonic() + seconds)


def session_for(driver: Driver, seconds: float) -> Session:
    """A session of its own on the same wire, that ends after these seconds, or with the run."""
    shared = driver.session
    session = Session(
        target=shared.target,
        surroundings=shared.surroundings,
        wire=shared.wire,
        redactor=shared.redactor,
        ends=ends_after(driver, seconds),
        on_exchange=shared.on_exchange,
    )
    session.request_ids = shared.request_ids
    return session


# ---- settling what was seen ------------------------------------------------------------------


class Settling:
    """Does again what broke a rule, alone; makes it short; and writes what was found."""

    def __init__(self, driver: Driver) -> None:
        assert isinstance(driver.writer, HistoryWriter)
        self._folder: Path = driver.writer.path.parent
        self._circumstances: Circumstances = driver.writer.circumstances
        self._extent = extent_of(driver.target)
        self._session = session_for(driver, self._extent.settling)
        self._rules = rules_for_sequences()
        self._patience = full_patience(self._circumstances)
        self._done = 0
        self._found: set[str] = set()
        self._plans: list[Plan] = []
        self._in_vain: dict[str, Performed] = {}
        self._counts = Counts()

    async def run(self) -> None:
        """Settle each rule that was seen broken. Raises ``ServerGone``."""
        seen = read_seen(self._folder)
        by_rule: dict[str, list[Sequence]] = {}
        for sequence in seen:
            for rule_id in (*sequence.rules, *sequence.suspected):
                by_rule.setdefault(rule_id, []).append(sequence)
        in_doubt: list[str] = []
        for rule_id, sequences in by_rule.items():
            if rule_id not in self._found and not await self._settled(rule_id, sequences):
                in_doubt.append(rule_id)
        for rule_id in in_doubt:
            sequences = [s for s in by_rule[rule_id] if not self._is_covered(rule_id, s)]
            if sequences and not await self._settled_in_company(rule_id, sequences):
                self._keep_unrepeated(rule_id, sequences)
        if seen:
            write_counts(self._folder, "settling", self._counts)
        if self._session.gone:
            raise ServerGone

    async def _settled(self, rule_id: str, sequences: list[Sequence]) -> bool:
        """Whether a rule was seen broken again, or what was seen has another cause."""
        explained = False
        for plan in _to_repeat(s.plan for s in sequences[:_ENOUGH]):
            if explained and self._has_a_find(plan):
                continue  # most likely explained by the same
            again = await self._perform(plan, self._patience_for(rule_id), "again")
            if again is None:
                return explained
            self._in_vain[rule_id] = again
            if rule_id in self._violations(again):
                if await self._found_again(rule_id, plan, again):
                    return True
                explained = True
        return explained

    async def _settled_in_company(self, rule_id: str, sequences: list[Sequence]) -> bool:
        """Whether a rule was broken again together with what others did at the same time. Where
        a server mixes up tasks of different sequences, nothing less shows it."""
        for plan in _to_repeat(s.company for s in sequences[:_ENOUGH]):
            again = await self._perform(plan, self._patience_for(rule_id), "company")
            if again is None:
                return False
            if rule_id in self._violations(again):
                await self._found_again(rule_id, again.done, again, at_once=1)
                return True
        return False

    async def _found_again(
        self, rule_id: str, plan: Plan, again: Performed, *, at_once: int = 8
    ) -> bool:
        """Make what was found short, and keep it. Returns whether it is kept under this rule."""
        only_in_time = rule_id == NEEDS_PATIENCE
        besides: dict[str, Plan] = {}
        shown: dict[str, Performed] = {}

        async def shows(shorter: Plan) -> bool:
            patience = _SHORT_PATIENCE if only_in_time else 0.0
            performed = await self._perform(shorter, patience, "shorter")
            if performed is None:
                return False
            broken = self._violations(performed)
            for other in broken:
                if other not in besides or length(shorter) < length(besides[other]):
                    besides[other] = shorter
            if rule_id in broken:
                shown[key(shorter)] = performed
            return rule_id in broken or (only_in_time and rule_id in performed.suspected)

        shrinking = Shrinking(shows, self._extent.attempts, at_once, self._session.remaining)
        shortest = await shrinking.shortest(plan)
        patience = self._patience_for(rule_id)
        name = found_path(self._folder, rule_id).stem
        final = await self._perform(shortest, patience, name)
        if final is None or rule_id not in self._violations(final):
            # It does not show each time, or no time is left: what was seen is evidence enough.
            seen = shown.get(key(shortest))
            shortest, final = (shortest, seen) if seen is not None else (plan, again)
        elif await self._is_explained(shortest, besides) or await self._happens_anyway(
            rule_id, shortest, final
        ):
            return False
        self._write(rule_id, shortest, final)
        return True

    async def _is_explained(self, plan: Plan, besides: Mapping[str, Plan]) -> bool:
        """Whether what happened was blamed on the wrong step: the last of the plan breaks another
        rule, without some of the steps before it. That is kept instead."""
        explained = False
        for rule_id, fewer in besides.items():
            same_end = contains(plan[-1:], fewer[-1:]) and contains(plan, fewer)
            if length(fewer) >= length(plan) or not same_end:
                continue
            explained = await self._is_found(rule_id, fewer) or explained
        return explained

    async def _happens_anyway(self, rule_id: str, plan: Plan, final: Performed) -> bool:
        """Whether a task is changed that is blamed on the last request sent to it, and only
        looking at it breaks a rule too, one that was not broken before. That is kept instead."""
        looking = looking_instead(plan)
        looked = await self._perform(looking, 0.0, "looking") if looking is not None else None
        if looking is None or looked is None:
            return False
        broken = self._violations(looked)
        instead = next((r for r in broken if r not in self._violations(final)), None)
        if rule_id in broken or instead is None:
            return False
        return await self._is_found(instead, looking)

    async def _is_found(self, rule_id: str, plan: Plan) -> bool:
        """Whether a rule is found to be broken, by this plan if not yet."""
        if rule_id not in self._found:
            again = await self._perform(plan, self._patience_for(rule_id), "instead")
            if again is not None and rule_id in self._violations(again):
                await self._found_again(rule_id, plan, again)
        return rule_id in self._found

    def _write(self, rule_id: str, plan: Plan, performed: Performed) -> None:
        broken = tuple(self._violations(performed))
        self._found.update(broken)
        self._plans.append(plan)
        self._keep(rule_id, "", plan, broken, performed.history, repeated=True)

    def _keep(
        self,
        rule_id: str,
        which: str,
        plan: Plan,
        broken: tuple[str, ...],
        exchanges: Iterable[Exchange],
        *,
        repeated: bool,
    ) -> None:
        path = found_path(self._folder, rule_id, which)
        kept = as_found(exchanges, path.stem, repeated=repeated)
        found = Sequence(
            plan,
            broken,
            repeated=repeated,
            exchanges=kept,
            circumstances=self._circumstances,
            tools=self._session.surroundings.tools,
        )
        write_sequence(path, found, self._session.redactor)

    def _patience_for(self, rule_id: str) -> float:
        return self._patience if rule_id == NEEDS_PATIENCE else 0.0

    def _is_covered(self, rule_id: str, sequence: Sequence) -> bool:
        """Whether what was found is in a sequence too, and explains it."""
        if rule_id in self._found or blocked_by(self._rules, rule_id, self._found):
            return True
        return self._has_a_find(sequence.plan)

    def _has_a_find(self, plan: Plan) -> bool:
        """Whether a plan has all the steps of one that was found."""
        return any(contains(plan, found) for found in self._plans)

    def _keep_unrepeated(self, rule_id: str, sequences: list[Sequence]) -> None:
        """What was seen and did not come back is kept as it was seen, and as it was then."""
        sequence = next((s for s in sequences if rule_id in s.rules), None)
        if sequence is None:
            return
        self._found.update(sequence.rules)
        self._keep(rule_id, "", sequence.plan, sequence.rules, sequence.exchanges, repeated=False)
        again = self._in_vain.get(rule_id)
        if again is not None:
            self._keep(rule_id, "again", again.done, (), again.history, repeated=False)

    def _violations(self, performed: Performed) -> Mapping[str, Verdict]:
        return violations(self._rules, performed.history)

    async def _perform(self, plan: Plan, patience: float, name: str) -> Performed | None:
        """Do a plan; ``None`` where the time is used up or the server is gone."""
        if self._session.gone or self._session.remaining() <= 0:
            return None
        self._done += 1
        if not name.startswith("sequences."):
            name = f"{name}-{self._done}"
        performance = Performance(
            self._session,
            self._circumstances,
            name=name,
            slot=f"{name}-{self._done}",
            patience=patience,
            rules=self._rules,
        )
        performed = await performance.perform(plan)
        self._counts += counts_of(performed)
        return None if performed.cut else performed
