"""Reports in a browser: nothing runs, nothing is lost, and the layout holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.judge.observation import broken
from conformance.report.html import render
from conformance.report.results import Results
from conformance.report.visible import visible
from tests.browser import Page, chromium, opened
from tests.builders import creation, exchange, history, reading, task
from tests.report_samples import discovery, judged, rule, sample

PROGRAM = chromium()

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium is on PATH"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash"),
]

# Each would change the title, or load something, if any of it were more than text.
ATTACKS = [
    "<script>document.title='ran'</script>",
    "<img src=x onerror=\"document.title='ran'\">",
    "</pre></code></summary></details><svg onload=\"document.title='ran'\"></svg>",
    "</title></desc></svg><script>document.title='ran'</script>",
    '"><a href="javascript:document.title=\'ran\'" autofocus onfocus="document.title=\'ran\'">',
    "<style>*{display:none!important}</style><link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "<iframe srcdoc=\"<script>parent.document.title='ran'</script>\"></iframe>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "{{ 7 * 7 }}{% raw %}${7*7}",
    "\u202e\u2066reversed\u2069 \x00\x1b[2J\ud800\ufffe",
    "W" * 3000,
]
WORDS = [f"attack-{number}: {attack}" for number, attack in enumerate(ATTACKS)]


def attacked() -> Results:
    """A report on a server that puts markup and scripts into every string it sends."""
    everything = "\n".join(WORDS)
    found = discovery({"name": everything, "version": everything})
    members: dict[str, Any] = {word[:200]: {"nested": word, "list": [word]} for word in WORDS}
    made = creation(
        everything,
        tool=everything,
        arguments={word[:60]: word for word in WORDS},
        headers={"X-Note": "<script>document.title='ran'</script>"},
        result=task(everything, everything, type="task", statusMessage=everything),
    )
    read = reading(everything, everything, members={**members, "statusMessage": everything})
    # What is not JSON has to be text that UTF-8 can carry.
    raw = everything.replace("\ud800", "")
    page = exchange("tasks/get", {"taskId": everything}, body=raw, content_type="text/html")
    streamed = exchange(
        "tasks/get",
        {"taskId": everything},
        events=[{"method": everything, "params": members}, raw],
    )
    rules = [
        rule(
            f"lifecycle.number-{number}",
            broken((made, seen), word, expected=word, found=word, member="/result/statusMessage"),
        )
        for number, (word, seen) in enumerate(
            (word, seen) for word in WORDS for seen in (read, page, streamed)
        )
    ]
    return judged(rules, history(found, made, read, page, streamed, permitted=(everything,)))


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    assert PROGRAM is not None
    with opened(PROGRAM) as page:
        yield page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("attacked") / "report.html"
    path.write_text(render(attacked()), encoding="utf-8")
    return path


def test_nothing_runs_and_nothing_is_loaded(browser: Page, report: Path) -> None:
    browser.open(report)
    title = browser.run("document.title")
    assert title.startswith("non-conformant: attack-0")
    # Whatever could be opened or focused is.
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    browser.run("for (const e of document.querySelectorAll('[tabindex], a, summary')) e.focus()")
    assert browser.run("document.title") == title
    requests = [e["request"]["url"] for e in browser.events_named("Network.requestWillBeSent")]
    assert requests == [report.resolve().as_uri()]
    assert browser.events_named("Runtime.exceptionThrown") == []
    entries = [e["entry"]["text"] for e in browser.events_named("Log.entryAdded")]
    assert entries == []
    assert browser.run("document.querySelectorAll('script').length") == 1
    strange = "img, iframe, link, object, embed, a[href^=javascript], [onload], [onerror], base"
    assert browser.run(f"document.querySelectorAll({strange!r}).length") == 0


def test_our_own_script_does_run(browser: Page, report: Path) -> None:
    """Or that nothing runs would say nothing."""
    browser.open(report)
    assert browser.run("document.querySelector('.filters').hidden") is False
    assert "rules shown" in browser.run("document.querySelector('.shown').textContent")


def test_nothing_is_lost(browser: Page, report: Path) -> None:
    browser.open(report)
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    text = browser.run("document.body.textContent")
    for number in range(len(attacked().rules)):
        assert f"lifecycle.number-{number}" in text
    for word in WORDS:
        shown = visible(word[:900])
        assert shown in text, word[:80]
    assert browser.run("getComputedStyle(document.querySelector('h1')).display") != "none"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_layout_holds(browser: Page, report: Path, width: int, dark: bool) -> None:
    browser.open(report, width=width, dark=dark)
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    assert browser.run("document.documentElement.scrollWidth") <= width
    # Nothing is beside the page: what is wider scrolls in a place of its own.
    outside = browser.run(
        """[...document.querySelectorAll('main *, header *')].filter(e => {
             const r = e.getBoundingClientRect();
             return r.width && r.right > innerWidth + 1 && !e.closest('.scroll') &&
                    !e.closest('pre');
           }).map(e => e.outerHTML.slice(0, 120))"""
    )
    assert outside == []
    colour = browser.run("getComputedStyle(document.body).backgroundColor")
    red = int(colour.removeprefix("rgb(").partition(",")[0])
    assert (red < 60) is dark


def test_a_link_to_a_rule_that_is_filtered_away_leads_there(browser: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(sample()), encoding="utf-8")
    browser.open(path)
    browser.run("document.querySelector('.filters input[value=pass]').click()")
    rule_id = json.dumps("rule-negotiation.advertised")
    assert browser.run(f"document.getElementById({rule_id}).hidden") is True
    browser.run(
        f"new Promise(r => {{ addEventListener('hashchange', r); location.hash = {rule_id}; }})"
    )
    assert browser.run(f"document.getElementById({rule_id}).hidden") is False
    assert browser.run(f"document.getElementById({rule_id}).querySelector('details').open") is True


def test_the_picture_of_a_life_has_a_name_for_screen_readers(browser: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(sample()), encoding="utf-8")
    browser.open(path)
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    pictures = [
        n for n in nodes if n.get("name", {}).get("value", "").startswith("The life of task")
    ]
    assert pictures
    assert pictures[0]["role"]["value"] in ("image", "img")
    assert "Created at" in pictures[0]["description"]["value"]
