"""input: the acknowledgement of ``tasks/update``, and what a task may ask under which key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.judge.asking import (
    answers_of,
    is_url,
    reads_between,
    requests_before,
    requests_in,
    same_request,
    showings_of,
    undeclared_capability,
    url_of,
)
from conformance.judge.expectations import expect_error, probes, unanswered
from conformance.judge.lives import Life, Sighting, lives
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.requests import is_careful, is_offered, of_this_revision
from conformance.judge.rule import MUST, SHOULD, rule
from conformance.specification.citations import core, tasks
from conformance.specification.names import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    TASK_NOTIFICATION,
    TASKS_UPDATE,
    TOOLS_CALL,
    code_words,
)
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.specification.states import WORKING
from conformance.target.roles import INPUT, ROUNDS, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_UPDATES = tasks("task-update-requests")
_RESPONSE = tasks("response-1")
_ASKING = core("basic/patterns/mrtr", "server-requirements-basic-workflow")

_TASK_MEMBERS = (
    "taskId",
    "status",
    "statusMessage",
    "createdAt",
    "lastUpdatedAt",
    "ttlMs",
    "pollIntervalMs",
    "result",
    "error",
    "inputRequests",
    "requestState",
    "task",
)


# ---- the acknowledgement --------------------------------------------------------------------


@rule("input.ack-empty", MUST, _RESPONSE, needs=(TASK,))
def acknowledgement_is_empty(history: History) -> Iterator[Observation]:
    """`tasks/update` is answered with an empty acknowledgement.

    `_meta` may be there; the task may not: it is read with `tasks/get`.
    """
    for exchange in history.of_method(TASKS_UPDATE):
        result = exchange.result
        if result is None or not of_this_revision(exchange, history):
            continue
        of_task = [member for member in _TASK_MEMBERS if member in result]
        more = [m for m in result if m not in ("resultType", "_meta") and m not in of_task]
        if of_task:
            yield broken(
                exchange,
                "answer tasks/update with an empty result:"
                f" leave {', '.join(of_task)} to tasks/get",
                expected='{"resultType": "complete"}',
                found=", ".join(of_task),
                member=f"/result/{of_task[0]}",
            )
        else:
            note = f"the acknowledgement has members of its own: {', '.join(more)}" if more else ""
            yield holds(exchange, note)


@rule(
    "input.ack-result-type",
    MUST,
    _RESPONSE,
    needs=(TASK,),
    after=("input.ack-empty", "jsonrpc.result-type-present"),
)
def acknowledgement_is_complete(history: History) -> Iterator[Observation]:
    """The acknowledgement's `resultType` is `complete`."""
    for exchange in history.of_method(TASKS_UPDATE):
        if exchange.result is None or not of_this_revision(exchange, history):
            continue
        if exchange.result_type == "complete":
            yield holds(exchange)
        else:
            there = "resultType" in exchange.result
            yield broken(
                exchange,
                'set "resultType": "complete" on the result of tasks/update',
                expected='"complete"',
                found=repr(exchange.result_type) if there else "no resultType",
                member="/result/resultType",
            )


@rule(
    "input.unknown-task",
    SHOULD,
    tasks("protocol-errors"),
    after=("negotiation.methods-served", "polling.unknown-id"),
)
def unknown_task_is_invalid_params(history: History) -> Iterator[Observation]:
    """`tasks/update` for a task that does not exist is answered with -32602."""
    if not is_offered(history):
        yield not_offered("the server does not offer the extension")
        return
    for exchange in history.intended("unknown-id", method=TASKS_UPDATE):
        yield expect_error(exchange, INVALID_PARAMS)


@rule(
    "input.missing-responses",
    SHOULD,
    core("basic/patterns/mrtr", "error-handling"),
    needs=(TASK,),
    after=("negotiation.methods-served",),
)
def responses_are_an_object(history: History) -> Iterator[Observation]:
    """Without `inputResponses`, or where it is not an object, `tasks/update` is -32602 or -32600.

    The schema requires the member of clients; servers should validate what they are sent, and
    answer with an appropriate code.
    """
    for probe in probes(history, "no-responses", "responses-not-an-object", method=TASKS_UPDATE):
        if isinstance(probe, Observation):
            yield probe
            continue
        if probe.error_code == INVALID_REQUEST and not unanswered(probe):
            yield holds(probe)
            continue
        what = "no inputResponses"
        if probe.intent != "no-responses":
            what = "inputResponses that is not an object"
        yield expect_error(
            probe,
            INVALID_PARAMS,
            f"check the params of tasks/update: refuse {what} with {code_words(INVALID_PARAMS)}",
        )


# ---- what is asked --------------------------------------------------------------------------


def _asked(history: History) -> Iterator[tuple[Exchange, str, str, object]]:
    """Every request shown to the client, each time: the exchange, its key, where, itself."""
    for exchange in history.exchanges:
        if not of_this_revision(exchange, history):
            continue
        if exchange.task is not None:
            for key, request in requests_in(exchange.task).items():
                yield exchange, key, f"/result/inputRequests/{_escaped(key)}", request
        for key, request in requests_before(exchange).items():
            yield exchange, key, f"/result/inputRequests/{_escaped(key)}", request
        for _, message in exchange.notifications:
            if message.get("method") == TASK_NOTIFICATION:
                for key, request in requests_in(message.get("params")).items():
                    yield exchange, key, "", request


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


@rule("input.requests-valid", MUST, _ASKING, needs=(INPUT,))
def requests_are_valid(history: History) -> Iterator[Observation]:
    """Each request is elicitation/create, sampling/createMessage or roots/list, with valid params.

    A form may leave its mode out. A form is flat, and its fields are plain.
    """
    schemas = revision_named(history.circumstances.spec).schemas
    for exchange, key, where, request in _asked(history):
        wrong = problems(schemas, "InputRequest", request)
        for problem in wrong[:3]:
            yield broken(
                exchange,
                f"the request {key!r:.60} is not valid: {problem.sentence}",
                expected=problem.expected,
                found=problem.found,
                member=where and where + problem.path,
            )
        url = url_of(request)
        if url is not None and not wrong and not is_url(url):
            yield broken(
                exchange,
                "give a request in url mode a whole URL, with its scheme",
                expected="a URL",
                found=f"{url!r:.80}",
                member=where and f"{where}/params/url",
            )
        elif not wrong:
            yield holds(exchange)


@rule("input.only-declared-kinds", MUST, _ASKING, needs=(INPUT,))
def only_declared_kinds_are_asked(history: History) -> Iterator[Observation]:
    """A client is not asked for what it did not declare: elicitation, sampling or roots.

    A task asks in place of the call that made it, so it may ask for what that call declared, or
    a request about the task since: what is open is shown to every later reader.
    A client that cannot be asked gets an answer without questions, or -32021.
    """
    known = lives(history)
    for exchange in history.exchanges:
        if not is_careful(exchange, history):
            continue
        if exchange.method == TOOLS_CALL:
            asked, declared = requests_before(exchange), exchange.capabilities
            evidence: tuple[Exchange, ...] = (exchange,)
            since = [exchange]
        elif exchange.task is not None:
            life = known.get(exchange.task_id or "")
            # What another task asks, shown in the place of this one, is polling.same-task's.
            own = exchange.task.get("taskId") in (exchange.task_id, None)
            if life is None or life.creation is None or not own:
                continue
            asked, declared = requests_in(exchange.task), life.creation.capabilities
            evidence = (life.creation, exchange)
            sent = (*life.reads, *life.updates, *life.cancels)
            since = [e for e in sent if e.started < exchange.ended]
        else:
            continue
        for key, request in asked.items():
            missing = undeclared_capability(request, declared)
            if not missing:
                yield holds(evidence)
            elif all(undeclared_capability(request, e.capabilities) for e in since):
                method = request.get("method") if isinstance(request, dict) else None
                yield broken(
                    evidence,
                    f"do not ask a client for {missing} that did not declare it: answer the call"
                    " without asking, or with -32021 that names the missing capability",
                    expected=f"no {method} for this client",
                    found=f"{method} under {key!r:.60}",
                    member=f"/result/inputRequests/{_escaped(key)}",
                )
    yield from _not_asked(history, known)


def _not_asked(history: History, known: Mapping[str, Life]) -> Iterator[Observation]:
    """Calls that could not be asked what their tool asks others, and were not."""
    for call in history.intended("kinds-not-declared", method=TOOLS_CALL):
        hindrance = unanswered(call)
        if hindrance:
            yield unclear(call, hindrance)
        elif call.handle is None:
            if not requests_before(call):
                yield holds(call)
        else:
            life = known.get(str(call.handle.get("taskId")))
            last = life.sightings[-1] if life is not None else None
            if last is not None and last.terminal:
                yield holds((call, last.exchange))
            elif last is not None and last.status == WORKING:
                yield unclear((call, last.exchange), "the task was still working")


# ---- keys -----------------------------------------------------------------------------------


def _first_answer(life: Life, key: str) -> Exchange | None:
    """The first update that may have answered a key."""
    return next((u for u in life.updates if key in answers_of(u)), None)


def _taken(life: Life, key: str) -> list[Exchange]:
    """The updates by which a key was answered: its own caller sent them, and they were
    acknowledged."""
    own = (u for u in life.updates if u.caller == life.caller and u.declares_tasks)
    return [u for u in own if u.result is not None and key in answers_of(u)]


@rule(
    "input.key-names-one-request",
    MUST,
    _UPDATES,
    needs=(INPUT,),
    after=("creation.unique-ids",),
)
def key_names_one_request(history: History) -> Iterator[Observation]:
    """While a request is open its key always shows the same request."""
    for life in lives(history).values():
        for key, showings in showings_of(life).items():
            answer = _first_answer(life, key)
            first, request = showings[0]
            for later, other in showings[1:]:
                if answer is not None and later.ended > answer.started:
                    break
                pair = (first.exchange, later.exchange)
                if same_request(request, other):
                    yield holds(pair)
                else:
                    yield broken(
                        pair,
                        "give every request a key of its own: the same key showed two different"
                        " requests before either was answered",
                        expected=f"under {key!r:.60} the request shown before",
                        found="another request",
                        member=f"/result/inputRequests/{_escaped(key)}",
                    )


@rule(
    "input.key-not-reused",
    MUST,
    _UPDATES,
    needs=(ROUNDS,),
    after=("input.key-names-one-request",),
)
def answered_key_is_not_reused(history: History) -> Iterator[Observation]:
    """A key that was answered never returns for another request."""
    for life in lives(history).values():
        showings = showings_of(life)
        reused = False
        for key, shown in showings.items():
            again = _used_again(life, key, shown)
            if again is not None:
                reused = True
                first, later = again
                yield broken(
                    (first.exchange, later.exchange),
                    "give each request for input a new key: this one had been answered before,"
                    " and a client that has answered a key does not answer it again",
                    expected="a key never used by this task",
                    found=f"{key!r:.60} again",
                    member=f"/result/inputRequests/{_escaped(key)}",
                )
        round_after = _later_round(life, showings)
        if round_after is not None and not reused:
            yield holds(round_after)


def _used_again(
    life: Life, key: str, shown: list[tuple[Sighting, object]]
) -> tuple[Sighting, Sighting] | None:
    """The first showing of a key, and one that stands for another request after its answer.

    Right after its answer a request may be shown once more, since an answer may take effect
    later than it is acknowledged. So an equal request counts only where the key was gone in
    between and the task has moved on since.
    """
    first, request = shown[0]
    answer = next((u for u in _taken(life, key) if first.ended <= u.started), None)
    if answer is None:
        return None
    times_before = {s.task.get("lastUpdatedAt") for s, _ in shown if s.ended <= answer.started}
    gone = [s for s in reads_between(life, answer.ended) if key not in requests_in(s.task)]
    for later, other in shown[1:]:
        if later.how != "read" or later.began < answer.ended:
            continue
        if not same_request(request, other):
            return first, later
        was_gone = any(s.certainly_before(later) for s in gone)
        if was_gone and later.task.get("lastUpdatedAt") not in times_before:
            return first, later
    return None


def _later_round(
    life: Life, showings: Mapping[str, list[tuple[Sighting, object]]]
) -> tuple[Exchange, Exchange] | None:
    """An answer, and a later read that showed a request under a new key."""
    for key, shown in showings.items():
        first = shown[0][0]
        for other, earlier in showings.items():
            for update in _taken(life, other) if other != key else ():
                was_asked = earlier[0][0].ended <= update.started
                if was_asked and update.ended <= first.began and key not in answers_of(update):
                    return update, first.exchange
    return None
