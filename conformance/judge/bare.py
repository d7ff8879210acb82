"""What of a message is left to compare: without what a server may write anew each time it shows
the same thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def without_meta(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members but for ``_meta``, which belongs to the message and not to what it says."""
    return {name: value for name, value in members.items() if name != "_meta"}


def unsigned(url: str) -> str:
    """A URL without its query and fragment: it may be signed anew each time it is shown."""
    return url.partition("#")[0].partition("?")[0]


def bare_block(block: object) -> object:
    """A block of content without ``_meta``, null members and the signature of its ``uri``; the
    same of a resource in it."""
    if not isinstance(block, Mapping):
        return block
    bare = {name: part for name, part in without_meta(block).items() if part is not None}
    if isinstance(bare.get("uri"), str):
        bare["uri"] = unsigned(bare["uri"])
    if isinstance(bare.get("resource"), Mapping):
        bare["resource"] = bare_block(bare["resource"])
    return bare
