"""What was seen broken is done again: what comes back, what does not, what there is no time for."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from conformance.checking import judge_again
from conformance.drive.driver import Created
from conformance.drive.running import new_session, new_wire
from conformance.drive.sequences.company import Company
from conformance.drive.sequences.finds import Sequence, read_sequence
from conformance.drive.sequences.followed import Followed
from conformance.drive.sequences.performing import Performance
from conformance.drive.sequences.steps import Plan, Step, from_json, length
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.judge.rule import catalogue
from conformance.judge.sequences import ONCE, seen_once
from conformance.judge.verdict import judge
from conformance.target.target import Target
from conformance.wire.exchange import Exchange
from conformance.wire.history import Circumstances
from fixtures.faults import FAULTS, Fault
from fixtures.faults.deep import SHORTEST, Remembering
from fixtures.reference.envelope import Request
from fixtures.reference.protocol import JSONObject
from tests.at_work import extent, performed, settled, two_callers
from tests.builders import creation, history, reading

ACKNOWLEDGEMENT = "deep-acknowledgement-shows-cancelled-task"

# ---- what does not come back -----------------------------------------------------------------


class OnceOnly(Remembering):
    """The first task that was cancelled and then updated is answered for, once and never again."""

    told = False

    async def update_task(self, request: Request) -> JSONObject:
        answer = await super().update_task(request)
        task = self.find_task(request)
        if self.told or not self.went_through(task.task_id, "cancelled", "updated"):
            return answer
        self.told = True
        return {**answer, **self.task_members(task)}


def test_what_does_not_come_back_is_intermittent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAULTS, "test-once", Fault("test-once", "input.ack-empty", OnceOnly))
    plan = from_json(list(SHORTEST[ACKNOWLEDGEMENT]))
    with two_callers("test-once") as target:
        ((each, broken),) = performed(target, plan)
        assert set(broken) == {"input.ack-empty"}
        seen = Sequence(plan, tuple(broken), exchanges=tuple(each.history))
        found = settled(target, tmp_path, seen)
    sequence = found["input.ack-empty"]
    assert sequence.repeated is False
    assert all(exchange.notes[ONCE] for exchange in sequence.exchanges)
    # Both histories are there: the one that showed it, and the one that did not, of the same steps.
    again = read_sequence(tmp_path / "sequences.input.ack-empty.again.jsonl")
    assert again.plan == sequence.plan
    rule = judge_again([tmp_path]).results.rule("input.ack-empty")
    assert rule is not None
    assert (rule.verdict, rule.intermittent) == ("fail", True)


def test_what_shows_only_with_other_exchanges_is_not_intermittent() -> None:
    def in_scenario(name: str, exchange: Exchange, **notes: bool) -> Exchange:
        return replace(exchange, scenario=name, notes=notes)

    once = {ONCE: True}
    first = in_scenario("sequences.polling.shape", creation("task-1"), **once)
    second = in_scenario("sequences.polling.shape", creation("task-1"), **once)
    elsewhere = in_scenario("input.unknown-key", creation("task-1"))
    rules = {"creation.unique-ids": catalogue()["creation.unique-ids"]}
    alone, together = history(first, second), history(first, elsewhere)
    for found in (alone, together):
        assert judge(rules, found).verdicts[0].violated
    assert seen_once(judge(rules, alone), alone) == {"creation.unique-ids"}
    assert seen_once(judge(rules, together), together) == frozenset()


def test_what_nobody_had_time_to_do_again_is_not_intermittent(tmp_path: Path) -> None:
    plan = from_json(list(SHORTEST[ACKNOWLEDGEMENT]))
    with two_callers(ACKNOWLEDGEMENT) as target, extent("standard", settling=0.0):
        ((each, broken),) = performed(target, plan)
        seen = Sequence(plan, tuple(broken), exchanges=tuple(each.history))
        found = settled(target, tmp_path, seen)
    sequence = found["input.ack-empty"]
    assert sequence.repeated is None
    assert sequence.exchanges
    assert not any(ONCE in exchange.notes for exchange in sequence.exchanges)
    assert not (tmp_path / "sequences.input.ack-empty.again.jsonl").exists()


def test_two_faults_are_both_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is made short, there is time left for the other."""
    names = (ACKNOWLEDGEMENT, "deep-cancellation-refused-when-partly-answered")
    both = type("Both", tuple(FAULTS[name].server for name in names), {})
    monkeypatch.setitem(FAULTS, "test-both", Fault("test-both", "", both))
    longer = (*[Step("read", 1)] * 6, Step("other", how="list"), Step("disconnect"))
    seen = []
    for name in names:
        first, *rest = from_json(list(SHORTEST[name]))
        seen.append(Sequence((first, *longer, *rest), (FAULTS[name].breaks,)))
    with two_callers("test-both") as target:
        found = settled(target, tmp_path, *seen)
    assert {rule: length(each.plan) for rule, each in found.items()} == {
        FAULTS[name].breaks: len(SHORTEST[name]) for name in names
    }
    assert all(sequence.repeated for sequence in found.values())


# ---- company ---------------------------------------------------------------------------------


def test_whose_tasks_were_shown_had_to_do_with_it() -> None:
    """Of what others did meanwhile, only what made and changed the task that is shown."""
    told = anyio.run(_three_sequences_of_which_two_are_mixed_up)
    assert [step.words for step in told] == [
        "create task 1 (book_table)",
        "create task 2 (book_table) on other",
        "cancel task 2 on other",
        "read task 1",
    ]


def test_what_went_to_another_server_is_no_company() -> None:
    assert anyio.run(_three_sequences_of_which_two_are_mixed_up, True) == ()


def test_what_made_the_tasks_of_late_steps_is_company_too() -> None:
    """Of many steps beside it only the latest count, and the creations that these need."""
    told = anyio.run(_a_sequence_beside_a_long_one)
    assert [step.words for step in told[:3]] == [
        "create task 1 (book_table) on other",
        "create task 2 (book_table)",
        "read task 1 on other",
    ]
    assert 30 < len(told) < 60
    assert told[-1].words == "read task 2"


async def _a_sequence_beside_a_long_one() -> Plan:
    target = Target(url="http://127.0.0.1:1/mcp")
    company = Company()
    async with new_wire(target) as wire:
        session = new_session(target, Surroundings(), wire, seconds=1.0)
        now = time.monotonic()
        create, look = Step("create", 1, tool="book_table"), Step("read", 1)
        plans = {"own": (create, look), "long": (create, *[look] * 99)}
        for name, plan in plans.items():
            it = Performance(session, Circumstances(), name=name, slot=name, patience=0.0, rules={})
            it.begun += [(now - place / 1000, step) for place, step in enumerate(reversed(plan))]
            it.begun.reverse()
            company.joins(it)
            if name == "own":
                own = it
        own.begun[:] = [(now - 0.06, create), (now + 0.001, look)]
        return company.of(own)


async def _three_sequences_of_which_two_are_mixed_up(on_another_server: bool = False) -> Plan:
    target = Target(url="http://127.0.0.1:1/mcp")
    company = Company()
    async with new_wire(target) as wire, new_wire(target) as another:
        session = new_session(target, Surroundings(), wire, seconds=1.0)
        other_session = new_session(target, Surroundings(), another, seconds=1.0)

        def sequence(name: str, begun: float, plan: Plan, shown: str) -> Performance:
            where = other_session if on_another_server and name != "own" else session
            it = Performance(where, Circumstances(), name=name, slot=name, patience=0.0, rules={})
            made = creation(f"{name}-task")
            tool = ToolUse("book_table")
            it.tasks[1] = Followed(1, Created(f"{name}-task", made, tool, {}), {})
            it.begun += [(begun + place, step) for place, step in enumerate(plan)]
            it.driver.writer.append(made)
            it.driver.writer.append(reading(shown))
            company.joins(it)
            return it

        create, cancel = Step("create", 1, tool="book_table"), Step("cancel", 1)
        own = sequence("own", 1.0, (create, Step("read", 1)), "mixed-up-task")
        own.begun[1] = (9.0, own.begun[1][1])
        sequence("mixed-up", 2.0, (create, cancel), "mixed-up-task")
        sequence("other", 3.0, (create, cancel), "other-task")
        sequence("half-\ud800-a-character", 4.0, (create, cancel), "other-task")
        return company.of(own)
