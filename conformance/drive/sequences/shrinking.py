"""Looks for the shortest plan that still shows what a longer one showed.

Each attempt is done on fresh tasks. Most of its time is waiting, so several are made at the
same time. The result is then done alone, since what a server mixes up may need no more than
somebody else's tasks, and made shorter one attempt at a time. If it does not show alone, that
begins anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

import anyio

from conformance.drive.sequences.steps import ALOOF, MAIN, WAYS, Plan, Step, key, length, renumbered

# Whether a plan, done on fresh tasks, shows what is looked for.
Attempt = Callable[[Plan], Awaitable[bool]]

# A plan that is tried alone may use all of the time and of the attempts; in company it leaves this
# part of them for afterwards.
_FOR_AFTERWARDS = 1 / 3
# What was seen in company is tried so often alone.
_TIMES_ALONE = 2
# The seconds that are left where nobody counts them.
_AGES = 1e9


@dataclass
class Shrinking:
    """``attempts`` bounds how many plans are tried, ``at_once`` how many of them at the same
    time; ``seconds_left`` says how much time there is; ``tried`` remembers them."""

    attempt: Attempt
    attempts: int
    at_once: int = 8
    seconds_left: Callable[[], float] = lambda: _AGES
    tried: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._attempts_at_first = self.attempts
        self._seconds_at_first = self.seconds_left()

    async def shortest(self, plan: Plan) -> Plan:
        """The shortest plan found. ``plan`` itself is known to show, when done alone."""
        quick = await self._reduced(plan, self.at_once)
        if self.at_once == 1:
            return quick
        self.tried.clear()
        if quick != plan and not await self._shows_alone(quick):
            return await self._reduced(plan, 1)
        # Company may as well have hidden that a shorter one shows.
        return await self._with_no_step_too_many(quick, 1)

    async def _shows_alone(self, plan: Plan) -> bool:
        """What was seen in company may take more than one time to show again."""
        for _ in range(_TIMES_ALONE):
            self.attempts -= 1
            if await self.attempt(plan):
                return True
        return False

    def _may_go_on(self, at_once: int) -> bool:
        kept = _FOR_AFTERWARDS if at_once > 1 else 0.0
        enough_time = self.seconds_left() > kept * self._seconds_at_first
        return enough_time and self.attempts > kept * self._attempts_at_first

    async def _reduced(self, plan: Plan, at_once: int) -> Plan:
        """The plan with no step that could be left out, and none that could be plainer."""
        best, before = plan, None
        while best != before and self._may_go_on(at_once):
            before = best
            best = await self._with_no_step_too_many(best, at_once)
            best = await self._plainest(best, at_once)
        return best

    async def _plainest(self, plan: Plan, at_once: int) -> Plan:
        while plainer := list(_plainer(plan)):
            shown = await self._first_that_shows(plainer, at_once)
            if shown is None:
                break
            plan = plainer[shown]
        return plan

    async def _with_no_step_too_many(self, plan: Plan, at_once: int) -> Plan:
        while (shorter := await self._without_steps(plan, at_once)) != plan:
            plan = shorter
        return plan

    async def _without_steps(self, plan: Plan, at_once: int) -> Plan:
        """Leave out what can be left out: first much at a time, then whatever single steps."""
        halves = [p for p in _without_parts(plan) if length(p) < length(plan)]
        halves += _with_one_wait(plan)
        halves += [p for p in _waiting_alone(plan) if length(p) < length(plan)]
        shown = await self._first_that_shows(halves, at_once)
        if shown is not None:
            return halves[shown]
        singles = list(_without_one(plan))
        each = await self._which_show([p for _, p in singles], at_once)
        needless = [place for (place, _), shows in zip(singles, each, strict=True) if shows]
        gone = await self._can_go(plan, needless, frozenset(), at_once)
        return renumbered(_leaving_out(plan, gone)) if gone else plan

    async def _can_go(
        self, plan: Plan, needless: Sequence[int], gone: frozenset[int], at_once: int
    ) -> frozenset[int]:
        """Which places can go together: those that are gone, and as many as can be of those
        that can go by themselves. Most often all of them can, so much is tried first."""
        if not needless:
            return gone
        half = len(needless) // 2
        parts = [needless, needless[:half], needless[half:]] if half else [needless]
        shorter = [renumbered(_leaving_out(plan, gone.union(part))) for part in parts]
        shown = await self._first_that_shows(shorter, at_once)
        if shown is not None:
            rest = [place for place in needless if place not in parts[shown]]
            return await self._can_go(plan, rest, gone.union(parts[shown]), at_once)
        for part in parts[1:]:
            gone = await self._can_go(plan, part, gone, at_once)
        return gone

    async def _first_that_shows(self, plans: Sequence[Plan], at_once: int) -> int | None:
        """The place of the first of these plans that shows; of several that are tried at the
        same time, of the shortest."""
        for start in range(0, len(plans), at_once):
            several = plans[start : start + at_once]
            shown = await self._which_show(several, at_once)
            places = [start + n for n, shows in enumerate(shown) if shows]
            if places:
                return min(places, key=lambda place: length(plans[place]))
        return None

    async def _which_show(self, plans: Sequence[Plan], at_once: int) -> list[bool]:
        shown = [False] * len(plans)
        places = anyio.CapacityLimiter(at_once)

        async def one(index: int) -> None:
            async with places:
                shown[index] = await self._shows(plans[index], at_once)

        async with anyio.create_task_group() as group:
            for index in range(len(plans)):
                group.start_soon(one, index)
        return shown

    async def _shows(self, plan: Plan, at_once: int) -> bool:
        if not plan:
            return False
        name = key(plan)
        if name not in self.tried:
            if not self._may_go_on(at_once):
                return False
            self.attempts -= 1
            self.tried[name] = await self.attempt(plan)
        return self.tried[name]


# ---- plans that differ in what is blamed ---------------------------------------------------

_MAY_CHANGE = ("answer", "cancel", "undeclared", "legacy", "mislabelled", "foreign", "broken")


def looking_instead(plan: Plan) -> Plan | None:
    """The plan with a look at the task instead of the last step that might change it; ``None``
    where there is no such step."""
    for place in range(len(plan) - 1, -1, -1):
        if plan[place].do in _MAY_CHANGE:
            look = Step("read", plan[place].task)
            return (*plan[:place], look, *plan[place + 1 :])
    return None


# ---- shorter plans -------------------------------------------------------------------------


def _without_parts(plan: Plan) -> Iterator[Plan]:
    """The plan without all but one or two of its tasks, without one of them, and without halves
    and quarters of it."""
    numbers = [step.task for step in plan if step.makes]
    if len(numbers) > 2:
        for number in numbers:
            yield renumbered([s for s in plan if s.task in (0, number)])
    if len(numbers) > 3:
        # What a server mixes up was most often made in a row.
        for pair in pairwise(numbers):
            yield renumbered([s for s in plan if s.task in (0, *pair)])
    for number in reversed(numbers):
        if len(numbers) > 1:
            yield renumbered([s for s in plan if s.task != number])
    for parts in (2, 4):
        size = -(-len(plan) // parts)
        if size > 1:
            for start in range(0, len(plan), size):
                yield renumbered(plan[:start] + plan[start + size :])


def _with_one_wait(plan: Plan) -> Iterator[Plan]:
    """Plans in which several looks at a task in a row are one wait: for its end, or until its
    time is over. Each of them may be needed, if only since it takes its time."""
    start = 0
    for task, steps in groupby(plan, key=_looked_at):
        end = start + len(list(steps))
        if task and end > start + 1:
            for how in ("over", "end"):
                yield (*plan[:start], Step("wait", task, how), *plan[end:])
        start = end


def _waiting_alone(plan: Plan) -> Iterator[Plan]:
    """Plans of what is done with one task, and a wait instead of everything else: that may have
    been needed only since it takes its time."""
    for number in [step.task for step in plan if step.makes]:
        own = [step for step in plan if step.task == number]
        for how in ("over", "end"):
            yield renumbered([*own, Step("wait", number, how)])


def _looked_at(step: Step) -> int:
    """The number of the task that a step looks at, or 0."""
    return step.task if step.do in ("read", "wait") else 0


def _without_one(plan: Plan) -> Iterator[tuple[int, Plan]]:
    for place in range(len(plan) - 1, -1, -1):
        shorter = renumbered(_leaving_out(plan, {place}))
        if length(shorter) < length(plan):
            yield place, shorter


def _leaving_out(plan: Plan, places: AbstractSet[int]) -> Plan:
    return tuple(step for place, step in enumerate(plan) if place not in places)


# ---- plainer plans ---------------------------------------------------------------------------


def _plainer(plan: Plan) -> Iterator[Plan]:
    """Plans of no more steps in which one step is more ordinary, or all travel alike, or all
    listen to one task."""
    alike = renumbered([_on_main(step) for step in plan])
    if alike != plan:
        yield alike
    yield from _listening_to_one(plan)
    for place, step in enumerate(plan):
        for plainer in _plainer_steps(step):
            yield renumbered((*plan[:place], *plainer, *plan[place + 1 :]))


def _listening_to_one(plan: Plan) -> Iterator[Plan]:
    """Plans that listen to the same task wherever several are listened to, so that the others are
    not needed any more."""
    if any(step.do == "listen" and step.how == "all" for step in plan):
        for number in [step.task for step in plan if step.makes]:
            yield renumbered(
                [replace(s, task=number, how="one") if s.do == "listen" else s for s in plan]
            )


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
