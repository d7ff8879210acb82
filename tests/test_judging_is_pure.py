"""Judging is a function of the history: the same exchanges give the same bytes, in whatever order
their files are named, and however often they are judged."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.histories import lengthened, task_ids
from conformance.checking import judge_again
from conformance.drive.scenario import all_scenarios
from conformance.judge.rule import catalogue
from conformance.judge.verdict import judge
from conformance.report.results import Results, json_text
from conformance.run import drive
from conformance.target.target import target_of
from conformance.wire.history import read
from fixtures.serve import Settings, running

# One that breaks a rule, so that evidence is told too.
_FAULT = "cancel-result-type-cancelled"
_TOPICS = frozenset({"cancellation", "polling", "removed"})


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("history")
    with running(Settings(fault=_FAULT)) as url:
        drive(target_of(url, effort="quick"), folder, workers=None, topics=_TOPICS)
    return sorted(folder.glob("*.jsonl"))


def rules_of(results: Results) -> str:
    return json.dumps(json.loads(json_text(results))["rules"])


def test_a_history_has_files_of_several_scenarios(histories: list[Path]) -> None:
    assert {path.stem for path in histories} > {"discovery"}
    assert len(histories) <= len(all_scenarios()) + 1


def test_the_same_history_twice_gives_the_same_bytes(histories: list[Path]) -> None:
    first, second = (rules_of(judge_again(histories).results) for _ in range(2))
    assert first == second
    assert '"fail"' in first


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_files_changes_nothing(histories: list[Path], seed: int) -> None:
    shuffled = random.Random(seed).sample(histories, len(histories))
    assert shuffled != histories
    assert rules_of(judge_again(shuffled).results) == rules_of(judge_again(histories).results)


def test_what_was_judged_before_changes_nothing(histories: list[Path]) -> None:
    """What is kept of an exchange, or of a schema, must not leak into the next judgement."""
    history = read(histories)
    first = judge(catalogue(), history)
    assert judge(catalogue(), history) == first
    other = lengthened(history, 2 * len(history))
    assert len(task_ids(other)) == 2 * len(task_ids(history))
    judge(catalogue(), other)
    again = judge(catalogue(), read(histories))
    assert [(v.rule.id, v.verdict, v.reason) for v in again.verdicts] == [
        (v.rule.id, v.verdict, v.reason) for v in first.verdicts
    ]


def test_a_lengthened_history_tells_the_same(histories: list[Path]) -> None:
    """The copies that the benchmarks judge are as good as the run they were made from."""
    history = read(histories)
    longer = lengthened(history, 3 * len(history))
    assert len(longer) == 3 * len(history)
    # Whether an acknowledgement was slow once or often depends on the moment.
    rules = {name: rule for name, rule in catalogue().items() if name != "cancellation.prompt"}
    broken = [v.rule.id for v in judge(rules, history).verdicts if v.verdict == "fail"]
    assert [v.rule.id for v in judge(rules, longer).verdicts if v.verdict == "fail"] == broken


def test_an_exchange_that_was_changed_is_read_anew(histories: list[Path]) -> None:
    exchange = next(e for e in read(histories) if e.method == "tasks/get")
    assert exchange.task_id is not None
    changed = replace(exchange, sent=replace(exchange.sent, body=b'{"method":"ping","id":1}'))
    assert (changed.method, changed.task_id) == ("ping", None)
