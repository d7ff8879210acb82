"""SARIF, the badge, and what others' parsers want of JUnit XML."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from conformance.conclusion import check_writable, conclude
from conformance.errors import UsageError
from conformance.report import badge, junit, sarif
from conformance.report.results import Results
from tests.builders import history
from tests.report_samples import HOSTILE, discovery, judged, sample

# What SARIF 2.1.0 requires of the objects that are used, and what GitHub asks of them.
_SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {"type": "array", "items": {"$ref": "#/$defs/rule"}}
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {"type": "object", "required": ["executionSuccessful"]},
                    },
                    "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
                },
            },
        },
    },
    "$defs": {
        "text": {
            "type": "object",
            "required": ["text"],
            "properties": {"text": {"type": "string", "minLength": 1}},
        },
        "rule": {
            "type": "object",
            "required": ["id", "shortDescription", "fullDescription", "helpUri"],
            "properties": {
                "shortDescription": {"$ref": "#/$defs/text"},
                "fullDescription": {"$ref": "#/$defs/text"},
                "helpUri": {"type": "string", "pattern": "^https://"},
                "defaultConfiguration": {
                    "properties": {"level": {"enum": ["none", "note", "warning", "error"]}}
                },
            },
        },
        "result": {
            "type": "object",
            "required": ["ruleId", "ruleIndex", "message", "locations", "partialFingerprints"],
            "properties": {
                "level": {"enum": ["none", "note", "warning", "error"]},
                "kind": {"const": "fail"},
                "message": {"$ref": "#/$defs/text"},
                "locations": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["physicalLocation", "logicalLocations"],
                        "properties": {
                            "physicalLocation": {
                                "type": "object",
                                "required": ["artifactLocation", "region"],
                                "properties": {
                                    "artifactLocation": {
                                        "properties": {
                                            "uri": {"type": "string", "pattern": "^[!-~]+$"}
                                        },
                                        "required": ["uri"],
                                    },
                                    "region": {
                                        "required": ["startLine"],
                                        "properties": {"startLine": {"minimum": 1}},
                                    },
                                },
                            }
                        },
                    },
                },
            },
        },
    },
}


def log_of(results: Results, **more: Any) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(sarif.render(results, **more))
    jsonschema.validate(log, _SARIF)
    return log


def conformant() -> Results:
    return replace(judged([], history(discovery())), verdict="conformant")


def test_sarif_has_a_result_for_each_violation() -> None:
    run = log_of(sample())["runs"][0]
    levels = {result["ruleId"]: result["level"] for result in run["results"]}
    assert levels == {
        "creation.durable": "error",
        "polling.result-type": "error",
        "polling.does-not-block": "warning",
        "polling.timestamps": "warning",
    }
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])


def test_sarif_says_where_and_what() -> None:
    run = log_of(sample(), history=Path("out/history"))["runs"][0]
    first = run["results"][0]
    location = first["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"].startswith("out/history/")
    assert location["logicalLocations"][0]["name"] == "creation.durable"
    assert "creation.burst.jsonl/exchange-" in location["logicalLocations"][0]["fullyQualifiedName"]
    text = first["message"]["text"]
    assert "return the handle once the task can be read" in text
    assert "Expected: the task" in text
    assert "creation.unique-ids" in text
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_sarif_of_the_same_violation_has_the_same_fingerprint() -> None:
    prints = [
        [r["partialFingerprints"] for r in log_of(each)["runs"][0]["results"]]
        for each in (sample(), sample(hostile="other"))
    ]
    assert prints[0] == prints[1]
    assert len({json.dumps(p) for p in prints[0]}) == len(prints[0])


def test_sarif_suppresses_what_the_baseline_names() -> None:
    run = log_of(sample({"creation.durable": "ticket 12"}))["runs"][0]
    suppressed = [r for r in run["results"] if r.get("suppressions")]
    assert [r["ruleId"] for r in suppressed] == ["creation.durable"]
    assert suppressed[0]["suppressions"][0]["justification"] == "ticket 12"


def test_sarif_of_a_conformant_server_is_empty() -> None:
    run = log_of(conformant())["runs"][0]
    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []


def test_an_incomplete_sarif_would_be_noticed() -> None:
    log = json.loads(sarif.render(sample()))
    del log["runs"][0]["results"][0]["message"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, _SARIF)


# ---- the badge -----------------------------------------------------------------------------


def test_the_badge_of_shields() -> None:
    told = json.loads(badge.render(sample(), Path("b.json")))
    assert told == {
        "schemaVersion": 1,
        "label": "MCP Tasks",
        "message": "2 rules broken",
        "color": "red",
    }
    assert json.loads(badge.endpoint(conformant()))["color"] == "brightgreen"


@pytest.mark.parametrize(
    ("verdict", "message", "colour"),
    [
        ("conformant", "conformant 2026-07-28 (2/4 must)", "#1c6236"),
        ("non-conformant", "2 rules broken", "#a3171c"),
        ("inconclusive", "inconclusive", "#7a4b00"),
        ("not-offered", "not offered", "#565d66"),
    ],
)
def test_the_badge_says_the_verdict(verdict: str, message: str, colour: str) -> None:
    results = replace(sample(), verdict=verdict)
    if verdict == "conformant":
        seen = [r for r in results.rules if r.level == "must"]
        message = f"conformant 2026-07-28 ({sum(r.exercised for r in seen)}/"
        message += f"{sum(r.verdict != 'not-applicable' for r in seen)} must)"
    picture = ElementTree.fromstring(badge.svg(results))
    assert picture.get("aria-label") == f"MCP Tasks: {message}"
    texts = [t.text for t in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["MCP Tasks", message]
    fills = [r.get("fill") for r in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert colour in fills


def test_a_badge_cannot_be_broken_from_without() -> None:
    results = replace(conformant(), spec=f'"><script>{HOSTILE}')
    picture = ElementTree.fromstring(badge.svg(results))
    assert {e.tag.rpartition("}")[2] for e in picture.iter()} == {
        "svg", "title", "rect", "g", "text",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["badge.png", "badge", "svg"])
def test_another_suffix_is_refused_before_the_run(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.svg or \.json"):
        check_writable({"badge": tmp_path / name, "html": tmp_path / "h", "json_": tmp_path / "j"})


# ---- JUnit ---------------------------------------------------------------------------------


def test_the_counts_of_junit_are_those_of_its_cases() -> None:
    root = ElementTree.fromstring(junit.render(sample(), history=Path("out/history")))
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        assert int(element.get("tests", "")) == len(cases)
        assert int(element.get("failures", "")) == sum(c.find("failure") is not None for c in cases)
        assert element.get("errors") == "0"
        assert float(element.get("time", "")) >= 0
    for suite in root:
        assert suite.get("file") == "out/history"
        skipped = sum(c.find("skipped") is not None for c in suite.iter("testcase"))
        assert int(suite.get("skipped", "")) == skipped


def test_junit_has_only_what_the_strictest_schema_knows() -> None:
    known = {
        "testsuites": {"name", "tests", "failures", "errors", "time"},
        "testsuite": {
            "name", "tests", "failures", "errors", "skipped", "time", "timestamp", "file",
        },
        "properties": set(),
        "property": {"name", "value"},
        "testcase": {"classname", "name", "time"},
        "failure": {"message", "type"},
        "skipped": {"message"},
        "system-out": set(),
    }  # fmt: skip
    root = ElementTree.fromstring(junit.render(sample({"polling.timestamps": "known"})))
    for element in root.iter():
        assert set(element.attrib) <= known[element.tag]
    names = [(c.get("classname"), c.get("name")) for c in root.iter("testcase")]
    assert len(names) == len(set(names))


# ---- all of them, from the options ---------------------------------------------------------


def test_every_output_is_written_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    names = {"html": "r.html", "json_": "r.json", "junit": "j.xml", "markdown": "m.md"}
    options: dict[str, Any] = {option: tmp_path / "out" / name for option, name in names.items()}
    options |= {"sarif": tmp_path / "out" / "s.sarif", "badge": tmp_path / "out" / "b.svg"}
    check_writable(options)
    assert conclude(sample(), options) == 1
    for path in options.values():
        assert path.stat().st_size > 0
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("before\n## MCP Tasks conformance: non-conformant")
    assert capsys.readouterr().out.splitlines()[-1].startswith("non-conformant: ")


def test_a_step_summary_that_cannot_be_written_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "absent" / "summary.md"))
    options = {"html": tmp_path / "r.html", "json_": tmp_path / "r.json"}
    assert conclude(sample(), options) == 1
    assert "note: cannot write the step summary" in capsys.readouterr().err
