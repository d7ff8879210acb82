"""Moments in ISO 8601, as servers of many languages write them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.judge.times import SECOND, certainly_before, certainly_differ, moment_of

NOON = int(datetime(2026, 7, 28, 12, tzinfo=timezone.utc).timestamp()) * SECOND


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("2026-07-28T12:00:00Z", NOON),
        ("2026-07-28t12:00:00z", NOON),
        ("2026-07-28T12:00:00.000Z", NOON),
        ("2026-07-28T12:00:00.123456789Z", NOON + 123_456_789),
        ("2026-07-28T12:00:00,5Z", NOON + SECOND // 2),
        ("2026-07-28T14:00:00+02:00", NOON),
        ("2026-07-28T17:30:00+0530", NOON),
        ("2026-07-28T05:00:00-07", NOON),
        ("2026-07-28T12:00Z", NOON),
        ("2026-07-28T12Z", NOON),
        ("2026-07-28T12:00.5Z", NOON + 30 * SECOND),
        ("20260728T120000Z", NOON),
        ("20260728T120000.250+0000", NOON + SECOND // 4),
        ("2026-209T12:00:00Z", NOON),
        ("2026W312T12Z", NOON),
        ("2026-W31-2T12:00:00Z", NOON),
        ("+002026-07-28T12:00:00.000Z", NOON),
        ("2026-07-27T24:00:00Z", NOON - 12 * 3600 * SECOND),
        ("2026-06-30T23:59:60Z", NOON - 27 * 86_400 * SECOND - 12 * 3600 * SECOND),
        ("2026-07-28T12:00:00.0000000000001Z", NOON),
    ],
)
def test_a_moment_is_read(text: str, nanoseconds: int) -> None:
    moment = moment_of(text)
    assert moment is not None
    assert moment.zoned
    assert moment.nanoseconds == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "1785240000",
        "1785240000000",
        "2026-07-28",
        "2026-07-28 12:00:00Z",
        "2026-07-28T",
        "2026-07-28T12:00:00 Z",
        "2026-07-28T12:00:00Z ",
        "2026-07-28T12:00:00UTC",
        "2026-07-28T12:00:00Z[UTC]",
        "Tue, 28 Jul 2026 12:00:00 GMT",
        "28.07.2026T12:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-366T00:00:00Z",
        "2026-W54-1T00:00:00Z",
        "2026-07-28T25:00:00Z",
        "2026-07-28T24:00:01Z",
        "2026-07-28T12:60:00Z",
        "2026-07-28T12:00:61Z",
        "2026-07-28T12:00:00+25:00",
        "２０２６-07-28T12:00:00Z",
        "2026-07-28T12:00:00." + "1" * 1000 + "Z",
    ],
)
def test_what_is_no_moment(text: str) -> None:
    assert moment_of(text) is None


def test_a_missing_zone_is_told() -> None:
    moment = moment_of("2026-07-28T12:00:00")
    assert moment is not None
    assert not moment.zoned


@pytest.mark.parametrize(
    ("text", "resolution"),
    [
        ("2026-07-28T12:00:00Z", SECOND),
        ("2026-07-28T12:00:00.5Z", SECOND // 10),
        ("2026-07-28T12:00:00.123456789Z", 1),
        ("2026-07-28T12:00Z", 60 * SECOND),
        # These zeros may be all that is left of a time that was cut.
        ("2026-07-28T12:00:00.000Z", SECOND),
        ("2026-07-28T12:00:00.250000Z", SECOND // 100),
    ],
)
def test_the_resolution_is_that_of_the_last_telling_digit(text: str, resolution: int) -> None:
    moment = moment_of(text)
    assert moment is not None
    assert moment.resolution == resolution


@pytest.mark.parametrize(
    ("one", "other", "before"),
    [
        ("2026-07-28T12:00:00Z", "2026-07-28T12:00:02Z", True),
        # The second of these may be the first, rounded where the first was cut.
        ("2026-07-28T12:00:00Z", "2026-07-28T12:00:01Z", False),
        ("2026-07-28T12:00:00.001Z", "2026-07-28T12:00:00.002Z", False),
        ("2026-07-28T12:00:00.001Z", "2026-07-28T12:00:00.003Z", True),
        ("2026-07-28T12:00:00Z", "2026-07-28T12:00:00Z", False),
        ("2026-07-28T12:00:01Z", "2026-07-28T12:00:00Z", False),
        ("2026-07-28T12:00:00+02:00", "2026-07-28T11:00:00Z", True),
        # The second of these may be the first, cut to seconds.
        ("2026-07-28T12:00:00.700Z", "2026-07-28T12:00:01Z", False),
        ("2026-07-28T12:00:00Z", "2026-07-28T12:00:00.999Z", False),
        ("2026-07-28T12:00:00Z", "2026-07-28T12:00:01.001Z", True),
        # Nobody knows when the first of these is.
        ("2026-07-28T12:00:00", "2026-07-29T12:00:00Z", False),
        ("2026-07-28T12:00:00", "2026-07-28T12:00:02", True),
    ],
)
def test_only_what_is_certain_counts_as_before(one: str, other: str, before: bool) -> None:
    earlier, later = moment_of(one), moment_of(other)
    assert earlier is not None
    assert later is not None
    assert certainly_before(earlier, later) is before
    assert not (certainly_before(earlier, later) and certainly_before(later, earlier))
    assert certainly_differ(earlier, later) is (before or certainly_before(later, earlier))


@given(
    st.datetimes(
        min_value=datetime(1583, 1, 2),
        max_value=datetime(9999, 12, 30),
        timezones=st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))),
    )
)
def test_every_form_of_a_moment_names_it(moment: datetime) -> None:
    year, week, weekday = moment.isocalendar()
    time = moment.strftime("%H:%M:%S.%f")
    zone = moment.isoformat()[-6:]
    since = moment - datetime(1970, 1, 1, tzinfo=timezone.utc)
    expected = (since // timedelta(microseconds=1)) * 1000
    for text in (
        moment.isoformat(timespec="microseconds"),
        f"{moment.year:04d}{moment:%m%d}T{time.replace(':', '')}{zone.replace(':', '')}",
        f"{moment.year:04d}-{moment:%j}T{time}{zone}",
        f"{year:04d}-W{week:02d}-{weekday}T{time}{zone}",
    ):
        read = moment_of(text)
        assert read is not None, text
        assert read.nanoseconds == expected, text


@given(st.text(max_size=80))
def test_any_text_is_taken(text: str) -> None:
    moment = moment_of(text)
    assert moment is None or moment.resolution >= 1
