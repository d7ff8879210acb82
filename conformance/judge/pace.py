"""The pace at which each task was polled: which reads kept pollIntervalMs, which did not.

Only what is certain counts. A server measures the time between two requests where they
arrive, so a poll kept the interval for certain where it was sent that long after the answer
to the one before had come. That one of several was too early is certain where so many were
answered within a while that two came sooner after each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.judge.lives import Life, lives
from conformance.specification.names import TASKS_GET
from conformance.wire.exchange import Exchange
from conformance.wire.history import History


@dataclass(frozen=True)
class Poll:
    """One read of a task. ``kept`` is false where it cannot be told, or where the server recorded
    no interval. ``waited`` is seconds since the answer before."""

    exchange: Exchange
    life: Life
    kept: bool
    waited: float


def polls(history: History) -> list[Poll]:
    """Every read of every task, in the order they began."""
    return history.derive(_polls)


def first_impatience(history: History) -> float:
    """When the first read began of which it is not certain that it kept its interval; before
    it, the client as a whole was obedient. Infinite where there was none."""
    return history.derive(_first_impatience)


def one_was_early(life: Life) -> bool:
    """Whether one of the reads of a task was too early for certain, whichever it was.

    Of some that were all answered within a while, two came to the server no further apart than
    the while divided among them.
    """
    shortest = min(intervals_of(life), default=0.0)
    ordered = sorted(life.reads, key=lambda read: read.started)
    for first in range(len(ordered)):
        ended = ordered[first].ended
        for others, read in enumerate(ordered[first + 1 :], 1):
            ended = max(ended, read.ended)
            if (ended - ordered[first].started) / others < shortest:
                return True
    return False


def intervals_of(life: Life) -> list[float]:
    """Every positive pollIntervalMs that was told of a task, in seconds."""
    told = [sighting.task.get("pollIntervalMs") for sighting in life.sightings]
    numbers = [t for t in told if isinstance(t, int | float) and not isinstance(t, bool)]
    return [number / 1000 for number in numbers if 0 < number < 2**53]


def asked_to_wait(refusal: Exchange) -> float:
    """The seconds of a ``Retry-After``; 0 where it has none, infinite where it is a date."""
    text = refusal.response_header("retry-after")
    if text is None:
        return 0.0
    text = text.strip()
    return float(text) if text.isascii() and text.isdigit() else float("inf")


def _polls(history: History) -> list[Poll]:
    found = [poll for life in lives(history).values() for poll in _polls_of(life)]
    return sorted(found, key=lambda poll: poll.exchange.started)


def _polls_of(life: Life) -> list[Poll]:
    if life.creation is None:
        return []
    intervals = intervals_of(life)
    longest = max(intervals, default=0.0)
    found: list[Poll] = []
    answered, asked = life.creation.ended, 0.0
    for read in sorted(life.reads, key=lambda exchange: exchange.started):
        waited = read.started - answered
        kept = bool(intervals) and waited >= max(longest, asked)
        found.append(Poll(read, life, kept, waited))
        answered = max(answered, read.ended)
        asked = asked_to_wait(read) if read.rate_limited else 0.0
    return found


def _first_impatience(history: History) -> float:
    kept = {poll.exchange.key for poll in polls(history) if poll.kept}
    return min(
        (e.started for e in history.of_method(TASKS_GET) if e.key not in kept),
        default=float("inf"),
    )
