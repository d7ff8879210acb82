"""jsonrpc: the form of messages, and what becomes of ill-formed ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from conformance.judge.answers import (
    is_about_http,
    is_web_page,
    json_rpc_responses,
    may_be_unread,
)
from conformance.judge.eras import older_revision_served
from conformance.judge.expectations import expect_error, probes, unanswered
from conformance.judge.lost import GONE, may_be_gone
from conformance.judge.observation import (
    BROKEN,
    Observation,
    broken,
    holds,
    not_offered,
    unclear,
)
from conformance.judge.requests import is_careful, of_this_revision
from conformance.judge.rule import IMPLIED, MUST, rule
from conformance.specification.citations import core, sep, tasks
from conformance.specification.names import (
    CODE_NAMES,
    HEADER_MISMATCH,
    HEADER_NAME,
    HEADER_SESSION,
    HEADER_VERSION,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META_CLIENT_CAPABILITIES,
    META_PROTOCOL_VERSION,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    TASK_METHODS,
    TASKS_GET,
    TOOLS_CALL,
    VERSIONS_OF_SESSIONS,
    code_words,
)
from conformance.specification.revisions import revision_named
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History

# A server had so many seconds for an answer, at least, if none came.
_CERTAIN_SECONDS = 3.0
# The ill-formed bodies longer than this may be refused unread.
_FAIR_LENGTH = 16 * 1024
# A gateway found nobody to answer: before a server on this machine none stands. A 503 is not among
# them, since a server that has too much to do says so itself, of any request.
_WITHOUT_SERVER = (502, 504)


def _answered_under_this_revision(history: History) -> list[Exchange]:
    """Exchanges whose answer belongs to this revision: not those that a server which also
    speaks an older one may have answered by the rules of that."""
    return history.derive(_all_answered)


def _all_answered(history: History) -> list[Exchange]:
    found: list[Exchange] = []
    wanted = revision_named(history.circumstances.spec).protocol_version
    older = older_revision_served(history) is not None
    for exchange in history.exchanges:
        if exchange.sent.http_method != "POST" or exchange.seen is None:
            continue
        meta = exchange.params.get("_meta")
        version = meta.get(META_PROTOCOL_VERSION) if isinstance(meta, dict) else None
        if exchange.request_header(HEADER_VERSION) != wanted:
            continue
        if exchange.protocol_version == wanted or (version is None and not older):
            found.append(exchange)
    return found


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> TypeGuard[int | float]:
    """As JSON has it: 1.0 is an integer, true is none."""
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


def _same_id(sent: object, answered: object) -> bool:
    if isinstance(sent, str) or isinstance(answered, str):
        return sent == answered and isinstance(sent, str) and isinstance(answered, str)
    return _is_number(sent) and _is_number(answered) and sent == answered


def _has_valid_id(exchange: Exchange) -> bool:
    identifier = exchange.request_id
    return isinstance(identifier, str | int) and not isinstance(identifier, bool)


def _id_was_readable(exchange: Exchange, history: History) -> bool:
    """Whether nothing about the request excuses an error without its id: a whole request of
    this revision, whose headers agree with it."""
    if not exchange.is_request or not _has_valid_id(exchange):
        return False
    in_session = exchange.protocol_version in VERSIONS_OF_SESSIONS
    if not in_session and any(
        exchange.request_header(name) is not None for name in ("Origin", HEADER_SESSION)
    ):
        return False  # refused, if at all, for what HTTP says
    if exchange.request.get("jsonrpc") != "2.0" or not exchange.request.get("method"):
        return False
    if in_session:
        return exchange.status is not None and exchange.status < 300
    meta = exchange.params.get("_meta")
    if not isinstance(meta, dict) or META_CLIENT_CAPABILITIES not in meta:
        return False
    nameless = exchange.method in TASK_METHODS and exchange.request_header(HEADER_NAME) is None
    return is_careful(exchange, history) or (
        # Without Mcp-Name on purpose: there was no id that it could have carried.
        nameless and exchange.task_id is None and of_this_revision(exchange, history)
    )


@rule("jsonrpc.envelope", MUST, core("basic/index", "responses"))
def responses_are_json_rpc(history: History) -> Iterator[Observation]:
    """A response has `jsonrpc` "2.0", the id of its request, and either a result or an error.

    The id has the type that it has in the request. An error whose request could not be read
    may have no id, or the null of JSON-RPC.
    """
    for exchange in _answered_under_this_revision(history):
        faults = [
            fault
            for message in json_rpc_responses(exchange)
            for fault in _envelope_faults(message, exchange, history)
        ]
        faults += [
            _member(exchange, "jsonrpc", message, 'set "jsonrpc": "2.0" on notifications too', "")
            for _, message in exchange.notifications
            if message.get("jsonrpc") != "2.0"
        ]
        yield from faults
        if not faults and json_rpc_responses(exchange):
            yield holds(exchange)


def _envelope_faults(
    message: JsonObject, exchange: Exchange, history: History
) -> Iterator[Observation]:
    if message.get("jsonrpc") != "2.0":
        yield _member(exchange, "jsonrpc", message, 'set "jsonrpc": "2.0" on every response')
    if "result" in message and "error" in message:
        yield broken(
            exchange,
            "leave error out of a response that has a result, and result out of one that has an"
            " error; null is not the same as absent",
            expected="either result or error",
            found="both",
            member="/error",
        )
    elif "result" in message and not isinstance(message["result"], dict):
        yield _member(exchange, "result", message, "make every result an object")
    if _id_is_wrong(message, exchange, history):
        yield broken(
            exchange,
            "repeat the id of the request in its response, with its type",
            expected=f"id {_shown(exchange.request_id)}",
            found=f"id {_shown(message['id'])}" if "id" in message else "no id",
            member="/id",
        )


def _id_is_wrong(message: JsonObject, exchange: Exchange, history: History) -> bool:
    if not _has_valid_id(exchange) or _same_id(exchange.request_id, message.get("id")):
        return False
    if message.get("id") is None and "error" in message:
        if exchange.error_code == HEADER_MISMATCH and not is_careful(exchange, history):
            return False  # the headers were enough to refuse it, and have no id
        return _id_was_readable(exchange, history) and not may_be_unread(exchange)
    return exchange.is_request


def _member(
    exchange: Exchange, name: str, message: JsonObject, note: str, pointer: str | None = None
) -> Observation:
    return broken(
        exchange,
        note,
        expected={"jsonrpc": '"2.0"', "result": "an object"}[name],
        found=_shown(message[name]) if name in message else "nothing",
        member=f"/{name}" if pointer is None else pointer,
    )


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float | None) else type(value).__name__


@rule("jsonrpc.error-shape", MUST, core("basic/index", "error-responses"))
def errors_have_code_and_message(history: History) -> Iterator[Observation]:
    """An error is an object with an integer code and a message that is a text."""
    for exchange in _answered_under_this_revision(history):
        for message in json_rpc_responses(exchange):
            # A result beside it, and null, are what another rule is about.
            if "error" in message and "result" not in message:
                yield _shape_of_error(message["error"], exchange)


def _shape_of_error(error: object, exchange: Exchange) -> Observation:
    if not isinstance(error, dict):
        return broken(
            exchange,
            "make error an object with code and message",
            expected="an object",
            found=_shown(error),
            member="/error",
        )
    if not _is_integer(error.get("code")):
        return broken(
            exchange,
            "give every error an integer code",
            expected="an integer",
            found=_shown(error["code"]) if "code" in error else "nothing",
            member="/error/code",
        )
    if not isinstance(error.get("message"), str):
        return broken(
            exchange,
            "give every error a message, a text",
            expected="a text",
            found=_shown(error["message"]) if "message" in error else "nothing",
            member="/error/message",
        )
    return holds(exchange)


@rule("jsonrpc.result-type-present", MUST, core("basic/index", "result-responses"))
def results_have_their_type(history: History) -> Iterator[Observation]:
    """Every result has `resultType`, a text.

    Results of the task methods, and handles, have rules of their own on its value.
    """
    for exchange in _answered_under_this_revision(history):
        result = exchange.result
        if result is None or exchange.method in TASK_METHODS:
            continue
        if exchange.method == TOOLS_CALL and "taskId" in result and "status" in result:
            continue
        if isinstance(result.get("resultType"), str):
            yield holds(exchange)
        else:
            yield broken(
                exchange,
                f'set resultType on the result of {exchange.method}; "complete" where it is final',
                expected="a text",
                found=_shown(result["resultType"]) if "resultType" in result else "nothing",
                member="/result/resultType",
            )


_FORBIDDEN: dict[int | float, str] = {
    -32002: "the not-found code of 2025-11-25 and earlier, replaced by -32602",
    -32042: "the URL elicitation code of 2025-11-25",
}


@rule(
    "jsonrpc.reserved-codes",
    MUST,
    core("basic/index", "error-codes"),
    after=("polling.unknown-id", "input.unknown-task", "cancellation.unknown-task"),
)
def reserved_codes_are_left_alone(history: History) -> Iterator[Observation]:
    """No undefined code of -32020 to -32099 is sent, and neither -32002 nor -32042.

    The range is reserved for the specification; the two codes are those of earlier revisions.
    """
    for exchange in _answered_under_this_revision(history):
        codes: list[tuple[Any, str]] = [(exchange.error_code, "/error/code")]
        task = exchange.task or {}
        if isinstance(task.get("error"), dict):
            codes.append((task["error"].get("code"), "/result/error/code"))
        for code, member in codes:
            if not _is_integer(code):
                continue
            reserved = -32099 <= code <= -32020 and code not in CODE_NAMES
            if not reserved and code not in _FORBIDDEN:
                yield holds(exchange)
                continue
            why = _FORBIDDEN.get(code, "of the range that is reserved for the specification")
            yield broken(
                exchange,
                f"do not send error {code}: it is {why}; codes of your own lie outside -32768"
                " to -32000",
                expected="a code that the specification defines, or one of your own",
                found=str(code),
                member=member,
            )


# ---- ill-formed requests -------------------------------------------------------------------


@rule(
    "jsonrpc.invalid-params",
    MUST,
    tasks("protocol-errors"),
    after=("negotiation.methods-served",),
)
def task_id_is_checked(history: History) -> Iterator[Observation]:
    """A `taskId` that is missing or is not a text is -32602.

    A server may look at the headers first, and find that Mcp-Name is missing as well. For
    `tasks/update` and `tasks/cancel` the error is only recommended.
    """
    for exchange in history.intended("task-id-missing", "task-id-ill-typed"):
        if not of_this_revision(exchange, history):
            continue
        hindrance = unanswered(exchange)
        if exchange.error_code == METHOD_NOT_FOUND:
            yield not_offered(f"{exchange.method} is not served", exchange)
        elif exchange.error_code == HEADER_MISMATCH:
            yield unclear(exchange, "the request was refused for its headers first")
        elif hindrance or is_about_http(exchange):
            yield unclear(exchange, hindrance or exchange.outcome)
        elif exchange.error is not None and exchange.error_code != INVALID_PARAMS:
            if exchange.method == TASKS_GET:
                yield expect_error(exchange, INVALID_PARAMS, _wanted(exchange))
            else:
                yield unclear(exchange, f"refused, though with {code_words(exchange.error_code)}")
        elif exchange.result is not None and exchange.method != TASKS_GET:
            yield unclear(exchange, "acknowledged, which the text only advises against")
        else:
            yield expect_error(exchange, INVALID_PARAMS, _wanted(exchange))


def _wanted(exchange: Exchange) -> str:
    what = "without a taskId" if "taskId" not in exchange.params else "whose taskId is not a text"
    return f"answer {exchange.method} {what} with error {code_words(INVALID_PARAMS)}"


@rule(
    "jsonrpc.survives-bad-input",
    IMPLIED,
    core("basic/index", "error-responses"),
    after=("transport.answered", "negotiation.methods-served"),
)
def bad_input_is_answered(history: History) -> Iterator[Observation]:
    """Odd ids and ill-formed bodies get a JSON-RPC error.

    They never get a 5xx or a dropped connection, and an odd id no web page. A body that is no
    request may also be refused by HTTP alone, and its error may come with any status. A server
    that takes what is almost a request for one harms nobody.
    """
    for exchange in history.intended("odd-task-id", "ill-formed"):
        control = history.control_of(exchange)
        shown = (exchange,) if control is None else (control, exchange)
        if control is not None and (
            control.fault is not None
            or is_about_http(control)
            or not json_rpc_responses(control)
            or (control.status or 0) >= 500
        ):
            yield unclear(shown, f"an ordinary request fared no better ({control.outcome})")
            continue
        observation = _survival(exchange, shown, history)
        if observation.kind == BROKEN and _is_as_any_unknown_id(exchange, history):
            # What is wrong with that, the rules on unknown ids tell.
            yield unclear(shown, "any id that does not exist is answered in the same way")
        else:
            yield observation


def _is_as_any_unknown_id(exchange: Exchange, history: History) -> bool:
    """Whether what came has nothing to do with what was odd: a request about a task that does not
    exist was answered so too."""
    plain = history.intended("unknown-id", method=exchange.method)
    return exchange.fault is None and any(
        _kind_of_answer(each) == _kind_of_answer(exchange) for each in plain
    )


def _kind_of_answer(exchange: Exchange) -> tuple[object, ...]:
    return exchange.status, exchange.error_code, exchange.result is not None


def _survival(exchange: Exchange, shown: tuple[Exchange, ...], history: History) -> Observation:
    what = _described(exchange)
    if exchange.fault is not None:
        return _lost(exchange, shown, what)
    status = exchange.status or 0
    if is_about_http(exchange) and not (
        status in _WITHOUT_SERVER and history.circumstances.loopback
    ):
        return unclear(shown, f"HTTP {status} is about the HTTP request")
    ill_formed = exchange.intent == "ill-formed"
    if ill_formed and exchange.error_code in (PARSE_ERROR, INVALID_REQUEST):
        return holds(shown)  # it was told what is wrong: no sentence says with which status
    if status >= 500:
        return broken(
            shown,
            f"answer {what} with a JSON-RPC error and HTTP 400, not as a fault of the server",
            expected="a JSON-RPC error, HTTP 400",
            found=exchange.outcome,
        )
    if any("error" in message for message in json_rpc_responses(exchange)):
        return holds(shown)
    if exchange.beyond_limits:
        return unclear(shown, unanswered(exchange))
    if status >= 400 and ill_formed:
        return holds(shown)  # refused by HTTP alone, in whatever words
    if is_web_page(exchange) and status >= 400 and not history.circumstances.loopback:
        return unclear(shown, f"a gateway may have sent the page (HTTP {status})")
    if is_web_page(exchange):
        return broken(
            shown,
            f"answer {what} with a JSON-RPC error, not with a web page",
            expected="a JSON-RPC error",
            found=exchange.outcome,
        )
    if status >= 400:
        return unclear(shown, f"{what} was refused without JSON-RPC (HTTP {status})")
    if _almost_a_request(exchange):
        return holds(shown)
    if isinstance(exchange.request_body.value, list):
        return unclear(shown, f"{what} was served, which the text forbids clients to send")
    if exchange.intent == "odd-task-id" and exchange.method != TASKS_GET:
        return unclear(shown, f"{what} was acknowledged: the text only advises to refuse it")
    return broken(
        shown,
        f"refuse {what} with a JSON-RPC error",
        expected="a JSON-RPC error",
        found=exchange.outcome,
    )


def _lost(exchange: Exchange, shown: tuple[Exchange, ...], what: str) -> Observation:
    fault = exchange.fault
    assert fault is not None
    told = fault.kind in ("reset", "protocol", "timeout") and "again" in exchange.notes
    if fault.kind == "timeout" and exchange.certainly_took < _CERTAIN_SECONDS:
        return unclear(shown, f"{unanswered(exchange)}, and the suite itself was held up meanwhile")
    if not told or len(exchange.sent.body) > _FAIR_LENGTH:
        # Once may be an accident.
        return unclear(shown, unanswered(exchange))
    ending = "it got no answer" if fault.kind == "timeout" else "its connection was dropped"
    return broken(
        shown,
        f"answer {what} with a JSON-RPC error: {ending}, twice",
        expected="a JSON-RPC error",
        found=exchange.outcome,
    )


def _almost_a_request(exchange: Exchange) -> bool:
    """An object that names a method, and whose one flaw a lenient server may overlook."""
    return exchange.intent == "ill-formed" and bool(exchange.method)


def _described(exchange: Exchange) -> str:
    """What was sent, for a sentence."""
    if exchange.intent == "odd-task-id":
        task_id = exchange.task_id or ""
        long = len(task_id) > 40
        return f"a taskId of {len(task_id)} characters" if long else f"taskId {task_id!r}"
    parsed = exchange.request_body
    if parsed.problem == "empty":
        return "an empty body"
    if parsed.problem:
        return "a body that is not JSON"
    if isinstance(parsed.value, list):
        return "a batch" if parsed.value else "an empty batch"
    if not isinstance(parsed.value, dict):
        return "a body that is not an object"
    if exchange.request.get("jsonrpc") != "2.0":
        return 'a message without "jsonrpc": "2.0"'
    if not exchange.method:
        return "a message without a method"
    if not isinstance(exchange.request.get("params", {}), dict):
        return "params that are not an object"
    return "an id that is neither a text nor an integer"


@rule(
    "jsonrpc.unknown-members-ignored",
    IMPLIED,
    sep("backward-compatibility"),
    after=("polling.pure-read",),
)
def unknown_members_are_ignored(history: History) -> Iterator[Observation]:
    """Members of params and of `_meta` that the server does not know cause no error.

    Of one member that is gone the text says that it is to be ignored, as unknown ones are.
    """
    for probe in probes(history, "unknown-members"):
        if isinstance(probe, Observation):
            yield probe
            continue
        control = history.control_of(probe)
        pair = (probe,) if control is None else (control, probe)
        if probe.result is not None:
            yield holds(pair)
        elif may_be_gone(history, probe):
            yield unclear(pair, GONE)
        elif probe.error is not None and not unanswered(probe):
            yield broken(
                pair,
                f"ignore members of params and _meta that you do not know: {probe.method} was"
                " refused with one more than it was served with",
                expected="a result",
                found=probe.outcome,
                member="/error/code",
            )
        else:
            yield unclear(pair, unanswered(probe) or probe.outcome)


@rule(
    "jsonrpc.notification-unanswered",
    MUST,
    core("basic/transports/streamable-http", "sending-messages"),
)
def notifications_get_no_answer(history: History) -> Iterator[Observation]:
    """A message without an id gets HTTP 202 without a body, or an HTTP error."""
    for exchange in history.exchanges:
        if exchange.sent.http_method != "POST" or exchange.method is None:
            continue
        if "id" in exchange.request or exchange.intent == "ill-formed":
            continue
        status = exchange.status
        if status is None or 300 <= status < 400 or is_about_http(exchange):
            yield unclear(exchange, unanswered(exchange) or exchange.outcome)
        elif status >= 400:
            yield holds(exchange)
        elif status != 202:
            answered = bool(json_rpc_responses(exchange))
            yield broken(
                exchange,
                "accept a message without an id with HTTP 202 and no body, or refuse it with an"
                " HTTP error"
                + (": it is a notification, and nobody waits for an answer" if answered else ""),
                expected="HTTP 202 without a body",
                found=exchange.outcome,
            )
        elif exchange.seen is not None and exchange.seen.body.strip():
            yield broken(
                exchange,
                "send no body with the HTTP 202 that accepts a message without an id",
                expected="HTTP 202 without a body",
                found=f"HTTP 202 with {len(exchange.seen.body)} bytes",
            )
        else:
            yield holds(exchange)
