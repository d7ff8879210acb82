"""JSON from strangers: a value, or one sentence on why there is none. Never an exception."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

# Deeper than any message, and shallow enough for whoever walks the value afterwards.
DEEPEST = 128
# Python reads and writes longer ones only when told to, since it takes it quadratic time.
_LONGEST_INTEGER = 4000

# Half of a pair: text may hold it, UTF-8 may not.
_SURROGATE = re.compile("[\ud800-\udfff]")

_TOO_DEEP = "nested too deeply to read"
_TOO_LARGE = "a number in it is too large to read"
_BYTE_ORDER_MARK = (
    "not JSON: Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)"
)


@dataclass(frozen=True)
class Parsed:
    """``value`` where ``problem`` is empty; JSON ``null`` is a value.

    ``limited`` is true where a limit of ours is the problem. RFC 8259 allows a reader limits, and
    that we have them is no fault of the text.
    """

    value: Any = None
    problem: str = ""
    limited: bool = False


class _TooLarge(ValueError):
    """A number that JSON allows and Python does not hold."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise _TooLarge
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    # An infinity could not be written as JSON again.
    if math.isinf(number):
        raise _TooLarge
    return number


# Made once: ``json.loads`` would make one for every text.
_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=_integer, parse_float=_number
)


def parse_json(data: bytes | str) -> Parsed:
    """Parse one JSON text as RFC 8259 has it: UTF-8, no NaN or Infinity."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Parsed(problem=f"not UTF-8 (byte {error.start})")
    if not text or text.isspace():
        return Parsed(problem="empty")
    if text.startswith("\ufeff"):
        return Parsed(problem=_BYTE_ORDER_MARK)
    # Looked at before it is decoded: to run out of stack in the middle of it ends the process, if
    # some callback of the garbage collector is called just then.
    if text.count("[") + text.count("{") > DEEPEST and _is_deeper_than(text, DEEPEST):
        return Parsed(problem=_TOO_DEEP, limited=True)
    try:
        value = _DECODER.decode(text)
    except _TooLarge:
        return Parsed(problem=_TOO_LARGE, limited=True)
    except ValueError as error:
        return Parsed(problem=f"not JSON: {str(error)[:120]}")
    return Parsed(value=value)


# Strings as a whole, since what looks like a bracket in them is none.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def _is_deeper_than(text: str, deepest: int) -> bool:
    """Whether arrays and objects are opened within each other in more than so many levels, up to
    where the text stops being JSON."""
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        first = text[match.start()]
        if first in "[{":
            depth += 1
            if depth > deepest:
                return True
        elif first in "]}":
            depth -= 1
    return False


def dump_json(value: object) -> str:
    """Compact JSON with its members in the order given; lone surrogates are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # The text may be tens of megabytes long: it is searched rather than encoded, which copies.
    if not text.isascii() and _SURROGATE.search(text):
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text
