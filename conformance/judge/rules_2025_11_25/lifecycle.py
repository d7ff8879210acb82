"""lifecycle: the statuses of a task, and what may follow what."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.observation import BROKEN, Observation, unclear
from conformance.judge.older import answer_to, life_of, questions_of
from conformance.judge.rule import ADVICE, MUST, adopt, rule
from conformance.judge.rules import lifecycle
from conformance.specification.citations import tasks_2025
from conformance.target.roles import INPUT, TASK, tools_with
from conformance.wire.history import History

adopt(
    lifecycle.status_is_one_of_five,
    "lifecycle.known-status",
    MUST,
    tasks_2025("task-status"),
    into=__package__,
    needs=(TASK,),
)


@rule(
    "lifecycle.legal-transitions",
    MUST,
    tasks_2025("task-status-lifecycle"),
    needs=(TASK,),
    after=(
        "lifecycle.known-status",
        "creation.unique-ids",
        "cancellation.stays-cancelled",
        "cancellation.effective",
        "concurrency.reads-agree",
    ),
)
def only_transitions_of_the_diagram(history: History) -> Iterator[Observation]:
    """Only transitions of the state diagram are seen; none leads out of an ended state.

    Polls do not see every state, so what is looked at is whether one sighting of a task can
    follow another. What a cancellation does to an ended task, a rule of its own tells.
    """
    yield from lifecycle.only_transitions_of_the_diagram(history)


@rule(
    "lifecycle.reaches-an-end",
    ADVICE,
    tasks_2025("getting-tasks"),
    needs=(TASK,),
    after=("lifecycle.known-status",),
)
def tasks_end(history: History) -> Iterator[Observation]:
    """A task ends within the time budget once its input is answered.

    It is called stuck only where the same call has ended in a small part of the time, or where
    tasks of several tools were all watched to the end of --max-wait and not one of them ended.
    A task of a tool that asks may wait unseen, where nobody listened when it asked.
    """
    asking = tools_with(history, INPUT)
    for observation in lifecycle.tasks_end(history):
        life = life_of(history, observation.exchanges[-1])
        if observation.kind == BROKEN and life is not None and life.tool in asking:
            answered = any(answer_to(history, each) for each in questions_of(history, life))
            if not answered:
                yield unclear(observation.exchanges, "it may have asked where nobody listened")
                continue
        yield observation
