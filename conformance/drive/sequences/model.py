"""What each task of a sequence may be, after everything that finished and all that was in flight.

The model is quick and knows little: it follows a sequence step by step and suspects a rule where
no freedom of the protocol explains what was seen. Whether a rule is broken, the judge says; that
ends the sequence.

Freedom widens the set of states, and only freedom does: a live task may come to any state by
itself; answers and cancellations may take effect late, or not at all; a task may be born ended;
once its time is over it may be gone or failed. What overlapped in time has no order.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from conformance.judge.lives import outcome_of
from conformance.specification.names import (
    INVALID_PARAMS,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_UPDATE,
    TOOLS_CALL,
)
from conformance.specification.states import (
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    STATUSES,
    WORKING,
    is_terminal,
)
from conformance.wire.exchange import Exchange, JsonObject

ANY = frozenset(STATUSES)
# So long before its time is over (seconds) a task is certainly still to be there.
_TTL_MARGIN = 1.2
# What the suite sends with one of these is wrong on purpose: its answer says nothing of a task.
_WRONG = frozenset(
    (
        "ill-formed",
        "undeclared",
        "legacy-declaration",
        "foreign",
        "unauthenticated",
        "mcp-name-differs",
        "mcp-method-differs",
        "version-header-unknown",
    )
)
# Which rule it breaks to serve such a read.
_NOT_TO_BE_SERVED = {
    "undeclared": "negotiation.get-requires-declaration",
    "legacy-declaration": "negotiation.legacy-declaration-ignored",
    "foreign": "security.foreign-get",
    "unauthenticated": "security.no-token",
    "mcp-name-differs": "transport.mcp-name-mismatch",
    "mcp-method-differs": "transport.mcp-method-mismatch",
    "version-header-unknown": "transport.version-mismatch",
}


@dataclass
class _Seen:
    """One task: the states it may be in, and what is certain of it."""

    made_at: float
    created_at: object
    may_be: frozenset[str] = ANY
    end: JsonObject | None = None
    ended_by: float = 0.0
    ttl: float | None = None
    # The open requests last shown, and when the read that showed them was answered.
    open: JsonObject = field(default_factory=dict)
    open_by: float = 0.0
    answered: set[str] = field(default_factory=set)
    cancelled: bool = False


class Model:
    """Watches the exchanges of one sequence as they end. ``suspected`` are ids of rules, none
    of those that are ``set_aside``."""

    def __init__(self, set_aside: Collection[str] = ()) -> None:
        self.suspected: list[str] = []
        self._set_aside = set(set_aside)
        self._tasks: dict[str, _Seen] = {}

    def suspect(self, rule_id: str) -> None:
        if rule_id not in self.suspected and rule_id not in self._set_aside:
            self.suspected.append(rule_id)

    def leave_alone(self) -> None:
        """Suspect no more what is suspected now."""
        self._set_aside.update(self.suspected)
        self.suspected.clear()

    def may_be(self, task_id: str) -> frozenset[str]:
        """The states in which the task may be seen next."""
        known = self._tasks.get(task_id)
        return known.may_be if known is not None else frozenset()

    def observe(self, exchange: Exchange) -> None:
        """Take in an exchange that has ended."""
        if exchange.status is not None and exchange.status in (500, 501, 505):
            self.suspect("jsonrpc.survives-bad-input")
        if exchange.method == TOOLS_CALL:
            self._called(exchange)
        known = self._tasks.get(exchange.task_id or "")
        if exchange.method in (TASKS_UPDATE, TASKS_CANCEL):
            self._sent(exchange, known)
        elif exchange.method == TASKS_GET:
            self._read(exchange, known)

    # ---- what is sent --------------------------------------------------------------------

    def _called(self, exchange: Exchange) -> None:
        handle = exchange.handle
        if handle is None or not isinstance(handle.get("taskId"), str):
            return
        if not exchange.declares_tasks:
            self.suspect("negotiation.undeclared-gets-no-task")
        if handle["taskId"] in self._tasks:
            self.suspect("creation.unique-ids")
            return
        seen = _Seen(exchange.started, handle.get("createdAt"))
        seen.ttl = _seconds(handle)
        self._tasks[handle["taskId"]] = seen

    def _sent(self, exchange: Exchange, known: _Seen | None) -> None:
        if known is None or (exchange.intent in _WRONG and exchange.result is None):
            return
        if exchange.method == TASKS_CANCEL:
            known.cancelled = True
        else:
            responses = exchange.params.get("inputResponses")
            known.answered |= set(responses) if isinstance(responses, dict) else set()
        # What was sent may count although it was refused, or nobody heard the answer.

    # ---- what is read --------------------------------------------------------------------

    def _read(self, exchange: Exchange, known: _Seen | None) -> None:
        task = exchange.task
        if known is None:
            if task is not None and isinstance(exchange.task_id, str):
                self.suspect("polling.unknown-id")
        elif exchange.intent in _WRONG:
            if task is not None:
                self.suspect(_NOT_TO_BE_SERVED.get(exchange.intent, "jsonrpc.survives-bad-input"))
        elif task is not None:
            self._shown(exchange, known, task)
        elif exchange.error_code == INVALID_PARAMS and self._is_due(exchange, known):
            self.suspect("expiry.not-before-ttl")

    def _is_due(self, exchange: Exchange, known: _Seen) -> bool:
        if exchange.task_id is None or known.made_at > exchange.started:
            return False
        return known.ttl is None or exchange.ended < known.made_at + known.ttl - _TTL_MARGIN

    def _shown(self, exchange: Exchange, known: _Seen, task: JsonObject) -> None:
        if task.get("taskId") not in (None, exchange.task_id):
            self.suspect("polling.same-task")
            return
        if task.get("createdAt") != known.created_at:
            self.suspect("polling.created-at-constant")
        known.ttl = _seconds(task)
        over = not self._is_due(exchange, known)
        if known.end is not None and exchange.started >= known.ended_by and not over:
            self._shown_after_the_end(known, task)
        self._requests(exchange, known, task)
        self._narrow(exchange, known, task, over)

    def _shown_after_the_end(self, known: _Seen, task: JsonObject) -> None:
        status = task.get("status")
        if not isinstance(status, str) or status not in known.may_be:
            self.suspect("lifecycle.legal-transitions")
        elif known.end is not None and outcome_of(task) != outcome_of(known.end):
            self.suspect("lifecycle.terminal-is-final")

    def _requests(self, exchange: Exchange, known: _Seen, task: JsonObject) -> None:
        """A request that was open, and that nobody answered, stays open while the task goes on."""
        requests = task.get("inputRequests")
        shown = requests if isinstance(requests, dict) else {}
        if exchange.started >= known.open_by and not known.cancelled:
            left = known.open.keys() - known.answered
            gone_on = task.get("status") in (WORKING, COMPLETED, INPUT_REQUIRED)
            if gone_on and not left <= shown.keys():
                self.suspect("input.partial-waits")
        if task.get("status") == INPUT_REQUIRED and exchange.started >= known.open_by:
            known.open, known.open_by = shown, exchange.ended

    def _narrow(self, exchange: Exchange, known: _Seen, task: JsonObject, over: bool) -> None:
        status = task.get("status")
        if is_terminal(status):
            known.may_be = frozenset((str(status),))
            if known.end is None or exchange.ended < known.ended_by:
                known.end, known.ended_by = task, exchange.ended
        elif known.end is None:
            known.may_be = ANY
        if over:
            known.may_be |= {FAILED}


def _seconds(task: JsonObject) -> float | None:
    """ttlMs in seconds; ``None`` where the task is kept without limit, 0 where nobody knows."""
    value = task.get("ttlMs", 0)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return max(min(value, 10**12), 0) / 1000
