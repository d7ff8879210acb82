"""Tells whether a server speaks the MCP Tasks extension as specified.

The rooms, each knowing only those before it: ``specification``, ``target``, ``wire``,
``drive``, ``judge``, ``report``. ``ARCHITECTURE.md`` shows how they fit.

``conformance.check(url)`` is the whole street in one call, for tests of your own; it returns
``conformance.Results``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.version import __version__

if TYPE_CHECKING:
    from conformance.checking import check
    from conformance.report.results import Results

__all__ = ["Results", "__version__", "check"]


def __getattr__(name: str) -> object:
    # Imported when it is first asked for: ``import conformance`` stays cheap.
    if name == "check":
        from conformance.checking import check

        return check
    if name == "Results":
        from conformance.report.results import Results

        return Results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
