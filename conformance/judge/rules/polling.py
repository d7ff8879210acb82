"""polling: what tasks/get answers, and what each status carries."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.expectations import (
    expect_error,
    probes,
    problems_told,
)
from conformance.judge.fingerprint import nested_task
from conformance.judge.lives import Life, Sighting, lives, may_have_expired, reads_of
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.requests import is_offered
from conformance.judge.rule import ADVICE, IMPLIED, MUST, rule
from conformance.judge.shown import answered_reads, brief, read_as
from conformance.specification.citations import tasks
from conformance.specification.names import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    TASKS_GET,
    code_words,
)
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.specification.states import CANCELLED, COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from conformance.target.roles import INPUT, PROTOCOL_ERROR, SLOW, TASK
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History


@rule("polling.result-type", MUST, tasks("response"), needs=(TASK,))
def result_type_is_complete(history: History) -> Iterator[Observation]:
    """The `resultType` of tasks/get is `complete`.

    `task` is for the handle alone. The page's own examples of failed and completed tasks once
    showed `task` here; its sentence says `complete`.
    """
    for _, read in answered_reads(history):
        if read.task is None and nested_task(read) is None:
            continue
        if read.result_type == "complete":
            yield holds(read)
            continue
        note = 'set "resultType": "complete" on the result of tasks/get'
        if read.result_type == "task":
            note += (
                '; "task" is only for the handle, although examples of the page have shown'
                " it on tasks/get"
            )
        has_type = read.result is not None and "resultType" in read.result
        yield broken(
            read,
            note,
            expected='"complete"',
            found=brief(read.result_type) if has_type else "no resultType",
            member="/result/resultType" if has_type else "/result",
        )


# Wrong values of these are told by rules of their own; polling.shape asks that they be there.
_TOLD_ELSEWHERE = ("/status", "/createdAt", "/lastUpdatedAt", "/ttlMs", "/pollIntervalMs")
_PAYLOADS = ("/result", "/error", "/inputRequests")


@rule("polling.shape", MUST, tasks("task-status"), needs=(TASK,), after=("creation.shape",))
def answer_has_its_shape(history: History) -> Iterator[Observation]:
    """tasks/get answers with a flat task: taskId, status, createdAt, lastUpdatedAt, ttlMs.

    What each status adds, and what the times and durations must be, other rules say.
    """
    schemas = revision_named(history.circumstances.spec).schemas
    for life, read in answered_reads(history):
        if read.task is not None:
            wrong = [
                problem
                for problem in problems(schemas, "DetailedTask", read.task)
                if not problem.path.startswith(_PAYLOADS)
                and (problem.keyword == "required" or problem.path not in _TOLD_ELSEWHERE)
            ]
            if not wrong:
                yield holds(read)
            yield from problems_told(read, wrong, "the answer of tasks/get is not valid")
        elif may_have_expired(life, read.ended):
            yield unclear(read, "the task may have expired")
        elif nested_task(read) is not None:
            yield broken(
                read,
                "put taskId, status and the other members on the result of tasks/get itself,"
                " not under task",
                expected="a flat task on the result",
                found="a task nested under task",
                member="/result/task",
            )
        else:
            yield broken(
                read,
                "answer tasks/get with the task, its members on the result itself",
                expected="a task with its status",
                found=brief((read.response or {}).get("result")),
                member="/result",
            )


@rule("polling.same-task", IMPLIED, tasks("response"), needs=(TASK,), after=("polling.shape",))
def answer_is_the_task_asked_for(history: History) -> Iterator[Observation]:
    """The answer's taskId is the one that was asked for."""
    known = lives(history)
    for sighting in reads_of(history):
        told = sighting.task.get("taskId")
        if sighting.exchange.task_id not in known or not isinstance(told, str):
            continue
        if told == sighting.exchange.task_id:
            yield holds(sighting.exchange)
        else:
            yield broken(
                sighting.exchange,
                "answer tasks/get with the task of params.taskId",
                expected=f"{sighting.exchange.task_id!r:.60}",
                found=f"{told!r:.60}",
                member="/result/taskId",
            )


@rule(
    "polling.unknown-id",
    MUST,
    tasks("protocol-errors"),
    after=("negotiation.methods-served",),
)
def unknown_id_is_invalid_params(history: History) -> Iterator[Observation]:
    """An id that does not exist is answered with -32602.

    That includes ids that only resemble one: a real id shortened, lengthened or changed was
    never handed out either.
    """
    for probe in probes(history, "unknown-id", "derived-id", method=TASKS_GET):
        if isinstance(probe, Observation):
            yield probe
        elif probe.error_code == METHOD_NOT_FOUND and not is_offered(history):
            yield not_offered("the server does not offer the extension", probe)
        elif probe.intent == "derived-id":
            yield expect_error(
                probe,
                INVALID_PARAMS,
                "look up the whole taskId as it was sent: an id made from a real one by"
                f" {probe.notes.get('change', 'a change')} must be unknown,"
                f" {code_words(INVALID_PARAMS)}",
            )
        else:
            yield expect_error(probe, INVALID_PARAMS)


def _without(sighting: Sighting, status: str, members: tuple[str, ...]) -> Iterator[Observation]:
    """The task carries none of these members. A null or an empty one carries nothing."""
    task = sighting.task
    extra = [name for name in members if task.get(name) not in (None, {})]
    if extra:
        yield broken(
            sighting.exchange,
            f"leave {' and '.join(extra)} out of a task that is {status}",
            expected=f"a {status} task without {' or '.join(extra)}",
            found=", ".join(extra),
            member=f"/result/{extra[0]}",
        )
        return
    empty = [name for name in members if name in task]
    note = (
        f"leave {' and '.join(empty)} out of a task that is {status}: empty members confuse"
        " strict clients"
        if empty
        else ""
    )
    yield holds(sighting.exchange, note)


@rule("polling.working", ADVICE, tasks("response"), needs=(SLOW,), after=("polling.shape",))
def working_carries_no_payload(history: History) -> Iterator[Observation]:
    """A `working` task carries no result, no error and no inputRequests.

    Its type has none of them; the text has no sentence that forbids more.
    """
    for sighting in read_as(history, WORKING):
        yield from _without(sighting, WORKING, ("result", "error", "inputRequests"))


@rule(
    "polling.input-required",
    MUST,
    tasks("response"),
    needs=(INPUT,),
    after=("polling.shape", "polling.pure-read"),
)
def input_required_shows_its_requests(history: History) -> Iterator[Observation]:
    """An `input_required` task shows every open request in a non-empty inputRequests.

    An answer or a cancellation is acknowledged before it has its effect: until then a task may
    still be called `input_required` though nothing is open any more.
    """
    known = lives(history)
    for sighting in read_as(history, INPUT_REQUIRED):
        requests = sighting.task.get("inputRequests")
        if isinstance(requests, dict) and requests:
            yield holds(sighting.exchange)
            continue
        sent = _sent_before(known.get(str(sighting.exchange.task_id)), sighting.ended)
        if requests == {} and sent is not None:
            yield unclear(
                (sent, sighting.exchange),
                f"nothing was open any more after {sent.method}, which need not have had its"
                " effect on the status yet",
            )
            continue
        present = "inputRequests" in sighting.task
        yield broken(
            sighting.exchange,
            "show the open requests in inputRequests while the status is input_required; a task"
            " that waits for nothing has another status",
            expected="an object with the open requests",
            found=brief(requests) if present else "no inputRequests",
            member="/result/inputRequests" if present else "/result",
        )
    for life in known.values():
        yield from _requests_left_out(life)


def _sent_before(life: Life | None, moment: float) -> Exchange | None:
    """An update or a cancellation of the task that began before a moment."""
    sent = () if life is None else (*life.updates, *life.cancels)
    return next((exchange for exchange in sent if exchange.started < moment), None)


def _requests_left_out(life: Life) -> Iterator[Observation]:
    """Requests that were shown, then not, then again, though nobody had answered them."""
    waiting = [
        (s, s.task["inputRequests"])
        for s in life.seen_by_reading()
        if s.status == INPUT_REQUIRED and isinstance(s.task.get("inputRequests"), dict)
    ]
    for middle, requests in waiting:
        before = [pair for pair in waiting if pair[0].certainly_before(middle)]
        after = [pair for pair in waiting if middle.certainly_before(pair[0])]
        for earlier, shown in before:
            for key in sorted(shown.keys() - requests.keys()):
                later = next((s for s, again in after if key in again), None)
                if later is not None and requests and not _answered(life, key, later.ended):
                    yield broken(
                        (earlier.exchange, middle.exchange, later.exchange),
                        "show every open request each time: a request was missing from a read"
                        " between two reads that showed it, and had not been answered",
                        expected=f"the request {key!r:.60}",
                        found=brief(requests),
                    )
                    return


def _answered(life: Life, key: str, before: float) -> bool:
    return any(update.started < before and key in _responses(update) for update in life.updates)


def _responses(update: Exchange) -> JsonObject:
    responses = update.params.get("inputResponses")
    return responses if isinstance(responses, dict) else {}


@rule(
    "polling.completed",
    MUST,
    tasks("response"),
    needs=(TASK,),
    after=("polling.shape", "polling.pure-read"),
)
def completed_carries_its_result(history: History) -> Iterator[Observation]:
    """A `completed` task carries its result."""
    for sighting in read_as(history, COMPLETED):
        yield _with_payload(sighting, "result")


@rule(
    "polling.failed",
    MUST,
    tasks("response"),
    needs=(PROTOCOL_ERROR,),
    after=("polling.shape", "polling.pure-read"),
)
def failed_carries_its_error(history: History) -> Iterator[Observation]:
    """A `failed` task carries its error."""
    for sighting in read_as(history, FAILED):
        error = sighting.task.get("error")
        if error is not None and not isinstance(error, dict):
            continue  # what is wrong with it, outcome.failed-carries-error says
        yield _with_payload(sighting, "error")


def _with_payload(sighting: Sighting, payload: str) -> Observation:
    value = sighting.task.get(payload)
    if isinstance(value, dict):
        return holds(sighting.exchange)
    present = payload in sighting.task
    return broken(
        sighting.exchange,
        f"inline the {payload} in a task that is {sighting.status}: there is no other way to it",
        expected=f"{payload}, an object",
        found=brief(value) if present else f"no {payload}",
        member=f"/result/{payload}" if present else "/result",
    )


@rule(
    "polling.one-outcome",
    ADVICE,
    tasks("response"),
    needs=(TASK,),
    after=("polling.shape", "polling.pure-read"),
)
def ended_carries_nothing_else(history: History) -> Iterator[Observation]:
    """A `completed` task carries no error and no inputRequests, a `failed` one no result.

    Their types have none of them; the text has no sentence that forbids more.
    """
    for sighting in read_as(history, COMPLETED):
        yield from _without(sighting, COMPLETED, ("error", "inputRequests"))
    for sighting in read_as(history, FAILED):
        yield from _without(sighting, FAILED, ("result",))


@rule(
    "polling.completed-is-original-result",
    MUST,
    tasks("task-execution-errors"),
    needs=(TASK,),
    after=("polling.completed",),
)
def completed_result_is_that_of_the_call(history: History) -> Iterator[Observation]:
    """The result of a `completed` task is what tools/call would have answered: a CallToolResult.

    It is not a request for input, not a handle, and nothing is wrapped around it.
    """
    schemas = revision_named(history.circumstances.spec).schemas
    for sighting in read_as(history, COMPLETED):
        result = sighting.task.get("result")
        if not isinstance(result, dict):
            continue
        other = _other_than_a_call_result(result)
        if other:
            yield broken(
                sighting.exchange,
                f"inline the CallToolResult itself: the result of the task is {other}",
                expected="a CallToolResult",
                found=brief(result),
                member="/result/result",
            )
            continue
        wrong = problems(schemas, "InlinedCallToolResult", result)
        if not wrong:
            yield holds(sighting.exchange)
        yield from problems_told(
            sighting.exchange,
            wrong,
            "the inlined result is no valid CallToolResult",
            within="/result/result",
        )


def _other_than_a_call_result(result: JsonObject) -> str:
    """What a result without content is instead, where it can be recognised."""
    kind = result.get("resultType")
    if kind == "input_required" or ("inputRequests" in result and "content" not in result):
        return "a request for input, which belongs into inputRequests of the task"
    if kind == "task":
        return "a task handle"
    if "content" in result:
        return ""
    if "jsonrpc" in result:
        return "a whole JSON-RPC message"
    wrapped = next(
        (
            name
            for name in ("result", "toolResult", "task", "value", "output")
            if isinstance(result.get(name), dict)
        ),
        None,
    )
    return f"wrapped in {wrapped!r}" if wrapped is not None else ""


@rule("polling.cancelled", ADVICE, tasks("response"), needs=(SLOW,), after=("polling.shape",))
def cancelled_carries_no_payload(history: History) -> Iterator[Observation]:
    """A `cancelled` task carries neither result nor error.

    Its type has none of them; the text has no sentence that forbids more.
    """
    for sighting in read_as(history, CANCELLED):
        yield from _without(sighting, CANCELLED, ("result", "error"))
    for life in lives(history).values():
        end = life.first_terminal
        if life.cancels and end is not None and end.status != CANCELLED:
            yield unclear(
                (life.cancels[0], end.exchange),
                f"no task was seen cancelled: after tasks/cancel it ended as {end.status}",
            )
