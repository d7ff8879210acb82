"""The tools that sequences may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.drive.surroundings import ToolUse, tools_from_json
from conformance.target import roles

# What takes longer by itself (seconds) is not used, where another tool is at hand.
_LONGEST_SECONDS = 3.0


@dataclass(frozen=True)
class Toolbox:
    """The tools that sequences may use, by what can be done with their tasks. Of the quick ones
    those are ``telling`` whose results show which call they are of."""

    asking: tuple[ToolUse, ...] = ()
    several: tuple[ToolUse, ...] = ()
    slow: tuple[ToolUse, ...] = ()
    quick: tuple[ToolUse, ...] = ()
    telling: tuple[ToolUse, ...] = ()
    short: tuple[ToolUse, ...] = ()
    before: tuple[ToolUse, ...] = ()
    plain: tuple[ToolUse, ...] = ()
    identities: bool = False
    replicas: bool = False
    revision: str = "2026-07-28"

    @property
    def weighted(self) -> tuple[ToolUse, ...]:
        """Tools to make tasks with; those whose tasks live long stand in it more often."""
        shares = (
            (self.several, 8),
            (self.asking, 5),
            (self.quick, 5),
            (self.slow, 2),
            (self.short, 2),
            (self.before, 1),
        )
        found: list[ToolUse] = []
        for tools, share in shares:
            found += [tools[i % len(tools)] for i in range(max(share, len(tools)))] if tools else []
        return tuple(found)


def toolbox_from_json(record: Mapping[str, Any]) -> Toolbox:
    """The toolbox that ``dataclasses.asdict`` and JSON made these values of."""
    uses = {
        name: tools_from_json(value) for name, value in record.items() if isinstance(value, list)
    }
    return Toolbox(**{**record, **uses})


def toolbox(
    tools: Sequence[ToolUse], *, identities: bool, replicas: bool, revision: str
) -> Toolbox:
    """Sort the tools that were seen to make tasks."""

    def some(uses: Sequence[ToolUse], most: int) -> tuple[ToolUse, ...]:
        # By name: how quick they were differs from run to run, and plans must not.
        return tuple(sorted(uses, key=lambda use: use.name)[:most])

    able = [t for t in tools if t.plays(roles.TASK) and not t.plays(roles.LARGE)]
    able = [t for t in able if t.seconds is None or t.seconds <= _LONGEST_SECONDS] or able[:1]
    short = [t for t in able if t.plays(roles.SHORT_TTL)]
    before = [t for t in able if t.plays(roles.BEFORE)]
    rest = [t for t in able if t not in short and t not in before]
    asking = [t for t in rest if t.plays(roles.INPUT)]
    slow = [t for t in rest if t.plays(roles.SLOW) and t not in asking]
    quick = [t for t in rest if t not in asking and t not in slow]
    telling = [t for t in quick if t.plays(roles.ECHO)]
    plain = [t for t in tools if t.plays(roles.SYNC) and not t.plays(roles.TASK)]
    return Toolbox(
        asking=some(asking, 5),
        several=some([t for t in asking if t.plays(roles.INPUTS)], 3),
        slow=some(slow, 2),
        quick=some(quick, 5),
        telling=some(telling, 2),
        short=some(short, 1),
        before=some(before, 1),
        plain=some(plain, 1),
        identities=identities,
        replicas=replicas,
        revision=revision,
    )
