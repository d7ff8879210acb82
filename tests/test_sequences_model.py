"""The model: it suspects what no freedom of the protocol explains, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.drive.draft import UNDECLARED
from conformance.drive.sequences.model import ANY, Model
from conformance.specification.states import FAILED
from conformance.wire.exchange import Exchange
from tests.builders import QUESTION, creation, exchange, handle, reading, task

ASKING = {"inputRequests": {"one": QUESTION, "two": QUESTION}}


def suspected(*exchanges: Exchange, set_aside: tuple[str, ...] = ()) -> list[str]:
    """What the model suspects once it has seen these, in the order they ended."""
    model = Model(set_aside)
    for each in sorted(exchanges, key=lambda e: e.ended):
        model.observe(each)
    return model.suspected


def answer(*keys: str, **more: object) -> Exchange:
    responses = {key: {"action": "accept", "content": {}} for key in keys}
    params = {"taskId": "task-1", "inputResponses": responses}
    return exchange("tasks/update", params, **more)  # type: ignore[arg-type]


def cancel(**more: object) -> Exchange:
    return exchange("tasks/cancel", {"taskId": "task-1"}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["working", "input_required", "completed", "failed"])
def test_a_live_task_may_come_to_any_state(status: str) -> None:
    assert suspected(creation(), reading(), reading(status=status)) == []


def test_the_states_a_task_may_be_in_narrow_with_its_end() -> None:
    model = Model()
    model.observe(creation())
    assert model.may_be("task-1") == ANY
    model.observe(reading())
    assert model.may_be("task-1") == ANY
    model.observe(reading(status="cancelled"))
    assert model.may_be("task-1") == {"cancelled"}
    assert model.may_be("nobody's") == frozenset()


def test_once_its_time_is_over_a_task_may_have_failed_or_be_gone() -> None:
    made = creation(result=handle(ttlMs=2000), started=0.0)
    done = reading(status="completed", members={"ttlMs": 2000}, started=0.5)
    late = {"ttlMs": 2000}
    failed = reading(status="failed", members=late, started=5.0)
    assert suspected(made, done, failed) == []
    assert suspected(made, done, reading(error=-32602, started=5.0)) == []
    model = Model()
    for each in (made, done, failed):
        model.observe(each)
    assert FAILED in model.may_be("task-1")


def test_an_end_that_does_not_last_is_suspected() -> None:
    found = suspected(creation(), reading(status="completed"), reading(status="working"))
    assert found == ["lifecycle.legal-transitions"]


def test_a_result_that_changes_is_suspected() -> None:
    members = {"result": {"resultType": "complete", "content": []}}
    made, ended = creation(), reading(status="completed")
    again = reading(status="completed", members=members)
    assert suspected(made, ended, again) == ["lifecycle.terminal-is-final"]


def test_reads_that_overlap_have_no_order() -> None:
    ended = reading(status="completed", started=10.0, ended=11.0)
    beside = reading(status="working", started=10.5, ended=12.0)
    assert suspected(creation(started=1.0), ended, beside) == []


def test_a_task_that_is_gone_before_its_time_is_suspected() -> None:
    assert suspected(creation(), reading(error=-32602)) == ["expiry.not-before-ttl"]
    unlimited = creation(result=handle(ttlMs=None))
    assert suspected(unlimited, reading(error=-32602)) == ["expiry.not-before-ttl"]


@pytest.mark.parametrize(
    ("intent", "error"),
    [("undeclared", -32021), ("foreign", -32602), ("mcp-name-differs", -32020),
     ("ill-formed", -32602)],
)  # fmt: skip
def test_the_refusal_of_a_wrong_request_says_nothing(intent: str, error: int) -> None:
    assert suspected(creation(), reading(error=error, intent=intent)) == []


def test_a_wrong_request_that_is_served_is_suspected() -> None:
    assert suspected(creation(), reading(intent="mcp-name-differs")) == [
        "transport.mcp-name-mismatch"
    ]
    assert suspected(creation(), reading(intent="undeclared")) == [
        "negotiation.get-requires-declaration"
    ]


def test_an_id_that_was_never_issued_and_is_found_is_suspected() -> None:
    assert suspected(creation(), reading("task-2")) == ["polling.unknown-id"]


def test_a_task_for_an_undeclared_call_is_suspected() -> None:
    assert suspected(creation(capabilities=UNDECLARED)) == ["negotiation.undeclared-gets-no-task"]


def test_an_id_that_is_given_twice_is_suspected() -> None:
    assert suspected(creation(), creation()) == ["creation.unique-ids"]


def test_another_task_than_was_asked_for_is_suspected() -> None:
    made = creation()
    assert suspected(made, reading(members={"taskId": "task-2"})) == ["polling.same-task"]


def test_a_request_that_vanishes_unanswered_is_suspected() -> None:
    made, asks = creation(), reading(status="input_required", members=ASKING)
    part = answer("one")
    assert suspected(made, asks, part, reading()) == ["input.partial-waits"]
    rest = {"inputRequests": {"two": QUESTION}}
    assert suspected(made, asks, part, reading(status="input_required", members=rest)) == []


@pytest.mark.parametrize(
    "sent", [answer("one", "two"), cancel(), answer("one", "two", error=-32603)]
)
def test_what_was_answered_or_cancelled_may_vanish(sent: Exchange) -> None:
    """Also where the answer to it was an error: it may have counted all the same."""
    made = creation(started=1.0)
    asks = reading(status="input_required", members=ASKING, started=2.0)
    moved = reading(started=4.0)
    assert suspected(made, asks, replace(sent, started=3.0, ended=3.1), moved) == []


def test_a_refused_wrong_update_does_not_excuse_what_vanishes() -> None:
    made, asks = creation(), reading(status="input_required", members=ASKING)
    refused = answer("one", "two", intent="undeclared", error=-32021)
    assert suspected(made, asks, refused, reading()) == ["input.partial-waits"]


def test_an_internal_error_is_suspected() -> None:
    assert suspected(exchange("tasks/get", {"taskId": "x"}, error=-32603, status=500)) == [
        "jsonrpc.survives-bad-input"
    ]


def test_what_is_set_aside_is_not_suspected() -> None:
    exchanges = (creation(), reading(status="completed"), reading(status="working"))
    assert suspected(*exchanges, set_aside=("lifecycle.legal-transitions",)) == []


@pytest.mark.parametrize("status", [["completed"], {"is": "completed"}, None, 7])
def test_whatever_a_server_calls_a_status_is_taken_in(status: object) -> None:
    shown = {**task(), "status": status}
    made, done = creation(), reading(status="completed")
    assert suspected(made, done, reading(result=shown)) == ["lifecycle.legal-transitions"]
    assert suspected(made, reading(result=shown, started=done.ended + 1)) == []
