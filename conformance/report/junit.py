"""JUnit XML: a suite for each topic of the catalogue, a case for each rule."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from conformance.judge.verdict import FAIL, NOT_APPLICABLE, NOT_EXERCISED, WARN
from conformance.report.again import HISTORY, again
from conformance.report.results import Results, RuleResult
from conformance.report.story import told
from conformance.report.visible import visible


def render(results: Results, *, strict: bool = False, history: Path = HISTORY) -> str:
    """The results as JUnit XML. A warning is a failure only where ``strict``.

    Violations that the baseline names are skipped, with its reason. ``history`` is the folder
    of the files that the evidence names. Nothing is in it that the strict schema of Jenkins'
    xUnit plugin refuses, such as a ``file`` of a case.
    """
    root = ElementTree.Element("testsuites", name="mcp-tasks-conformance")
    suites = []
    for topic in dict.fromkeys(rule.topic for rule in results.rules):
        rules = [rule for rule in results.rules if rule.topic == topic]
        suite = ElementTree.SubElement(root, "testsuite", name=_text(topic))
        _count(suite, rules, strict)
        suite.set("time", "0")
        suite.set("file", _text(history.as_posix()))
        suite.set("timestamp", _text(results.run.started.removesuffix("Z")))
        _add_properties(suite, results)
        for rule in rules:
            _add_case(suite, rule, told(rule, again(rule, results, history)), strict)
        suites.append(suite)
    _count(root, results.rules, strict)
    del root.attrib["skipped"]
    root.set("time", f"{results.run.seconds:.3f}")
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="utf-8"?>\n', "\n")
    )


def _count(element: ElementTree.Element, rules: Iterable[RuleResult], strict: bool) -> None:
    kinds = [_kind(rule, strict) for rule in rules]
    element.set("tests", str(len(kinds)))
    element.set("failures", str(kinds.count("failure")))
    element.set("errors", "0")
    element.set("skipped", str(kinds.count("skipped")))


def _kind(rule: RuleResult, strict: bool) -> str:
    if rule.verdict in (NOT_EXERCISED, NOT_APPLICABLE) or (rule.violated and rule.expected):
        return "skipped"
    if rule.verdict == FAIL or (rule.verdict == WARN and strict):
        return "failure"
    return "passed"


def _add_properties(suite: ElementTree.Element, results: Results) -> None:
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (
        ("spec", results.spec),
        ("url", results.target.url),
        ("server", results.target.name),
        ("seed", str(results.run.seed)),
        ("suite-version", results.suite),
        ("catalogue", results.catalogue),
        ("verdict", results.verdict),
        ("left-out", " ".join(results.run.left_out)),
    ):
        ElementTree.SubElement(properties, "property", name=name, value=_text(value))


def _add_case(suite: ElementTree.Element, rule: RuleResult, story: list[str], strict: bool) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"mcp-tasks.{_text(rule.topic)}", name=_text(rule.id)
    )
    case.set("time", "0")
    kind = _kind(rule, strict)
    if kind == "skipped" and rule.violated:
        ElementTree.SubElement(case, "skipped", message=_text(f"expected: {rule.expectation}"))
    elif kind == "skipped":
        message = f"{rule.verdict.replace('-', ' ')}: {rule.reason}"
        ElementTree.SubElement(case, "skipped", message=_text(message))
    elif kind == "failure":
        kind_of_failure = "warning" if rule.verdict == WARN else "violation"
        failure = ElementTree.SubElement(
            case, "failure", message=_text(rule.reason), type=kind_of_failure
        )
        failure.text = _text("\n".join(story))
    elif rule.verdict == WARN:
        output = ElementTree.SubElement(case, "system-out")
        output.text = _text("\n".join((f"warning: {rule.reason}", *story)))


def _text(text: str) -> str:
    """Text that XML 1.0 can hold: what it cannot hold is made visible."""
    return visible(text, keep="\n\t")
