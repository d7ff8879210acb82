"""Servers that other people wrote, or would write: what is told of them is true, and no more."""

from __future__ import annotations

import pytest

from conformance.errors import NothingToJudge
from conformance.target.roles import roles_seen
from conformance.target.target import Target
from tests import subjects
from tests.driving import driven, judged, violations

# Each was checked by hand against the text: reports/fastmcp.md.
FASTMCP = {
    "polling.unknown-id",
    "outcome.same-as-synchronous",
    "input.only-declared-kinds",
    "transport.version-mismatch",
    "transport.foreign-origin",
    "polling.updated-at-tracks-change",
    "transport.mcp-name-missing",
}
FASTMCP_ROLES = {
    "slow",
    "sync",
    "tool-error",
    "protocol-error",
    "input",
    "inputs",
    "rounds",
    "large",
    "echo",
}


def test_fastmcp_is_told_what_is_wrong_and_nothing_else() -> None:
    with subjects.running("fastmcp_server", "0.1") as url:
        history = driven(Target(url=url))
    assert set(violations(judged(history))) == FASTMCP
    assert set().union(*roles_seen(history).values()) >= FASTMCP_ROLES


def test_a_server_that_never_creates_tasks_is_conformant() -> None:
    with subjects.running("never_tasks") as url:
        judgement = judged(driven(Target(url=url)))
    assert violations(judgement) == {}
    verdicts = {v.rule.id: v.verdict for v in judgement.verdicts}
    assert verdicts["polling.unknown-id"] == "pass"
    assert verdicts["creation.shape"] == "not-exercised"


def test_a_server_of_the_older_era_is_told_apart() -> None:
    with (
        subjects.running("initialize_only") as url,
        pytest.raises(NothingToJudge, match="speaks MCP 2025-11-25 with the initialize handshake"),
    ):
        driven(Target(url=url))
