"""Tells whether a server speaks the MCP Tasks extension as specified.

The rooms, each knowing only those before it: ``specification``, ``target``, ``wire``,
``drive``, ``judge``, ``report``. ``ARCHITECTURE.md`` shows how they fit.
"""

from conformance.version import __version__

__all__ = ["__version__"]
