"""What was found out about a server before it is driven: handed to every process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from conformance.wire.exchange import JsonObject


@dataclass(frozen=True)
class ToolUse:
    """A tool, the arguments it is called with, and what it did when it was tried.

    ``seconds`` is how long its task lived until it ended, ``None`` where it did not end or
    made no task; ``at_least`` is how long it lived for certain, since a task is looked at only
    as often as the server wants it. ``how`` says where the roles come from: ``observed``,
    ``named`` by the user, or ``recognised`` as a fixture of the official suite.
    """

    name: str
    arguments: JsonObject = field(default_factory=dict)
    schema: JsonObject = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    how: str = "observed"
    seconds: float | None = None
    status: str | None = None
    at_least: float | None = None

    def plays(self, role: str) -> bool:
        return role in self.roles


@dataclass(frozen=True)
class Surroundings:
    """The result of looking around: server identity, what it offers, and its tools."""

    server: JsonObject = field(default_factory=dict)
    versions: tuple[str, ...] = ()
    extension: bool = False
    discovered: bool = True
    capabilities: JsonObject = field(default_factory=dict)
    tools: tuple[ToolUse, ...] = ()
    permitted: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        return asdict(self)


def tools_from_json(records: Iterable[Mapping[str, Any]]) -> tuple[ToolUse, ...]:
    """The tools that ``dataclasses.asdict`` and JSON made these values of. Raises ``TypeError``
    and ``KeyError`` for other values."""
    return tuple(ToolUse(**{**tool, "roles": tuple(tool["roles"])}) for tool in records)


def surroundings_from_json(record: Mapping[str, Any]) -> Surroundings:
    tools = tools_from_json(record.get("tools", ()))
    plain = {k: v for k, v in record.items() if k not in ("tools",)}
    for name in ("versions", "permitted", "forbidden"):
        plain[name] = tuple(plain.get(name, ()))
    return Surroundings(**plain, tools=tools)
