"""How fast sequences go: requests a second, and memory over many exchanges.

    python -m benchmarks.sequences --seconds 300    # for longer, and told as JSON

They are judged step by step, as always. The same requests are sent a second time by a bare loop of
httpx, one after another and several at a time, without being kept, judged or paced. All of it goes
to the reference server, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import anyio
import httpx

from benchmarks.figures import AT_LEAST, Figure
from benchmarks.processes import serving
from conformance.drive.driver import Driver
from conformance.drive.running import new_session, new_wire
from conformance.drive.sequences import extents, searching
from conformance.drive.surroundings import Surroundings
from conformance.run import Telling, circumstances_of, look_around
from conformance.target.target import Target
from conformance.wire.exchange import Exchange, Sent
from conformance.wire.history import Circumstances, HistoryWriter

_SLOTS = 16
_SECONDS = 60.0
# So many exchanges it takes until all that is made once has been made.
_SETTLED_AFTER = 4000


class _Watch:
    """Counts exchanges, keeps the first of them, and looks at memory now and then."""

    def __init__(self, most_kept: int) -> None:
        self.count = 0
        self.sent: list[Sent] = []
        self.memory: list[tuple[int, int]] = []
        self._most_kept = most_kept

    def __call__(self, exchange: Exchange) -> None:
        self.count += 1
        if len(self.sent) < self._most_kept and exchange.method != "subscriptions/listen":
            self.sent.append(exchange.sent)
        if self.count % 2000 == 0:
            self.memory.append((self.count, resident_kib()))


def resident_kib() -> int:
    """The memory of this process, in KiB."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def search(
    target: Target, surroundings: Surroundings, circumstances: Circumstances, watch: _Watch
) -> float:
    """Search until the target's time is over. Returns the seconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        writer = HistoryWriter(Path(folder) / "sequences.search-1.jsonl", circumstances)
        async with new_wire(target) as wire:
            session = new_session(target, surroundings, wire, seconds=36_000, on_exchange=watch)
            driver = Driver(session, "sequences.search-1", writer)
            begun = time.monotonic()
            await searching.Search(driver, 1).run()
            seconds = time.monotonic() - begun
        writer.close()
    return seconds


async def bare_loop(sent: Sequence[Sent], at_once: int) -> float:
    """Send the same requests by httpx alone. Returns the seconds it took."""
    requests = iter(sent)
    limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
    async with httpx.AsyncClient(timeout=30, trust_env=False, limits=limits) as client:

        async def work() -> None:
            for request in requests:
                answer = await client.post(
                    request.url, content=request.body, headers=list(request.headers)
                )
                if answer.headers.get("content-type", "").startswith("application/json"):
                    answer.json()

        begun = time.monotonic()
        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(work)
        return time.monotonic() - begun


@dataclass(frozen=True)
class Measured:
    """``memory`` is KiB after so many exchanges; rates are requests a second."""

    exchanges: int
    seconds: float
    processor_seconds: float
    bare_one: float
    bare_several: float
    memory_before: int
    memory: list[tuple[int, int]]

    @property
    def rate(self) -> float:
        return self.exchanges / self.seconds


async def _measured(url: str, seconds: float, most: int) -> Measured:
    target = Target(url=url, seed=1, effort="thorough", sequences_for=seconds)
    circumstances = circumstances_of(target, "2026-07-28T00:00:00Z")
    with tempfile.TemporaryDirectory() as folder:
        looked = await look_around(target, Path(folder), circumstances, 60.0, Telling())
    watch = _Watch(most_kept=most)
    before, used = resident_kib(), time.process_time()
    took = await search(target, looked, circumstances, watch)
    used = time.process_time() - used
    one = await bare_loop(watch.sent, 1)
    several = await bare_loop(watch.sent, _SLOTS)
    sent = len(watch.sent)
    return Measured(watch.count, took, used, sent / one, sent / several, before, watch.memory)


def measured(seconds: float, most: int = 2000) -> Measured:
    """Search so long, with many sequences at once, and send ``most`` of the requests again."""
    unlimited = extents.extent_of(Target(url="http://127.0.0.1", effort="thorough"))
    extents.EXTENTS["thorough"] = replace(unlimited, slots=_SLOTS)
    try:
        with serving() as server:
            return anyio.run(_measured, server.url, seconds, most)
    finally:
        extents.EXTENTS["thorough"] = unlimited


def measure() -> Iterator[Figure]:
    """Rates beside bare httpx, and how memory grows."""
    found = measured(_SECONDS)
    settled = next(pair for pair in found.memory if pair[0] >= _SETTLED_AFTER)
    last = found.memory[-1]
    note = f"{found.exchanges:,} exchanges, {_SLOTS} sequences at once, judged step by step"
    yield Figure("sequences", "requests", found.rate, "/s", note=note)
    yield Figure("sequences", "bare httpx", found.bare_one, "/s", note="one after another")
    yield Figure("sequences", "bare httpx, at once", found.bare_several, "/s", note=f"{_SLOTS}")
    yield Figure("sequences", "to bare httpx", found.rate / found.bare_one, "times", 0.5, AT_LEAST)
    for count, kib in (settled, last):
        yield Figure("sequences", f"memory after {count:,} exchanges", kib / 1024, "MB")
    growth = last[1] / settled[1]
    yield Figure("sequences", "growth of memory", growth, "times", 1.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="how long to search")
    parser.add_argument("--compare", type=int, default=2000, help="requests sent again bare")
    chosen = parser.parse_args()
    print(json.dumps(asdict(measured(chosen.seconds, chosen.compare)), indent=1))


if __name__ == "__main__":
    main()
