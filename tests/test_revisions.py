"""Revisions side by side: what an entry says, what changes from one to the next."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.errors import UsageError
from conformance.judge.rule import MUST, SHOULD, catalogue
from conformance.judge.succession import CHANGED, TURNED, compare_revisions
from conformance.report.revisions import difference_json, difference_text
from conformance.run import selected_rules
from conformance.specification.revisions import (
    DEFAULT_REVISION,
    REVISIONS,
    Revision,
    Successor,
    revision_after,
    revision_named,
)

# ---- a revision that nobody wrote ------------------------------------------------------------

RULES = '''
"""Rules of a revision that nobody wrote."""

from conformance.judge.observation import holds
from conformance.judge.rule import MUST, SHOULD, adopt, rule
from conformance.judge.rules import polling


@rule("polling.unknown-id", SHOULD, "https://example.com/next#unknown")
def unknown_id(history):
    """An id that does not exist is answered in a new way."""
    return ()


@rule("polling.brand-new", MUST, "https://example.com/next#new")
def brand_new(history):
    """Every exchange is seen."""
    yield from map(holds, history)
'''


@pytest.fixture
def next_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Revision]:
    """One entry, and a package with its new rules: nothing else has to know of it."""
    package = tmp_path / "rules_of_the_next"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "polling.py").write_text(RULES)
    monkeypatch.syspath_prepend(str(tmp_path))
    now = revision_named(DEFAULT_REVISION)
    revision = replace(
        now,
        name="next",
        catalogue="next/1",
        rules=(*now.rules, "rules_of_the_next"),
        withdrawn=frozenset(["removed.tasks-list"]),
        methods=(*now.methods, "tasks/sleep"),
        follows=now.name,
        turned={"polling.unknown-id": Successor("polling.unknown-id", "now it is found")},
        changed={"polling.shape": Successor("polling.shape", "it has a new member")},
    )
    monkeypatch.setitem(REVISIONS, "next", revision)
    yield revision
    for module in [name for name in sys.modules if name.startswith("rules_of_the_next")]:
        del sys.modules[module]
    from conformance.judge.rule import RULES as declared

    declared.pop("rules_of_the_next", None)


def test_a_revision_is_an_entry_and_its_new_rules(next_revision: Revision) -> None:
    before, after = catalogue(), catalogue("next")
    assert set(after) - set(before) == {"polling.brand-new"}
    assert set(before) - set(after) == {"removed.tasks-list"}
    assert after["polling.unknown-id"].level == SHOULD
    assert before["polling.unknown-id"].level == MUST
    assert selected_rules(["polling.brand-new"], spec="next").keys() == {"polling.brand-new"}
    with pytest.raises(UsageError, match="unknown rule"):
        selected_rules(["polling.brand-new"])


def test_what_it_changes_is_told(next_revision: Revision) -> None:
    difference = compare_revisions(DEFAULT_REVISION, "next")
    assert [rule.id for rule in difference.come] == ["polling.brand-new"]
    assert [rule.id for rule in difference.go] == ["removed.tasks-list"]
    assert [(p.new.id, p.kind, p.words) for p in difference.turned] == [
        ("polling.unknown-id", TURNED, "now it is found")
    ]
    assert [(p.new.id, p.kind) for p in difference.changed] == [("polling.shape", CHANGED)]
    assert [p.new.id for p in difference.moved] == ["polling.unknown-id"]
    assert difference.methods.come == ("tasks/sleep",)
    text = difference_text(difference)
    assert "https://example.com/next#unknown" in text
    assert catalogue()["polling.unknown-id"].source in text
    assert "turn round\n  polling.unknown-id: now it is found" in text


def test_back_again_what_came_goes(next_revision: Revision) -> None:
    there, back = (
        compare_revisions(DEFAULT_REVISION, "next"),
        compare_revisions("next", "2026-07-28"),
    )
    assert [r.id for r in there.come] == [r.id for r in back.go]
    assert [p.words for p in there.turned] == [p.words for p in back.turned]
    assert back.methods.go == ("tasks/sleep",)


def test_the_difference_as_json(next_revision: Revision) -> None:
    told = json.loads(difference_json(compare_revisions(DEFAULT_REVISION, "next")))
    assert told["to"] == {"revision": "next", "catalogue": "next/1"}
    assert told["turned"][0]["from"]["level"] == MUST
    assert told["turned"][0]["to"]["level"] == SHOULD
    assert len(told["same"]) + len(told["changed"]) + len(told["turned"]) == len(catalogue()) - 1


# ---- the revisions there are -----------------------------------------------------------------


def test_each_revision_follows_one_that_is_known() -> None:
    for revision in REVISIONS.values():
        assert revision.follows is None or revision.follows in REVISIONS
        rules = catalogue(revision.name)
        before = catalogue(revision.follows) if revision.follows else {}
        told = [*revision.turned.items(), *revision.changed.items()]
        # What is said of a rule is said of one that is there, and of one that was, once.
        assert {new for new, _ in told} <= rules.keys()
        assert {successor.old for _, successor in told} <= before.keys()
        assert revision.abolished <= before.keys() - rules.keys()
        assert not revision.abolished & {successor.old for _, successor in told}
        assert len({new for new, _ in told}) == len({s.old for _, s in told}) == len(told)
    assert revision_after("2025-11-25") == REVISIONS["2026-07-28"]
    assert revision_after("2026-07-28") == REVISIONS["draft"]
    assert revision_after("draft") is None


def test_the_draft_is_an_overlay_that_changes_nothing_yet() -> None:
    draft, release = REVISIONS["draft"], REVISIONS[DEFAULT_REVISION]
    assert draft.catalogue == "draft/1"
    assert draft.rules[:-1] == release.rules
    assert catalogue("draft") == catalogue()
    difference = compare_revisions(DEFAULT_REVISION, "draft")
    assert (difference.come, difference.go, difference.turned, difference.moved) == ((), (), (), ())


# ---- the command -----------------------------------------------------------------------------


def test_the_command() -> None:
    told = CliRunner().invoke(main, ["rules", "--diff", "2025-11-25", "2026-07-28"])
    assert told.exit_code == 0
    assert told.output.startswith("From 2025-11-25")
    assert "methods that go: initialize" in told.output
    for wrong in (["rules", "--diff", "2025-11-25", "1999"], ["rules", "x", "--diff", "a", "b"]):
        failed = CliRunner().invoke(main, wrong)
        assert failed.exit_code == 2
        assert failed.output.startswith("error: ")


def test_the_catalogue_of_a_revision() -> None:
    told = CliRunner().invoke(main, ["rules", "--spec", "draft", "--json"])
    assert [rule["id"] for rule in json.loads(told.output)] == list(catalogue("draft"))
    assert CliRunner().invoke(main, ["rules", "--spec", "1999"]).exit_code == 2


# ---- from 2025-11-25 -------------------------------------------------------------------------


def test_an_error_of_a_tool_turns_round() -> None:
    """It is ``failed`` under the one and ``completed`` under the other, and both say where."""
    difference = compare_revisions("2025-11-25", DEFAULT_REVISION)
    turned = {pair.new.id: pair for pair in difference.turned}
    pair = turned["outcome.tool-error-completes"]
    assert pair.old.id == "outcome.tool-error-fails"
    assert "2025-11-25" in pair.old.source
    assert "2025-11-25" not in pair.new.source
    back = {
        pair.new.id: pair.old.id
        for pair in compare_revisions(DEFAULT_REVISION, "2025-11-25").turned
    }
    assert back["outcome.tool-error-fails"] == "outcome.tool-error-completes"


def test_each_rule_is_told_once() -> None:
    for old, new in (("2025-11-25", DEFAULT_REVISION), (DEFAULT_REVISION, "2025-11-25")):
        difference = compare_revisions(old, new)
        after = [r.id for r in difference.come] + [p.new.id for p in difference.both]
        before = [r.id for r in difference.go] + [p.old.id for p in difference.both]
        assert sorted(after) == sorted(catalogue(new))
        assert sorted(before) == sorted(catalogue(old))


def test_rules_of_two_revisions_are_shared_where_they_are_the_same() -> None:
    older, newer = catalogue("2025-11-25"), catalogue()
    shared = [r for r in older if r in newer and older[r].judge is newer[r].judge]
    assert len(shared) >= 15
    assert all(older[rule].source != newer[rule].source for rule in shared)
    assert len(older) >= 60
