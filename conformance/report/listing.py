"""``rules``: the catalogue as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

from conformance.judge.rule import Rule
from conformance.target.roles import (
    IDENTITIES,
    LEGACY,
    LISTEN,
    NEWER,
    REPLICAS,
    RESTART,
    TOOL_ROLES,
    WITHOUT_TASKS,
)

_NEEDS = {
    **TOOL_ROLES,
    LISTEN: "a server that offers subscriptions/listen",
    IDENTITIES: "a second caller (--other-header)",
    REPLICAS: "more than one URL (--replica)",
    RESTART: "a command that restarts the server (--restart-command)",
    LEGACY: "a server that also speaks 2025-11-25",
    WITHOUT_TASKS: "a server that does not declare tasks",
    NEWER: "a server that also speaks 2026-07-28",
}


def listed(rules: Iterable[Rule]) -> str:
    """One line a rule, under its topic."""
    lines: list[str] = []
    topic = ""
    count = 0
    for rule in rules:
        if rule.topic != topic:
            topic = rule.topic
            lines += ["", topic] if lines else [topic]
        lines.append(f"  {rule.id.partition('.')[2]:32} {rule.level:8} {rule.title}")
        count += 1
    lines += ["", f"{count} rules; `rules ID` explains one"]
    return "\n".join(lines)


def explained(rule: Rule) -> str:
    """Everything the catalogue says of one rule."""
    counts = "fails a run" if rule.violated == "fail" else "is a warning"
    lines = [
        f"{rule.id}: {rule.title}",
        f"level:  {rule.level} (a violation {counts})",
        f"source: {rule.source}",
    ]
    if rule.needs:
        lines.append("needs:  " + "; ".join(_NEEDS.get(need, need) for need in rule.needs))
    if rule.after:
        lines.append("judged only where these hold: " + ", ".join(rule.after))
    if rule.explanation:
        for paragraph in rule.explanation.split("\n\n"):
            lines += ["", " ".join(paragraph.split())]
    return "\n".join(lines)


def as_json_text(rules: Iterable[Rule]) -> str:
    """An array of objects with the members of a rule."""
    return json.dumps(
        [
            {
                "id": rule.id,
                "level": rule.level,
                "title": rule.title,
                "source": rule.source,
                "needs": list(rule.needs),
                "after": list(rule.after),
                "explanation": rule.explanation,
            }
            for rule in rules
        ],
        ensure_ascii=False,
        indent=1,
    )
