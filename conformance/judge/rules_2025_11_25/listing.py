"""listing: tasks/list, and its pages."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.expectations import expect_error, probes
from conformance.judge.lives import Life, lives, may_have_expired
from conformance.judge.observation import Observation, broken, holds, not_offered
from conformance.judge.older import (
    Walk,
    may_be_deleted,
    not_declared,
    requests_of,
    session_of,
    tasks_in_messages,
    walks,
)
from conformance.judge.rule import IMPLIED, MUST, rule
from conformance.judge.shown import brief, moment_told
from conformance.judge.times import certainly_differ, moment_of
from conformance.specification.citations import tasks_2025
from conformance.specification.names import INVALID_PARAMS, TASKS_LIST, code_words
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.target.roles import TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History


def _not_offered(history: History) -> Observation | None:
    handshake = not_declared(history, "list")
    if handshake is None:
        return None
    return not_offered("the server does not offer tasks/list", handshake)


@rule(
    "listing.shape",
    MUST,
    tasks_2025("listing-tasks"),
    after=("creation.id-is-string", "creation.shape", "polling.shape", "lifecycle.known-status"),
)
def list_has_its_shape(history: History) -> Iterator[Observation]:
    """tasks/list answers with an array of tasks; nextCursor, where it is present, is a string.

    Whether the times of each task are there, polling.times-told says.
    """
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    schemas = revision_named(history.circumstances.spec).schemas
    for page in requests_of(history, TASKS_LIST):
        if page.result is None or page.intent == "bad-cursor":
            continue
        wrong = [
            problem
            for problem in problems(schemas, "ListTasksResult", page.result)
            if problem.path.rpartition("/")[2] not in _TOLD_ELSEWHERE
            or (problem.keyword == "required" and problem.path.endswith("/ttl"))
        ]
        if not wrong:
            yield holds(page)
        for problem in wrong[:3]:
            yield broken(
                page,
                f"the answer of tasks/list is not valid: {problem.sentence}"
                + ("; leave it out on the last page" if problem.path == "/nextCursor" else ""),
                expected=problem.expected,
                found=problem.found,
                member=f"/result{problem.path}",
            )


_TOLD_ELSEWHERE = ("createdAt", "lastUpdatedAt", "ttl", "pollInterval")


@rule(
    "listing.complete",
    MUST,
    tasks_2025("task-listing"),
    needs=(TASK,),
    after=(
        "listing.shape",
        "listing.cursors-advance",
        "polling.same-task",
        "creation.durable",
    ),
)
def what_is_found_is_listed(history: History) -> Iterator[Observation]:
    """A task that tasks/get finds is on a page of tasks/list, for the same requestor.

    Where there are more pages, nextCursor says so. Judged are tasks that were made before a walk
    through all pages began, and were read after it had ended, all in the time they are kept.
    """
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    for walk in walks(history):
        if not walk.whole:
            continue
        for life in lives(history).values():
            read = _read_since(life, walk)
            if life.creation is None or read is None or may_have_expired(life, read.ended):
                continue
            if life.task_id in walk.task_ids:
                yield holds((life.creation, walk.pages[-1]))
            else:
                yield broken(
                    (life.creation, *walk.pages[-2:], read),
                    "list every task that tasks/get finds, and set nextCursor as long as there"
                    f" are more: a task was on none of {len(walk.pages)} pages, and could be read"
                    " afterwards",
                    expected=f"a page with {life.task_id!r:.60}",
                    found=f"{len(walk.task_ids)} other tasks",
                    member="/result",
                )


def _read_since(life: Life, walk: Walk) -> Exchange | None:
    """A read that found the task after the walk, in the session of both."""
    first, last = walk.pages[0], walk.pages[-1]
    creation = life.creation
    if creation is None or creation.ended > first.started or creation.caller != first.caller:
        return None
    if session_of(creation) != session_of(first) or creation.replica != first.replica:
        return None
    return next(
        (
            s.exchange
            for s in life.seen_by_reading()
            if s.began >= last.ended
            and s.exchange.caller == first.caller
            and s.exchange.replica == first.replica
            and session_of(s.exchange) == session_of(first)
        ),
        None,
    )


@rule("listing.cursors-advance", IMPLIED, tasks_2025("task-listing"), after=("listing.shape",))
def cursors_lead_on(history: History) -> Iterator[Observation]:
    """nextCursor leads on: no page names a cursor that was followed before."""
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    for walk in walks(history):
        followed: dict[str, Exchange] = {}
        for page in walk.pages:
            cursor = page.params.get("cursor")
            if isinstance(cursor, str):
                followed[cursor] = page
            told = (page.result or {}).get("nextCursor")
            if isinstance(told, str) and told in followed:
                yield broken(
                    (followed[told], page) if followed[told] is not page else page,
                    "name the next page in nextCursor, and none where there is no more: this one"
                    " was followed before, and the list never ends",
                    expected="another cursor, or none",
                    found=f"{told!r:.60} again",
                    member="/result/nextCursor",
                )
                break
        else:
            if walk.whole:
                yield holds(walk.pages[-1])


@rule(
    "listing.bad-cursor", MUST, tasks_2025("protocol-errors"), after=("negotiation.methods-served",)
)
def unknown_cursor_is_invalid_params(history: History) -> Iterator[Observation]:
    """An invalid cursor is answered with -32602."""
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    for probe in probes(history, "bad-cursor", method=TASKS_LIST):
        if isinstance(probe, Observation):
            yield probe
        else:
            yield expect_error(
                probe,
                INVALID_PARAMS,
                "answer tasks/list with a cursor that you never gave out by error"
                f" {code_words(INVALID_PARAMS)}",
            )


@rule(
    "listing.agrees-with-get",
    IMPLIED,
    tasks_2025("listing-tasks"),
    needs=(TASK,),
    after=(
        "listing.shape",
        "lifecycle.legal-transitions",
        "polling.timestamps",
        "polling.created-at-constant",
    ),
)
def list_agrees_with_get(history: History) -> Iterator[Observation]:
    """An ended task is listed as tasks/get shows it: the same status and createdAt."""
    absent = _not_offered(history)
    if absent is not None:
        yield absent
        return
    for shown in tasks_in_messages(history):
        life = lives(history).get(str(shown.task.get("taskId")))
        page = shown.exchange
        if shown.how != "list" or life is None or may_have_expired(life, page.ended):
            continue
        ended = next(
            (s for s in life.seen_by_reading() if s.terminal and s.ended <= page.started), None
        )
        if ended is None:
            continue
        created, told = moment_told(ended, "createdAt"), shown.task.get("createdAt")
        listed = moment_of(told) if isinstance(told, str) else None
        if shown.task.get("status") != ended.status:
            # What a cancellation in between did to it, other rules say.
            if may_be_deleted(life, page.ended):
                continue
            yield broken(
                (ended.exchange, page),
                "list a task with the status that tasks/get tells: it had been read as"
                f" {ended.status}",
                expected=f"status {ended.status!r:.40}",
                found=f"status {shown.task.get('status')!r:.40}",
                member=f"{shown.pointer}/status",
            )
        elif created is not None and listed is not None and certainly_differ(created, listed):
            yield broken(
                (ended.exchange, page),
                "list a task with the createdAt that tasks/get tells",
                expected=brief(ended.task["createdAt"]),
                found=brief(told),
                member=f"{shown.pointer}/createdAt",
            )
        else:
            yield holds((ended.exchange, page))
