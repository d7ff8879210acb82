"""A short Markdown summary, such as GitHub shows for a job (``$GITHUB_STEP_SUMMARY``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from conformance.judge.rule import LEVELS, MUST
from conformance.judge.verdict import VERDICTS
from conformance.report.again import HISTORY, replay
from conformance.report.findings import Finding, conclusion, findings, not_exercised, summary_line
from conformance.report.results import Results, RuleResult
from conformance.report.visible import visible

_FINDINGS_SHOWN = 30
_TEXT_LIMIT = 300


def render(results: Results, *, history: Path = HISTORY) -> str:
    """The verdict, the findings with what was expected and what came, and what was not seen.
    ``history`` is the folder of the files that the evidence names."""
    return "\n".join((*_head(results), *_findings(results, history), *_unseen(results))) + "\n"


def _head(results: Results) -> Iterator[str]:
    target, run = results.target, results.run
    yield f"## MCP Tasks conformance: {results.verdict}"
    yield ""
    yield plain(conclusion(results))
    yield ""
    started = f", {plain(run.started)}" if run.started else ""
    yield f"{code(target.name)} at {code(target.url)}, revision {plain(results.spec)}{started}"
    yield ""
    yield "| level | " + " | ".join(verdict.replace("-", " ") for verdict in VERDICTS) + " |"
    yield "| --- |" + " ---: |" * len(VERDICTS)
    for level in LEVELS:
        counts = results.summary.get(level, {})
        yield f"| {level} | " + " | ".join(str(counts.get(v, 0)) for v in VERDICTS) + " |"
    yield ""


def _findings(results: Results, history: Path) -> Iterator[str]:
    found = findings(results)
    known = findings(results, expected=True)
    if found:
        yield f"### Findings ({len(found)})"
        yield ""
    for finding in found[:_FINDINGS_SHOWN]:
        yield from _finding(finding)
        replayed = replay(finding.rule, results, history)
        if replayed:
            yield f"  - again: {code(replayed.splitlines()[0])}"
    if len(found) > _FINDINGS_SHOWN:
        yield f"- … and {len(found) - _FINDINGS_SHOWN} more"
    if found:
        yield ""
    if known:
        yield f"Known violations: {_names(finding.rule for finding in known)}"
        yield ""


def _finding(finding: Finding) -> Iterator[str]:
    rule = finding.rule
    title = rule.title.rstrip(".")
    yield f"- **{rule.verdict}** {_linked(rule)} ({rule.level}): {plain(title)}"
    decisive = finding.decisive
    if decisive is not None and (decisive.expected or decisive.found):
        yield f"  - expected {code(decisive.expected)}, came {code(decisive.found)}"
    yield f"  - {plain(rule.reason)}"
    if decisive is not None:
        yield f"  - seen in {code(decisive.history)}, exchange {decisive.exchange}"
    if finding.also:
        yield f"  - not judged because of this: {_names(finding.also)}"


def _unseen(results: Results) -> Iterator[str]:
    groups = not_exercised(results, MUST)
    if groups:
        yield "### Not exercised (must)"
        yield ""
    for group in groups:
        yield f"- {plain(group.reason)}: {_names(group.rules)}"
    if groups:
        yield ""
    yield code(summary_line(results))


def _names(rules: Iterator[RuleResult] | tuple[RuleResult, ...]) -> str:
    return ", ".join(code(rule.id) for rule in rules)


def _linked(rule: RuleResult) -> str:
    safe = re.fullmatch(r"https?://[A-Za-z0-9./_#~-]+", rule.source)
    return f"[{code(rule.id)}]({rule.source})" if safe else code(rule.id)


def code(text: str) -> str:
    """A code span, whatever backticks are in the text."""
    shown = visible(text, _TEXT_LIMIT) or " "
    runs = [len(run) for run in re.findall("`+", shown)]
    fence = "`" * next(n for n in range(1, len(runs) + 2) if n not in runs)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def plain(text: str) -> str:
    """Text in which nothing is markup, a link or a mention; code spans of ours stay."""
    parts = visible(text, _TEXT_LIMIT).split("`")
    if len(parts) % 2 == 0:
        return _escaped("`".join(parts))
    return "".join(code(part) if index % 2 else _escaped(part) for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)
    # GitHub makes links of bare addresses and mentions of names.
    return text.replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "@&#8203;")
