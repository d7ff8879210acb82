"""A server that repeats what it was told, wherever it can: in bodies, headers and errors."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

from conformance.specification.names import EXTENSION, META_SERVER_INFO


@contextmanager
def echoing() -> Iterator[str]:
    """The URL of a running server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(405, b"", {"Allow": "POST"})

    do_DELETE = do_GET

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            message = json.loads(raw)
            method, params = message["method"], message.get("params") or {}
        except (ValueError, TypeError, KeyError, RecursionError):
            self._send(400, f"cannot read it, {self._told()}".encode(), {})
            return
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
        result = self._result(method, params)
        if result is None:
            answer["error"] = {"code": -32601, "message": f"no {method}", "data": self._told()}
        else:
            answer["result"] = result
        body = json.dumps(answer).encode()
        self._send(404 if result is None else 200, body, {"Content-Type": "application/json"})

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        told = self._told()
        if method == "server/discover":
            return {
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}, "extensions": {EXTENSION: {}}, "x": told},
                "_meta": {META_SERVER_INFO: {"name": f"for {self._caller()}", "version": "1"}},
            }
        if method == "tools/list":
            schema = {
                "type": "object",
                "properties": {"who": {"type": "string", "default": self._caller()}},
                "required": ["who"],
            }
            names = ("repeat", f"repeat-for-{self._caller()}")
            tools = [{"name": n, "inputSchema": schema, "description": told} for n in names]
            return {"resultType": "complete", "tools": tools}
        if method == "tools/call":
            return self._task("task", f"{self._caller()}/{len(told)}")
        if method == "tasks/get":
            content = [{"type": "text", "text": told}]
            done = {"status": "completed", "result": {"content": content}}
            return {**self._task("complete", str(params.get("taskId"))), **done}
        if method in ("tasks/update", "tasks/cancel"):
            return {"resultType": "complete", "told": told}
        return None

    def _task(self, kind: str, task_id: str) -> dict[str, Any]:
        return {
            "resultType": kind,
            "taskId": task_id,
            "status": "working",
            "createdAt": "2026-07-28T12:00:00Z",
            "lastUpdatedAt": "2026-07-28T12:00:00Z",
            "ttlMs": None,
            "pollIntervalMs": 20,
        }

    def _caller(self) -> str:
        return (self.headers.get("authorization") or "nobody").rpartition(" ")[2]

    def _told(self) -> str:
        """All headers and the path, as they are and in the forms in which they travel."""
        lines = [f"{name}: {value}" for name, value in self.headers.items()] + [self.path]
        forms = []
        for line in lines:
            value = line.partition(": ")[2]
            forms += [line, quote(line, safe=""), base64.b64encode(line.encode()).decode()]
            forms += [base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")]
            forms += [value.rpartition(" ")[2], json.dumps(value)]
        return " | ".join(forms)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Echo", self._told())
        self.send_header("Set-Cookie", f"you={self._caller()}; Path=/")
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        # Some clients hang up, and some bodies are broken on purpose.
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *arguments: object) -> None:
        pass
