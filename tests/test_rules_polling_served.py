"""The rule that a task is told in every state, on histories written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.verdict import FAIL, NOT_EXERCISED, PASS, WARN, Verdict, verdict_of
from conformance.wire.exchange import Exchange, Fault
from tests.builders import creation, exchange, handle, history, reading

SERVED = "polling.served"
KEPT = {"ttlMs": None}


def judged(*exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[SERVED], history(*exchanges))


def made(task_id: str, **more: Any) -> Exchange:
    return creation(task_id, result=handle(task_id, **{**KEPT, **more}))


def told(task_id: str, status: str = "completed") -> Exchange:
    return reading(task_id, status, members=KEPT)


def in_vain(task_id: str, times: int = 3, **more: Any) -> list[Exchange]:
    more = more or {"error": -32603}
    return [exchange("tasks/get", {"taskId": task_id}, **more) for _ in range(times)]


def lost(*task_ids: str, times: int = 3, **more: Any) -> list[Exchange]:
    """Tasks that cannot be read, while another can."""
    scene = [made("other"), told("other", "working")]
    for task_id in task_ids:
        scene += [made(task_id), told(task_id, "working"), *in_vain(task_id, times, **more)]
        scene.append(told("other", "working"))
    return scene


def test_tasks_that_are_told_pass() -> None:
    assert judged(made("a"), told("a", "working"), told("a")).verdict == PASS


@pytest.mark.parametrize("code", [-32603, -32000, -32002, 7])
def test_tasks_that_cannot_be_read_fail(code: int) -> None:
    found = judged(*lost("a", "b", error=code))
    assert found.verdict == FAIL
    assert "'working'" in found.reason
    assert str(code) in found.reason


def test_a_state_that_is_skipped_fails() -> None:
    scene = [made("a"), *in_vain("a"), told("a"), made("b"), *in_vain("b"), told("b")]
    found = judged(*scene)
    assert found.verdict == FAIL
    assert "until it was 'completed'" in found.reason


def test_a_server_on_which_nothing_can_be_read_fails() -> None:
    assert judged(made("a"), *in_vain("a"), made("b"), *in_vain("b")).verdict == FAIL


@pytest.mark.parametrize(
    "scene",
    [
        lost("a", times=5),
        lost("a", "b", times=2),
        # What these say, other rules judge.
        lost("a", "b", error=-32602),
        lost("a", "b", error=-32021),
        lost("a", "b", error={"code": -32000, "message": "Too many requests"}),
        lost("a", "b", status=429),
        lost("a", "b", status=503),
    ],
)
def test_what_may_have_another_reason_does_not_count(scene: list[Exchange]) -> None:
    # The other task was told.
    assert judged(*scene).verdict == PASS


def test_one_task_that_others_outlive_fails() -> None:
    scene = [made("other"), made("a"), *in_vain("a", 3), told("other"), *in_vain("a", 3)]
    assert judged(*scene).verdict == FAIL


def test_errors_that_do_not_last_do_not_count() -> None:
    again = [made("c"), told("c", "working"), *in_vain("c", 1), told("c", "working"), told("c")]
    assert judged(*lost("a", "b"), *again).verdict == PASS


def test_a_task_that_was_polled_early_does_not_count() -> None:
    def hurried(task_id: str) -> list[Exchange]:
        early = exchange("tasks/get", {"taskId": task_id}, intent="early-poll", error=-32000)
        return [made(task_id), told(task_id, "working"), early, *in_vain(task_id, error=-32000)]

    scene = [made("other"), *hurried("a"), told("other", "working"), *hurried("b")]
    assert judged(*scene, told("other")).verdict == PASS


def test_a_bad_time_of_the_whole_server_does_not_count() -> None:
    scene = [made("a"), told("a", "working"), made("b"), told("b", "working")]
    scene += [*in_vain("a"), *in_vain("b"), made("c"), told("c")]
    assert judged(*scene).verdict == PASS


def test_a_time_that_may_be_over_does_not_count() -> None:
    scene = [creation(each, result=handle(each, ttlMs=1)) for each in "ab"]
    assert judged(*scene, *in_vain("a"), *in_vain("b")).verdict == NOT_EXERCISED


def test_one_task_that_cannot_be_read_is_said_to_be_unclear() -> None:
    found = judged(made("a"), *in_vain("a"))
    assert found.verdict == NOT_EXERCISED
    assert "-32603" in found.reason


# ---- errors that pass ---------------------------------------------------------------------

PASSING = "polling.passing-errors"


def unknown(error: int) -> Exchange:
    return exchange("tasks/get", {"taskId": "no-such-task"}, error=error, intent="unknown-id")


def failing_now_and_then(**answer: Any) -> list[Exchange]:
    """One read of four fails, and passes."""
    answer = answer or {"error": -32603}
    scene = [made("a")]
    for _ in range(3):
        scene += [told("a", "working"), *in_vain("a", 1, **answer), told("a", "working")]
        scene.append(told("a", "working"))
    return scene


def verdict(rule: str, *exchanges: Exchange) -> Verdict:
    return verdict_of(catalogue()[rule], history(*exchanges))


def test_errors_that_pass_are_told_once() -> None:
    found = verdict(PASSING, *failing_now_and_then())
    assert found.verdict == WARN
    assert "25%" in found.reason


def test_a_task_that_is_always_told_passes() -> None:
    assert verdict(PASSING, made("a"), told("a", "working"), told("a")).verdict == PASS
    # One read says nothing of other times.
    assert verdict(PASSING, made("a"), told("a")).verdict == NOT_EXERCISED


@pytest.mark.parametrize(
    "scene",
    [
        # Once, and of another code, which may be about the pace.
        [made("a"), told("a", "working"), *in_vain("a", 1), told("a", "working")],
        failing_now_and_then(error=-32000),
    ],
)
def test_an_error_that_may_be_something_else_is_unclear(scene: list[Exchange]) -> None:
    assert verdict(PASSING, *scene).verdict == NOT_EXERCISED


def test_what_an_error_that_passes_explains_is_not_held_against_the_server() -> None:
    found = verdict("polling.unknown-id", *failing_now_and_then(), unknown(-32603))
    assert found.verdict == NOT_EXERCISED
    assert PASSING in found.reason


@pytest.mark.parametrize("code", [-32603, -32000])
def test_a_right_answer_stands_beside_an_error_that_passes(code: int) -> None:
    scene = [*failing_now_and_then(error=code), unknown(code), unknown(-32602)]
    assert verdict("polling.unknown-id", *scene).verdict == PASS


def test_an_answer_without_json_rpc_is_held_against_it_all_the_same() -> None:
    scene = failing_now_and_then(body="", status=200)
    assert verdict("transport.answered", *scene).verdict == FAIL


def test_what_it_does_not_explain_is() -> None:
    scene = failing_now_and_then()
    # Six times out of six is no chance, another code is no such error, and some never pass.
    always = [unknown(-32603) for _ in range(6)]
    assert verdict("polling.unknown-id", *scene, *always).verdict == FAIL
    assert verdict("polling.unknown-id", *scene, unknown(-32000)).verdict == FAIL
    assert verdict("polling.unknown-id", *scene[:2], unknown(-32603)).verdict == FAIL


# ---- no JSON-RPC at all -------------------------------------------------------------------


NEVER: dict[str, Any] = {"fault": Fault("timeout", "nothing complete within 10 s")}


@pytest.mark.parametrize("status", [404, 405, 500])
def test_pages_instead_of_tasks_fail(status: int) -> None:
    found = judged(*lost("a", "b", status=status))
    assert found.verdict == FAIL
    assert f"HTTP {status}" in found.reason


def test_reads_that_are_never_answered_fail_sooner() -> None:
    scene = [made("other"), told("other", "working")]
    for each in "ab":
        scene += [made(each), told(each, "working")]
        scene += [exchange("tasks/get", {"taskId": each}, ended=scene[-1].ended + 10, **NEVER)]
        scene.append(told("other", "working"))
    assert judged(*scene).verdict == FAIL


def test_errors_that_pass_may_be_pages() -> None:
    assert verdict(PASSING, *failing_now_and_then(status=500)).verdict == WARN
    assert verdict(PASSING, *failing_now_and_then(status=404)).verdict == NOT_EXERCISED
