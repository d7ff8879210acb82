"""The ways a command can end without a verdict, each with its exit status.

Every message is one line that says what is wrong and what to do next.
"""

from __future__ import annotations


class ConformanceError(Exception):
    """Anything that ends a command early; ``exit_status`` is what the process returns."""

    exit_status = 70


class UsageError(ConformanceError):
    """The command line, a profile or a file is wrong."""

    exit_status = 2


class NothingToJudge(ConformanceError):
    """Unreachable, not MCP, another era, or the extension is not offered."""

    exit_status = 3


class BaselineError(ConformanceError):
    """The baseline names rules that do not exist or violations that no longer happen."""

    exit_status = 5


class Interrupted(ConformanceError):
    """A person stopped it. What was driven so far is kept."""

    exit_status = 130


class SuiteBug(ConformanceError):
    """The suite itself failed; no verdict is given. ``details`` is for whoever mends it."""

    exit_status = 70

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details
