"""How much of a task's id could be unknown to somebody who has seen others.

The estimate is an upper bound, made from the ids of one run, which are few. What is the same in
all of them counts nothing; what varies counts as if it were random, over the largest alphabet
that its characters suggest. So ids are called guessable only where even the kindest reading
leaves too little: nothing with 64 random bits can be. Ids that pass may still be predictable, a
hash of a counter for instance, since no sample can show that something is random.
"""

from __future__ import annotations

import math
import re
import statistics
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Fewer ids than this do not show what is the same in all of them.
FEWEST = 4
# More ids than this would say no more.
MOST = 200
# Of a very long id, a signed token for instance, the beginning is enough to find what varies.
_LONGEST = 400
# Fewer bits than this can be searched: with a thousand live tasks and ten thousand tries a
# second, one is found within hours.
GUESSABLE_BELOW = 40.0
# What is customary for a secret that is all there is.
CUSTOMARY = 64.0

# How far a number in an id may be from the time of creation to be taken for a clock: the clocks
# of the server and of this machine may differ, and time zones are a common mistake.
_CLOCK_TOLERANCE_SECONDS = 36 * 3600.0
# Units of a clock, in ticks a second.
_TICKS = (1, 10**3, 10**6, 10**9)
# UUIDs of versions 1 and 6 count 100 ns from 15 October 1582, so many seconds before 1970.
_GREGORIAN_SECONDS = 12_219_292_800

COUNTER, CLOCK, RISING, SMALL, SHARED = "counter", "clock", "rising", "small", "shared"

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_UUID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}-?[0-9a-f]{4}-?[1-8][0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}"
    r"(?![0-9a-f])",
    re.IGNORECASE,
)
_ULID = re.compile(r"(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Z])", re.IGNORECASE)
_TOKEN = re.compile(r"[0-9A-Za-z]+")
_ALPHABETS = (
    string.digits,
    string.digits + "abcdef",
    string.digits + "ABCDEF",
    string.digits + string.ascii_lowercase,
    string.digits + string.ascii_uppercase,
    string.digits + string.ascii_letters,
    string.digits + string.ascii_letters + "-_",
    string.digits + string.ascii_letters + "+/=",
)
_PRINTABLE = 94


@dataclass(frozen=True)
class IdSample:
    """An id and what is known of its making: when, in seconds since 1970, by which tool, and
    for which caller."""

    task_id: str
    at: float | None = None
    tool: str = ""
    caller: str = "first"


@dataclass(frozen=True)
class Estimate:
    """``bits`` bounds from above what a third party cannot know of an id. ``count`` distinct
    ids were looked at, ``length`` is their median length, ``varying`` says in how many of their
    characters they differ.

    ``pattern`` is what the varying part looks like: ``counter``, ``clock``, ``rising``,
    ``small``, ``shared`` (a long part that they share, and little else) or empty.
    ``guessable`` is ``None`` where it cannot be told. ``ids`` are those looked at.
    """

    bits: float
    count: int
    length: int
    varying: int
    pattern: str
    guessable: bool | None
    ids: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The estimate, and how it was made."""
        ids = "1 id" if self.count == 1 else f"{self.count} ids"
        looks = {
            COUNTER: "; it counts up",
            CLOCK: "; it is a clock",
            RISING: "; it only ever rises",
            SHARED: "; the rest is the same in all and may be a secret of this caller",
        }.get(self.pattern, "")
        return (
            f"{ids} of about {self.length} characters differ in {self.varying} of them, which is"
            f" at most {self.bits:.0f} bits that a third party cannot know{looks}"
            " (an upper bound: what varies counts as random, which a sample cannot prove)"
        )


def estimate(samples: Iterable[IdSample]) -> Estimate | None:
    """The estimate for the ids of a run, in the order of their creation; ``None`` for none.

    Where tools make their ids in different ways, it is that of the poorest; where none is poor,
    that of the tool with the most ids.
    """
    distinct = list({sample.task_id: sample for sample in samples}.values())[:MOST]
    if not distinct:
        return None
    by_tool: dict[str, list[IdSample]] = {}
    for sample in distinct:
        by_tool.setdefault(sample.tool, []).append(sample)
    families = [family for family in by_tool.values() if len(family) >= FEWEST] or [distinct]
    return min(map(_estimate_family, families), key=_rank)


def _rank(found: Estimate) -> tuple[int, float]:
    if found.guessable:
        return 0, found.bits
    return (1 if found.guessable is None else 2), -found.count


def _estimate_family(samples: Sequence[IdSample]) -> Estimate:
    ids = [_without_tool(sample)[:_LONGEST] for sample in samples]
    one_caller = len({sample.caller for sample in samples}) == 1
    pattern = ""
    guessable: bool | None = False
    if len(ids) < FEWEST:
        # Even if every character were free.
        varying = max(map(len, ids))
        bits = varying * math.log2(_PRINTABLE)
        guessable = True if bits < GUESSABLE_BELOW else None
    else:
        varying, bits, shared = _variation(ids)
        bits = max(bits, _bits_of_known_format(samples))
        if bits < GUESSABLE_BELOW and one_caller and _may_be_secret(shared, samples):
            guessable, pattern = None, SHARED
        elif bits < GUESSABLE_BELOW:
            guessable, pattern = True, _pattern(samples, ids)
    length = round(statistics.median(len(sample.task_id) for sample in samples))
    looked_at = tuple(sample.task_id for sample in samples)
    return Estimate(bits, len(ids), length, varying, pattern, guessable, looked_at)


def _without_tool(sample: IdSample) -> str:
    """The id without the tool's name, which anybody knows."""
    name = sample.tool
    return sample.task_id.replace(name, "·") if len(name) > 2 else sample.task_id


# ---- what varies ---------------------------------------------------------------------------


def _variation(ids: Sequence[str]) -> tuple[int, float, str]:
    """How many characters vary, how many bits that is at most, and the shared part."""
    start = _common_start(ids)
    end = _common_start([each[start:][::-1] for each in ids])
    middles = [each[start : len(each) - end] for each in ids]
    shared = ids[0][:start] + " " + ids[0][len(ids[0]) - end :]
    if len(set(map(len, middles))) > 1:
        tokens = [_TOKEN.findall(middle) for middle in middles]
        if len(set(map(len, tokens))) == 1 and tokens[0]:
            columns = [_column(list(column)) for column in zip(*tokens, strict=True)]
            return sum(c[0] for c in columns), sum(c[1] for c in columns), shared
    varying, bits = _column(middles)
    return varying, bits, shared


def _common_start(texts: Sequence[str]) -> int:
    """How many characters all of them begin with."""
    low, high = min(texts), max(texts)
    return next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))


def _column(texts: Sequence[str]) -> tuple[int, float]:
    """The varying characters of texts in one place, and the bits they can hold."""
    if len(set(texts)) == 1:
        return 0, 0.0
    if len(set(map(len, texts))) == 1:
        positions = [set(characters) for characters in zip(*texts, strict=True)]
        free = [position for position in positions if len(position) > 1]
        return len(free), len(free) * _bits_of_character(set().union(*free))
    length = round(statistics.median(map(len, texts)))
    if all(text.isascii() and text.isdigit() for text in texts):
        numbers = [int(text) for text in texts]
        return length, math.log2(max(numbers) - min(numbers) + 1)
    return length, length * _bits_of_character(set().union(*texts))


def _bits_of_character(characters: set[str]) -> float:
    """The bits of one character of the smallest usual alphabet that has all of these."""
    fitting = (len(alphabet) for alphabet in _ALPHABETS if characters <= set(alphabet))
    return math.log2(next(fitting, _PRINTABLE))


# ---- what it looks like ---------------------------------------------------------------------


def _bits_of_known_format(samples: Sequence[IdSample]) -> float:
    """The random bits of UUIDs of version 7 and of ULIDs, which within one millisecond may
    follow each other closely, and are random all the same; 0 for other ids."""
    uuids = [_only(_UUID, sample) for sample in samples]
    if _all_differ(uuids) and all(
        uuid[12] == "7" and _is_near(int(uuid[:12], 16) / 1000, sample)
        for uuid, sample in zip(uuids, samples, strict=True)
    ):
        return 62.0
    ulids = [_only(_ULID, sample).upper() for sample in samples]
    if _all_differ(ulids) and all(
        _is_near(_in_base(ulid[:10], _CROCKFORD) / 1000, sample)
        for ulid, sample in zip(ulids, samples, strict=True)
    ):
        return 80.0
    return 0.0


def _only(pattern: re.Pattern[str], sample: IdSample) -> str:
    found = pattern.search(sample.task_id)
    return found.group().replace("-", "") if found else ""


def _all_differ(texts: Sequence[str]) -> bool:
    return all(texts) and len(set(texts)) > 1


def _in_base(text: str, alphabet: str) -> int:
    value = 0
    for character in text:
        value = value * len(alphabet) + alphabet.index(character)
    return value


def _is_near(seconds: float, sample: IdSample) -> bool:
    """Whether a moment is about that of the id's creation."""
    if sample.at is None:
        return False
    return abs(seconds - sample.at) <= _CLOCK_TOLERANCE_SECONDS


def _pattern(samples: Sequence[IdSample], ids: Sequence[str]) -> str:
    """What ids of which too little varies look like."""
    start = _common_start(ids)
    end = _common_start([each[start:][::-1] for each in ids])
    middles = [each[start : len(each) - end] for each in ids]
    if all(_has_clock(sample) for sample in samples):
        return CLOCK
    numbers = _numbers(middles)
    if numbers and max(numbers) - min(numbers) < 20 * len(numbers):
        return COUNTER
    if len(numbers) >= 6 and numbers == sorted(numbers):
        return RISING
    return SMALL


def _numbers(texts: Sequence[str]) -> list[int]:
    """The texts as numbers in the smallest base that fits all of them; empty where none does."""
    for base in (10, 16, 36):
        try:
            return [int(text, base) for text in texts]
        except ValueError:
            continue
    return []


def _has_clock(sample: IdSample) -> bool:
    """Whether a part of the id is the time of its creation."""
    uuid = _only(_UUID, sample).lower()
    if uuid and uuid[12] in "16":
        low, middle, high = uuid[:8], uuid[8:12], uuid[13:16]
        digits = high + middle + low if uuid[12] == "1" else low + middle + high
        return _is_near(int(digits, 16) / 10**7 - _GREGORIAN_SECONDS, sample)
    return any(_clock_length(token, sample) for token in _TOKEN.findall(sample.task_id))


def _clock_length(token: str, sample: IdSample) -> int:
    """How many of the first characters of a token are a clock; 0 where none are."""
    for base, lengths in ((10, (19, 16, 13, 10)), (16, (16, 13, 12, 11, 8)), (36, (8, 6))):
        for length in lengths:
            if len(token) < length:
                continue
            try:
                value = int(token[:length], base)
            except ValueError:
                continue
            if any(_is_near(value / ticks, sample) for ticks in _TICKS):
                return length
    return 0


def _may_be_secret(shared: str, samples: Sequence[IdSample]) -> bool:
    """Whether the part that all ids share may be a secret: a UUID, or a long token that is no
    word and no clock. Others of the same caller do not show whether it is the caller's own."""
    if _UUID.search(shared):
        return True
    for token in _TOKEN.findall(shared):
        rest = token[_clock_length(token, samples[0]) :]
        mixed = any(c.isdigit() for c in rest) and any(c.isalpha() for c in rest)
        if mixed and len(rest) * _bits_of_character(set(rest)) >= CUSTOMARY:
            return True
    return False
