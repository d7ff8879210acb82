"""How to see a violation again: as lines of curl, or by doing the sequence again that shows it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from conformance.report.results import Results, RuleResult
from conformance.report.visible import visible
from conformance.wire.secrets import MASK

# Where the files of the evidence are, unless it is said.
HISTORY = Path("reports/history")
# The file of a sequence that was found is called by the rule that it breaks.
_FOUND = re.compile(r"(?:.*/)?sequences\.[a-z0-9-]+\.[a-z0-9.-]+\.jsonl")

# What the curl lines say where they do not name every request.
_LEFT_OUT = re.compile(r"^# \d+ more requests came here$", re.MULTILINE)


def shown_by_sequence(rule: RuleResult) -> bool:
    """Whether it is a sequence that was found, which shows best that a rule is violated."""
    return bool(rule.violated and rule.evidence and _FOUND.fullmatch(rule.evidence[0].history))


def replay(rule: RuleResult, results: Results, history: Path = HISTORY) -> str:
    """Lines for a shell that do the sequence again that shows a violation; empty where none does.
    ``history`` is the folder of the files that the evidence names."""
    if not shown_by_sequence(rule):
        return ""
    file = history / visible(rule.evidence[0].history, 200)
    command = ["mcp-tasks-conformance", "replay", file.as_posix(), visible(results.target.url, 500)]
    script = shlex.join(["bash", file.with_suffix(".sh").as_posix()])
    headers = "  # and the run's --header options\n" if _has_secrets(rule) else "\n"
    return f"{shlex.join(command)}{headers}# or, with curl alone: {script}"


def _has_secrets(rule: RuleResult) -> bool:
    """Whether the requests had headers whose values are kept from the evidence."""
    return any(
        MASK in value for each in rule.evidence for _, value in each.request.get("headers", ())
    )


def again(rule: RuleResult, results: Results, history: Path = HISTORY) -> str:
    """Lines for a shell that show a violation again; empty where there are none.

    Of a sequence every request matters: curl lines that leave out some are left out.
    """
    replayed = replay(rule, results, history)
    if not replayed:
        return rule.reproduce
    return replayed if _LEFT_OUT.search(rule.reproduce) else f"{replayed}\n\n{rule.reproduce}"
