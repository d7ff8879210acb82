"""Kept histories judged again: the same verdicts, several runs, another revision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.checking import judge_again
from conformance.cli import main
from conformance.errors import UsageError
from conformance.judge.observation import broken, holds
from conformance.judge.rule import Rule
from conformance.judge.verdict import judge
from conformance.report.results import Results, RunFacts, build, json_text
from conformance.report.together import together
from conformance.specification.revisions import REVISIONS, Successor
from conformance.wire.exchange import Exchange
from conformance.wire.history import Circumstances, HistoryWriter
from tests.builders import URL, creation, history, reading
from tests.report_samples import REVISION, discovery, rule

LATER = "2026-07-28T12:00:01.000Z"


def session(*, good: bool = True) -> list[Exchange]:
    """A task from its handle to its end; where not ``good``, its end is called a handle."""
    members = {"lastUpdatedAt": LATER} if good else {"lastUpdatedAt": LATER, "resultType": "task"}
    return [
        discovery(),
        creation("task-0123456789abcdef"),
        reading("task-0123456789abcdef", "completed", members=members),
    ]


def kept(
    folder: Path, exchanges: Iterable[Exchange], *, scenario: str = "polling", **given: object
) -> Path:
    """A folder with the history of one scenario."""
    circumstances = Circumstances(url=URL, **given)  # type: ignore[arg-type]
    writer = HistoryWriter(folder / f"{scenario}.jsonl", circumstances)
    for exchange in exchanges:
        writer.append(replace(exchange, scenario=scenario))
    writer.close()
    return folder


def violated(results: Results) -> list[str]:
    return [rule.id for rule in results.rules if rule.violated]


def test_the_same_history_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = kept(tmp_path / "run", session(good=False), started="2026-11-30T10:00:00Z", seed=7)
    first, second = (json_text(judge_again([folder]).results) for _ in range(2))
    assert first == second


def test_what_the_circumstances_know_is_told(tmp_path: Path) -> None:
    folder = kept(
        tmp_path,
        session(),
        started="2026-11-30T10:00:00Z",
        seed=7,
        effort="quick",
        explore="all",
        hypothesis="6.99",
        named={"export": ["slow"], "list": []},
    )
    run = judge_again([folder]).results.run
    assert (run.started, run.seed, run.effort) == ("2026-11-30T10:00:00Z", 7, "quick")
    assert run.hypothesis == "6.99"
    assert run.options == {"explore": "all", "tool": ["slow:export", "list"]}


def test_a_run_that_was_cut_short_stays_inconclusive(tmp_path: Path) -> None:
    folder = kept(tmp_path, session())
    assert judge_again([folder]).results.verdict == "conformant"
    kept(folder, [], scenario="discovery", cut_short="the time of the run was used up")
    results = judge_again([folder]).results
    assert results.verdict == "inconclusive"
    assert results.run.cut_short == "the time of the run was used up"


# ---- several runs --------------------------------------------------------------------------


def test_two_runs_are_judged_one_by_one(tmp_path: Path) -> None:
    """Both made the same id: judged as one history they would accuse an innocent server."""
    one = kept(tmp_path / "one", session(), started="2026-11-30T10:00:00Z")
    other = kept(tmp_path / "other", session(), started="2026-11-30T11:00:00Z")
    results = judge_again([one, other]).results
    assert violated(results) == []
    assert results.verdict == "conformant"
    assert (results.run.requests, results.run.tasks) == (6, 2)
    assert results.run.options["runs"] == 2
    shape = results.rule("creation.shape")
    assert shape is not None
    assert shape.observations == 2


def test_the_worst_of_several_runs_is_told_with_where_it_was(tmp_path: Path) -> None:
    one = kept(tmp_path / "one", session(), started="2026-11-30T10:00:00Z")
    other = kept(tmp_path / "other", session(good=False), started="2026-11-30T11:00:00Z")
    results = judge_again([one, other]).results
    assert results.verdict == "non-conformant"
    found = results.rule("polling.result-type")
    assert found is not None
    assert found.verdict == "fail"
    assert found.reason.endswith("(in 1 of 2 runs)")
    assert found.evidence[-1].history == "other/polling.jsonl"
    assert "polling.result-type" in [cause.rule for cause in results.causes]
    assert json_text(results) == json_text(judge_again([one, other]).results)


def test_runs_of_several_revisions_need_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REVISIONS, "draft", replace(REVISION, name="draft", catalogue="draft/1"))
    one = kept(tmp_path / "one", session(), started="2026-11-30T10:00:00Z")
    other = kept(tmp_path / "other", session(), spec="draft")
    with pytest.raises(UsageError, match="pass --spec"):
        judge_again([one, other])
    assert judge_again([one, other], spec="draft").results.spec == "draft"


def results_of(*rules: Rule) -> Results:
    found = history(discovery())
    judgement = judge({each.id: each for each in rules}, found)
    return build(judgement, found, surroundings=None, run=RunFacts(), revision=REVISION)


def test_a_rule_that_one_run_blocked_and_another_saw_is_not_blocked() -> None:
    seen = discovery()
    blocked = results_of(
        rule("creation.durable", broken(seen, "no")),
        rule("creation.unique-ids", after=("creation.durable",)),
        rule("creation.shape", after=("creation.durable",)),
    )
    open_ = results_of(
        rule("creation.durable", holds(seen)),
        rule("creation.unique-ids", holds(seen), after=("creation.durable",)),
        rule("creation.shape", after=("creation.durable",)),
    )
    results = together([open_, blocked])
    assert [r.verdict for r in results.rules] == ["fail", "pass", "not-exercised"]
    assert [(c.rule, c.also) for c in results.causes] == [("creation.durable", ("creation.shape",))]
    assert results.summary["must"]["fail"] == 1
    assert together([open_]) is open_


# ---- another revision ----------------------------------------------------------------------


def test_another_revision_is_judged_by_what_both_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = replace(
        REVISION,
        name="next",
        catalogue="next/1",
        protocol_version="2027-01-01",
        follows=REVISION.name,
        turned={"polling.result-type": Successor("polling.result-type", "it is the other way")},
        changed={},
        abolished=frozenset(),
    )
    monkeypatch.setitem(REVISIONS, "next", later)
    folder = kept(tmp_path, session(good=False))
    now, then = judge_again([folder]).results, judge_again([folder], spec="next").results
    assert (then.spec, then.catalogue) == ("next", "next/1")
    assert "polling.result-type" in violated(now)
    # What asks for the same is as it was; of what turned round the history says nothing.
    assert violated(then) == [rule for rule in violated(now) if rule != "polling.result-type"]
    turned = then.rule("polling.result-type")
    assert turned is not None
    assert (turned.verdict, turned.reason) == (
        "not-exercised",
        "nothing was sent under next, and it changed in next: it is the other way",
    )


def test_an_unknown_revision_is_a_wrong_command_line(tmp_path: Path) -> None:
    folder = kept(tmp_path / "run", session())
    with pytest.raises(UsageError, match="unknown revision '2024'"):
        judge_again([folder], spec="2024")


# ---- the command ---------------------------------------------------------------------------


@pytest.mark.parametrize(("good", "status"), [(True, 0), (False, 1)])
def test_the_command(
    good: bool, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = kept(tmp_path / "run", session(good=good))
    monkeypatch.chdir(tmp_path)
    command = ["judge", str(folder), "--junit", "junit.xml", "--sarif", "s.sarif"]
    assert CliRunner().invoke(main, command).exit_code == status
    assert Path("reports/results.json").exists()
    assert f'file="{folder.as_posix()}"' in Path("junit.xml").read_text()
    assert (folder.as_posix() in Path("s.sarif").read_text()) is not good


def test_the_command_on_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("hello\n")
    ran = CliRunner().invoke(main, ["judge", str(tmp_path)])
    assert ran.exit_code == 2
    assert "is not a history" in ran.output


def test_the_files_of_several_runs_are_named_from_the_folder_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = kept(tmp_path / "a" / "one", session())
    kept(tmp_path / "a" / "other", session(), started="later")
    monkeypatch.chdir(tmp_path)
    command = ["judge", str(one), "a/other", "--junit", "junit.xml"]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert 'file="a"' in Path("junit.xml").read_text()
