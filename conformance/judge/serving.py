"""Methods that are there by name alone: whatever is asked of them, something went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.judge.expectations import is_wordless, unanswered
from conformance.judge.lives import lives
from conformance.specification.names import INTERNAL_ERROR, TASKS_LIST
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# Once, anything may fail.
_TIMES = 2


def failing(asked: Iterable[Exchange], history: History) -> tuple[Exchange, ...]:
    """Those of the requests of one method that had no reason to fail, where every answer to the
    method says no more than that something went wrong; nothing where a single one says more.

    A list is asked for with a cursor, or without; all else is asked about a task. What was never
    answered, ``transport.answered`` tells.
    """
    answered = [e for e in asked if _is_failure(e) or not unanswered(e)]
    if not all(_is_failure(e) for e in answered):
        return ()
    known = lives(history)
    plain = tuple(
        e
        for e in answered
        if ("cursor" not in e.params if e.method == TASKS_LIST else e.task_id in known)
    )
    return plain if len(plain) >= _TIMES else ()


def _is_failure(exchange: Exchange) -> bool:
    """Whether an answer is an internal error, or one of HTTP alone."""
    if exchange.error_code == INTERNAL_ERROR:
        return not unanswered(exchange)
    return exchange.fault is None and is_wordless(exchange)
