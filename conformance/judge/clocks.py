"""What the server's own clock says: in its ``Date`` headers, and in the times of its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache

from conformance.judge.times import SECOND, Moment, moment_of
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# A Date is cut to seconds, and many servers make a new one only once a second.
DATE_LAGS_SECONDS = 2.0


def server_time(exchange: Exchange) -> float | None:
    """The ``Date`` header of a response, in seconds since 1970."""
    text = exchange.response_header("date")
    return None if text is None else _seconds_since_1970(text)


# The answers of a second have the same text, and many rules ask.
@lru_cache(maxsize=4096)
def _seconds_since_1970(text: str) -> float | None:
    try:
        told = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return (told if told.tzinfo else told.replace(tzinfo=timezone.utc)).timestamp()


def server_clock_ahead(history: History) -> float | None:
    """By how many seconds the server's clock is ahead of this machine's monotonic time, at
    least: each ``Date`` and each ``lastUpdatedAt`` says so much. ``None`` where none came."""
    return history.derive(_server_clock_ahead)


def _server_clock_ahead(history: History) -> float | None:
    return max(
        (told - exchange.ended for exchange in history.exchanges for told in _times_told(exchange)),
        default=None,
    )


def _times_told(exchange: Exchange) -> Iterator[float]:
    """Moments that were over, by the server's own clock, when it answered; since 1970."""
    date = server_time(exchange)
    if date is not None:
        yield date
    updated = (exchange.task or exchange.handle or {}).get("lastUpdatedAt")
    moment = moment_of(updated) if isinstance(updated, str) else None
    if moment is None or not moment.zoned:
        return
    seconds = moment.nanoseconds / SECOND
    # A time that may be in the server's own future says nothing.
    if date is not None and seconds < date + DATE_LAGS_SECONDS:
        yield seconds


def created_at(creation: Exchange) -> Moment | None:
    """The ``createdAt`` of the handle that a call was answered with."""
    return _told(creation, "createdAt")


def _told(creation: Exchange, name: str) -> Moment | None:
    text = (creation.handle or {}).get(name)
    return moment_of(text) if isinstance(text, str) else None


def age_when_called(creation: Exchange, history: History) -> float:
    """How many seconds older a task is than the call that made it: more than nothing where a
    task takes over what had begun before. The server's clock tells, and, without any clock, that
    its handle had been updated so long after its creation."""
    created, ahead = created_at(creation), server_clock_ahead(history)
    if created is None:
        return 0.0
    ages = [0.0]
    updated = _told(creation, "lastUpdatedAt")
    if updated is not None and updated.zoned == created.zoned:
        ages.append((updated.nanoseconds - created.nanoseconds) / SECOND)
    if created.zoned and ahead is not None:
        ages.append(creation.started + ahead - created.nanoseconds / SECOND)
    return max(ages)
