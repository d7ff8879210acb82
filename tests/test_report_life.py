"""The life of a task: what is told of it, and how it is drawn."""

from __future__ import annotations

import itertools
import json
from html import unescape

import pytest

from conformance.errors import UsageError
from conformance.judge.observation import broken, holds
from conformance.report.html import render
from conformance.report.life import Step, TaskLife, life_of
from conformance.report.picture import WIDTH, Picture, in_words, picture
from conformance.report.results import Results, json_text
from conformance.wire.exchange import Exchange
from conformance.wire.history import History
from tests.builders import creation, exchange, history, reading
from tests.report_samples import HOSTILE, discovery, judged, rule


def cancelling(task_id: str = "task-1", **more: object) -> Exchange:
    return exchange("tasks/cancel", {"taskId": task_id}, **more)  # type: ignore[arg-type]


def flipped() -> tuple[History, tuple[Exchange, ...]]:
    """A task that was completed, was cancelled, and is cancelled now."""
    made = creation("task-1", started=10.0, ended=10.1)
    ended = reading("task-1", "completed", started=11.0, ended=11.2)
    cancelled = cancelling(started=12.0, ended=12.1)
    changed = reading("task-1", "cancelled", started=13.0, ended=14.0, caller="second")
    refused = reading("task-1", error=-32602, started=15.0, ended=15.5)
    kept = history(discovery(), made, ended, cancelled, changed, refused)
    return kept, (ended, cancelled, changed)


def life() -> TaskLife:
    kept, shown = flipped()
    found = life_of("lifecycle.terminal-is-final", broken(shown, "no"), kept)
    assert found is not None
    return found


def test_each_step_is_told_with_its_time_and_what_it_showed() -> None:
    found = life()
    assert found.task_id == "task-1"
    assert [(s.kind, s.began, s.ended, s.status, s.caller) for s in found.steps] == [
        ("created", 0.0, 0.1, "working", "first"),
        ("read", 1.0, 1.2, "completed", "first"),
        ("cancelled", 2.0, 2.1, "", "first"),
        ("read", 3.0, 4.0, "cancelled", "second"),
        ("read", 5.0, 5.5, "", "first"),
    ]
    assert [step.evidence for step in found.steps] == [False, True, True, True, False]
    assert [step.refused for step in found.steps] == [""] * 4 + ["HTTP 200, error -32602"]


def test_what_is_pushed_is_a_moment() -> None:
    made = creation("task-1", started=1.0, ended=1.5)
    told = {"method": "notifications/tasks", "params": {"taskId": "task-1", "status": "working"}}
    stream = exchange(
        "subscriptions/listen",
        {"notifications": {"taskIds": ["task-1"]}},
        events=[told],
        started=2.0,
        ended=4.0,
    )
    found = life_of("expiry.not-before-ttl", broken(stream, "no"), history(made, stream))
    assert found is not None
    assert [(s.kind, s.began, s.ended) for s in found.steps] == [
        ("created", 0.0, 0.5),
        ("pushed", 2.0, 2.0),
    ]


def test_a_finding_about_several_tasks_or_one_message_has_no_life() -> None:
    one, other = creation("task-1"), creation("task-2")
    read = reading("task-1", "completed")
    kept = history(one, other, read)
    assert life_of("creation.unique-ids", broken((one, other), "no"), kept) is None
    assert life_of("polling.shape", broken(read, "no"), kept) is None
    assert life_of("polling.shape", broken(discovery(), "no"), kept) is None
    assert life_of("polling.shape", broken((one, read), "no"), kept) is not None
    assert life_of("lifecycle.known-status", broken(read, "no"), kept) is not None


def test_a_task_that_nobody_was_seen_to_make_has_no_life() -> None:
    first, second = reading("elsewhere"), reading("elsewhere", "completed")
    found = life_of("lifecycle.known-status", broken((first, second), "no"), history(first, second))
    assert found is None


def test_a_long_life_keeps_what_tells_something() -> None:
    made = creation("task-1")
    reads = [reading("task-1", "completed" if n > 150 else "working") for n in range(300)]
    cancelled = cancelling()
    kept = history(made, *reads, cancelled)
    found = life_of("lifecycle.x", broken((reads[3], reads[151]), "no"), kept)
    assert found is not None
    assert len(found.steps) == 80
    assert found.left_out == 302 - 80
    numbers = {step.exchange for step in found.steps}
    assert {made.number, reads[3].number, reads[151].number, cancelled.number} <= numbers
    assert len(json_text(judged([], kept))) < 20_000


def test_only_a_violation_carries_it_and_it_survives_the_file() -> None:
    kept, shown = flipped()
    results = judged(
        [rule("lifecycle.a", broken(shown, "no")), rule("lifecycle.b", holds(shown))], kept
    )
    assert results.rules[0].life == life_of("lifecycle.a", broken(shown, "no"), kept)
    assert results.rules[0].life is not None
    assert results.rules[1].life is None
    assert Results.from_json(json.loads(json_text(results))) == results


@pytest.mark.parametrize("value", [3, {}, {"task_id": "t", "steps": [{"kind": "odd"}]}])
def test_a_wrong_life_is_refused(value: object) -> None:
    kept, shown = flipped()
    record = judged([rule("lifecycle.a", broken(shown, "no"))], kept).to_json()
    record["rules"][0]["life"] = value
    with pytest.raises(UsageError):
        Results.from_json(record)


# ---- the picture ---------------------------------------------------------------------------


def test_the_picture_has_a_bar_for_each_state_and_a_lane_for_each_caller() -> None:
    drawn = picture(life())
    assert [(bar.status, bar.style) for bar in drawn.bars] == [
        ("working", "working"),
        ("completed", "completed"),
        ("cancelled", "cancelled"),
    ]
    assert [lane.label for lane in drawn.lanes] == [
        "reads, first",
        "reads, second",
        "cancels, first",
    ]
    assert [mark.refused for mark in drawn.lanes[0].marks] == [False, True]
    assert [mark.evidence for mark in drawn.lanes[0].marks] == [True, False]


def test_time_goes_to_the_right() -> None:
    drawn = picture(life())
    xs = [bar.x for bar in drawn.bars]
    assert xs == sorted(xs)
    assert [tick.label for tick in drawn.ticks] == ["0 s", "2 s", "4 s"]
    first = drawn.ticks[0].x
    assert drawn.left == first
    # The read that ended after 1.2 of 5.5 seconds.
    assert drawn.bars[1].x == pytest.approx(first + (drawn.right - first) * 1.2 / 5.5, abs=0.1)


def flickering(times: list[float]) -> Picture:
    statuses = ["input_required", "working"]
    steps = [
        Step("read", at, at, "first", "x.jsonl", n, statuses[n % 2]) for n, at in enumerate(times)
    ]
    return picture(TaskLife("task-1", tuple(steps)))


@pytest.mark.parametrize(
    "times", [[0.0], [0.0, 0.0], [0.0, 0.001, 0.002, 0.003, 0.004, 5.0], [0.0, 1e-6], [0.0, 7e5]]
)
def test_nothing_is_drawn_outside_and_no_label_over_another(times: list[float]) -> None:
    drawn = flickering(times)
    for bar in drawn.bars:
        assert drawn.left <= bar.x
        assert bar.x + bar.width <= drawn.right + 0.1
        assert bar.width >= 4
    for level in range(3):
        labels = [bar for bar in drawn.bars if bar.level == level]
        for before, after in itertools.pairwise(labels):
            assert before.label_x + len(before.status) * 11.5 <= after.label_x
        assert all(bar.label_x + len(bar.status) * 11.5 <= WIDTH + 0.1 for bar in labels)
    assert 1 <= len(drawn.ticks) <= 6
    assert all(drawn.left <= tick.x <= drawn.right for tick in drawn.ticks)


def test_in_words() -> None:
    assert in_words(life()) == (
        "Created at 0.10 s by first: working. Read at 1.20 s by first: completed."
        " Cancelled at 2.10 s by first. Read at 4.00 s by second: cancelled."
        " Read at 5.50 s by first: HTTP 200, error -32602."
    )


def test_what_repeats_is_said_once() -> None:
    steps = [Step("read", n, n + 0.5, "first", "x.jsonl", n, "working") for n in range(5)]
    words = in_words(TaskLife("task-1", tuple(steps), left_out=7))
    assert words == (
        "Read 5 times from 0.50 to 4.50 s by first: working."
        " 7 more steps that told nothing new are left out."
    )


def test_the_report_draws_it_and_says_it() -> None:
    kept, shown = flipped()
    text = render(judged([rule("lifecycle.a", broken(shown, "no"))], kept))
    assert text.count('<svg class="life"') == 1
    assert '<title id="life-lifecycle.a-title">The life of task task-1</title>' in text
    assert in_words(life()) in unescape(text)
    assert 'aria-describedby="life-lifecycle.a-words"' in text


def test_a_hostile_life_is_only_text() -> None:
    made = creation(HOSTILE, result={"resultType": "task", "taskId": HOSTILE, "status": HOSTILE})
    read = reading(HOSTILE, HOSTILE)
    kept = history(discovery(), made, read)
    text = render(judged([rule("lifecycle.a", broken((made, read), "no"))], kept))
    assert '<svg class="life"' in text
    assert "<script>alert" not in text
    text.encode("utf-8")
    assert "\u202e" not in text
