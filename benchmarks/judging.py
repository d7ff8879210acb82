"""How fast a history is read and judged, and whether that grows with its length alone."""

from __future__ import annotations

import gc
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import AT_LEAST, Figure
from benchmarks.histories import lengthened
from benchmarks.processes import serving
from benchmarks.running import whole_run_kept
from conformance.judge.lives import lives
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Judgement, judge
from conformance.wire.history import History, HistoryWriter, read

_SHORT, _LONG = 10_000, 100_000
_TIMES = 3


def measure() -> Iterator[Figure]:
    """Exchanges a second, of processor time: the judge waits for nothing."""
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        with serving() as server:
            whole_run_kept(server, Path(folder) / "history")
        history = read([Path(folder) / "history"])
        short = lengthened(history, _SHORT)
        yield _reading(short, Path(folder) / "short")
        rate = max(_rate(short) for _ in range(_TIMES))
        yield Figure(
            "judging",
            f"{len(short):,} exchanges",
            rate,
            "exchanges/s",
            20_000,
            AT_LEAST,
            note=f"best of {_TIMES}; {len(catalogue())} rules",
        )
        again = max(_rate_of_shared(short) for _ in range(2))
        yield Figure("judging", f"{len(short):,}, already parsed", again, "exchanges/s")
    few = len(lives(short))
    del short
    gc.collect()
    long = lengthened(history, _LONG)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    long_rate = _rate(long)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Figure(
        "judging",
        f"{len(long):,} exchanges",
        long_rate,
        "exchanges/s",
        20_000,
        AT_LEAST,
        note=f"from {before:,.0f} to {after:,.0f} MB",
    )
    yield Figure(
        "judging",
        "growth",
        rate / long_rate,
        "times",
        1.25,
        note=("time for an exchange of the long history, to that of the short one: 1 is linear"),
    )
    many = len(lives(long))
    yield Figure(
        "judging",
        "growth with tasks",
        (len(long) / long_rate / many) / (_SHORT / rate / few),
        "times",
        1.25,
        note=f"time for a task, from {few:,} tasks to {many:,}: 1 is linear",
    )


def _fresh(history: History) -> History:
    """The same history with nothing parsed yet."""
    return History([replace(each) for each in history.exchanges], history.circumstances)


def _rate(history: History) -> float:
    return _timed(_fresh(history))


def _rate_of_shared(history: History) -> float:
    for exchange in history.exchanges:
        _ = exchange.request, exchange.messages
    return _timed(History(history.exchanges, history.circumstances))


def _timed(history: History) -> float:
    rules = catalogue()
    gc.collect()
    begun = time.process_time()
    judgement = judge(rules, history)
    seconds = time.process_time() - begun
    _check(judgement)
    return len(history) / seconds


def _check(judgement: Judgement) -> None:
    failed = [v.rule.id for v in judgement.verdicts if v.verdict == "fail"]
    if failed:
        raise RuntimeError(f"a lengthened history of a right server is accused of {failed}")


def _reading(history: History, folder: Path) -> Figure:
    writer = HistoryWriter(folder / "long.jsonl", history.circumstances)
    for number, exchange in enumerate(history, 1):
        writer.append(replace(exchange, number=number, control=None))
    writer.close()
    gc.collect()
    begun = time.process_time()
    length = len(read([folder]))
    seconds = time.process_time() - begun
    return Figure("judging", "reading the files", length / seconds, "exchanges/s")
