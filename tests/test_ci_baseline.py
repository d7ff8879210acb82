"""The baseline in a run: what is known does not fail it, and what is not true any more does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.baseline import Expected, check_baseline, read_baseline, update_baseline
from conformance.conclusion import conclude, expected_by
from conformance.errors import BaselineError
from conformance.judge.observation import broken, holds
from conformance.report.results import Results, read, with_expected
from tests.builders import history
from tests.report_samples import discovery, judged, rule

SHAPE, TYPE, LARGE = "polling.shape", "polling.result-type", "polling.large-result"


def results(*, shape: bool = True, kind: bool = True) -> Results:
    """Results of three rules: two that hold or not, and one that nobody observed."""
    seen = discovery()
    return judged(
        [
            rule(SHAPE, holds(seen) if shape else broken(seen, "no")),
            rule(TYPE, holds(seen) if kind else broken(seen, "no"), level="should"),
            rule(LARGE, needs=("large",)),
        ],
        history(seen),
    )


def baseline(folder: Path, text: str) -> Path:
    path = folder / "known.toml"
    path.write_text(text)
    return path


def entry(rule_id: str, **members: str) -> str:
    lines = [f"{name} = '{value}'" for name, value in members.items()]
    return "\n".join(["[[expected]]", f"rule = '{rule_id}'", *lines, ""])


def concluded(folder: Path, found: Results, **options: Any) -> int:
    options |= {"html": folder / "r.html", "json_": folder / "r.json"}
    return conclude(found, options)


def test_a_known_violation_is_no_news(tmp_path: Path) -> None:
    path = baseline(tmp_path, entry(SHAPE, reason="ticket 12"))
    found = results(shape=False)
    check_baseline(path, found)
    known = with_expected(found, expected_by({"baseline": path}))
    assert concluded(tmp_path, known, baseline=path) != 1
    assert concluded(tmp_path, found) == 1


def test_a_violation_that_no_longer_happens_is_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = baseline(tmp_path, entry(SHAPE))
    with pytest.raises(BaselineError, match=f"{SHAPE} is not violated any more"):
        check_baseline(path, results())
    assert concluded(tmp_path, results(), baseline=path) == 5
    assert "stale" in capsys.readouterr().err


def test_an_entry_that_names_no_rule_is_an_error(tmp_path: Path) -> None:
    path = baseline(tmp_path, entry("polling.no\u202erule"))
    with pytest.raises(BaselineError, match="is not a rule") as raised:
        check_baseline(path, results())
    assert "\u202e" not in str(raised.value)
    assert concluded(tmp_path, results(), baseline=path) == 5


def test_a_new_violation_matters_more_than_a_stale_entry(tmp_path: Path) -> None:
    path = baseline(tmp_path, entry(TYPE))
    assert concluded(tmp_path, results(shape=False), baseline=path) == 1


def test_updating_writes_what_is_violated_and_keeps_reasons(tmp_path: Path) -> None:
    path = baseline(
        tmp_path,
        entry(SHAPE, reason='ticket "12" \\ or so', since="2026-01-01")
        + entry("polling.timestamps", reason="not seen in this run")
        + entry("polling.no-rule", reason="gone"),
    )
    update_baseline(path, results(shape=False, kind=False))
    assert read_baseline(path) == [
        Expected(TYPE, "to be explained", "2026-11-30"),
        Expected(SHAPE, 'ticket "12" \\ or so', "2026-01-01"),
        Expected("polling.timestamps", "not seen in this run"),
    ]
    update_baseline(path, results())
    assert [e.rule for e in read_baseline(path)] == ["polling.timestamps"]


def test_a_run_that_updates_is_a_run_with_nothing_new(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    found = results(shape=False)
    options = {"baseline": path, "update_baseline": True}
    assert expected_by(options) == {}
    assert concluded(tmp_path, found, **options) != 1
    assert [e.rule for e in read_baseline(path)] == [SHAPE]
    assert read(tmp_path / "r.json").rules[0].expected
