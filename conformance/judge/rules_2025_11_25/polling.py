"""polling: what tasks/get answers, and the members of a task wherever one is shown."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.expectations import (
    expect_error,
    probes,
    problems_told,
    unanswered,
)
from conformance.judge.fingerprint import nested_task
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.older import (
    RELATED_TASK_DIFFERS,
    has_related_task,
    life_of,
    may_be_deleted,
    not_declared,
    related_task,
    requests_of,
    tasks_in_messages,
)
from conformance.judge.rule import ADVICE, IMPLIED, MUST, SHOULD, adopt, rule
from conformance.judge.rules import polling, polling_members, polling_served
from conformance.judge.shown import answered_reads, brief, is_number
from conformance.specification.citations import tasks_2025
from conformance.specification.names import (
    INVALID_PARAMS,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TASKS_RESULT,
    code_words,
)
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.target.roles import TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_TTL = "ttl-and-resource-management"
_TIMES = ("createdAt", "lastUpdatedAt")
# Whether these are there, and what is wrong with their values, other rules tell.
_TOLD_ELSEWHERE = ("/createdAt", "/lastUpdatedAt", "/ttl", "/pollInterval")
_SHORTEST_PLAUSIBLE_INTERVAL = 20
_SHORTEST_PLAUSIBLE_TTL = 1000


@rule(
    "polling.shape",
    MUST,
    tasks_2025("getting-tasks"),
    needs=(TASK,),
    after=("creation.shape", "creation.id-is-string"),
)
def answer_is_a_flat_task(history: History) -> Iterator[Observation]:
    """tasks/get answers with the task itself: taskId and status, on the result.

    What the times, the durations and the status must be, other rules say.
    """
    schemas = revision_named(history.circumstances.spec).schemas
    for life, read in answered_reads(history):
        if read.task is not None:
            wrong = [
                problem
                for problem in problems(schemas, "GetTaskResult", read.task)
                if problem.path not in _TOLD_ELSEWHERE
                and (problem.keyword == "required" or problem.path != "/status")
            ]
            if not wrong:
                yield holds(read)
            yield from problems_told(read, wrong, "the answer of tasks/get is not valid")
        elif may_be_deleted(life, read.ended):
            yield unclear(read, "the task may have been deleted")
        elif nested_task(read) is not None:
            yield broken(
                read,
                "put the task on the result of tasks/get itself: only the answer to the call has"
                " it under task",
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


@rule("polling.times-told", MUST, tasks_2025(_TTL), needs=(TASK,), after=("creation.shape",))
def times_are_always_there(history: History) -> Iterator[Observation]:
    """createdAt and lastUpdatedAt are in every answer that shows a task.

    That is the handle, tasks/get, tasks/cancel and tasks/list.
    """
    for shown in tasks_in_messages(history):
        if shown.how == "notification":
            continue
        missing = [name for name in _TIMES if name not in shown.task]
        if missing:
            yield broken(
                shown.exchange,
                f"tell {' and '.join(missing)} with every task, here in the answer to"
                f" {shown.exchange.method}",
                expected=", ".join(_TIMES),
                found=f"no {missing[0]}",
                member=shown.pointer,
            )
        else:
            yield holds(shown.exchange)


@rule("polling.ttl-told", MUST, tasks_2025(_TTL), needs=(TASK,), after=("polling.shape",))
def ttl_is_always_there(history: History) -> Iterator[Observation]:
    """The actual ttl, or null for no limit, is in every answer of tasks/get."""
    for shown in tasks_in_messages(history):
        if shown.how != "get" or "status" not in shown.task:
            continue
        if "ttl" in shown.task:
            yield holds(shown.exchange)
        else:
            yield broken(
                shown.exchange,
                "tell ttl in tasks/get: the duration that counts, or null where there is none",
                expected="a number or null",
                found="no ttl",
                member="/result",
            )


@rule(
    "polling.same-task",
    IMPLIED,
    tasks_2025("getting-tasks"),
    needs=(TASK,),
    after=("polling.shape",),
)
def answer_is_the_task_asked_for(history: History) -> Iterator[Observation]:
    """The answer's taskId is the one that was asked for.

    What a related-task in the request makes of it, polling.parameter-decides says.
    """
    for observation in polling.answer_is_the_task_asked_for(history):
        if observation.exchanges[-1].intent != RELATED_TASK_DIFFERS:
            yield observation


def unknown_ids(history: History, method: str) -> Iterator[Observation]:
    """An id that does not exist is answered with -32602 by a method."""
    for probe in probes(history, "unknown-id", "derived-id", method=method):
        if isinstance(probe, Observation):
            yield probe
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


@rule(
    "polling.unknown-id",
    MUST,
    tasks_2025("protocol-errors"),
    after=("negotiation.methods-served",),
)
def unknown_id_is_invalid_params(history: History) -> Iterator[Observation]:
    """An id that does not exist is answered with -32602.

    That includes ids that only resemble one.
    """
    handshake = not_declared(history)
    if handshake is not None:
        yield not_offered("the server declares no tasks", handshake)
    else:
        yield from unknown_ids(history, TASKS_GET)


adopt(
    polling_members.times_are_iso_8601,
    "polling.timestamps",
    MUST,
    tasks_2025(_TTL),
    into=__package__,
    needs=(TASK,),
)

adopt(
    polling_members.created_at_never_changes,
    "polling.created-at-constant",
    IMPLIED,
    tasks_2025(_TTL),
    into=__package__,
    needs=(TASK,),
    after=("polling.timestamps", "creation.unique-ids", "polling.same-task"),
)

adopt(
    polling_members.updated_at_never_goes_back,
    "polling.updated-at-monotonic",
    IMPLIED,
    tasks_2025(_TTL),
    into=__package__,
    needs=(TASK,),
    after=(
        "polling.timestamps",
        "polling.created-at-constant",
        "creation.unique-ids",
        "concurrency.reads-agree",
    ),
)

adopt(
    polling_members.updated_at_tells_of_changes,
    "polling.updated-at-tracks-change",
    ADVICE,
    tasks_2025("task"),
    into=__package__,
    needs=(TASK,),
    after=(
        "polling.timestamps",
        "polling.updated-at-monotonic",
        "lifecycle.legal-transitions",
        "cancellation.terminal-unaffected",
    ),
)


@rule("polling.durations", MUST, tasks_2025(_TTL), needs=(TASK,))
def durations_are_numbers(history: History) -> Iterator[Observation]:
    """ttl is a number or null; pollInterval, where it is present, is a number."""
    for shown in tasks_in_messages(history):
        wrong = False
        for name, wanted in (("ttl", "a number or null"), ("pollInterval", "a number")):
            value = shown.task.get(name)
            if name not in shown.task or is_number(value) or (value is None and name == "ttl"):
                continue
            wrong = True
            advice = f"{name} is {wanted}, in milliseconds"
            if value is None:
                advice += "; leave it out where there is none"
            yield broken(
                shown.exchange,
                advice,
                expected=wanted,
                found=brief(value),
                member=f"{shown.pointer}/{name}",
            )
        if not wrong:
            yield holds(shown.exchange)


@rule(
    "polling.durations-plausible",
    ADVICE,
    tasks_2025("task"),
    needs=(TASK,),
    after=("polling.durations", "expiry.ttl-agrees"),
)
def durations_are_milliseconds(history: History) -> Iterator[Observation]:
    """ttl and pollInterval are positive, and not seconds mistaken for milliseconds.

    A ttl that the client itself asked for is its own.
    """
    asked_for = history.derive(_ttls_asked_for)
    for shown in tasks_in_messages(history):
        ttl, interval = shown.task.get("ttl"), shown.task.get("pollInterval")
        problem, member = "", "pollInterval"
        if is_number(interval) and interval <= 0:
            problem = "make pollInterval positive, or leave it out"
        elif is_number(interval) and interval < _SHORTEST_PLAUSIBLE_INTERVAL:
            problem = (
                f"pollInterval counts milliseconds: {interval} asks to be polled"
                f" {1000 / interval:.0f} times a second"
            )
        elif is_number(ttl) and ttl not in asked_for:
            member = "ttl"
            if ttl <= 0:
                problem = "make ttl positive, or null for a task that is kept without limit"
            elif ttl < _SHORTEST_PLAUSIBLE_TTL:
                problem = (
                    f"ttl counts milliseconds: a task that is kept for {ttl} of them is gone"
                    " before anybody reads it"
                )
            elif is_number(interval) and ttl <= interval:
                problem = (
                    "keep a task for longer than its pollInterval: it may be gone before the"
                    " first poll; both count milliseconds"
                )
        if problem:
            yield broken(
                shown.exchange,
                problem,
                expected="a plausible number of milliseconds",
                found=brief(shown.task[member]),
                member=f"{shown.pointer}/{member}",
            )
        elif is_number(ttl) or is_number(interval):
            yield holds(shown.exchange)


def _ttls_asked_for(history: History) -> frozenset[float]:
    parameters = [e.params.get("task") for e in history.of_method("tools/call")]
    ttls = [p.get("ttl") for p in parameters if isinstance(p, dict)]
    return frozenset(ttl for ttl in ttls if is_number(ttl))


@rule("polling.no-stream", SHOULD, tasks_2025("input-required-status"), needs=(TASK,))
def reads_are_answered_at_once(history: History) -> Iterator[Observation]:
    """tasks/get is not answered with an event stream, where possible.

    Who asks for the status of a task wants to poll.
    """
    for read in requests_of(history, TASKS_GET):
        if read.result is None:
            continue
        if read.is_stream:
            yield broken(
                read,
                "answer tasks/get as application/json: the client has chosen to poll, and a"
                " stream is of no use to it",
                expected="application/json",
                found="text/event-stream",
            )
        else:
            yield holds(read)


@rule(
    "polling.no-related-task",
    SHOULD,
    tasks_2025("associating-task-related-messages"),
    needs=(TASK,),
)
def results_with_tasks_need_no_related_task(history: History) -> Iterator[Observation]:
    """Results of tasks/get, tasks/list and tasks/cancel carry no related-task."""
    for exchange in requests_of(history, TASKS_GET, TASKS_LIST, TASKS_CANCEL):
        if exchange.result is None:
            continue
        if has_related_task(exchange.result):
            yield broken(
                exchange,
                f"leave related-task out of _meta of {exchange.method}: the answer names its"
                " tasks itself",
                expected="no related-task",
                found="a related-task",
                member="/result/_meta",
            )
        else:
            yield holds(exchange)


@rule(
    "polling.parameter-decides",
    MUST,
    tasks_2025("associating-task-related-messages"),
    needs=(TASK,),
    after=("polling.same-task", "results.related-task", "results.repeatable"),
)
def parameter_names_the_task(history: History) -> Iterator[Observation]:
    """`params.taskId` names the task, whatever a related-task in `_meta` of the request says."""
    for probe in probes(history, RELATED_TASK_DIFFERS):
        if isinstance(probe, Observation):
            yield probe
            continue
        control = history.control_of(probe)
        pair = (probe,) if control is None else (control, probe)
        life = life_of(history, probe)
        if unanswered(probe):
            yield unclear(pair, unanswered(probe))
        elif probe.error is not None and (life is None or may_be_deleted(life, probe.ended)):
            yield unclear(pair, "the task may have been deleted")
        elif probe.error is not None or _is_of_another_task(probe, control):
            yield broken(
                pair,
                f"let params.taskId alone decide which task {probe.method} is about, and ignore"
                " a related-task in _meta of the request",
                expected=f"an answer about {probe.task_id!r:.60}",
                found=probe.outcome if probe.error is not None else "one about another task",
                member="/error/code" if probe.error is not None else "/result",
            )
        else:
            yield holds(pair)


def _is_of_another_task(probe: Exchange, control: Exchange | None) -> bool:
    result = probe.result or {}
    if probe.method != TASKS_RESULT:
        return isinstance(result.get("taskId"), str) and result["taskId"] != probe.task_id
    if isinstance(related_task(result), str) and related_task(result) != probe.task_id:
        return True
    before = (control.result or {}) if control is not None else result
    return _bare(before) != _bare(result)


def _bare(result: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in result.items() if name != "_meta"}


adopt(
    polling_served.task_is_told_in_every_state,
    "polling.served",
    IMPLIED,
    tasks_2025("getting-tasks"),
    into=__package__,
    needs=(TASK,),
    after=("negotiation.methods-served", "creation.durable", "expiry.not-before-ttl"),
)

adopt(
    polling_served.errors_do_not_come_and_go,
    "polling.passing-errors",
    ADVICE,
    tasks_2025("protocol-errors"),
    into=__package__,
    needs=(TASK,),
)
