"""Plans that another process makes are those that this one would have made."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from io import BytesIO
from json import dumps, loads
from pathlib import Path

import anyio
import pytest

from conformance.drive.sequences import plan_maker
from conformance.drive.sequences.plan_maker import PlanMaker, answer_questions
from conformance.drive.sequences.planning import plans
from conformance.drive.sequences.steps import Plan
from conformance.drive.sequences.tools import Toolbox, toolbox, toolbox_from_json
from tests.test_sequences_plans import REVISION, TOOLS

NUMBER = 12


@pytest.fixture(scope="module")
def tools() -> Toolbox:
    return toolbox(TOOLS, identities=True, replicas=True, revision=REVISION)


async def _batches(
    tools: Toolbox, *seeds: int, number: int = NUMBER, end_after: int = 0
) -> list[list[Plan]]:
    """The plans of each seed, by one maker whose process is ended after so many batches."""
    made: list[list[Plan]] = []
    async with PlanMaker(tools) as maker:
        for seed in seeds:
            made.append(await maker.plans(number=number, chosen_seed=seed))
            if len(made) == end_after:
                assert maker.process is not None
                maker.process.kill()
                await maker.process.wait()
    assert maker.process is None or maker.process.returncode is not None
    return made


def _here(tools: Toolbox, *seeds: int) -> list[list[Plan]]:
    return [plans(tools, number=NUMBER, chosen_seed=seed) for seed in seeds]


def test_the_plans_are_the_same_as_here(tools: Toolbox) -> None:
    assert anyio.run(_batches, tools, 1, 2) == _here(tools, 1, 2)


def test_without_a_process_they_are_made_here(
    tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/there/is/no/python")
    assert anyio.run(_batches, tools, 1) == _here(tools, 1)


def test_where_the_process_ends_they_are_made_here(tools: Toolbox) -> None:
    async def work() -> list[list[Plan]]:
        return await _batches(tools, 1, 2, 3, end_after=1)

    assert anyio.run(work) == _here(tools, 1, 2, 3)


def test_what_is_too_long_for_a_line_is_made_here(
    tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> list[list[Plan]]:
        # More than comes at once.
        return await _batches(tools, 1, number=60)

    monkeypatch.setattr(plan_maker, "_LONGEST_LINE", 1000)
    assert anyio.run(work) == [plans(tools, number=60, chosen_seed=1)]


def test_what_is_no_answer_is_made_here(
    tools: Toolbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking = tmp_path / "python"
    talking.write_text("#!/bin/sh\nread question\necho Hello.\nread more\n")
    talking.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(talking))
    assert anyio.run(_batches, tools, 1) == _here(tools, 1)


def test_a_package_of_the_same_name_is_not_ours(
    tools: Toolbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "conformance"
    other.mkdir()
    (other / "__init__.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)

    async def work() -> list[Plan]:
        async with PlanMaker(tools) as maker:
            made = await maker.plans(number=NUMBER, chosen_seed=1)
            assert maker.process is not None
            return made

    assert [anyio.run(work)] == _here(tools, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["conformance"]


def test_nobody_waits_in_vain_for_plans(tools: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_maker, "_LONGEST_SECONDS", 0.0)
    assert anyio.run(_batches, tools, 1) == [[]]


def test_each_question_has_its_answer(tools: Toolbox) -> None:
    questions = [
        dumps({"tools": asdict(tools), "number": number, "seed": 5}).encode() for number in (3, 6)
    ]
    answers = BytesIO()
    answer_questions(questions, answers)
    told = [loads(line) for line in answers.getvalue().splitlines()]
    assert list(map(len, told)) == [len(plans(tools, number=n, chosen_seed=5)) for n in (3, 6)]


def test_a_toolbox_comes_back_from_json(tools: Toolbox) -> None:
    assert toolbox_from_json(loads(dumps(asdict(tools)))) == tools
    other = replace(tools, slow=(), identities=False)
    assert toolbox_from_json(loads(dumps(asdict(other)))) == other
