"""The command ``diff``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.judge.observation import broken, holds
from conformance.report import results as files
from conformance.report.comparison import compare
from conformance.report.results import Results
from tests.builders import history
from tests.report_samples import HOSTILE, discovery, judged, rule


def results(verdict: str) -> Results:
    """Results of one rule that passes or fails."""
    seen = discovery()
    observed = holds(seen) if verdict == "pass" else broken(seen, f"mend it {HOSTILE}")
    return judged([rule("polling.shape", observed)], history(seen))


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_hostile_text_is_only_text(form: str) -> None:
    text = compare(results("pass"), results("fail")).rendered(form)
    assert not {"\u202e", "\x1b", "\x00"} & set(text)
    assert "mend it" in text
    if form == "markdown":
        assert "<script>" not in text


@pytest.mark.parametrize(("after", "status"), [("fail", 1), ("pass", 0)])
def test_the_command(after: str, status: int, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    files.write(results("pass"), old)
    files.write(results(after), new)
    ran = CliRunner().invoke(main, ["diff", str(old), str(new)])
    assert ran.exit_code == status
    assert (
        ran.output.splitlines()[-1] == f"{status} broken, 0 fixed, 0 newly seen, 0 no longer seen"
    )


def test_the_command_on_something_else(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    ran = CliRunner().invoke(main, ["diff", str(tmp_path / "old.json"), str(tmp_path / "new.json")])
    assert ran.exit_code == 2
    assert "not results of this suite" in ran.output
