"""A server that speaks revision 2025-11-25 and no other.

A client must shake hands with ``initialize`` first and send the ``Mcp-Session-Id`` it is given
with everything after. Anything else is answered with HTTP 400, in the words the common SDKs use.

Run it as ``python -m tests.subjects.initialize_only PORT``.
"""

import json
import sys
import uuid
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .serving import serve

VERSION = "2025-11-25"
TOOL = {
    "name": "roll_dice",
    "description": "Roll some dice.",
    "inputSchema": {
        "type": "object",
        "properties": {"count": {"type": "integer", "default": 1}},
    },
    "annotations": {"readOnlyHint": True},
}


def refusal(code: int, message: str, *, status: int, identifier: object = None) -> Response:
    """An error response; its id is null where no session stands behind it, as in the SDKs."""
    body = {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": message}}
    return JSONResponse(body, status_code=status)


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Give the result of a method within a session; None for an unknown method."""
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        known = params.get("name") == TOOL["name"]
        text = "You rolled a four." if known else "There is no such tool."
        return {"content": [{"type": "text", "text": text}], "isError": not known}
    return None


def application() -> Starlette:
    """Build the server. Sessions live in its memory."""
    sessions: set[str] = set()

    def initialize(identifier: object) -> Response:
        session = uuid.uuid4().hex
        sessions.add(session)
        result = {
            "protocolVersion": VERSION,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "Dice", "version": "0.9.0"},
        }
        body = {"jsonrpc": "2.0", "id": identifier, "result": result}
        return JSONResponse(body, headers={"Mcp-Session-Id": session})

    async def endpoint(request: Request) -> Response:
        if request.method == "GET":
            return Response(status_code=405, headers={"Allow": "POST, DELETE"})
        try:
            message = json.loads(await request.body() or b"null")
        except ValueError:
            return refusal(-32700, "Parse error", status=400)
        initial = isinstance(message, dict) and message.get("method") == "initialize"
        if request.method == "POST" and initial:
            return initialize(message.get("id"))

        session = request.headers.get("mcp-session-id")
        if session is None:
            return refusal(-32000, "Bad Request: Server not initialized", status=400)
        if session not in sessions:
            return refusal(-32001, "Session not found", status=404)
        if request.headers.get("mcp-protocol-version", VERSION) != VERSION:
            return refusal(-32000, "Bad Request: Unsupported protocol version", status=400)
        if request.method == "DELETE":
            sessions.discard(session)
            return Response(status_code=200)
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return refusal(-32600, "Invalid Request", status=400)
        if "id" not in message:
            return Response(status_code=202)
        params = message.get("params")
        result = result_of(message["method"], params if isinstance(params, dict) else {})
        if result is None:
            return refusal(-32601, "Method not found", status=200, identifier=message["id"])
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})

    return Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])])


if __name__ == "__main__":
    serve(application(), int(sys.argv[1]))
