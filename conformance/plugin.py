"""pytest as the engine: scenarios are items when driving, rules when judging.

The command line loads this by name (``-p conformance.plugin``) with everybody else's
plugins left out. Each of the two phases is a pytest run of its own:

* ``drive``: an item a scenario. In one process all scenarios run at the same time, and the
  items report them as they end; with xdist each worker takes a share of them.
* ``judge``: an item a rule, named by its id; the histories are read, nothing is sent.

What is to be done is handed over in a ``Plan``: in this process by ``use``, to the workers
of xdist as plain data.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conformance.drive.running import Running
from conformance.drive.scenario import Scenario, all_scenarios, chosen
from conformance.drive.surroundings import Surroundings, surroundings_from_json
from conformance.judge.verdict import PASS, WARN
from conformance.report.again import HISTORY, again
from conformance.report.results import Results, RuleResult
from conformance.report.story import told
from conformance.report.visible import visible
from conformance.target.target import NamedTool, Target
from conformance.wire.exchange import Exchange
from conformance.wire.history import Circumstances


@dataclass(frozen=True)
class DrivePlan:
    """What to drive: plain data, but for ``on_exchange`` which stays in its process.

    ``alone`` narrows it to the scenarios that must run alone (True) or to the others (False).
    """

    target: Target
    surroundings: Surroundings
    circumstances: Circumstances
    folder: Path
    seconds: float
    topics: frozenset[str] | None = None
    on_exchange: Callable[[Exchange], None] | None = field(default=None, compare=False)
    alone: bool | None = None

    @property
    def scenarios(self) -> list[Scenario]:
        """The scenarios that are to run, by name."""
        found = chosen(
            all_scenarios(self.target.spec), effort=self.target.effort, topics=self.topics
        )
        return [s for s in found if self.alone is None or s.alone == self.alone]


@dataclass(frozen=True)
class JudgePlan:
    """What to log: results, made from a history before the items run, and its folder."""

    results: Results
    history: Path = HISTORY


Plan = DrivePlan | JudgePlan
_plan: Plan | None = None


def use(plan: Plan | None) -> None:
    """Set the plan of the next pytest run in this process."""
    global _plan
    _plan = plan


_watcher: object | None = None


def watch(watcher: object | None) -> None:
    """Register an object with pytest hooks in the next pytest run of this process."""
    global _watcher
    _watcher = watcher


# ---- collection ----------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> bool | None:
    """The items come from the plan, not from files. The controller of xdist has none."""
    config = session.config
    if config.pluginmanager.hasplugin("dsession"):
        return None
    plan = _plan_of(config)
    if plan is None:
        return None
    if isinstance(plan, DrivePlan):
        process, processes = _process_of(config)
        scenarios = plan.scenarios
        shares = [scenarios[share::processes] for share in range(processes)]
        items: list[pytest.Item] = [
            ScenarioItem.make(session, scenario, share)
            for share, scenarios in enumerate(shares)
            for scenario in scenarios
        ]
        config.stash[_DRIVING] = _Driving(plan, shares, process)
    else:
        items = [RuleItem.make(session, rule, plan) for rule in plan.results.rules]
    session.items = items
    session.testscollected = len(items)
    config.hook.pytest_collection_modifyitems(session=session, config=config, items=items)
    config.hook.pytest_collection_finish(session=session)
    return True


def _plan_of(config: pytest.Config) -> Plan | None:
    handed_over = getattr(config, "workerinput", {}).get("conformance_plan")
    return plan_from_json(handed_over) if handed_over else _plan


def _process_of(config: pytest.Config) -> tuple[int, int]:
    """The number of this process, and of how many: one of one without xdist."""
    workerinput = getattr(config, "workerinput", None)
    if workerinput is None:
        return 0, 1
    return int(str(workerinput["workerid"]).removeprefix("gw")), int(workerinput["workercount"])


# ---- driving -------------------------------------------------------------------------------


class _Driving:
    """The scenarios of this process, a share at a time, each started with its first item.

    Which worker of xdist gets which share is xdist's to decide.
    """

    def __init__(self, plan: DrivePlan, shares: list[list[Scenario]], process: int) -> None:
        self._plan = plan
        self._shares = shares
        self._process = process
        self._started: dict[int, Running] = {}

    def result(self, share: int, name: str) -> str:
        if share not in self._started:
            plan = self._plan
            running = self._started[share] = Running(
                self._shares[share],
                target=plan.target,
                surroundings=plan.surroundings,
                circumstances=plan.circumstances,
                folder=plan.folder,
                seconds=plan.seconds,
                process=1 + self._process * len(self._shares) + share,
                others=len(self._shares) > 1,
                on_exchange=plan.on_exchange,
            )
            running.__enter__()
        return self._started[share].result(name)

    def stop(self) -> None:
        for running in self._started.values():
            running.__exit__(None, None, None)
        self._started.clear()


_DRIVING = pytest.StashKey[_Driving]()


class ScenarioItem(pytest.Item):
    """A scenario. It passes when it ran; it says nothing about the server."""

    scenario_name: str
    share: int

    @classmethod
    def make(cls, session: pytest.Session, scenario: Scenario, share: int) -> ScenarioItem:
        # xdist's loadgroup keeps together what has the same text behind the @.
        item: ScenarioItem = cls.from_parent(session, name=f"{scenario.name}@share-{share}")
        item.scenario_name = scenario.name
        item.share = share
        return item

    def runtest(self) -> None:
        reason = self.config.stash[_DRIVING].result(self.share, self.scenario_name)
        if reason:
            pytest.skip(reason)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.scenario_name


def pytest_sessionfinish(session: pytest.Session) -> None:
    driving = session.config.stash.get(_DRIVING, None)
    if driving is not None:
        driving.stop()


# ---- judging -------------------------------------------------------------------------------


class Violation(Exception):
    """A rule is violated; the text is the reason."""


class RuleItem(pytest.Item):
    """A rule. It passes or fails, or is skipped with the reason it was not exercised.

    A warning, and a violation that the baseline names, is an expected failure.
    """

    result: RuleResult
    again: str

    @classmethod
    def make(cls, session: pytest.Session, result: RuleResult, plan: JudgePlan) -> RuleItem:
        item: RuleItem = cls.from_parent(session, name=result.id)
        item.result = result
        item.again = again(result, plan.results, plan.history)
        return item

    def runtest(self) -> None:
        result = self.result
        self.add_report_section(
            "call", "evidence", visible("\n".join(told(result, self.again)), keep="\n")
        )
        if result.violated and result.expected:
            pytest.xfail(visible(f"known: {result.expectation or result.reason}"))
        if result.verdict == WARN:
            pytest.xfail(visible(f"warning ({result.level}): {result.reason}"))
        if result.violated:
            raise Violation(visible(result.reason))
        if result.verdict != PASS:
            pytest.skip(visible(f"{result.verdict.replace('-', ' ')}: {result.reason}"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        if isinstance(excinfo.value, Violation):
            return f"{self.result.id} ({self.result.level}): {excinfo.value}"
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.result.id


# ---- handing over to workers ---------------------------------------------------------------


class Workers:
    """Registered only where xdist is: gives each worker the plan."""

    @pytest.hookimpl
    def pytest_configure_node(self, node: Any) -> None:
        if isinstance(_plan, DrivePlan):
            node.workerinput["conformance_plan"] = plan_to_json(_plan)


def pytest_configure(config: pytest.Config) -> None:
    if _watcher is not None:
        config.pluginmanager.register(_watcher, "conformance-watcher")
    if config.pluginmanager.hasplugin("xdist.plugin"):
        config.pluginmanager.register(Workers(), "conformance-workers")


def plan_to_json(plan: DrivePlan) -> str:
    """The plan as text. It holds the callers' headers: it goes to our own workers only."""
    return json.dumps(
        {
            "target": asdict(plan.target),
            "surroundings": plan.surroundings.to_json(),
            "circumstances": asdict(plan.circumstances),
            "folder": str(plan.folder),
            "seconds": plan.seconds,
            "topics": sorted(plan.topics) if plan.topics is not None else None,
            "alone": plan.alone,
        }
    )


def plan_from_json(text: str) -> DrivePlan:
    record = json.loads(text)
    target = record["target"]
    for name in ("headers", "other_headers"):
        target[name] = tuple((str(k), str(v)) for k, v in target[name])
    target["replicas"] = tuple(target["replicas"])
    target["tools"] = tuple(NamedTool(**tool) for tool in target["tools"])
    circumstances = record["circumstances"]
    for name in ("callers", "permitted", "forbidden"):
        circumstances[name] = tuple(circumstances[name])
    return DrivePlan(
        target=Target(**target),
        surroundings=surroundings_from_json(record["surroundings"]),
        circumstances=Circumstances(**circumstances),
        folder=Path(record["folder"]),
        seconds=record["seconds"],
        topics=frozenset(record["topics"]) if record["topics"] is not None else None,
        alone=record["alone"],
    )
