"""The HTML report: one file, without network, in which every byte of the server is text.

The template escapes everything; text from elsewhere is made visible first. The page may run
only the style and the script that are in it, by their hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from markupsafe import Markup, escape

from conformance.judge.rule import ADVICE, IMPLIED, LEVELS, MUST, SHOULD
from conformance.judge.verdict import FAIL, NOT_APPLICABLE, NOT_EXERCISED, PASS, VERDICTS, WARN
from conformance.report.again import HISTORY, again
from conformance.report.evidence import Evidence
from conformance.report.findings import (
    blocked,
    conclusion,
    findings,
    not_exercised,
    request_words,
    response_words,
    summary_line,
    tasks_of,
)
from conformance.report.page import asset, digest, template
from conformance.report.picture import Picture, picture
from conformance.report.printing import Line, request_lines, response_lines
from conformance.report.results import Results, RuleResult
from conformance.report.visible import visible

# The most characters of printed exchanges and curl lines in one report, as HTML.
_ROOM = 2_000_000
_REPRODUCER_LIMIT = 100_000
_TOOLS_SHOWN = 200

LEVEL_WORDS = {
    MUST: "a MUST of the text, or what its schema requires",
    IMPLIED: "no sentence of its own, but the definitions leave no other reading",
    SHOULD: "a SHOULD of the text",
    ADVICE: "contested, or quality that users expect",
}
VERDICT_WORDS = {
    FAIL: "failed",
    WARN: "warned",
    PASS: "passed",
    NOT_EXERCISED: "not exercised",
    NOT_APPLICABLE: "not applicable",
}


@dataclass(frozen=True)
class ShownExchange:
    """An exchange as printed, or only named where the report has no more room."""

    evidence: Evidence
    asked: str
    came: str
    request: Sequence[Line] = ()
    response: Sequence[Line] = ()

    @property
    def printed(self) -> bool:
        return bool(self.response)


@dataclass(frozen=True)
class Look:
    """The exchanges of one observation, in order. The last one decides."""

    exchanges: tuple[ShownExchange, ...]

    @property
    def decisive(self) -> ShownExchange:
        return self.exchanges[-1]

    @property
    def before(self) -> tuple[ShownExchange, ...]:
        return self.exchanges[:-1]


@dataclass(frozen=True)
class ShownRule:
    """A rule with its evidence as printed."""

    rule: RuleResult
    looks: tuple[Look, ...]
    reproduce: str
    told_by: str = ""
    picture: Picture | None = None


class _Room:
    """How much may still be printed: the report stays small whatever the server sent."""

    def __init__(self, left: int) -> None:
        self.left = left

    def exchange(self, evidence: Evidence) -> ShownExchange:
        asked, came = request_words(evidence), response_words(evidence)
        request, response = request_lines(evidence), response_lines(evidence)
        size = sum(len(escape(line.text)) + 24 for line in (*request, *response))
        if not self._take(size):
            return ShownExchange(evidence, asked, came)
        return ShownExchange(evidence, asked, came, request, response)

    def reproducer(self, text: str) -> str:
        shown = visible(text, keep="\n")
        size = len(escape(shown))
        return shown if size <= _REPRODUCER_LIMIT and self._take(size) else ""

    def _take(self, size: int) -> bool:
        fits = size <= self.left
        self.left -= size if fits else 0
        return fits


def render(results: Results, *, history: Path = HISTORY) -> str:
    """The report as the text of an HTML file, made from the results alone. ``history`` is the
    folder of the files that the evidence names."""
    room = _Room(_ROOM)

    def shown(rule: RuleResult, told_by: str = "") -> ShownRule:
        return _shown(rule, room, again(rule, results, history), told_by)

    told = {
        finding.rule.id: shown(finding.rule)
        for finding in (*findings(results), *findings(results, expected=True))
    }
    told_by = {
        rule.id: finding.rule.id
        for finding in (*findings(results), *findings(results, expected=True))
        for rule in finding.also
    }
    rules = [
        ShownRule(rule, (), "", rule.id)
        if rule.id in told
        else shown(rule, told_by.get(rule.id, ""))
        for rule in results.rules
    ]
    style, script = asset("report.css"), asset("report.js")
    return template("report.html.jinja").render(
        results=results,
        target=results.target,
        run=results.run,
        conclusion=conclusion(results),
        summary=summary_line(results),
        findings=findings(results),
        known=findings(results, expected=True),
        told=told,
        topics=[(t, list(group)) for t, group in groupby(rules, lambda r: r.rule.topic)],
        unseen=not_exercised(results, *LEVELS),
        blocked=len(blocked(results)),
        must=MUST,
        tasks_of=tasks_of,
        level_words=LEVEL_WORDS,
        verdict_words=VERDICT_WORDS,
        verdicts=VERDICTS,
        levels=LEVELS,
        tools=results.tools[:_TOOLS_SHOWN],
        tools_left_out=max(len(results.tools) - _TOOLS_SHOWN, 0),
        style=Markup(style),  # our own file
        script=Markup(script),  # our own file
        style_hash=digest(style),
        script_hash=digest(script),
    )


def _shown(rule: RuleResult, room: _Room, reproducer: str, told_by: str) -> ShownRule:
    looks = groupby(rule.evidence, lambda evidence: evidence.observation)
    return ShownRule(
        rule,
        tuple(Look(tuple(map(room.exchange, look))) for _, look in looks),
        room.reproducer(reproducer),
        told_by,
        picture(rule.life) if rule.life is not None and rule.life.steps else None,
    )
