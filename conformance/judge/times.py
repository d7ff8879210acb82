"""Moments as servers write them: ISO 8601, read leniently and compared carefully.

Accepted are calendar, ordinal and week dates with a time of day, in the basic and in the
extended form, with ``Z``, an offset or no zone, and with as many decimals as a server likes;
decimals beyond the nanosecond are dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

SECOND = 1_000_000_000
_MINUTE = 60 * SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR

# No moment is longer; what is longer is not worth a regular expression.
_LONGEST = 64

_DATE = (
    r"(?P<year>[0-9]{4}|[+-][0-9]{6})"
    r"(?:-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"|(?P<basic_month>[0-9]{2})(?P<basic_day>[0-9]{2})"
    r"|-?W(?P<week>[0-9]{2})-?(?P<weekday>[1-7])"
    r"|-?(?P<ordinal>[0-9]{3}))"
)
_TIME = (
    r"(?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2}))?)?"
    r"(?:[.,](?P<fraction>[0-9]+))?"
)
_ZONE = (
    r"(?P<zone>[Zz]"
    r"|(?P<sign>[+\u2212-])(?P<zone_hour>[0-9]{2})(?::?(?P<zone_minute>[0-9]{2}))?)?"
)
_MOMENT = re.compile(f"{_DATE}[Tt]{_TIME}{_ZONE}")


@dataclass(frozen=True)
class Moment:
    """``nanoseconds`` since 1970 in UTC; where ``zoned`` is false, since 1970 at a place that
    is not told. ``resolution`` is the worth of the last digit, in nanoseconds; of decimals, of the
    last that is not zero, since zeros may be all that is left of a time that was cut."""

    nanoseconds: int
    zoned: bool
    resolution: int


@lru_cache(maxsize=4096)
def moment_of(text: str) -> Moment | None:
    """The moment that a text names; ``None`` where it is not ISO 8601 with a time of day."""
    match = _MOMENT.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    days = _days(match)
    day_time = _time_of_day(match)
    offset = _offset(match)
    if days is None or day_time is None or offset is None:
        return None
    nanoseconds, resolution = day_time
    zoned = match["zone"] is not None
    return Moment(days * _DAY + nanoseconds - offset, zoned, resolution)


def certainly_before(one: Moment, other: Moment) -> bool:
    """Whether one moment is before the other, whichever way their digits were cut or rounded:
    one time may be cut by the program and rounded by its database.

    Moments of which only one has a zone cannot be compared.
    """
    if one.zoned != other.zoned:
        return False
    return other.nanoseconds - one.nanoseconds > max(one.resolution, other.resolution)


def certainly_differ(one: Moment, other: Moment) -> bool:
    """Whether two texts cannot mean the same moment."""
    return certainly_before(one, other) or certainly_before(other, one)


def _days(match: re.Match[str]) -> int | None:
    """Days from 1970-01-01 to the date."""
    year = int(match["year"])
    if match["ordinal"] is not None:
        ordinal = int(match["ordinal"])
        if not 1 <= ordinal <= (366 if _is_leap(year) else 365):
            return None
        return _days_before(year, 1, 1) + ordinal - 1
    if match["week"] is not None:
        week = int(match["week"])
        if not 1 <= week <= 53:
            return None
        # Week 1 is the week with the fourth of January; 1970-01-01 was a Thursday.
        fourth = _days_before(year, 1, 4)
        monday = fourth - (fourth + 3) % 7
        return monday + 7 * (week - 1) + int(match["weekday"]) - 1
    month = int(match["month"] or match["basic_month"])
    day = int(match["day"] or match["basic_day"])
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return None
    return _days_before(year, month, day)


def _time_of_day(match: re.Match[str]) -> tuple[int, int] | None:
    """Nanoseconds since midnight, and the worth of the last digit that tells something."""
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    # A leap second is told as 60, the end of a day may be told as 24:00.
    if hour > 24 or minute > 59 or second > 60:
        return None
    unit = SECOND if match["second"] else _MINUTE if match["minute"] else _HOUR
    whole = hour * _HOUR + minute * _MINUTE + second * SECOND
    fraction = match["fraction"] or ""
    part = int(fraction) * unit // 10 ** len(fraction) if fraction else 0
    if hour == 24 and whole + part > _DAY:
        return None
    return whole + part, max(unit // 10 ** len(fraction.rstrip("0")), 1)


def _offset(match: re.Match[str]) -> int | None:
    """How far the zone is ahead of UTC, in nanoseconds; 0 where there is none."""
    if match["sign"] is None:
        return 0
    hours, minutes = int(match["zone_hour"]), int(match["zone_minute"] or 0)
    if hours > 23 or minutes > 59:
        return None
    ahead = hours * _HOUR + minutes * _MINUTE
    return ahead if match["sign"] == "+" else -ahead


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if _is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days_before(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01, in the proleptic Gregorian calendar, for any year."""
    # Years that begin in March put the leap day last.
    shifted = year if month > 2 else year - 1
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    era, year_of_era = divmod(shifted, 400)
    days = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + days - 719_468
