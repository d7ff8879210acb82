"""What a sequence is made of: steps, as plain data.

A step says what a client does and to which of its tasks, never to which id: tasks are numbered
by the steps that make them, and the ids are found when the step is done. So a plan can be kept,
shortened and done again on another server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from conformance.errors import UsageError
from conformance.wire.parsing import dump_json

# Where a request travels: the sequence's own connection, a second one, one on which nothing that
# declares the extension travels, or one that is opened for it alone.
MAIN, OTHER, ALOOF, FRESH = "main", "other", "aloof", "fresh"
# On every replica in turn, where there are several.
ELSEWHERE = "elsewhere"
PLACES = (MAIN, OTHER, ALOOF, FRESH, ELSEWHERE)

# Each thing a step may do, and the ways of doing it; the first is the ordinary one.
WAYS: dict[str, tuple[str, ...]] = {
    "create": ("kept", "hung-up", "notified"),
    "call": ("undeclared", "legacy", "elsewhere-declared", "task-parameter"),
    "read": ("paced", "at-once"),
    "wait": ("end", "input", "while", "over"),
    "finish": ("accept",),
    "answer": ("all", "some", "again", "old", "unknown", "beside", "nothing", "decline", "cancel"),
    "cancel": ("once",),
    "undeclared": ("tasks/get", "tasks/update", "tasks/cancel"),
    "legacy": ("tasks/get", "tasks/update", "tasks/cancel"),
    "mislabelled": ("tasks/get", "tasks/update", "tasks/cancel"),
    "foreign": ("tasks/get", "tasks/update", "tasks/cancel"),
    "unknown": ("tasks/get", "tasks/update", "tasks/cancel"),
    "broken": ("tasks/get", "tasks/update", "tasks/cancel"),
    "listen": ("one", "all"),
    "stop-listening": ("",),
    "disconnect": ("",),
    "other": ("discover", "list", "removed", "ill-formed", "plain"),
    "together": ("",),
}


# Whether a plan has the steps of another is left open after so many attempts.
_MOST_TRIED = 20_000
_METHODS_SAID = ("undeclared", "legacy", "mislabelled", "foreign", "unknown", "broken", "other")


@dataclass(frozen=True)
class Step:
    """One step. ``task`` is the number of the task it makes or is about, from 1; 0 where it is
    about none. ``how`` is one of its ``WAYS``, ``where`` one of ``PLACES``. ``tool`` and
    ``arguments`` are those of a call, ``value`` what a deliberately wrong request carries.
    ``steps`` are done at the same time, by ``together``.
    """

    do: str
    task: int = 0
    how: str = ""
    where: str = MAIN
    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    value: Any = None
    steps: tuple[Step, ...] = ()

    @property
    def makes(self) -> int:
        """The number of the task this step makes, or 0."""
        return self.task if self.do == "create" else 0

    @property
    def words(self) -> str:
        """The step for people, in a few words."""
        if self.do == "together":
            return "at the same time: " + "; ".join(step.words for step in self.steps)
        parts = [self.do]
        if self.how and (self.how != WAYS[self.do][0] or self.do in _METHODS_SAID):
            parts.append(self.how)
        if self.task:
            parts.append(f"task {self.task}")
        if self.tool:
            parts.append(f"({self.tool})")
        if isinstance(self.value, Mapping) and "change" in self.value:
            parts.append(f"[{self.value['change']}]")
        if self.where not in (MAIN, ALOOF):
            parts.append(f"on {self.where}")
        return " ".join(parts)


Plan = tuple[Step, ...]
# So many tasks a plan that is made up has at most.
MOST_TASKS = 3


def flat(plan: Iterable[Step]) -> Iterator[Step]:
    """Every step, those done together one after another."""
    for step in plan:
        yield from step.steps or (step,)


def unhurried(plan: Sequence[Step]) -> Plan:
    """The plan with a little while before whatever is done with a task."""
    slowly: list[Step] = []
    for step in plan:
        if step.task and not step.makes:
            slowly.append(Step("wait", step.task, "while"))
        slowly.append(step)
    return tuple(slowly)


def length(plan: Sequence[Step]) -> int:
    """How many steps a plan has; those done together count each."""
    return sum(1 for _ in flat(plan))


def to_json(plan: Iterable[Step]) -> list[dict[str, Any]]:
    """The plan as JSON values, without what says nothing."""
    return [_record(step) for step in plan]


def _record(step: Step) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for member in fields(Step):
        value = getattr(step, member.name)
        if value != member.default:
            record[member.name] = value
    if step.steps:
        record["steps"] = to_json(step.steps)
    record["do"] = step.do
    return record


def key(plan: Iterable[Step]) -> str:
    """A text that is the same for the same plan alone."""
    return dump_json(to_json(plan))


def from_json(value: object) -> Plan:
    """The plan that JSON values hold. Raises ``UsageError`` where they hold none."""
    if not isinstance(value, list):
        raise UsageError("its steps are not a list")
    return tuple(map(_step, value))


def _step(value: object) -> Step:
    known = {member.name for member in fields(Step)}
    if not isinstance(value, dict) or not set(value) <= known or value.get("do") not in WAYS:
        raise UsageError(f"{str(value)[:80]!r} is not a step this version knows")
    try:
        step = Step(**{**value, "steps": from_json(value.get("steps", []))})
    except TypeError:
        raise UsageError(f"{str(value)[:80]!r} is not a step this version knows") from None
    texts = (step.how, step.where, step.tool)
    if not all(isinstance(text, str) for text in texts) or not isinstance(step.task, int):
        raise UsageError(f"{str(value)[:80]!r} is not a step this version knows")
    if step.how not in ("", *WAYS[step.do]) or step.where not in PLACES:
        raise UsageError(f"{str(value)[:80]!r} is not a step this version knows")
    return step


def contains(plan: Sequence[Step], other: Sequence[Step]) -> bool:
    """Whether the steps of another plan are all in a plan, in their order, with others between
    them. Tools, and how requests travel, do not count. False also where that takes too long to
    find out."""
    steps, wanted = list(flat(plan)), list(flat(other))
    # What was tried before is not tried again, or reads in a row are tried in all combinations.
    tried: set[tuple[int, int, frozenset[tuple[int, int]]]] = set()

    def fits(start: int, number: int, tasks: Mapping[int, int]) -> bool:
        """Whether the wanted steps from this number on come from this place on, where these
        tasks of the one plan are those of the other."""
        if number == len(wanted):
            return True
        state = (start, number, frozenset(tasks.items()))
        if state in tried or len(tried) >= _MOST_TRIED:
            return False
        tried.add(state)
        first = wanted[number]
        return any(
            fits(place + 1, number + 1, {**tasks, first.task: steps[place].task})
            for place in range(start, len(steps))
            if _alike(steps[place], first)
            and tasks.get(first.task, steps[place].task) == steps[place].task
        )

    return fits(0, 0, {})


def _alike(one: Step, other: Step) -> bool:
    ordinary = WAYS[one.do][0]
    return one.do == other.do and (one.how or ordinary) == (other.how or ordinary)


def renumbered(plan: Sequence[Step]) -> Plan:
    """The plan with its tasks numbered from 1 in the order they are made, and without the steps
    on tasks that nothing makes."""
    numbers: dict[int, int] = {}
    kept: list[Step] = []
    for step in plan:
        renewed = _renumbered(step, numbers)
        if renewed is not None:
            kept.append(renewed)
    return tuple(kept)


def _renumbered(step: Step, numbers: dict[int, int]) -> Step | None:
    if step.do == "together":
        parts = [p for each in step.steps if (p := _renumbered(each, numbers)) is not None]
        if len(parts) < 2:
            return parts[0] if parts else None
        return replace(step, steps=tuple(parts))
    if step.makes:
        numbers[step.task] = len(numbers) + 1
    if step.task and step.task not in numbers:
        return None
    return replace(step, task=numbers[step.task]) if step.task else step
