"""Rules that the user leaves out are not told of, and nothing looks better or worse for that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.checking import judge_again
from conformance.judge.observation import broken, holds
from conformance.judge.verdict import judge
from conformance.report import badge, findings, html, junit, markdown, sarif
from conformance.report.results import Results
from conformance.report.terminal import summary_lines
from conformance.wire.history import HistoryWriter
from tests.builders import creation, history, reading
from tests.report_samples import RUN, discovery, judged, rule

UNKNOWN_ID = "polling.unknown-id"
FOLLOWS = "cancellation.unknown-task"


def results(*left_out: str) -> Results:
    made = creation("task-1")
    rules = [rule("creation.durable", holds(made)), rule("creation.unique-ids", holds(made))]
    return judged(rules, history(discovery(), made), replace(RUN, left_out=left_out))


def test_what_follows_from_a_rule_that_is_left_out_is_not_held_against_the_server() -> None:
    read = reading("nobodys")
    cause = rule(UNKNOWN_ID, broken(read, "answer -32602", expected="an error", found="a task"))
    other = broken(read, "answer -32602 too", expected="an error", found="nothing")
    follows = rule(FOLLOWS, other, after=(UNKNOWN_ID,))
    everything = {each.id: each for each in (cause, follows)}
    kept = history(creation(), read)

    told = judge({FOLLOWS: follows}, kept, beside=everything)
    assert [(v.rule.id, v.verdict, v.cause) for v in told.verdicts] == [
        (FOLLOWS, "not-exercised", UNKNOWN_ID)
    ]
    assert told.causes == ()
    alone = judge({FOLLOWS: follows}, kept)
    assert [verdict.verdict for verdict in alone.verdicts] == ["fail"]
    # What is told does not name what nobody wanted to hear of.
    (found,) = judge({UNKNOWN_ID: cause}, kept, beside=everything).causes
    assert found.also == ()
    (found,) = judge(everything, kept).causes
    assert found.also == (FOLLOWS,)


def test_it_is_said_why_nothing_was_seen() -> None:
    read = reading("nobodys")
    cause = rule(UNKNOWN_ID, broken(read, "answer -32602"))
    follows = rule(FOLLOWS, broken(read, "answer -32602 too"), after=(UNKNOWN_ID,))
    told = judge({FOLLOWS: follows}, history(creation(), read), beside={UNKNOWN_ID: cause})
    (verdict,) = told.verdicts
    shown = replace(results().rules[0], id=FOLLOWS, verdict=verdict.verdict, cause=UNKNOWN_ID)
    unseen = replace(results(), rules=(shown,))
    assert [group.rules[0].id for group in findings.not_exercised(unseen, "must")] == [FOLLOWS]


def test_every_report_says_how_much_was_left_out() -> None:
    """Else a run without the rules that it would break looks like one that passed them."""
    some = results("security.no-token", "security.foreign-get")
    named = "Left out: security.no-token, security.foreign-get."
    assert findings.conclusion(some).endswith(named)
    assert ", 0 not applicable, 2 left out (must: " in summary_lines(some)
    assert named in html.render(some)
    assert named.replace("-", "\\-") in markdown.render(some) or named in markdown.render(some)
    assert 'name="left-out" value="security.no-token security.foreign-get"' in junit.render(some)
    assert '"leftOut": [' in sarif.render(some)
    assert badge.message(some).endswith("must, 2 left out)")
    assert Results.from_json(some.to_json()) == some

    many = results(*(f"security.rule-{n}" for n in range(4)))
    assert findings.conclusion(many).endswith("4 of 6 rules were left out.")
    everything = results()
    assert "left out" not in findings.conclusion(everything) + summary_lines(everything)
    assert badge.message(everything).endswith(" must)")


@pytest.mark.parametrize("narrowed", [{"skip": [UNKNOWN_ID]}, {"only": ["cancellation"]}])
def test_a_kept_history(narrowed: dict[str, list[str]], tmp_path: Path) -> None:
    kept = history(discovery(), creation(), reading("nobodys", intent="unknown-id"))
    writer = HistoryWriter(tmp_path / "polling.jsonl", kept.circumstances)
    for each in kept:
        writer.append(each)
    writer.close()

    found = judge_again([tmp_path], **narrowed).results  # type: ignore[arg-type]
    assert UNKNOWN_ID in found.run.left_out
    everything = judge_again([tmp_path]).results
    assert everything.run.left_out == ()
    told = [each.id for each in found.rules]
    assert told == [each.id for each in everything.rules if each.id not in found.run.left_out]
    assert len(told) + len(found.run.left_out) == len(everything.rules)
    # What is judged is judged as it is with all others.
    assert found.rules == tuple(each for each in everything.rules if each.id in told)
