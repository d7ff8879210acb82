"""Serves a Starlette application on loopback and announces its URL."""

import socket
from typing import Any

import uvicorn
from starlette.applications import Starlette


class AnnouncingServer(uvicorn.Server):
    """Prints the MCP URL on standard output once connections are accepted."""

    async def startup(self, sockets: "list[socket.socket] | None" = None) -> None:
        await super().startup(sockets=sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}/mcp", flush=True)


def serve(application: Starlette, port: int) -> None:
    """Serve until SIGTERM or SIGINT. Port 0 picks a free one."""
    options: dict[str, Any] = {"log_level": "warning", "timeout_graceful_shutdown": 1}
    AnnouncingServer(uvicorn.Config(application, host="127.0.0.1", port=port, **options)).run()
