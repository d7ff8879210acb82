"""What several rules ask of one exchange, so that they ask it in the same words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.specification.names import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    OBSOLETE_CODES,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    code_words,
)
from conformance.specification.schemas import Problem
from conformance.wire.exchange import ENCODING, Exchange
from conformance.wire.history import History


def expect_error(exchange: Exchange, code: int, note: str = "") -> Observation:
    """The answer is a JSON-RPC error with this code.

    No answer at all is not this rule's to tell (``transport.answered`` does), nor is a
    rate limit, a refused caller or a gateway's error page.
    """
    hindrance = unanswered(exchange)
    if hindrance:
        return unclear(exchange, hindrance)
    if exchange.error_code == code and not isinstance(exchange.error_code, bool):
        return holds(exchange)
    if exchange.error_code == HEADER_MISMATCH:
        # Whether rightly or not, ``transport`` tells: what was asked for was not looked at.
        return unclear(exchange, "the request was refused for its headers first (-32020)")
    found = (
        f"error {code_words(exchange.error_code)}"
        if exchange.error is not None
        else exchange.outcome
    )
    if not note:
        note = f"answer {exchange.method} with error {code_words(code)} here"
    if isinstance(exchange.error_code, int) and exchange.error_code in OBSOLETE_CODES:
        note += f"; {exchange.error_code} is {OBSOLETE_CODES[exchange.error_code]}"
    return broken(
        exchange,
        note,
        expected=f"error {code_words(code)}",
        found=found,
        member="/error/code" if exchange.error is not None else "",
    )


# More problems of one message tell its author nothing new.
_PROBLEMS_TOLD = 3


def problems_told(
    exchange: Exchange, problems: Sequence[Problem], what: str, *, within: str = "/result"
) -> Iterator[Observation]:
    """That a message is not as its schema has it, a problem each. ``what`` is how the note begins,
    ``within`` where the message stands in the response."""
    for problem in problems[:_PROBLEMS_TOLD]:
        yield broken(
            exchange,
            f"{what}: {problem.sentence}",
            expected=problem.expected,
            found=problem.found,
            member=f"{within}{problem.path}",
        )


def unanswered(exchange: Exchange) -> str:
    """Why an exchange says nothing about the protocol; empty where it does."""
    if exchange.fault is not None and exchange.fault.kind == ENCODING:
        return f"its answer could not be decoded ({exchange.fault.detail})"
    if exchange.fault is not None:
        return f"no complete answer came ({exchange.fault.kind}: {exchange.fault.detail})"
    if exchange.rate_limited:
        return f"the request was rate limited ({exchange.outcome})"
    if exchange.status == 401 or (exchange.status == 403 and exchange.error is None):
        return f"the server refused the caller (HTTP {exchange.status})"
    if exchange.status in _OVERLOADED:
        return f"a gateway or a server without time answered (HTTP {exchange.status})"
    if exchange.response is None and exchange.beyond_limits:
        return f"a limit of the suite kept its answer from being read ({exchange.beyond_limits})"
    if exchange.response is None:
        return f"there was no JSON-RPC answer ({exchange.outcome})"
    return ""


# Also where JSON-RPC comes with it, the message was not what was wrong.
_OVERLOADED = (502, 503, 504)


def is_wordless(exchange: Exchange) -> bool:
    """Whether a request was answered without a word of JSON-RPC, and not because of its caller, its
    pace, a gateway, or a limit of the suite: an error of HTTP alone, or nothing at all. What HTTP
    calls a success and has no word either, ``transport`` tells, each time."""
    if exchange.fault is not None:
        return exchange.fault.kind in ("timeout", "reset", "protocol")
    status = exchange.status or 0
    of_others = exchange.rate_limited or status in (401, 403, *_OVERLOADED)
    is_error = status >= 400 and not of_others
    return exchange.response is None and is_error and not exchange.beyond_limits


def refused_beforehand(exchange: Exchange) -> str:
    """Why an answer says nothing about the task that was asked for: none came, or the server
    refused the request for a reason that other rules are about. Empty where it says something.
    """
    hindrance = unanswered(exchange)
    if not hindrance and exchange.error_code in _REFUSED_BEFOREHAND:
        return f"the request was refused with {code_words(exchange.error_code)}"
    return hindrance


_REFUSED_BEFOREHAND = (
    PARSE_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
)


def probes(
    history: History, *intents: str, method: str | None = None
) -> Iterator[Exchange | Observation]:
    """Probes whose accepted counterpart was indeed accepted.

    Yields the probe, or, where its control was refused as well, an ``unclear`` observation
    to pass on: what is refused with and without the one difference proves nothing.
    """
    for probe in history.intended(*intents, method=method):
        control = history.control_of(probe)
        if control is not None and control.result is None:
            yield unclear(
                (control, probe),
                "the same request without the fault was refused too "
                f"({control.outcome}), so the refusal proves nothing",
            )
        else:
            yield probe
