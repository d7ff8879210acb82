"""notifications: what a server tells of a task without being asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.judge.lives import Life, lives
from conformance.judge.observation import Observation, broken, holds, not_offered
from conformance.judge.older import (
    calls_as_tasks,
    has_related_task,
    may_be_deleted,
    related_task,
    session_of,
    tasks_in_messages,
)
from conformance.judge.rule import IMPLIED, MUST, SHOULD, rule
from conformance.specification.citations import tasks_2025
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.specification.states import STATUSES
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History


def _none_told(history: History) -> Observation | None:
    """Notifications are optional: a server whose streams were listened to, and told none."""
    if any(shown.how == "notification" for shown in tasks_in_messages(history)):
        return None
    listened = next((e for e in history.intended("listen") if e.status in (200, 405)), None)
    return None if listened is None else not_offered("no status was notified", listened)


@rule(
    "notifications.full-task",
    IMPLIED,
    tasks_2025("task-status-notification"),
    after=(
        "creation.id-is-string",
        "creation.shape",
        "polling.shape",
        "polling.durations",
        "polling.timestamps",
        "lifecycle.known-status",
    ),
)
def notification_carries_the_task(history: History) -> Iterator[Observation]:
    """A status notification carries the full task."""
    absent = _none_told(history)
    if absent is not None:
        yield absent
    schemas = revision_named(history.circumstances.spec).schemas
    for shown in tasks_in_messages(history):
        if shown.how != "notification":
            continue
        wrong = problems(schemas, "TaskStatusNotificationParams", shown.task)
        if not wrong:
            yield holds(shown.exchange)
        for problem in wrong[:3]:
            yield broken(
                shown.exchange,
                f"notifications/tasks/status does not carry the full task: {problem.sentence}",
                expected=problem.expected,
                found=problem.found,
            )


@rule("notifications.no-related-task", SHOULD, tasks_2025("task-notifications"))
def notification_needs_no_related_task(history: History) -> Iterator[Observation]:
    """A status notification carries no related-task: its params name the task."""
    absent = _none_told(history)
    if absent is not None:
        yield absent
    for shown in tasks_in_messages(history):
        if shown.how != "notification":
            continue
        if has_related_task(shown.task):
            yield broken(
                shown.exchange,
                "leave related-task out of _meta of notifications/tasks/status: its params name"
                " the task themselves",
                expected="no related-task",
                found="a related-task",
            )
        else:
            yield holds(shown.exchange)


@rule(
    "notifications.agree-with-polling",
    IMPLIED,
    tasks_2025("task-status-notification"),
    after=("notifications.full-task", "lifecycle.legal-transitions", "lifecycle.known-status"),
)
def notification_agrees_with_reads(history: History) -> Iterator[Observation]:
    """What is notified and what is read agree: an end that was told stays the end."""
    absent = _none_told(history)
    if absent is not None:
        yield absent
    for life in lives(history).values():
        told = [s for s in life.sightings if s.how == "notification" and s.status in STATUSES]
        reads = [s for s in life.seen_by_reading() if s.status in STATUSES]
        for notified in told:
            if not notified.terminal:
                continue
            later = next((s for s in reads if s.began >= notified.ended), None)
            if later is None or (
                later.status != notified.status and may_be_deleted(life, later.ended)
            ):
                continue
            if later.status == notified.status:
                yield holds((notified.exchange, later.exchange))
            else:
                yield broken(
                    (notified.exchange, later.exchange),
                    "notify the status that tasks/get tells: a task was notified as"
                    f" {notified.status}, and was read as {later.status} afterwards",
                    expected=f"status {notified.status!r}",
                    found=f"status {later.status!r}",
                    member="/result/status",
                )


@rule(
    "notifications.progress-related-task",
    MUST,
    tasks_2025("associating-task-related-messages"),
)
def progress_names_its_task(history: History) -> Iterator[Observation]:
    """The progress of a task carries related-task in its `_meta`.

    Judged is progress that came after the call was answered with its task.
    """
    known = lives(history)
    by_token: dict[tuple[str, str], Life] = {}
    for call in calls_as_tasks(history):
        meta = call.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        life = known.get(str((call.handle or {}).get("taskId")))
        if token is not None and life is not None:
            by_token[session_of(call), repr(token)] = life
    seen = False
    for exchange, at, params in _progress(history):
        life = by_token.get((session_of(exchange), repr(params.get("progressToken"))))
        if life is None or life.creation is None or at < life.creation.ended:
            continue
        seen = True
        if related_task(params) == life.task_id:
            yield holds((life.creation, exchange))
        else:
            yield broken(
                (life.creation, exchange),
                "set io.modelcontextprotocol/related-task in _meta of the params of"
                " notifications/progress where the progress is that of a task",
                expected=f"taskId {life.task_id!r:.60}",
                found=_found(related_task(params)),
            )
    if not seen and by_token:
        asked_for = next(iter(by_token.values())).creation
        assert asked_for is not None
        yield not_offered("no progress was told after the handle", asked_for)


def _found(told: Any) -> str:
    return "no related-task" if told is None else f"{told!r:.60}"


def _progress(history: History) -> Iterator[tuple[Exchange, float, JsonObject]]:
    for exchange in history.exchanges:
        for at, message in exchange.notifications:
            params = message.get("params")
            if message.get("method") == "notifications/progress" and isinstance(params, dict):
                yield exchange, at, params
