"""Large answers: which reads have one, and which of them broke off in the middle."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.expectations import unanswered
from conformance.judge.lives import Life, lives
from conformance.judge.observation import BROKEN, Observation, broken, unclear
from conformance.specification.names import TOOLS_CALL
from conformance.target.roles import LARGE, tools_with
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# Of an answer that broke off, so much may have come although its whole was large.
_LARGE_ENOUGH = 64 * 1024


def large_tools(history: History) -> frozenset[str]:
    """The tools whose results are large, as somebody said or as was seen."""
    named = {tool for tool, roles in history.circumstances.named.items() if LARGE in roles}
    return frozenset(named.union(tools_with(history, LARGE)))


def large_reads(history: History) -> Iterator[tuple[Life, Exchange]]:
    """The reads of tasks that may have had a large answer."""
    tools = history.derive(large_tools)
    for life in lives(history).values():
        for read in life.reads:
            if life.tool in tools or length_of(read) >= _LARGE_ENOUGH:
                yield life, read


def length_of(exchange: Exchange) -> int:
    """How many bytes of the body came."""
    return len(exchange.seen.body) if exchange.seen is not None else 0


def broken_off(life: Life, read: Exchange) -> Observation | None:
    """What is to be said of a read whose answer did not come as one whole JSON text, though it
    began well."""
    if read.status != 200 or read.response is not None or read.seen is None:
        return None
    if read.beyond_limits:
        return unclear(read, unanswered(read))
    length = length_of(read)
    if read.seen.cut or (read.fault is not None and read.fault.kind not in ("protocol", "reset")):
        return unclear(read, f"the suite stopped reading after {length} bytes: {read.outcome}")
    whole = next((r for r in life.reads if r.started >= read.ended and r.task is not None), None)
    if read.fault is not None and whole is not None:
        return unclear(
            (read, whole),
            f"the connection was lost after {length} bytes, and a later read came whole",
        )
    return broken(
        read,
        "send the whole answer, however large the result is: this one has"
        f" {length} bytes and is no complete JSON-RPC message",
        expected="the task with its result",
        found=read.outcome,
    )


def all_broken_off(history: History) -> frozenset[tuple[str, int]]:
    """The keys of the large reads that broke off, which polling.large-result tells, and of calls
    of the same tools that broke off likewise."""
    reads = [
        (life, read)
        for life, read in large_reads(history)
        if (found := broken_off(life, read)) is not None and found.kind == BROKEN
    ]
    tools = {life.tool for life, _ in reads}
    calls = (
        call
        for call in (history.of_method(TOOLS_CALL) if tools else ())
        if call.tool in tools and call.status == 200 and call.response is None
    )
    return frozenset((*(read.key for _, read in reads), *(call.key for call in calls)))
