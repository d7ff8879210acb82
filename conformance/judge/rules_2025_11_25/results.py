"""results: tasks/result, which waits for the end of a task and returns what came of it."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.accidents import where_none_was_served, without_a_word
from conformance.judge.expectations import (
    is_wordless,
    problems_told,
    refused_beforehand,
    unanswered,
)
from conformance.judge.lives import Life, lives
from conformance.judge.observation import (
    UNCLEAR,
    Observation,
    broken,
    holds,
    not_offered,
    unclear,
)
from conformance.judge.older import (
    ended_before,
    fetched,
    is_answered,
    may_be_deleted,
    not_declared,
    related_task,
)
from conformance.judge.rule import IMPLIED, MUST, rule
from conformance.judge.rules.outcome import outcome_of_call, same_outcome
from conformance.judge.rules_2025_11_25.outcome import errors_called_directly
from conformance.judge.rules_2025_11_25.polling import unknown_ids
from conformance.judge.shown import brief
from conformance.specification.citations import tasks_2025
from conformance.specification.names import (
    INVALID_PARAMS,
    TASKS_GET,
    TASKS_RESULT,
    TOOLS_CALL,
    code_words,
)
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.specification.states import CANCELLED, COMPLETED, FAILED
from conformance.target.roles import SLOW, TASK
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History

# A tasks/result that is still open so long after the end was seen will not be answered.
_OPEN_TOO_LONG_SECONDS = 2.0


def _after_the_end(history: History) -> Iterator[tuple[Life, Exchange]]:
    """Every tasks/result that was sent once its task was known to have ended, in the time in
    which the task cannot have been deleted."""
    for life in lives(history).values():
        if not _tells_how_long(life):
            continue
        for exchange in fetched(history, life):
            if ended_before(life, exchange.started) and not may_be_deleted(life, exchange.ended):
                yield life, exchange


def _tells_how_long(life: Life) -> bool:
    """Whether each ttl that was told is a number or null: of any other nobody knows the end."""
    told = [s.task["ttl"] for s in life.sightings if "ttl" in s.task]
    return not any(isinstance(ttl, bool | str | list | dict) for ttl in told)


@rule(
    "results.returned",
    MUST,
    tasks_2025("result-retrieval"),
    needs=(TASK,),
    after=(
        "negotiation.methods-served",
        "transport.answered",
        "lifecycle.known-status",
        "outcome.protocol-error-fails",
        "expiry.not-before-ttl",
    ),
)
def ended_tasks_have_their_result(history: History) -> Iterator[Observation]:
    """tasks/result of an ended task returns its result, or the error its call ended in.

    An answer without JSON-RPC counts where it was not the only one, and none was served of a task
    that had ended so.
    """
    direct = history.derive(errors_called_directly)
    wordless: dict[str, list[Observation]] = {}
    served: list[str] = []
    for life, exchange in _after_the_end(history):
        end = life.first_terminal
        assert end is not None
        pair = life.with_creation(end.exchange, exchange)
        if exchange.result is not None:
            served.append(str(end.status))
            yield holds(pair)
        elif is_wordless(exchange) and not _timed_out(exchange):
            # Where no answer comes at all, results.released-at-end tells.
            what = f"return the result of a {end.status} task from tasks/result"
            found_so = without_a_word(pair, what, "the result of the call, or its error")
            wordless.setdefault(str(end.status), []).append(found_so)
        elif exchange.error is None or unanswered(exchange):
            yield unclear(pair, unanswered(exchange) or exchange.outcome)
        elif _returned_before(history, life, exchange):
            continue  # that it is not returned again, results.repeatable tells
        elif end.status == COMPLETED:
            plain, found = direct.get(str(life.tool)), outcome_of_call(exchange)
            if plain is not None and found is not None and same_outcome(plain, found):
                continue  # that such a task is not completed, another rule says
            yield broken(
                pair,
                "return the result of a completed task from tasks/result, as often as it is asked"
                " for while the task is kept",
                expected="the result of the call",
                found=exchange.outcome,
                member="/error/code",
            )
        elif end.status == FAILED and not refused_beforehand(exchange):
            if exchange.error_code != INVALID_PARAMS:
                yield holds(pair)
            elif life.tool in history.derive(_ends_in_results):
                yield broken(
                    pair,
                    "return the result of a failed task from tasks/result as well: called"
                    f" directly, {life.tool} ends in a result, with isError true or without",
                    expected="the result of the call",
                    found=exchange.outcome,
                    member="/error/code",
                )
            else:
                yield unclear(pair, "whether this is the error of the call cannot be told")
    yield from where_none_was_served(wordless, served)


def _timed_out(exchange: Exchange) -> bool:
    return exchange.fault is not None and exchange.fault.kind == "timeout"


def _given_up(exchange: Exchange) -> bool:
    """Whether the suite stopped waiting for it."""
    return _timed_out(exchange) or (exchange.seen is not None and exchange.seen.cut)


def _returned_before(history: History, life: Life, exchange: Exchange) -> bool:
    return any(
        earlier.result is not None and earlier.ended <= exchange.started
        for earlier in fetched(history, life)
    )


def _ends_in_results(history: History) -> frozenset[str]:
    """The tools that, called plainly, were always answered with a result."""
    ended: dict[str, set[bool]] = {}
    for call in history.intended("call-plainly", method=TOOLS_CALL):
        if call.result is not None or call.error is not None:
            ended.setdefault(str(call.tool), set()).add(call.result is not None)
    return frozenset(tool for tool, kinds in ended.items() if kinds == {True})


@rule(
    "results.shape",
    MUST,
    tasks_2025("retrieving-task-results"),
    needs=(TASK,),
)
def result_is_that_of_the_call(history: History) -> Iterator[Observation]:
    """The result of tasks/result is that of the call: a CallToolResult, and nothing around it."""
    schemas = revision_named(history.circumstances.spec).schemas
    for life in lives(history).values():
        for exchange in fetched(history, life):
            result = exchange.result
            if result is None:
                continue
            if not ended_before(life, exchange.ended) and "status" in result:
                # That it did not wait for the end, another rule says.
                yield unclear(exchange, "the task had not been seen to end")
                continue
            other = _other_than_a_result(result)
            if other:
                yield broken(
                    exchange,
                    f"return the result of the call from tasks/result: this is {other}",
                    expected="a CallToolResult",
                    found=brief(result),
                    member="/result",
                )
                continue
            wrong = problems(schemas, "CallToolResult", result)
            if not wrong:
                yield holds(exchange)
            yield from problems_told(
                exchange, wrong, "the result of tasks/result is no valid CallToolResult"
            )


def _other_than_a_result(result: JsonObject) -> str:
    """What a result without content is instead, where it can be recognised."""
    if "content" in result:
        return ""
    if isinstance(result.get("task"), dict):
        return "the answer to the call, with its task"
    if "taskId" in result and "status" in result:
        return "the task"
    if "jsonrpc" in result:
        return "a whole JSON-RPC message"
    names = ("result", "toolResult", "value", "output")
    wrapped = next((name for name in names if isinstance(result.get(name), dict)), None)
    return f"wrapped in {wrapped!r}" if wrapped is not None else ""


@rule(
    "results.related-task",
    MUST,
    tasks_2025("associating-task-related-messages"),
    needs=(TASK,),
    after=("results.shape",),
)
def result_names_its_task(history: History) -> Iterator[Observation]:
    """The result of tasks/result names its task: related-task in `_meta`."""
    for life in lives(history).values():
        for exchange in fetched(history, life):
            if exchange.result is None:
                continue
            told = related_task(exchange.result)
            if told == life.task_id:
                yield holds(exchange)
                continue
            yield broken(
                exchange,
                "set io.modelcontextprotocol/related-task in _meta of the result of tasks/result,"
                " with the taskId: nothing else in it says which task it belongs to",
                expected=f"taskId {life.task_id!r:.60}",
                found="no related-task" if told is None else f"{told!r:.60}",
                member="/result/_meta" if "_meta" in exchange.result else "/result",
            )


@rule(
    "results.blocks",
    MUST,
    tasks_2025("result-retrieval"),
    needs=(SLOW,),
    after=(
        "negotiation.methods-served",
        "lifecycle.known-status",
        "concurrency.reads-agree",
        "creation.durable",
    ),
)
def result_waits_for_the_end(history: History) -> Iterator[Observation]:
    """tasks/result of a task that is not at its end waits until it is."""
    for life in lives(history).values():
        for exchange in fetched(history, life):
            if not is_answered(exchange) or may_be_deleted(life, exchange.ended):
                continue
            live = next(
                (
                    s
                    for s in life.seen_by_reading()
                    if s.began >= exchange.ended and not s.terminal and isinstance(s.status, str)
                ),
                None,
            )
            if live is not None and not ended_before(life, exchange.ended):
                yield broken(
                    life.with_creation(exchange, live.exchange),
                    "answer tasks/result only once the task has ended: it was answered, and the"
                    " task went on",
                    expected="no answer before the end",
                    found=f"{exchange.outcome}; status {live.status!r} afterwards",
                )
            elif _blocked(life, exchange):
                yield holds(life.with_creation(exchange))


def _blocked(life: Life, exchange: Exchange) -> bool:
    """Whether the task was seen at work after the request had been sent."""
    return any(
        not s.terminal and s.began >= exchange.started and s.ended <= exchange.ended
        for s in life.seen_by_reading()
    )


@rule(
    "results.released-at-end",
    IMPLIED,
    tasks_2025("result-retrieval"),
    needs=(SLOW,),
    after=("negotiation.methods-served", "lifecycle.known-status"),
)
def result_comes_with_the_end(history: History) -> Iterator[Observation]:
    """A tasks/result that waits is answered when the task ends, also by cancellation."""
    for life in lives(history).values():
        end = life.first_terminal
        if end is None:
            continue
        for exchange in fetched(history, life):
            if is_answered(exchange):
                if exchange.started < end.ended and exchange.ended >= end.began:
                    yield holds(life.with_creation(exchange))
                continue
            if exchange.response is not None or _may_be_gone(life, exchange):
                continue
            given_up = _given_up(exchange)
            waited = exchange.ended - max(end.ended, exchange.started)
            if given_up and waited >= _OPEN_TOO_LONG_SECONDS:
                yield broken(
                    life.with_creation(end.exchange, exchange),
                    f"answer tasks/result when the task has ended: {waited:.1f} s after it was"
                    f" seen to be {end.status}, there was no answer",
                    expected="the result of the call",
                    found="no answer",
                )
            elif given_up:
                yield unclear(exchange, "it was not awaited for long after the end")


def _may_be_gone(life: Life, exchange: Exchange) -> bool:
    """Whether the time of a task may have been over. A cancelled one may be deleted as well, but
    who waits for its result is to be told so."""
    end = life.first_terminal
    cancelled = end is not None and end.status == CANCELLED
    return may_be_deleted(life, exchange.ended) and not cancelled


@rule(
    "results.repeatable",
    MUST,
    tasks_2025("result-retrieval"),
    needs=(TASK,),
    after=("negotiation.methods-served", "results.returned"),
)
def result_stays_the_same(history: History) -> Iterator[Observation]:
    """Asked again, tasks/result returns the same."""
    earlier: dict[str, Exchange] = {}
    for life, exchange in _after_the_end(history):
        if not is_answered(exchange) or refused_beforehand(exchange):
            continue
        first = earlier.setdefault(life.task_id, exchange)
        if first is exchange or exchange.started < first.ended:
            continue
        if _comparable(first) == _comparable(exchange):
            yield holds((first, exchange))
        else:
            yield broken(
                life.with_creation(first, exchange),
                "return the same from tasks/result each time, as long as the task is kept",
                expected=first.outcome,
                found=exchange.outcome if exchange.error is not None else "another result",
                member="/error" if exchange.error is not None else "/result",
            )


def _comparable(exchange: Exchange) -> object:
    if exchange.error is not None:
        return exchange.error_code, exchange.error.get("message")
    return {name: value for name, value in (exchange.result or {}).items() if name != "_meta"}


@rule(
    "results.unknown-id",
    MUST,
    tasks_2025("protocol-errors"),
    after=("negotiation.methods-served", "polling.unknown-id"),
)
def unknown_id_has_no_result(history: History) -> Iterator[Observation]:
    """tasks/result of an id that does not exist is answered with -32602, and does not wait."""
    handshake = not_declared(history)
    if handshake is not None:
        yield not_offered("the server declares no tasks", handshake)
        return
    for observation in unknown_ids(history, TASKS_RESULT):
        probe = observation.exchanges[-1]
        if observation.kind == UNCLEAR and _waits(history, probe):
            yield broken(
                probe,
                "answer tasks/result of a task that does not exist at once, with error"
                f" {code_words(INVALID_PARAMS)}: there is nothing to wait for",
                expected=f"error {code_words(INVALID_PARAMS)}",
                found="no answer",
            )
        else:
            yield observation


def _waits(history: History, probe: Exchange) -> bool:
    """Whether a request was held open in vain while others were answered."""
    return (
        _given_up(probe)
        and probe.response is None
        and probe.certainly_took >= _OPEN_TOO_LONG_SECONDS
        and any(
            other.method == TASKS_GET
            and other.response is not None
            and probe.started <= other.started
            and other.ended <= probe.ended
            for other in history.exchanges
        )
    )
