"""cancellation: tasks/cancel, which ends a task before it is answered."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.accidents import where_none_was_served, without_a_word
from conformance.judge.expectations import (
    expect_error,
    is_wordless,
    problems_told,
    refused_beforehand,
    unanswered,
)
from conformance.judge.lifetimes import asked_by_its_caller
from conformance.judge.lives import Life, Sighting, lives, may_have_expired
from conformance.judge.observation import (
    HOLDS,
    Observation,
    broken,
    holds,
    not_offered,
    unclear,
)
from conformance.judge.older import ended_before, may_be_deleted, not_declared
from conformance.judge.rule import MUST, rule
from conformance.judge.rules_2025_11_25.polling import unknown_ids
from conformance.judge.shown import brief
from conformance.specification.citations import tasks_2025
from conformance.specification.names import INVALID_PARAMS, TASKS_CANCEL, code_words
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.specification.states import CANCELLED, STATUSES, is_terminal
from conformance.target.roles import SLOW, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_CANCELLATION = "task-cancellation"
_ENDED = "ended"
_REFUSAL = f"error {code_words(INVALID_PARAMS)}"
_REFUSE_ENDED = f"refuse tasks/cancel of a task that has ended with {_REFUSAL}"
_TOLD_ELSEWHERE = ("/status", "/createdAt", "/lastUpdatedAt", "/ttl", "/pollInterval")


def _cancels(history: History) -> Iterator[tuple[Life, Exchange]]:
    """Cancellations that leave nothing to object to, with the task they were for."""
    for life in lives(history).values():
        for cancel in life.cancels:
            if asked_by_its_caller(life, cancel, history):
                yield life, cancel


def _not_offered(history: History) -> Observation | None:
    handshake = not_declared(history, "cancel")
    if handshake is None:
        return None
    return not_offered("the server does not offer tasks/cancel", handshake)


@rule(
    "cancellation.answers-with-task",
    MUST,
    tasks_2025("cancelling-tasks"),
    needs=(SLOW,),
    after=(
        "negotiation.methods-served",
        "transport.answered",
        "creation.shape",
        "polling.shape",
        "lifecycle.known-status",
    ),
)
def answer_is_the_task(history: History) -> Iterator[Observation]:
    """tasks/cancel answers with the task.

    From 2026-07-28 on the answer is an empty acknowledgement. An answer without JSON-RPC counts
    where it was not the only one, and none was served of a task that had the same status.
    """
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    schemas = revision_named(history.circumstances.spec).schemas
    wordless: dict[str, list[Observation]] = {}
    served: list[str] = []
    for life, cancel in _cancels(history):
        status = life.status_before(cancel)
        if _known_to_have_ended(life, cancel):
            continue  # it is to be refused, which cancellation.terminal-refused tells
        if may_have_expired(life, cancel.started):
            continue  # so it may be to be refused as unknown
        if cancel.result is None:
            if is_wordless(cancel) and not may_be_deleted(life, cancel.started):
                evidence = life.with_creation(cancel)
                found = without_a_word(evidence, "answer tasks/cancel with the task", "the task")
                wordless.setdefault(status, []).append(found)
            continue
        served.append(status)
        wrong = [
            problem
            for problem in problems(schemas, "CancelTaskResult", cancel.result)
            if (problem.keyword == "required" and not problem.path.endswith("At"))
            or problem.path not in _TOLD_ELSEWHERE
        ]
        told = cancel.result.get("taskId")
        if isinstance(told, str) and told != life.task_id:
            yield broken(
                cancel,
                "answer tasks/cancel with the task of params.taskId",
                expected=f"{life.task_id!r:.60}",
                found=f"{told!r:.60}",
                member="/result/taskId",
            )
        elif not wrong:
            yield holds(cancel)
        yield from problems_told(cancel, wrong, "the answer of tasks/cancel is not valid")
    yield from where_none_was_served(wordless, served)


@rule(
    "cancellation.effective",
    MUST,
    tasks_2025(_CANCELLATION),
    needs=(SLOW,),
    after=(
        "cancellation.answers-with-task",
        "lifecycle.known-status",
        "negotiation.methods-served",
    ),
)
def task_is_cancelled_before_the_answer(history: History) -> Iterator[Observation]:
    """A task that is not at its end is cancelled before tasks/cancel is answered.

    The answer says so, and so does every read after it. A cancelled task may be deleted.
    """
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    for life, cancel in _cancels(history):
        if ended_before(life, cancel.started):
            continue
        after = next((s for s in life.seen_by_reading() if s.began >= cancel.ended), None)
        if cancel.result is not None:
            yield _effect(life, cancel, after)
        elif unanswered(cancel) or refused_beforehand(cancel):
            yield unclear(cancel, unanswered(cancel) or refused_beforehand(cancel))
        elif after is not None and not after.terminal and after.status in STATUSES:
            yield broken(
                life.with_creation(cancel, after.exchange),
                "cancel a task that has not ended when tasks/cancel asks for it: the request was"
                " refused, and the task went on",
                expected="status 'cancelled'",
                found=cancel.outcome,
                member="/result/status",
            )


# A read that came later may show what became of a cancelled task, which another rule tells.
_RIGHT_AFTER_SECONDS = 0.25


def _effect(life: Life, cancel: Exchange, after: Sighting | None) -> Observation:
    told = (cancel.result or {}).get("status")
    if is_terminal(told) and told != CANCELLED:
        # cancellation.terminal-refused tells, where it was seen to have ended before.
        return unclear(cancel, "the task may have ended before it could be cancelled")
    if told in STATUSES and told != CANCELLED:
        return broken(
            life.with_creation(cancel),
            "let a task be cancelled before tasks/cancel is answered: the answer says otherwise",
            expected="status 'cancelled'",
            found=f"status {told!r}",
            member="/result/status",
        )
    lively = after is not None and not after.terminal and after.status in STATUSES
    if after is not None and lively and after.began - cancel.ended > _RIGHT_AFTER_SECONDS:
        return unclear(
            life.with_creation(cancel, after.exchange), "it was read only some time later"
        )
    if after is not None and lively:
        return broken(
            life.with_creation(cancel, after.exchange),
            "let a task be cancelled before tasks/cancel is answered: it was read afterwards, and"
            " was not",
            expected="status 'cancelled'",
            found=f"status {after.status!r}",
            member="/result/status",
        )
    if after is not None or told == CANCELLED:
        return holds(life.with_creation(cancel))
    return unclear(cancel, "the task was not read afterwards")


@rule(
    "cancellation.stays-cancelled",
    MUST,
    tasks_2025(_CANCELLATION),
    needs=(SLOW,),
    after=(
        "cancellation.answers-with-task",
        "lifecycle.known-status",
        "concurrency.reads-agree",
    ),
)
def cancelled_stays_cancelled(history: History) -> Iterator[Observation]:
    """Once a task is cancelled it stays so, also when its work ends all the same."""
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    for life in lives(history).values():
        told = [
            (cancel.ended, cancel)
            for cancel in life.cancels
            # Of a task that had ended otherwise, cancellation.terminal-refused tells.
            if (cancel.result or {}).get("status") == CANCELLED
            and not ended_before(life, cancel.started)
        ]
        told += [(s.ended, s.exchange) for s in life.sightings if s.status == CANCELLED]
        if not told:
            continue
        since, first = min(told, key=lambda pair: pair[0])
        later = [s for s in life.seen_by_reading() if s.began >= since and s.status in STATUSES]
        other = next((s for s in later if s.status != CANCELLED), None)
        if other is not None:
            yield broken(
                life.with_creation(first, other.exchange),
                "leave a cancelled task cancelled, whatever becomes of its work",
                expected="status 'cancelled'",
                found=f"status {other.status!r}",
                member="/result/status",
            )
        elif later:
            yield holds(life.with_creation(first, later[-1].exchange))


@rule(
    "cancellation.terminal-refused",
    MUST,
    tasks_2025(_CANCELLATION),
    needs=(TASK,),
    after=(
        "negotiation.methods-served",
        "lifecycle.known-status",
        "cancellation.effective",
        "cancellation.stays-cancelled",
    ),
)
def ended_task_cannot_be_cancelled(history: History) -> Iterator[Observation]:
    """tasks/cancel of an ended task is refused with -32602.

    From 2026-07-28 on it is acknowledged. A refusal without JSON-RPC counts where it was not the
    only one, and none was better.
    """
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    wordless: list[Observation] = []
    refused_in_words = False
    for life, cancel in _cancels(history):
        # Once its time is over it may be unknown, and how that is told expiry says.
        if not _known_to_have_ended(life, cancel) or may_have_expired(life, cancel.ended):
            continue
        if is_wordless(cancel):
            evidence = life.with_creation(cancel)
            wordless.append(without_a_word(evidence, _REFUSE_ENDED, _REFUSAL))
            continue
        observation = expect_error(cancel, INVALID_PARAMS, _REFUSE_ENDED)
        refused_in_words = refused_in_words or observation.kind == HOLDS
        yield observation
    yield from where_none_was_served({_ENDED: wordless}, [_ENDED] if refused_in_words else [])


def _known_to_have_ended(life: Life, cancel: Exchange) -> bool:
    """Whether the task had been seen to end, or an earlier cancellation had ended it."""
    return ended_before(life, cancel.started) or any(
        (earlier.result or {}).get("status") == CANCELLED and earlier.ended <= cancel.started
        for earlier in life.cancels
    )


@rule(
    "cancellation.terminal-unaffected",
    MUST,
    tasks_2025("task-status-lifecycle"),
    needs=(TASK,),
    after=("lifecycle.known-status", "lifecycle.legal-transitions"),
)
def ended_task_stays_as_it_is(history: History) -> Iterator[Observation]:
    """tasks/cancel of an ended task leaves it as it was."""
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    for life, cancel in _cancels(history):
        before = [s for s in life.sightings if s.terminal and s.ended <= cancel.started]
        after = [s for s in life.seen_by_reading() if s.began >= cancel.ended]
        if not before or not after:
            continue
        earlier, later = before[-1], after[0]
        if earlier.status == later.status:
            yield holds((earlier.exchange, cancel, later.exchange))
        else:
            yield broken(
                (earlier.exchange, cancel, later.exchange),
                f"leave a task that has ended as it is: it was {earlier.status}, and after"
                f" tasks/cancel {brief(later.status)}",
                expected=f"status {earlier.status!r}",
                found=f"status {later.status!r:.40}",
                member="/result/status",
            )


@rule(
    "cancellation.unknown-task",
    MUST,
    tasks_2025("protocol-errors"),
    after=("negotiation.methods-served", "polling.unknown-id"),
)
def unknown_task_cannot_be_cancelled(history: History) -> Iterator[Observation]:
    """tasks/cancel of an id that does not exist is answered with -32602."""
    absent = _not_offered(history)
    if absent is not None:
        yield absent
    else:
        yield from unknown_ids(history, TASKS_CANCEL)
