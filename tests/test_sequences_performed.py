"""A plan at work on servers that take it badly: it comes to its end, and does not flood them."""

from __future__ import annotations

import anyio
import pytest

from conformance.drive.running import new_session, new_wire
from conformance.drive.sequences.judging import rules_for_sequences
from conformance.drive.sequences.performing import Performance, Performed
from conformance.drive.sequences.steps import Plan, Step, from_json
from conformance.drive.surroundings import Surroundings
from conformance.run import circumstances_of
from conformance.target.target import Target
from fixtures.faults import FAULTS, Fault
from fixtures.faults.deep import SHORTEST, Remembering
from fixtures.reference.envelope import Request
from fixtures.reference.protocol import JSONObject, ProtocolError
from fixtures.reference.server import Server
from tests.at_work import performed, reference_tools, two_callers

ASKS = Step("create", 1, tool="book_table", arguments={"guests": 2})


class TakesNoAnswers(Server):
    """Every update is refused."""

    async def update_task(self, request: Request) -> JSONObject:
        raise ProtocolError(-32602, "No answers today.")


class ForgetsAnswered(Remembering):
    """A task that was answered is gone."""

    async def update_task(self, request: Request) -> JSONObject:
        answer = await super().update_task(request)
        self.forget(self.task_id(request))
        return answer


def test_who_takes_no_answers_is_not_asked_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(FAULTS, "test-none", Fault("test-none", "", TakesNoAnswers))
    with two_callers("test-none") as target:
        ((each, _),) = performed(target, (ASKS, Step("finish", 1)))
    assert not each.cut
    assert len(each.history.of_method("tasks/update")) == 1


def test_a_task_that_is_gone_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAULTS, "test-gone", Fault("test-gone", "", ForgetsAnswered))
    with two_callers("test-gone") as target:
        ((each, broken),) = performed(target, (ASKS, Step("answer", 1)))
    assert not each.cut
    assert "expiry.not-before-ttl" in broken
    assert len(each.history.of_method("tasks/get")) < 8


def test_a_rule_that_is_set_aside_ends_no_sequence() -> None:
    fault = "deep-acknowledgement-shows-cancelled-task"
    plan = (*from_json(list(SHORTEST[fault])), Step("read", 1), Step("create", 2, tool="shout"))
    with two_callers(fault) as target:
        # What the model suspects besides is then left alone, and not what broke the rule.
        for set_aside, done in (((), len(SHORTEST[fault])), (("input.ack-empty",), len(plan))):
            each = anyio.run(_suspecting, target, plan, set_aside)
            assert len(each.done) == done, set_aside


async def _suspecting(target: Target, plan: Plan, set_aside: tuple[str, ...]) -> Performed:
    """A plan at work where the model suspects something else at each exchange."""
    circumstances = circumstances_of(target, "")
    surroundings = Surroundings(tools=reference_tools(), extension=True)
    async with new_wire(target) as wire:
        session = new_session(target, surroundings, wire, seconds=60.0)
        performance = Performance(
            session,
            circumstances,
            name="suspecting",
            slot="suspecting",
            patience=0.0,
            rules=rules_for_sequences(target.spec),
            set_aside=set_aside,
            kept=lambda exchange: performance.model.suspect(f"made-up.{exchange.number}"),
        )
        return await performance.perform(plan)
