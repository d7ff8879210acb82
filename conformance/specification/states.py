"""The life of a task: its five statuses and which may be seen after which.

Source: the state diagram of the Tasks extension. ``working`` and ``input_required`` may
alternate and may end; an ended task stays as it is. A poll sees only some of the states
passed through, so what is checked is whether one sighting can follow another.
"""

from __future__ import annotations

WORKING = "working"
INPUT_REQUIRED = "input_required"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"

STATUSES = (WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED)
TERMINAL = (COMPLETED, FAILED, CANCELLED)

# The members that belong to one status only.
PAYLOAD_OF = {INPUT_REQUIRED: "inputRequests", COMPLETED: "result", FAILED: "error"}


def is_terminal(status: object) -> bool:
    return status in TERMINAL


def may_follow(earlier: str, later: str) -> bool:
    """Whether ``later`` can be seen of a task after ``earlier`` was."""
    return earlier == later if earlier in TERMINAL else later in STATUSES
