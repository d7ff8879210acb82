"""A small, conformant server of revision 2026-07-28 that never creates a task.

It is the common half of two subjects: `never_tasks` offers the tasks extension, `no_extension`
does not. It shares nothing with the reference server of this repository.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

VERSION = "2026-07-28"
EXTENSION = "io.modelcontextprotocol/tasks"
PREFIX = "io.modelcontextprotocol/"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

# The member of params that Mcp-Name repeats.
NAMED_BY = {
    "tools/call": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}

Json = dict[str, Any]
Handler = Callable[[Json], Json]


@dataclass(frozen=True)
class Tool:
    """A tool that answers at once. `run` takes the arguments and gives the text."""

    name: str
    description: str
    run: Callable[[Json], str]
    argument: str
    annotations: Mapping[str, bool] = field(default_factory=dict)

    def definition(self) -> Json:
        """The tool as tools/list shows it."""
        definition: Json = {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": {self.argument: {"type": "string"}},
                "required": [self.argument],
            },
        }
        if self.annotations:
            definition["annotations"] = dict(self.annotations)
        return definition


class Refusal(Exception):
    """A JSON-RPC error and the HTTP status it travels with."""

    def __init__(self, code: int, message: str, *, status: int = 400, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.data = data

    def response(self, identifier: object) -> Response:
        error: Json = {"code": self.code, "message": str(self)}
        if self.data is not None:
            error["data"] = self.data
        body: Json = {"jsonrpc": "2.0", "error": error}
        if identifier is not None:
            body["id"] = identifier
        return JSONResponse(body, status_code=self.status)


def application(name: str, tools: list[Tool], *, offers_tasks: bool) -> Starlette:
    """Build the server. With `offers_tasks` it serves the extension's methods, to no task."""
    by_name = {tool.name: tool for tool in tools}
    extensions: Json = {"extensions": {EXTENSION: {}}} if offers_tasks else {}

    def discover(params: Json) -> Json:
        return {
            "supportedVersions": [VERSION],
            "capabilities": {"tools": {}, **extensions},
            "ttlMs": 60_000,
            "cacheScope": "public",
        }

    def list_tools(params: Json) -> Json:
        listed = [tool.definition() for tool in tools]
        return {"tools": listed, "ttlMs": 60_000, "cacheScope": "public"}

    def call_tool(params: Json) -> Json:
        tool = by_name.get(_text(params, "name"))
        if tool is None:
            raise Refusal(INVALID_PARAMS, "There is no such tool")
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict) or not isinstance(arguments.get(tool.argument), str):
            text, wrong = f"The argument {tool.argument} must be a string.", True
        else:
            text, wrong = tool.run(arguments), False
        return {"content": [{"type": "text", "text": text}], "isError": wrong}

    def no_such_task(params: Json) -> Json:
        _text(params, "taskId")
        _require_declaration(params)
        raise Refusal(INVALID_PARAMS, "There is no such task")

    def update_no_such_task(params: Json) -> Json:
        if not isinstance(params.get("inputResponses"), dict):
            raise Refusal(INVALID_PARAMS, "inputResponses must be an object")
        return no_such_task(params)

    methods: dict[str, Handler] = {
        "server/discover": discover,
        "tools/list": list_tools,
        "tools/call": call_tool,
    }
    if offers_tasks:
        methods["tasks/get"] = no_such_task
        methods["tasks/update"] = update_no_such_task
        methods["tasks/cancel"] = no_such_task

    async def endpoint(request: Request) -> Response:
        if not _origin_allowed(request.headers.get("origin")):
            return Response("Forbidden origin", status_code=403, media_type="text/plain")
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST"})
        identifier: object = None
        try:
            message = _message(await request.body())
            if "id" not in message:
                return Response(status_code=202)
            identifier = _identifier(message)
            result = _answer(message, request.headers, methods)
        except Refusal as refusal:
            return refusal.response(identifier)
        result["resultType"] = "complete"
        result["_meta"] = {PREFIX + "serverInfo": {"name": name, "version": "1.0.0"}}
        return JSONResponse({"jsonrpc": "2.0", "id": identifier, "result": result})

    every_method = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return Starlette(routes=[Route("/mcp", endpoint, methods=every_method)])


def _answer(message: Json, headers: Mapping[str, str], methods: Mapping[str, Handler]) -> Json:
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        # All that a client of an older revision will ever show its user.
        words = f"This server speaks {VERSION}, which has no handshake"
        raise Refusal(METHOD_NOT_FOUND, words, status=404, data={"supported": [VERSION]})
    version = _require_meta(params)
    _require_headers(headers, method, params, version)
    if version != VERSION:
        data = {"supported": [VERSION], "requested": version}
        raise Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", data=data)
    if method not in methods:
        raise Refusal(METHOD_NOT_FOUND, "Method not found", status=404)
    return methods[method](params)


def _origin_allowed(origin: str | None) -> bool:
    if origin is None:
        return True
    try:
        return urlsplit(origin).hostname in ("127.0.0.1", "localhost", "::1")
    except ValueError:
        return False


def _message(body: bytes) -> Json:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(PARSE_ERROR, "The body is not JSON") from None
    if (
        not isinstance(message, dict)
        or message.get("jsonrpc") != "2.0"
        or not isinstance(message.get("method"), str)
        or not isinstance(message.get("params", {}), dict)
    ):
        raise Refusal(INVALID_REQUEST, "The body is not one JSON-RPC request or notification")
    return message


def _identifier(message: Json) -> str | int:
    identifier = message["id"]
    if isinstance(identifier, bool) or not isinstance(identifier, (str, int)):
        raise Refusal(INVALID_REQUEST, "The id must be a string or an integer")
    return identifier


def _require_meta(params: Json) -> str:
    """Check the required members of _meta and give the protocol version."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise Refusal(INVALID_PARAMS, "params._meta is missing")
    version = meta.get(PREFIX + "protocolVersion")
    if not isinstance(version, str):
        raise Refusal(INVALID_PARAMS, f"_meta lacks {PREFIX}protocolVersion")
    if not isinstance(meta.get(PREFIX + "clientCapabilities"), dict):
        raise Refusal(INVALID_PARAMS, f"_meta lacks {PREFIX}clientCapabilities")
    return version


def _require_headers(headers: Mapping[str, str], method: str, params: Json, version: str) -> None:
    _require_header("MCP-Protocol-Version", headers.get("mcp-protocol-version"), version)
    _require_header("Mcp-Method", headers.get("mcp-method"), method)
    name = params.get(NAMED_BY.get(method, ""))
    if isinstance(name, str):
        _require_header("Mcp-Name", _decoded(headers.get("mcp-name")), name)


def _require_header(header: str, value: str | None, expected: str) -> None:
    if value != expected:
        raise Refusal(HEADER_MISMATCH, f"{header} is missing or differs from the body")


def _decoded(value: str | None) -> str | None:
    """Undo the Base64 form of a header value; None for one that cannot be undone."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[len("=?base64?") : -len("?=")], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _text(params: Json, member: str) -> str:
    value = params.get(member)
    if not isinstance(value, str):
        raise Refusal(INVALID_PARAMS, f"{member} must be a string")
    return value


def _require_declaration(params: Json) -> None:
    extensions = params["_meta"][PREFIX + "clientCapabilities"].get("extensions")
    if not isinstance(extensions, dict) or not isinstance(extensions.get(EXTENSION), dict):
        data: Json = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise Refusal(MISSING_CAPABILITY, "The request does not declare the extension", data=data)
