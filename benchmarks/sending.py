"""What the suite adds to an exchange, beside a bare client and beside the server itself.

Both clients send the same requests to the same server, in turns, one request after the other.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx

from benchmarks.figures import Figure
from benchmarks.processes import Serving, serving
from conformance.drive.driver import Driver
from conformance.drive.running import new_session, new_wire
from conformance.drive.surroundings import Surroundings
from conformance.target.target import target_of
from conformance.wire.history import Circumstances, HistoryWriter

_ROUNDS = 12
_A_ROUND = 60


def measure() -> Iterator[Figure]:
    """Milliseconds of processor time an exchange, of the best round of each."""
    with serving() as server:
        suite, bare, of_server = anyio.run(_take_turns, server)
    added = suite - bare
    yield Figure("sending", "bare httpx", bare * 1000, "ms")
    yield Figure("sending", "the suite", suite * 1000, "ms", note="recorded, redacted, followed")
    yield Figure("sending", "the server", of_server * 1000, "ms", note="its own processor time")
    yield Figure("sending", "the suite to bare httpx", suite / bare, "times")
    yield Figure("sending", "overhead to the server's own time", added / of_server, "times", 1.0)


async def _take_turns(server: Serving) -> tuple[float, float, float]:
    suite: list[float] = []
    bare: list[float] = []
    of_server: list[float] = []
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        writer = HistoryWriter(Path(folder) / "sending.jsonl", Circumstances(url=server.url))
        target = target_of(server.url)
        async with new_wire(target) as wire, httpx.AsyncClient(trust_env=False) as client:
            session = new_session(target, Surroundings(), wire, seconds=300)
            driver = Driver(session, "sending", writer)
            for _ in range(_ROUNDS):
                used = server.processor()
                suite.append(await _suite_round(driver))
                bare.append(await _bare_round(driver, client, server.url))
                of_server.append((server.processor() - used) / (2 * _A_ROUND))
        writer.close()
    # The server's time is told in hundredths of a second: only many rounds together are exact.
    return min(suite), min(bare), sum(of_server) / len(of_server)


async def _suite_round(driver: Driver) -> float:
    begun = time.process_time()
    for number in range(_A_ROUND):
        await driver.send(driver.get_draft(f"no-such-task-{number}"), "unknown-id")
    return (time.process_time() - begun) / _A_ROUND


async def _bare_round(driver: Driver, client: httpx.AsyncClient, url: str) -> float:
    drafts = [driver.get_draft(f"no-such-task-{number}") for number in range(_A_ROUND)]
    begun = time.process_time()
    for draft in drafts:
        answer = await client.post(url, content=draft.body, headers=list(draft.headers))
        answer.json()
    return (time.process_time() - begun) / _A_ROUND
