"""Scenarios that must run alone, and the restart of a server that is one of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from conformance.drive.driver import Driver
from conformance.drive.running import Running
from conformance.drive.scenario import Scenario
from conformance.drive.surroundings import Surroundings
from conformance.judge.verdict import Judgement, Verdict
from conformance.run import circumstances_of, drive
from conformance.target.target import Target
from conformance.wire.history import History, read
from fixtures.serve import Settings, running
from tests.driving import driven, judged
from tests.restartable import restartable


async def discover_twice(driver: Driver) -> None:
    await driver.discover()
    await anyio.sleep(0)
    await driver.discover()


def driven_scenarios(
    url: str, folder: Path, scenarios: Sequence[Scenario], *, others: bool = False
) -> History:
    target = Target(url=url)
    with Running(
        scenarios,
        target=target,
        surroundings=Surroundings(),
        circumstances=circumstances_of(target, ""),
        folder=folder,
        seconds=30,
        others=others,
    ) as run:
        assert [run.result(scenario.name) for scenario in scenarios] == [""] * len(scenarios)
    return read([folder])


def assert_ran_last(history: History, name: str) -> None:
    begun = min(e.started for e in history if e.scenario == name)
    ended = max(e.ended for e in history if e.scenario != name)
    assert ended <= begun


def test_what_must_run_alone_runs_last(tmp_path: Path) -> None:
    scenarios = [
        Scenario("test.alone", discover_twice, ("test",), alone=True),
        Scenario("test.one", discover_twice, ("test",)),
        Scenario("test.other", discover_twice, ("test",)),
    ]
    with running(Settings()) as url:
        history = driven_scenarios(url, tmp_path, scenarios)
    assert len(history) == 6
    assert_ran_last(history, "test.alone")


@pytest.mark.parametrize(
    ("others", "alone", "known"),
    [(False, False, True), (True, False, False), (False, True, False)],
    ids=["all-are-here", "others-elsewhere", "one-comes-after"],
)
def test_a_long_scenario_knows_when_the_rest_has_ended(
    tmp_path: Path, others: bool, alone: bool, known: bool
) -> None:
    ended: list[str] = []
    seen: list[tuple[bool, list[str]]] = []

    async def short(driver: Driver) -> None:
        await discover_twice(driver)
        ended.append(driver.scenario)

    async def long(driver: Driver) -> None:
        with anyio.move_on_after(30):
            while len(ended) < 2 or (known and driver.session.rest_ended is None):
                await anyio.sleep(0.01)
        seen.append((driver.session.rest_ended is not None, sorted(ended)))

    scenarios = [
        Scenario("test.long", long, ("test",), long=True),
        Scenario("test.one", short, ("test",)),
        Scenario("test.other", short, ("test",)),
        *([Scenario("test.last", discover_twice, ("test",), alone=True)] if alone else []),
    ]
    with running(Settings()) as url:
        driven_scenarios(url, tmp_path, scenarios, others=others)
    assert seen == [(known, ["test.one", "test.other"])]


def test_it_runs_last_also_with_several_workers(tmp_path: Path) -> None:
    with restartable(Settings()) as (url, command):
        target = Target(url=url, restart_command=command)
        drive(target, tmp_path, workers=2, topics=frozenset({"endurance", "removed"}))
    history = read([tmp_path])
    assert "removed" in {exchange.scenario.partition(".")[0] for exchange in history}
    assert_ran_last(history, "endurance.restart")


def restart_verdict(judgement: Judgement) -> Verdict:
    return next(v for v in judgement.verdicts if v.rule.id == "endurance.restart")


def test_tasks_of_the_reference_server_outlive_a_restart() -> None:
    with restartable(Settings()) as (url, command):
        history = driven(Target(url=url, restart_command=command), topics=["endurance"])
    assert restart_verdict(judged(history)).verdict == "pass"


def test_a_restart_command_that_fails_is_told() -> None:
    command = f'"{sys.executable}" -c "import sys; sys.exit(3)"'
    with running(Settings()) as url:
        history = driven(Target(url=url, restart_command=command), topics=["endurance"])
    verdict = restart_verdict(judged(history))
    assert verdict.verdict == "not-exercised"
    assert verdict.reason == "the restart command ended with status 3"


def test_a_restart_command_that_does_not_come_back_is_stopped() -> None:
    command = f'"{sys.executable}" -c "import time; time.sleep(600)"'
    with running(Settings()) as url:
        target = Target(url=url, restart_command=command, max_wait=1.0)
        history = driven(target, topics=["endurance"])
    verdict = restart_verdict(judged(history))
    assert verdict.verdict == "not-exercised"
    assert "did not end within" in verdict.reason
