"""Does a plan on the live server, on fresh tasks, and keeps every exchange of it.

At the end each task is looked at once more, so that what came of it is seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup

from conformance.drive.driver import Driver, OutOfTime, ServerGone, Session, single_errors
from conformance.drive.sequences.doing import do
from conformance.drive.sequences.followed import Followed, Stream
from conformance.drive.sequences.judging import violations
from conformance.drive.sequences.model import Model
from conformance.drive.sequences.steps import ELSEWHERE, FRESH, MAIN, OTHER, Plan, Step
from conformance.drive.surroundings import ToolUse
from conformance.judge.rule import Rule
from conformance.wire.client import FRESH as FRESH_CONNECTION
from conformance.wire.exchange import ORDINARY, Exchange
from conformance.wire.history import Circumstances, History

# The one rule that nothing but waiting shows broken: the judge cannot see it sooner.
NEEDS_PATIENCE = "input.resumes"
# Seconds that one request of a sequence may take.
_REQUEST_SECONDS = 10.0
_DISCONNECTING_SECONDS = 5


@dataclass(frozen=True)
class Performed:
    """What came of a plan. ``done`` are the steps up to where it ended; ``suspected`` the rules
    that the model saw broken. ``cut`` says that the time of the run, or the server, ended it."""

    plan: Plan
    done: Plan
    history: History
    suspected: tuple[str, ...] = ()
    cut: bool = False
    gone: bool = False


class _Memory:
    """Takes the exchanges of one sequence as a history file would."""

    def __init__(self, circumstances: Circumstances, heard: Callable[[Exchange], None]) -> None:
        self.circumstances = circumstances
        self.exchanges: list[Exchange] = []
        self._heard = heard

    def append(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        self._heard(exchange)


class Performance:
    """One sequence at work. What the kinds of steps do is in ``doing``; this is what they share.

    ``slot`` tells its connections from those of others at the same time. ``patience`` is how
    many seconds a task whose answers were acknowledged may go on waiting before the model
    suspects it; 0 means that it is not waited for. Where the model suspects that a rule
    is broken, it is judged by the ``rules``; it leaves alone those that are ``set_aside``.
    ``kept`` is told of each exchange.
    """

    def __init__(
        self,
        session: Session,
        circumstances: Circumstances,
        *,
        name: str,
        slot: str,
        patience: float,
        rules: Mapping[str, Rule],
        set_aside: Collection[str] = (),
        kept: Callable[[Exchange], None] = lambda exchange: None,
    ) -> None:
        self.model = Model(set_aside)
        self._set_aside = frozenset(set_aside)
        self.session = session
        self.tasks: dict[int, Followed] = {}
        self.streams: list[Stream] = []
        self.group: TaskGroup | None = None
        # Each step with the monotonic second in which it was begun.
        self.begun: list[tuple[float, Step]] = []
        self._kept = kept
        self._memory = _Memory(circumstances, self._heard)
        self.driver = Driver(session, name, self._memory)
        self._circumstances = circumstances
        self._slot = slot
        self._patience = patience
        self._rules = rules
        self._used: set[str] = set()

    def _heard(self, exchange: Exchange) -> None:
        self.model.observe(exchange)
        self._kept(exchange)

    @property
    def exchanges(self) -> list[Exchange]:
        return self._memory.exchanges

    # ---- the whole -----------------------------------------------------------------------

    async def perform(self, plan: Plan) -> Performed:
        """Do the steps one after another, until they are done or a rule is broken."""
        done: list[Step] = []
        cut = gone = False
        try:
            async with anyio.create_task_group() as group:
                self.group = group
                for step in plan:
                    done.append(step)
                    self.begun.append((time.monotonic(), step))
                    await do(self, step)
                    if NEEDS_PATIENCE in self.model.suspected:
                        break
                    if self.model.suspected and self._has_broken():
                        break
                await self._look_once_more()
                self.stop_listening()
        except Exception as error:
            kinds = {type(leaf) for leaf in single_errors(error)}
            if not kinds <= {ServerGone, OutOfTime}:
                raise
            cut, gone = True, ServerGone in kinds
        finally:
            self.group = None
            await self._leave()
        suspected = tuple(self.model.suspected)
        return Performed(plan, tuple(done), self._history(), suspected, cut, gone)

    def _history(self) -> History:
        return History(self.exchanges, self._circumstances)

    def _has_broken(self) -> bool:
        """Whether the judge sees a rule broken too, other than those that are set aside. What it
        does not see is left alone from now on, so that the sequence comes to its end."""
        if violations(self._rules, self._history()).keys() - self._set_aside:
            return True
        self.model.leave_alone()
        return False

    def stop_listening(self) -> None:
        for stream in self.streams:
            stream.enough.set()
        self.streams.clear()

    async def _look_once_more(self) -> None:
        """Read each task a last time; one that was answered is given time to move on."""
        for followed in self.tasks.values():
            await self.read(followed)
            if self._patience:
                seconds = self._patience + _REQUEST_SECONDS
                await self.until(followed, seconds, lambda task: not task.waits_in_vain)

    async def _leave(self) -> None:
        await self.driver.tidy_up()
        with anyio.move_on_after(_DISCONNECTING_SECONDS, shield=True):
            for name in self._used:
                await self.session.wire.disconnect(name)
        for followed in self.tasks.values():
            self.session.next_poll.pop(followed.task_id, None)
            self.session.intervals.pop(followed.task_id, None)

    # ---- what steps share ----------------------------------------------------------------

    def tool(self, name: str) -> ToolUse:
        known = (use for use in self.session.surroundings.tools if use.name == name)
        return next(known, ToolUse(name))

    def connection(self, place: str) -> str:
        """The name of a connection of this sequence alone."""
        if place == FRESH:
            return FRESH_CONNECTION
        name = f"sequence-{self._slot}-{place}"
        self._used.add(name)
        return name

    def travel(self, step: Step, place: str = "") -> dict[str, Any]:
        """How the request of a step travels, as options of ``Driver.send``."""
        options: dict[str, Any] = {"seconds": _REQUEST_SECONDS}
        if step.where == ELSEWHERE:
            options["replica"] = 1 % len(self.session.target.urls)
        options["connection"] = self.connection(
            place or (OTHER if step.where == ELSEWHERE else step.where)
        )
        return options

    async def read(self, followed: Followed, intent: str = ORDINARY, **options: Any) -> Exchange:
        """Read a task at its pace, and take in what is shown.

        Near the end of a short time nobody can say whether a task should still be there: it is
        read well before, or when its time is certainly over.
        """
        if followed.is_old(time.monotonic()):
            await self.outlive(followed)
        options.setdefault("connection", self.connection(MAIN))
        options.setdefault("seconds", _REQUEST_SECONDS)
        exchange = await self.driver.get(followed.task_id, intent, **options)
        followed.note(exchange)
        return exchange

    async def outlive(self, followed: Followed) -> None:
        """Wait until the time of a task is over, if it is short."""
        await self.driver.pause(max(followed.over_at - time.monotonic(), 0.0))

    def _is_lost(self, followed: Followed) -> bool:
        """Whether a task has waited in vain for longer than there is patience."""
        since = followed.in_vain_since
        if not self._patience or since is None or time.monotonic() < since + self._patience:
            return False
        self.model.suspect(NEEDS_PATIENCE)
        return True

    async def until(
        self, followed: Followed, seconds: float, enough: Callable[[Followed], bool]
    ) -> None:
        """Read a task at its pace until it is seen as wanted, or cannot be read."""
        ends = time.monotonic() + seconds
        while not enough(followed):
            exchange = await self.read(followed)
            lost = self._is_lost(followed) or self.model.suspected
            if exchange.task is None or time.monotonic() >= ends or lost:
                return
