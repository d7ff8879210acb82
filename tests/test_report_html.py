"""The HTML report: complete, self-contained, and indifferent to what a server sends."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from conformance.judge.observation import Observation, broken, holds
from conformance.report.html import render
from conformance.report.printing import response_lines
from conformance.report.results import Results
from tests.builders import creation, exchange, history, reading, task
from tests.report_samples import HOSTILE, discovery, judged, rule, sample

_VOID = {"meta", "input", "rect", "line", "br"}
_OURS = {
    "a", "article", "body", "button", "caption", "code", "dd", "desc", "details", "div", "dl",
    "dt", "fieldset", "form", "h1", "h2", "h3", "h4", "head", "header", "html", "input", "label",
    "legend", "li", "line", "main", "mark", "meta", "p", "pre", "rect", "script", "section",
    "span", "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title",
    "tr", "ul",
}  # fmt: skip


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"{tag} closes something else"

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts.setdefault(tag, []).append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]

    def text(self, tag: str = "body") -> str:
        return "".join(self.texts.get(tag, []))


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render(sample({"polling.timestamps": "ticket 12"})))


def test_every_rule_and_every_finding_is_there(page: Page) -> None:
    results = sample()
    ids = page.values("id")
    assert [i for i in ids if i.startswith("rule-")] == [
        f"rule-{rule.id}" for rule in results.rules
    ]
    assert [i for i in ids if i.startswith("finding-")] == [
        f"finding-{cause.rule}" for cause in results.causes if cause.rule != "polling.timestamps"
    ] + ["finding-polling.timestamps"]
    assert len(ids) == len(set(ids))


def test_the_first_lines_say_who_and_what(page: Page) -> None:
    header = page.text("header")
    assert "The server does not conform to the Tasks extension: it breaks 2 rules." in header
    assert "Ledger" in header
    assert "http://127.0.0.1:8000/mcp" in header
    assert "revision 2026-07-28" in header
    assert "2026-11-30T10:00:00Z" in header
    assert "--other-header" in header


def test_an_option_is_not_broken_after_its_dashes() -> None:
    text = render(sample())
    assert '<span class="option">--other-header</span>' in text
    assert ".option { white-space: nowrap; }" in text


def test_links_within_the_page_lead_somewhere(page: Page) -> None:
    inner = [href[1:] for href in page.values("href") if href.startswith("#")]
    assert inner
    assert set(inner) <= set(page.values("id"))


def test_links_out_of_the_page_are_those_of_the_catalogue(page: Page) -> None:
    outer = {href for href in page.values("href") if not href.startswith("#")}
    assert outer == {rule.source for rule in sample().rules}


@pytest.mark.parametrize("source", ["javascript:alert(1)", "data:text/html,x", "//evil.test", ""])
def test_what_is_no_web_address_is_no_link(source: str) -> None:
    record = sample().to_json()
    for each in record["rules"]:
        each["source"] = source
    page = Page(render(Results.from_json(record)))
    assert all(href.startswith("#") for href in page.values("href"))


def test_only_our_own_elements_are_in_it(page: Page) -> None:
    assert set(page.tags) <= _OURS
    assert page.tags.count("script") == 1
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "style"]


def test_hostile_text_is_visible_and_inert(page: Page) -> None:
    text = render(sample())
    text.encode("utf-8")
    assert HOSTILE[:25] not in text
    assert all(c.isprintable() or c == "\n" for c in text)
    assert (
        "<script>alert(1)</script>&amp;\\u{202e}gnp\\u{1b}[31m\\u{0}"
        in page.text("pre") + page.text()
    )


def test_nothing_is_loaded_and_only_our_style_and_script_may_run() -> None:
    text = render(sample())
    page = Page(text)
    assert not page.values("src")
    assert "url(" not in page.text("style")
    assert "@import" not in page.text("style")
    (policy,) = [v for v in page.values("content") if v.startswith("default-src")]
    assert policy.startswith("default-src 'none';")
    for tag in ("style", "script"):
        digest = hashlib.sha256(page.text(tag).encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_the_deciding_member_is_marked(page: Page) -> None:
    marks = page.text("mark")
    assert '"code": -32602' in marks
    assert '"resultType": "task"' in marks
    assert "← absent is missing here" in marks


def test_the_curl_lines_are_there_to_copy(page: Page) -> None:
    assert "curl -sS -i -w '\\n' http://127.0.0.1:8000/mcp \\\n  -H" in page.text("pre")


def test_filters_know_every_verdict_and_level(page: Page) -> None:
    values = {value for tag, name, value in page.attributes if (tag, name) == ("input", "value")}
    assert set(page.values("data-verdict")) | set(page.values("data-level")) <= values


def test_a_conformant_run_is_under_one_megabyte() -> None:
    exchanges = [reading(f"task-{n}", "completed") for n in range(120)]
    rules = [rule(f"polling.r{n}", holds(exchanges[n : n + 2])) for n in range(118)]
    text = render(judged(rules, history(discovery(), *exchanges)))
    assert len(text.encode()) < 1_000_000
    assert "The server conforms to the Tasks extension" in text


def test_no_server_makes_it_larger_than_five_megabytes() -> None:
    def burdened(n: int) -> tuple[Observation, ...]:
        made = creation(f"task-{n}", arguments={"text": "<" * 3000})
        result = task(f"task-{n}", "completed", **{f"<\u202e{m}": "\x01" * 500 for m in range(60)})
        seen = exchange("tasks/get", {"taskId": f"task-{n}"}, result=result)
        return tuple(
            broken([made, seen] * 8, "<" * 9999, found="\u202e" * 9999, member="/result/status")
            for _ in range(5)
        )

    server = {"name": "<" * 100_000, "version": "\u202e" * 100_000}
    rules = [rule(f"polling.r{n}", *burdened(n)) for n in range(110)]
    text = render(judged(rules, history(discovery(server))))
    assert len(text.encode()) < 5_000_000
    assert "no room left" in text
    Page(text)


def test_a_member_is_found_in_an_event_of_a_stream() -> None:
    note = {"method": "notifications/tasks"}
    seen = exchange("subscriptions/listen", events=[note, {"id": 1, "result": {"status": "odd"}}])
    results = judged(
        [rule("polling.shape", broken(seen, "no", member="/result/status"))],
        history(discovery(), seen),
    )
    marked = [line.words for line in response_lines(results.rules[0].evidence[0]) if line.marked]
    assert marked == ['"status": "odd"']


def test_it_says_when_nothing_was_offered() -> None:
    found = discovery(extension=False)
    text = Page(render(judged([rule("polling.shape")], history(found)))).text("header")
    assert "does not offer the Tasks extension" in text


def test_no_part_of_this_page_depends_on_the_script() -> None:
    """What the script shows is a comfort; the rest is visible without it."""
    text = render(sample())
    hidden = re.findall(r"<(\w+)[^>]* hidden>", text)
    assert hidden == ["form"]
