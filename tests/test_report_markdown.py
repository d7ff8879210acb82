"""The Markdown summary of a job."""

from __future__ import annotations

from conformance.judge.observation import broken
from conformance.report.markdown import render
from tests.builders import exchange, history
from tests.report_samples import discovery, judged, rule, sample


def test_it_has_the_verdict_the_findings_and_what_was_not_seen() -> None:
    text = render(sample({"polling.timestamps": "known"}, hostile=""))
    assert text.startswith("## MCP Tasks conformance: non-conformant\n")
    assert "| must | 2 | 0 | 1 | 3 | 1 |" in text
    assert "- **fail** [`creation.durable`](https://modelcontextprotocol.github.io/" in text
    assert "expected `the task`, came `error -32602 `" in text
    assert "not judged because of this: `creation.unique-ids`" in text
    assert "Known violations: `polling.timestamps`" in text
    assert "--other-header" in text
    assert text.endswith("in 7.9 s`\n")


def test_nothing_of_the_server_is_markup() -> None:
    hostile = "</td><img src=x>\u202e **bold** [a](http://evil.test) @somebody www.evil.test"
    text = render(sample(hostile=hostile))
    # Outside code spans: the reason, escaped.
    reason = next(line for line in text.split("\n") if "return the handle once" in line)
    assert "<" not in reason
    assert "http://" not in reason
    assert "www." not in reason
    assert "@somebody" not in reason
    assert "\\*\\*bold\\*\\*" in reason
    assert "\\[a\\]" in reason
    assert "\u202e" not in text


def test_backticks_cannot_end_a_code_span() -> None:
    seen = exchange()
    text = render(
        judged(
            [rule("polling.shape", broken(seen, "no", found="a``b`"))], history(discovery(), seen)
        )
    )
    assert "came ``` a``b` ```" in text


def test_a_code_span_does_not_end_the_line() -> None:
    seen = exchange()
    found = "a\n\n# heading"
    text = render(
        judged([rule("polling.shape", broken(seen, "no", found=found))], history(discovery(), seen))
    )
    assert "\n# heading" not in text


def test_it_stays_short() -> None:
    seen = exchange()
    rules = [rule(f"polling.r{n}", broken(seen, "n" * 5000, found="f" * 5000)) for n in range(200)]
    text = render(judged(rules, history(discovery(), seen)))
    assert len(text) < 50_000
    assert "and 170 more" in text
