"""A reference server that lists many tools: ``python -m benchmarks.many_tools NUMBER``."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn

from fixtures.reference.server import Server
from fixtures.reference.settings import Settings
from fixtures.reference.tools import TOOLS, Tool


class ManyTools(Server):
    """Lists so many tools, the first of which are those of the reference server."""

    number = 1

    def tools(self) -> tuple[Tool, ...]:
        plain = next(tool for tool in TOOLS if tool.name == "add_numbers")
        further = (
            dataclasses.replace(plain, name=f"add_numbers_{count}")
            for count in range(len(TOOLS), self.number)
        )
        return (*TOOLS, *further)[: self.number]


def main(number: int) -> None:
    """Serve on a free port of this machine, and print the URL."""
    import socket

    ManyTools.number = number
    with TemporaryDirectory(prefix="tasks-") as folder, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = ManyTools(Settings(store=Path(folder) / "tasks.sqlite"))
        config = uvicorn.Config(
            server.application(), ws="none", log_config=None, log_level="critical"
        )
        print(f"http://127.0.0.1:{listening.getsockname()[1]}{server.path}", flush=True)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(int(sys.argv[1]))
