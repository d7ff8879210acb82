"""A warehouse server, written with FastMCP and its tasks extension as its users write them.

It knows nothing of any conformance suite: what it puts on the wire is the framework's doing.
Task state is kept in memory (the framework's ``memory://`` backend, its default), so no Redis
is needed.

Run it as ``python tests/subjects/fastmcp_server.py PORT [POLL_SECONDS]``. PORT 0 picks a free
port. The MCP URL is printed on standard output once the server accepts connections.
POLL_SECONDS is what the server suggests as polling interval; the framework's default is 5.
"""

import asyncio
import sys
from datetime import timedelta
from typing import Any

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.dependencies import Progress
from fastmcp.utilities.tasks import DEFAULT_POLL_INTERVAL, TaskConfig
from fastmcp_tasks import TasksExtension
from mcp.shared.exceptions import MCPError
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ToolAnnotations,
)

READ_ONLY = ToolAnnotations(read_only_hint=True)
SUPPLIER_UNREACHABLE = 4100
EXPORT_STEPS = 4
EXPORT_STEP_SECONDS = 0.3


def question(message: str, field: str, title: str) -> ElicitRequest:
    """Build a form of one text field."""
    return ElicitRequest(
        params=ElicitRequestFormParams(
            message=message,
            requested_schema={
                "type": "object",
                "properties": {field: {"type": "string", "title": title}},
                "required": [field],
            },
        )
    )


def answer(context: Context, key: str, field: str) -> str | None:
    """Give what the user typed, or the words they refused with; None when not yet asked."""
    response = (context.input_responses or {}).get(key)
    if not isinstance(response, ElicitResult):
        return None
    if response.action != "accept" or response.content is None:
        return f"no answer ({response.action})"
    return str(response.content.get(field))


def warehouse(poll_interval: timedelta) -> FastMCP:
    """Build the server, its tools and its task backend."""
    server = FastMCP("Warehouse", version="1.4.0")
    server.add_extension(TasksExtension())
    background = TaskConfig(poll_interval=poll_interval)
    background_only = TaskConfig(mode="required", poll_interval=poll_interval)

    @server.tool(annotations=READ_ONLY)
    def count_items(shelf: str = "A1") -> str:
        """Count the items on a shelf."""
        return f"There are {7 * len(shelf)} items on shelf {shelf}."

    @server.tool(task=background, annotations=READ_ONLY)
    async def export_inventory(rows: int = 1000, progress: Progress = Progress()) -> str:  # noqa: B008
        """Export the inventory as CSV. Takes a second or two."""
        await progress.set_total(EXPORT_STEPS)
        for step in range(EXPORT_STEPS):
            await progress.set_message(f"Exported {rows * step // EXPORT_STEPS} of {rows} rows")
            await asyncio.sleep(EXPORT_STEP_SECONDS)
            await progress.increment()
        return f"Exported {rows} rows to inventory.csv."

    @server.tool(task=background, annotations=READ_ONLY)
    async def describe_item(name: str) -> str:
        """Describe an item in a sentence."""
        return f"{name}: in stock, ships within two days."

    @server.tool(task=background, annotations=READ_ONLY)
    async def read_barcode(code: str) -> str:
        """Look up an item by its 13-digit barcode."""
        if len(code) != 13 or not code.isdigit():
            raise ValueError(f"{code!r} is not a 13-digit barcode")
        return f"Barcode {code} belongs to a box of nails."

    @server.tool(task=background, annotations=READ_ONLY)
    async def check_supplier(supplier: str = "Acme") -> str:
        """Ask a supplier's own system what is in stock there."""
        raise MCPError(SUPPLIER_UNREACHABLE, f"The system of {supplier} cannot be reached.")

    @server.tool(task=background, annotations=READ_ONLY)
    async def quote_delivery(context: Context) -> str | InputRequiredResult:
        """Quote the price of a delivery. Asks where to."""
        city = answer(context, "city", "city")
        if city is None:
            return InputRequiredResult(
                input_requests={"city": question("Where should it go?", "city", "City")}
            )
        return f"A delivery costs 12 euros. Destination: {city}."

    @server.tool(task=background, annotations=READ_ONLY)
    async def compare_offers(context: Context) -> str | InputRequiredResult:
        """Compare the offers of two suppliers. Asks for both of them together."""
        first = answer(context, "first", "supplier")
        second = answer(context, "second", "supplier")
        if first is None or second is None:
            return InputRequiredResult(
                input_requests={
                    "first": question("Which is the first supplier?", "supplier", "Supplier"),
                    "second": question("Which is the second supplier?", "supplier", "Supplier"),
                }
            )
        return f"First: {first}. Second: {second}. Both ask 99 euros."

    @server.tool(task=background, annotations=READ_ONLY)
    async def find_replacement(context: Context) -> str | InputRequiredResult:
        """Find a replacement for a part. Asks for the part, then for the colour."""
        part = context.request_state or answer(context, "question", "part")
        if part is None:
            return InputRequiredResult(
                input_requests={"question": question("Which part?", "part", "Part")}
            )
        colour = answer(context, "question", "colour") if context.request_state else None
        if colour is None:
            return InputRequiredResult(
                input_requests={"question": question("Which colour?", "colour", "Colour")},
                request_state=part,
            )
        return f"Part: {part}. Colour: {colour}. Take number 4711 instead."

    @server.tool(task=background, annotations=READ_ONLY)
    async def dump_movements(kilobytes: int = 300) -> str:
        """Dump the log of stock movements, as text."""
        line = "2026-01-01 00:00:00 moved one box from A1 to B7\n"
        return (line * (kilobytes * 1024 // len(line) + 1))[: kilobytes * 1024]

    @server.tool(task=background_only, annotations=READ_ONLY)
    async def forecast_demand(weeks: int = 4) -> str:
        """Forecast the demand of the coming weeks. Runs in the background only."""
        await asyncio.sleep(EXPORT_STEP_SECONDS)
        return f"Demand over {weeks} weeks: steady."

    return server


class AnnouncingServer(uvicorn.Server):
    """Prints the MCP URL once the socket listens and the task backend runs."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}/mcp", flush=True)


def main() -> None:
    port = int(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else DEFAULT_POLL_INTERVAL.total_seconds()
    application = warehouse(timedelta(seconds=seconds)).http_app()
    config = uvicorn.Config(
        application,
        host="127.0.0.1",
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    AnnouncingServer(config).run()


if __name__ == "__main__":
    main()
