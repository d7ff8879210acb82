"""The life of a task, for findings that are about one task's history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.judge.lives import Life, lives
from conformance.judge.observation import Observation
from conformance.judge.requests import task_made
from conformance.report.evidence import history_file, short_text
from conformance.specification.names import TASKS_CANCEL, TASKS_GET, TASKS_UPDATE
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

CREATED = "created"
READ = "read"
UPDATED = "updated"
CANCELLED = "cancelled"
PUSHED = "pushed"
KINDS = (CREATED, READ, UPDATED, CANCELLED, PUSHED)

_KIND_OF_METHOD = {TASKS_GET: READ, TASKS_UPDATE: UPDATED, TASKS_CANCEL: CANCELLED}
# Rules of these topics are about what became of a task, also where one exchange shows it.
_ABOUT_HISTORIES = ("lifecycle", "cancellation", "expiry", "endurance")
_STEPS_KEPT = 80


@dataclass(frozen=True)
class Step:
    """One thing that was done with a task, or told of it.

    ``began`` and ``ended`` are seconds since the task's creation was sent. ``status`` is the
    state that it showed, if any; ``refused`` what came instead of the task or an
    acknowledgement. ``evidence`` is true of what the finding shows as evidence.
    """

    kind: str
    began: float
    ended: float
    caller: str
    history: str
    exchange: int
    status: str = ""
    refused: str = ""
    evidence: bool = False


@dataclass(frozen=True)
class TaskLife:
    """What was seen of one task, in the order it came. ``left_out`` counts steps that told
    nothing new and are not here."""

    task_id: str
    steps: tuple[Step, ...]
    left_out: int = 0


def life_of(rule_id: str, observation: Observation, history: History) -> TaskLife | None:
    """The life of the one task that an observation is about; ``None`` where it is about several,
    or about a single message."""
    about = [(e, i) for e in observation.exchanges for i in _ids(e)]
    ids = {task_id for _, task_id in about}
    if len(ids) != 1 or (len(about) < 2 and rule_id.partition(".")[0] not in _ABOUT_HISTORIES):
        return None
    life = lives(history).get(ids.pop())
    if life is None or life.creation is None:
        return None
    shown = {exchange.key for exchange in observation.exchanges}
    steps = sorted(_steps(life, life.creation, shown), key=lambda s: (s.ended, s.began))
    if len(steps) < 2:
        return None
    kept = _most_telling(steps)
    return TaskLife(short_text(life.task_id, 200), kept, len(steps) - len(kept))


def _ids(exchange: Exchange) -> Iterator[str]:
    made = task_made(exchange)
    if made is not None and isinstance(made.get("taskId"), str):
        yield made["taskId"]
    elif exchange.task_id is not None:
        yield exchange.task_id
    listened = exchange.params.get("notifications")
    wanted = listened.get("taskIds") if isinstance(listened, dict) else None
    yield from (i for i in (wanted if isinstance(wanted, list) else ()) if isinstance(i, str))


def _steps(life: Life, creation: Exchange, shown: set[tuple[str, int]]) -> Iterator[Step]:
    def step(kind: str, exchange: Exchange, status: object, ended: float | None = None) -> Step:
        at = exchange.ended if ended is None else ended
        told = kind in (CREATED, PUSHED) or exchange.result is not None
        return Step(
            kind=kind,
            began=round((at if kind == PUSHED else exchange.started) - creation.started, 3),
            ended=round(at - creation.started, 3),
            caller=short_text(exchange.caller, 40),
            history=history_file(exchange),
            exchange=exchange.number,
            status=short_text(status, 40) if isinstance(status, str) else "",
            refused="" if told else short_text(exchange.outcome, 200),
            evidence=exchange.key in shown,
        )

    yield step(CREATED, creation, (task_made(creation) or {}).get("status"))
    for exchange in (*life.reads, *life.updates, *life.cancels):
        status = exchange.task.get("status") if exchange.task is not None else None
        yield step(_KIND_OF_METHOD[str(exchange.method)], exchange, status)
    for sighting in life.sightings:
        if sighting.how == "notification":
            yield step(PUSHED, sighting.exchange, sighting.status, sighting.ended)


def _most_telling(steps: Sequence[Step]) -> tuple[Step, ...]:
    """All of a short life; of a long one not the reads that showed what the one before did."""
    if len(steps) <= _STEPS_KEPT:
        return tuple(steps)
    last = len(steps) - 1
    telling = [
        n
        for n, step in enumerate(steps)
        if step.evidence
        or step.kind not in (READ, PUSHED)
        or n in (0, last)
        or (step.status, step.refused) != (steps[n - 1].status, steps[n - 1].refused)
    ]
    # What came last is nearest to what went wrong.
    kept = set(telling[-_STEPS_KEPT:])
    others = [n for n in range(last, -1, -1) if n not in kept]
    kept.update(others[: _STEPS_KEPT - len(kept)])
    return tuple(steps[n] for n in sorted(kept))
