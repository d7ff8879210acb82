"""security: ids that nobody guesses, tasks that nobody else reaches, errors that tell little."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.lives import Life, handles, lives
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.older import (
    handshake_of,
    is_authorized,
    not_declared,
    requests_of,
    session_of,
    walks,
)
from conformance.judge.rule import ADVICE, MUST, SHOULD, adopt, rule
from conformance.judge.rules import security
from conformance.specification.citations import tasks_2025
from conformance.specification.names import TASKS_CANCEL, TASKS_GET, TASKS_RESULT
from conformance.specification.states import CANCELLED
from conformance.target.roles import IDENTITIES, SLOW, TASK
from conformance.target.target import FIRST, SECOND
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_ISOLATION = "task-isolation-and-access-control"
_ANOTHER = "another caller"
_ELSEWHERE = "list-from-other-session"


@rule("security.unguessable-ids", MUST, tasks_2025(_ISOLATION), needs=(TASK,))
def ids_cannot_be_guessed(history: History) -> Iterator[Observation]:
    """Where tasks are not bound to who is authorized, their ids show no counter and no clock.

    The estimate is an upper bound: what varies between the ids of this run counts as random.
    """
    made = handles(history)
    if any(is_authorized(call) for call in made):
        yield not_offered("the calls were authorized, so that tasks can be bound to their caller")
        return
    yield from security.ids_cannot_be_guessed(history)


def _foreign(history: History, method: str) -> Iterator[tuple[Life, Exchange]]:
    """Requests of a method about a task that the other of the two callers made."""
    for life in lives(history).values():
        for probe in requests_of(history, method):
            if probe.task_id == life.task_id and {probe.caller, life.caller} == {FIRST, SECOND}:
                yield life, probe


def _as_nobodys(history: History, probe: Exchange) -> bool:
    """Whether the same caller got the same for an id that names no task. That it got anything is
    then for the rules on unknown ids."""
    return probe.result is not None and any(
        unknown.caller == probe.caller and unknown.result == probe.result
        for unknown in history.intended("foreign-unknown", method=probe.method)
    )


_NOTHING_OF_A_TASK = "it was answered as ids are that name no task"


@rule("security.foreign-get", MUST, tasks_2025(_ISOLATION), needs=(IDENTITIES, TASK))
def others_cannot_read(history: History) -> Iterator[Observation]:
    """Another caller cannot read the task."""
    for life, probe in _foreign(history, TASKS_GET):
        if probe.task is not None:
            yield broken(
                life.with_creation(probe),
                f"check on tasks/get whose task it is: it was shown to {_ANOTHER}",
                expected="an error, such as -32602",
                found=probe.outcome,
                member="/result",
            )
        elif security.unsure(history, probe):
            yield unclear(probe, security.unsure(history, probe))
        else:
            yield holds(probe)


@rule("security.foreign-result", MUST, tasks_2025(_ISOLATION), needs=(IDENTITIES, TASK))
def others_cannot_fetch(history: History) -> Iterator[Observation]:
    """Another caller cannot fetch the result of the task."""
    for life, probe in _foreign(history, TASKS_RESULT):
        if _as_nobodys(history, probe):
            yield unclear(probe, _NOTHING_OF_A_TASK)
        elif probe.result is not None:
            yield broken(
                life.with_creation(probe),
                f"check on tasks/result whose task it is: its result was given to {_ANOTHER}",
                expected="an error, such as -32602",
                found=probe.outcome,
                member="/result",
            )
        elif security.unsure(history, probe):
            yield unclear(probe, security.unsure(history, probe))
        else:
            yield holds(probe)


@rule("security.foreign-cancel", MUST, tasks_2025(_ISOLATION), needs=(IDENTITIES, SLOW))
def others_cannot_cancel(history: History) -> Iterator[Observation]:
    """Another caller cannot cancel the task."""
    for life, probe in _foreign(history, TASKS_CANCEL):
        end = life.first_terminal
        others = [c for c in life.cancels if c is not probe and c.caller == life.caller]
        cancelled = (
            end is not None
            and end.status == CANCELLED
            and end.began >= probe.ended
            and not any(c.started < end.ended for c in others)
        )
        if not cancelled and _as_nobodys(history, probe):
            yield unclear(probe, _NOTHING_OF_A_TASK)
        elif probe.result is not None or cancelled:
            yield broken(
                life.with_creation(
                    probe, *((end.exchange,) if cancelled and end is not None else ())
                ),
                f"check on tasks/cancel whose task it is: {_ANOTHER} could cancel it",
                expected="an error, such as -32602, and no effect",
                found="status 'cancelled'" if cancelled else probe.outcome,
                member="/result",
            )
        elif security.unsure(history, probe):
            yield unclear(probe, security.unsure(history, probe))
        else:
            yield holds(probe)


@rule("security.foreign-list", MUST, tasks_2025(_ISOLATION), needs=(IDENTITIES, TASK))
def others_are_not_shown_it(history: History) -> Iterator[Observation]:
    """Another caller does not find the task in tasks/list."""
    handshake = not_declared(history, "list")
    if handshake is not None:
        yield not_offered("the server does not offer tasks/list", handshake)
        return
    known = lives(history)
    for walk in walks(history):
        first = walk.pages[0]
        if first.caller != SECOND or first.result is None:
            continue
        foreign = sorted(
            task_id
            for task_id in walk.task_ids
            if task_id in known and known[task_id].caller == FIRST
        )
        made = [life for life in known.values() if life.caller == FIRST and _before(life, first)]
        if foreign:
            yield broken(
                known[foreign[0]].with_creation(first),
                f"list only the tasks of the caller: {_ANOTHER} was shown {len(foreign)} of them",
                expected="no task of another caller",
                found=f"{foreign[0]!r:.60}",
                member="/result/tasks",
            )
        elif made and walk.whole:
            yield holds(made[-1].with_creation(first))


def _before(life: Life, exchange: Exchange) -> bool:
    return life.creation is not None and life.creation.ended <= exchange.started


adopt(
    security.foreign_looks_like_unknown,
    "security.no-existence-oracle",
    ADVICE,
    tasks_2025(_ISOLATION),
    into=__package__,
    needs=(IDENTITIES, TASK),
    after=("security.foreign-get", "security.foreign-result", "security.foreign-cancel"),
)


@rule("security.list-needs-identity", SHOULD, tasks_2025(_ISOLATION), needs=(TASK,))
def who_cannot_tell_callers_apart_lists_nothing(history: History) -> Iterator[Observation]:
    """A server that cannot tell its callers apart does not offer tasks/list.

    It cannot where a task of one session is listed in another, and neither was authorized.
    """
    handshake = not_declared(history, "list")
    if handshake is not None:
        yield not_offered("the server does not offer tasks/list", handshake)
        return
    known = lives(history)
    for walk in walks(history):
        first = walk.pages[0]
        if first.intent != _ELSEWHERE or first.result is None:
            continue
        if is_authorized(first):
            yield not_offered("the requests were authorized, so that callers can be told apart")
            continue
        foreign = next(
            (
                known[task_id]
                for task_id in sorted(walk.task_ids & known.keys())
                if _is_of_another_session(known[task_id], first)
            ),
            None,
        )
        made = [life for life in known.values() if _before(life, first)]
        if foreign is not None:
            opening = handshake_of(history, first)
            yield broken(
                foreign.with_creation(*(() if opening is None else (opening,)), first),
                "do not offer tasks/list where you cannot tell callers apart: a session that"
                " nobody had authorized was shown the tasks of another",
                expected="no task of another session",
                found=f"{foreign.task_id!r:.60}",
                member="/result/tasks",
            )
        elif made and walk.whole:
            yield holds(made[-1].with_creation(first))


def _is_of_another_session(life: Life, page: Exchange) -> bool:
    return (
        life.creation is not None
        and not is_authorized(life.creation)
        and session_of(life.creation) != session_of(page)
    )


adopt(
    security.errors_tell_little,
    "security.quiet-errors",
    ADVICE,
    tasks_2025("protocol-errors"),
    into=__package__,
)
