"""What may have happened by accident, and counts against a server where it happened again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from conformance.judge.observation import BROKEN, Observation, broken, unclear
from conformance.specification.states import CANCELLED, FAILED
from conformance.wire.exchange import Exchange

# So many others that completed make it unlikely that one fails by chance.
NO_CHANCE = 3
_BY_ITSELF = "the task may have ended so by itself"
_SPARED = "another task that was sent the same completed"
_FAILED_ONCE = "such a request was not answered once, and anything may fail once"


def ended_badly(seen: Observation) -> bool:
    """Whether all that speaks against a server is that a task failed or was cancelled."""
    if seen.kind != BROKEN or seen.member != "/result/status":
        return False
    return (seen.exchanges[-1].task or {}).get("status") in (FAILED, CANCELLED)


def not_by_accident(found: Iterable[Observation], *, spared: bool = False) -> Iterator[Observation]:
    """What was found, but that a task failed or was cancelled only where more than one was, and
    none was ``spared``: was sent the same in time, and completed."""
    bad_ends: list[Observation] = []
    for seen in found:
        if ended_badly(seen):
            bad_ends.append(seen)
        else:
            yield seen
    if spared:
        yield from (unclear(one.exchanges, _SPARED) for one in bad_ends)
    else:
        yield from if_more_than_one(bad_ends, _BY_ITSELF)


def if_more_than_one(found: Sequence[Observation], why_not: str) -> Iterator[Observation]:
    """What counts only where it was seen more than once; ``why_not`` tells of it alone."""
    if len(found) > 1:
        yield from found
    else:
        yield from (unclear(one.exchanges, why_not) for one in found)


def without_a_word(exchanges: Sequence[Exchange], what: str, expected: str) -> Observation:
    """That the last of these exchanges was answered without JSON-RPC, one of several; ``what`` is
    what the server should do."""
    outcome = exchanges[-1].outcome
    note = f"{what}: there was {outcome}, each time"
    return broken(exchanges, note, expected=expected, found=outcome)


def where_none_was_served(
    failed: Mapping[str, Sequence[Observation]], served: Collection[str]
) -> Iterator[Observation]:
    """What counts of requests that failed without a reason, by the status of their tasks: where
    there was more than one, and none of a task with the same status was served."""
    for status, found in failed.items():
        if status in served:
            yield from (unclear(one.exchanges, one.found) for one in found)
        else:
            yield from if_more_than_one(found, _FAILED_ONCE)
