"""polling: times, durations and names of the members of a task."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

from conformance.judge.lives import Life, Sighting, lives, may_have_expired
from conformance.judge.observation import BROKEN, Observation, broken, holds, unclear
from conformance.judge.rule import ADVICE, IMPLIED, MUST, rule
from conformance.judge.shown import brief, is_number, is_quiet, moment_told, tasks_shown
from conformance.judge.times import SECOND, Moment, certainly_before, certainly_differ, moment_of
from conformance.specification.citations import sep, tasks
from conformance.specification.names import META_RELATED_TASK
from conformance.specification.states import INPUT_REQUIRED
from conformance.target.roles import TASK
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History

# The largest integer that every JSON reader keeps exactly; the schema's bound as well.
_LARGEST_INTEGER = 2**53 - 1
# Nobody means to be polled fifty times a second, or forgets a task within a second.
_SHORTEST_PLAUSIBLE_INTERVAL = 20
_SHORTEST_PLAUSIBLE_TTL = 1000

_TIMES = ("createdAt", "lastUpdatedAt")


@rule("polling.timestamps", MUST, tasks("tasks-1"), needs=(TASK,))
def times_are_iso_8601(history: History) -> Iterator[Observation]:
    """createdAt and lastUpdatedAt are ISO 8601 timestamps.

    Handles are looked at as well as reads. A time without a zone is allowed; which moment it
    names, nobody can tell.
    """
    for sighting in tasks_shown(history):
        wrong = False
        zoned = True
        for name in _TIMES:
            if name not in sighting.task:
                continue
            moment = moment_told(sighting, name)
            if moment is None:
                wrong = True
                yield _no_moment(sighting, name)
            else:
                zoned = zoned and moment.zoned
        if not wrong:
            note = (
                ""
                if zoned
                else "tell the zone of createdAt and lastUpdatedAt, best as Z: without it nobody"
                " knows which moment is meant"
            )
            yield holds(sighting.exchange, note)


def _no_moment(sighting: Sighting, name: str) -> Observation:
    value = sighting.task[name]
    advice = "write it like 2026-07-28T12:00:00Z"
    if is_number(value):
        advice = f"it is a number; {advice}"
    elif isinstance(value, str) and moment_of(value.strip().replace(" ", "T", 1)) is not None:
        advice = f"ISO 8601 has a T between date and time, and no spaces; {advice}"
    return broken(
        sighting.exchange,
        f"{name} is not an ISO 8601 timestamp: {advice}",
        expected="an ISO 8601 timestamp",
        found=brief(value),
        member=f"{sighting.pointer}/{name}",
    )


def _while_kept(life: Life) -> list[Sighting]:
    """A task as its handle and its reads showed it, until its ttlMs may have been over."""
    return [
        sighting
        for sighting in life.sightings
        if sighting.how != "notification" and not may_have_expired(life, sighting.ended)
    ]


@rule(
    "polling.created-at-constant",
    IMPLIED,
    tasks("tasks-1"),
    needs=(TASK,),
    after=("polling.timestamps", "creation.unique-ids"),
)
def created_at_never_changes(history: History) -> Iterator[Observation]:
    """The createdAt of a task is the same in its handle and in every read."""
    for life in lives(history).values():
        told = [(s, moment_told(s, "createdAt")) for s in _while_kept(life)]
        known = [(s, moment) for s, moment in told if moment is not None]
        if len(known) < 2:
            continue
        first, created = known[0]
        other = next(((s, m) for s, m in known[1:] if certainly_differ(created, m)), None)
        if other is None:
            yield holds(first.exchange)
        else:
            yield broken(
                (first.exchange, other[0].exchange),
                "store createdAt with the task: it names another moment than before",
                expected=brief(first.task["createdAt"]),
                found=brief(other[0].task["createdAt"]),
                member="/result/createdAt",
            )


@rule(
    "polling.updated-at-monotonic",
    IMPLIED,
    tasks("tasks-1"),
    needs=(TASK,),
    after=(
        "polling.timestamps",
        "polling.created-at-constant",
        "creation.unique-ids",
        "concurrency.reads-agree",
    ),
)
def updated_at_never_goes_back(history: History) -> Iterator[Observation]:
    """lastUpdatedAt is not before createdAt, and never goes back.

    A server may be several machines, whose clocks differ a little: some seconds prove nothing.
    """
    for life in lives(history).values():
        shown = _while_kept(life)
        problems = [*_before_creation(shown), *_going_back(shown)]
        worst = next((p for p in problems if p.kind == BROKEN), None) or next(iter(problems), None)
        if worst is not None:
            yield worst
            continue
        told = [(s, m) for s in shown if (m := moment_told(s, "lastUpdatedAt")) is not None]
        compared = [s for s, m in told if m.zoned == told[0][1].zoned]
        if len(compared) > 1:
            yield holds((compared[0].exchange, compared[-1].exchange))


# By so much the clocks of one server may differ.
_SKEW = 2 * SECOND
# Two changes may well come so close together, in nanoseconds, that they are told with one time.
_COARSE = SECOND // 10


def _back(updated: Moment, before: Moment, evidence: tuple[Exchange, ...]) -> Observation | None:
    """Where a time is before another one, but by no more than clocks differ."""
    skewed = Moment(updated.nanoseconds + _SKEW, updated.zoned, updated.resolution)
    if certainly_before(skewed, before):
        return None
    return unclear(evidence, "lastUpdatedAt is a little too early: so much the clocks may differ")


def _before_creation(shown: list[Sighting]) -> Iterator[Observation]:
    for sighting in shown:
        created, updated = (
            moment_told(sighting, "createdAt"),
            moment_told(sighting, "lastUpdatedAt"),
        )
        if created is None or updated is None or not certainly_before(updated, created):
            continue
        yield _back(updated, created, (sighting.exchange,)) or broken(
            sighting.exchange,
            "a task cannot have been updated before it was created",
            expected=f"not before {brief(sighting.task['createdAt'])}",
            found=brief(sighting.task["lastUpdatedAt"]),
            member=f"{sighting.pointer}/lastUpdatedAt",
        )


def _going_back(shown: list[Sighting]) -> Iterator[Observation]:
    told = [(s, m) for s in shown if (m := moment_told(s, "lastUpdatedAt")) is not None]
    for later, updated in told:
        for earlier, before in told:
            if not earlier.certainly_before(later) or not certainly_before(updated, before):
                continue
            if earlier.exchange.replica != later.exchange.replica:
                continue  # nothing bounds how late another one learns of a change
            evidence = (earlier.exchange, later.exchange)
            yield _back(updated, before, evidence) or broken(
                evidence,
                "lastUpdatedAt went back between two reads, of which the second began after"
                " the first had ended",
                expected=f"not before {brief(earlier.task['lastUpdatedAt'])}",
                found=brief(later.task["lastUpdatedAt"]),
                member="/result/lastUpdatedAt",
            )


@rule(
    "polling.updated-at-tracks-change",
    ADVICE,
    tasks("tasks-1"),
    needs=(TASK,),
    after=(
        "polling.timestamps",
        "polling.updated-at-monotonic",
        "polling.input-required",
        "polling.pure-read",
        "polling.rate-limit-honest",
        "lifecycle.legal-transitions",
        "endurance.replicas",
        "endurance.end-known-elsewhere",
    ),
)
def updated_at_tells_of_changes(history: History) -> Iterator[Observation]:
    """lastUpdatedAt moves when the state moves, and rests when nothing changes.

    Above all it rests after the end: a client can then tell from it whether it has seen all.
    A server may update a task without visible effect, so that a live task may be restless.
    """
    for life in lives(history).values():
        shown = _while_kept(life)
        yield from _moves_with_state(shown)
        yield from _rests_after_the_end(shown)
        yield from _rests_while_live(life, shown)


def _state(sighting: Sighting) -> tuple[str, frozenset[str]] | None:
    """Status and open requests; ``None`` where a task waits and shows no request: a handle need
    not, and the status may be about to follow the last answer."""
    requests = sighting.task.get("inputRequests")
    keys = frozenset(requests) if isinstance(requests, dict) else frozenset()
    if sighting.status == INPUT_REQUIRED and (sighting.how == "handle" or not keys):
        return None
    return str(sighting.status), keys


def _moves_with_state(shown: list[Sighting]) -> Iterator[Observation]:
    """Between a sighting of one state and a later one of another, lastUpdatedAt has moved.

    It need not have moved visibly where the state changed in the same second, say, as the
    change before: that can only be ruled out where the older time had been told for longer. And a
    server may show a change one read late: where its times are coarse, the read before counts.
    """
    for later in shown:
        state, updated = _state(later), moment_told(later, "lastUpdatedAt")
        if state is None or updated is None:
            continue
        past = list(islice((s for s in reversed(shown) if s.certainly_before(later)), 2))
        earlier = past[0] if past else None
        before = moment_told(earlier, "lastUpdatedAt") if earlier is not None else None
        if earlier is None or before is None or _state(earlier) in (None, state):
            continue
        told_first = next(s for s in shown if moment_told(s, "lastUpdatedAt") == before)
        known = past[-1] if before.resolution >= _COARSE else earlier
        if (known.began - told_first.ended) * SECOND <= before.resolution:
            continue
        if updated != before:
            yield holds((earlier.exchange, later.exchange))
            continue
        yield broken(
            (earlier.exchange, later.exchange),
            "move lastUpdatedAt with every change of the task: its state changed and"
            " lastUpdatedAt did not",
            expected=f"later than {brief(earlier.task['lastUpdatedAt'])}",
            found=f"{brief(later.task['lastUpdatedAt'])}, status {later.status!r} after"
            f" {earlier.status!r}",
            member="/result/lastUpdatedAt",
        )


def _rests_after_the_end(shown: list[Sighting]) -> Iterator[Observation]:
    ended = [s for s in shown if s.how == "read" and s.terminal]
    for later in ended[1:]:
        # A ttlMs that changed after the end is an update, which lastUpdatedAt may tell of.
        first = next(s for s in ended if _durations(s) == _durations(later))
        one, other = moment_told(first, "lastUpdatedAt"), moment_told(later, "lastUpdatedAt")
        if not first.certainly_before(later) or one is None or other is None:
            continue
        if first.status != later.status:
            continue
        if certainly_differ(one, other):
            yield broken(
                (first.exchange, later.exchange),
                "leave lastUpdatedAt alone once the task has ended: it is when the task was"
                " updated, not when it was read",
                expected=brief(first.task["lastUpdatedAt"]),
                found=brief(later.task["lastUpdatedAt"]),
                member="/result/lastUpdatedAt",
            )
        else:
            yield holds((first.exchange, later.exchange))


def _durations(sighting: Sighting) -> tuple[object, object]:
    return sighting.task.get("ttlMs"), sighting.task.get("pollIntervalMs")


# Members in which two reads of an unchanged task may differ.
_RESTLESS = ("_meta", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "resultType")


def _visible(task: JsonObject) -> JsonObject:
    return {name: value for name, value in task.items() if name not in _RESTLESS}


def _rests_while_live(life: Life, shown: list[Sighting]) -> Iterator[Observation]:
    """A note where lastUpdatedAt moves although nothing visible does."""
    live = [s for s in shown if s.how == "read" and not s.terminal]
    for earlier, later in pairwise(live):
        one, other = moment_told(earlier, "lastUpdatedAt"), moment_told(later, "lastUpdatedAt")
        if one is None or other is None or not is_quiet(life, earlier, later):
            continue
        if certainly_differ(one, other) and _visible(earlier.task) == _visible(later.task):
            yield holds(
                (earlier.exchange, later.exchange),
                "lastUpdatedAt moved between two reads that showed no other change",
            )
            return


@rule("polling.durations", MUST, tasks("tasks-1"), needs=(TASK,))
def durations_are_integers(history: History) -> Iterator[Observation]:
    """ttlMs is an integer or null; pollIntervalMs, where it is present, is an integer."""
    for sighting in tasks_shown(history):
        wrong = list(_wrong_durations(sighting))
        yield from wrong
        if wrong:
            continue
        fractions = [n for n in ("ttlMs", "pollIntervalMs") if _is_float(sighting.task.get(n))]
        note = f"write {' and '.join(fractions)} without a decimal point" if fractions else ""
        yield holds(sighting.exchange, note)


def _is_float(value: object) -> bool:
    return isinstance(value, float)


def _wrong_durations(sighting: Sighting) -> Iterator[Observation]:
    for name, null_means in (("ttlMs", "an integer or null"), ("pollIntervalMs", "an integer")):
        if name not in sighting.task:
            continue
        value = sighting.task[name]
        if value is None and name == "ttlMs":
            continue
        if is_number(value) and value == value // 1 and abs(value) <= _LARGEST_INTEGER:
            continue
        advice = f"{name} is {null_means}, in milliseconds"
        if value is None:
            advice += "; leave it out where there is none"
        elif is_number(value) and abs(value) > _LARGEST_INTEGER:
            advice += ", at most 2^53-1" + ("; null means unlimited" if name == "ttlMs" else "")
        yield broken(
            sighting.exchange,
            advice,
            expected=null_means,
            found=brief(value),
            member=f"/result/{name}",
        )


@rule(
    "polling.durations-plausible",
    ADVICE,
    tasks("tasks-1"),
    needs=(TASK,),
    after=("polling.durations",),
)
def durations_are_milliseconds(history: History) -> Iterator[Observation]:
    """ttlMs and pollIntervalMs are positive, and not seconds mistaken for milliseconds."""
    for sighting in tasks_shown(history):
        ttl, interval = sighting.task.get("ttlMs"), sighting.task.get("pollIntervalMs")
        problem = ""
        member, found = "pollIntervalMs", interval
        if is_number(interval) and interval <= 0:
            problem = "make pollIntervalMs positive, or leave it out"
        elif is_number(interval) and interval < _SHORTEST_PLAUSIBLE_INTERVAL:
            problem = (
                f"pollIntervalMs counts milliseconds: {interval} asks to be polled"
                f" {1000 / interval:.0f} times a second"
            )
        elif is_number(ttl):
            member, found = "ttlMs", ttl
            if ttl <= 0:
                problem = "make ttlMs positive, or null for a task that is kept without limit"
            elif ttl < _SHORTEST_PLAUSIBLE_TTL:
                problem = (
                    f"ttlMs counts milliseconds: a task that is kept for {ttl} of them is gone"
                    " before anybody reads it"
                )
            elif is_number(interval) and ttl <= interval:
                problem = (
                    "keep a task for longer than its pollIntervalMs: it may be gone before the"
                    " first poll; both count milliseconds"
                )
        if problem:
            yield broken(
                sighting.exchange,
                problem,
                expected="a plausible number of milliseconds",
                found=brief(found),
                member=f"/result/{member}",
            )
        elif is_number(ttl) or is_number(interval):
            yield holds(sighting.exchange)


_LEGACY_NAMES = {"ttl": "ttlMs", "pollInterval": "pollIntervalMs"}


@rule(
    "polling.no-legacy-names",
    ADVICE,
    sep("backward-compatibility"),
    needs=(TASK,),
    after=("creation.shape", "polling.shape"),
)
def no_names_of_the_older_design(history: History) -> Iterator[Observation]:
    """No `ttl` or `pollInterval`, and no related-task `_meta` on the inlined result.

    They belong to the tasks of 2025-11-25. The text does not forbid them.
    """
    for sighting in tasks_shown(history):
        legacy = [name for name in _LEGACY_NAMES if name in sighting.task]
        result = sighting.task.get("result")
        meta = result.get("_meta") if isinstance(result, dict) else None
        if legacy:
            yield broken(
                sighting.exchange,
                f"leave {' and '.join(legacy)} out; the extension has"
                f" {' and '.join(_LEGACY_NAMES[name] for name in legacy)}",
                expected=", ".join(_LEGACY_NAMES[name] for name in legacy),
                found=", ".join(legacy),
                member=f"/result/{legacy[0]}",
            )
        elif isinstance(meta, dict) and META_RELATED_TASK in meta:
            yield broken(
                sighting.exchange,
                "leave the related-task _meta out of the inlined result: it stands in its task",
                expected="no related-task _meta",
                found=META_RELATED_TASK,
                member="/result/result/_meta",
            )
        else:
            yield holds(sighting.exchange)
