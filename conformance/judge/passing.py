"""Errors that pass: an ordinary read is answered with one, and served the next time.

A server that fails now and then, for whatever reason, also fails where it was to refuse something
in a certain way. That is one thing to tell, and not one for each rule it happened to meet.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.judge.expectations import is_wordless, refused_beforehand
from conformance.judge.lifetimes import asked_by_its_caller, says_gone
from conformance.judge.lives import Life, lives
from conformance.judge.observation import Observation
from conformance.specification.names import INVALID_PARAMS
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# So unlikely it has to be that passing errors alone explain what was seen.
_BY_CHANCE = 0.001
# Once, anything may fail.
_TIMES = 2


@dataclass(frozen=True)
class PassingErrors:
    """``reads`` are the reads that failed, each with the one that was served later; ``codes`` are
    the codes of these errors, ``wordless`` says whether some had no JSON-RPC, and ``share`` is the
    part of all ordinary reads that failed so."""

    reads: tuple[tuple[Exchange, Exchange], ...]
    codes: frozenset[object]
    wordless: bool
    share: float

    @property
    def certain(self) -> bool:
        return len(self.reads) >= _TIMES


def passing_errors(history: History) -> PassingErrors:
    """The errors of this history that passed."""
    return history.derive(_passing_errors)


def says_nothing(read: Exchange, history: History) -> bool:
    """Whether the answer is an error that says nothing of the request and nothing of the task."""
    return (
        read.error is not None
        and not refused_beforehand(read)
        and read.error_code != INVALID_PARAMS
        and not says_gone(read, history)
    )


def brings_nothing(read: Exchange, history: History) -> bool:
    """Whether a read brought neither the task nor a reason."""
    return is_wordless(read) or says_nothing(read, history)


def _served_again(life: Life, history: History) -> list[tuple[Exchange, Exchange]]:
    """The reads of a task, at its pace, that brought nothing before it was seen in a state that
    it had been seen in before; each with that later read."""
    seen = [s.status for s in life.sightings if s.how == "handle"]
    failed: list[Exchange] = []
    found: list[tuple[Exchange, Exchange]] = []
    for read in life.reads:
        if not asked_by_its_caller(life, read, history):
            continue
        if read.task is not None:
            if read.task.get("status") in seen:
                found += [(each, read) for each in failed]
            seen.append(read.task.get("status"))
            failed = []
        elif read.is_ordinary and brings_nothing(read, history):
            failed.append(read)
    return found


def _passing_errors(history: History) -> PassingErrors:
    known = lives(history).values()
    found = [pair for life in known for pair in _served_again(life, history)]
    reads = [read for life in known for read in life.reads if read.is_ordinary]
    codes = frozenset(each.error_code for each, _ in found if each.error is not None)
    wordless = any(each.error is None for each, _ in found)
    failed = sum(read.error_code in codes or (wordless and is_wordless(read)) for read in reads)
    return PassingErrors(tuple(found), codes, wordless, failed / max(len(reads), 1))


def may_be_passing(broken: list[Observation], held: int, history: History) -> bool:
    """Whether errors that pass explain everything that a rule objects to: all of it rests on one,
    and there is no more of it than chance would have."""
    errors = passing_errors(history)
    if not errors.certain or not all(_rests_on_one(each, errors) for each in broken):
        return False
    return held > 0 or errors.share ** len(broken) > _BY_CHANCE


def _rests_on_one(observation: Observation, errors: PassingErrors) -> bool:
    return any(
        exchange.error_code in errors.codes or (errors.wordless and is_wordless(exchange))
        for exchange in observation.exchanges
    )
