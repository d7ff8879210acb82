"""The client against sockets that misbehave: everything is recorded, nothing raises."""

from __future__ import annotations

import gzip
import ssl
import struct
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET

import anyio
import pytest

from conformance.wire.client import FRESH, Limits, Outcome, Wire
from conformance.wire.exchange import Headers, Sent, header_of
from conformance.wire.sse import Event
from tests import subjects
from tests.sockets import JSON, Answer, Listening, Writer, listening, response, saying

pytestmark = pytest.mark.anyio

# No exchange may take longer, whatever its server does. Nothing here should come near.
PATIENCE = 20.0
CERTIFICATE = Path(__file__).parent / "certificates" / "self-signed.pem"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with Wire(limits=Limits(seconds=5.0, size=100_000)) as wire:
        yield wire


def post(url: str, body: bytes = b"{}", headers: Headers = ()) -> Sent:
    return Sent("POST", url, (("Content-Type", "application/json"), *headers), body)


async def sent_to(answer: Answer, wire: Wire, **options: object) -> Outcome:
    """What one request to a server that answers so leads to."""
    with anyio.fail_after(PATIENCE):
        async with listening(answer) as server:
            return await wire.send(post(server.url), **options)  # type: ignore[arg-type]


# ---- what goes out -------------------------------------------------------------------------


async def test_the_request_has_our_headers_and_what_http_needs(wire: Wire) -> None:
    async with listening(saying(response())) as server:
        await wire.send(post(server.url, b'{"a":1}', (("MCP-x", "1"), ("mcp-X", "2"))))
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    names = [line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:]]
    assert body == b'{"a":1}'
    assert b"MCP-x: 1" in head
    assert b"mcp-X: 2" in head
    assert sorted(names) == [
        b"accept-encoding",
        b"connection",
        b"content-length",
        b"content-type",
        b"host",
        b"mcp-x",
        b"mcp-x",
        b"user-agent",
    ]
    assert b"accept-encoding: identity" in head.lower()


async def test_headers_that_were_given_are_not_replaced(wire: Wire) -> None:
    async with listening(saying(response())) as server:
        headers = (("Accept", "x/y"), ("User-Agent", "me"), ("Accept-Encoding", "gzip"))
        await wire.send(post(server.url, headers=headers))
    for line in (b"Accept: x/y", b"User-Agent: me", b"Accept-Encoding: gzip"):
        assert line in server.requests[0]


async def test_no_cookie_is_carried_along(wire: Wire) -> None:
    baked = response(headers="Set-Cookie: session=alice; Path=/\r\n")
    async with listening(saying(baked), keep_alive=True) as server:
        for _ in range(2):
            await wire.send(post(server.url))
    assert b"cookie" not in server.requests[1].lower()


@pytest.mark.parametrize(
    "sent",
    [
        post("http://127.0.0.1:1/", headers=(("X", "line\nbreak"),)),
        post("http://127.0.0.1:1/", headers=(("X", "\u4e16"),)),
        post("http://127.0.0.1:1/", headers=(("bad name", "x"),)),
        post("http://127.0.0.1:1/", headers=(("", "x"),)),
        post("http://[::1/"),
        post("http://\u0000/"),
        post("gopher://127.0.0.1/"),
        post("/nowhere"),
        post(f"http://{'a' * 300}.example/"),
    ],
)
async def test_what_cannot_be_sent_is_a_fault(wire: Wire, sent: Sent) -> None:
    with anyio.fail_after(PATIENCE):
        outcome = await wire.send(sent)
    assert outcome.fault is not None
    assert outcome.seen is None


# ---- what comes back -----------------------------------------------------------------------


async def test_a_plain_answer(wire: Wire) -> None:
    outcome = await sent_to(saying(response(headers="X-Twice: a\r\nX-Twice: b\xe9\r\n")), wire)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert outcome.seen.status == 200
    assert outcome.seen.body == JSON
    assert [v for k, v in outcome.seen.headers if k == "X-Twice"] == ["a", "b\xe9"]
    assert outcome.started < outcome.ended


async def test_an_empty_answer(wire: Wire) -> None:
    outcome = await sent_to(saying(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"), wire)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert (outcome.seen.status, outcome.seen.body) == (202, b"")


async def test_an_answer_without_length_ends_with_its_connection(wire: Wire) -> None:
    outcome = await sent_to(saying(b"HTTP/1.1 200 OK\r\n\r\nwhole"), wire)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert outcome.seen.body == b"whole"


async def test_bytes_beyond_the_length_are_of_nobody(wire: Wire) -> None:
    async with listening(saying(response(length=5)), keep_alive=True) as server:
        outcomes = [await wire.send(post(server.url)) for _ in range(2)]
    assert [outcome.fault for outcome in outcomes] == [None, None]
    assert [outcome.seen.body for outcome in outcomes if outcome.seen] == [JSON[:5]] * 2


async def test_an_interim_response_is_passed_over(wire: Wire) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"
    outcome = await sent_to(saying(early + response()), wire)
    assert outcome.seen is not None
    assert outcome.seen.status == 200


def gzipped(body: bytes) -> bytes:
    return response(gzip.compress(body), headers="Content-Encoding: gzip\r\n")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(gzipped(JSON), id="gzip"),
        pytest.param(
            response(zlib.compress(JSON), headers="Content-Encoding: Deflate\r\n"), id="deflate"
        ),
        pytest.param(
            response(
                gzip.compress(JSON[:9]) + gzip.compress(JSON[9:]),
                headers="Content-Encoding: x-gzip\r\n",
            ),
            id="two-members",
        ),
        pytest.param(response(headers="Content-Encoding: identity\r\n"), id="identity"),
    ],
)
async def test_compressed_answers_are_read(wire: Wire, answer: bytes) -> None:
    outcome = await sent_to(saying(answer), wire)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert outcome.seen.body == JSON


async def resting(request: bytes, writer: Writer) -> None:
    await anyio.sleep_forever()


async def resetting(request: bytes, writer: Writer) -> None:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))


async def flooding(request: bytes, writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Flood: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def endless(request: bytes, writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        writer.write(b"x" * 10_000)
        await writer.drain()


_DEFLATE = zlib.compressobj(wbits=-zlib.MAX_WBITS)
RAW_DEFLATE = _DEFLATE.compress(JSON) + _DEFLATE.flush()
BOMB = gzipped(bytes(10_000_000))
TRUNCATED = gzip.compress(JSON * 100)[:40]


@pytest.mark.parametrize(
    ("answer", "kind", "has_head"),
    [
        pytest.param(saying(b""), "reset", False, id="closed-without-a-word"),
        pytest.param(resetting, "reset", False, id="reset"),
        pytest.param(saying(b"HTTP/1.1 200 OK\r\nX: "), "reset", False, id="half-a-head"),
        pytest.param(saying(response(length=1000)), "reset", True, id="length-too-long"),
        pytest.param(saying(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), "protocol", False, id="not-http"),
        pytest.param(saying(b"HTTP/1.1 2000 OK\r\n\r\n"), "protocol", False, id="bad-status"),
        pytest.param(saying(b"HTTP/1.1 OK\r\n\r\n"), "protocol", False, id="no-status"),
        pytest.param(saying(b"\x00\xff\r\n\r\n"), "protocol", False, id="binary"),
        pytest.param(
            saying(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), "protocol", False, id="bad-header"
        ),
        pytest.param(
            saying(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
            "protocol",
            False,
            id="length-x",
        ),
        pytest.param(
            saying(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            "protocol",
            False,
            id="two-lengths",
        ),
        pytest.param(
            saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            "protocol",
            True,
            id="bad-chunk",
        ),
        pytest.param(
            saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
            "reset",
            True,
            id="half-a-chunk",
        ),
        pytest.param(flooding, "protocol", False, id="header-flood"),
        pytest.param(endless, "too-large", True, id="endless-body"),
        pytest.param(saying(response(b"x" * 100_001)), "too-large", True, id="one-byte-too-many"),
        pytest.param(saying(BOMB), "too-large", True, id="gzip-bomb"),
        pytest.param(
            saying(response(b"no gzip", headers="Content-Encoding: gzip\r\n")),
            "encoding",
            True,
            id="bad-gzip",
        ),
        pytest.param(
            saying(response(TRUNCATED, headers="Content-Encoding: gzip\r\n")),
            "protocol",
            True,
            id="half-a-gzip",
        ),
        pytest.param(
            saying(response(headers="Content-Encoding: br\r\n")), "encoding", True, id="brotli"
        ),
        pytest.param(
            saying(response(RAW_DEFLATE, headers="Content-Encoding: deflate\r\n")),
            "encoding",
            True,
            id="raw-deflate",
        ),
    ],
)
async def test_nonsense_is_a_fault(wire: Wire, answer: Answer, kind: str, has_head: bool) -> None:
    outcome = await sent_to(answer, wire)
    assert outcome.fault is not None
    assert outcome.fault.kind == kind, outcome.fault
    assert outcome.fault.detail
    assert (outcome.seen is not None) is has_head
    assert outcome.ended >= outcome.started


async def test_a_body_as_large_as_allowed_is_read(wire: Wire) -> None:
    outcome = await sent_to(saying(gzipped(b"x" * 100_000)), wire)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert len(outcome.seen.body) == 100_000


async def test_bodies_get_less_room_once_a_run_took_much() -> None:
    limits = Limits(seconds=5, size=1000, total=1500, size_after=10)
    async with Wire(limits=limits) as wire, listening(saying(response(b"x" * 900))) as server:
        outcomes = [await wire.send(post(server.url)) for _ in range(3)]
    assert [o.fault.kind if o.fault else None for o in outcomes] == [None, None, "too-large"]


async def test_nobody_is_there(wire: Wire) -> None:
    async with listening(saying(b"")) as server:
        pass
    with anyio.fail_after(PATIENCE):
        outcome = await wire.send(post(server.url))
    assert outcome.fault is not None
    assert outcome.fault.kind == "connect"
    assert "refused" in outcome.fault.detail.lower()


async def test_the_host_has_no_address(wire: Wire) -> None:
    with anyio.fail_after(PATIENCE):
        outcome = await wire.send(post("http://nowhere.invalid/mcp"))
    assert outcome.fault is not None
    assert outcome.fault.kind == "connect"


# ---- time ----------------------------------------------------------------------------------


def dripping(whole: bytes) -> Answer:
    """One byte at a time, far slower than the time there is."""

    async def answer(request: bytes, writer: Writer) -> None:
        for byte in whole:
            writer.write(bytes([byte]))
            await writer.drain()
            await anyio.sleep(0.05)

    return answer


@pytest.mark.parametrize(
    ("answer", "has_head"),
    [
        pytest.param(resting, False, id="nothing"),
        pytest.param(dripping(response()), False, id="a-byte-at-a-time"),
        pytest.param(saying(response(b"", length=10)), False, id="no-body"),
    ],
)
async def test_an_answer_that_takes_too_long_is_a_fault(
    wire: Wire, answer: Answer, has_head: bool
) -> None:
    async def and_rest(request: bytes, writer: Writer) -> None:
        await answer(request, writer)
        await anyio.sleep_forever()

    outcome = await sent_to(and_rest, wire, seconds=0.3)
    assert outcome.fault is not None
    assert outcome.fault.kind == "timeout"


async def test_the_bound_of_the_wire_is_that_of_an_exchange() -> None:
    async with Wire(limits=Limits(seconds=0.2)) as wire:
        outcome = await sent_to(resting, wire)
    assert outcome.fault is not None
    assert outcome.fault.kind == "timeout"


@pytest.mark.parametrize("kind", ["hanging", "slow_drip", "reset", "empty", "html"])
def test_the_subjects_that_misbehave(kind: str) -> None:
    async def exchange(url: str) -> Outcome:
        async with Wire() as wire:
            with anyio.fail_after(PATIENCE):
                return await wire.send(post(url), seconds=1.5)

    with subjects.running("misbehaving", kind) as url:
        outcome = anyio.run(exchange, url)
    expected = {"hanging": "timeout", "slow_drip": "timeout", "reset": "reset"}
    assert (outcome.fault.kind if outcome.fault else None) == expected.get(kind)
    assert (outcome.seen is not None) is (kind not in ("hanging", "reset"))


# ---- connections ---------------------------------------------------------------------------


async def test_a_connection_that_is_kept_has_one_name(wire: Wire) -> None:
    async with listening(saying(response()), keep_alive=True) as server:
        kept = [await wire.send(post(server.url)) for _ in range(3)]
        other = await wire.send(post(server.url), connection="other")
        fresh = [await wire.send(post(server.url), connection=FRESH) for _ in range(2)]
        again = await wire.send(post(server.url))
    names = {outcome.connection for outcome in (*kept, again)}
    assert len(names) == 1
    assert names.pop().startswith("main:")
    assert other.connection.startswith("other:")
    assert len({o.connection for o in (kept[0], other, *fresh)}) == 4
    assert all(o.connection.startswith("fresh-") for o in fresh)
    assert server.connections == 4


async def test_a_connection_that_was_closed_gets_another_name(wire: Wire) -> None:
    async with listening(saying(response(headers="Connection: close\r\n"))) as server:
        outcomes = [await wire.send(post(server.url)) for _ in range(2)]
    assert len({o.connection for o in outcomes}) == 2


async def test_a_kept_connection_that_the_server_closes_is_no_fault(wire: Wire) -> None:
    """A server may give up a resting connection just when it is used again."""

    async def once(request: bytes, writer: Writer) -> None:
        if b"second" in request and b"second" not in before:
            before.append(b"second")
            writer.close()
            return
        writer.write(response())
        await writer.drain()

    before: list[bytes] = []
    async with listening(once, keep_alive=True) as server:
        first = await wire.send(post(server.url, b"first"))
        second = await wire.send(post(server.url, b"second"))
    assert before == [b"second"]
    assert second.fault is None
    assert second.connection != first.connection


async def test_a_new_connection_that_the_server_closes_is_one(wire: Wire) -> None:
    async with listening(saying(b"")) as server:
        outcome = await wire.send(post(server.url))
    assert outcome.fault is not None
    assert len(server.requests) == 1


async def test_a_server_that_always_closes_is_asked_twice_at_most(wire: Wire) -> None:
    async def first_only(request: bytes, writer: Writer) -> None:
        if b"first" in request:
            writer.write(response())
            await writer.drain()
        else:
            writer.close()

    async with listening(first_only, keep_alive=True) as server:
        await wire.send(post(server.url, b"first"))
        outcome = await wire.send(post(server.url, b"second"))
    assert outcome.fault is not None
    assert outcome.fault.kind == "reset"
    assert len(server.requests) == 3


async def test_many_at_once(wire: Wire) -> None:
    outcomes: list[Outcome] = []

    async def one(url: str) -> None:
        outcomes.append(await wire.send(post(url), seconds=60))

    async with listening(saying(response()), keep_alive=True) as server:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for _ in range(200):
                    group.start_soon(one, server.url)
    assert len(outcomes) == 200
    assert all(o.fault is None for o in outcomes)
    assert server.connections <= 64


# ---- redirects -----------------------------------------------------------------------------


def redirecting(location: Callable[[bytes], str | None]) -> Answer:
    async def answer(request: bytes, writer: Writer) -> None:
        target = location(request)
        if target is None:
            writer.write(response())
        else:
            header = f"Location: {target}\r\n"
            writer.write(response(b"moved", status="307 Temporary Redirect", headers=header))
        await writer.drain()

    return answer


async def test_a_redirect_on_the_same_host_is_followed(wire: Wire) -> None:
    answer = redirecting(lambda request: None if b"/mcp/ " in request else "/mcp/")
    async with listening(answer, keep_alive=True) as server:
        outcome = await wire.send(post(server.url, b'{"a":1}'))
    assert outcome.fault is None
    assert outcome.seen is not None
    assert (outcome.seen.status, outcome.seen.body) == (200, JSON)
    assert [request.endswith(b'{"a":1}') for request in server.requests] == [True, True]
    assert server.connections == 1
    assert outcome.connection.count(":") == 1


async def test_a_redirect_is_followed_with_the_caller_and_to_nobody_else(wire: Wire) -> None:
    async with listening(saying(response())) as elsewhere:
        answer = redirecting(lambda request: elsewhere.url)
        async with listening(answer) as server:
            outcome = await wire.send(post(server.url, headers=(("Authorization", "x"),)))
    assert outcome.fault is not None
    assert outcome.fault.kind == "redirect"
    assert elsewhere.url in outcome.fault.detail
    assert elsewhere.requests == []


async def test_redirects_in_a_circle_end(wire: Wire) -> None:
    outcome = await sent_to(redirecting(lambda request: "/mcp"), wire)
    assert outcome.fault is not None
    assert outcome.fault.kind == "redirect"


@pytest.mark.parametrize(
    "target",
    ["http://[", "http://:0x/", "//", "http://a b/", "http://\xff/", "x" * 5000, "\x80", "::", "?"],
)
async def test_redirects_to_nowhere_are_faults(wire: Wire, target: str) -> None:
    outcome = await sent_to(redirecting(lambda request: target), wire)
    assert outcome.fault is not None


async def test_a_redirect_after_which_nothing_comes_is_too_late(wire: Wire) -> None:
    async def answer(request: bytes, writer: Writer) -> None:
        if b"/slow" in request:
            await anyio.sleep_forever()
        await redirecting(lambda _: "/slow")(request, writer)

    async with listening(answer, keep_alive=True) as server:
        outcome = await wire.send(post(server.url), seconds=0.5)
    assert outcome.fault is not None
    assert outcome.fault.kind == "timeout"


async def test_a_redirect_without_location_is_what_was_seen(wire: Wire) -> None:
    outcome = await sent_to(saying(response(b"", status="307 Moved")), wire)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert outcome.seen.status == 307


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "304 Not Modified"])
async def test_redirects_that_change_the_method_are_not_followed(wire: Wire, status: str) -> None:
    answer = saying(response(b"", status=status, headers="Location: /other\r\n"))
    async with listening(answer) as server:
        outcome = await wire.send(post(server.url))
    assert outcome.seen is not None
    assert outcome.seen.status == int(status[:3])
    assert header_of(outcome.seen.headers, "location") == "/other"
    assert len(server.requests) == 1


# ---- TLS -----------------------------------------------------------------------------------


@asynccontextmanager
async def with_tls() -> AsyncIterator[Listening]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    async with listening(saying(response()), tls=context) as server:
        yield server


async def test_a_self_signed_certificate_is_not_trusted(wire: Wire) -> None:
    async with with_tls() as server:
        outcome = await wire.send(post(server.url))
    assert outcome.fault is not None
    assert outcome.fault.kind == "tls"
    assert "self" in outcome.fault.detail.lower()
    assert server.requests == []


async def test_tls_to_a_plain_port(wire: Wire) -> None:
    async with listening(saying(response())) as server:
        outcome = await wire.send(post(server.url.replace("http:", "https:")), seconds=1)
    assert outcome.fault is not None
    assert outcome.fault.kind in ("tls", "timeout")


async def test_plain_http_to_a_tls_port(wire: Wire) -> None:
    async with with_tls() as server:
        outcome = await wire.send(post(server.url.replace("https:", "http:")))
    assert outcome.fault is not None
    assert outcome.fault.kind in ("reset", "protocol")


async def test_a_trusted_certificate_is_used(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    async with with_tls() as server:
        outcome = await wire.send(post(server.url))
    assert outcome.fault is None, outcome.fault


# ---- streams -------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\r\n"


def streaming(*events: str, then: Callable[[], object] = anyio.sleep_forever) -> Answer:
    async def answer(request: bytes, writer: Writer) -> None:
        writer.write(HEAD)
        for event in events:
            writer.write(f"data: {event}\n\n".encode())
            await writer.drain()
        await then()  # type: ignore[misc]

    return answer


async def test_a_stream_that_ends_is_complete(wire: Wire) -> None:
    outcome = await sent_to(streaming("a", "b", then=anyio.lowlevel.checkpoint), wire)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert [event.data for event in outcome.seen.events] == ["a", "b"]
    assert outcome.seen.body == b"data: a\n\ndata: b\n\n"
    assert outcome.seen.cut is False
    assert all(outcome.started <= e.at <= outcome.ended for e in outcome.seen.events)


async def test_a_stream_is_left_once_an_event_is_enough(wire: Wire) -> None:
    told: list[str] = []

    def enough(event: Event) -> bool:
        told.append(event.data)
        return event.data == "b"

    outcome = await sent_to(streaming("a", "b"), wire, on_event=enough)
    assert told == ["a", "b"]
    assert outcome.fault is None
    assert outcome.seen is not None
    assert outcome.seen.cut is True


async def test_a_stream_is_left_when_told_so(wire: Wire) -> None:
    enough = anyio.Event()

    def first(event: Event) -> bool:
        enough.set()
        return False

    outcome = await sent_to(streaming("a"), wire, on_event=first, enough=enough)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert outcome.seen.cut is True
    assert [event.data for event in outcome.seen.events] == ["a"]


async def test_a_stream_has_begun_before_anything_comes_on_it(wire: Wire) -> None:
    begun, enough = anyio.Event(), anyio.Event()

    async def leave_once_begun() -> None:
        await begun.wait()
        enough.set()

    async def silent(request: bytes, writer: Writer) -> None:
        assert not begun.is_set()
        writer.write(HEAD)
        await writer.drain()
        await anyio.sleep_forever()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(leave_once_begun)
            outcome = await sent_to(silent, wire, begun=begun, enough=enough)
    assert outcome.seen is not None
    assert outcome.seen.events == ()


async def test_leaving_before_anything_came_is_no_fault(wire: Wire) -> None:
    enough = anyio.Event()

    async def asked(request: bytes, writer: Writer) -> None:
        enough.set()
        await anyio.sleep_forever()

    outcome = await sent_to(asked, wire, enough=enough)
    assert (outcome.fault, outcome.seen) == (None, None)


async def test_an_answer_that_came_in_time_is_not_cut(wire: Wire) -> None:
    outcome = await sent_to(saying(response()), wire, enough=anyio.Event(), hang_up_after=4.0)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert outcome.seen.cut is False


@pytest.mark.parametrize("answer", [saying(b""), saying(b"nonsense\r\n\r\n"), resetting])
async def test_a_fault_is_one_also_where_leaving_is_possible(wire: Wire, answer: Answer) -> None:
    outcome = await sent_to(answer, wire, enough=anyio.Event())
    assert outcome.fault is not None


async def test_hanging_up_is_no_fault(wire: Wire) -> None:
    outcome = await sent_to(streaming("a"), wire, hang_up_after=0.3)
    assert outcome.fault is None
    assert outcome.seen is not None
    assert outcome.seen.cut is True


async def test_hanging_up_never_outlasts_the_bound(wire: Wire) -> None:
    outcome = await sent_to(resting, wire, seconds=0.2, hang_up_after=60.0)
    assert outcome.fault is not None
    assert outcome.fault.kind == "timeout"


async def test_a_stream_that_breaks_off_shows_what_came(wire: Wire) -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    )
    outcome = await sent_to(saying(chunked + b"\r\n9\r\ndata: a\n\n\r\n5\r\nda"), wire)
    assert outcome.fault is not None
    assert outcome.fault.kind == "reset"
    assert outcome.seen is not None
    assert [event.data for event in outcome.seen.events] == ["a"]


async def test_the_server_notices_that_we_hung_up(wire: Wire) -> None:
    noticed = anyio.Event()

    async def answer(request: bytes, writer: Writer) -> None:
        writer.write(HEAD + b"data: a\n\n")
        await writer.drain()
        try:
            while True:
                await anyio.sleep(0.01)
                writer.write(b": still here\n\n")
                await writer.drain()
        except ConnectionError:
            noticed.set()

    with anyio.fail_after(PATIENCE):
        async with listening(answer) as server:
            await wire.send(post(server.url), on_event=lambda event: True)
            await noticed.wait()


async def test_being_stopped_from_outside_stops(wire: Wire) -> None:
    asked = anyio.Event()

    async def answer(request: bytes, writer: Writer) -> None:
        asked.set()
        await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        async with listening(answer) as server, anyio.create_task_group() as group:

            async def send() -> None:
                await wire.send(post(server.url), enough=anyio.Event())
                pytest.fail("it was not stopped")

            group.start_soon(send)
            await asked.wait()
            group.cancel_scope.cancel()
