"""The revisions of the specification that the suite knows, one entry each."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.errors import UsageError


@dataclass(frozen=True)
class Revision:
    """A revision: its protocol version on the wire, its schemas and its catalogue.

    ``catalogue`` grows its number whenever a rule is added or changes level, so that two
    results can be told to have been judged by the same rules.
    """

    name: str
    protocol_version: str
    schemas: str
    catalogue: str


REVISIONS = {
    "2026-07-28": Revision(
        name="2026-07-28",
        protocol_version="2026-07-28",
        schemas="2026-07-28",
        catalogue="2026-07-28/1",
    ),
}
DEFAULT_REVISION = "2026-07-28"


def revision_named(name: str) -> Revision:
    """The revision of that name. Raises ``UsageError`` naming those that exist."""
    try:
        return REVISIONS[name]
    except KeyError:
        known = ", ".join(REVISIONS)
        raise UsageError(f"unknown revision {name!r}: this suite knows {known}") from None
