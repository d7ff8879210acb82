"""Texts for people fit their terminal, and are whole in a pipe."""

from __future__ import annotations

import pytest

from conformance.report.wrapping import hung
from tests.commands import command


def test_a_column_goes_on_under_its_beginning() -> None:
    line = f"  name      must     {'word ' * 12}".rstrip()
    first, *others = hung(line, 40).split("\n")
    assert first.startswith("  name      must     word")
    assert others
    for other in others:
        assert other.startswith(" " * 21 + "word")
    assert max(map(len, (first, *others))) <= 40


def test_other_text_goes_on_a_little_further_in() -> None:
    text = "a heading\n  names that come: " + ", ".join(["a-long-name"] * 6)
    lines = hung(text, 40).split("\n")
    assert lines[0] == "a heading"
    assert [line[:6].strip(" ") == "" for line in lines[2:]] == [True] * len(lines[2:])
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())


def test_no_address_is_broken_and_a_pipe_gets_all() -> None:
    address = "https://example.com/" + "a-path/" * 12
    assert address in hung(f"      {address}", 40).split("\n")[0]
    assert hung("word " * 100, None) == "word " * 100


@pytest.mark.parametrize(
    "arguments",
    [("rules",), ("rules", "polling.shape"), ("rules", "--diff", "2025-11-25", "2026-07-28")],
)
def test_commands_fit_their_terminal(arguments: tuple[str, ...]) -> None:
    wide = command(*arguments, environment={"COLUMNS": None}).output
    narrow = command(*arguments, environment={"COLUMNS": "80"}).output
    assert max(map(len, wide.splitlines())) > 80
    assert [n for n in narrow.splitlines() if len(n) > 80 and "https://" not in n] == []
    assert narrow.split() == wide.split()
