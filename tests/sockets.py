"""Small servers on real sockets that send exactly the bytes a test wants."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Writer = asyncio.StreamWriter
# Given the request as it came; writes the answer. The connection is closed after it, unless
# the request should be followed by others on the same connection.
Answer = Callable[[bytes, Writer], Awaitable[None]]

JSON = b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}'


@dataclass
class Listening:
    """A running server: its URL, and the raw requests that it got."""

    url: str
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0


def response(
    body: bytes = JSON,
    *,
    status: str = "200 OK",
    content_type: str = "application/json",
    headers: str = "",
    length: int | None = None,
) -> bytes:
    """A whole response; ``headers`` are further lines, each with its CR LF."""
    said = len(body) if length is None else length
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {said}\r\n"
    return (head + headers + "\r\n").encode("latin-1") + body


def saying(data: bytes) -> Answer:
    """Answers every request with these bytes."""

    async def answer(request: bytes, writer: Writer) -> None:
        writer.write(data)
        await writer.drain()

    return answer


@asynccontextmanager
async def listening(
    answer: Answer, *, keep_alive: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Listening]:
    """Serve on a free port of loopback until the block ends."""
    busy: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: Writer) -> None:
        found.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                request = await read_request(reader)
                found.requests.append(request)
                await answer(request, writer)
                if not keep_alive:
                    break
        writer.close()

    def connected(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        busy.add(task)
        task.add_done_callback(busy.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    found = Listening(f"{'https' if tls else 'http'}://127.0.0.1:{port}/mcp")
    try:
        yield found
    finally:
        server.close()
        for task in list(busy):
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One request with its body, so that no answer comes before the question."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)
