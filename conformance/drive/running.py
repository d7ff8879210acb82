"""Runs scenarios at the same time in one process, each with its own history file.

Waits overlap here; pytest-xdist only adds processes for volume. The event loop lives in a
thread of its own, so that pytest can report each scenario as it ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from conformance.drive.driver import OutOfTime, ServerGone, Session, single_errors
from conformance.drive.manners import manner_of
from conformance.drive.scenario import Scenario
from conformance.drive.surroundings import Surroundings
from conformance.target.target import Target
from conformance.wire.client import Limits, Wire
from conformance.wire.exchange import Exchange
from conformance.wire.history import Circumstances, HistoryWriter
from conformance.wire.secrets import Redactor

Result = TypeVar("Result")

# Each process draws its request ids from a range of its own.
REQUEST_IDS_PER_PROCESS = 1_000_000


def redactor_of(target: Target) -> Redactor:
    names = [name for name, _ in (*target.headers, *target.other_headers)]
    return Redactor(target.secrets, names)


def new_session(
    target: Target,
    surroundings: Surroundings,
    wire: Wire,
    *,
    seconds: float,
    process: int = 0,
    on_exchange: Callable[[Exchange], None] | None = None,
) -> Session:
    """A session that ends ``seconds`` from now. Call it in the event loop it is used in."""
    return Session(
        target=target,
        surroundings=surroundings,
        wire=wire,
        redactor=redactor_of(target),
        ends=time.monotonic() + seconds,
        first_request_id=1 + process * REQUEST_IDS_PER_PROCESS,
        on_exchange=on_exchange,
    )


def new_wire(target: Target) -> Wire:
    return Wire(
        limits=Limits(seconds=max(target.max_wait, 5.0)), trust_environment=not target.loopback
    )


def in_event_loop(work: Callable[..., Awaitable[Result]], *arguments: Any) -> Result:
    """Run the work in an event loop of its own. Raises ``KeyboardInterrupt`` on Ctrl-C."""
    try:
        return anyio.run(work, *arguments)
    except asyncio.CancelledError:
        # What anyio makes of Ctrl-C on Python 3.10.
        raise KeyboardInterrupt from None


class Running(AbstractContextManager["Running"]):
    """Scenarios at work in the background. ``result`` waits for one of them.

    Leaving the context stops what still runs; its history so far is complete. ``others`` says
    that further scenarios are driven elsewhere.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        *,
        target: Target,
        surroundings: Surroundings,
        circumstances: Circumstances,
        folder: Path,
        seconds: float,
        process: int = 0,
        others: bool = False,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._scenarios = scenarios
        self._target = target
        self._surroundings = surroundings
        self._circumstances = circumstances
        self._folder = folder
        self._seconds = seconds
        self._process = process
        self._at_work = {s.name for s in scenarios if not s.long}
        self._all_known = not others and not any(s.alone for s in scenarios)
        self._on_exchange = on_exchange
        self._results: dict[str, Future[str]] = {s.name: Future() for s in scenarios}
        self._portal_manager: AbstractContextManager[BlockingPortal] | None = None
        self._all: Future[None] | None = None

    def __enter__(self) -> Running:
        self._portal_manager = start_blocking_portal()
        portal = self._portal_manager.__enter__()
        self._all = portal.start_task_soon(self._drive_all)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._all is not None:
            self._all.cancel()
        if self._portal_manager is not None:
            self._portal_manager.__exit__(kind, error, trace)

    def result(self, name: str) -> str:
        """Wait until a scenario has ended. Returns why it ended early, or an empty text.
        Raises what the scenario raised, which is a bug of ours."""
        return self._results[name].result()

    async def _drive_all(self) -> None:
        try:
            async with new_wire(self._target) as wire:
                session = new_session(
                    self._target,
                    self._surroundings,
                    wire,
                    seconds=self._seconds,
                    process=self._process,
                    on_exchange=self._on_exchange,
                )
                async with anyio.create_task_group() as beating:
                    beating.start_soon(session.pulse.beat)
                    async with anyio.create_task_group() as group:
                        for scenario in sorted(self._scenarios, key=lambda each: not each.long):
                            if not scenario.alone:
                                group.start_soon(self._drive_one, session, scenario)
                    for scenario in self._scenarios:
                        if scenario.alone:
                            await self._drive_one(session, scenario)
                    beating.cancel_scope.cancel()
        finally:
            for future in self._results.values():
                if not future.done():
                    future.set_result("the run was stopped")

    async def _drive_one(self, session: Session, scenario: Scenario) -> None:
        ended = self._results[scenario.name]
        try:
            reason = await drive_one(session, scenario, self._folder, self._circumstances)
        except Exception as error:
            ended.set_exception(error)
        else:
            ended.set_result(reason)
        self._at_work.discard(scenario.name)
        if not self._at_work and session.rest_ended is None and self._all_known:
            session.rest_ended = time.monotonic()


async def drive_one(
    session: Session, scenario: Scenario, folder: Path, circumstances: Circumstances
) -> str:
    """Drive one scenario. Returns why it ended early, or an empty text."""
    writer = HistoryWriter(folder / f"{scenario.name}.jsonl", circumstances)
    driver = manner_of(session.target.spec).driver_class(session, scenario.name, writer)
    reason = ""
    try:
        with anyio.move_on_after(max(session.remaining(), 0)) as scope:
            await scenario.drive(driver)
        if scope.cancelled_caught:
            reason = "the time of the run was used up"
    except ServerGone as error:
        reason = str(error)
    except OutOfTime:
        reason = "the time of the run was used up"
    except Exception as error:
        raised = single_errors(error)
        if not all(isinstance(leaf, ServerGone | OutOfTime) for leaf in raised):
            raise
        gone = next((str(leaf) for leaf in raised if isinstance(leaf, ServerGone)), "")
        reason = gone or "the time of the run was used up"
    finally:
        await driver.tidy_up()
        writer.close()
    return reason
