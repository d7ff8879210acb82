"""The state machine: what a client may do next, well or badly.

Each run of it is one plan; two of three plans are tours, which `touring` makes. It is told
nothing of the server but which tools there are, so a seed gives the same plans every time, and
nothing that a server does can confuse Hypothesis. What a step means for the live server is
settled when it is done.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import junkdrawer, providers
from hypothesis.stateful import (
    RULE_MARKER,
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from conformance.drive.sequences.chances import (
    CALLERS,
    CALLS,
    LABELS,
    METHOD,
    ODD_IDS,
    OTHER_REQUESTS,
    PLACE,
    UNKNOWN,
    WHERE,
    broken_step,
    other_request,
    undeclared_call,
)
from conformance.drive.sequences.steps import (
    ALOOF,
    ELSEWHERE,
    FRESH,
    MAIN,
    MOST_TASKS,
    OTHER,
    Plan,
    Step,
    key,
)
from conformance.drive.sequences.tools import Toolbox
from conformance.drive.sequences.touring import TOUR_STEPS, TourMachine, stations
from conformance.drive.sequences.values import arguments_of
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import TASK_METHODS, TASKS_CANCEL, TASKS_GET, TASKS_UPDATE

Rule = TypeVar("Rule", bound=Callable[..., None])
Thing = TypeVar("Thing")

PROFILE = "mcp-tasks-conformance"
# Hypothesis makes so many that have nothing to do with each other; later ones it makes by
# changing the ones before in a few places, which here would be a waste of requests.
_AT_A_TIME = 10
_SHORTEST = 3
# Of three plans so many are tours; the others are sequences that nobody thought of.
_TOURS_OF_THREE = 2
# The number of steps of a plan, the one that makes its first task included.
STEPS = 20
_MARKER = "conformance"

settings.register_profile(
    PROFILE,
    settings(
        max_examples=_AT_A_TIME,
        stateful_step_count=STEPS,
        phases=(Phase.generate,),
        derandomize=False,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    ),
)

# Hypothesis has the time that the garbage collector takes measured by a callback of it. Python ends
# the process where such a callback is called just when some thread has run out of stack: a server
# in this process that reads deeply nested JSON would do. No deadline needs the measure here.
if hasattr(junkdrawer, "_gc_initialized"):
    junkdrawer._gc_initialized = True

# Hypothesis has a liking for constants of whatever code of one's own is imported. A seed would mean
# other plans in a checkout than in an installation, and others again in somebody's tests.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

# Hypothesis is at work for one plan after another, in whatever thread.
_one_at_a_time = threading.Lock()


# What a plan is mostly about. One that is about anything is broad; the others go deeper.
ANYTHING, ANSWERS, ENDS, TWINS, STREAMS, TIMES, STRANGERS = (
    "anything",
    "answers",
    "ends",
    "twins",
    "streams",
    "times",
    "strangers",
)
_MOODS = (
    *[ANYTHING] * 7,
    *[ANSWERS] * 4,
    *[ENDS] * 4,
    *[TWINS] * 3,
    *[STREAMS] * 3,
    *[TIMES] * 2,
    *[STRANGERS] * 2,
)
# Which of the tasks: most often the one that the last step was about, so that lives get long.
_WHICH = st.sampled_from((0, 0, 0, 0, 0, 0, 0, 1, 1, 2))
_LOOK = st.booleans()
_OTHER_ANSWERS = st.sampled_from(
    ("unknown", "unknown", "unknown", "nothing", "nothing", "nothing", "old", "beside", "decline",
     "cancel")
)  # fmt: skip


def _when(
    *moods: str, also: Callable[[PlanMachine], bool] = lambda machine: True
) -> Callable[[Rule], Rule]:
    """A rule for plans that are about one of these, or about anything; with none given, for
    every plan."""

    def fits(machine: PlanMachine) -> bool:
        return (not moods or machine.mood in (ANYTHING, *moods)) and also(machine)

    return precondition(fits)


class PlanMachine(RuleBasedStateMachine):
    """What a client may do with its tasks. The names of the rules are what it does; what is to
    be done more often has several.

    Something has to become of a task before odd requests about it are of much use: so most plans
    begin with what changes a task, and the odd requests are about tasks that were changed.
    """

    def __init__(self, tools: Toolbox, mood: str, plans: list[Plan]) -> None:
        super().__init__()
        self.mood = ANYTHING if mood == STRANGERS and not tools.identities else mood
        self._tools = tools
        self._plans = plans
        self._steps: list[Step] = []
        self._made: dict[int, Step] = {}
        # The tasks by when a step was last about them, the latest last; those that some step may
        # have changed; and whether odd requests come before anything was changed.
        self._order: list[int] = []
        self._changed: set[int] = set()
        self._asked: set[tuple[str, int, object, str]] = set()
        self._hasty = False
        self._listening = False
        self._weighted = tools.weighted
        self._ending = {use.name for use in (*tools.quick, *tools.slow)}
        self._asking = {use.name for use in (*tools.asking, *tools.before)}
        self._short = {use.name for use in tools.short}
        self._several = {use.name for use in tools.several}

    def teardown(self) -> None:
        self._plans.append(tuple(self._steps))

    # ---- what rules share ---------------------------------------------------------------

    def _add(self, do: str, task: int = 0, **members: Any) -> None:
        self._append(Step(do, task, **members))

    def _append(self, step: Step) -> None:
        self._steps.append(step)
        if step.task:
            self._order.remove(step.task)
            self._order.append(step.task)

    def _add_once(self, do: str, task: int = 0, **members: Any) -> None:
        """An odd request, but not the same twice before anything has become of its task."""
        self._append_once(Step(do, task, **members))

    def _append_once(self, step: Step) -> None:
        what = (step.do, step.task, step.how, str(step.value))
        if what not in self._asked:
            self._asked.add(what)
            self._append(step)

    def _change(self, look: bool, do: str, task: int, **members: Any) -> None:
        """A step that may change a task, and often a look at what came of it."""
        self._changed.add(task)
        self._asked = {what for what in self._asked if what[1] != task}
        self._add(do, task, **members)
        if look:
            self._add("read", task, how="paced")

    def _task(self, which: int, tools: Collection[str] | None = None) -> int:
        """The number of a task, counted from the one that a step was last about; of these tools,
        where there is one."""
        numbers = [n for n in self._order if tools is None or self._made[n].tool in tools]
        numbers = numbers or self._order
        return numbers[-1 - which % len(numbers)]

    def _odd(self, which: int) -> int:
        """The number of a task for an odd request: one that was changed, where there is one."""
        changed = [n for n in self._order if n in self._changed] or self._order
        return changed[-1 - which % len(changed)]

    def is_ripe(self) -> bool:
        """Whether it is time for odd requests."""
        return bool(self._changed) or self._hasty

    def is_asked(self) -> bool:
        """Whether there is a task that asks."""
        return self._has_task_of(self._asking)

    def is_asked_several(self) -> bool:
        """Whether there is a task that asks several things at once."""
        return self._has_task_of(self._several)

    def is_short(self) -> bool:
        """Whether there is a task of a short time."""
        return self._has_task_of(self._short)

    def is_listening(self) -> bool:
        """Whether somebody has listened, and may have stopped again."""
        return self._listening

    def has_strangers(self) -> bool:
        """Whether somebody else may ask, and it is time for it."""
        return self._tools.identities and self.is_ripe()

    def may_create(self) -> bool:
        """Whether there may be another task."""
        return len(self._made) < MOST_TASKS

    def _has_task_of(self, tools: Collection[str]) -> bool:
        return any(step.tool in tools for step in self._made.values())

    def _create(self, tool: int, data: st.DataObject, how: str, where: str = MAIN) -> None:
        fitting = self._fitting()
        use = fitting[tool % len(fitting)]
        arguments: Mapping[str, Any] = use.arguments
        if use.how == "observed" and data.draw(st.integers(0, 2)) == 0:
            arguments = data.draw(arguments_of(use, _MARKER))
        self._steps.append(self._made_by(use.name, arguments, how, where))

    def _fitting(self) -> Sequence[ToolUse]:
        """The tools that suit what the plan is about."""
        tools = self._tools
        suitable = {
            ANSWERS: (*tools.several, *tools.several, *tools.asking),
            ENDS: (*tools.quick, *tools.slow, *tools.slow, *tools.asking[:1]),
            TIMES: tools.short,
            STREAMS: (*tools.asking, *tools.slow),
        }.get(self.mood, ())
        return suitable or self._weighted

    def _made_by(self, tool: str, arguments: Mapping[str, Any], how: str, where: str) -> Step:
        number = len(self._made) + 1
        self._made[number] = Step("create", number, how, where, tool, arguments)
        self._order.append(number)
        return self._made[number]

    # ---- making tasks -------------------------------------------------------------------

    @initialize(
        tool=st.integers(0, 99),
        data=st.data(),
        haste=st.integers(0, 4),
    )
    def begin(self, tool: int, data: st.DataObject, haste: int) -> None:
        self._hasty = haste == 0
        self._create(tool, data, "kept")

    @_when(also=may_create)
    @rule(tool=st.integers(0, 99), data=st.data(), where=WHERE)
    def create(self, tool: int, data: st.DataObject, where: str) -> None:
        self._create(tool, data, "kept", where)

    @_when(TWINS, ENDS, also=may_create)
    @rule(which=_WHICH, where=WHERE)
    def create_alike(self, which: int, where: str) -> None:
        like = self._made[self._odd(which)]
        self._steps.append(self._made_by(like.tool, like.arguments or {}, "kept", where))

    @_when(ENDS, also=may_create)
    @rule(tool=st.integers(0, 99), data=st.data(), how=st.sampled_from(("hung-up", "notified")))
    def create_and_turn_away(self, tool: int, data: st.DataObject, how: str) -> None:
        self._create(tool, data, how)

    # ---- looking at them ----------------------------------------------------------------

    @rule(which=_WHICH, where=WHERE)
    def read(self, which: int, where: str) -> None:
        self._add("read", self._task(which), how="paced", where=where)

    @rule(which=_WHICH, how=st.sampled_from(("paced", "at-once")))
    def read_elsewhere(self, which: int, how: str) -> None:
        where = ELSEWHERE if self._tools.replicas and how == "paced" else OTHER
        self._add("read", self._task(which), how=how, where=where)

    @_when(ENDS, TWINS)
    @rule(which=_WHICH, how=st.sampled_from(("end", "input", "while")))
    def wait(self, which: int, how: str) -> None:
        self._add("wait", self._task(which), how=how)

    @_when(ENDS, STREAMS)
    @rule(which=_WHICH)
    def wait_for_end(self, which: int) -> None:
        self._change(False, "wait", self._task(which, self._ending), how="end")

    @_when(ENDS, STREAMS)
    @rule(which=_WHICH)
    def finish(self, which: int) -> None:
        self._change(False, "finish", self._task(which), how="accept")

    # ---- changing them ------------------------------------------------------------------

    @_when(ANSWERS, TWINS, STREAMS, also=is_asked)
    @rule(which=_WHICH, where=WHERE, look=_LOOK)
    def answer_all(self, which: int, where: str, look: bool) -> None:
        task = self._task(which, self._asking)
        self._change(look, "answer", task, how="all", where=where)

    @_when(ANSWERS, TWINS, STRANGERS, also=is_asked_several)
    @rule(which=_WHICH, where=WHERE, look=_LOOK)
    def answer_some(self, which: int, where: str, look: bool) -> None:
        task = self._task(which, self._several)
        self._change(look, "answer", task, how="some", where=where)

    @_when(ANSWERS, STREAMS, also=is_asked_several)
    @rule(which=_WHICH, look=_LOOK)
    def answer_a_part(self, which: int, look: bool) -> None:
        self._change(look, "answer", self._task(which, self._several), how="some")

    @_when(ANSWERS, also=is_asked)
    @rule(which=_WHICH, look=_LOOK)
    def answer_again(self, which: int, look: bool) -> None:
        self._change(look, "answer", self._task(which, self._asking), how="again")

    @_when(ANSWERS, ENDS, TIMES)
    @rule(which=_WHICH, how=_OTHER_ANSWERS, where=WHERE, look=_LOOK)
    def answer_otherwise(self, which: int, how: str, where: str, look: bool) -> None:
        self._change(look, "answer", self._task(which), how=how, where=where)

    @_when(ENDS, TIMES)
    @rule(which=_WHICH, how=st.sampled_from(("nothing", "unknown", "all")), look=_LOOK)
    def answer_nobody(self, which: int, how: str, look: bool) -> None:
        self._change(look, "answer", self._task(which), how=how)

    @rule(which=_WHICH, where=WHERE, look=_LOOK)
    def cancel(self, which: int, where: str, look: bool) -> None:
        self._change(look, "cancel", self._task(which), how="once", where=where)

    @_when(ENDS, TWINS, STREAMS)
    @rule(which=_WHICH, look=_LOOK)
    def cancel_that(self, which: int, look: bool) -> None:
        self._change(look, "cancel", self._task(which), how="once")

    @_when(TIMES, also=is_short)
    @rule(look=_LOOK)
    def outlive(self, look: bool) -> None:
        self._change(look, "wait", self._task(0, self._short), how="over")

    # ---- several things at once -----------------------------------------------------------

    @_when(ANSWERS, TWINS)
    @rule(
        what=st.lists(
            st.sampled_from(("read", "read", "cancel", "answer all", "answer all", "create")),
            min_size=2,
            max_size=3,
        ),
        which=_WHICH,
        one=st.booleans(),
    )
    def at_once(self, what: list[str], which: int, one: bool) -> None:
        steps: list[Step] = []
        # None is about a task that is only made at the same time.
        numbers = [self._task(which if one else which + place) for place in range(len(what))]
        for place, (name, number) in enumerate(zip(what, numbers, strict=True)):
            do, _, how = name.partition(" ")
            if do != "create":
                steps.append(Step(do, number, how, (MAIN, OTHER, FRESH)[place]))
            elif self.may_create():
                like = self._made[number]
                steps.append(self._made_by(like.tool, like.arguments or {}, "kept", MAIN))
        if len(steps) > 1:
            self._add("together", steps=tuple(steps))
        else:
            self._steps += steps

    # ---- doing it wrong -------------------------------------------------------------------

    @_when(ANSWERS, ENDS, also=is_ripe)
    @rule(which=_WHICH, where=st.sampled_from((ALOOF, ALOOF, ALOOF, MAIN)))
    def read_undeclared(self, which: int, where: str) -> None:
        self._add_once("undeclared", self._odd(which), how=TASKS_GET, where=where)

    @_when(ANSWERS, also=is_ripe)
    @rule(which=_WHICH)
    def answer_undeclared(self, which: int) -> None:
        self._add_once("undeclared", self._odd(which), how=TASKS_UPDATE, where=ALOOF)

    @_when(ANSWERS, ENDS, also=is_ripe)
    @rule(which=_WHICH)
    def cancel_undeclared(self, which: int) -> None:
        self._add_once("undeclared", self._odd(which), how=TASKS_CANCEL, where=ALOOF)

    @_when(ENDS, also=is_ripe)
    @rule(which=_WHICH, how=METHOD)
    def declare_as_of_old(self, which: int, how: str) -> None:
        self._add_once("legacy", self._odd(which), how=how, where=ALOOF)

    @_when(TWINS, also=is_ripe)
    @rule(which=_WHICH, how=CALLS)
    def call_without_declaring(self, which: int, how: str) -> None:
        step = undeclared_call(self._tools, self._made[self._odd(which)].tool, how)
        if step is not None:
            self._append_once(step)

    @_when(ENDS, also=is_ripe)
    @rule(which=_WHICH, label=LABELS)
    def mislabel_read(self, which: int, label: str) -> None:
        self._add_once("mislabelled", self._odd(which), how=TASKS_GET, value={"change": label})

    @_when(ANSWERS, also=is_ripe)
    @rule(which=_WHICH, label=LABELS)
    def mislabel_answer(self, which: int, label: str) -> None:
        self._add_once("mislabelled", self._odd(which), how=TASKS_UPDATE, value={"change": label})

    @_when(also=is_ripe)
    @rule(which=_WHICH, label=LABELS)
    def mislabel_cancel(self, which: int, label: str) -> None:
        self._add_once("mislabelled", self._odd(which), how=TASKS_CANCEL, value={"change": label})

    @_when(ENDS, TIMES, TWINS, also=is_ripe)
    @rule(which=_WHICH, how=st.sampled_from((TASKS_GET, *TASK_METHODS)), change=UNKNOWN)
    def ask_for_unknown(self, which: int, how: str, change: str) -> None:
        self._add_once("unknown", self._odd(which), how=how, value={"change": change})

    @_when(ENDS, STREAMS, STRANGERS, also=is_ripe)
    @rule(which=_WHICH, change=UNKNOWN)
    def read_almost_known(self, which: int, change: str) -> None:
        self._add_once("unknown", self._odd(which), how=TASKS_GET, value={"change": change})

    @_when(also=is_ripe)
    @rule(how=METHOD, odd=ODD_IDS)
    def ask_for_odd(self, how: str, odd: str) -> None:
        self._add_once("unknown", how=how, value={"change": "an odd id", "id": odd})

    def _break(self, which: int, how: str, member: str, place: int) -> None:
        self._append_once(broken_step(self._tools, how, self._odd(which), member, place))

    @_when(ENDS, STREAMS, also=is_ripe)
    @rule(which=_WHICH, how=METHOD, member=st.sampled_from(("taskId", "_meta")), place=PLACE)
    def break_params(self, which: int, how: str, member: str, place: int) -> None:
        self._break(which, how, member, place)

    @_when(ANSWERS, also=is_ripe)
    @rule(which=_WHICH, place=PLACE)
    def break_answers(self, which: int, place: int) -> None:
        self._break(which, TASKS_UPDATE, "inputResponses", place)

    def _be(self, caller: str, which: int, how: str) -> None:
        value = {"change": caller, "caller": caller}
        self._add_once("foreign", self._odd(which), how=how, value=value)

    @_when(STRANGERS, also=has_strangers)
    @rule(which=_WHICH, who=CALLERS)
    def read_as_a_stranger(self, which: int, who: str) -> None:
        self._be(who, which, TASKS_GET)

    @_when(STRANGERS, ANSWERS, also=has_strangers)
    @rule(which=_WHICH, who=CALLERS)
    def answer_as_a_stranger(self, which: int, who: str) -> None:
        self._be(who, which, TASKS_UPDATE)

    @_when(STRANGERS, also=has_strangers)
    @rule(which=_WHICH, who=CALLERS)
    def cancel_as_a_stranger(self, which: int, who: str) -> None:
        self._be(who, which, TASKS_CANCEL)

    @_when(ENDS, also=is_ripe)
    @rule(which=_WHICH)
    def ask_for_what_is_gone(self, which: int) -> None:
        self._add_once("other", self._odd(which), how="removed")

    @_when(ENDS, TWINS, also=is_ripe)
    @rule()
    def send_no_request(self) -> None:
        self._add_once("other", how="ill-formed")

    # ---- connections ----------------------------------------------------------------------

    @_when(STREAMS)
    @rule(which=_WHICH, how=st.sampled_from(("one", "one", "all")))
    def listen(self, which: int, how: str) -> None:
        self._listening = True
        self._change(False, "listen", self._task(which), how=how)

    @_when(STREAMS, ENDS)
    @rule(which=_WHICH)
    def listen_a_while(self, which: int) -> None:
        task = self._task(which)
        self._change(False, "listen", task, how="one")
        self._add("stop-listening")
        self._add("read", task, how="paced")

    @_when(STREAMS, also=is_listening)
    @rule(which=_WHICH)
    def listen_again(self, which: int) -> None:
        self._add("listen", self._task(which), how="one")

    @_when(STREAMS, also=is_listening)
    @rule()
    def stop_listening(self) -> None:
        self._add("stop-listening")

    @_when(TWINS)
    @rule(where=st.sampled_from((MAIN, OTHER)))
    def disconnect(self, where: str) -> None:
        self._add("disconnect", where=where)

    @_when(TWINS, also=is_ripe)
    @rule(how=OTHER_REQUESTS)
    def do_something_else(self, how: str) -> None:
        self._append_once(other_request(self._tools, how))


# In each run Hypothesis leaves out some rules, by the names of their functions. In plans as short
# as these that means to do the same thing again and again; so all go by one name.
for _member in vars(PlanMachine).values():
    if hasattr(_member, RULE_MARKER):
        getattr(_member, RULE_MARKER).function.__name__ = "step"


def plans(tools: Toolbox, *, number: int, chosen_seed: int) -> list[Plan]:
    """About so many different plans of a seed, the tours first. The same seed gives the same
    plans, in any thread and anywhere, as long as Hypothesis is the same."""
    if not tools.weighted:
        return []
    chance = random.Random(chosen_seed)
    seeds = itertools.count(chosen_seed)
    number_of_tours = number * _TOURS_OF_THREE // 3
    brief: list[Plan] = []
    tours: list[Plan] = []
    others: list[Plan] = []
    with _one_at_a_time:
        for station, times in _evenly(tuple(stations(tools)), number_of_tours, chance):
            made = _made(partial(TourMachine, tools, station), times, TOUR_STEPS, seeds)
            (brief if station.brief else tours).extend(made)
        for mood, times in _evenly(_MOODS, number - number_of_tours, chance):
            others += _made(partial(PlanMachine, tools, mood), times, STEPS, seeds)
    # What has to be waited for is begun first.
    chance.shuffle(tours)
    chance.shuffle(others)
    found = map(shortened, (*brief, *tours, *others))
    different = {key(plan): plan for plan in found if len(plan) >= _SHORTEST}
    return list(different.values())


def _evenly(
    things: tuple[Thing, ...], number: int, chance: random.Random
) -> Iterable[tuple[Thing, int]]:
    """So many of them, each with how often it is taken: all equally often, and what is left over
    by chance."""
    every, rest = divmod(number, max(len(things), 1))
    return Counter((*things * every, *chance.sample(things, rest))).items()


def _made(
    machine: Callable[[list[Plan]], RuleBasedStateMachine],
    number: int,
    steps: int,
    seeds: Iterator[int],
) -> list[Plan]:
    """So many plans that a machine makes."""
    found: list[Plan] = []
    while len(found) < number:
        made: list[Plan] = []
        # The first is the same whatever the seed, the simplest there is: it is left out.
        examples = min(number - len(found) + 1, _AT_A_TIME)
        own = settings(
            settings.get_profile(PROFILE), max_examples=examples, stateful_step_count=steps
        )
        seeded: Any = seed(next(seeds))(partial(machine, made))
        run_state_machine_as_test(seeded, settings=own)
        if len(made) < 2:
            break  # it has no other to make
        found += made[1:]
    return found[:number]


def shortened(plan: Plan) -> Plan:
    """The plan without disconnections of a connection that was not used since the last."""
    kept: list[Step] = []
    fresh = {MAIN: True, OTHER: True}
    for step in plan:
        if step.do == "disconnect":
            if fresh[step.where]:
                continue
            fresh[step.where] = True
        else:
            for part in step.steps or (step,):
                if part.where in fresh:
                    fresh[part.where] = False
        kept.append(replace(step))
    return tuple(kept)
