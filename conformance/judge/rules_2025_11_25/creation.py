"""creation: the answer to a call that becomes a task, and what may be relied on from then."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.expectations import (
    probes,
    problems_told,
    unanswered,
)
from conformance.judge.lives import Life, Sighting, handles, lives
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.older import (
    OPTIONAL,
    REQUIRED,
    augments_calls,
    calls_as_tasks,
    requests_of,
    tool_support,
)
from conformance.judge.requests import nested_task
from conformance.judge.rule import ADVICE, IMPLIED, MUST, SHOULD, adopt, rule
from conformance.judge.rules import creation
from conformance.judge.shown import brief, moment_told
from conformance.specification.citations import tasks_2025
from conformance.specification.names import TOOLS_CALL
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.specification.states import INPUT_REQUIRED, WORKING
from conformance.target.roles import NOTICEABLE_SECONDS, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_IMMEDIATE_RESPONSE = "io.modelcontextprotocol/model-immediate-response"
_MILLISECOND = 1_000_000

# What is wrong with the values of these, other rules tell.
_TOLD_ELSEWHERE = (
    "/task/taskId",
    "/task/status",
    "/task/createdAt",
    "/task/lastUpdatedAt",
    "/task/ttl",
    "/task/pollInterval",
)


def _accepts_tasks(history: History, call: Exchange) -> bool:
    support = tool_support(history).get(str(call.tool))
    return support in (OPTIONAL, REQUIRED) and augments_calls(history, call) is True


@rule("creation.shape", MUST, tasks_2025("creating-tasks"), needs=(TASK,))
def handle_is_nested(history: History) -> Iterator[Observation]:
    """The handle stands under `task`: taskId, status, ttl and the times.

    An unlimited ttl is null; it is never left out.
    """
    schemas = revision_named(history.circumstances.spec).schemas
    for call in calls_as_tasks(history):
        result = call.result
        if result is None or "content" in result:
            continue
        if "task" not in result and "taskId" in result:
            yield broken(
                call,
                "put the task under task in the answer to a call that becomes one",
                expected="result.task",
                found="a task on the result itself",
                member="/result",
            )
            continue
        if "task" not in result and not _accepts_tasks(history, call):
            continue
        wrong = [
            problem
            for problem in problems(schemas, "CreateTaskResult", result)
            if problem.keyword == "required" or problem.path not in _TOLD_ELSEWHERE
        ]
        if not wrong:
            yield holds(call)
        yield from problems_told(call, wrong, "the answer to a call with task is not valid")


@rule("creation.id-is-string", MUST, tasks_2025("task-id-requirements"), needs=(TASK,))
def id_is_a_string(history: History) -> Iterator[Observation]:
    """The taskId is a string."""
    for call in handles(history):
        handle = call.handle or {}
        if "taskId" not in handle:
            continue
        if isinstance(handle["taskId"], str) and handle["taskId"]:
            yield holds(call)
        else:
            yield broken(
                call,
                "make taskId a string that names the task",
                expected="a string",
                found=brief(handle["taskId"]),
                member="/result/task/taskId",
            )


@rule(
    "creation.returns-task",
    MUST,
    tasks_2025("result-retrieval"),
    needs=(TASK,),
    after=("negotiation.task-support-values", "negotiation.settings-object"),
)
def accepted_call_becomes_a_task(history: History) -> Iterator[Observation]:
    """A call with `task`, of a tool that supports it, is answered with a task.

    A refusal, also one as a result with isError true, accepts nothing and is not judged.
    """
    for call in calls_as_tasks(history):
        if not _accepts_tasks(history, call) or call.result is None:
            continue
        if call.handle is not None:
            yield holds(call)
        elif call.result.get("isError") is True:
            yield unclear(call, "the call was refused by a result with isError true")
        elif "content" in call.result or "structuredContent" in call.result:
            yield broken(
                call,
                f"answer a call of {call.tool} with task by a task: the server declares tasks"
                f" for calls, and the tool's taskSupport is"
                f" {tool_support(history)[str(call.tool)]}",
                expected="result.task",
                found="the result of the call",
                member="/result",
            )


@rule(
    "creation.begins-working",
    MUST,
    tasks_2025("task-status-lifecycle"),
    needs=(TASK,),
    after=("creation.shape", "lifecycle.known-status", "polling.timestamps"),
)
def tasks_begin_as_working(history: History) -> Iterator[Observation]:
    """A task begins as `working`.

    A task may have moved before its handle was sent, and in the millisecond in which it was made.
    That is ruled out where its lastUpdatedAt is its createdAt, and both tell more than that.
    """
    for life in lives(history).values():
        handle = next((s for s in life.sightings if s.how == "handle"), None)
        if handle is None or not isinstance(handle.status, str):
            continue
        if handle.status == WORKING:
            yield holds(handle.exchange)
        elif _never_moved(handle) and (handle.terminal or handle.status == INPUT_REQUIRED):
            yield broken(
                handle.exchange,
                f"let a task begin as working: this one was {handle.status} from the moment it"
                " was created",
                expected="status 'working'",
                found=f"status {handle.status!r:.40}",
                member="/result/task/status",
            )
        elif handle.terminal or handle.status == INPUT_REQUIRED:
            yield unclear(handle.exchange, "it may have moved before its handle was sent")


def _never_moved(handle: Sighting) -> bool:
    created, updated = moment_told(handle, "createdAt"), moment_told(handle, "lastUpdatedAt")
    if created is None or updated is None or created.nanoseconds % _MILLISECOND == 0:
        return False
    return created == updated


adopt(
    creation.handle_means_readable,
    "creation.durable",
    IMPLIED,
    tasks_2025("getting-tasks"),
    into=__package__,
    needs=(TASK,),
    after=("creation.shape", "creation.id-is-string", "negotiation.methods-served"),
)

adopt(
    creation.ids_are_unique,
    "creation.unique-ids",
    MUST,
    tasks_2025("task-id-requirements"),
    into=__package__,
    needs=(TASK,),
    after=("creation.shape",),
)


@rule(
    "creation.base-task-only",
    IMPLIED,
    tasks_2025("creating-tasks"),
    needs=(TASK,),
    after=("creation.shape",),
)
def handle_carries_no_result(history: History) -> Iterator[Observation]:
    """The answer that hands out a task does not carry the result of the call."""
    for call in handles(history):
        result = call.result or {}
        extra = [name for name in ("content", "structuredContent") if result.get(name)]
        if extra:
            yield broken(
                call,
                f"leave {' and '.join(extra)} to tasks/result: the answer that hands out a task"
                " carries the task alone",
                expected="result.task",
                found=", ".join(extra),
                member=f"/result/{extra[0]}",
            )
        else:
            yield holds(call)


# A server may be slow in everything: a handle must take so many times as long as a read.
_MUCH_LONGER = 3.0
_MANY = 2


@rule(
    "creation.prompt",
    SHOULD,
    tasks_2025("result-retrieval"),
    needs=(TASK,),
    after=("creation.shape", "creation.begins-working", "lifecycle.known-status"),
)
def handle_does_not_wait_for_the_work(history: History) -> Iterator[Observation]:
    """The handle comes at once, and does not wait for the work.

    A tool is suspected where its handles took long, several times, where every first read found
    the task ended, and where these reads took a small part of the time.
    """
    by_tool: dict[str, list[Life]] = {}
    for life in lives(history).values():
        if life.creation is not None and life.seen_by_reading():
            by_tool.setdefault(str(life.tool), []).append(life)
    for tool, made in by_tool.items():
        first_reads = [life.seen_by_reading()[0] for life in made]
        lively = next((s for s in first_reads if not s.terminal), None)
        if lively is not None:
            yield holds(lively.exchange)
            continue
        waited = [life for life in made if _waited(life)]
        if len(waited) == len(made) and len(waited) >= _MANY:
            call, read = waited[0].creation, waited[0].seen_by_reading()[0].exchange
            assert call is not None
            yield broken(
                (call, read),
                f"hand out the task before its work is done: the handles of {tool} took"
                f" {call.certainly_took:.1f} s or so, and each task had ended by then",
                expected="a handle at once",
                found=f"one after {call.certainly_took:.1f} s",
            )


def _waited(life: Life) -> bool:
    """Whether the handle took noticeably long, compared with the read after it."""
    call, read = life.creation, life.seen_by_reading()[0].exchange
    return (
        call is not None
        and call.certainly_took >= NOTICEABLE_SECONDS
        and call.certainly_took >= _MUCH_LONGER * (read.ended - read.started)
    )


@rule("creation.immediate-response-text", ADVICE, tasks_2025("creating-tasks"), needs=(TASK,))
def immediate_response_is_text(history: History) -> Iterator[Observation]:
    """The immediate response for the model, in `_meta` of the handle, is a string."""
    for call in handles(history):
        meta = (call.result or {}).get("_meta")
        if not isinstance(meta, dict) or _IMMEDIATE_RESPONSE not in meta:
            continue
        if isinstance(meta[_IMMEDIATE_RESPONSE], str):
            yield holds(call)
        else:
            yield broken(
                call,
                f"make {_IMMEDIATE_RESPONSE} a string: it is passed to the model as it is",
                expected="a string",
                found=brief(meta[_IMMEDIATE_RESPONSE]),
                member=f"/result/_meta/{_IMMEDIATE_RESPONSE.replace('/', '~1')}",
            )


def _with_control(history: History, probe: Exchange) -> tuple[Exchange, ...]:
    control = history.control_of(probe)
    return (probe,) if control is None else (control, probe)


@rule("creation.only-on-request", IMPLIED, tasks_2025("creating-tasks"), needs=(TASK,))
def tasks_are_made_on_request(history: History) -> Iterator[Observation]:
    """A call without `task` is answered with its result, and never with a task."""
    for call in requests_of(history, TOOLS_CALL):
        if "task" in call.params or call.result is None:
            continue
        if nested_task(call) is not None and "content" not in call.result:
            yield broken(
                call,
                "answer a call without task with its result: nobody asked for a task",
                expected="the result of the call",
                found="a task",
                member="/result/task",
            )
        elif tool_support(history).get(str(call.tool)) == OPTIONAL:
            yield holds(call)


@rule("creation.only-tools-call", MUST, tasks_2025("task-support-and-handling"))
def parameter_is_ignored_elsewhere(history: History) -> Iterator[Observation]:
    """`task` in a request of a type that was not declared is ignored."""
    for probe in probes(history, "task-parameter-elsewhere"):
        if isinstance(probe, Observation):
            yield probe
        elif unanswered(probe):
            yield unclear(probe, unanswered(probe))
        elif probe.error is not None or nested_task(probe) is not None:
            yield broken(
                _with_control(history, probe),
                f"ignore task in {probe.method}: no capability declares tasks for it",
                expected=f"the result of {probe.method}",
                found="a task" if probe.error is None else probe.outcome,
                member="/result/task" if probe.error is None else "/error/code",
            )
        else:
            yield holds(_with_control(history, probe))
