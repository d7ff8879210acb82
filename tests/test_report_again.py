"""Every report says how to do again a sequence that was found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.judge.observation import broken
from conformance.report import html, junit, markdown, sarif
from conformance.report.results import Results
from conformance.report.terminal import summary_lines
from tests.builders import creation, history, reading
from tests.report_samples import discovery, judged, rule

FOLDER = Path("some where/history")
REPLAY = (
    "mcp-tasks-conformance replay 'some where/history/sequences.polling.shape.jsonl'"
    " http://127.0.0.1:8000/mcp"
)


def results_of(scenario: str, *, reads: int = 8) -> Results:
    sent = [creation("t", scenario=scenario)]
    sent += [reading("t", scenario=scenario) for _ in range(reads)]
    seen = rule("polling.shape", broken(tuple(sent), "no"))
    return judged([seen], history(discovery(), *sent))


@pytest.mark.parametrize("scenario", ["sequences.polling.shape", "sequences.search-1", "polling.a"])
def test_what_a_sequence_shows_is_replayed(scenario: str) -> None:
    results = results_of(scenario)
    found = scenario == "sequences.polling.shape"
    texts = {
        "terminal": summary_lines(results, history=FOLDER),
        "html": html.render(results, history=FOLDER).replace("&#39;", "'"),
        "markdown": markdown.render(results, history=FOLDER),
        "junit": junit.render(results, history=FOLDER),
        "sarif": sarif.render(results, history=FOLDER),
    }
    for name, text in texts.items():
        assert (REPLAY in text) is found, name
    for name in ("terminal", "html", "junit"):
        assert ("sequences.polling.shape.sh" in texts[name]) is found, name
    for name in ("html", "junit"):
        # So many requests that the curl lines do not name all.
        assert ("curl -sS" in texts[name]) is not found, name


@pytest.mark.parametrize(
    ("value", "told"), [("Bearer ***", True), ("Bearer open", False)], ids=["masked", "shown"]
)
def test_headers_that_are_not_shown_are_asked_for(value: str, told: bool) -> None:
    scenario = "sequences.polling.shape"
    sent = creation("t", scenario=scenario)
    headers = (*sent.sent.headers, ("Authorization", value))
    sent = replace(sent, sent=replace(sent.sent, headers=headers))
    results = judged([rule("polling.shape", broken(sent, "no"))], history(discovery(), sent))
    text = summary_lines(results, history=FOLDER)
    assert REPLAY in text
    assert ("  # and the run's --header options" in text) is told


def test_curl_lines_that_name_every_request_are_kept() -> None:
    text = html.render(results_of("sequences.polling.shape", reads=2))
    assert "mcp-tasks-conformance replay" in text
    assert "curl -sS" in text
