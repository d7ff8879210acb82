"""``upgrade``: what a server would have to change, and the pages that tell it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.judge.rule import catalogue
from conformance.judge.upgrade import (
    CHANGE,
    FREE,
    GO,
    NEW,
    NOT_OFFERED,
    RIGHT,
    UNSEEN,
    Upgrade,
    upgrade,
)
from conformance.judge.verdict import Judgement, Verdict
from conformance.report.upgrade import Told, html, json_text, markdown, text
from fixtures.serve import Settings, running
from tests import subjects

OLDER, NEWER = "2025-11-25", "2026-07-28"


def judgement(spec: str, verdicts: Mapping[str, str], otherwise: str = "pass") -> Judgement:
    found = [
        Verdict(rule, verdicts.get(rule.id, otherwise), f"what was seen of {rule.id}")
        for rule in catalogue(spec).values()
    ]
    return Judgement(tuple(found), ())


def kinds(told: Upgrade) -> dict[str, str]:
    return {step.rule.id: step.kind for step in told.steps}


# ---- what becomes of each rule ---------------------------------------------------------------


def test_a_server_of_the_older_revision_alone() -> None:
    verdicts = {
        "polling.unknown-id": "fail",
        "polling.same-task": "not-exercised",
        "listing.shape": "not-applicable",
        "listing.complete": "not-applicable",
    }
    told = upgrade({OLDER: judgement(OLDER, verdicts)}, OLDER, NEWER)
    kind = kinds(told)
    assert kind["polling.created-at-constant"] == RIGHT
    assert kind["polling.unknown-id"] == CHANGE  # it is wrong today
    assert kind["polling.same-task"] == UNSEEN
    assert kind["outcome.tool-error-completes"] == CHANGE  # turned round
    assert kind["creation.shape"] == CHANGE  # asked in another way
    assert kind["removed.tasks-list"] == NOT_OFFERED  # nothing to take away
    assert kind["creation.result-type"] == NEW
    assert kind["results.blocks"] == GO
    assert kind["creation.begins-working"] == FREE
    assert "listing.complete" not in kind  # it is not offered today either
    assert not told.ready
    assert told.promises == ()
    turned = next(s for s in told.steps if s.rule.id == "outcome.tool-error-completes")
    assert "completed now" in turned.words
    assert turned.asks == catalogue(OLDER)["outcome.tool-error-fails"].title


def test_what_is_wrong_today_is_told_beside_what_changes() -> None:
    verdicts = {"input.resumes": "fail", "outcome.tool-error-fails": "warn"}
    told = upgrade({OLDER: judgement(OLDER, verdicts)}, OLDER, NEWER)
    steps = {step.rule.id: step for step in told.steps}
    assert steps["input.resumes"].kind == CHANGE
    assert steps["input.resumes"].words.endswith("and today: what was seen of input.resumes")
    # Whoever completes such tasks today breaks the older rule, and keeps the newer one.
    assert steps["outcome.tool-error-completes"].kind == UNSEEN
    assert "may be right already" in steps["outcome.tool-error-completes"].words


def test_every_rule_of_the_newer_revision_is_told_once() -> None:
    told = upgrade({OLDER: judgement(OLDER, {})}, OLDER, NEWER)
    newer = [step.rule.id for step in told.steps if step.kind not in (GO, FREE)]
    assert sorted(newer) == sorted(catalogue(NEWER))


def test_what_a_server_of_both_does_there_counts() -> None:
    seen = {OLDER: judgement(OLDER, {}), NEWER: judgement(NEWER, {"polling.shape": "fail"})}
    told = upgrade(seen, OLDER, NEWER)
    assert [step.rule.id for step in told.of(CHANGE)] == ["polling.shape"]
    assert told.of(GO) == told.of(NEW) == ()
    assert {promise.kept for promise in told.promises} == {"yes"}


@pytest.mark.parametrize(("verdict", "kept"), [("fail", "no"), ("not-exercised", UNSEEN)])
def test_a_promise_that_is_broken_or_was_not_seen(verdict: str, kept: str) -> None:
    newer = judgement(NEWER, {"negotiation.not-in-older-protocol": verdict})
    told = upgrade({OLDER: judgement(OLDER, {}), NEWER: newer}, OLDER, NEWER)
    assert told.promises[0].kept == kept
    assert told.ready is (kept == UNSEEN)


def test_the_draft_asks_for_nothing_new_yet() -> None:
    told = upgrade({NEWER: judgement(NEWER, {})}, NEWER, "draft")
    assert told.ready
    assert len(told.of(RIGHT)) == len(catalogue("draft"))


def test_a_server_that_only_says_it_speaks_the_newer_one() -> None:
    verdicts = {
        "creation.shape": "fail",
        "polling.shape": "not-exercised",
        "polling.result-type": "not-exercised",
        "polling.same-task": "not-exercised",
    }
    told = upgrade({NEWER: judgement(NEWER, verdicts)}, OLDER, NEWER)
    kind = kinds(told)
    assert kind["creation.shape"] == CHANGE
    assert kind["polling.shape"] == CHANGE
    assert kind["polling.result-type"] == NEW
    assert kind["polling.same-task"] == UNSEEN
    assert kind["polling.unknown-id"] == RIGHT
    page = Told(told, "server", "http://127.0.0.1:8000/mcp", "2026-11-29T12:00:00Z")
    assert "speaks 2026-07-28 by name, with the tasks of 2025-11-25" in text(page)


# ---- how it is told --------------------------------------------------------------------------


def told() -> Told:
    made = upgrade({OLDER: judgement(OLDER, {})}, OLDER, NEWER)
    return Told(made, "<b>odd</b> server", "http://127.0.0.1:8000/mcp", "2026-11-29T12:00:00Z")


def test_text_and_markdown_name_what_has_to_be_done() -> None:
    assert "must change (" in text(told())
    assert "outcome.tool-error-completes (must): a result with isError" in text(told())
    assert "tasks/result" in markdown(told())
    assert catalogue(NEWER)["creation.shape"].source in markdown(told())
    assert "<b>" not in markdown(told())


def test_json_names_every_rule() -> None:
    record = json.loads(json_text(told()))
    assert record["format"] == "mcp-tasks-conformance/upgrade/1"
    assert {rule["becomes"] for rule in record["rules"]} <= {CHANGE, FREE, GO, NEW, RIGHT, UNSEEN}
    assert len(record["rules"]) == len(told().upgrade.steps)
    assert record["ready"] is False


def test_the_page_escapes_what_the_server_says() -> None:
    page = html(told())
    assert "<b>odd</b>" not in page
    assert "&lt;b&gt;odd&lt;/b&gt; server" in page
    assert "<script" not in page


def test_the_page_has_no_empty_section() -> None:
    made = upgrade({NEWER: judgement(NEWER, {})}, NEWER, "draft")
    assert "Words of the protocol" not in html(Told(made, "it", "http://127.0.0.1:8000/mcp", ""))
    assert "Words of the protocol" in html(told())


# ---- the command, on real servers ------------------------------------------------------------


def run(url: str, folder: Path, *options: str) -> tuple[int, dict[str, object], str]:
    paths = ["--html", str(folder / "u.html"), "--json", str(folder / "u.json")]
    command = ["upgrade", url, "--effort", "quick", "--seed", "1", *paths, *options]
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    record = json.loads((folder / "u.json").read_text()) if (folder / "u.json").exists() else {}
    return done.exit_code, record, done.output


def test_a_server_of_both_is_ready(tmp_path: Path) -> None:
    with running(Settings(revision="both")) as url:
        status, record, output = run(url, tmp_path)
    assert record["spoken"] == [OLDER, NEWER], output
    promises = record["both"]
    assert isinstance(promises, list)
    assert [(p["kept"], p["reason"]) for p in promises if p["kept"] != "yes"] == []
    assert len(promises) == 8
    assert (status, record["ready"]) == (0, True), output
    assert (tmp_path / "u.html").read_text().startswith("<!doctype html>")


def test_a_server_of_the_older_revision_has_to_change(tmp_path: Path) -> None:
    with running(Settings(revision=OLDER)) as url:
        status, record, output = run(url, tmp_path)
    assert (status, record["spoken"]) == (1, [OLDER]), output
    becomes = {r["id"]: r["becomes"] for r in record["rules"]}  # type: ignore[attr-defined]
    assert becomes["outcome.tool-error-completes"] == CHANGE
    assert becomes["polling.unknown-id"] == RIGHT
    assert becomes["results.blocks"] == GO


def test_an_older_server_without_tasks_has_all_before_it(tmp_path: Path) -> None:
    with subjects.running("initialize_only") as url:
        status, record, output = run(url, tmp_path)
    assert (status, record["spoken"]) == (1, [OLDER]), output
    becomes = {r["id"]: r["becomes"] for r in record["rules"]}  # type: ignore[attr-defined]
    assert becomes["creation.result-type"] == NEW
    assert becomes["creation.shape"] in (UNSEEN, NOT_OFFERED)


def test_where_nobody_answers_it_ends_with_one_line(tmp_path: Path) -> None:
    status, _, output = run("http://127.0.0.1:9/mcp", tmp_path)
    assert status == 3
    last = output.splitlines()[-1]
    assert last.startswith("error: no answer from")
    assert last.count("no answer") == 1


def test_a_revision_that_it_speaks_already_is_no_upgrade(tmp_path: Path) -> None:
    with running(Settings()) as url:
        status, _, output = run(url, tmp_path, "--to", NEWER)
    assert status == 2
    assert "name another revision" in output


def test_it_takes_what_its_report_says_to_pass(tmp_path: Path) -> None:
    options = ("--replica", "http://127.0.0.1:9/mcp", "--restart-command", "true")
    status, _, output = run("http://127.0.0.1:9/mcp", tmp_path, *options)
    assert status == 2
    assert "was given already" in output


def test_what_was_told_before_does_not_stay(tmp_path: Path) -> None:
    (tmp_path / "u.html").write_text("earlier")
    status, record, _ = run("http://127.0.0.1:9/mcp", tmp_path)
    assert (status, record) == (3, {})
    assert not (tmp_path / "u.html").exists()
