"""Lines that fit a terminal: what is too long goes on under itself."""

from __future__ import annotations

import re
import textwrap

_FURTHER = 4
# Columns are told apart by two spaces or more; the last one that begins so far left counts.
_COLUMN = re.compile(r"(?:^|\S)( {2,})(?=\S)")
_FURTHEST_LEFT = 0.6


def hung(text: str, width: int | None) -> str:
    """The text in lines no wider than ``width``; as it is where that is ``None``.

    A column goes on under its beginning, other text a little further in. No word is broken: an
    address over two lines cannot be clicked.
    """
    if width is None:
        return text
    return "\n".join(line for long in text.split("\n") for line in _hung(long, width))


def _hung(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    begins = [found.end() for found in _COLUMN.finditer(line)]
    margin = len(line) - len(line.lstrip(" "))
    column = max((b for b in begins if margin < b <= width * _FURTHEST_LEFT), default=None)
    begin = margin if column is None else column
    return textwrap.wrap(
        line[begin:],
        width,
        initial_indent=line[:begin],
        subsequent_indent=" " * (margin + _FURTHER if column is None else column),
        break_long_words=False,
        break_on_hyphens=False,
    )
