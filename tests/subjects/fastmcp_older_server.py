"""A library server on FastMCP 3 or 2.14, which have the experimental tasks of 2025-11-25.

It knows nothing of any conformance suite. FastMCP 4 cannot be in one environment with either, so
this one has its own:

    python -m venv older && older/bin/pip install 'fastmcp[tasks]==3.4.*'
    older/bin/python tests/subjects/fastmcp_older_server.py PORT

The MCP URL is http://127.0.0.1:PORT/mcp.
"""

# mypy: ignore-errors

import asyncio
import sys

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.tasks import TaskConfig

server = FastMCP("Library", version="2.1.0")


@server.tool(annotations={"readOnlyHint": True})
def count_books(shelf: str = "A1") -> str:
    """Count the books on a shelf."""
    return f"{len(shelf) * 7} books on {shelf}"


@server.tool(task=True, annotations={"readOnlyHint": True})
async def scan_catalogue(steps: int = 4) -> str:
    """Scan the catalogue; about a second."""
    for _ in range(min(steps, 20)):
        await asyncio.sleep(0.3)
    return f"scanned in {steps} steps"


@server.tool(task=TaskConfig(mode="required"), annotations={"readOnlyHint": True})
async def repeat_title(title: str = "An Example") -> str:
    """Say a title again, in the background only."""
    await asyncio.sleep(0.1)
    return f"The title is {title}."


@server.tool(task=True, annotations={"readOnlyHint": True})
async def find_missing(shelf: str = "A1") -> str:
    """Find missing books; there are always some, which is an error."""
    await asyncio.sleep(0.1)
    raise ToolError(f"3 books are missing on {shelf}")


@server.tool(task=True, annotations={"readOnlyHint": True})
async def reserve_book(context: Context) -> str:
    """Ask for a name, and reserve a book."""
    answer = await context.elicit("For whom is it?", response_type=str)
    return f"reserved ({answer.action})"


if __name__ == "__main__":
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
