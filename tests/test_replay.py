"""Doing a sequence again tells whether it still shows, and says so where it could not be done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.drive.sequences.finds import Sequence, write_sequence
from conformance.drive.sequences.steps import ELSEWHERE, Step, from_json
from conformance.errors import NothingToJudge, UsageError
from conformance.replay import replay_sequence
from conformance.target.target import Target
from conformance.wire.secrets import Redactor
from fixtures.faults import FAULTS
from fixtures.faults.deep import SHORTEST
from fixtures.serve import Settings, running
from tests.at_work import reference_tools, two_callers
from tests.commands import command
from tests.driving import TOKENS

FOREIGN = "deep-foreign-read-after-foreign-cancel"


def sequence_of(fault: str) -> Sequence:
    """The sequence that shows a fault, as a run would have kept it."""
    plan = from_json(list(SHORTEST[fault]))
    return Sequence(plan, (FAULTS[fault].breaks,), repeated=True, tools=reference_tools())


def test_another_callers_step_takes_another_caller() -> None:
    sequence = sequence_of(FOREIGN)
    with two_callers(FOREIGN) as target:
        assert FAULTS[FOREIGN].breaks in replay_sequence(sequence, target).broken
        alone = replace(target, other_headers=())
        with pytest.raises(UsageError, match="pass --header and --other-header"):
            replay_sequence(sequence, alone)


def test_a_step_on_another_replica_takes_a_replica() -> None:
    made = Step("create", 1, tool="shout", arguments={"text": "hello"})
    sequence = Sequence((made, Step("read", 1, where=ELSEWHERE)), (), tools=reference_tools())
    with running(Settings()) as url:
        with pytest.raises(UsageError, match="pass --replica URL"):
            replay_sequence(sequence, Target(url=url))
        assert replay_sequence(sequence, Target(url=url, replicas=(url,))).broken == {}


@pytest.mark.parametrize("headers", [(), (("Authorization", "Bearer expired"),)])
def test_who_is_refused_everything_is_told_so(headers: tuple[tuple[str, str], ...]) -> None:
    fault = "deep-acknowledgement-shows-cancelled-task"
    with two_callers(fault) as target:
        refused = replace(target, headers=headers, other_headers=())
        with pytest.raises(NothingToJudge, match=r"no call became a task.*401.*pass --header"):
            replay_sequence(sequence_of(fault), refused)


def test_the_command_ends_with_3_where_nothing_could_be_done(tmp_path: Path) -> None:
    path = tmp_path / "sequences.input.ack-empty.jsonl"
    write_sequence(path, sequence_of("deep-acknowledgement-shows-cancelled-task"), Redactor([], []))
    with running(Settings(tokens=TOKENS)) as url:
        refused = command("replay", path, url)
    assert refused.status == 3
    assert "does not show" not in refused.output
    assert len(refused.errors.splitlines()) == 1
