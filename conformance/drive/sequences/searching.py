"""Searches: plans are made, done several at a time, and judged; what breaks a rule is kept, to be
settled afterwards."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from conformance.drive.driver import Driver, ServerGone
from conformance.drive.sequences.company import Company
from conformance.drive.sequences.extents import extent_of
from conformance.drive.sequences.finds import (
    Counts,
    Log,
    Sequence,
    counts_of,
    write_counts,
    write_seen,
)
from conformance.drive.sequences.judging import rules_for_sequences, violations
from conformance.drive.sequences.limits import ENOUGH, SHORT_PATIENCE, ends_after, session_for
from conformance.drive.sequences.performing import NEEDS_PATIENCE, Performance, Performed
from conformance.drive.sequences.plan_maker import PlanMaker
from conformance.drive.sequences.steps import Plan
from conformance.drive.sequences.tools import Toolbox, toolbox
from conformance.wire.history import Circumstances, HistoryWriter

# So many plans are made in one go.
_BATCH = 60

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
        self._rules = rules_for_sequences(self._circumstances.spec)
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
            raise ServerGone(self._session.contact.last_words)

    async def _work(self, slot: str, plans: MemoryObjectReceiveStream[Plan], log: Log) -> None:
        async for plan in plans:
            if self._session.gone or self._session.remaining() <= 0:
                return
            self._taken += 1
            name = f"{self._name}-{self._taken}"
            set_aside = {rule for rule, times in self._broken.items() if times >= ENOUGH}
            performance = Performance(
                self._session,
                self._circumstances,
                name=name,
                slot=slot,
                patience=SHORT_PATIENCE,
                rules=self._rules,
                set_aside=set_aside,
                kept=log.append,
            )
            _COMPANY.joins(performance)
            performed = await performance.perform(plan)
            self._counts += counts_of(performed.history)
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
        new = [r for r in (*broken, *suspected) if self._broken[r] < ENOUGH]
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


def toolbox_of(driver: Driver) -> Toolbox:
    return toolbox(
        driver.surroundings.tools,
        identities=len(driver.target.callers) > 1,
        replicas=bool(driver.target.replicas),
        revision=driver.session.revision.schemas,
    )
