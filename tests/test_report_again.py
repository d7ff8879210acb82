"""Every report says how to do again a sequence that was found."""

from __future__ import annotations

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


def results_of(scenario: str) -> Results:
    made = creation("t", scenario=scenario)
    read = reading("t", scenario=scenario)
    seen = rule("polling.shape", broken((made, read), "no"))
    return judged([seen], history(discovery(), made, read))


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
        assert ("curl -sS" in texts[name]) is not found, name
