"""The baseline: known violations, and what makes it a lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.baseline import (
    Expected,
    _written,
    check_baseline,
    read_baseline,
    update_baseline,
)
from conformance.errors import BaselineError, UsageError
from conformance.report.results import Results, RuleResult, RunFacts, with_expected
from conformance.report.results import ServerFacts as Server

# Rules that there are.
ONE, TWO, THREE = "polling.unknown-id", "polling.result-type", "removed.tasks-list"


def results(verdicts: Mapping[str, str], level: str = "must") -> Results:
    return Results(
        suite="0",
        catalogue="2026-07-28/1",
        spec="2026-07-28",
        target=Server(extension=True),
        run=RunFacts(started="2026-11-30T10:00:00Z"),
        tools=(),
        verdict="conformant",
        summary={},
        causes=(),
        rules=tuple(
            RuleResult(name, level, "title", "", "https://example.com", verdict, "a reason")
            for name, verdict in verdicts.items()
        ),
    )


def baseline(folder: Path, *entries: Expected | str) -> Path:
    path = folder / "baseline.toml"
    known = [entry if isinstance(entry, Expected) else Expected(entry) for entry in entries]
    path.write_text(_written(known), encoding="utf-8")
    return path


# ---- reading -------------------------------------------------------------------------------


def test_entries(tmp_path: Path) -> None:
    path = tmp_path / "baseline.toml"
    path.write_text(
        f"""
        [[expected]]
        rule = "{ONE}"
        reason = "the framework does it"
        since = 2026-11-29

        [[expected]]
        rule = "{TWO}"
        flaky = true
        since = "last year"

        [[expected]]
        rule = "{THREE}"
        """,
        encoding="utf-8",
    )
    assert read_baseline(path) == [
        Expected(ONE, "the framework does it", "2026-11-29"),
        Expected(TWO, since="last year", flaky=True),
        Expected(THREE),
    ]


def test_an_empty_baseline_expects_nothing(tmp_path: Path) -> None:
    path = tmp_path / "baseline.toml"
    path.touch()
    assert read_baseline(path) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expected", "is not TOML"),
        ("[[expect]]\nrule = 'a'", "unknown key 'expect'"),
        ("expected = 3", "entries are [[expected]] tables"),
        ("[expected]\nrule = 'a'", "entries are [[expected]] tables"),
        ("expected = ['a']", "entry 1: it has no rule"),
        ("[[expected]]", "entry 1: it has no rule"),
        ("[[expected]]\nrule = 3", "entry 1: it has no rule"),
        ("[[expected]]\nrule = 'a'\nwhy = 'b'", "entry 1 (a): why is wrong; known are rule"),
        ("[[expected]]\nrule = 'a'\nreason = 3", "entry 1 (a): reason is wrong"),
        ("[[expected]]\nrule = 'a'\nflaky = 'yes'", "entry 1 (a): flaky is wrong"),
        ("[[expected]]\nrule = 'a'\nsince = 3", "entry 1 (a): since is wrong"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "baseline.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        read_baseline(path)
    assert message in str(raised.value)
    assert "baseline.toml" in str(raised.value)


def test_baselines_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the baseline"):
        read_baseline(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="cannot read the baseline"):
        read_baseline(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not TOML"):
        read_baseline(tmp_path / "binary.toml")


# What a TOML file can hold: no surrogates.
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.lists(st.builds(Expected, TEXT, TEXT, TEXT, st.booleans()), max_size=3))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Expected]
) -> None:
    path = baseline(tmp_path_factory.mktemp("baseline"), *entries)
    assert read_baseline(path) == entries


# ---- checking ------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["fail", "warn", "not-exercised", "not-applicable"])
def test_a_baseline_that_is_true(tmp_path: Path, verdict: str) -> None:
    check_baseline(baseline(tmp_path, ONE), results({ONE: verdict, TWO: "pass"}))


def test_an_entry_that_no_longer_happens(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match=f"{ONE} is not violated any more"):
        check_baseline(baseline(tmp_path, ONE, TWO), results({ONE: "pass", TWO: "fail"}))


def test_a_flaky_entry_may_pass(tmp_path: Path) -> None:
    check_baseline(baseline(tmp_path, Expected(ONE, flaky=True)), results({ONE: "pass"}))


def test_an_entry_that_is_no_rule(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match=r"polling\.unknow is not a rule"):
        check_baseline(baseline(tmp_path, "polling.unknow"), results({ONE: "pass"}))


def test_a_narrowed_run_does_not_make_the_others_stale(tmp_path: Path) -> None:
    check_baseline(baseline(tmp_path, ONE, TWO), results({ONE: "fail"}))


# ---- updating ------------------------------------------------------------------------------


def test_a_baseline_is_made_of_what_is_violated(tmp_path: Path) -> None:
    path = tmp_path / "baseline.toml"
    update_baseline(path, results({ONE: "fail", TWO: "warn", THREE: "pass"}))
    assert read_baseline(path) == [
        Expected(TWO, "to be explained", "2026-11-30"),
        Expected(ONE, "to be explained", "2026-11-30"),
    ]
    check_baseline(path, results({ONE: "fail", TWO: "warn", THREE: "pass"}))


def test_reasons_and_dates_are_kept(tmp_path: Path) -> None:
    known = Expected(ONE, 'the "framework"\n🎈', "2025-01-01")
    path = baseline(tmp_path, known)
    update_baseline(path, results({ONE: "fail"}))
    assert read_baseline(path) == [known]


def test_what_was_mended_goes_and_what_was_not_seen_stays(tmp_path: Path) -> None:
    path = baseline(tmp_path, ONE, Expected(TWO, flaky=True), THREE, "no.rule")
    update_baseline(path, results({ONE: "pass", TWO: "pass", THREE: "not-exercised"}))
    assert [entry.rule for entry in read_baseline(path)] == [TWO, THREE]


def test_updating_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "baseline.toml"
    found = results({ONE: "fail", TWO: "warn"})
    update_baseline(path, found)
    before = path.read_bytes()
    update_baseline(path, replace(found, run=RunFacts(started="2027-01-01T00:00:00Z")))
    assert path.read_bytes() == before


def test_a_baseline_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write the baseline"):
        update_baseline(tmp_path / "none" / "baseline.toml", results({ONE: "fail"}))


# ---- results under a baseline --------------------------------------------------------------


def test_what_is_expected_does_not_make_a_server_non_conformant() -> None:
    found = results({ONE: "fail", TWO: "pass"})
    assert with_expected(found, {}).verdict == "non-conformant"
    known = with_expected(found, {ONE: "we know"})
    assert known.verdict == "conformant"
    assert (known.rules[0].expected, known.rules[0].expectation) == (True, "we know")
    assert not known.rules[1].expected
