"""input: what a task asks of its client, by requests of the server on its streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.judge.asking import (
    ELICITATION,
    ROOTS,
    SAMPLING,
    long_enough,
    undeclared_capability,
)
from conformance.judge.lives import Life, handles, lives
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.older import (
    Asked,
    answer_to,
    asked,
    client_capabilities,
    questions_of,
    session_of,
)
from conformance.judge.rule import MUST, SHOULD, rule
from conformance.judge.shown import brief
from conformance.specification.citations import core_2025, tasks_2025
from conformance.specification.names import HEADER_SESSION, TASKS_RESULT, TOOLS_CALL
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.specification.states import INPUT_REQUIRED, WORKING
from conformance.target.roles import INPUT
from conformance.wire.exchange import Exchange
from conformance.wire.history import History
from conformance.wire.parsing import dump_json

_INPUT = "input-required-status"
KINDS = (ELICITATION, SAMPLING, ROOTS)


def questions(history: History) -> list[Asked]:
    """What a server may ask for the sake of a task: forms, messages of a model, roots."""
    return [each for each in asked(history) if each.message["method"] in KINDS]


@rule(
    "input.status",
    SHOULD,
    tasks_2025(_INPUT),
    needs=(INPUT,),
    after=("input.related-task", "lifecycle.known-status"),
)
def task_waits_visibly(history: History) -> Iterator[Observation]:
    """While a request to its client is open, a task is `input_required`."""
    for life in lives(history).values():
        for question in questions_of(history, life):
            if question.message["method"] not in KINDS or _answered_before(history, question):
                continue
            answer = answer_to(history, question)
            for seen in life.seen_by_reading():
                if seen.began < question.at or (answer is None and not _was_open(question, seen)):
                    continue
                if answer is not None and seen.ended > answer.started:
                    continue
                if seen.status == INPUT_REQUIRED:
                    yield holds((question.exchange, seen.exchange))
                elif seen.status == WORKING:
                    yield broken(
                        (question.exchange, seen.exchange),
                        "move a task to input_required while it waits for what it asked of its"
                        f" client: a {question.message['method']} was open",
                        expected="status 'input_required'",
                        found="status 'working'",
                        member="/result/status",
                    )


def _answered_before(history: History, question: Asked) -> bool:
    """Whether it came again, on another stream, when it had been answered already."""
    return any(
        earlier.at < question.at
        and earlier.message == question.message
        and session_of(earlier.exchange) == session_of(question.exchange)
        and (answer := answer_to(history, earlier)) is not None
        and answer.started < question.at
        for earlier in asked(history)
    )


def _was_open(question: Asked, seen: Any) -> bool:
    """Whether the stream of a question was still open when the task was read: a server may give
    up on a question whose stream has ended."""
    return bool(seen.ended <= question.exchange.ended)


@rule("input.related-task", MUST, tasks_2025(_INPUT), needs=(INPUT,))
def questions_name_their_task(history: History) -> Iterator[Observation]:
    """A request to the client that a task depends on carries related-task with its id.

    Judged on the streams of tasks/result, and wherever a request names a task; on the GET stream
    also where a task alone in its session had been told to be `input_required`.
    """
    known = {(e.handle or {}).get("taskId") for e in handles(history)}
    for question in questions(history):
        told = question.task_id
        on_result = question.exchange.method == TASKS_RESULT
        if told is None and not on_result:
            waiting = _waits_for(history, question)
            if waiting is not None:
                yield broken(
                    (waiting, question.exchange),
                    "set io.modelcontextprotocol/related-task in _meta of the params of"
                    f" {question.message['method']}, with the taskId of the task that asks: it"
                    " came when the only task of the session had become input_required",
                    expected=f"taskId {(waiting.handle or {}).get('taskId')!r:.60}",
                    found="no related-task",
                )
            continue
        if told is not None and told in known:
            yield holds(question.exchange)
        else:
            yield broken(
                question.exchange,
                "set io.modelcontextprotocol/related-task in _meta of the params of"
                f" {question.message['method']}, with the taskId of the task that asks",
                expected=f"taskId {question.exchange.task_id!r:.60}" if on_result else "a taskId",
                found="no related-task" if told is None else f"{told!r:.60}, which is no task",
            )


def _waits_for(history: History, question: Asked) -> Exchange | None:
    """The call whose task a request on the GET stream can only belong to: the one call of its
    session, whose task was already seen to wait."""
    method = question.message["method"]
    if method not in (ELICITATION, SAMPLING) or question.exchange.sent.http_method != "GET":
        return None
    session = session_of(question.exchange)
    calls = [call for call in history.of_method(TOOLS_CALL) if session_of(call) == session]
    if len(calls) != 1:
        return None
    waits = any(
        seen.status == INPUT_REQUIRED and seen.ended <= question.at
        for life in lives(history).values()
        if life.creation is calls[0]
        for seen in life.sightings
    )
    return calls[0] if waits else None


@rule(
    "input.requests-valid",
    MUST,
    core_2025("client/elicitation", "elicitation-requests"),
    needs=(INPUT,),
)
def questions_are_valid(history: History) -> Iterator[Observation]:
    """Requests to the client are valid: elicitation/create, sampling/createMessage, roots/list."""
    schemas = revision_named(history.circumstances.spec).schemas
    for question in questions(history):
        wrong = problems(schemas, "InputRequest", question.message)
        if question.message.get("jsonrpc") != "2.0":
            yield broken(
                question.exchange,
                f'set "jsonrpc": "2.0" on {question.message["method"]}',
                expected='"2.0"',
                found=brief(question.message.get("jsonrpc")),
            )
        elif not wrong:
            yield holds(question.exchange)
        for problem in wrong[:3]:
            yield broken(
                question.exchange,
                f"the request {question.message['method']} is not valid: {problem.sentence}",
                expected=problem.expected,
                found=problem.found,
            )


@rule(
    "input.only-declared-kinds",
    MUST,
    core_2025("basic/lifecycle", "operation"),
    needs=(INPUT,),
    after=("creation.unique-ids",),
)
def only_what_was_declared_is_asked(history: History) -> Iterator[Observation]:
    """A server asks only what the client declared in the handshake that it can answer."""
    for question in questions(history):
        declared = client_capabilities(history, question.exchange)
        if declared is None:
            continue
        missing = undeclared_capability(question.message, declared)
        if missing:
            yield broken(
                question.exchange,
                f"ask only what the client declared: {question.message['method']} needs its"
                f" capability {missing}",
                expected=f"no {question.message['method']} without {missing}",
                found="the request",
            )
        else:
            yield holds(question.exchange)


_AUGMENTED = {ELICITATION: ("elicitation", "create"), SAMPLING: ("sampling", "createMessage")}


@rule(
    "input.no-undeclared-augmentation",
    SHOULD,
    tasks_2025("capability-negotiation"),
    needs=(INPUT,),
)
def questions_become_tasks_only_where_declared(history: History) -> Iterator[Observation]:
    """A server asks for a task of the client only where the client declared that."""
    for question in questions(history):
        declared = client_capabilities(history, question.exchange)
        method = question.message["method"]
        if declared is None or method not in _AUGMENTED:
            continue
        if "task" in question.params and not _takes_tasks(declared, *_AUGMENTED[method]):
            yield broken(
                question.exchange,
                f"leave task out of {method}: the client did not declare"
                f" tasks.requests.{'.'.join(_AUGMENTED[method])}",
                expected="no task",
                found="params.task",
            )
        else:
            yield holds(question.exchange)


def _takes_tasks(declared: object, kind: str, request: str) -> bool:
    value: Any = declared
    for name in ("tasks", "requests", kind, request):
        value = value.get(name) if isinstance(value, dict) else None
    return value is not None


@rule("input.request-ids-unique", MUST, core_2025("basic/index", "requests"), needs=(INPUT,))
def ids_of_questions_are_unique(history: History) -> Iterator[Observation]:
    """The id of a request of the server is not used again in the same session.

    The same message, sent again on another stream, is no other request.
    """
    first: dict[tuple[str, str], Asked] = {}
    for question in asked(history):
        session = question.exchange.request_header(HEADER_SESSION)
        if session is None:
            continue
        place = (session, dump_json(question.message["id"]))
        earlier = first.setdefault(place, question)
        if earlier is question:
            yield holds(question.exchange)
        elif dump_json(earlier.message) != dump_json(question.message):
            yield broken(
                (earlier.exchange, question.exchange)
                if earlier.exchange is not question.exchange
                else question.exchange,
                "give each request of the server an id of its own within a session",
                expected="a new id",
                found=f"{question.message['id']!r:.60} again",
            )


@rule(
    "input.resumes",
    SHOULD,
    tasks_2025(_INPUT),
    needs=(INPUT,),
    after=("input.related-task", "input.requests-valid", "transport.response-accepted"),
)
def answered_task_goes_on(history: History) -> Iterator[Observation]:
    """Once all its requests are answered a task is no longer `input_required`."""
    yield from _moving_on(history, refusing=False)


@rule(
    "input.refusals-move-on",
    SHOULD,
    tasks_2025(_INPUT),
    needs=(INPUT,),
    after=("input.related-task", "input.requests-valid", "input.resumes"),
)
def refused_task_goes_on(history: History) -> Iterator[Observation]:
    """A declined or cancelled form is an answer as well, and the task goes on."""
    yield from _moving_on(history, refusing=True)


def _moving_on(history: History, *, refusing: bool) -> Iterator[Observation]:
    for life in lives(history).values():
        own = [q for q in questions_of(history, life) if q.message["method"] in KINDS]
        answered = [(q, answer_to(history, q)) for q in own]
        given = [answer for _, answer in answered if answer is not None]
        if not given or any(_refuses(answer) for answer in given) != refusing:
            continue
        last = max(given, key=lambda answer: answer.started)
        if last.seen is None or last.seen.status >= 300:
            continue
        reads = [s for s in life.seen_by_reading() if s.began >= last.ended]
        moved = next((s for s in reads if s.status != INPUT_REQUIRED), None)
        if moved is not None:
            yield holds((last, moved.exchange))
        elif reads:
            heard = [s for s in reads if _was_heard(history, life, last, s.exchange)]
            yield _stuck(history, life, own, last, (heard or reads)[-1].exchange)


def _refuses(answer: Exchange) -> bool:
    result = answer.request.get("result")
    action = result.get("action") if isinstance(result, dict) else None
    return "error" in answer.request or action in ("decline", "cancel")


def _stuck(
    history: History, life: Life, own: list[Asked], answer: Exchange, read: Exchange
) -> Observation:
    """What is to be said of a task that waits at each read, by the last that tells something."""
    waited = read.started - answer.ended
    pair = (answer, read)
    if any(answer_to(history, question) is None for question in own):
        return unclear(pair, "another of its requests had not been answered")
    if any(cancel.started < read.ended for cancel in life.cancels):
        return unclear(pair, "somebody had asked to cancel it")
    if not _was_heard(history, life, answer, read):
        return unclear(pair, "it may have asked again where nobody listened")
    if waited < long_enough(history):
        return unclear(pair, f"the task was still waiting {waited:.1f} s after the answer")
    return broken(
        pair,
        "let a task go on when what it asked of its client is answered: the answer was accepted,"
        " and the task still waits",
        expected="another status",
        found="status 'input_required'",
        member="/result/status",
    )


def _was_heard(history: History, life: Life, answer: Exchange, read: Exchange) -> bool:
    """Whether a stream on which the task could have asked again was open until it was read."""
    return any(
        exchange.started <= answer.ended
        and exchange.ended >= read.started
        and session_of(exchange) == session_of(read)
        for exchange in history.exchanges
        if (exchange.method == TASKS_RESULT and exchange.task_id == life.task_id)
        or exchange.sent.http_method == "GET"
    )
