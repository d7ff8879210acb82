"""SARIF 2.1.0: the violations as code scanning shows them.

A live server has no source file here. A result is located in the history file that shows it,
which is uploaded beside it, and logically in the rule that is violated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from conformance.judge.verdict import FAIL
from conformance.report.again import HISTORY, replay
from conformance.report.evidence import Evidence
from conformance.report.findings import Finding, findings
from conformance.report.results import Results, RuleResult
from conformance.report.visible import visible
from conformance.wire.exchange import JsonObject

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"

_TEXT_LIMIT = 2000


def render(results: Results, *, history: Path = HISTORY) -> str:
    """The results as SARIF. ``history`` is the folder that holds the files of the evidence."""
    log = {"$schema": SCHEMA, "version": VERSION, "runs": [_run(results, history)]}
    return json.dumps(log, ensure_ascii=False, indent=1) + "\n"


def _run(results: Results, history: Path) -> JsonObject:
    told = [*findings(results), *findings(results, expected=True)]
    rules = sorted((finding.rule for finding in told), key=lambda rule: rule.id)
    index = {rule.id: number for number, rule in enumerate(rules)}
    invocation: JsonObject = {"executionSuccessful": not results.run.cut_short}
    if results.run.started:
        invocation["startTimeUtc"] = visible(results.run.started, 40)
    return {
        "tool": {
            "driver": {
                "name": "mcp-tasks-conformance",
                "version": results.suite,
                "semanticVersion": results.suite,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "automationDetails": {"id": f"mcp-tasks-conformance/{visible(results.spec, 40)}/"},
        "invocations": [invocation],
        "results": [_result(finding, index, results, history) for finding in told],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "url": visible(results.target.url, _TEXT_LIMIT),
            "server": visible(results.target.name, _TEXT_LIMIT),
            "verdict": results.verdict,
            "catalogue": results.catalogue,
            "seed": results.run.seed,
            "leftOut": [visible(rule, 100) for rule in results.run.left_out],
        },
    }


def _rule(rule: RuleResult) -> JsonObject:
    explanation = " ".join(rule.explanation.split())
    text = visible(f"{rule.title} {explanation}".strip(), _TEXT_LIMIT)
    described: JsonObject = {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.replace(".", "-").split("-")),
        "shortDescription": {"text": visible(rule.title, _TEXT_LIMIT)},
        "fullDescription": {"text": text},
        "help": {"text": f"{text}\n\n{visible(rule.source, _TEXT_LIMIT)}"},
        "defaultConfiguration": {"level": _level(rule)},
        "properties": {"tags": ["mcp", "tasks", rule.topic, rule.level]},
    }
    if rule.source.startswith(("https://", "http://")):
        described["helpUri"] = rule.source
    return described


def _level(rule: RuleResult) -> str:
    return "error" if rule.verdict == FAIL else "warning"


def _result(finding: Finding, index: dict[str, int], results: Results, history: Path) -> JsonObject:
    rule = finding.rule
    result: JsonObject = {
        "ruleId": rule.id,
        "ruleIndex": index[rule.id],
        "kind": "fail",
        "level": _level(rule),
        "message": {"text": _message(finding, results, history)},
        "locations": [_location(rule, finding.decisive, history)],
        # The same violation keeps its identity from run to run.
        "partialFingerprints": {"rule/v1": _digest((results.spec, rule.id))},
    }
    if rule.intermittent:
        result["properties"] = {"intermittent": True}
    if rule.expected:
        justification = visible(rule.expectation or "named by the baseline", _TEXT_LIMIT)
        result["suppressions"] = [{"kind": "external", "justification": justification}]
    return result


def _message(finding: Finding, results: Results, history: Path) -> str:
    decisive = finding.decisive
    lines = [finding.rule.reason]
    if decisive is not None and decisive.expected:
        lines.append(f"Expected: {decisive.expected}")
    if decisive is not None and decisive.found:
        lines.append(f"Came: {decisive.found}")
    if decisive is not None:
        lines.append(f"Seen in {decisive.history}, exchange {decisive.exchange}")
    replayed = replay(finding.rule, results, history)
    if replayed:
        lines.append(f"Again: {replayed.splitlines()[0]}")
    if finding.also:
        lines.append(f"Not judged because of this: {', '.join(r.id for r in finding.also)}")
    return "\n".join(visible(line, _TEXT_LIMIT) for line in lines)


def _location(rule: RuleResult, decisive: Evidence | None, history: Path) -> JsonObject:
    file = history / (decisive.history if decisive is not None else "")
    logical: JsonObject = {"name": rule.id, "kind": "module"}
    if decisive is not None:
        logical["fullyQualifiedName"] = f"{rule.id}/{visible(decisive.history, 200)}"
        logical["fullyQualifiedName"] += f"/exchange-{decisive.exchange}"
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(file.as_posix())},
            # The first line of a history says what run it is of.
            "region": {"startLine": 1},
        },
        "logicalLocations": [logical],
    }


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
