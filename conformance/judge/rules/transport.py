"""transport: Streamable HTTP, its headers and its statuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.judge.answers import is_about_http, json_rpc_responses
from conformance.judge.effects import effect_of_cancel, effect_of_update
from conformance.judge.eras import older_revision_served, only_this_revision
from conformance.judge.expectations import is_wordless, probes, unanswered
from conformance.judge.large import all_broken_off
from conformance.judge.lives import Life, lives
from conformance.judge.lost import GONE, may_be_gone
from conformance.judge.observation import HOLDS, Observation, broken, holds, not_offered, unclear
from conformance.judge.requests import is_careful, of_this_revision
from conformance.judge.rule import ADVICE, IMPLIED, MUST, SHOULD, catalogue, rule
from conformance.specification.citations import core, tasks
from conformance.specification.names import (
    HEADER_MISMATCH,
    HEADER_NAME,
    HEADER_SESSION,
    INVALID_PARAMS,
    LISTEN,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    OBSOLETE_CODES,
    TASK_METHODS,
    TASKS_CANCEL,
    TASKS_GET,
    TOOLS_CALL,
    UNSUPPORTED_VERSION,
    code_words,
)
from conformance.specification.revisions import revision_named
from conformance.specification.states import CANCELLED
from conformance.target.roles import TASK
from conformance.wire.exchange import Exchange
from conformance.wire.headers import decoded, header_value
from conformance.wire.history import History

_HTTP = "basic/transports/streamable-http"
_NAMED_WRONG = ("mcp-name-differs",)
_ENCODED_WRONG = ("mcp-name-encoded-differs", "mcp-name-encoded-empty", "mcp-name-encoded-broken")
_METHOD_WRONG = ("mcp-method-differs", "mcp-method-other-case", "mcp-method-missing")
_VERSION_WRONG = ("version-header-unknown", "version-header-older", "version-body-differs")
_DIFFERENCE = {
    "mcp-name-differs": "Mcp-Name differs from params.taskId",
    "mcp-name-missing": "Mcp-Name is missing",
    "mcp-name-encoded-differs": "the Base64 form in Mcp-Name decodes to another id",
    "mcp-name-encoded-empty": "the Base64 form in Mcp-Name decodes to nothing",
    "mcp-name-encoded-broken": "Mcp-Name has the form of Base64, and is none",
    "mcp-method-differs": "Mcp-Method differs from the body's method",
    "mcp-method-other-case": "Mcp-Method differs in case from the body's method",
    "mcp-method-missing": "Mcp-Method is missing",
    "version-header-unknown": "MCP-Protocol-Version differs from the version in _meta",
    "version-header-older": "MCP-Protocol-Version differs from the version in _meta",
    "version-body-differs": "the version in _meta differs from MCP-Protocol-Version",
}


# ---- headers -------------------------------------------------------------------------------


def _with_control(history: History, probe: Exchange) -> tuple[Exchange, ...]:
    control = history.control_of(probe)
    return (probe,) if control is None else (control, probe)


def _refusals(history: History, *intents: str) -> Iterator[Observation]:
    """What must be refused for its headers was refused. How is another rule's to tell."""
    for probe in probes(history, *intents):
        if isinstance(probe, Observation):
            yield probe
            continue
        if probe.intent in _NAMED_WRONG and _names_its_task(probe):
            continue  # where two tasks have one id, the name of the other is no other
        pair = _with_control(history, probe)
        if probe.result is not None:
            difference = _DIFFERENCE[probe.intent]
            yield broken(
                pair,
                f"refuse a request where {difference}: {probe.method} was served",
                expected="HTTP 400, error -32020 (Header mismatch)",
                found=probe.outcome,
            )
        elif probe.fault is not None or is_about_http(probe):
            yield unclear(pair, unanswered(probe) or probe.outcome)
        elif may_be_gone(history, probe):
            yield unclear(pair, GONE)
        elif not probe.rate_limited and (probe.error is not None or _is_refusal(probe.status)):
            yield holds(pair)
        else:
            yield unclear(pair, unanswered(probe) or probe.outcome)


def _is_refusal(status: int | None) -> bool:
    """Whether a status alone refuses a request. A server that stumbled has not looked at it."""
    return status is not None and 400 <= status < 500


def _names_its_task(exchange: Exchange) -> bool:
    name = exchange.request_header(HEADER_NAME)
    return name is not None and decoded(name) == exchange.task_id


@rule(
    "transport.mcp-name-accepted",
    IMPLIED,
    tasks("streamable-http-routing-headers"),
    needs=(TASK,),
)
def matching_name_is_served(history: History) -> Iterator[Observation]:
    """A matching `Mcp-Name` on the three methods is served.

    Clients must send it, with the id of the task: that servers take it then is implied.
    """
    known = lives(history)
    for exchange in history.of_method(*TASK_METHODS):
        name, task_id = exchange.request_header(HEADER_NAME), exchange.task_id
        # Where the Base64 form was chosen freely, another rule looks at it.
        if task_id is None or name != header_value(task_id) or not is_careful(exchange, history):
            continue
        if exchange.intent == "header-names":
            continue
        if exchange.error_code == HEADER_MISMATCH and name == task_id:
            yield broken(
                exchange,
                f"accept Mcp-Name on {exchange.method} where it carries params.taskId: headers"
                " and body agree, and the request was refused for its headers",
                expected="an answer to the request",
                found="error -32020 (Header mismatch)",
                member="/error/code",
            )
        elif task_id in known and exchange.result is not None:
            yield holds(exchange)
    for probe in history.intended("mcp-name-missing", method=TASKS_GET):
        yield from _served_only_without_name(history, probe)


def _served_only_without_name(history: History, probe: Exchange) -> Iterator[Observation]:
    """A task that is found without the header, and is not found with it, before and after."""
    if probe.result is None:
        return
    named = [
        exchange
        for exchange in history.of_method(TASKS_GET)
        if exchange.task_id == probe.task_id
        and exchange.caller == probe.caller
        and exchange.declares_tasks
        and is_careful(exchange, history)
    ]
    before = [e for e in named if e.ended <= probe.started]
    after = [e for e in named if e.started >= probe.ended]
    refused = [e for e in (*before[-1:], *after[:1]) if e.error is not None and not unanswered(e)]
    if len(refused) == 2 and refused[0].error_code == refused[1].error_code:
        yield broken(
            (refused[0], probe, refused[1]),
            "accept Mcp-Name on tasks/get: with the header the task was refused, before and"
            " after, and without it it was served",
            expected="the task",
            found=refused[1].outcome,
            member="/error/code",
        )


@rule(
    "transport.mcp-name-mismatch",
    MUST,
    core(_HTTP, "server-validation"),
    needs=(TASK,),
    after=("transport.mcp-name-accepted",),
)
def differing_name_is_refused(history: History) -> Iterator[Observation]:
    """An `Mcp-Name` that differs from `params.taskId` is refused, without effect on the task.

    On each of the three methods.
    """
    yield from _refusals(history, *_NAMED_WRONG)
    for probe in history.intended(*_NAMED_WRONG):
        if probe.error is not None:
            yield from _effect_of_refused(history, probe)


def _effect_of_refused(history: History, probe: Exchange) -> Iterator[Observation]:
    life = lives(history).get(probe.task_id or "")
    if life is None:
        return
    cancelling = probe.method == TASKS_CANCEL
    effect = effect_of_cancel(life, probe) if cancelling else effect_of_update(life, probe)
    if effect is None or (cancelling and not _ends_uncancelled(history, life)):
        return
    evidence = (probe, effect.seen.exchange)
    if not effect.moved:
        yield holds(evidence)
        return
    what = "the task was cancelled" if cancelling else "its answers reached the task"
    yield broken(
        evidence,
        f"compare Mcp-Name before acting: the {probe.method} was refused, and {what} all the same",
        expected="the task goes on" if cancelling else "the requests are still open",
        found=f"status {effect.seen.status!r}",
        member="/result/status",
    )


def _ends_uncancelled(history: History, life: Life) -> bool:
    """Whether tasks of this tool that nobody cancels were seen to end otherwise."""
    return any(
        other.tool == life.tool
        and not other.cancels
        and other.first_terminal is not None
        and other.first_terminal.status != CANCELLED
        for other in lives(history).values()
    )


@rule(
    "transport.mcp-name-encoded",
    MUST,
    core(_HTTP, "value-encoding"),
    needs=(TASK,),
    after=(
        "transport.mcp-name-accepted",
        "transport.mcp-name-mismatch",
        "polling.pure-read",
    ),
)
def encoded_name_is_decoded(history: History) -> Iterator[Observation]:
    """The Base64 form of an id in `Mcp-Name` is decoded, and then compared.

    The form is `=?base64?…?=`. What it decodes to is served where it is the task's id, and
    refused where it is another, where it is nothing, and where it is no Base64.
    """
    for probe in probes(history, "mcp-name-encoded"):
        if isinstance(probe, Observation):
            yield probe
        elif probe.result is not None:
            yield holds(_with_control(history, probe))
        elif may_be_gone(history, probe):
            yield unclear(_with_control(history, probe), GONE)
        elif probe.error is not None and not unanswered(probe):
            yield _undecoded(_with_control(history, probe))
        else:
            yield unclear(_with_control(history, probe), unanswered(probe) or probe.outcome)
    for exchange in history.of_method(*TASK_METHODS):
        task_id, name = exchange.task_id, exchange.request_header(HEADER_NAME)
        if task_id is None or name is None or name == task_id:
            continue
        if exchange.error_code != HEADER_MISMATCH or exchange.intent == "mcp-name-encoded":
            continue
        # An id that only Base64 can carry; control characters would be no fair example.
        if task_id.isprintable() and task_id == task_id.strip() and is_careful(exchange, history):
            yield _undecoded((exchange,))
    yield from _refusals(history, *_ENCODED_WRONG)


def _undecoded(exchanges: tuple[Exchange, ...]) -> Observation:
    return broken(
        exchanges,
        "decode an Mcp-Name of the form =?base64?…?= before comparing it with params.taskId:"
        " the Base64 form of the same id was refused",
        expected="an answer as to the plain form",
        found=exchanges[-1].outcome,
        member="/error/code",
    )


@rule(
    "transport.mcp-name-missing",
    ADVICE,
    core(_HTTP, "server-validation"),
    needs=(TASK,),
    after=("transport.mcp-name-accepted", "transport.mcp-name-mismatch"),
)
def missing_name_is_refused(history: History) -> Iterator[Observation]:
    """A task request without `Mcp-Name` is refused.

    Contested: the extension says that clients must send the header; the core's list of requests
    that servers must refuse without it does not name the task methods.
    """
    yield from _refusals(history, "mcp-name-missing")


@rule("transport.mcp-method-mismatch", MUST, core(_HTTP, "server-validation"))
def differing_method_is_refused(history: History) -> Iterator[Observation]:
    """An `Mcp-Method` that is missing or differs from the method is refused.

    Values of headers are case-sensitive.
    """
    yield from _refusals(history, *_METHOD_WRONG)


@rule("transport.version-mismatch", MUST, core(_HTTP, "protocol-version-header"))
def differing_version_is_refused(history: History) -> Iterator[Observation]:
    """An `MCP-Protocol-Version` that differs from the version in `_meta` is refused.

    This also holds where the header names an older revision that the server speaks too: a
    request with the `_meta` of this revision belongs to this one.
    """
    for observation in _refusals(history, *_VERSION_WRONG):
        probe = observation.exchanges[-1]
        if observation.kind == HOLDS and _taken_as_older(history, probe):
            minted = probe.response_header(HEADER_SESSION) is not None
            yield broken(
                observation.exchanges,
                "compare MCP-Protocol-Version with the version in _meta before choosing a"
                " revision: the header alone decided, and the request was answered by the rules"
                " of an older revision" + (", which opened a session" if minted else ""),
                expected="HTTP 400, error -32020 (Header mismatch)",
                found=probe.outcome,
                member="/error/code",
            )
        else:
            yield observation


def _taken_as_older(history: History, probe: Exchange) -> bool:
    """Whether the header of an older revision had the request answered by its rules: the error
    is none of this revision's, though the server knows them."""
    if probe.intent != "version-header-older" or is_about_http(probe):
        return False
    if probe.error_code in (HEADER_MISMATCH, UNSUPPORTED_VERSION):
        return False
    return probe.response_header(HEADER_SESSION) is not None or any(
        other.error_code in (HEADER_MISMATCH, UNSUPPORTED_VERSION)
        for other in history.intended("version-header-unknown", *_METHOD_WRONG)
    )


@rule(
    "transport.unsupported-version",
    MUST,
    core("basic/versioning", "protocol-version-negotiation"),
    after=("jsonrpc.error-shape",),
)
def unknown_version_is_told(history: History) -> Iterator[Observation]:
    """An unknown version is HTTP 400 and -32022, with `supported` and `requested`."""
    ours = revision_named(history.circumstances.spec).protocol_version
    for probe in probes(history, "version-unknown"):
        if isinstance(probe, Observation):
            yield probe
            continue
        pair = _with_control(history, probe)
        refusal = _refused_with(probe, pair, UNSUPPORTED_VERSION, "for a version it does not know")
        yield refusal
        error = probe.error or {}
        if probe.error_code != UNSUPPORTED_VERSION:
            continue
        data = error.get("data")
        data = data if isinstance(data, dict) else {}
        supported, requested = data.get("supported"), data.get("requested")
        sent = probe.request_header("MCP-Protocol-Version")
        if not isinstance(supported, list) or not all(isinstance(v, str) for v in supported):
            yield broken(
                pair,
                "list the versions you support in data.supported of -32022, as texts",
                expected=f'["{ours}", …]',
                found="no such list",
                member="/error/data/supported",
            )
        elif ours not in supported:
            yield broken(
                pair,
                f"name {ours} in data.supported of -32022: this server serves it",
                expected=ours,
                found=", ".join(supported)[:120] or "an empty list",
                member="/error/data/supported",
            )
        if requested != sent:
            yield broken(
                pair,
                "repeat the version that was asked for in data.requested of -32022",
                expected=f'"{sent}"',
                found="nothing" if "requested" not in data else repr(requested)[:80],
                member="/error/data/requested",
            )


@rule(
    "transport.header-mismatch-code",
    MUST,
    core(_HTTP, "server-validation"),
    after=("jsonrpc.error-shape", "transport.mcp-name-accepted"),
)
def header_mismatch_has_its_code(history: History) -> Iterator[Observation]:
    """Requests that are refused for their headers are answered with HTTP 400 and -32020.

    A version that is unknown besides may also be -32022. Gateways need not send a JSON-RPC
    error, so a bare HTTP 400 says nothing.
    """
    judged = (*_NAMED_WRONG, *_ENCODED_WRONG, *_METHOD_WRONG, *_VERSION_WRONG)
    probed: set[tuple[str, int]] = set()
    for probe in probes(history, *judged):
        if isinstance(probe, Observation):
            yield probe
            continue
        probed.add(probe.key)
        if probe.error is None or is_about_http(probe) or _taken_as_older(history, probe):
            if probe.result is None:
                yield unclear(probe, unanswered(probe) or "it was answered by an older revision")
            continue
        if may_be_gone(history, probe):
            yield unclear(probe, GONE)
            continue
        also = (UNSUPPORTED_VERSION,) if probe.intent in _VERSION_WRONG else ()
        pair = _with_control(history, probe)
        why = f"where {_DIFFERENCE[probe.intent]}"
        yield _refused_with(probe, pair, HEADER_MISMATCH, why, also=also)
    for exchange in history.exchanges:
        if exchange.error_code == HEADER_MISMATCH and exchange.key not in probed:
            yield _status_of(exchange, (exchange,), 400)


def _refused_with(
    probe: Exchange, shown: tuple[Exchange, ...], code: int, why: str, also: tuple[int, ...] = ()
) -> Observation:
    """The probe was refused with HTTP 400 and this code (or one of ``also``)."""
    if probe.result is not None:
        return broken(
            shown,
            f"answer HTTP 400 and error {code_words(code)} {why}: {probe.method} was served",
            expected=f"HTTP 400, error {code_words(code)}",
            found=probe.outcome,
        )
    hindrance = unanswered(probe)
    if hindrance or is_about_http(probe):
        return unclear(shown, hindrance or probe.outcome)
    found = probe.error_code
    if isinstance(found, bool) or found not in (code, *also):
        note = f"answer error {code_words(code)} {why}"
        if isinstance(found, int) and found in OBSOLETE_CODES:
            note += f"; {found} is {OBSOLETE_CODES[found]}"
        return broken(
            shown,
            note,
            expected=f"HTTP 400, error {code_words(code)}",
            found=f"HTTP {probe.status}, error {code_words(found)}",
            member="/error/code",
        )
    return _status_of(probe, shown, 400)


def _status_of(exchange: Exchange, shown: tuple[Exchange, ...], status: int) -> Observation:
    """The error came with the HTTP status that belongs to its code."""
    if exchange.status == status:
        return holds(shown)
    on_stream = " and not as an event stream" if exchange.is_stream else ""
    return broken(
        shown,
        f"send error {code_words(exchange.error_code)} with HTTP {status}{on_stream}",
        expected=f"HTTP {status}",
        found=f"HTTP {exchange.status}",
    )


@rule(
    "transport.header-names-case-insensitive",
    MUST,
    core(_HTTP, "case-sensitivity"),
    after=("polling.pure-read",),
)
def header_names_have_no_case(history: History) -> Iterator[Observation]:
    """Names of headers are understood in any case."""
    for probe in probes(history, "header-names"):
        if isinstance(probe, Observation):
            yield probe
            continue
        pair = _with_control(history, probe)
        if probe.result is not None:
            yield holds(pair)
        elif may_be_gone(history, probe):
            yield unclear(pair, GONE)
        elif probe.error is not None and not unanswered(probe):
            names = ", ".join(n for n, _ in probe.sent.headers if n.lower().startswith("mcp-"))
            yield broken(
                pair,
                f"compare names of headers without regard to case: sent as {names}, the request"
                " was refused",
                expected="a result",
                found=probe.outcome,
                member="/error/code",
            )
        else:
            yield unclear(pair, unanswered(probe) or probe.outcome)


# ---- statuses ------------------------------------------------------------------------------


@rule(
    "transport.method-not-found-status",
    MUST,
    core(_HTTP, "protocol-version-header"),
    after=("jsonrpc.error-shape",),
)
def unknown_method_is_404(history: History) -> Iterator[Observation]:
    """A method that the server does not implement is HTTP 404 and -32601."""
    implemented = history.derive(_methods_implemented)
    for exchange in history.exchanges:
        if exchange.error_code != METHOD_NOT_FOUND or exchange.method in implemented:
            continue
        # A call may end in the -32601 of another server.
        if exchange.method == TOOLS_CALL or not exchange.is_request:
            continue
        if is_careful(exchange, history):
            hindrance = unanswered(exchange)
            yield (
                unclear(exchange, hindrance)
                if hindrance
                else _status_of(exchange, (exchange,), 404)
            )
    for probe in probes(history, "unknown-method"):
        if isinstance(probe, Observation):
            yield probe
        elif unanswered(probe) or (probe.result is None and is_about_http(probe)):
            yield unclear(probe, unanswered(probe) or probe.outcome)
        elif probe.result is not None or (
            probe.error is not None and probe.error_code != METHOD_NOT_FOUND
        ):
            yield broken(
                _with_control(history, probe),
                f"answer a method that does not exist with HTTP 404 and error"
                f" {code_words(METHOD_NOT_FOUND)}",
                expected=f"HTTP 404, error {code_words(METHOD_NOT_FOUND)}",
                found=probe.outcome,
                member="/error/code" if probe.error is not None else "",
            )
        elif probe.error is None:
            yield unclear(probe, probe.outcome)


def _methods_implemented(history: History) -> frozenset[str]:
    """Methods that were answered with something other than -32601."""
    return frozenset(
        str(exchange.method)
        for exchange in history.exchanges
        if exchange.result is not None
        or (exchange.error is not None and exchange.error_code != METHOD_NOT_FOUND)
        if of_this_revision(exchange, history) and exchange.intent != "unknown-method"
    )


@rule(
    "transport.missing-meta",
    MUST,
    core("basic/index", "meta"),
    after=("jsonrpc.error-shape",),
)
def missing_meta_is_refused(history: History) -> Iterator[Observation]:
    """A request without its required members of `_meta` is HTTP 400 and -32602.

    They are the version and the client's capabilities. Where the version is missing, a server
    may find first that the header has nothing to match, and one that also speaks an older
    revision may take the request for one of that.
    """
    older = older_revision_served(history)
    missing = {
        "without-client-capabilities": "clientCapabilities",
        "without-protocol-version": "protocolVersion",
        "without-meta": "_meta",
    }
    for probe in probes(history, *missing):
        if isinstance(probe, Observation):
            yield probe
            continue
        pair = _with_control(history, probe)
        said = _refused_with(
            probe, pair, INVALID_PARAMS, f"to a request without {missing[probe.intent]}"
        )
        if probe.intent != "without-client-capabilities" and said.kind == "broken":
            if probe.error_code == HEADER_MISMATCH and probe.status == 400:
                said = unclear(pair, "the missing version was refused as a header mismatch")
            elif older is not None:
                said = unclear((older, probe), "it may have been taken for an older revision's")
        yield said


@rule("transport.capability-status", MUST, core("basic/index", "meta"))
def missing_capability_is_400(history: History) -> Iterator[Observation]:
    """-32021 comes with HTTP 400.

    A call whose stream has begun can no longer say so: its tool came to need more later on.
    """
    for exchange in history.exchanges:
        if exchange.error_code != MISSING_CAPABILITY or not of_this_revision(exchange, history):
            continue
        if exchange.method == TOOLS_CALL and exchange.notifications:
            yield unclear(exchange, "the stream of the call had begun when it was refused")
        else:
            yield _status_of(exchange, (exchange,), 400)
    for probe in history.intended("undeclared-status"):
        if probe.error_code == METHOD_NOT_FOUND:
            yield not_offered("tasks/get is not served, so it needs no capability", probe)


# ---- answers -------------------------------------------------------------------------------


_MEDIA_TYPES = ("application/json", "text/event-stream")


@rule("transport.content-type", MUST, core(_HTTP, "sending-messages"))
def answers_have_their_media_type(history: History) -> Iterator[Observation]:
    """A request is answered as `application/json` or as `text/event-stream`."""
    for exchange in history.exchanges:
        if not exchange.is_request or exchange.seen is None or not exchange.seen.body:
            continue
        # A page with an error status may be a gateway's.
        answered = bool(json_rpc_responses(exchange))
        if exchange.sent.http_method != "POST" or not (answered or exchange.seen.status < 300):
            continue
        if exchange.content_type in _MEDIA_TYPES:
            yield holds(exchange)
        else:
            yield broken(
                exchange,
                f"label the answer to {exchange.method} as application/json or as"
                " text/event-stream",
                expected=" or ".join(_MEDIA_TYPES),
                found=exchange.content_type or "no Content-Type",
            )


@rule("transport.answered", MUST, core(_HTTP, "sending-messages"))
def requests_are_answered(history: History) -> Iterator[Observation]:
    """Every request gets exactly one response, also on a stream, and never an empty body.

    The text has a server return one JSON object, or a stream of events, which ends in the
    response. That a stream has one and no more is implied.

    Nothing is said of connections that broke, of exchanges that the suite ended, of JSON that it
    cannot read for its own limits, of calls that may well take so long, or of an error page that a
    gateway may have sent: what is refused for a reason that the server alone can know, in the same
    way each time, no gateway has.
    """
    told = _told_as_large(history)
    for exchange in history.exchanges:
        if _awaits_answer(exchange, history) and exchange.key not in told:
            yield from _answer(exchange, history)


def _told_as_large(history: History) -> frozenset[tuple[str, int]]:
    """Large answers that broke off, where the revision has a rule on them."""
    if "polling.large-result" not in catalogue(history.circumstances.spec):
        return frozenset()
    return history.derive(all_broken_off)


def _awaits_answer(exchange: Exchange, history: History) -> bool:
    if exchange.sent.http_method != "POST" or not exchange.is_request:
        return False
    identifier = exchange.request_id
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        return False
    if exchange.intent in ("ill-formed", "odd-task-id"):
        return False  # another rule tells what becomes of these
    if exchange.seen is not None and exchange.seen.cut:
        return False
    # An ended subscription may end without a word.
    return exchange.method != LISTEN and of_this_revision(exchange, history)


def _answer(exchange: Exchange, history: History) -> Iterator[Observation]:
    count = len(json_rpc_responses(exchange))
    if count == 1:
        yield holds(exchange)
    elif count > 1:
        yield broken(
            exchange,
            f"send one response to a request: {exchange.method} got {count}",
            expected="one response",
            found=f"{count} responses",
        )
    elif exchange.fault is not None:
        yield _unfinished(exchange, history)
    elif exchange.seen is None or is_about_http(exchange) or exchange.beyond_limits:
        yield unclear(exchange, unanswered(exchange) or exchange.outcome)
    elif exchange.seen.status < 300 and (not exchange.seen.body or _is_readable(exchange)):
        yield broken(
            exchange,
            f"answer {exchange.method} with a JSON-RPC response{_instead(exchange)}",
            expected="one response",
            found=exchange.outcome,
        )
    elif _is_own_refusal(exchange, history):
        case = _ONLY_THE_SERVER_KNOWS.get(exchange.intent, "")
        yield broken(
            exchange,
            f"put a JSON-RPC error into the body of HTTP {exchange.status}{case}: the request was"
            " well formed, and its sender cannot tell what was wrong with it",
            expected="a JSON-RPC error",
            found=exchange.outcome,
        )
    else:
        yield unclear(exchange, unanswered(exchange) or exchange.outcome)


def _is_readable(exchange: Exchange) -> bool:
    """Labelled as an answer. What is not, another rule tells."""
    return exchange.content_type in _MEDIA_TYPES


def _instead(exchange: Exchange) -> str:
    assert exchange.seen is not None
    if exchange.is_stream:
        return ": the stream ended without one"
    if not exchange.seen.body:
        return f": the body of HTTP {exchange.seen.status} was empty"
    problem = next((part.problem for part in exchange.parsed if part.problem), "")
    return f": the body is {problem or 'JSON, but no response'}"


def _unfinished(exchange: Exchange, history: History) -> Observation:
    """No response, since the connection broke or the time was over."""
    fault = exchange.fault
    assert fault is not None
    begun = exchange.seen is not None and exchange.seen.status < 300
    # Through a network anybody may have cut it off.
    if begun and fault.kind in ("protocol", "reset") and history.circumstances.loopback:
        return broken(
            exchange,
            f"finish the answer to {exchange.method}: the connection was closed in the middle"
            " of it",
            expected="one response",
            found=exchange.outcome,
        )
    earlier = _never_answered_before(exchange, history) if fault.kind == "timeout" else None
    if earlier is not None:
        return broken(
            (earlier, exchange),
            f"answer {exchange.method}: it got no response, twice, and the connection stayed open",
            expected="one response",
            found=exchange.outcome,
        )
    return unclear(exchange, unanswered(exchange) or exchange.outcome)


def _never_answered_before(exchange: Exchange, history: History) -> Exchange | None:
    """An earlier request of the same method that also waited in vain, where none was ever
    answered, and the method does no work that may take long."""
    if exchange.method in (TOOLS_CALL, LISTEN):
        return None
    if exchange.method == TASKS_GET and exchange.task_id in lives(history):
        return None
    alike = history.of_method(str(exchange.method))
    if _only_the_server_refuses(exchange):
        alike = history.intended(exchange.intent, method=exchange.method)
    if any(json_rpc_responses(e) for e in alike):
        return None
    waited = (e for e in alike if e.fault is not None and e.fault.kind == "timeout")
    return next((e for e in waited if e.ended <= exchange.started), None)


def _only_the_server_refuses(exchange: Exchange) -> bool:
    """Whether a request is as any other, but for what its server alone can know: no gateway
    refuses it, nor takes it for an attack."""
    return exchange.intent in _ONLY_THE_SERVER_KNOWS and (
        exchange.task_id is None or _PLAIN_ID.fullmatch(exchange.task_id) is not None
    )


# What only the server can know of a request, and how it is told of.
_ONLY_THE_SERVER_KNOWS = {
    "unknown-id": ", for a task that does not exist",
    "derived-id": ", for a task that does not exist",
    "after-ttl": ", for a task whose time is over",
    "undeclared": ", for a client that does not declare the extension",
}
_PLAIN_ID = re.compile(r"[\w.~-]{1,200}", re.ASCII)


def _is_own_refusal(exchange: Exchange, history: History) -> bool:
    """An error status without JSON-RPC that no gateway sends."""
    return is_careful(exchange, history) and (
        _is_so_each_time(exchange, history) or _is_no_page(exchange, history)
    )


def _is_so_each_time(exchange: Exchange, history: History) -> bool:
    """What is wrong with the request no gateway knows, and the same was never refused in better
    words, though others of its method are answered."""
    if not _only_the_server_refuses(exchange) or not is_wordless(exchange):
        return False
    alike = history.intended(exchange.intent, method=exchange.method)
    others = history.of_method(str(exchange.method))
    return (
        sum(e.fault is None and is_wordless(e) for e in alike) > 1
        and not any(json_rpc_responses(e) for e in alike)
        and any(is_careful(e, history) and not unanswered(e) for e in others)
    )


def _is_no_page(exchange: Exchange, history: History) -> bool:
    """Nothing stands before the server, and what came is no page."""
    return (
        history.circumstances.loopback
        and exchange.status in (400, 404, 500)
        and exchange.content_type in ("", "application/json")
        and exchange.request_header("Origin") is None
        and exchange.request_header(HEADER_SESSION) is None
    )


# ---- what older revisions had --------------------------------------------------------------


def _not_only_this_revision(history: History) -> Iterator[Observation]:
    """Why the rules on older traffic do not judge this server."""
    older = older_revision_served(history)
    if older is not None:
        yield not_offered("the server also speaks an older revision, whose traffic this is", older)
    elif history.intended("http-get", "session-sent"):
        yield unclear((), "it is not known whether the server also speaks an older revision")


@rule("transport.no-session", SHOULD, core(_HTTP, "earlier-streamable-http-revisions"))
def no_session_is_kept(history: History) -> Iterator[Observation]:
    """No `Mcp-Session-Id` is minted or echoed, and one that is sent is ignored.

    Asked of servers that speak this revision alone.
    """
    if only_this_revision(history) is None:
        yield from _not_only_this_revision(history)
        return
    for exchange in history.exchanges:
        if exchange.response_header(HEADER_SESSION) is not None:
            yield broken(
                exchange,
                "send no Mcp-Session-Id: this revision has no sessions",
                expected="no Mcp-Session-Id",
                found="an Mcp-Session-Id in the answer",
            )
    for probe in probes(history, "session-sent"):
        if isinstance(probe, Observation):
            yield probe
            continue
        pair = _with_control(history, probe)
        if probe.result is not None:
            yield holds(pair)
        elif probe.fault is None and (probe.status or 0) >= 400 and not is_about_http(probe):
            yield broken(
                pair,
                "ignore an Mcp-Session-Id that a client sends: the request was refused",
                expected="a result",
                found=probe.outcome,
            )
        else:
            yield unclear(pair, unanswered(probe) or probe.outcome)


@rule("transport.get-and-delete", SHOULD, core(_HTTP, "earlier-streamable-http-revisions"))
def get_and_delete_are_405(history: History) -> Iterator[Observation]:
    """GET and DELETE are answered with HTTP 405.

    Asked of servers that speak this revision alone.
    """
    if only_this_revision(history) is None:
        yield from _not_only_this_revision(history)
        return
    for exchange in history.intended("http-get", "http-delete"):
        http_method = exchange.sent.http_method
        if exchange.status == 405:
            yield holds(exchange)
        elif exchange.status is None or is_about_http(exchange):
            yield unclear(exchange, unanswered(exchange) or exchange.outcome)
        else:
            yield broken(
                exchange,
                f"answer {http_method} on the endpoint with HTTP 405: this revision has nothing"
                " to get or to delete",
                expected="HTTP 405",
                found=f"HTTP {exchange.status}",
            )


@rule("transport.foreign-origin", MUST, core(_HTTP))
def foreign_origin_is_refused(history: History) -> Iterator[Observation]:
    """A request with an invalid `Origin` is answered with HTTP 403.

    Otherwise any web page can talk to a server on this machine. Judged for servers on this
    machine; elsewhere only the operator knows which origins are valid.
    """
    if not history.circumstances.loopback and not history.intended("foreign-origin"):
        yield not_offered("the server is not on this machine, so its valid origins are not known")
    for probe in probes(history, "foreign-origin"):
        if isinstance(probe, Observation):
            yield probe
            continue
        pair = _with_control(history, probe)
        if probe.status == 403:
            yield holds(pair)
        elif probe.status is None or (is_about_http(probe) and probe.result is None):
            yield unclear(pair, unanswered(probe) or probe.outcome)
        else:
            yield broken(
                pair,
                "refuse a request from a web page of another site with HTTP 403: check Origin as"
                " a whole on every request",
                expected="HTTP 403",
                found=probe.outcome,
            )
