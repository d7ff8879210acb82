"""Errors that a server answers all alike: with one code, or with one HTTP status.

Many rules ask for a code, and several for a status. A server whose errors all come from one place
breaks each of them for one reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.judge.observation import Observation
from conformance.specification.names import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    TOOLS_CALL,
    code_words,
)
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# What a library answers by itself, before anything that its user wrote is asked.
_OF_LIBRARIES = (PARSE_ERROR, INVALID_REQUEST)
# With fewer different mistakes of a client, that they are answered alike means nothing.
_ENOUGH_CODES = 3
_ENOUGH_INTENTS = 4
_A_CODE = re.compile(r"\berror -32\d{3}\b")
_A_STATUS = re.compile(r"HTTP \d{3}$")


@dataclass(frozen=True)
class Uniform:
    """What all errors have, in words; ``code`` or ``status``, the other is ``None``."""

    words: str
    code: int | None = None
    status: int | None = None

    def explains(self, observation: Observation) -> bool:
        """Whether a rule is broken in one place only since the error there is like all others."""
        answer = observation.exchanges[-1]
        if answer.error is None:
            return False
        if self.code is not None:
            wanted = _A_CODE.search(observation.expected) is not None
            return wanted and answer.error_code == self.code
        wanted = _A_STATUS.fullmatch(observation.expected) is not None
        return wanted and answer.status == self.status


def uniform_errors(history: History) -> tuple[Uniform, ...]:
    """How the errors of a server are all alike; empty where they are not, or few were seen."""
    errors = [
        exchange
        for exchange in history.exchanges
        # A call may end in an error that its tool was told.
        if exchange.error is not None
        and exchange.method != TOOLS_CALL
        and not exchange.rate_limited
    ]
    return (*_of_one_status(errors), *_of_one_code(errors))


def _of_one_status(errors: list[Exchange]) -> Iterator[Uniform]:
    own = [exchange for exchange in errors if exchange.error_code not in _OF_LIBRARIES]
    statuses = {exchange.status for exchange in own}
    if len(statuses) == 1 and len({exchange.error_code for exchange in own}) >= _ENOUGH_CODES:
        (status,) = statuses
        yield Uniform(f"every error of this server comes with HTTP {status}", status=status)


def _of_one_code(errors: list[Exchange]) -> Iterator[Uniform]:
    codes = {exchange.error_code for exchange in errors}
    own = codes - {*_OF_LIBRARIES, METHOD_NOT_FOUND} or codes
    intents = {exchange.intent for exchange in errors if exchange.error_code in own}
    if len(own) == 1 and len(intents) >= _ENOUGH_INTENTS:
        (code,) = own
        if isinstance(code, int):
            yield Uniform(f"every error of this server has the code {code_words(code)}", code=code)
