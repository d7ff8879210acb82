"""How long a task was to be kept, and what can be said for certain about a moment.

Three clocks are at hand and none is trusted alone: the monotonic time of this machine, the
``Date`` header of the server, and the ``createdAt`` that it told. A moment counts as before or
after the end of a task's time only where every one of them allows no other reading.
"""

from __future__ import annotations

from conformance.judge.clocks import DATE_LAGS_SECONDS, age_when_called, created_at, server_time
from conformance.judge.lives import Life, lives
from conformance.judge.requests import is_careful
from conformance.judge.times import SECOND
from conformance.specification.names import (
    CODE_NAMES,
    INVALID_PARAMS,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_PROTOCOL_VERSION,
    TASKS_GET,
    VERSIONS_OF_SESSIONS,
)
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

UNLIMITED = float("inf")
# What is seen of a task after the suite itself restarted the server is a matter of its own.
AFTER_RESTART = "after-restart"
# Clocks drift, and a server rounds: so much of the time, and so many seconds, prove nothing.
_DRIFT = 0.02
_ROUNDING_SECONDS = 0.05


def ttl_seconds(value: object) -> float | None:
    """``ttlMs`` in seconds, ``UNLIMITED`` for null; ``None`` where it is no sensible duration."""
    if value is None:
        return UNLIMITED
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return None
    # The number may be too large to be divided.
    return min(value, 10**18) / 1000


def _ttls_that_may_count(life: Life, exchange: Exchange) -> list[float]:
    """The ttlMs last seen before an exchange began, and any seen while it was under way."""
    counting: list[float] = []
    for sighting in life.sightings:
        if sighting.ttl_name not in sighting.task:
            continue
        ttl = ttl_seconds(sighting.task[sighting.ttl_name])
        if ttl is None or sighting.began >= exchange.ended:
            continue
        if sighting.ended <= exchange.started:
            counting = [ttl]
        else:
            counting.append(ttl)
    return counting


def shortens_ttls(history: History) -> bool:
    """Whether a task of this server was seen with a shorter ``ttlMs`` than it had before."""
    return history.derive(_shortens_ttls)


def _shortens_ttls(history: History) -> bool:
    for life in lives(history).values():
        longest = 0.0
        for sighting in life.sightings:
            name = sighting.ttl_name
            ttl = ttl_seconds(sighting.task[name]) if name in sighting.task else None
            if ttl is not None and ttl < longest:
                return True
            longest = max(longest, ttl or 0.0)
    return False


def certainly_within_ttl(life: Life, exchange: Exchange, history: History) -> bool:
    """Whether an exchange was answered before ``createdAt`` plus the latest ``ttlMs``."""
    ttls = _ttls_that_may_count(life, exchange)
    creation = life.creation
    if not ttls or creation is None:
        return False
    ttl = min(ttls)
    if ttl == UNLIMITED:
        return True
    created = created_at(creation)
    # The task may be a little older than it could be seen: createdAt is cut to its resolution.
    older = created.resolution / SECOND if created is not None else 1.0
    older = max(older, age_when_called(creation, history))
    if created is not None and created.zoned:
        at = created.nanoseconds / SECOND
        now = server_time(exchange)
        if now is not None and now >= at + ttl:
            return False
    elapsed = exchange.ended - creation.started + older
    return elapsed * (1 + _DRIFT) + _ROUNDING_SECONDS < ttl


def certainly_after_ttl(life: Life, exchange: Exchange) -> bool:
    """Whether an exchange began after ``createdAt`` plus the latest ``ttlMs``."""
    ttls = _ttls_that_may_count(life, exchange)
    creation = life.creation
    if not ttls or creation is None:
        return False
    ttl = max(ttls)
    if ttl == UNLIMITED:
        return False
    created = created_at(creation)
    answered = server_time(creation)
    newer = 0.0
    if created is not None and created.zoned and answered is not None:
        at = created.nanoseconds / SECOND
        # A createdAt ahead of the server's own Date: its time ends that much later.
        newer = max(at - answered - DATE_LAGS_SECONDS, 0.0)
        now = server_time(exchange)
        if now is not None and now + DATE_LAGS_SECONDS < at + ttl:
            return False
    elapsed = exchange.started - creation.ended - newer
    return elapsed > ttl * (1 + _DRIFT) + _ROUNDING_SECONDS


def asked_by_its_caller(life: Life, exchange: Exchange, history: History) -> bool:
    """Whether a request about a task leaves nothing to object to: careful, declared, by the
    caller and on the URL that the task was made with, and with no member that is out of place.
    """
    creation = life.creation
    in_session = exchange.protocol_version in VERSIONS_OF_SESSIONS
    meta = exchange.params.get("_meta", {} if in_session else None)
    return (
        creation is not None
        and exchange.caller == creation.caller
        and exchange.replica == creation.replica
        and (exchange.declares_tasks or in_session)
        and is_careful(exchange, history)
        and set(exchange.params) <= {"taskId", "inputResponses", "_meta"}
        and isinstance(meta, dict)
        and set(meta) <= {META_PROTOCOL_VERSION, META_CLIENT_INFO, META_CLIENT_CAPABILITIES}
        and exchange.intent != AFTER_RESTART
    )


def codes_of_unknown_tasks(history: History) -> frozenset[int]:
    """The error codes with which this server says that there is no such task: -32602, and, where
    it does not know that code for it, what it answered where an unknown id was read."""
    return history.derive(_codes_of_unknown_tasks)


def _codes_of_unknown_tasks(history: History) -> frozenset[int]:
    told = {e.error_code for e in history.intended("unknown-id", method=TASKS_GET)}
    if INVALID_PARAMS in told:
        return frozenset({INVALID_PARAMS})
    # The codes that have a name of their own say something else.
    own = {code for code in told if isinstance(code, int) and code not in CODE_NAMES}
    return frozenset({INVALID_PARAMS, *own})


def says_gone(exchange: Exchange, history: History) -> bool:
    """Whether a request about a task was answered that there is no such task."""
    code = exchange.error_code
    return (
        not exchange.rate_limited
        and isinstance(code, int)
        and code in codes_of_unknown_tasks(history)
    )
