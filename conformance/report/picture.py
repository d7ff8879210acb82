"""A small picture of a task's life: its states over time, and who did what to it when.

Only the geometry is made here, in units of the picture; the template draws it. The same is said
in words, for those who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from conformance.report.life import CANCELLED, CREATED, PUSHED, READ, UPDATED, Step, TaskLife
from conformance.report.visible import visible
from conformance.specification.states import STATUSES

WIDTH = 720
_LEFT, _RIGHT = 128, 708
# Of the larger letters that a phone shows, where the whole picture is small.
_CHARACTER = 11.5
_LEVELS, _LEVEL_HEIGHT = 3, 20
_BAR_HEIGHT = 16
_LANE_HEIGHT = 24
_LEAST_WIDTH = 4.0
_STATUS_LIMIT = 24

_LANES = {READ: "reads", UPDATED: "updates", CANCELLED: "cancels", PUSHED: "pushed"}
_WORDS = {
    CREATED: "created",
    READ: "read",
    UPDATED: "updated",
    CANCELLED: "cancelled",
    PUSHED: "pushed",
}


@dataclass(frozen=True)
class Bar:
    """A stretch of time over which every sighting showed one state. ``label_x`` is where its
    label begins and ``level`` on which line, from the bar upwards; below 0 where no room is."""

    x: float
    width: float
    status: str
    style: str
    label_x: float
    level: int


@dataclass(frozen=True)
class Mark:
    """One step: from its request to its answer."""

    x: float
    width: float
    refused: bool
    evidence: bool


@dataclass(frozen=True)
class Lane:
    label: str
    y: float
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True)
class Picture:
    """``labels`` is the height of the labels over the bars; the bars' top is there."""

    title: str
    words: str
    width: int
    height: float
    left: float
    right: float
    bars_y: float
    bars_height: float
    level_height: float
    bars: tuple[Bar, ...]
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]


def picture(life: TaskLife) -> Picture:
    """The picture of a life of at least one step."""
    scale = _Scale(life.steps)
    bars = _bars(life.steps, scale)
    levels = 1 + max((bar.level for bar in bars), default=0)
    bars_y = 8.0 + levels * _LEVEL_HEIGHT
    lanes = _lanes(life.steps, scale, bars_y + _BAR_HEIGHT + 8)
    bottom = bars_y + _BAR_HEIGHT + 8 + len(lanes) * _LANE_HEIGHT
    return Picture(
        title=f"The life of task {visible(life.task_id, 80)}",
        words=in_words(life),
        width=WIDTH,
        height=bottom + 26,
        left=_LEFT,
        right=_RIGHT,
        bars_y=bars_y,
        bars_height=_BAR_HEIGHT,
        level_height=_LEVEL_HEIGHT,
        bars=bars,
        lanes=lanes,
        ticks=scale.ticks(),
    )


class _Scale:
    """From seconds to units of the picture."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.last = max(0.01, *(step.ended for step in steps))

    def x(self, seconds: float) -> float:
        share = min(max(seconds / self.last, 0.0), 1.0)
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def ticks(self) -> tuple[Tick, ...]:
        power = 10.0 ** math.floor(math.log10(self.last / 4))
        step = next(power * n for n in (1, 2, 5, 10) if power * n * 5 >= self.last)
        count = int(self.last / step + 1e-9)
        return tuple(Tick(self.x(n * step), f"{n * step:.6g} s") for n in range(count + 1))


def _bars(steps: Sequence[Step], scale: _Scale) -> tuple[Bar, ...]:
    bars: list[Bar] = []
    free_from = [0.0] * _LEVELS
    sightings = [step for step in steps if step.status]
    for status, group in groupby(sightings, key=lambda step: step.status):
        seen = list(group)
        x = scale.x(seen[0].ended)
        width = max(scale.x(seen[-1].ended) - x, _LEAST_WIDTH)
        x = min(x, _RIGHT - width)
        shown = visible(status, _STATUS_LIMIT)
        length = len(shown) * _CHARACTER
        label_x = round(min(x, WIDTH - length), 1)
        level = next((n for n in range(_LEVELS) if free_from[n] <= label_x), -1)
        if level >= 0:
            free_from[level] = label_x + length + 8
        style = status if status in STATUSES else "other"
        bars.append(Bar(x, width, shown, style, label_x, level))
    return tuple(bars)


def _lanes(steps: Sequence[Step], scale: _Scale, top: float) -> tuple[Lane, ...]:
    callers = list(dict.fromkeys(step.caller for step in steps))
    lanes: list[Lane] = []
    for kind in (READ, UPDATED, CANCELLED, PUSHED):
        for caller in callers:
            marks = tuple(
                _mark(step, scale) for step in steps if (step.kind, step.caller) == (kind, caller)
            )
            if marks:
                label = _LANES[kind]
                if len(callers) > 1:
                    label += f", {visible(caller)[:8]}"
                lanes.append(Lane(label, top + len(lanes) * _LANE_HEIGHT, marks))
    return tuple(lanes)


def _mark(step: Step, scale: _Scale) -> Mark:
    x = scale.x(step.began)
    width = max(scale.x(step.ended) - x, _LEAST_WIDTH)
    return Mark(min(x, _RIGHT - width), round(width, 1), bool(step.refused), step.evidence)


# ---- in words ------------------------------------------------------------------------------


def in_words(life: TaskLife) -> str:
    """The picture as sentences: what was done when, by whom, and what it showed."""
    sentences = [*_sentences(life.steps)]
    if life.left_out:
        sentences.append(f"{life.left_out} more steps that told nothing new are left out.")
    return " ".join(sentences)


def _sentences(steps: Sequence[Step]) -> Iterator[str]:
    def alike(step: Step) -> tuple[str, str, str, str]:
        return (step.kind, step.caller, step.status, step.refused)

    for (kind, caller, status, refused), group in groupby(steps, key=alike):
        same = list(group)
        first, last = same[0].ended, same[-1].ended
        when = f"at {first:.2f} s" if len(same) == 1 else f"from {first:.2f} to {last:.2f} s"
        times = "" if len(same) == 1 else f" {len(same)} times"
        to = "to" if kind == PUSHED else "by"
        came = visible(refused or status, 80)
        yield (
            f"{_WORDS[kind].capitalize()}{times} {when} {to} {visible(caller, 40)}"
            + (f": {came}" if came else "")
            + "."
        )
