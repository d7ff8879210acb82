"""Trying the tools: which are called, with what arguments, and what becomes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import anyio

from conformance.drive.driver import Driver, OutOfTime, ServerGone
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.errors import UsageError
from conformance.specification.states import is_terminal
from conformance.target.arguments import CannotFill, arguments_for
from conformance.target.target import FIXTURE_ARGUMENTS, FIXTURE_TOOLS, Target
from conformance.wire.exchange import JsonObject

_TOOLS_TRIED = {"quick": 16, "standard": 32, "thorough": 200}
_TRIED_AT_ONCE = 12
_NAMES_TOLD = 10
# A task that cannot be read while it is at work may be when it is done.
_PATIENCE_SECONDS = 2.0

Tell = Callable[[str], None]


def planned(target: Target, found: Surroundings, listed: list[JsonObject]) -> list[ToolUse]:
    """The tools to try, each with its arguments; those that the user named come first.

    Raises ``UsageError`` where the user named a tool that the server does not list.
    """
    schemas = {tool["name"]: tool.get("inputSchema", {}) for tool in listed}
    uses: list[ToolUse] = []
    for named in target.tools:
        if schemas and named.name not in schemas:
            close = get_close_matches(named.name, schemas, n=1)
            hint = f"did you mean {close[0]!r}?" if close else _names(schemas)
            raise UsageError(f"--tool {named.name!r}: the server lists no such tool; {hint}")
        schema = schemas.get(named.name, {})
        arguments = named.arguments
        if arguments is None:
            arguments = _arguments_or_none(schema, target.seed) or {}
        roles = (named.role,) if named.role else ()
        uses.append(ToolUse(named.name, arguments, _mapping(schema), roles, "named"))
    named_names = {use.name for use in uses}
    for name in found.permitted[: _TOOLS_TRIED[target.effort]]:
        if name in named_names:
            continue
        arguments = FIXTURE_ARGUMENTS.get(name)
        if arguments is None:
            arguments = _arguments_or_none(schemas[name], target.seed)
        if arguments is not None:
            how = "recognised" if name in FIXTURE_TOOLS else "observed"
            uses.append(ToolUse(name, arguments, _mapping(schemas[name]), (), how))
    return uses


def _names(tools: Collection[str]) -> str:
    """The first of them, in words."""
    more = f" and {len(tools) - _NAMES_TOLD} more" if len(tools) > _NAMES_TOLD else ""
    return f"it lists {', '.join(sorted(tools)[:_NAMES_TOLD])}{more}"


def _arguments_or_none(schema: object, seed: int) -> JsonObject | None:
    try:
        return arguments_for(schema if schema else {"type": "object"}, f"conformance-{seed}")
    except CannotFill:
        return None


def _mapping(schema: object) -> JsonObject:
    return schema if isinstance(schema, dict) else {}


async def try_tools(driver: Driver, uses: list[ToolUse], tell: Tell) -> list[ToolUse]:
    """Call each tool once and follow what comes of it, all at the same time.

    Returns the uses with how long each task lived and how it ended; the roles themselves
    are read off the history afterwards.
    """
    tried: dict[int, ToolUse] = {}
    places = anyio.CapacityLimiter(_TRIED_AT_ONCE)

    async def follow(index: int, use: ToolUse) -> None:
        async with places:
            tried[index] = await _try_tool(driver, use)
            tell(f"tried {use.name}")

    async with anyio.create_task_group() as group:
        for index, use in enumerate(uses):
            group.start_soon(follow, index, use)
    return [tried.get(index, use) for index, use in enumerate(uses)]


async def _try_tool(driver: Driver, use: ToolUse) -> ToolUse:
    try:
        followed = await follow_task(driver, use, marker=f"conformance-{driver.target.seed}")
    except (ServerGone, OutOfTime):
        return use
    if followed is None:
        return use
    task, seconds = followed
    status = str(task.get("status"))
    return replace(use, status=status, seconds=seconds if is_terminal(status) else use.seconds)


async def follow_task(
    driver: Driver, use: ToolUse, **options: Any
) -> tuple[JsonObject, float] | None:
    """Call a tool and follow its task. Returns the task as it was read last and for how many
    seconds it was followed, ``None`` where there was none to read.

    ``options`` are what ``create`` and ``finish`` have in common. Where a task could not be read
    another is made: once may be an accident, and if it is none, nothing else shows it.
    """
    for patience in (_PATIENCE_SECONDS, 0.0):
        created = await driver.create(use, **options)
        if created is None:
            return None
        begun = time.monotonic()
        last = await driver.finish(created.task_id, patience=patience, **options)
        seconds = time.monotonic() - begun
        if last is not None:
            return None if last.task is None else (last.task, seconds)
        if seconds >= driver.target.max_wait:
            return None
    return None
