"""Tours: a task is brought to where something matters, and then what should change nothing there
is done to it, one thing after another in an order that Hypothesis draws.

One tour tries a state with much of what may come upon it, and with many orders of two such
things. It ends with what does change the task, and a few more of them after that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from conformance.drive.sequences.chances import (
    CALLERS,
    CALLS,
    LABELS,
    MEMBERS,
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
from conformance.drive.sequences.steps import ALOOF, MAIN, MOST_TASKS, OTHER, Plan, Step
from conformance.drive.sequences.tools import Toolbox
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import TASK_METHODS, TASKS_CANCEL, TASKS_GET, TASKS_UPDATE

# Most things are done before the task is changed, and a few after that; where it soon changes by
# itself, some before, and most after that.
_MOST_THINGS, _SOME_THINGS, _FEW_THINGS = (
    st.integers(22, 30),
    st.integers(10, 16),
    st.integers(3, 8),
)
# The most things of a tour.
TOUR_STEPS = 50
_SELDOM = st.integers(0, 5)


@dataclass(frozen=True)
class Station:
    """A state worth a tour. ``tools`` are the kinds of tools whose tasks come to it, ``lead`` the
    steps that bring them there, ``changes`` the steps of which one moves them on. What is
    ``brief`` changes by itself before long."""

    tools: tuple[str, ...]
    lead: tuple[Step, ...]
    changes: tuple[Step, ...] = ()
    brief: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing but time can change its tasks any more."""
        return not self.changes or self.changes == (_OVER,)


_CREATE, _TWIN = Step("create", 1, "kept"), Step("create", 2, "kept")
_READ = Step("read", 1, "paced")
_ASKED = Step("wait", 1, "input")
_END = Step("wait", 1, "end")
_FINISH = Step("finish", 1, "accept")
_SOME, _ALL = Step("answer", 1, "some"), Step("answer", 1, "all")
_CANCEL = Step("cancel", 1, "once")
_LISTEN = Step("listen", 1, "one")
_OVER = Step("wait", 1, "over")
_OTHER_CANCEL = replace(_CANCEL, task=2)

STATIONS: tuple[Station, ...] = (
    # At work, and asking.
    Station(("slow",), (_CREATE, _READ), (_CANCEL,), brief=True),
    # Cancelled before anything else can take its time.
    Station(("slow",), (_CREATE, _READ, _CANCEL)),
    Station(("asking",), (_CREATE, _ASKED), (_ALL, _SOME, _CANCEL)),
    Station(("several",), (_CREATE, _SOME), (_ALL, _CANCEL)),
    Station(("several",), (_CREATE, _SOME, _READ), (_ALL, _CANCEL)),
    # Ended.
    Station(("quick",), (_CREATE, _END)),
    Station(("asking",), (_CREATE, _FINISH, _READ)),
    Station(("asking", "slow"), (_CREATE, _CANCEL)),
    Station(("asking",), (_CREATE, _ASKED, _CANCEL, _READ)),
    Station(("several",), (_CREATE, _SOME, _CANCEL)),
    Station(("asking",), (_CREATE, _ALL, _CANCEL)),
    # Two alike.
    Station(("asking",), (_CREATE, _TWIN), (_CANCEL, _OTHER_CANCEL, _ALL)),
    Station(("asking",), (_CREATE, _TWIN, _OTHER_CANCEL), (_ALL, _FINISH)),
    Station(("telling",), (_CREATE, _TWIN, _OTHER_CANCEL)),
    Station(("slow",), (_CREATE, _TWIN, _OTHER_CANCEL)),
    Station(("asking", "telling"), (_CREATE, _TWIN, _CANCEL, _OTHER_CANCEL)),
    Station(("asking",), (_CREATE, _ALL, _CANCEL, _TWIN)),
    # Listened to.
    Station(("asking", "slow"), (_CREATE, _LISTEN), (_CANCEL, _ALL)),
    Station(("asking", "slow"), (_CREATE, _LISTEN, _CANCEL)),
    # Of a short time.
    Station(("short",), (_CREATE, _END), (_OVER,), brief=True),
)

# What should change nothing, as kinds and ways of steps. Where a way is left open it is drawn.
_ODD: tuple[tuple[str, str], ...] = (
    *(("undeclared", method) for method in TASK_METHODS),
    ("legacy", ""),
    *(("mislabelled", method) for method in TASK_METHODS),
    ("mislabelled", TASKS_GET),
    ("unknown", TASKS_GET),
    ("unknown", ""),
    ("odd-id", ""),
    *(("broken", method) for method in TASK_METHODS),
    ("other", "removed"),
    ("other", "ill-formed"),
    ("other", ""),
    ("call", ""),
)
_FOREIGN = tuple(("foreign", method) for method in TASK_METHODS)
_ORDINARY: tuple[tuple[str, str], ...] = (
    ("read", ""),
    ("create", ""),
    ("listen", "one"),
    ("stop-listening", ""),
    ("disconnect", ""),
    ("wait", "while"),
    ("answer", "nothing"),
    ("answer", "unknown"),
    ("answer", "again"),
)
# What changes nothing only where nothing can be changed any more.
_LATE: tuple[tuple[str, str], ...] = (
    ("cancel", "once"),
    ("cancel", "once"),
    ("answer", "all"),
    ("answer", "nothing"),
)


def _may_change(thing: tuple[str, str]) -> bool:
    """Whether it is an answer or a cancellation of whatever kind, right or wrong."""
    do, how = thing
    return do in ("answer", "cancel", "legacy") or how in (TASKS_UPDATE, TASKS_CANCEL)


class TourMachine(RuleBasedStateMachine):
    """One tour, by one station."""

    def __init__(self, tools: Toolbox, station: Station, made: list[Plan]) -> None:
        super().__init__()
        self._tools = tools
        self._station = station
        self._made = made
        self._steps: list[Step] = []
        self._ahead: list[tuple[str, str] | Step] = []
        self._create = Step("create")
        self._number = 0
        # There is no time for looks where the task is soon to change by itself.
        self._hurried = station.brief

    def teardown(self) -> None:
        self._made.append(tuple(self._steps))

    @initialize(data=st.data())
    def lead(self, data: st.DataObject) -> None:
        station = self._station
        use = data.draw(st.sampled_from(uses(self._tools, station)))
        self._create = Step("create", 0, "kept", tool=use.name, arguments=use.arguments)
        for step in station.lead:
            self._add(step)
        before = data.draw(st.permutations(self._things(over=station.over)))
        if data.draw(st.booleans()) and not station.brief:
            # Nothing else can be blamed for what comes of them.
            before.sort(key=_may_change)
        self._ahead += before[: data.draw(_SOME_THINGS if station.brief else _MOST_THINGS)]
        if station.changes:
            self._ahead.append(data.draw(st.sampled_from(station.changes)))
        after = data.draw(st.permutations(self._things(over=True)))
        self._ahead += after[: data.draw(_MOST_THINGS if station.brief else _FEW_THINGS)]
        self._ahead.append(_END)
        self._ahead.reverse()

    def _things(self, *, over: bool) -> tuple[tuple[str, str], ...]:
        foreign = _FOREIGN if self._tools.identities else ()
        return (*_ODD, *foreign, *_ORDINARY, *(_LATE if over else ()))

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """The next thing, and now and then a look at what came of it."""
        if not self._ahead:
            return
        thing = self._ahead.pop()
        if isinstance(thing, Step):
            self._add(thing)
            self._hurried = False
            looks = bool(self._ahead)
        else:
            looks = self._thing(*thing, data)
        if looks and not self._hurried:
            self._add(replace(_READ, task=self._steps[-1].task or 1))

    def _add(self, step: Step) -> None:
        if step.do == "create":
            self._number += 1
            step = replace(self._create, task=self._number)
        self._steps.append(step)

    def _task(self, data: st.DataObject) -> int:
        """One of the tasks that the tour is about."""
        return data.draw(st.sampled_from(sorted({step.task for step in self._station.lead})))

    def _thing(self, do: str, how: str, data: st.DataObject) -> bool:
        """Do it. Returns whether to look."""
        if do in ("create", "call", "other", "stop-listening", "disconnect"):
            self._apart(do, how, data)
        elif do in ("read", "wait", "listen", "answer", "cancel"):
            where = data.draw(WHERE) if do in ("read", "answer", "cancel") else MAIN
            how = how or "paced"
            self._add(Step(do, self._task(data), how, where))
        else:
            self._odd(do, how or data.draw(METHOD), data)
        # An update or a cancellation leaves open what its task shows next, until that is seen; and
        # of several that were refused none can be blamed.
        if do == "answer":
            return True
        if do != "cancel" and _may_change((do, how)):
            return data.draw(_SELDOM) > 1
        return do != "read" and data.draw(_SELDOM) == 0

    def _apart(self, do: str, how: str, data: st.DataObject) -> None:
        """What is not about one of the tasks."""
        if do == "create":
            if self._number < MOST_TASKS:
                self._add(self._create)
        elif do == "call":
            step = undeclared_call(self._tools, self._create.tool, data.draw(CALLS))
            if step is not None:
                self._add(step)
        elif do == "disconnect":
            self._add(Step(do, where=data.draw(st.sampled_from((MAIN, OTHER)))))
        elif how == "removed":
            self._add(Step(do, self._task(data), how))
        elif do == "other" and not how:
            self._add(other_request(self._tools, data.draw(OTHER_REQUESTS)))
        else:
            self._add(Step(do, how=how))

    def _odd(self, do: str, how: str, data: st.DataObject) -> None:
        """What is wrong in one thing."""
        task = self._task(data)
        value: Any = None
        if do == "odd-id":
            value = {"change": "an odd id", "id": data.draw(ODD_IDS)}
            do, task = "unknown", 0
        elif do == "unknown":
            value = {"change": data.draw(UNKNOWN)}
        elif do == "mislabelled":
            value = {"change": data.draw(LABELS)}
        elif do == "foreign":
            caller = data.draw(CALLERS)
            value = {"change": caller, "caller": caller}
        elif do == "broken":
            self._add(broken_step(self._tools, how, task, data.draw(MEMBERS), data.draw(PLACE)))
            return
        where = ALOOF if do in ("undeclared", "legacy") else MAIN
        self._add(Step(do, task, how, where, value=value))


def uses(tools: Toolbox, station: Station) -> Sequence[ToolUse]:
    """The tools whose tasks come to a station; each kind counts alike."""
    kinds = {
        "asking": tools.asking,
        "several": tools.several,
        "slow": tools.slow,
        "quick": tools.quick,
        "telling": tools.telling or tools.quick,
        "short": tools.short,
    }
    chosen = [kinds[name] for name in station.tools if kinds[name]]
    most = max(map(len, chosen), default=0)
    return [kind[place % len(kind)] for kind in chosen for place in range(most)]


def stations(tools: Toolbox) -> Iterable[Station]:
    """The stations that tasks of these tools come to."""
    return [station for station in STATIONS if uses(tools, station)]
