"""What there is to choose from for the steps of a plan, and how often each is chosen."""

from __future__ import annotations

from hypothesis import strategies as st

from conformance.drive.sequences.breaking import breakages
from conformance.drive.sequences.steps import ALOOF, FRESH, MAIN, OTHER, Step
from conformance.drive.sequences.tools import Toolbox
from conformance.drive.surroundings import ToolUse
from conformance.specification.names import TASK_METHODS
from conformance.target.target import NOBODY, SECOND

METHOD = st.sampled_from(TASK_METHODS)
WHERE = st.sampled_from((MAIN, MAIN, MAIN, OTHER, FRESH))
CALLS = st.sampled_from(("undeclared", "legacy", "elsewhere-declared", "task-parameter"))
UNKNOWN = st.sampled_from(
    ("never issued", "a character more", "a character less", "another digit")
)  # fmt: skip
ODD_IDS = st.sampled_from(
    ("", " ", "../../etc/passwd", "__proto__", "任务-🗂", "x" * 2000, "' OR '1'='1")
)
PLACE = st.integers(0, 299)
CALLERS = st.sampled_from((SECOND, SECOND, SECOND, NOBODY))
LABELS = st.sampled_from(("name of another task", "name of no task", "method", "version"))
MEMBERS = st.sampled_from(("taskId", "inputResponses", "_meta"))
OTHER_REQUESTS = st.sampled_from(("discover", "list", "plain"))
# A plain call keeps its caller waiting: of longer ones (seconds) there are none.
_SHORT_CALL = 0.5


def broken_step(tools: Toolbox, how: str, task: int, member: str, place: int) -> Step:
    """A request of a method with one place of its params wrong: in this member, if it has it."""
    every = breakages(tools.revision, how)
    ways = [way for way in every if way.path[0] == member] or every
    return Step("broken", task, how, value=ways[place % len(ways)].to_json())


def undeclared_call(tools: Toolbox, like: str, how: str) -> Step | None:
    """A call that must not become a task: of a tool of this name, where that is quick."""
    use: ToolUse | None = next((tool for tool in tools.weighted if tool.name == like), None)
    if use is None or (use.seconds or 0.0) > _SHORT_CALL:
        use = next(iter((*tools.quick, *tools.asking)), None)
    if use is None:
        return None
    return Step("call", 0, how, ALOOF, use.name, use.arguments)


def other_request(tools: Toolbox, how: str) -> Step:
    """A request that has nothing to do with tasks."""
    if how == "plain" and tools.plain:
        return Step("other", 0, how, tool=tools.plain[0].name, arguments=tools.plain[0].arguments)
    return Step("other", 0, "list" if how == "plain" else how)
