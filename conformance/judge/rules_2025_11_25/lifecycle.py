"""lifecycle: the statuses of a task, and what may follow what."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.observation import Observation
from conformance.judge.rule import ADVICE, MUST, adopt, rule
from conformance.judge.rules import lifecycle
from conformance.specification.citations import tasks_2025
from conformance.target.roles import TASK
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


adopt(
    lifecycle.tasks_end,
    "lifecycle.reaches-an-end",
    ADVICE,
    tasks_2025("getting-tasks"),
    into=__package__,
    needs=(TASK,),
    after=("lifecycle.known-status",),
)
