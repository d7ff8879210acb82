"""A rule and its evidence as plain lines, for logs and test reports."""

from __future__ import annotations

from conformance.report.evidence import Evidence
from conformance.report.findings import request_words, response_words
from conformance.report.results import RuleResult
from conformance.wire.parsing import dump_json


def told(rule: RuleResult, again: str) -> list[str]:
    """What a rule asks, the exchanges that show its verdict, and how to see it again."""
    lines = [f"{rule.id} ({rule.level}): {rule.title}", rule.source, ""]
    for evidence in rule.evidence:
        lines.extend(_exchange(evidence))
    if again:
        lines += ["", "To see it again:", again]
    return lines


def _exchange(evidence: Evidence) -> list[str]:
    where = f"{evidence.history}, exchange {evidence.exchange}"
    lines = [f"{where}: {request_words(evidence)}: {response_words(evidence)}"]
    if evidence.expected:
        lines.append(f"  expected: {evidence.expected}")
    if evidence.found:
        lines.append(f"  found:    {evidence.found}")
    if evidence.member:
        lines.append(f"  member:   {evidence.member}")
    if evidence.note and "body" in evidence.response:
        lines.append(f"  response: {dump_json(evidence.response['body'])}")
    return lines
