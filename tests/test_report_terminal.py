"""What a person at a terminal sees."""

from __future__ import annotations

import io
import re
import threading

import click
import pytest

from conformance.report.results import RunFacts
from conformance.report.terminal import Progress, summary_lines
from tests.builders import creation, exchange, history
from tests.report_samples import discovery, judged, rule, sample

LAST_LINE = re.compile(
    r"(conformant|non-conformant|inconclusive|not-offered): \d+ passed, \d+ failed, \d+ warned, "
    r"(\d+ expected, )?\d+ not exercised, \d+ not applicable "
    r"\(must: \d+ of \d+ exercised\) in \d+\.\d s"
)


def test_the_last_line_is_stable() -> None:
    lines = summary_lines(sample()).split("\n")
    assert lines[-1] == (
        "non-conformant: 2 passed, 2 failed, 2 warned, 4 not exercised, 1 not applicable "
        "(must: 3 of 6 exercised) in 7.9 s"
    )
    assert LAST_LINE.fullmatch(lines[-1])


def test_known_violations_are_in_the_last_line_and_named_with_their_reason() -> None:
    text = summary_lines(sample({"creation.durable": "ticket 12"}))
    assert ", 1 failed, 2 warned, 1 expected, " in text
    assert "known     creation.durable (ticket 12)" in text
    assert "FAIL creation.durable" not in text


def test_a_violation_tells_all_that_its_author_needs() -> None:
    text = summary_lines(sample(hostile=""), width=100)
    finding = text.partition("FAIL polling.result-type")[0]
    assert "FAIL creation.durable (must)" in finding
    for words in (
        "asks      What the text asks of `creation.durable`",
        "https://modelcontextprotocol.github.io/ext-tasks/",
        "expected  the task",
        "came      error -32602",
        "reason    return the handle once the task can be read",
        "where     creation.burst.jsonl, exchange ",
        "at /error/code",
        "also      not judged because of this: creation.unique-ids",
        "curl -sS -i -w '\\n' http://127.0.0.1:8000/mcp",
    ):
        assert words in finding


def test_what_was_not_exercised_is_one_line_a_reason() -> None:
    text = summary_lines(sample(hostile=""), width=400)
    unseen = text.partition("Not exercised (must):\n")[2].split("\n\n")[0].split("\n")
    assert len(unseen) == 2
    assert "--other-header" in unseen[0]
    assert unseen[0].endswith("security.foreign-get, security.foreign-update")
    assert "--tool large:NAME" in unseen[1]


@pytest.mark.parametrize("colour", [True, False])
def test_nothing_of_the_server_reaches_the_terminal_but_printable_text(colour: bool) -> None:
    text = click.unstyle(summary_lines(sample(), colour=colour))
    assert all(line.isprintable() for line in text.split("\n"))
    assert "\\u{202e}" in text


def test_colour_only_where_asked_for() -> None:
    assert "\x1b[" in summary_lines(sample(), colour=True)
    assert "\x1b[" not in summary_lines(sample(), colour=False)


def test_lines_keep_the_width() -> None:
    text = summary_lines(sample(hostile="word " * 200), width=60)
    story = [line for line in text.split("\n") if line.startswith("  ") and "://" not in line]
    wrapped = [line for line in story if not line.startswith("    ")]
    assert all(len(line) <= 60 for line in wrapped)


def test_a_run_without_findings_is_short() -> None:
    found = discovery()
    text = summary_lines(judged([rule("polling.shape")], history(found), RunFacts(cut_short="x")))
    assert "The run was cut short: x." in text
    assert LAST_LINE.fullmatch(text.split("\n")[-1])


def test_a_server_that_does_not_offer_it_is_told_so_and_no_more() -> None:
    found = discovery(extension=False)
    text = summary_lines(judged([rule("polling.shape", needs=("task",))], history(found)))
    assert text.startswith("The server does not offer the Tasks extension")
    assert "--tool" not in text


class Told(io.StringIO):
    """A stream that says when it was written to."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        written = super().write(text)
        self.written.set()
        return written


def progress_text(terminal: bool) -> str:
    stream = Told(terminal=terminal)
    progress = Progress(stream, every=0.01)
    progress.exchanged(creation("task-1"))
    progress.exchanged(exchange())
    progress.doing("driving \x1b[31m")
    assert stream.written.wait(10)
    progress.done()
    progress.done()
    return stream.getvalue()


def test_progress_in_a_log_is_plain_lines() -> None:
    lines = progress_text(terminal=False).splitlines()
    assert lines[0].startswith("driving \\u{1b}[31m: 2 requests, 1 tasks, ")
    assert "\x1b" not in "".join(lines)


def test_progress_on_a_terminal_is_one_line_that_is_gone_at_the_end() -> None:
    text = progress_text(terminal=True)
    assert "\n" not in text
    assert text.startswith("\r\x1b[Kdriving ")
    assert text.endswith("\r\x1b[K")


def test_progress_survives_a_stream_that_is_closed() -> None:
    stream = Told(terminal=False)
    progress = Progress(stream, every=0.01)
    progress.doing("driving")
    assert stream.written.wait(10)
    stream.close()
    progress.done()


def test_progress_that_never_began_says_nothing() -> None:
    stream = Told(terminal=True)
    Progress(stream).done()
    assert stream.getvalue() == ""
