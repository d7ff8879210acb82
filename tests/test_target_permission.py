"""Which tools may be called: the table, row by row."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from conformance.drive.exploration import is_permitted
from conformance.target.permission import may_call
from conformance.target.target import FIXTURE_TOOLS, Target, named_tool

ANYWHERE, LOOPBACK, NEVER = "anywhere", "on loopback", "never"


@pytest.mark.parametrize(
    ("annotations", "safe"),
    [
        ({"readOnlyHint": True}, ANYWHERE),
        ({"destructiveHint": False}, ANYWHERE),
        ({"readOnlyHint": True, "destructiveHint": True}, ANYWHERE),
        ({"readOnlyHint": False, "destructiveHint": False}, ANYWHERE),
        (None, LOOPBACK),
        ({}, LOOPBACK),
        ({"title": "A tool", "idempotentHint": True}, LOOPBACK),
        ("nonsense", LOOPBACK),
        ([True], LOOPBACK),
        ({"readOnlyHint": False}, NEVER),
        ({"destructiveHint": True}, NEVER),
        ({"readOnlyHint": False, "destructiveHint": True}, NEVER),
        ({"readOnlyHint": "true"}, NEVER),
        ({"readOnlyHint": 1}, NEVER),
        ({"destructiveHint": 0}, NEVER),
        ({"readOnlyHint": None}, NEVER),
    ],
)
def test_annotations(annotations: object, safe: str) -> None:
    tool = {"name": "it"} if annotations is None else {"name": "it", "annotations": annotations}
    for explore, loopback in itertools.product(("safe", "all", "none"), (True, False)):
        expected = explore == "all" or (
            explore == "safe" and (safe == ANYWHERE or (safe == LOOPBACK and loopback))
        )
        allowed = may_call(tool, named=(), explore=explore, loopback=loopback)
        assert allowed is expected, (explore, loopback)
        # Named tools may always be called, and naming one allows no other.
        assert may_call(tool, named=("it",), explore=explore, loopback=loopback)
        assert may_call(tool, named=("other",), explore=explore, loopback=loopback) is expected


def permitted(tool: dict[str, Any], url: str, **options: Any) -> bool:
    return is_permitted(Target(url=url, **options), tool)


HERE, THERE = "http://127.0.0.1:1/mcp", "https://example.com/mcp"
DESTRUCTIVE = {"destructiveHint": True}


@pytest.mark.parametrize("name", FIXTURE_TOOLS)
def test_fixtures_of_the_official_suite_are_recognised_on_loopback_only(name: str) -> None:
    tool = {"name": name, "annotations": DESTRUCTIVE}
    assert permitted(tool, HERE)
    assert not permitted(tool, HERE, explore="none")
    assert not permitted(tool, THERE)
    assert not permitted({**tool, "annotations": {}}, THERE)
    assert permitted(tool, THERE, tools=(named_tool(name),))


def test_a_replica_elsewhere_makes_the_suite_careful() -> None:
    tool = {"name": "it"}
    assert permitted(tool, HERE)
    assert not permitted(tool, HERE, replicas=(THERE,))
