"""Which tools the suite may call. It is a guest: what nobody allowed is left alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

EXPLORE_CHOICES = ("safe", "all", "none")


def may_call(
    tool: Mapping[str, Any], *, named: Collection[str], explore: str, loopback: bool
) -> bool:
    """Whether a tool of ``tools/list`` may be called.

    Named tools may. With ``safe`` so may those whose annotations promise that they only read
    or do not destroy, and on a loopback URL those that promise nothing. With ``all``, every
    tool; with ``none``, only those named.
    """
    if tool.get("name") in named:
        return True
    if explore != "safe":
        return explore == "all"
    annotations = tool.get("annotations")
    hints = annotations if isinstance(annotations, Mapping) else {}
    if hints.get("readOnlyHint") is True or hints.get("destructiveHint") is False:
        return True
    promises_nothing = "readOnlyHint" not in hints and "destructiveHint" not in hints
    return loopback and promises_nothing
