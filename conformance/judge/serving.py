"""Methods that are there by name alone: whatever is asked of them, something went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.judge.expectations import is_wordless, unanswered
from conformance.judge.lives import lives
from conformance.specification.names import INTERNAL_ERROR, TASKS_LIST, TASKS_UPDATE
from conformance.specification.states import INPUT_REQUIRED
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# Once, anything may fail.
_TIMES = 2


def failing(asked: Iterable[Exchange], history: History) -> tuple[Exchange, ...]:
    """Those of the requests of one method that had no reason to fail, where every answer to the
    method says no more than that something went wrong; nothing where a single one says more.

    Without a reason fails a list that is asked for from its beginning, an answer to a task that
    waits for one, and all else that is asked of a task that was made. What was never answered,
    ``transport.answered`` tells.
    """
    answered = [e for e in asked if _is_failure(e) or not unanswered(e)]
    if not all(_is_failure(e) for e in answered):
        return ()
    plain = tuple(e for e in answered if _has_no_reason_to_fail(e, history))
    return plain if len(plain) >= _TIMES else ()


def _has_no_reason_to_fail(exchange: Exchange, history: History) -> bool:
    if exchange.method == TASKS_LIST:
        return "cursor" not in exchange.params
    life = lives(history).get(str(exchange.task_id))
    if life is None or exchange.method != TASKS_UPDATE:
        return life is not None
    return life.status_before(exchange) == INPUT_REQUIRED


def _is_failure(exchange: Exchange) -> bool:
    """Whether an answer is an internal error, or one of HTTP alone."""
    if exchange.error_code == INTERNAL_ERROR:
        return not unanswered(exchange)
    return exchange.fault is None and is_wordless(exchange)
