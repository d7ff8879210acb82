"""pytest-html's page of the rules: the log behind our own report."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from conformance.conclusion import conclude
from conformance.engine import log_with_pytest
from conformance.plugin import JudgePlan, use
from tests.report_samples import HOSTILE, sample


def items_of(page: str) -> dict[str, dict[str, Any]]:
    """What pytest-html kept of each item, by the rule's id."""
    match = re.search(r'data-jsonblob="([^"]*)"', page)
    assert match is not None
    blob = json.loads(unescape(match[1]))
    return {name.removeprefix("::"): entries[0] for name, entries in blob["tests"].items()}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("log") / "log.html"
    log_with_pytest(sample({"polling.result-type": "ticket 12"}), path)
    return path.read_text(encoding="utf-8")


def test_every_rule_is_an_item_with_its_verdict(page: str) -> None:
    found = {rule: entry["result"] for rule, entry in items_of(page).items()}
    assert set(found) == {rule.id for rule in sample().rules}
    assert found["creation.durable"] == "Failed"
    assert found["negotiation.advertised"] == "Passed"
    assert found["security.foreign-get"] == "Skipped"
    assert found["notifications.full-task"] == "Skipped"
    # A warning is no failure, nor is what the baseline names.
    assert found["polling.timestamps"] == "XFailed"
    assert found["polling.result-type"] == "XFailed"


def test_the_evidence_is_in_the_log(page: str) -> None:
    log = unescape(items_of(page)["creation.durable"]["log"])
    assert "return the handle once the task can be read" in log
    assert "expected: the task" in log
    assert "curl -sS" in log
    assert "ticket 12" in unescape(items_of(page)["polling.result-type"]["log"])


def test_it_is_one_file_and_hostile_text_is_inert(page: str) -> None:
    assert not re.search(r"""(?:src|href)=["'](?!https://pypi\.python\.org|["'#])""", page)
    assert "<script>alert" not in page
    assert "<script>alert" not in unescape(page)
    assert not {"\u202e", "\x1b", "\x00"} & set(page)
    assert "alert(1)" in HOSTILE
    assert "alert(1)" in page


def test_it_is_written_where_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {
        "html": tmp_path / "r.html",
        "json_": tmp_path / "r.json",
        "log": tmp_path / "l.html",
    }
    assert conclude(sample(), options) == 1
    assert len(items_of(options["log"].read_text())) == len(sample().rules)
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith("non-conformant: ")
    assert str(options["log"]) in captured.err
    assert not (tmp_path / "pytest.ini").exists()


def test_a_plan_is_only_for_its_own_run(tmp_path: Path) -> None:
    use(JudgePlan(sample()))
    log_with_pytest(sample(), tmp_path / "log.html")
    from conformance import plugin

    assert plugin._plan is None
