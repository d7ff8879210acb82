"""What a person at a terminal sees: progress while driving, then violations and one summary.

Text of the server is hostile: nothing of it reaches the terminal but printable characters.
"""

from __future__ import annotations

import shutil
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click

from conformance.judge.rule import MUST
from conformance.judge.verdict import FAIL
from conformance.report.again import HISTORY, replay
from conformance.report.findings import (
    Finding,
    conclusion,
    findings,
    names_of,
    not_exercised,
    summary_line,
)
from conformance.report.results import CONFORMANT, NON_CONFORMANT, NOT_OFFERED, Results
from conformance.report.visible import visible
from conformance.wire.exchange import Exchange

_TEXT_LIMIT = 600
_REPRODUCERS_SHOWN = 3
_REPRODUCER_LINES = 40
_LABEL = 10
_CLEAR_LINE = "\r\x1b[K"


# ---- progress ------------------------------------------------------------------------------


class Progress:
    """Says what the run is doing: one changing line on a terminal, else a line every
    ``every`` seconds. Call ``done`` at the end, also after an error; it may be called twice."""

    def __init__(self, stream: TextIO, *, every: float = 2.0) -> None:
        self._stream = stream
        self._changing = stream.isatty()
        self._every = min(every, 0.2) if self._changing else every
        self._doing = ""
        self._requests = 0
        self._tasks = 0
        self._begun = time.monotonic()
        self._over = threading.Event()
        self._teller: threading.Thread | None = None

    def doing(self, text: str) -> None:
        """A few words on what comes next."""
        self._doing = text
        if self._teller is None:
            self._begun = time.monotonic()
            self._teller = threading.Thread(target=self._keep_telling, daemon=True)
            self._teller.start()

    def exchanged(self, exchange: Exchange) -> None:
        """Count an exchange."""
        self._requests += 1
        if exchange.handle is not None:
            self._tasks += 1

    def done(self) -> None:
        """Stop, and leave the terminal clean."""
        if self._teller is None or self._over.is_set():
            return
        self._over.set()
        self._teller.join()
        if self._changing:
            self._write(_CLEAR_LINE)

    def _keep_telling(self) -> None:
        while not self._over.wait(self._every):
            if self._changing:
                width = shutil.get_terminal_size().columns
                self._write(f"{_CLEAR_LINE}{self._line()[: width - 1]}")
            else:
                self._write(f"{self._line()}\n")

    def _line(self) -> str:
        seconds = time.monotonic() - self._begun
        counts = f"{self._requests} requests, {self._tasks} tasks, " if self._requests else ""
        return f"{visible(self._doing, 80)}: {counts}{seconds:.0f} s"

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody listens any more; the run goes on.
            self._over.set()


# ---- the summary ---------------------------------------------------------------------------


def summary_lines(
    results: Results, *, width: int = 100, colour: bool = False, history: Path = HISTORY
) -> str:
    """The violations, what was not exercised, and the counts in the last line. ``history`` is the
    folder of the files that the evidence names."""
    page = _Page(width, colour)
    lines: list[str] = []
    for number, finding in enumerate(findings(results)):
        replayed = replay(finding.rule, results, history)
        shown = number < _REPRODUCERS_SHOWN or bool(replayed)
        lines += [*page.finding(finding, replayed or finding.rule.reproduce, shown=shown), ""]
    known = findings(results, expected=True)
    for finding in known:
        why = visible(finding.rule.expectation, _TEXT_LIMIT)
        lines += page.field("known", finding.rule.id + (f" ({why})" if why else ""))
    lines += [""] if known else []
    without_verdict = results.verdict == NOT_OFFERED or bool(results.run.unjudged)
    if without_verdict:
        lines += [*page.wrapped(visible(conclusion(results), _TEXT_LIMIT)), ""]
    if not without_verdict or any(rule.exercised for rule in results.rules):
        lines += page.unseen(results)
    if results.run.cut_short:
        lines += page.wrapped(f"The run was cut short: {visible(results.run.cut_short, 300)}.")
    lines.append(page.verdict(results))
    return "\n".join(lines)


class _Page:
    """Lines of a given width, with or without colour."""

    def __init__(self, width: int, colour: bool) -> None:
        self.width = max(width, 40)
        self.colour = colour

    def styled(self, text: str, colour: str | None = None, *, bold: bool = False) -> str:
        return click.style(text, fg=colour, bold=bold) if self.colour else text

    def wrapped(self, text: str, indent: str = "", first: str | None = None) -> list[str]:
        return textwrap.wrap(
            text,
            self.width,
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )

    def field(self, label: str, text: str) -> list[str]:
        """A labelled text; what is too long goes on under itself."""
        indent = " " * (_LABEL + 2)
        return self.wrapped(text, indent, first=f"  {label:<{_LABEL}}") if text else []

    def finding(self, finding: Finding, reproducer: str, *, shown: bool) -> Iterator[str]:
        rule = finding.rule
        mark = self.styled("FAIL", "red", bold=True)
        if rule.verdict != FAIL:
            mark = self.styled("WARN", "yellow", bold=True)
        yield f"{mark} {self.styled(rule.id, bold=True)} ({rule.level})"
        yield from self.field("asks", visible(rule.title, _TEXT_LIMIT))
        # Not wrapped: an address that is broken over two lines cannot be clicked.
        yield f"  {'':<{_LABEL}}{visible(rule.source, _TEXT_LIMIT)}"
        decisive = finding.decisive
        if decisive is not None:
            yield from self.field("expected", visible(decisive.expected, _TEXT_LIMIT))
            yield from self.field("came", visible(decisive.found, _TEXT_LIMIT))
        yield from self.field("reason", visible(rule.reason, _TEXT_LIMIT))
        if decisive is not None:
            member = f" at {visible(decisive.member, 200)}" if decisive.member else ""
            times = f", {rule.observations} times in all" if rule.observations > 1 else ""
            where = f"{visible(decisive.history, 200)}, exchange {decisive.exchange}"
            yield from self.field("where", f"{where}{member}{times}")
        if rule.intermittent:
            yield from self.field("note", "intermittent: it did not come back when repeated")
        if finding.also:
            yield from self.field("also", f"not judged because of this: {names_of(finding.also)}")
        if reproducer:
            yield from self._reproducer(reproducer, shown=shown)

    def _reproducer(self, text: str, *, shown: bool) -> Iterator[str]:
        lines = text.split("\n")
        if not shown or len(lines) > _REPRODUCER_LINES:
            yield from self.field("again", "the curl lines are in the report")
            return
        yield "  again"
        for line in lines:
            yield f"    {visible(line)}"

    def unseen(self, results: Results) -> Iterator[str]:
        groups = not_exercised(results, MUST)
        if not groups:
            return
        yield self.styled("Not exercised (must):", bold=True)
        for group in groups:
            text = f"{visible(group.reason, _TEXT_LIMIT)}: {names_of(group.rules)}"
            yield from self.wrapped(text, "    ", first="  ")
        yield ""

    def verdict(self, results: Results) -> str:
        colours = {CONFORMANT: "green", NON_CONFORMANT: "red"}
        return self.styled(summary_line(results), colours.get(results.verdict, "yellow"))
