"""Sends one HTTP request and records what came back, also when nothing or nonsense came.

One ``Wire`` a process; it keeps one httpx client for each named connection. Everything is
bounded: time, size (after decompression), redirects. Nothing a server does raises here.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType

import anyio
import httpx

from conformance.version import __version__
from conformance.wire.exchange import ENCODING, Fault, Seen, Sent, header_of
from conformance.wire.reading import Reading, TooLarge
from conformance.wire.sse import Event

if importlib.util.find_spec("sniffio") is None:
    # httpcore looks for it with every request, and looking in vain takes a fifth of the time.
    sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]

# A connection that is opened for one exchange and closed after it.
FRESH = "fresh"

# So many connections may be open under one name.
_AT_ONCE = 64
_MAX_REDIRECTS = 3
_REDIRECTS = (307, 308)
_FIRST_ATTEMPT, _LAST_ATTEMPT = 1, 2
# How long a stream may go on after its last event, in seconds. Some servers never end one.
_AFTER_LAST_EVENT = 0.5

# What HTTP itself needs, where a request does not say it. An encoding would only hide what
# was sent, and firewalls turn away clients without a name.
_AUTOMATIC_HEADERS = {
    "user-agent": f"mcp-tasks-conformance/{__version__}",
    "accept-encoding": "identity",
}

# What httpx and the layers below it raise over what a server or the network does.
_NETWORK_ERRORS = (
    httpx.HTTPError,
    httpx.StreamError,
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
)


@dataclass(frozen=True)
class Limits:
    """Bounds. ``seconds`` of one exchange from start to end; ``size`` of one body in bytes.

    Once all bodies of a run together are past ``total`` bytes, a body may only have
    ``size_after`` bytes: histories are kept in memory, more than once, when they are judged.
    ``total`` counts what else a body takes when it is read, too.
    """

    seconds: float = 30.0
    size: int = 32 * 1024 * 1024
    total: int = 64 * 1024 * 1024
    size_after: int = 128 * 1024


@dataclass(frozen=True)
class Outcome:
    """What one request led to. Times are monotonic seconds."""

    started: float
    ended: float
    connection: str
    seen: Seen | None
    fault: Fault | None


class Wire:
    """The HTTP side of a run. Use it as an async context manager, in one event loop."""

    def __init__(self, *, limits: Limits | None = None, trust_environment: bool = False) -> None:
        self.limits = limits or Limits()
        self._trust_environment = trust_environment
        # A client for each request that is under way, since looking through the connections of
        # one large pool, for each request, takes longer than the request. They rest here.
        self._resting: dict[str, list[httpx.AsyncClient]] = {}
        self._places: dict[str, anyio.Semaphore] = {}
        self._contexts: dict[bool, ssl.SSLContext] = {}
        self._fresh = 0
        self._received = 0
        self._under_way: set[Reading] = set()

    async def __aenter__(self) -> Wire:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            for clients in self._resting.values():
                for client in clients:
                    await client.aclose()
        self._resting.clear()

    async def send(
        self,
        sent: Sent,
        *,
        connection: str = "main",
        seconds: float | None = None,
        on_event: Callable[[Event], bool] | None = None,
        enough: anyio.Event | None = None,
        begun: anyio.Event | None = None,
        hang_up_after: float | None = None,
        last: Callable[[Event], bool] | None = None,
    ) -> Outcome:
        """Send one request and read its whole response.

        ``on_event`` is told of each event of a stream and may return True to stop reading;
        ``last`` may say of an event that no other should follow, and then the stream is only
        read for half a second more;
        ``begun`` is set once the head of a response is there;
        ``enough`` being set stops too, as does ``hang_up_after`` (seconds): what was seen so
        far is then a normal, ``cut`` response, or none yet.
        """
        bound = self.limits.seconds if seconds is None else seconds
        patience = bound if hang_up_after is None else min(hang_up_after, bound)
        hanging_up = patience < bound
        scope = anyio.CancelScope()

        def hear(event: Event) -> bool:
            nonlocal hanging_up
            if last is not None and last(event):
                hanging_up = True
                scope.deadline = min(scope.deadline, anyio.current_time() + _AFTER_LAST_EVENT)
            return on_event is not None and on_event(event)

        reading = Reading(self._allowance, hear, begun)
        self._under_way.add(reading)
        name = self._connection_name(connection)
        started = time.monotonic()
        scope.deadline = anyio.current_time() + patience
        try:
            with scope:
                async with self._client(connection, sent.url) as client:
                    await _until(enough, lambda: self._guarded(client, sent, reading))
        finally:
            self._under_way.discard(reading)
            self._received += reading.weight
        if not reading.complete and reading.fault is None:
            if scope.cancelled_caught and not hanging_up:
                reading.fault = Fault("timeout", f"nothing complete within {bound:g} s")
            else:
                reading.cut = True
        seen = reading.seen()
        if reading.port is not None:
            name = f"{name}:{reading.port}"
        return Outcome(started, time.monotonic(), name, seen, reading.fault)

    # ---- clients -----------------------------------------------------------------------

    async def disconnect(self, connection: str) -> None:
        """Close what is open under a name. The next request on it opens a connection anew."""
        for name in [n for n in self._resting if n.rpartition(" ")[0] == connection]:
            for client in self._resting.pop(name):
                await client.aclose()

    def _allowance(self) -> int:
        limits = self.limits
        received = self._received + sum(reading.weight for reading in self._under_way)
        return limits.size if received <= limits.total else limits.size_after

    def _connection_name(self, connection: str) -> str:
        if connection != FRESH:
            return connection
        self._fresh += 1
        return f"{FRESH}-{self._fresh}"

    def _new_client(self, url: str) -> httpx.AsyncClient:
        secure = url.lower().startswith("https:")
        if secure not in self._contexts:
            # Plain http never gets to TLS, but without a context each client makes one for it.
            self._contexts[secure] = (
                ssl.create_default_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            )
        return httpx.AsyncClient(
            verify=self._contexts[secure],
            timeout=None,  # the deadline of the whole exchange rules
            limits=httpx.Limits(max_connections=2, max_keepalive_connections=1),
            follow_redirects=False,
            trust_env=self._trust_environment,
            # A cookie that is carried along would make two callers one.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    @asynccontextmanager
    async def _client(self, connection: str, url: str) -> AsyncIterator[httpx.AsyncClient]:
        if connection == FRESH:
            async with self._new_client(url) as client:
                yield client
            return
        scheme_and_host = "/".join(url.split("/", 3)[:3])
        name = f"{connection} {scheme_and_host}"
        async with self._places.setdefault(name, anyio.Semaphore(_AT_ONCE)):
            resting = self._resting.setdefault(name, [])
            client = resting.pop() if resting else self._new_client(url)
            try:
                yield client
            finally:
                if self._resting.get(name) is resting:
                    resting.append(client)
                else:  # it was disconnected meanwhile
                    with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                        await client.aclose()

    # ---- one exchange ------------------------------------------------------------------

    async def _guarded(self, client: httpx.AsyncClient, sent: Sent, reading: Reading) -> None:
        """Send and read. What goes wrong is the reading's fault, in both senses."""
        try:
            await self._follow(client, sent, reading)
        except TooLarge:
            reading.fault = Fault(
                "too-large", f"more than {reading.size} bytes, or too many values"
            )
        except _NETWORK_ERRORS as error:
            reading.fault = reading.fault or _fault_of(error)

    async def _follow(self, client: httpx.AsyncClient, sent: Sent, reading: Reading) -> None:
        url = sent.url
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._request(client, sent, url, reading)
            if response is None or response.status_code not in _REDIRECTS:
                return
            location = response.headers.get("location")
            if location is None:
                return
            try:
                target = str(httpx.URL(url).join(location))
                elsewhere = _origin(target) != _origin(url)
            except (httpx.InvalidURL, ValueError, TypeError):
                reading.fault = Fault("redirect", f"to no URL: {location[:200]!r}")
                return
            if elsewhere:
                # Credentials and test traffic go to the host that was named, to no other.
                reading.fault = Fault("redirect", f"to another host, not followed: {target[:200]}")
                return
            reading.restart()
            url = target
        reading.fault = Fault("redirect", f"more than {_MAX_REDIRECTS} in a row")

    async def _request(
        self, client: httpx.AsyncClient, sent: Sent, url: str, reading: Reading
    ) -> httpx.Response | None:
        """Read one response, as far as it is wanted. ``None`` where none was asked for."""
        for attempt in (_FIRST_ATTEMPT, _LAST_ATTEMPT):
            opened = _Opened()
            request = _built(client, sent, url, opened, reading)
            if request is None:
                return None
            try:
                response = await client.send(request, stream=True)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                # A server may close a connection that rests, in the moment we use it again.
                # Whoever closes a connection that was opened for this request means it.
                if opened.anew or attempt == _LAST_ATTEMPT:
                    raise
                continue
            await self._read(response, reading)
            return response
        return None

    async def _read(self, response: httpx.Response, reading: Reading) -> None:
        try:
            reading.begin(response)
            async for chunk in response.aiter_raw():
                if reading.add(chunk):
                    return
            reading.end()
        finally:
            # Leaving in the middle of a body must not wait for the rest of it.
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await response.aclose()


class _Opened:
    """Notices whether a connection was opened for a request: httpcore's tracing says so."""

    def __init__(self) -> None:
        self.anew = False

    async def __call__(self, event: str, details: object) -> None:
        if event == "connection.connect_tcp.started":
            self.anew = True


def _built(
    client: httpx.AsyncClient, sent: Sent, url: str, opened: _Opened, reading: Reading
) -> httpx.Request | None:
    """The request for httpx, or ``None`` and a fault where it cannot be sent."""
    try:
        request = client.build_request(
            sent.http_method,
            url,
            headers=[
                (name.encode("ascii"), value.encode("latin-1")) for name, value in sent.headers
            ],
            content=sent.body if sent.http_method == "POST" else None,
            extensions={"trace": opened},
        )
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        reading.fault = Fault("protocol", f"it cannot be sent: {error}"[:300])
        return None
    for name in ("user-agent", "accept-encoding", "accept"):
        if header_of(sent.headers, name) is None:
            request.headers.pop(name, None)
            if name in _AUTOMATIC_HEADERS:
                request.headers[name] = _AUTOMATIC_HEADERS[name]
    return request


async def _until(enough: anyio.Event | None, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work, or leave it where it stands once ``enough`` is set."""
    if enough is None:
        await work()
        return
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            await enough.wait()
            group.cancel_scope.cancel()

        group.start_soon(watch)
        await work()
        group.cancel_scope.cancel()


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = httpx.URL(url)
    return (parts.scheme, parts.host, parts.port)


def _fault_of(error: BaseException) -> Fault:
    detail = _detail_of(error)
    if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
        return Fault("tls", detail)
    if isinstance(error, httpx.DecodingError):
        return Fault(ENCODING, f"it is not compressed as it says: {detail}")
    if isinstance(error, httpx.ConnectError):
        return Fault("connect", detail)
    if isinstance(error, httpx.TimeoutException):
        return Fault("timeout", detail)
    if isinstance(error, httpx.NetworkError | OSError | anyio.EndOfStream):
        return Fault("reset", detail)
    if isinstance(error, httpx.RemoteProtocolError) and _ended_early(detail):
        return Fault("reset", detail)
    return Fault("protocol", detail)


def _ended_early(detail: str) -> bool:
    # The words of httpcore and h11 for a connection that was closed, however politely.
    return "disconnected" in detail or "closed connection" in detail


def _causes(error: BaseException | None) -> list[BaseException]:
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes


def _detail_of(error: BaseException) -> str:
    """The most telling words: of the operating system where it has some."""
    for cause in reversed(_causes(error)):
        if isinstance(cause, socket.gaierror | ssl.SSLError) and cause.strerror:
            return cause.strerror[:300]
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno)
    return str(error)[:300] or type(error).__name__
