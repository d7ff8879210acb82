"""Runs of some rules only: sequences are searched as in a whole run, unless it is to be quick."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.checking import check_target
from conformance.run import selected_rules
from fixtures.serve import Settings, running
from tests.at_work import extent, two_callers
from tests.commands import command

NOBODY = "http://127.0.0.1:9/mcp"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked_for(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> bool:
    """Whether a command asks for a search."""
    asked: list[bool] = []

    def check(*_: object, sequences: bool, **__: object) -> None:
        asked.append(sequences)
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.checking.check_target", check)
    command("run", NOBODY, *arguments)
    return asked[0]


def test_what_is_skipped_does_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked_for(monkeypatch, "--skip", "polling.shape")
    assert asked_for(monkeypatch, "--skip", "polling.shape", "--for", "10s")


def test_a_run_of_few_rules_searches_where_it_is_said_how_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not asked_for(monkeypatch, "--only", "input.ack-empty")
    assert asked_for(monkeypatch, "--only", "input.ack-empty", "--for", "10s")


def test_how_long_to_search_may_stand_in_the_profile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "conformance.toml").write_text('for = "10s"\nonly = ["input.ack-empty"]\n')
    assert asked_for(monkeypatch)


def test_sequences_are_searched_for_the_rules_that_were_chosen(tmp_path: Path) -> None:
    rules = selected_rules(["cancellation.ack-empty"])
    with two_callers(effort="quick", seed=5) as target, extent("quick", plans=2, seconds=30.0):
        searched = check_target(target, folder=tmp_path / "1", rules=rules, sequences=True)
        narrow = check_target(target, folder=tmp_path / "2", rules=rules)
    assert searched.results.run.sequences > 0
    assert narrow.results.run.sequences == 0


def test_rules_that_no_sequence_can_break_are_not_searched_for(folder: Path) -> None:
    with running(Settings(work_seconds=0.3)) as url:
        finished = command("run", url, "--only", "security.unguessable-ids", "--for", "5s")
    assert "no sequence can break any of these rules" in finished.errors
    results = json.loads((folder / "reports" / "results.json").read_text())
    assert results["run"]["sequences"] == 0
