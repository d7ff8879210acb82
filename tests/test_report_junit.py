"""JUnit XML: what a CI system counts and shows."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from conformance.report.junit import render
from tests.report_samples import sample


def cases(text: str) -> dict[str, ElementTree.Element]:
    return {case.get("name", ""): case for case in ElementTree.fromstring(text).iter("testcase")}


def test_every_rule_is_a_case_of_its_topic() -> None:
    results = sample()
    found = cases(render(results))
    assert list(found) == [rule.id for rule in results.rules]
    assert found["creation.durable"].get("classname") == "mcp-tasks.creation"
    root = ElementTree.fromstring(render(results))
    assert [suite.get("name") for suite in root] == list(
        dict.fromkeys(rule.topic for rule in results.rules)
    )


@pytest.mark.parametrize(("strict", "failures"), [(False, 2), (True, 4)])
def test_counts(strict: bool, failures: int) -> None:
    root = ElementTree.fromstring(render(sample(), strict=strict))
    for element in (root, *root):
        found = list(element.iter("testcase"))
        assert element.get("tests") == str(len(found))
        assert element.get("failures") == str(len(list(element.iter("failure"))))
        if element is not root:  # there Jenkins knows no such attribute
            assert element.get("skipped") == str(len(list(element.iter("skipped"))))
    assert root.get("failures") == str(failures)
    assert root.get("time") == "7.940"


def test_a_failure_has_the_reason_and_the_whole_story() -> None:
    failure = cases(render(sample(hostile="")))["creation.durable"].find("failure")
    assert failure is not None
    assert failure.get("message", "").startswith("return the handle once")
    text = failure.text or ""
    assert "expected: the task" in text
    assert "found:    error -32602" in text
    assert "creation.burst.jsonl, exchange " in text
    assert "curl -sS -i" in text


def test_a_warning_passes_with_its_story_unless_strict() -> None:
    case = cases(render(sample()))["polling.timestamps"]
    assert case.find("failure") is None
    assert "warning: give a zone" in (case.findtext("system-out") or "")
    strict = cases(render(sample(), strict=True))["polling.timestamps"].find("failure")
    assert strict is not None
    assert strict.get("type") == "warning"


def test_what_was_not_judged_is_skipped_with_the_reason() -> None:
    found = cases(render(sample({"creation.durable": "ticket 12"})))

    def skipped(rule_id: str) -> str:
        element = found[rule_id].find("skipped")
        assert element is not None
        return element.get("message", "")

    assert "--other-header" in skipped("security.foreign-get")
    assert skipped("notifications.full-task") == "not applicable: it does not serve listen"
    assert skipped("creation.durable") == "expected: ticket 12"
    assert "creation.durable" in skipped("creation.unique-ids")


def test_properties_name_the_run() -> None:
    suite = next(iter(ElementTree.fromstring(render(sample(hostile="")))))
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties["spec"] == "2026-07-28"
    assert properties["seed"] == "17"
    assert properties["server"] == "Ledger  2.4.1"
    assert properties["url"] == "http://127.0.0.1:8000/mcp"


def test_hostile_text_is_valid_xml_and_visible() -> None:
    text = render(sample())
    text.encode("utf-8")
    failure = cases(text)["creation.durable"].find("failure")
    assert failure is not None
    assert "<script>alert(1)</script>&amp;\\u{202e}gnp\\u{1b}[31m\\u{0}" in failure.get(
        "message", ""
    )
