"""A kitchen on the official Python SDK 1.30, which has the experimental tasks of 2025-11-25.

It knows nothing of any conformance suite. Version 2 of the SDK, which is in the environment of the
tests, has no such tasks, so this one has an environment of its own:

    python -m venv older && older/bin/pip install 'mcp==1.30.0'
    older/bin/python tests/subjects/mcp_older_server.py PORT

The MCP URL is http://127.0.0.1:PORT/mcp/.
"""

# mypy: ignore-errors

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import mcp.types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount

server = Server("Kitchen", version="1.0.0")
server.experimental.enable_tasks()


def text(words):
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)])


def tool(name, support, **properties):
    return types.Tool(
        name=name,
        description=f"Kitchen: {name}.",
        inputSchema={"type": "object", "properties": properties},
        execution=types.ToolExecution(taskSupport=support),
    )


TOOLS = [
    tool("order_dish", types.TASK_REQUIRED),
    tool("write_menu", types.TASK_REQUIRED, topic={"type": "string"}),
    tool("bake", types.TASK_OPTIONAL, seconds={"type": "number", "minimum": 0, "maximum": 2}),
    tool("burn", types.TASK_REQUIRED),
    tool("read_menu", types.TASK_FORBIDDEN),
]


@server.list_tools()
async def list_tools():
    return TOOLS


async def order_dish(task, arguments):
    schema = {
        "type": "object",
        "properties": {"dish": {"type": "string"}},
        "required": ["dish"],
    }
    answer = await task.elicit(message="Which dish?", requestedSchema=schema)
    return text(f"{answer.action}: {answer.content}")


async def write_menu(task, arguments):
    topic = arguments.get("topic", "autumn")
    request = types.TextContent(type="text", text=f"Write a menu about {topic}.")
    answer = await task.create_message(
        messages=[types.SamplingMessage(role="user", content=request)], max_tokens=50
    )
    return text(str(answer.content))


async def bake(task, arguments):
    await task.update_status("in the oven")
    return await baked(arguments)


async def burn(task, arguments):
    raise ValueError("it is black")


WORK = {"order_dish": order_dish, "write_menu": write_menu, "bake": bake, "burn": burn}


async def baked(arguments):
    seconds = float(arguments.get("seconds", 0.5))
    await anyio.sleep(seconds)
    return text(f"baked for {seconds:g} s")


@server.call_tool()
async def call_tool(name, arguments):
    experimental = server.request_context.experimental
    support = next(each.execution.taskSupport for each in TOOLS if each.name == name)
    experimental.validate_task_mode(support)
    if name == "read_menu":
        return text("Soup.")
    if not experimental.is_task:
        return await baked(arguments)
    return await experimental.run_task(lambda task: WORK[name](task, arguments))


manager = StreamableHTTPSessionManager(app=server)


@asynccontextmanager
async def lifespan(app) -> AsyncIterator[None]:
    async with manager.run():
        yield


if __name__ == "__main__":
    app = Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lifespan)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
