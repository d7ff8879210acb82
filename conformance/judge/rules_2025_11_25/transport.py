"""transport: Streamable HTTP with its sessions and streams."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.answers import is_about_http
from conformance.judge.entropy import IdSample, estimate
from conformance.judge.expectations import probes, unanswered
from conformance.judge.observation import BROKEN, Observation, broken, holds, not_offered, unclear
from conformance.judge.older import (
    answers,
    asked,
    event_ids,
    handshakes,
    ours,
    requests_of,
    session_of,
    statuses_told,
)
from conformance.judge.rule import IMPLIED, MUST, SHOULD, adopt, rule
from conformance.judge.rules import transport
from conformance.judge.times import SECOND, moment_of
from conformance.specification.citations import core_2025
from conformance.specification.names import HEADER_SESSION, STATUS_NOTIFICATION, TASKS_RESULT
from conformance.target.roles import INPUT
from conformance.wire.exchange import Exchange
from conformance.wire.history import History
from conformance.wire.parsing import dump_json

_PAGE = "basic/transports"
_LAST_EVENT = "Last-Event-ID"


def _pair(history: History, probe: Exchange) -> tuple[Exchange, ...]:
    control = history.control_of(probe)
    return (probe,) if control is None else (control, probe)


# ---- sessions ------------------------------------------------------------------------------


def _given_ids(history: History) -> list[tuple[Exchange, str]]:
    """Each handshake with the session id that it gave."""
    pairs = [(h, h.response_header(HEADER_SESSION)) for h in handshakes(history)]
    return [(handshake, given) for handshake, given in pairs if given is not None]


def _no_sessions(history: History) -> Observation | None:
    """Why rules on sessions do not judge a server that gives none."""
    known = handshakes(history)
    if not known or _given_ids(history):
        return None
    return not_offered("the server gives no session ids", known[0])


@rule("transport.session-id-visible", MUST, core_2025(_PAGE, "session-management"))
def session_ids_are_visible_ascii(history: History) -> Iterator[Observation]:
    """A session id has visible ASCII characters only."""
    absent = _no_sessions(history)
    if absent is not None:
        yield absent
    for handshake, given in _given_ids(history):
        if given and all("\x21" <= character <= "\x7e" for character in given):
            yield holds(handshake)
        else:
            yield broken(
                handshake,
                "make Mcp-Session-Id of visible ASCII characters alone (0x21 to 0x7E)",
                expected="visible ASCII characters",
                found=f"{given!r:.60}",
            )


@rule(
    "transport.session-id-strong",
    SHOULD,
    core_2025(_PAGE, "session-management"),
    after=("transport.session-id-visible",),
)
def session_ids_are_unique_and_secret(history: History) -> Iterator[Observation]:
    """Session ids are unique, and cannot be guessed.

    The estimate is an upper bound: what varies between the ids of this run counts as random.
    """
    absent = _no_sessions(history)
    if absent is not None:
        yield absent
        return
    given = _given_ids(history)
    first: dict[str, Exchange] = {}
    for handshake, session in given:
        earlier = first.setdefault(session, handshake)
        if earlier is not handshake:
            yield broken(
                (earlier, handshake),
                "give each session an id of its own: two handshakes were given the same",
                expected="a new Mcp-Session-Id",
                found="the same again",
            )
    began = moment_of(history.circumstances.started)
    at = None if began is None else began.nanoseconds / SECOND
    found = estimate(IdSample(session, at) for session in first)
    if found is None:
        return
    shown = list(first.values())[:5]
    if found.guessable:
        yield broken(
            shown,
            f"make session ids that nobody can guess, a random UUID for instance: {found.sentence}",
            expected="ids that others cannot know",
            found=f"at most {found.bits:.0f} bits",
        )
    elif found.guessable is None:
        yield unclear(shown, f"it cannot be told from these ids: {found.sentence}")
    else:
        yield holds(shown, found.sentence)


@rule("transport.session-required", SHOULD, core_2025(_PAGE, "session-management"))
def missing_session_is_400(history: History) -> Iterator[Observation]:
    """A server that requires a session answers a request without one with HTTP 400."""
    absent = _no_sessions(history)
    if absent is not None:
        yield absent
        return
    for probe in probes(history, "without-session"):
        if isinstance(probe, Observation):
            yield probe
        elif probe.status == 400:
            yield holds(_pair(history, probe))
        elif probe.result is not None:
            yield not_offered("the server does not require a session", probe)
        elif probe.status is None or is_about_http(probe):
            yield unclear(_pair(history, probe), unanswered(probe) or probe.outcome)
        else:
            yield broken(
                _pair(history, probe),
                "answer a request without Mcp-Session-Id with HTTP 400, where you require one",
                expected="HTTP 400",
                found=probe.outcome,
            )


@rule("transport.ended-session", IMPLIED, core_2025(_PAGE, "session-management"))
def ended_session_is_404(history: History) -> Iterator[Observation]:
    """A request in a session that was ended is answered with HTTP 404."""
    absent = _no_sessions(history)
    if absent is not None:
        yield absent
        return
    ends = {session_of(e): e for e in history.exchanges if e.sent.http_method == "DELETE"}
    for probe in probes(history, "ended-session"):
        if isinstance(probe, Observation):
            yield probe
            continue
        end = ends.get(session_of(probe))
        if end is None or end.ended > probe.started:
            continue
        if end.status == 405:
            yield not_offered("the server does not let its clients end a session", end)
        elif end.status is None or end.status >= 300:
            yield unclear(end, unanswered(end) or end.outcome)
        elif probe.status == 404:
            yield holds((end, probe))
        elif probe.status is None or is_about_http(probe):
            yield unclear((end, probe), unanswered(probe) or probe.outcome)
        else:
            yield broken(
                (end, probe),
                "answer a request in a session that was ended with HTTP 404: only then does its"
                " client know that it needs a new one",
                expected="HTTP 404",
                found=probe.outcome,
            )


@rule("transport.unsupported-version", MUST, core_2025(_PAGE, "protocol-version-header"))
def unknown_version_is_400(history: History) -> Iterator[Observation]:
    """An MCP-Protocol-Version that is invalid or not supported is answered with HTTP 400."""
    for probe in probes(history, "version-header-unknown"):
        if isinstance(probe, Observation):
            yield probe
        elif probe.status == 400:
            yield holds(_pair(history, probe))
        elif probe.status is None or is_about_http(probe):
            yield unclear(_pair(history, probe), unanswered(probe) or probe.outcome)
        else:
            yield broken(
                _pair(history, probe),
                "answer a request whose MCP-Protocol-Version is invalid or not supported with"
                " HTTP 400",
                expected="HTTP 400",
                found=probe.outcome,
            )


# ---- answers -------------------------------------------------------------------------------


adopt(
    transport.answers_have_their_media_type,
    "transport.content-type",
    MUST,
    core_2025(_PAGE, "sending-messages-to-the-server"),
    into=__package__,
)


@rule("transport.answered", MUST, core_2025("basic/index", "responses"))
def requests_are_answered(history: History) -> Iterator[Observation]:
    """Every request gets exactly one response, also on a stream, and never an empty body.

    Whether a tasks/result is answered at the end of its task, or at once where there is no such
    task, other rules say.
    Nothing is said of a stream that can be taken up again.
    """
    for observation in transport.requests_are_answered(history):
        exchange = observation.exchanges[-1]
        waits = exchange.method == TASKS_RESULT
        if observation.kind == BROKEN and exchange.response is None:
            if waits and exchange.fault is not None:
                yield unclear(exchange, unanswered(exchange))
                continue
            if event_ids(exchange):
                yield unclear(exchange, "its stream can be taken up again")
                continue
        yield observation


@rule("transport.response-accepted", MUST, core_2025(_PAGE, "sending-messages-to-the-server"))
def posted_responses_are_accepted(history: History) -> Iterator[Observation]:
    """A response that the client posts is accepted with HTTP 202 and no body.

    A server may also refuse it, with an HTTP error.
    """
    for answer in answers(history):
        status = answer.status
        if status is None or 300 <= status < 400 or is_about_http(answer):
            yield unclear(answer, unanswered(answer) or answer.outcome)
        elif status >= 400:
            yield unclear(answer, f"it was refused (HTTP {status})")
        elif status != 202:
            yield broken(
                answer,
                "accept a response of the client with HTTP 202 and no body",
                expected="HTTP 202 without a body",
                found=answer.outcome,
            )
        elif answer.seen is not None and answer.seen.body.strip():
            yield broken(
                answer,
                "send no body with the HTTP 202 that accepts a response of the client",
                expected="HTTP 202 without a body",
                found=f"HTTP 202 with {len(answer.seen.body)} bytes",
            )
        else:
            yield holds(answer)


# ---- streams -------------------------------------------------------------------------------


def _gets(history: History) -> list[Exchange]:
    """Requests for a stream of the server's own, but for those that take one up again."""
    return [
        exchange
        for exchange in history.exchanges
        if exchange.sent.http_method == "GET"
        and ours(exchange, history)
        and exchange.request_header(_LAST_EVENT) is None
    ]


@rule("transport.get-stream", MUST, core_2025(_PAGE, "listening-for-messages-from-the-server"))
def get_opens_a_stream_or_is_405(history: History) -> Iterator[Observation]:
    """GET opens an event stream, or is answered with HTTP 405."""
    for exchange in _gets(history):
        status = exchange.status
        if exchange.intent == "listen-before-initialized":
            continue
        if status == 405 or (status == 200 and exchange.is_stream):
            yield holds(exchange)
        elif status is None or status == 409 or 300 <= status < 400 or is_about_http(exchange):
            # One that has a stream already may be refused a second.
            yield unclear(exchange, unanswered(exchange) or exchange.outcome)
        elif status in (400, 404) and exchange.request_header(HEADER_SESSION) is None:
            if _given_ids(history):
                yield unclear(exchange, "it was refused for want of a session")
            else:
                yield _no_stream(exchange)
        else:
            yield _no_stream(exchange)


def _no_stream(exchange: Exchange) -> Observation:
    return broken(
        exchange,
        "answer GET with an event stream, or with HTTP 405 where there is none",
        expected="text/event-stream, or HTTP 405",
        found=exchange.outcome,
    )


@rule(
    "transport.no-response-on-get", MUST, core_2025(_PAGE, "listening-for-messages-from-the-server")
)
def no_response_on_own_stream(history: History) -> Iterator[Observation]:
    """No JSON-RPC response comes on a stream that GET opened."""
    for exchange in _gets(history):
        if exchange.status != 200 or not exchange.is_stream:
            continue
        strays = [m for m in exchange.responses if "method" not in m]
        if strays:
            yield broken(
                exchange,
                "send a response on the stream of its request, or as its answer: one came on a"
                " stream that GET had opened",
                expected="requests and notifications",
                found=f"a response with id {strays[0].get('id')!r:.40}",
            )
        else:
            yield holds(exchange)


# Two messages that say the same, further apart than this, may be two.
_AT_ONCE_SECONDS = 1.0


@rule("transport.no-broadcast", MUST, core_2025(_PAGE, "multiple-connections"), needs=(INPUT,))
def messages_go_on_one_stream(history: History) -> Iterator[Observation]:
    """A message of the server is sent on one of the streams of a session, and not on several."""
    first: dict[tuple[str, str], tuple[Exchange, float]] = {}
    for exchange, at, text in sorted(_sent_on_streams(history), key=lambda each: each[1]):
        session = exchange.request_header(HEADER_SESSION)
        if session is None:
            continue
        place = (session, text)
        earlier = first.get(place)
        if earlier is None or at - earlier[1] > _AT_ONCE_SECONDS:
            first[place] = (exchange, at)
            yield holds(exchange)
        elif earlier[0] is not exchange:
            yield broken(
                (earlier[0], exchange),
                "send each message on one stream only: the same came on two of a session",
                expected="one message on one stream",
                found=f"{text[:60]} on both",
            )


def _sent_on_streams(history: History) -> Iterator[tuple[Exchange, float, str]]:
    for question in asked(history):
        if question.exchange.request_header(_LAST_EVENT) is None:
            yield question.exchange, question.at, dump_json(question.message)
    for exchange in history.exchanges:
        if exchange.request_header(_LAST_EVENT) is None and ours(exchange, history):
            for at, params in statuses_told(exchange):
                message = {"method": STATUS_NOTIFICATION, "params": params}
                yield exchange, at, dump_json(message)


@rule("transport.event-ids-unique", MUST, core_2025(_PAGE, "resumability-and-redelivery"))
def event_ids_are_unique(history: History) -> Iterator[Observation]:
    """The id of an event is not used again on any stream of the session."""
    first: dict[tuple[str, str], Exchange] = {}
    for exchange in history.exchanges:
        session = exchange.request_header(HEADER_SESSION)
        if session is None or exchange.request_header(_LAST_EVENT) is not None:
            continue
        ids = event_ids(exchange)
        twice = ""
        for name in ids:
            if (session, name) in first:
                twice = twice or name
            first.setdefault((session, name), exchange)
        if twice:
            earlier = first[session, twice]
            yield broken(
                (earlier, exchange) if earlier is not exchange else exchange,
                "give each event an id that no other event of the session has, on whatever"
                " stream: a client that takes up a stream again names nothing else",
                expected="a new id",
                found=f"{twice!r:.60} again",
            )
        elif ids:
            yield holds(exchange)


adopt(
    transport.foreign_origin_is_refused,
    "transport.foreign-origin",
    MUST,
    core_2025(_PAGE, "security-warning"),
    into=__package__,
)


@rule("transport.ping-answered", MUST, core_2025("basic/utilities/ping", "behavior-requirements"))
def ping_is_answered(history: History) -> Iterator[Observation]:
    """`ping` is answered with an empty result."""
    for exchange in requests_of(history, "ping"):
        extra = sorted((exchange.result or {}).keys() - {"_meta"})
        if exchange.result is not None and not extra:
            yield holds(exchange)
        elif unanswered(exchange):
            yield unclear(exchange, unanswered(exchange))
        else:
            yield broken(
                exchange,
                "answer ping with an empty result",
                expected="an empty result",
                found=", ".join(extra) if extra else exchange.outcome,
                member="/result" if extra else "/error/code",
            )
