"""Looks for the shortest plan that still shows what a longer one showed.

Each attempt is done on fresh tasks. Most of its time is waiting, so several are made at the
same time. The result is then done alone, since what a server mixes up may need no more than
somebody else's tasks, and made shorter one attempt at a time. If it does not show alone, that
begins anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import anyio

from conformance.drive.sequences.steps import ALOOF, MAIN, WAYS, Plan, Step, key, length, renumbered

# Whether a plan, done on fresh tasks, shows what is looked for.
Attempt = Callable[[Plan], Awaitable[bool]]


@dataclass
class Shrinking:
    """``attempts`` bounds how many plans are tried, ``at_once`` how many of them at the same
    time; ``tried`` remembers them."""

    attempt: Attempt
    attempts: int
    at_once: int = 8
    tried: dict[str, bool] = field(default_factory=dict)

    async def shortest(self, plan: Plan) -> Plan:
        """The shortest plan found. ``plan`` itself is known to show, when done alone."""
        quick = await self._reduced(plan, self.at_once)
        if self.at_once == 1:
            return quick
        alone = quick == plan or await self.attempt(quick)
        self.tried.clear()
        if not alone:
            return await self._reduced(plan, 1)
        # Company may as well have hidden that a shorter one shows.
        return await self._with_no_step_too_many(quick, 1)

    async def _reduced(self, plan: Plan, at_once: int) -> Plan:
        """The plan with no step that could be left out, and none that could be plainer."""
        best, before = plan, None
        while best != before and self.attempts > 0:
            before = best
            best = await self._with_no_step_too_many(best, at_once)
            while plainer := await self._first_that_shows(list(_plainer(best)), at_once):
                best = plainer
        return best

    async def _with_no_step_too_many(self, plan: Plan, at_once: int) -> Plan:
        while (shorter := await self._without_steps(plan, at_once)) != plan:
            plan = shorter
        return plan

    async def _without_steps(self, plan: Plan, at_once: int) -> Plan:
        """Leave out what can be left out: first much at a time, then whatever single steps."""
        halves = [p for p in _without_parts(plan) if length(p) < length(plan)]
        shorter = await self._first_that_shows(halves, at_once)
        if shorter is not None:
            return shorter
        singles = list(_without_one(plan))
        shown = await self._which_show([p for _, p in singles], at_once)
        needless = [place for (place, _), shows in zip(singles, shown, strict=True) if shows]
        if len(needless) > 1:
            # Each can go by itself; most often all of them can go together.
            together = renumbered(_leaving_out(plan, set(needless)))
            if await self._shows(together):
                return together
        return next((p for (_, p), shows in zip(singles, shown, strict=True) if shows), plan)

    async def _first_that_shows(self, plans: Sequence[Plan], at_once: int) -> Plan | None:
        for start in range(0, len(plans), at_once):
            several = plans[start : start + at_once]
            shown = await self._which_show(several, at_once)
            for candidate, shows in zip(several, shown, strict=True):
                if shows:
                    return candidate
        return None

    async def _which_show(self, plans: Sequence[Plan], at_once: int) -> list[bool]:
        shown = [False] * len(plans)
        places = anyio.CapacityLimiter(at_once)

        async def one(index: int) -> None:
            async with places:
                shown[index] = await self._shows(plans[index])

        async with anyio.create_task_group() as group:
            for index in range(len(plans)):
                group.start_soon(one, index)
        return shown

    async def _shows(self, plan: Plan) -> bool:
        if not plan:
            return False
        name = key(plan)
        if name not in self.tried:
            if self.attempts <= 0:
                return False
            self.attempts -= 1
            self.tried[name] = await self.attempt(plan)
        return self.tried[name]


# ---- shorter plans -------------------------------------------------------------------------


def _without_parts(plan: Plan) -> Iterator[Plan]:
    """The plan without all but some of its tasks, and without halves and quarters of it."""
    numbers = [step.task for step in plan if step.makes]
    for number in numbers:
        if len(numbers) > 2:
            yield renumbered([s for s in plan if s.task in (0, number)])
    for number in reversed(numbers):
        if len(numbers) > 1:
            yield renumbered([s for s in plan if s.task != number])
    for parts in (2, 4):
        size = -(-len(plan) // parts)
        if size > 1:
            for start in range(0, len(plan), size):
                yield renumbered(plan[:start] + plan[start + size :])


def _without_one(plan: Plan) -> Iterator[tuple[int, Plan]]:
    for place in range(len(plan) - 1, -1, -1):
        shorter = renumbered(_leaving_out(plan, {place}))
        if length(shorter) < length(plan):
            yield place, shorter


def _leaving_out(plan: Plan, places: set[int]) -> Plan:
    return tuple(step for place, step in enumerate(plan) if place not in places)


# ---- plainer plans ---------------------------------------------------------------------------


def _plainer(plan: Plan) -> Iterator[Plan]:
    """Plans of no more steps in which one step is more ordinary, or all travel alike."""
    alike = renumbered([_on_main(step) for step in plan])
    if alike != plan:
        yield alike
    for place, step in enumerate(plan):
        for plainer in _plainer_steps(step):
            yield renumbered((*plan[:place], *plainer, *plan[place + 1 :]))


def _on_main(step: Step) -> Step:
    fixed = step.where in (MAIN, ALOOF) or step.do in ("disconnect", "together")
    return step if fixed else replace(step, where=MAIN)


def _plainer_steps(step: Step) -> Iterator[Plan]:
    if step.do == "together":
        yield step.steps
        for left_out in range(len(step.steps)):
            rest = _leaving_out(step.steps, {left_out})
            yield rest if len(rest) == 1 else (replace(step, steps=rest),)
        return
    if _on_main(step) != step:
        yield (_on_main(step),)
    ordinary = WAYS[step.do][0]
    if step.do in ("create", "read", "wait", "answer", "listen") and step.how != ordinary:
        yield (replace(step, how=ordinary),)
