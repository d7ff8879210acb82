"""Two results, rule by rule."""

from __future__ import annotations

import itertools
import json

import pytest

from conformance.report.comparison import Comparison, compare
from conformance.report.results import Results
from tests.report_samples import HOSTILE
from tests.test_baseline import results

RULE = "polling.unknown-id"
VERDICTS = ("pass", "fail", "warn", "not-exercised", "not-applicable")


def groups(comparison: Comparison) -> dict[str, list[str]]:
    return {
        name: [change.rule for change in getattr(comparison, name)]
        for name in ("broken", "fixed", "newly_seen", "no_longer_seen")
    }


# What a change is told as; a pair that is not here is told as nothing.
CHANGES = {
    ("pass", "fail"): "broken",
    ("pass", "warn"): "broken",
    ("warn", "fail"): "broken",
    ("not-exercised", "fail"): "broken",
    ("not-exercised", "warn"): "broken",
    ("not-applicable", "fail"): "broken",
    ("not-applicable", "warn"): "broken",
    ("fail", "pass"): "fixed",
    ("warn", "pass"): "fixed",
    ("fail", "warn"): "fixed",
    ("not-exercised", "pass"): "newly_seen",
    ("not-applicable", "pass"): "newly_seen",
    ("pass", "not-exercised"): "no_longer_seen",
    ("fail", "not-exercised"): "no_longer_seen",
    ("warn", "not-exercised"): "no_longer_seen",
    ("pass", "not-applicable"): "no_longer_seen",
    ("fail", "not-applicable"): "no_longer_seen",
    ("warn", "not-applicable"): "no_longer_seen",
}


@pytest.mark.parametrize(("before", "after"), [*itertools.product(VERDICTS, repeat=2)])
def test_every_change_is_told_once(before: str, after: str) -> None:
    found = groups(compare(results({RULE: before}), results({RULE: after})))
    told = [name for name, rules in found.items() if rules]
    expected = CHANGES.get((before, after))
    assert told == ([expected] if expected else [])


def test_the_same_results_have_no_changes() -> None:
    one = results({f"polling.{verdict}": verdict for verdict in VERDICTS})
    comparison = compare(one, one)
    assert not any(groups(comparison).values())
    assert comparison.came == comparison.went == ()


def test_rules_that_come_and_go() -> None:
    old, new = results({"a.went": "fail"}), results({"a.came": "pass", "a.broke": "fail"})
    comparison = compare(old, new)
    assert comparison.came == ("a.came", "a.broke")
    assert comparison.went == ("a.went",)
    assert [(c.rule, c.before) for c in comparison.broken] == [("a.broke", "unknown")]


def changed() -> Comparison:
    old = {"a.one": "pass", "a.two": "fail", "a.three": "not-exercised", "a.four": "pass"}
    new = {"a.one": "fail", "a.two": "pass", "a.three": "pass", "a.four": "not-exercised"}
    return compare(results({**old, "a.went": "pass"}), results({**new, "a.came": "pass"}))


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_what_people_read(form: str) -> None:
    text = changed().rendered(form)
    for words in ("a.one", "a.two", "a.three", "a.four", "a.came", "a.went", "a reason"):
        assert words in text
    assert "1 broken, 1 fixed, 1 newly seen, 1 no longer seen" in text.splitlines()[-1]


def test_what_machines_read() -> None:
    told = json.loads(changed().rendered("json"))
    assert told["broken"] == [
        {"rule": "a.one", "level": "must", "before": "pass", "after": "fail", "reason": "a reason"}
    ]
    assert told["came"] == ["a.came"]


def test_hostile_reasons_are_shown_harmlessly() -> None:
    old: Results = results({RULE: "pass"})
    record = results({RULE: "fail"}).to_json()
    record["rules"][0]["reason"] = HOSTILE
    comparison = compare(old, Results.from_json(record))
    assert comparison.broken
    text = comparison.rendered("text")
    assert all(character.isprintable() or character == "\n" for character in text)
    markdown = comparison.rendered("markdown")
    assert "<script>" not in markdown
    assert "http://evil" not in markdown
    assert json.loads(comparison.rendered("json"))["broken"][0]["reason"] == HOSTILE
