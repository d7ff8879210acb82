"""lifecycle: the statuses of a task, and what may follow what."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.lifetimes import AFTER_RESTART
from conformance.judge.lives import (
    Life,
    Sighting,
    any_between,
    lives,
    lost_outcome,
    may_have_expired,
    outcome_of,
)
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.rule import ADVICE, IMPLIED, MUST, rule
from conformance.specification.citations import tasks
from conformance.specification.states import (
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    STATUSES,
    WORKING,
    may_follow,
)
from conformance.target.roles import TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# Spellings that are met on the wire, and what they most likely mean.
_OTHER_SPELLINGS = {
    "canceled": "cancelled",
    "cancelling": "working",
    "submitted": "working",
    "pending": "working",
    "queued": "working",
    "running": "working",
    "in_progress": "working",
    "input-required": "input_required",
    "inputRequired": "input_required",
    "done": "completed",
    "complete": "completed",
    "success": "completed",
    "succeeded": "completed",
    "error": "failed",
    "failure": "failed",
    "unknown": "failed",
}


@rule("lifecycle.known-status", MUST, tasks("task-status"), needs=(TASK,))
def status_is_one_of_five(history: History) -> Iterator[Observation]:
    """The status is `working`, `input_required`, `completed`, `failed` or `cancelled`."""
    for life in lives(history).values():
        for sighting in life.sightings:
            status = sighting.task.get("status")
            if sighting.how == "notification" or "status" not in sighting.task:
                continue
            if status in STATUSES:
                yield holds(sighting.exchange)
                continue
            meant = _OTHER_SPELLINGS.get(status) if isinstance(status, str) else None
            advice = f"spell it {meant!r}" if meant else f"use one of {', '.join(STATUSES)}"
            yield broken(
                sighting.exchange,
                f"the status {status!r:.40} is none of the five: {advice}",
                expected=", ".join(STATUSES),
                found=f"{status!r:.40}",
                member=f"{sighting.pointer}/status",
            )


@rule(
    "lifecycle.legal-transitions",
    IMPLIED,
    tasks("task-status"),
    needs=(TASK,),
    after=(
        "lifecycle.known-status",
        "creation.unique-ids",
        "polling.rate-limit-honest",
        "concurrency.reads-agree",
    ),
)
def only_transitions_of_the_diagram(history: History) -> Iterator[Observation]:
    """Only transitions of the state diagram are seen; none leads out of an ended state.

    Polls do not see every state, so what is looked at is whether one sighting of a task can
    follow another. Once its ttlMs is over, an ended task may become `failed`. What an answer
    or a cancellation does to an ended task is told by rules of their own, and so is a reader
    who is shown an old state in between, a replica that learns of the end late, and a restart.
    """
    for life in lives(history).values():
        pairs = list(_in_certain_order(life))
        illegal = next((pair for pair in pairs if _leaves_the_end(life, *pair)), None)
        if illegal is not None:
            earlier, later = illegal
            yield broken(
                (earlier.exchange, later.exchange),
                f"an ended task stays as it is: it was {earlier.status}, and later {later.status}",
                expected=f"status {earlier.status!r}",
                found=f"status {later.status!r}",
                member="/result/status" if later.how == "read" else "",
            )
        elif pairs:
            yield holds((pairs[0][0].exchange, pairs[-1][1].exchange))


def _in_certain_order(life: Life) -> Iterator[tuple[Sighting, Sighting]]:
    """Pairs of sightings of which the second certainly shows the task at a later moment.

    A notification is compared with others of its stream only: whether what is pushed and what
    is read agree, notifications.agree-with-polling says. The first ended sighting stands for
    all after it, so that a long life makes few pairs.
    """
    seen = [s for s in life.sightings if s.status in STATUSES and _in_its_time(life, s)]
    asked = [s for s in seen if s.how != "notification"]
    for later in asked:
        earlier = [s for s in asked if s.certainly_before(later)]
        ended = next((s for s in earlier if s.terminal), None)
        if earlier:
            yield ended or earlier[-1], later
    told = [s for s in seen if s.how == "notification"]
    for place, later in enumerate(told):
        stream = [s for s in told[:place] if s.exchange.key == later.exchange.key]
        ended = next((s for s in stream if s.terminal), None)
        if ended is not None:
            yield ended, later


def _in_its_time(life: Life, sighting: Sighting) -> bool:
    """Whether neither the end of its ttlMs nor a restart of the server can be the reason for
    what a sighting shows."""
    restarted = sighting.exchange.intent == AFTER_RESTART
    return not restarted and not may_have_expired(life, sighting.ended)


def _leaves_the_end(life: Life, earlier: Sighting, later: Sighting) -> bool:
    """Whether a task left an ended state by itself, and for good."""
    if may_follow(str(earlier.status), str(later.status)):
        return False
    # A cancellation may have ended a task a second time, but it does not make one go on.
    sent = life.updates if later.status in (WORKING, INPUT_REQUIRED, COMPLETED) else None
    if _sent_between(life, earlier, later, sent):
        return False
    if later.exchange.replica != earlier.exchange.replica and not later.terminal:
        return False
    back_again = any(
        later.certainly_before(s) and s.status == earlier.status for s in life.sightings
    )
    return not back_again or bool(life.updates or life.cancels)


def _sent_between(
    life: Life, earlier: Sighting, later: Sighting, sent: list[Exchange] | None = None
) -> bool:
    """Whether an answer or a cancellation (or one of ``sent``) may have come between two
    sightings."""
    requests = [*life.updates, *life.cancels] if sent is None else sent
    return any_between(requests, earlier.began, later.ended)


@rule(
    "lifecycle.terminal-is-final",
    IMPLIED,
    tasks("task-status"),
    needs=(TASK,),
    after=("lifecycle.legal-transitions", "polling.pure-read"),
)
def an_ended_task_stays_as_it_is(history: History) -> Iterator[Observation]:
    """After its end the status and the payload of a task never change, whatever is sent.

    A status that changes is told by lifecycle.legal-transitions, a payload that is gone when
    it is merely read again by polling.pure-read, and one that changes with an answer or a
    cancellation by input.terminal-unaffected and cancellation.terminal-unaffected.
    """
    for life in lives(history).values():
        ended = [
            s
            for s in life.seen_by_reading()
            if s.terminal and s.status in STATUSES and _in_its_time(life, s)
        ]
        for place, later in enumerate(ended):
            before = [s for s in ended[:place] if s.certainly_before(later)]
            if not before or before[-1].status != later.status:
                continue
            earlier = before[-1]
            if outcome_of(earlier.task) == outcome_of(later.task):
                yield holds((earlier.exchange, later.exchange))
            elif not _sent_between(life, earlier, later) and not lost_outcome(
                earlier.task, later.task
            ):
                name = "error" if earlier.status == FAILED else "result"
                yield broken(
                    (earlier.exchange, later.exchange),
                    f"leave the {name} of an ended task alone: it was another when it was read"
                    " again, and nothing had been sent to the task in between",
                    expected=f"the same {name}",
                    found=f"another {name}",
                    member=f"/result/{name}",
                )


# How much longer than the longest of its kind a task must have been watched to be called stuck.
_FAR_LONGER = 5.0
_LONG_ENOUGH = 3.0


@rule(
    "lifecycle.reaches-an-end",
    ADVICE,
    tasks("task-polling"),
    needs=(TASK,),
    after=("lifecycle.known-status", "polling.does-not-block"),
)
def tasks_end(history: History) -> Iterator[Observation]:
    """A task ends within the time budget once its input is answered.

    Nobody can tell a stuck task from a long one by looking at it alone. So it is called stuck
    only where the same call has ended in a small part of the time, or where tasks of several
    tools were all watched to the end of --max-wait and not one of them ended.
    """
    stuck: list[tuple[Life, Exchange]] = []
    ended: dict[str, float] = {}
    for life in lives(history).values():
        end = life.first_terminal
        if end is not None and life.creation is not None:
            if not life.cancels:
                took = end.ended - life.creation.started
                ended[_call(life)] = max(ended.get(_call(life), 0.0), took)
            yield holds((life.creation, end.exchange))
    for life in lives(history).values():
        last = _last_look(life)
        if last is None or life.creation is None:
            continue
        watched = last.began - _free_since(life)
        longest = ended.get(_call(life))
        enough = max(_LONG_ENOUGH, _FAR_LONGER * (longest or 0.0))
        if longest is not None and watched >= enough:
            yield broken(
                (life.creation, last.exchange),
                f"let every task end: this one was still working after {watched:.1f} s, while"
                f" others of the same call ended within {longest:.1f} s",
                expected="an ended task",
                found=f"status {last.status!r}",
                member="/result/status",
            )
        elif watched >= 0.8 * history.circumstances.max_wait:
            stuck.append((life, last.exchange))
    yield from _none_ended(history, stuck, bool(ended))


def _none_ended(
    history: History, stuck: list[tuple[Life, Exchange]], some_ended: bool
) -> Iterator[Observation]:
    tools = {life.tool for life, _ in stuck}
    for life, exchange in stuck:
        evidence = (life.creation, exchange) if life.creation is not None else (exchange,)
        if len(tools) > 1 and not some_ended:
            yield broken(
                evidence,
                f"let tasks end: none of {len(stuck)} tasks of {len(tools)} tools ended within"
                f" {history.circumstances.max_wait:g} s (--max-wait)",
                expected="an ended task",
                found=f"status {WORKING!r}",
                member="/result/status",
            )
        else:
            yield unclear(
                evidence,
                f"the task of {life.tool!r} did not end within"
                f" {history.circumstances.max_wait:g} s: raise --max-wait if it needs longer",
            )


def _call(life: Life) -> str:
    arguments = life.creation.params.get("arguments") if life.creation is not None else None
    return f"{life.tool} {arguments!r}"


def _last_look(life: Life) -> Sighting | None:
    """The last sighting of a task that was never seen to end, and still worked then. What a
    restart leaves of a task, endurance.restart says."""
    reads = life.seen_by_reading()
    if life.first_terminal is not None or not reads or reads[-1].status != WORKING:
        return None
    if reads[-1].exchange.intent == AFTER_RESTART:
        return None
    asked_to_stop = any(cancel.started < reads[-1].ended for cancel in life.cancels)
    return None if asked_to_stop else reads[-1]


def _free_since(life: Life) -> float:
    """When the last thing happened that the task may have waited for."""
    waiting = [s.ended for s in life.sightings if s.status != WORKING]
    answered = [update.ended for update in life.updates]
    created = life.creation.ended if life.creation is not None else 0.0
    return max([created, *waiting, *answered])
