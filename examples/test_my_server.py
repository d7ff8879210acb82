"""A server's own tests check that it speaks the Tasks extension: it runs in the same process."""

import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn
from my_server import app  # an ASGI application, such as those of FastMCP and Starlette

import conformance


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    # Who connects before the server is up waits until it is.
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join()


def test_it_speaks_tasks(url: str) -> None:
    results = conformance.check(url, tools=["export"], seed=1)
    assert results.verdict == "conformant", [cause.because for cause in results.causes]
