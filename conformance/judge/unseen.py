"""Why nothing was observed of a rule, and what to pass to have it observed."""

from __future__ import annotations

from conformance.judge.rule import Rule
from conformance.judge.shown import brief
from conformance.specification.names import TOOLS_CALL
from conformance.target.roles import (
    IDENTITIES,
    LEGACY,
    LISTEN,
    NEWER,
    REPLICAS,
    RESTART,
    TOOL_ROLES,
    WITHOUT_TASKS,
    tools_with,
)
from conformance.wire.exchange import ORDINARY, Exchange
from conformance.wire.history import History

_NOT_REACHED = "the run did not come to it"
_TO_GIVE = {
    IDENTITIES: "it needs a second caller: pass --other-header 'Authorization: Bearer …'",
    REPLICAS: "it needs more than one URL of the same service: pass --replica URL",
    RESTART: "it needs the server to be restarted: pass --restart-command COMMAND",
}
# A server may refuse one call for reasons of its own.
_MANY_REFUSALS = 3


def is_for_users_to_give(reason: str) -> bool:
    """Whether nothing was observed for want of what only whoever runs the suite can give: whatever
    else is wrong with the server, that it is not judged has this reason."""
    return reason in _TO_GIVE.values()


def missing_reason(rule: Rule, history: History) -> str:
    """A reason for a rule of which a history has no observation."""
    given = history.circumstances
    if given.recorded:
        return "the recorded traffic shows nothing of it: `run` would ask the server"
    not_given = {
        IDENTITIES: len(given.callers) < 2,
        REPLICAS: given.replicas < 2,
        RESTART: not given.restart,
    }
    for need in rule.needs:
        if not_given.get(need):
            return _TO_GIVE[need]
        if need == NEWER:
            return "it needs a server that also speaks 2026-07-28"
        if need == WITHOUT_TASKS:
            return "it is about servers that do not declare tasks"
        if need == LEGACY:
            return "it needs a server that also speaks 2025-11-25"
        if need == LISTEN:
            continue
        if need in TOOL_ROLES and not tools_with(history, need):
            if not given.permitted:
                return (
                    f"it needs {TOOL_ROLES[need]}, and no tool may be called: "
                    f"pass --tool {need}:NAME or --explore all"
                )
            return (
                f"it needs {TOOL_ROLES[need]}; none of the {len(given.permitted)} tools that"
                f" may be called was seen to be one: pass --tool {need}:NAME={{arguments}}"
            )
    refused = history.derive(_refused_later)
    if len(refused) >= _MANY_REFUSALS:
        words = next(filter(None, map(_words_of, refused)), "")
        return (
            f"{_NOT_REACHED}: {len(refused)} calls of tools that had become tasks before were"
            f" answered with an error{f', such as {brief(words)}' if words else ''}"
        )
    if given.effort == "quick":
        return f"{_NOT_REACHED}: pass --effort standard"
    return _NOT_REACHED


def _refused_later(history: History) -> list[Exchange]:
    """Calls that were meant to become tasks and were answered with an error, of tools that had
    become tasks before."""
    became: set[str | None] = set()
    refused: list[Exchange] = []
    for call in history.exchanges:
        if call.method != TOOLS_CALL or call.intent != ORDINARY:
            continue
        asked = call.declares_tasks or "task" in call.params
        if call.handle is not None:
            became.add(call.tool)
        elif asked and call.tool in became and _is_an_error(call):
            refused.append(call)
    return refused


def _is_an_error(call: Exchange) -> bool:
    return call.error is not None or (call.result or {}).get("isError") is True


def _words_of(refused: Exchange) -> str:
    """What a server says of a call that it refuses; empty where it says nothing."""
    if refused.error is not None:
        words = refused.error.get("message")
    else:
        content = (refused.result or {}).get("content")
        first = content[0] if isinstance(content, list) and content else None
        words = first.get("text") if isinstance(first, dict) else None
    return words if isinstance(words, str) else ""
