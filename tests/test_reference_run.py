"""The main job, on the reference server: every rule is exercised and passes, nothing warns."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from conformance.judge.verdict import Judgement
from conformance.target.target import Target
from fixtures.serve import Settings, running
from tests.driving import (
    FIRST_HEADERS,
    OTHER_HEADERS,
    TOKENS,
    drive_reference,
    drive_replicas,
    driven,
    judged,
    violations,
)
from tests.restartable import restartable, with_store

# Long enough that a machine that is busy with other tests meets the slow task at work.
WORK_SECONDS = 2.5

# The reference server speaks this revision only.
NEEDS_LEGACY = {"negotiation.not-in-older-protocol"}
ACROSS_REPLICAS = {"endurance.replicas", "endurance.end-known-elsewhere"}
NEEDS_OPTIONS = {
    "security.foreign-get",
    "security.foreign-update",
    "security.foreign-cancel",
    "security.foreign-listen",
    "security.no-token",
    "security.no-existence-oracle",
    *ACROSS_REPLICAS,
    "endurance.restart",
}


# These speak of how soon something came: on a machine that is busy with other tests they may
# have nothing certain to say.
NEEDS_QUIET = {
    "cancellation.prompt",
    "polling.does-not-block",
    "polling.rate-limit-honest",
    "input.working-unaffected",
}


def passes_but_for(judgement: Judgement, unseen: set[str]) -> None:
    """Every rule passes, but for those that this run cannot exercise; nothing is violated."""
    assert violations(judgement) == {}
    verdicts = {v.rule.id: f"{v.verdict}: {v.reason}" for v in judgement.verdicts}
    unseen_by_rule = {r: v for r, v in verdicts.items() if not v.startswith("pass")}
    assert unseen <= set(unseen_by_rule)
    assert {r: v for r, v in unseen_by_rule.items() if r not in unseen | NEEDS_QUIET} == {}


# JSON is driven by the last one too.
@pytest.mark.parametrize(
    "sse",
    [pytest.param(False, id="json", marks=pytest.mark.nightly), pytest.param(True, id="streams")],
)
def test_reference_server_with_one_caller(sse: bool) -> None:
    judgement = drive_reference(Settings(sse=sse, work_seconds=WORK_SECONDS))
    passes_but_for(judgement, NEEDS_LEGACY | NEEDS_OPTIONS)


@pytest.mark.nightly  # by default, two replicas are part of what follows
def test_reference_server_as_two_replicas() -> None:
    judgement = drive_replicas(Settings(work_seconds=WORK_SECONDS))
    passes_but_for(judgement, NEEDS_LEGACY | NEEDS_OPTIONS - ACROSS_REPLICAS)


def test_reference_server_with_everything_on() -> None:
    settings = Settings(tokens=TOKENS, work_seconds=WORK_SECONDS)
    with ExitStack() as stack:
        shared = stack.enter_context(with_store(settings))
        url, command = stack.enter_context(restartable(shared))
        replica = stack.enter_context(running(shared))
        target = Target(
            url=url,
            headers=FIRST_HEADERS,
            other_headers=OTHER_HEADERS,
            replicas=(replica,),
            restart_command=command,
        )
        judgement = judged(driven(target))
    passes_but_for(judgement, NEEDS_LEGACY)
