"""Reference servers as an operator runs them: several on one store, and one that restarts."""

from __future__ import annotations

import contextlib
import shlex
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from fixtures.serve import Settings, running

_POKE = (
    "import socket, sys;"
    " door = socket.create_connection(('127.0.0.1', {port}));"
    " sys.exit(door.recv(1) != b'.')"
)


@contextlib.contextmanager
def with_store(settings: Settings) -> Iterator[Settings]:
    """The settings with a store that outlives a server, where they name none."""
    if settings.store is not None:
        yield settings
        return
    with tempfile.TemporaryDirectory(prefix="store-", ignore_cleanup_errors=True) as folder:
        yield replace(settings, store=Path(folder) / "tasks.sqlite")


@contextlib.contextmanager
def replicas(settings: Settings, count: int = 2) -> Iterator[list[str]]:
    """The URLs of several servers on one store."""
    with with_store(settings) as shared, contextlib.ExitStack() as stack:
        yield [stack.enter_context(running(shared)) for _ in range(count)]


@contextlib.contextmanager
def restartable(settings: Settings) -> Iterator[tuple[str, str]]:
    """The URL of a server, and a command line that stops it and starts it again: on the same
    port and the same store."""
    with with_store(settings) as kept, contextlib.ExitStack() as ending:
        server = contextlib.ExitStack()
        ending.callback(lambda: server.close())
        url = server.enter_context(running(kept))
        again = replace(kept, port=urlsplit(url).port or 0)
        door = ending.enter_context(socket.create_server(("127.0.0.1", 0)))

        def restart_on_request() -> None:
            nonlocal server
            while True:
                try:
                    visitor, _ = door.accept()
                except OSError:
                    return
                with visitor:
                    server.close()
                    server = contextlib.ExitStack()
                    server.enter_context(running(again))
                    visitor.sendall(b".")

        waiting = threading.Thread(target=restart_on_request, daemon=True)
        waiting.start()
        ending.callback(waiting.join, 10)
        # Closing alone does not wake who waits in accept.
        ending.callback(lambda: _close(door))
        port = door.getsockname()[1]
        command = shlex.join([sys.executable, "-c", _POKE.format(port=port)])
        yield url, command


def _close(door: socket.socket) -> None:
    with contextlib.suppress(OSError):
        door.shutdown(socket.SHUT_RDWR)
    door.close()
