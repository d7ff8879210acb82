"""creation: the handle, and what may be relied on once it is here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.judge.accidents import NO_CHANCE
from conformance.judge.asking import ROOTS, siblings
from conformance.judge.expectations import (
    problems_told,
    unanswered,
)
from conformance.judge.fingerprint import nested_task
from conformance.judge.lifetimes import says_gone
from conformance.judge.lives import (
    Life,
    Sighting,
    handles,
    lives,
    may_have_expired,
    outcome_of,
)
from conformance.judge.lost import came_late, loses_for_good
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.requests import is_ordinary_result, of_this_revision
from conformance.judge.rule import ADVICE, IMPLIED, MUST, SHOULD, rule
from conformance.specification.citations import tasks
from conformance.specification.names import INVALID_PARAMS, TASK_METHODS, TOOLS_CALL
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.specification.states import COMPLETED, FAILED
from conformance.target.roles import BEFORE, SLOW, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History


def _looks_like_handle(exchange: Exchange) -> bool:
    """A flat result of ``tools/call`` that describes a task, whatever its resultType."""
    result = exchange.result or {}
    described = "taskId" in result and "status" in result
    return exchange.method == TOOLS_CALL and described and not _is_whole_result(exchange)


def _is_whole_result(exchange: Exchange) -> bool:
    """An ordinary result by its resultType and its content, which may have members of its own
    beside them."""
    return exchange.result_type == "complete" and bool((exchange.result or {}).get("content"))


# Wrong values of these are told by polling.timestamps, polling.durations and
# lifecycle.known-status; creation.shape asks that they be there.
_TOLD_ELSEWHERE = ("/status", "/createdAt", "/lastUpdatedAt", "/ttlMs", "/pollIntervalMs")


@rule("creation.result-type", MUST, tasks("polymorphic-results"), needs=(TASK,))
def result_type_is_task(history: History) -> Iterator[Observation]:
    """The handle's `resultType` is `task`."""
    for exchange in history.of_method(TOOLS_CALL):
        if not of_this_revision(exchange, history):
            continue
        if exchange.handle is not None:
            yield holds(exchange)
        elif _looks_like_handle(exchange):
            yield broken(
                exchange,
                'set "resultType": "task" on a result of tools/call that is a task handle',
                expected='"task"',
                found=repr(exchange.result_type) if exchange.result_type else "no resultType",
                member="/result/resultType",
            )


@rule("creation.shape", MUST, tasks("task-creation"), needs=(TASK,))
def handle_has_its_shape(history: History) -> Iterator[Observation]:
    """The handle is flat and has taskId, status, createdAt, lastUpdatedAt and ttlMs.

    An unlimited ttlMs is null; it is never left out. Nothing is nested under `task`.
    """
    schemas = revision_named(history.circumstances.spec).schemas
    for exchange in history.of_method(TOOLS_CALL):
        if not of_this_revision(exchange, history):
            continue
        if nested_task(exchange) is not None and not _is_whole_result(exchange):
            yield broken(
                exchange,
                "put taskId, status and the other members of the handle on the result itself,"
                " not under task",
                expected="a flat task on the result",
                found="a task nested under task",
                member="/result/task",
            )
        elif exchange.handle is not None and not is_ordinary_result(exchange.handle):
            wrong = [
                problem
                for problem in problems(schemas, "CreateTaskResult", exchange.handle)
                if problem.keyword == "required" or problem.path not in _TOLD_ELSEWHERE
            ]
            if not wrong:
                yield holds(exchange)
            yield from problems_told(exchange, wrong, "the handle is not valid")


@rule(
    "creation.durable",
    MUST,
    tasks("task-creation"),
    needs=(TASK,),
    after=(
        "creation.shape",
        "negotiation.methods-served",
        "polling.rate-limit-honest",
        "transport.mcp-name-accepted",
    ),
)
def handle_means_readable(history: History) -> Iterator[Observation]:
    """Once the handle is here, `tasks/get` resolves it: at once, from anywhere, in bursts."""
    version = revision_named(history.circumstances.spec).protocol_version
    for life in lives(history).values():
        for read in life.reads:
            if life.creation is None or read.protocol_version != version:
                continue
            if read.intent == "read-at-once" or _is_missed(life, read):
                yield _readable(life.creation, life, read, history)


# A read so soon after the handle, and no earlier one, shows whether the task was ever there.
_SOON_SECONDS = 1.0
# And so soon its answer has to come.
_AWAITED_SECONDS = 10.0


def _is_missed(life: Life, read: Exchange) -> bool:
    """Whether an ordinary read, before which the task had never been read, did not find it.

    What a cancellation makes of it, expiry.not-before-ttl says.
    """
    return (
        read.is_ordinary
        and read.error_code == INVALID_PARAMS
        and read.caller == life.caller
        and read.declares_tasks
        and not any(s.ended <= read.started for s in life.seen_by_reading())
        and (came_late(life, read) or _was_there_at_no_time(life, read))
        and not may_have_expired(life, life.creation_ended + 4 * (read.ended - life.creation_ended))
    )


def _was_there_at_no_time(life: Life, read: Exchange) -> bool:
    """What is not there after a while, or was cancelled, may have been there at first."""
    cancelled = any(cancel.started < read.ended for cancel in life.cancels)
    return read.started - life.creation_ended < _SOON_SECONDS and not cancelled


def _readable(creation: Exchange, life: Life, read: Exchange, history: History) -> Observation:
    pair = (creation, read)
    if read.task is not None:
        return holds(pair)
    if unanswered(read) or not says_gone(read, history):
        # Any other error, a rate limit in words of its own say, does not deny the task.
        return unclear(pair, unanswered(read) or read.outcome)
    if may_have_expired(life, read.ended):
        return unclear(pair, "the time of the task may have been over by then")
    if _had_ended(life, read):
        return unclear(pair, "the task had ended by then, and may have been forgotten")
    if loses_for_good(history) and not came_late(life, read):
        return unclear(pair, "tasks that could be read at first were gone later, as this may be")
    if read.ended - life.creation_ended > _AWAITED_SECONDS:
        # A machine may be asleep for minutes, and a task may tell at its end how long it is kept.
        return unclear(pair, "the answer came so late that the task may have come and gone")
    where = " on another replica" if read.replica != creation.replica else ""
    return broken(
        pair,
        f"return the handle only once the task can be read{where}: a read after the handle"
        " found no task",
        expected="the task",
        found=read.outcome,
        member="/error/code",
    )


def _had_ended(life: Life, read: Exchange) -> bool:
    """Whether another read of the same replica, begun no later, saw the task ended."""
    return any(
        sighting.terminal
        and sighting.exchange.key != read.key
        and sighting.exchange.replica == read.replica
        and sighting.began <= read.ended
        for sighting in life.seen_by_reading()
    )


@rule("creation.unique-ids", IMPLIED, tasks("tasks-1"), needs=(TASK,), after=("creation.shape",))
def ids_are_unique(history: History) -> Iterator[Observation]:
    """No two creations share an id, also when they are identical and parallel."""
    first: dict[str, Exchange] = {}
    for exchange in handles(history):
        task_id = (exchange.handle or {}).get("taskId")
        if not isinstance(task_id, str):
            continue
        if task_id in first:
            yield broken(
                (first[task_id], exchange),
                "give each task an id of its own: two calls were answered with the same taskId",
                expected="a new taskId",
                found=f"{task_id!r:.60} again",
                member="/result/taskId",
            )
        else:
            first[task_id] = exchange
    if len(first) > 1:
        yield holds(tuple(first.values())[:2], f"{len(first)} creations, as many ids")


_PAYLOADS = ("result", "error", "inputRequests", "requestState")


@rule("creation.base-task-only", ADVICE, tasks("tasks-1"), needs=(TASK,), after=("creation.shape",))
def handle_is_a_base_task(history: History) -> Iterator[Observation]:
    """The handle carries no result, error, inputRequests or requestState.

    The type of the handle is the plain task; the text has no sentence that forbids more.
    """
    for exchange in handles(history):
        handle = exchange.handle or {}
        extra = [m for m in _PAYLOADS if handle.get(m) is not None]
        if extra:
            yield broken(
                exchange,
                f"leave {', '.join(extra)} to tasks/get: the handle is the plain task",
                expected="a task without payload",
                found=", ".join(extra),
                member=f"/result/{extra[0]}",
            )
        else:
            yield holds(exchange)


@rule("creation.discriminator-reserved", MUST, tasks("polymorphic-results"))
def discriminator_is_for_handles(history: History) -> Iterator[Observation]:
    """No result but a task handle carries `resultType: "task"`.

    For tasks/get, tasks/update and tasks/cancel their own rules say what stands there.
    """
    for exchange in _results_of_other_methods(history, TOOLS_CALL):
        result = exchange.result or {}
        if exchange.result_type != "task":
            yield holds(exchange)
        elif exchange.method != TOOLS_CALL and "taskId" not in result:
            yield broken(
                exchange,
                f'set "resultType": "complete" on the result of {exchange.method}: "task" is'
                " for task handles alone",
                expected='"complete"',
                found='"task"',
                member="/result/resultType",
            )
        elif exchange.method == TOOLS_CALL and is_ordinary_result(result):
            yield broken(
                exchange,
                'set "resultType": "complete" on a result of tools/call that has content:'
                ' "task" is for task handles alone',
                expected='"complete"',
                found='"task"',
                member="/result/resultType",
            )


@rule("creation.only-tools-call", IMPLIED, tasks("supported-methods"))
def only_tool_calls_become_tasks(history: History) -> Iterator[Observation]:
    """No method but tools/call answers with a task handle.

    A client has to take such an answer for an invalid one.
    """
    for exchange in _results_of_other_methods(history):
        if exchange.result_type == "task" and "taskId" in (exchange.result or {}):
            yield broken(
                exchange,
                f"answer {exchange.method} with its own result: only tools/call may become a task",
                expected=f"a result of {exchange.method}",
                found="a task handle",
                member="/result",
            )
        else:
            yield holds(exchange)


def _results_of_other_methods(history: History, *also: str) -> list[Exchange]:
    """Exchanges under this revision that were answered with a result, but for tools/call and
    the methods of the extension; ``also`` are methods to be looked at all the same."""
    version = revision_named(history.circumstances.spec).protocol_version
    left_out = {TOOLS_CALL, *TASK_METHODS}.difference(also)
    return [
        exchange
        for exchange in history.exchanges
        if exchange.result is not None
        and exchange.is_request
        and exchange.method not in left_out
        and exchange.protocol_version == version
    ]


@rule(
    "creation.input-first",
    SHOULD,
    tasks("task-creation"),
    needs=(BEFORE,),
    after=("creation.durable", "creation.base-task-only"),
)
def input_comes_before_the_handle(history: History) -> Iterator[Observation]:
    """Input that is needed before creation is asked for, and answered, before the handle comes.

    A task does not ask again what its call has asked. Another question may have the same words:
    that it is the same shows where it has the same key, or where it is asked whatever had been
    answered. Whether the outcome reflects the answers can only be guessed: where an accepted and
    a declined call end alike, the report says so.
    """
    ends: list[_End] = []
    known = lives(history)
    for life in known.values():
        asked = _asked_before(history, life)
        if life.creation is None or not asked:
            continue
        exchanges = (*asked, life.creation)
        questions = [question for exchange in asked for question in _questions(exchange)]
        reads = life.seen_by_reading()
        repeated = next((s for s in reads if _asks_again(s, questions)), None)
        if repeated is not None:
            yield _asked_twice(life, repeated, questions, exchanges, known)
        elif any(s.terminal or s.task.get("inputRequests") for s in reads):
            yield holds(exchanges)
            end = life.first_terminal
            if end is not None and end.how == "read":
                ends.append(_End(life.creation, outcome_of(end.task), (*exchanges, end.exchange)))
        elif reads:
            yield unclear(exchanges, "the task was not seen to end, nor to ask anything else")
    yield from _alike(ends)


def _asked_twice(
    life: Life,
    repeated: Sighting,
    questions: list[tuple[str, Any]],
    exchanges: tuple[Exchange, ...],
    known: Mapping[str, Life],
) -> Observation:
    """What is said of a task that asks something in the words of its call."""
    answers = _answers_before(life)
    if answers and not _is_same_question(life, repeated, questions, known):
        return unclear(
            (*exchanges, repeated.exchange), "the task asks something in the same words as its call"
        )
    return broken(
        (*exchanges, repeated.exchange),
        "keep the answers that came before the handle: the task asks again what its"
        " call had asked, and had been told"
        if answers
        else "ask until there is an answer, and make the task then: the task asks what"
        " its call had asked, and had not been told",
        expected="no question that its call had asked",
        found="the same question in inputRequests",
        member="/result/inputRequests",
    )


def _is_same_question(
    life: Life, repeated: Sighting, questions: list[tuple[str, Any]], known: Mapping[str, Life]
) -> bool:
    """Whether a question in the words of an earlier one is the same. Where the same call was
    answered otherwise, it is if it was asked all the same; else if it has the same key."""
    others = [
        any(_asks_again(s, questions) for s in other.seen_by_reading())
        for other in siblings(life, known)
        if other.first_terminal is not None
        and _answers_before(other)
        and _answers_before(other) != _answers_before(life)
    ]
    if others:
        return all(others)
    requests = repeated.task.get("inputRequests")
    return isinstance(requests, dict) and any(requests.get(k) == q for k, q in questions)


def _answers_before(life: Life) -> Any:
    return life.creation.params.get("inputResponses") if life.creation is not None else None


@dataclass(frozen=True)
class _End:
    """How a task ended whose call was asked first."""

    creation: Exchange
    outcome: object
    exchanges: tuple[Exchange, ...]


def _asked_before(history: History, life: Life) -> list[Exchange]:
    """The answers `input_required` that led to the call which made the task, in order."""
    call = life.creation
    chain: list[Exchange] = []
    while call is not None and "inputResponses" in call.params and len(chain) < 8:
        asking = [e for e in history.derive(_asking).get(call.scenario, ()) if _led_to(e, call)]
        call = asking[-1] if asking else None
        if call is not None:
            chain.insert(0, call)
    return chain


def _asking(history: History) -> dict[str, list[Exchange]]:
    """The calls that were answered `input_required`, by scenario."""
    found: dict[str, list[Exchange]] = {}
    for call in history.of_method(TOOLS_CALL):
        if call.result_type == "input_required":
            found.setdefault(call.scenario, []).append(call)
    return found


def _led_to(asking: Exchange, retry: Exchange) -> bool:
    """Whether a call is the retry of one that was answered `input_required`."""
    return (
        asking.result_type == "input_required"
        and asking.scenario == retry.scenario
        and asking.ended <= retry.started
        and asking.tool == retry.tool
        and asking.params.get("arguments") == retry.params.get("arguments")
        and (asking.result or {}).get("requestState") == retry.params.get("requestState")
    )


def _questions(exchange: Exchange) -> list[tuple[str, Any]]:
    """What a call asked, by key, but for the roots: these may change, and have no question of
    their own by which one request could be told from another."""
    requests = (exchange.result or {}).get("inputRequests")
    asked = requests.items() if isinstance(requests, dict) else ()
    return [(k, r) for k, r in asked if not (isinstance(r, dict) and r.get("method") == ROOTS)]


def _asks_again(sighting: Sighting, questions: list[tuple[str, Any]]) -> bool:
    requests = sighting.task.get("inputRequests")
    asked = [question for _, question in questions]
    return isinstance(requests, dict) and any(r in asked for r in requests.values())


def _alike(ends: list[_End]) -> Iterator[Observation]:
    """A note where a call that was accepted and one that was declined ended alike."""
    for accepted in ends:
        for declined in ends:
            if (
                accepted.creation.intent == "accept-before"
                and declined.creation.intent == "decline-before"
                and accepted.creation.tool == declined.creation.tool
                and accepted.outcome == declined.outcome
            ):
                yield holds(
                    (*accepted.exchanges, *declined.exchanges),
                    "the task ended alike whether its question was accepted or declined: check"
                    " that the answer is used",
                )


@rule(
    "creation.survives-disconnect",
    IMPLIED,
    tasks("tasks-1"),
    needs=(SLOW,),
    after=("creation.durable",),
)
def task_survives_its_connection(history: History) -> Iterator[Observation]:
    """Closing the connection on which the handle came does not end the task.

    Tools fail for many reasons. A failure counts where it cannot be chance: two such tasks
    failed, or three others of the same call completed. Nobody but the server can have cancelled
    a task that nobody asked it to cancel.
    """
    known = lives(history)
    for creation in history.intended("create-and-hang-up"):
        life = known.get(str((creation.handle or {}).get("taskId")))
        if life is None:
            continue
        end = life.first_terminal
        if end is None:
            yield unclear(creation, "the task was not seen to end")
        elif end.status == COMPLETED:
            yield holds((creation, end.exchange))
        elif life.cancels or life.updates or may_have_expired(life, end.ended):
            yield unclear(
                (creation, end.exchange), f"it may have ended as {end.status} for another reason"
            )
        else:
            yield _ended_otherwise(history, creation, end)


def _ended_otherwise(history: History, creation: Exchange, end: Sighting) -> Observation:
    """What is said of a task that failed or was cancelled, unasked, once its connection closed."""
    pair = (creation, end.exchange)
    others = _others(history, creation)
    alike = [other for other in others if other.status == end.status and not other.asked]
    if any(not other.hung_up for other in alike):
        return unclear(pair, f"others of the same call ended as {end.status} as well")
    completed = sum(other.status == COMPLETED for other in others)
    if not completed:
        return unclear(pair, "no other task of the same call was seen to complete")
    if end.status == FAILED and completed < NO_CHANCE and not alike:
        return unclear(pair, "one task that failed, where few others completed, may be chance")
    return broken(
        pair,
        "keep working when the connection of the creating request closes: the task ended as"
        f" {end.status}, while the same call completes when its connection stays open",
        expected="the task goes on",
        found=f"status {end.status!r}",
        member="/result/status",
    )


@dataclass(frozen=True)
class _Other:
    """Another task of the same call that was seen to end. ``asked`` is whether anybody asked for
    its cancellation, ``hung_up`` whether its connection was closed as well."""

    status: object
    asked: bool
    hung_up: bool


def _others(history: History, creation: Exchange) -> list[_Other]:
    return [
        _Other(end.status, bool(life.cancels), _hung_up(life.creation))
        for life in lives(history).values()
        if (end := life.first_terminal) is not None
        and life.creation is not None
        and life.creation.key != creation.key
        and life.tool == creation.tool
        and life.creation.params.get("arguments") == creation.params.get("arguments")
    ]


def _hung_up(creation: Exchange) -> bool:
    """Connections that are named fresh are closed once they have answered."""
    return creation.intent == "create-and-hang-up" or creation.connection.startswith("fresh")
