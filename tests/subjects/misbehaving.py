"""Things that answer at a URL and are no MCP server, or a broken one.

Run it as ``python -m tests.subjects.misbehaving PORT KIND``, where KIND is one of `KINDS`.
"""

import asyncio
import json
import socket
import struct
import sys
from collections.abc import Awaitable, Callable

RESULT = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"}}).encode()
PAGE = b"<!doctype html><html><head><title>Welcome</title></head><body>Log in</body></html>"
CHALLENGE = b"WWW-Authenticate: Bearer\r\n"
ELSEWHERE = b"Location: http://elsewhere.example/mcp\r\n"
DRIP_SECONDS = 1.0

Writer = asyncio.StreamWriter


def response(status: str, content_type: str, body: bytes, headers: bytes = b"") -> bytes:
    """Build a complete HTTP response that ends its connection."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + headers + b"Connection: close\r\n\r\n" + body


ANSWERS = {
    "html": response("200 OK", "text/html; charset=utf-8", PAGE),
    "empty": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "unauthorized": response("401 Unauthorized", "text/plain", b"Who are you?", CHALLENGE),
    "not_json": response("200 OK", "application/json", b"{'jsonrpc': it is not"),
    "wrong_content_type": response("200 OK", "text/plain", RESULT),
    "redirect_elsewhere": response("307 Temporary Redirect", "text/plain", b"Moved", ELSEWHERE),
    "internal_error": response("500 Internal Server Error", "text/plain", b"Something broke"),
}


async def hang(writer: Writer) -> None:
    """Never answer; only the client or the end of the process ends the connection."""
    await asyncio.Event().wait()


async def reset(writer: Writer) -> None:
    """Drop the connection so that the client sees a reset instead of an orderly end."""
    connection = writer.get_extra_info("socket")
    linger_for_no_time = struct.pack("ii", 1, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_for_no_time)


async def drip(writer: Writer) -> None:
    """Send a correct head at once and then the body, one byte a second."""
    whole = response("200 OK", "application/json", RESULT)
    head = whole[: -len(RESULT)]
    writer.write(head)
    for byte in RESULT:
        await asyncio.sleep(DRIP_SECONDS)
        writer.write(bytes([byte]))
        await writer.drain()


BEHAVIOURS: dict[str, Callable[[Writer], Awaitable[None]]] = {
    "hanging": hang,
    "reset": reset,
    "slow_drip": drip,
}
KINDS = (*ANSWERS, *BEHAVIOURS)


async def read_request(reader: asyncio.StreamReader) -> None:
    """Read one request with its body, so that no answer comes before the question."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    for line in head.split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.split(b":", 1)[1]))


async def serve(port: int, kind: str) -> None:
    """Serve on loopback until the process ends."""

    async def handle(reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            await read_request(reader)
            if kind in ANSWERS:
                writer.write(ANSWERS[kind])
                await writer.drain()
            else:
                await BEHAVIOURS[kind](writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            # The client gave up first.
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", flush=True)
    await server.serve_forever()


def main() -> None:
    kind = sys.argv[2]
    if kind not in KINDS:
        sys.exit(f"{kind} is none of {', '.join(KINDS)}")
    asyncio.run(serve(int(sys.argv[1]), kind))


if __name__ == "__main__":
    main()
