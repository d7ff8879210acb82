"""What a rule saw in a history: it held, it was broken, or it could not be told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.wire.exchange import Exchange

HOLDS = "holds"
BROKEN = "broken"
UNCLEAR = "unclear"
NOT_OFFERED = "not-offered"


@dataclass(frozen=True)
class Observation:
    """One look at one place.

    ``note`` is a sentence a server author can act on. ``expected`` and ``found`` say what
    the text asks and what came, in a few words. ``member`` is the JSON pointer, in the
    response of the last exchange, of the member that decided.
    """

    kind: str
    exchanges: tuple[Exchange, ...]
    note: str = ""
    expected: str = ""
    found: str = ""
    member: str = ""


def _several(exchanges: Exchange | Iterable[Exchange]) -> tuple[Exchange, ...]:
    return (exchanges,) if isinstance(exchanges, Exchange) else tuple(exchanges)


def holds(exchanges: Exchange | Iterable[Exchange], note: str = "") -> Observation:
    """The rule was put to the test here, and held. A ``note`` is shown with the pass."""
    return Observation(HOLDS, _several(exchanges), note)


def broken(
    exchanges: Exchange | Iterable[Exchange],
    note: str,
    *,
    expected: str = "",
    found: str = "",
    member: str = "",
) -> Observation:
    """The rule was broken here. The exchanges, in order, are the evidence."""
    return Observation(BROKEN, _several(exchanges), note, expected, found, member)


def unclear(exchanges: Exchange | Iterable[Exchange], note: str) -> Observation:
    """The rule could have been tested here, but something else stood in the way."""
    return Observation(UNCLEAR, _several(exchanges), note)


def not_offered(note: str, exchanges: Exchange | Iterable[Exchange] = ()) -> Observation:
    """The server does not offer what the rule is about: the rule does not apply."""
    return Observation(NOT_OFFERED, _several(exchanges), note)
