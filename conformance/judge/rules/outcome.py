"""outcome: how results and errors of the call are told by its task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance.judge.bare import bare_block
from conformance.judge.expectations import unanswered
from conformance.judge.lives import Life, Sighting, lives, may_have_expired
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.rule import MUST, SHOULD, rule
from conformance.specification.citations import tasks
from conformance.specification.names import (
    CODE_NAMES,
    INTERNAL_ERROR,
    OBSOLETE_CODES,
    TOOLS_CALL,
    code_words,
)
from conformance.specification.states import COMPLETED, FAILED
from conformance.target.roles import PROTOCOL_ERROR, TASK, TOOL_ERROR
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History
from conformance.wire.parsing import dump_json

# Tools of the official suite. A server that has both was prepared for it.
_OFFICIAL = {"failing_job": TOOL_ERROR, "protocol_error_job": PROTOCOL_ERROR}
# What a server answers before it runs a tool: no outcome of the call.
_REFUSALS = (*OBSOLETE_CODES, *(code for code in CODE_NAMES if code != INTERNAL_ERROR))


# ---- outcomes, made comparable -------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a call came to: a result of the tool, or a JSON-RPC error. ``value`` holds what
    may be compared; ``text`` is that of the result's text blocks, or the error's message."""

    exchange: Exchange
    is_error: bool
    value: JsonObject
    text: str

    @property
    def tool_error(self) -> bool:
        return not self.is_error and self.value.get("isError") is True

    @property
    def words(self) -> str:
        if self.is_error:
            return f"error {self.value.get('code')}"
        return "a result with isError true" if self.tool_error else "a result"


def outcome_of_call(exchange: Exchange) -> Outcome | None:
    """The outcome of a call that was answered directly; ``None`` where it is none."""
    if exchange.result is not None and "content" in exchange.result:
        return _of_result(exchange, exchange.result)
    refused = exchange.error_code in _REFUSALS or unanswered(exchange)
    if exchange.error is not None and not refused:
        return _of_error(exchange, exchange.error)
    return None


def outcome_of_task(sighting: Sighting) -> Outcome | None:
    """The outcome that an ended task shows; ``None`` where it shows none."""
    result, error = sighting.task.get("result"), sighting.task.get("error")
    if sighting.status == COMPLETED and isinstance(result, dict) and "content" in result:
        return _of_result(sighting.exchange, result)
    if sighting.status == FAILED and isinstance(error, dict):
        return _of_error(sighting.exchange, error)
    return None


def _of_result(exchange: Exchange, result: JsonObject) -> Outcome:
    # isError left out is false, a null member is one left out, and _meta and resultType belong
    # to the message, not to what the tool had to say.
    value = {
        name: member
        for name, member in result.items()
        if name not in ("_meta", "resultType") and member is not None
    }
    value.setdefault("isError", False)
    blocks = value.get("content")
    texts: list[str] = []
    if isinstance(blocks, list):
        value["content"] = [bare_block(block) for block in blocks]
        texts = [str(b.get("text", "")) for b in blocks if isinstance(b, dict)]
    return Outcome(exchange, False, value, "\n".join(texts))


def _of_error(exchange: Exchange, error: JsonObject) -> Outcome:
    value = {"code": error.get("code"), "message": error.get("message")}
    return Outcome(exchange, True, value, str(error.get("message", "")))


def same_outcome(one: Outcome, other: Outcome) -> bool:
    """Whether two calls came to the same, as far as that may be compared."""
    return one.is_error == other.is_error and one.value == other.value


# ---- calls that were made both ways ----------------------------------------------------------


@dataclass(frozen=True)
class BothWays:
    """A tool, called with the same arguments directly and as tasks, and what came of it.

    ``hindrance`` says why the two cannot be compared, where they cannot. ``plain`` and
    ``task`` then are whatever is at hand.
    """

    plain: Outcome
    task: Outcome
    hindrance: str = ""

    @property
    def exchanges(self) -> tuple[Exchange, Exchange]:
        return (self.plain.exchange, self.task.exchange)

    @property
    def comparable(self) -> bool:
        return not self.hindrance


def both_ways(history: History) -> list[BothWays]:
    """Every call of which outcomes of both ways are known."""
    return history.derive(_both_ways)


def _both_ways(history: History) -> list[BothWays]:
    ended: list[tuple[Life, Outcome]] = []
    for life in lives(history).values():
        end = life.first_terminal
        if end is None or life.cancels or life.updates or may_have_expired(life, end.ended):
            continue
        outcome = outcome_of_task(end)
        if outcome is not None:
            ended.append((life, outcome))
    return compared_ways(history, ended)


def compared_ways(history: History, ended: Iterable[tuple[Life, Outcome]]) -> list[BothWays]:
    """Every call that was made plainly and as a task, given what the tasks came to."""
    plain: dict[str, list[Outcome]] = {}
    for exchange in history.intended("call-plainly", method=TOOLS_CALL):
        outcome = outcome_of_call(exchange)
        if outcome is not None:
            plain.setdefault(_call(exchange), []).append(outcome)
    as_task: dict[str, list[tuple[Life, Outcome]]] = {}
    for life, outcome in ended:
        if life.creation is not None and life.creation.intent == "call-as-task":
            as_task.setdefault(_call(life.creation), []).append((life, outcome))
    return [_compared(plain[call], as_task[call]) for call in sorted(plain.keys() & as_task.keys())]


def _call(exchange: Exchange) -> str:
    return dump_json([exchange.tool, exchange.params.get("arguments")])


def _compared(plain: list[Outcome], as_task: list[tuple[Life, Outcome]]) -> BothWays:
    ended = [outcome for _, outcome in as_task]
    hindrance = ""
    if len(plain) < 2 or len(ended) < 2:
        hindrance = "it was not called twice both ways"
    elif not all(same_outcome(plain[0], other) for other in plain[1:]):
        hindrance = "its plain answers differ from call to call"
    elif not all(same_outcome(ended[0], other) for other in ended[1:]):
        hindrance = "the outcomes of its tasks differ from call to call"
    else:
        begun = min(life.creation.started for life, _ in as_task if life.creation is not None)
        over = max(outcome.exchange.ended for outcome in ended)
        calls = [outcome.exchange for outcome in plain]
        if calls[0].ended > begun or calls[-1].started < over:
            hindrance = "no plain call was made both before and after its tasks"
    return BothWays(plain[0], ended[0], hindrance)


def _roles_given(history: History) -> dict[str, set[str]]:
    """The roles that tools have without being observed: named by the user, or by fixtures of
    the official suite."""
    roles = {tool: set(given) for tool, given in history.circumstances.named.items()}
    called = {exchange.tool for exchange in history.of_method(TOOLS_CALL)}
    if called.issuperset(_OFFICIAL):
        for tool, role in _OFFICIAL.items():
            roles.setdefault(tool, set()).add(role)
    return roles


def _ended_in_peace(history: History) -> Iterator[tuple[Life, Sighting]]:
    """Tasks that ended by themselves, with the first sighting of their end, within their time."""
    for life in lives(history).values():
        end = life.first_terminal
        if end is not None and not may_have_expired(life, end.ended) and not life.cancels:
            yield life, end


def _failures(history: History) -> Iterator[Sighting]:
    """Reads of failed tasks whose failure is not the end of their time."""
    for life in lives(history).values():
        for sighting in life.seen_by_reading():
            if sighting.status == FAILED and not may_have_expired(life, sighting.ended):
                yield sighting


# ---- rules -----------------------------------------------------------------------------------


@rule(
    "outcome.tool-error-completes",
    MUST,
    tasks("task-execution-errors"),
    needs=(TOOL_ERROR,),
    after=("polling.completed", "polling.completed-is-original-result"),
)
def tool_error_completes(history: History) -> Iterator[Observation]:
    """A tool result with isError is `completed` with that result, isError still true.

    `failed` is for JSON-RPC errors alone.
    """
    given = _roles_given(history)
    plain_errors = {pair.plain.exchange.tool for pair in both_ways(history) if pair.plain.is_error}
    for life, end in _ended_in_peace(history):
        pair = _evidence(life, end)
        payload = _tool_result_of(end)
        if end.status == COMPLETED and payload is not None and payload.get("isError") is True:
            yield holds(pair)
        elif end.status == FAILED and payload is not None:
            yield broken(
                pair,
                "end the task as completed, with the tool's result under result: a result with"
                " isError true is still a result, and failed is for JSON-RPC errors alone",
                expected="status 'completed' and result.isError true",
                found="status 'failed' with a tool result in it",
                member="/result/status",
            )
        elif end.status == FAILED and TOOL_ERROR in given.get(str(life.tool), ()):
            if life.tool in plain_errors:
                yield unclear(pair, f"{life.tool} ends in a JSON-RPC error when called directly")
                continue
            if _code_of(end) in _REFUSALS:
                yield unclear(pair, f"the call was refused with {code_words(_code_of(end))}")
                continue
            yield broken(
                pair,
                f"end the task as completed, with the tool's result under result: {life.tool} is"
                " known to end in a result with isError true, and failed is for JSON-RPC errors"
                " alone",
                expected="status 'completed' and result.isError true",
                found="status 'failed'",
                member="/result/status",
            )
    for both in both_ways(history):
        if both.comparable and both.plain.tool_error and _lost_is_error(both):
            yield broken(
                both.exchanges,
                "keep isError true in the result of the task: the plain call has it, and the"
                " task's result is the same but for that",
                expected="isError true",
                found="isError false or left out",
                member="/result/result/isError",
            )


def _evidence(life: Life, end: Sighting) -> tuple[Exchange, ...]:
    creation = life.creation
    return (end.exchange,) if creation is None else (creation, end.exchange)


def _tool_result_of(sighting: Sighting) -> JsonObject | None:
    """The tool's result that an ended task carries; in a failed one, only where it is marked
    as an error, wherever it was put."""
    candidates = [sighting.task.get("result")]
    if sighting.status == FAILED:
        error = sighting.task.get("error")
        candidates += [error, error.get("data") if isinstance(error, dict) else None]
    for candidate in candidates:
        if not isinstance(candidate, dict) or not isinstance(candidate.get("content"), list):
            continue
        if sighting.status != FAILED or candidate.get("isError") is True:
            return candidate
    return None


def _code_of(end: Sighting) -> Any:
    error = end.task.get("error")
    return error.get("code") if isinstance(error, dict) else None


def _lost_is_error(both: BothWays) -> bool:
    if both.task.is_error or both.task.tool_error:
        return False
    return both.task.value == {**both.plain.value, "isError": both.task.value.get("isError")}


@rule(
    "outcome.protocol-error-fails",
    MUST,
    tasks("task-execution-errors"),
    needs=(PROTOCOL_ERROR,),
    after=("polling.completed-is-original-result",),
)
def protocol_error_fails(history: History) -> Iterator[Observation]:
    """A JSON-RPC error during execution is `failed`.

    It holds where the call is known to end in one: by its name, or since it does when it is
    called directly. A failed task alone may be one of a tool's own error.
    """
    given = _roles_given(history)
    plain_results = {
        both.plain.exchange.tool for both in both_ways(history) if not both.plain.is_error
    }
    plain_errors = {both.plain.exchange.tool for both in both_ways(history) if both.plain.is_error}
    for both in both_ways(history):
        if both.comparable and _became_result(both):
            yield broken(
                both.exchanges,
                "end the task as failed, with the JSON-RPC error under error: called directly,"
                f" it ends in error {both.plain.value.get('code')}",
                expected="status 'failed'",
                found="status 'completed' with a result that says isError",
                member="/result/status",
            )
    for life, end in _ended_in_peace(history):
        named = PROTOCOL_ERROR in given.get(str(life.tool), ())
        if end.status == FAILED and isinstance(end.task.get("error"), dict):
            known = life.tool in plain_errors or (named and life.tool not in plain_results)
            yield (
                holds(_evidence(life, end))
                if known
                else unclear(
                    _evidence(life, end),
                    f"whether {life.tool} ends in a JSON-RPC error is not known",
                )
            )
        elif end.status == COMPLETED and named:
            if life.tool in plain_results:
                yield unclear(
                    _evidence(life, end), f"{life.tool} ends in a result when called directly"
                )
                continue
            yield broken(
                _evidence(life, end),
                f"end the task as failed, with the JSON-RPC error under error: {life.tool} is"
                " known to end in a JSON-RPC error",
                expected="status 'failed'",
                found="status 'completed'",
                member="/result/status",
            )


def _became_result(both: BothWays) -> bool:
    """Whether the error of the plain call is, in the task, the text of a tool's result."""
    return (
        both.plain.is_error
        and both.task.tool_error
        and bool(both.plain.text)
        and both.plain.text in both.task.text
    )


@rule(
    "outcome.failed-carries-error",
    MUST,
    tasks("task-execution-errors"),
    needs=(PROTOCOL_ERROR,),
    after=("polling.failed",),
)
def failed_carries_error(history: History) -> Iterator[Observation]:
    """A failed task's error has an integer code and a string message."""
    for sighting in _failures(history):
        error = sighting.task.get("error")
        if error is None:
            yield unclear(sighting.exchange, "the failed task carries no error at all")
            continue
        if not isinstance(error, dict):
            yield broken(
                sighting.exchange,
                "put the JSON-RPC error object under error, not its text alone",
                expected="an object with code and message",
                found=f"{dump_json(error):.60}",
                member="/result/error",
            )
            continue
        wrong = [
            (name, wanted)
            for name, wanted, is_so in (
                ("code", "an integer", _is_integer(error.get("code"))),
                ("message", "a string", isinstance(error.get("message"), str)),
            )
            if not is_so
        ]
        if not wrong:
            yield holds(sighting.exchange)
        for name, wanted in wrong:
            yield broken(
                sighting.exchange,
                f"give the error of a failed task its {name}, {wanted}",
                expected=wanted,
                found=f"{dump_json(error[name]):.60}" if name in error else f"no {name}",
                member=f"/result/error/{name}",
            )


def _is_integer(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


@rule(
    "outcome.failed-status-message",
    SHOULD,
    tasks("task-execution-errors"),
    needs=(PROTOCOL_ERROR,),
    after=("creation.shape", "polling.shape"),
)
def failed_says_what_happened(history: History) -> Iterator[Observation]:
    """A failed task's statusMessage says what happened."""
    for sighting in _failures(history):
        message = sighting.task.get("statusMessage")
        if isinstance(message, str) and message.strip():
            yield holds(sighting.exchange)
        else:
            yield broken(
                sighting.exchange,
                "say in statusMessage what made the task fail",
                expected="a statusMessage",
                found="no statusMessage" if message is None else f"{dump_json(message):.60}",
                member="/result/statusMessage",
            )


@rule(
    "outcome.same-as-synchronous",
    MUST,
    tasks("task-execution-errors"),
    needs=(TASK,),
    after=(
        "creation.shape",
        "polling.completed",
        "polling.failed",
        "polling.completed-is-original-result",
        "polling.pure-read",
        "lifecycle.terminal-is-final",
        "outcome.tool-error-completes",
        "outcome.protocol-error-fails",
        "outcome.failed-carries-error",
        "concurrency.no-cross-talk",
    ),
)
def same_as_synchronous(history: History) -> Iterator[Observation]:
    """The outcome of a task is what the plain call gives.

    It is compared where the tool can be called both ways with the same arguments and answers
    alike each time. `_meta` and `resultType` are left out of it. A server may answer a client
    that could not take a task with something else on purpose: outcomes are accused of a
    difference where they have so much in common that they are of the same work.
    """
    for exchange in history.intended("call-plainly"):
        if outcome_of_call(exchange) is None:
            reason = unanswered(exchange) or "it is not answered directly with an outcome"
            yield unclear(exchange, f"{exchange.tool} cannot be called both ways: {reason}")
    for both in both_ways(history):
        yield _comparison(both)


def _comparison(both: BothWays) -> Observation:
    plain, task = both.plain, both.task
    tool = plain.exchange.tool
    if not both.comparable:
        return unclear(both.exchanges, f"{tool} cannot be compared: {both.hindrance}")
    if same_outcome(plain, task):
        return holds(both.exchanges)
    if plain.is_error and not task.is_error and not task.tool_error:
        # A server may give up on a call that takes long and yet finish it as a task.
        return unclear(both.exchanges, f"{tool} works only as a task: called directly, it fails")
    if plain.tool_error and not task.is_error and not task.tool_error:
        return unclear(
            both.exchanges,
            f"{tool} works only as a task: called directly, its result has isError true",
        )
    if not _of_same_work(plain, task):
        return unclear(
            both.exchanges,
            f"{tool} may answer clients that cannot take a task with something else: its two"
            " outcomes have nothing in common",
        )
    member, what = _difference(plain, task)
    if plain.tool_error and task.is_error:
        what += " (failed is for JSON-RPC errors alone, and a result with isError true completes)"
    return broken(
        both.exchanges,
        f"let the task of {tool} and its plain call end alike: {what}. tasks/get returns what"
        " the call itself would have returned",
        expected=plain.words,
        found=task.words,
        member=member,
    )


# A text shorter than this may stand in another one by chance.
_TELLING_LENGTH = 6


def _of_same_work(plain: Outcome, task: Outcome) -> bool:
    """Whether two outcomes that differ share a text, a block, data or a telling code, or there is
    nothing left of the one in the task."""
    if any(_share(one, other) for one in _texts(plain) for other in _texts(task)):
        return True
    if plain.is_error or task.is_error:
        code = plain.value.get("code")
        return code == task.value.get("code") and code not in (None, INTERNAL_ERROR)
    told, shown = _blocks(plain), _blocks(task)
    data = plain.value.get("structuredContent")
    if data and data == task.value.get("structuredContent"):
        return True
    return any(block in shown for block in told) or not (
        shown or task.value.get("structuredContent")
    )


def _blocks(outcome: Outcome) -> list[Any]:
    blocks = outcome.value.get("content")
    return blocks if isinstance(blocks, list) else []


def _texts(outcome: Outcome) -> list[str]:
    """The message of an error, or the text of each block, where there is any."""
    texts = [outcome.text]
    if not outcome.is_error:
        texts += [str(b.get("text", "")) for b in _blocks(outcome) if isinstance(b, dict)]
    return [text for text in texts if text]


def _share(one: str, other: str) -> bool:
    """Whether one text is the other, its beginning or a part of it; also as a string of JSON."""
    short, long = sorted((one, other), key=len)
    if long.startswith(short) or dump_json(short) in long:
        return True
    return len(short) >= _TELLING_LENGTH and short in long


def _difference(plain: Outcome, task: Outcome) -> tuple[str, str]:
    """Where the outcomes differ, as a JSON pointer, and how."""
    if plain.is_error != task.is_error or plain.tool_error != task.tool_error:
        return "/result/status", (
            f"called directly it ends in {plain.words}, as a task in {task.words}"
        )
    payload = "error" if task.is_error else "result"
    for name in (*plain.value, *task.value):
        if plain.value.get(name) != task.value.get(name):
            return f"/result/{payload}/{name}", f"the two differ in {name} of the {payload}"
    return f"/result/{payload}", f"the two differ in the {payload}"
