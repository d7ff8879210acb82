"""Plans: what Hypothesis makes up, as data; broken params; and how plans are made shorter."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import anyio
import pytest

from conformance.drive.sequences.breaking import breakages, broken_params
from conformance.drive.sequences.planning import PROFILE, STEPS, plans
from conformance.drive.sequences.shrinking import Shrinking, looking_instead
from conformance.drive.sequences.steps import (
    MAIN,
    OTHER,
    PLACES,
    WAYS,
    Plan,
    Step,
    contains,
    flat,
    from_json,
    key,
    length,
    renumbered,
    to_json,
    unhurried,
)
from conformance.drive.sequences.tools import Toolbox, toolbox
from conformance.drive.sequences.touring import stations
from conformance.drive.surroundings import ToolUse
from conformance.errors import UsageError
from conformance.specification.names import TASK_METHODS, TASKS_UPDATE
from conformance.specification.schemas import problems

REVISION = "2026-07-28"
NAMED = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = (
    ToolUse("ask", {}, {}, ("task", "input"), "observed", 0.2),
    ToolUse("ask-twice", {}, {}, ("task", "input", "inputs"), "observed", 0.2),
    ToolUse("slow", {}, {}, ("task", "slow"), "observed", 1.0),
    ToolUse("echo", {"text": "hello"}, NAMED, ("task", "echo"), "observed", 0.1),
    ToolUse("brief", {}, {}, ("task", "short-ttl"), "observed", 0.1),
    ToolUse("huge", {}, {}, ("task", "large"), "observed", 0.1),
    ToolUse("plain", {}, {}, ("sync",), "observed"),
)


@pytest.fixture(scope="module")
def tools() -> Toolbox:
    return toolbox(TOOLS, identities=True, replicas=False, revision=REVISION)


@pytest.fixture(scope="module")
def many(tools: Toolbox) -> list[Plan]:
    return plans(tools, number=300, chosen_seed=1)


# ---- plans ---------------------------------------------------------------------------------


def test_a_seed_gives_the_same_plans_in_any_thread(tools: Toolbox) -> None:
    first = plans(tools, number=20, chosen_seed=7)
    elsewhere: list[Plan] = []
    thread = threading.Thread(
        target=lambda: elsewhere.extend(plans(tools, number=20, chosen_seed=7))
    )
    thread.start()
    thread.join()
    assert list(map(key, first)) == list(map(key, elsewhere))
    other = plans(tools, number=20, chosen_seed=8_000)
    assert list(map(key, first)) != list(map(key, other))


def test_our_settings_do_not_depend_on_where_they_are_loaded(
    tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hypothesis import settings

    before = list(map(key, plans(tools, number=10, chosen_seed=3)))
    settings.register_profile("somebody-else", derandomize=True, max_examples=1)
    current = settings.get_current_profile_name()
    settings.load_profile("somebody-else")
    try:
        assert list(map(key, plans(tools, number=10, chosen_seed=3))) == before
    finally:
        settings.load_profile(current)
    own = settings.get_profile(PROFILE)
    assert (own.deadline, own.database, own.derandomize) == (None, None, False)


def test_plans_differ_and_are_long(many: list[Plan]) -> None:
    assert len({key(plan) for plan in many}) == len(many) > 200
    assert sum(map(length, many)) / len(many) > 0.8 * STEPS


def test_two_thirds_are_tours_and_come_first(tools: Toolbox, many: list[Plan]) -> None:
    leads = [[s.do for s in station.lead] for station in stations(tools)]
    begun = [any([s.do for s in plan[: len(lead)]] == lead for lead in leads) for plan in many]
    tours = len(many) * 2 // 3
    assert all(begun[: tours - 5])
    assert not all(begun[tours + 5 :])


def test_tours_come_to_every_station_equally_often(tools: Toolbox) -> None:
    places = list(stations(tools))
    tours = plans(tools, number=3 * len(places), chosen_seed=5)[: 2 * len(places)]
    for station in places:
        lead = [(s.do, s.task, s.how) for s in station.lead]
        led = [plan for plan in tours if [(s.do, s.task, s.how) for s in plan][: len(lead)] == lead]
        assert len(led) >= 2, station


def test_a_tour_goes_to_what_tools_there_are() -> None:
    echo = toolbox(TOOLS[3:4], identities=False, replicas=False, revision=REVISION)
    assert {kind for station in stations(echo) for kind in station.tools} >= {"quick"}
    tours = plans(echo, number=30, chosen_seed=2)
    assert {s.tool for plan in tours for s in flat(plan) if s.makes} == {"echo"}
    assert not any(s.do == "foreign" for plan in tours for s in flat(plan))


def test_steps_are_about_tasks_that_were_made_before(many: list[Plan]) -> None:
    for plan in many:
        made: set[int] = set()
        for step in plan:
            # What is done together may not be about a task that is only made there.
            assert all(s.makes or s.task == 0 or s.task in made for s in step.steps or (step,))
            made |= {s.makes for s in step.steps or (step,)}
        assert renumbered(plan) == plan


def test_every_kind_of_step_comes_up_in_every_way(many: list[Plan]) -> None:
    seen = {(step.do, step.how) for plan in many for step in flat(plan)}
    seen |= {(step.do, "") for plan in many for step in plan if step.steps}
    wanted = {(do, how) for do, ways in WAYS.items() for how in ways}
    assert wanted - seen == set()
    assert {step.where for plan in many for step in flat(plan)} <= set(PLACES)


def test_lives_are_long_and_a_tenth_of_the_steps_is_malformed(many: list[Plan]) -> None:
    kinds = Counter(step.do for plan in many for step in flat(plan))
    total = sum(kinds.values())
    assert (kinds["unknown"] + kinds["broken"]) / total >= 0.1
    lives = kinds["read"] + kinds["answer"] + kinds["cancel"] + kinds["wait"] + kinds["finish"]
    assert lives / total >= 0.4
    assert kinds["create"] / total <= 0.2


def test_a_large_result_and_a_tool_that_makes_no_task_are_left_out(many: list[Plan]) -> None:
    made = {step.tool for plan in many for step in flat(plan) if step.makes}
    assert made == {"ask", "ask-twice", "slow", "echo", "brief"}


def test_without_a_tool_that_makes_tasks_there_are_no_plans() -> None:
    assert plans(toolbox((), identities=False, replicas=False, revision=REVISION),
                 number=10, chosen_seed=1) == []  # fmt: skip


def test_arguments_that_the_user_gave_are_kept() -> None:
    given = ToolUse("echo", {"text": "exactly this"}, NAMED, ("task", "echo"), "named", 0.1)
    box = toolbox((given,), identities=False, replicas=False, revision=REVISION)
    made = [s for p in plans(box, number=30, chosen_seed=2) for s in flat(p) if s.makes]
    assert made
    assert all(step.arguments == {"text": "exactly this"} for step in made)


# ---- plans as data --------------------------------------------------------------------------


def test_a_plan_survives_json(many: list[Plan]) -> None:
    for plan in many[:50]:
        assert from_json(to_json(plan)) == plan


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"do": "read"},
        [{"do": "no such thing"}],
        [{"do": "read", "how": "sideways"}],
        [{"do": "read", "where": "nowhere"}],
        [{"do": "read", "task": "1"}],
        [{"do": "read", "further": 1}],
        [{"do": "together", "steps": [{}]}],
        ["read"],
    ],
)
def test_what_is_no_plan_is_told(value: object) -> None:
    with pytest.raises(UsageError):
        from_json(value)


def test_tasks_are_numbered_anew_where_one_is_left_out() -> None:
    plan = (Step("create", 2, tool="a"), Step("read", 1), Step("read", 2), Step("disconnect"))
    shorter = renumbered(plan)
    assert [(s.do, s.task) for s in shorter] == [("create", 1), ("read", 1), ("disconnect", 0)]


def test_of_two_steps_together_one_may_be_left() -> None:
    both = Step("together", steps=(Step("read", 1), Step("read", 2)))
    assert renumbered((Step("create", 1, tool="a"), both))[1] == Step("read", 1)


# ---- broken params --------------------------------------------------------------------------

_PARAMS = {
    "taskId": "a task",
    "inputResponses": {"question": {"action": "accept", "content": {}}},
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "roots": {}},
    },
}
_NAMES = {"tasks/get": "GetTaskRequest", "tasks/update": "UpdateTaskRequest",
          "tasks/cancel": "CancelTaskRequest"}  # fmt: skip


def _broken() -> Iterator[tuple[str, str]]:
    for method in TASK_METHODS:
        for breakage in breakages(REVISION, method):
            yield method, breakage.change


@pytest.mark.parametrize("method", TASK_METHODS)
def test_each_breakage_is_refused_by_the_schema(method: str) -> None:
    right = {k: v for k, v in _PARAMS.items() if k != "inputResponses" or method == TASKS_UPDATE}
    found = 0
    for breakage in breakages(REVISION, method):
        wrong = broken_params(right, breakage)
        if wrong is None:
            continue
        found += 1
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": wrong}
        refused = problems(REVISION, _NAMES[method], message)
        refused += problems(REVISION, "RequestMetaObject", wrong.get("_meta"))
        # A member of another kind of answer is not one that this kind must not have.
        assert refused or "/role" in breakage.change, breakage.change
    assert found > 30


def test_every_member_of_the_params_is_broken_in_type_and_in_presence() -> None:
    changes = {change for method, change in _broken() if method == TASKS_UPDATE}
    for member in ("taskId", "inputResponses", "_meta"):
        assert f"without {member}" in changes
        assert f"{member} is null" in changes
        assert f"{member} is an integer" in changes
    assert "inputResponses/*/action is a word nobody knows" in changes


# ---- plans within plans ----------------------------------------------------------------------


def test_a_plan_has_the_steps_of_another_in_their_order() -> None:
    made, read, cancel = Step("create", 1), Step("read", 1), Step("cancel", 1)
    assert contains((made, read, read, cancel), (made, cancel))
    assert not contains((made, cancel, read), (made, read, cancel))
    # Tasks have other numbers, but stay the same.
    two = (Step("create", 1), Step("create", 2), Step("read", 1), Step("cancel", 2))
    assert contains(two, (made, cancel))
    assert not contains(two, (made, read, cancel))


def test_many_steps_alike_are_not_tried_in_all_their_combinations() -> None:
    made, read = Step("create", 1), Step("read", 1)
    assert not contains((made, *[read] * 60), (made, *[read] * 30, Step("cancel", 1)))


# ---- what tools are called with --------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "allowed"),
    [
        ({"type": "number", "minimum": 0.1, "maximum": 0.9}, lambda n: 0.1 <= n <= 0.9),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, lambda n: 0 < n <= 1),
        ({"type": "integer", "minimum": 1.5}, lambda n: n in (2, 3, 4)),
        ({"type": "integer", "maximum": 10**400}, lambda n: n in (1, 2, 3, 4)),
    ],
)
def test_numbers_lie_between_their_bounds(
    schema: dict[str, object], allowed: Callable[[float], bool]
) -> None:
    tool = ToolUse(
        "dial",
        {"at": 2 if schema["type"] == "integer" else 0.5},
        {"properties": {"at": schema}, "required": ["at"]},
        ("task",),
    )
    box = toolbox((tool,), identities=False, replicas=False, revision=REVISION)
    made = plans(box, number=6, chosen_seed=2)
    called = [s.arguments["at"] for plan in made for s in flat(plan) if s.makes and s.arguments]
    assert called
    assert all(map(allowed, called)), called


# ---- shorter plans --------------------------------------------------------------------------

_LONG: Plan = (
    Step("create", 1, "kept", MAIN, "ask"),
    Step("read", 1, "paced", OTHER),
    Step("create", 2, "kept", MAIN, "slow"),
    Step("answer", 1, "some"),
    Step("disconnect", where=MAIN),
    Step("together", steps=(Step("read", 1), Step("cancel", 2, "once", OTHER))),
    Step("unknown", 0, "tasks/get", value={"id": ""}),
    Step("cancel", 1, "once", OTHER),
    Step("listen", 2, "all"),
    Step("read", 1, "paced"),
)


def _needs(*wanted: tuple[str, int], attempts: int = 200) -> tuple[list[Plan], Shrinking]:
    """A shrinking that is content with whatever has these steps in this order."""
    tried: list[Plan] = []

    async def attempt(plan: Plan) -> bool:
        tried.append(plan)
        remaining = iter([(step.do, step.task) for step in flat(plan)])
        return all(step in remaining for step in wanted)

    return tried, Shrinking(attempt, attempts=attempts)


def test_a_plan_shrinks_to_what_it_takes() -> None:
    _, shrinking = _needs(("create", 1), ("answer", 1), ("cancel", 1))
    shortest = anyio.run(shrinking.shortest, _LONG)
    assert [(s.do, s.task) for s in shortest] == [("create", 1), ("answer", 1), ("cancel", 1)]
    # And what is left is as ordinary as can be.
    assert [(s.how, s.where) for s in shortest] == [
        ("kept", MAIN), ("all", MAIN), ("once", MAIN),
    ]  # fmt: skip


def test_a_task_that_stays_gets_the_number_of_the_first() -> None:
    _, shrinking = _needs(("create", 1), ("cancel", 1))
    shortest = anyio.run(shrinking.shortest, _LONG)
    assert [(s.do, s.task) for s in shortest] == [("create", 1), ("cancel", 1)]


def test_what_is_done_together_is_taken_apart() -> None:
    _, shrinking = _needs(("create", 1), ("create", 2), ("read", 1), ("cancel", 2))
    shortest = anyio.run(shrinking.shortest, _LONG)
    assert [s.do for s in shortest] == ["create", "create", "read", "cancel"]


def test_no_more_is_tried_than_may_be() -> None:
    tried, shrinking = _needs(("create", 1), ("answer", 1), ("cancel", 1), attempts=9)
    shortest = anyio.run(shrinking.shortest, _LONG)
    # The result itself is done once more, alone.
    assert 3 < len(tried) <= 10
    assert length(shortest) <= length(_LONG)


def test_time_is_kept_for_doing_it_alone() -> None:
    """Each attempt takes a second, and company only disturbs: little would come of it."""
    seconds, at_work = 60.0, 0

    async def attempt(plan: Plan) -> bool:
        nonlocal seconds, at_work
        seconds, at_work = seconds - 1, at_work + 1
        await anyio.sleep(0)
        company = at_work > 1
        at_work -= 1
        remaining = iter([(step.do, step.task) for step in flat(plan)])
        wanted = (("create", 1), ("create", 2), ("read", 1))
        return not company and all(step in remaining for step in wanted)

    makes = tuple(Step("create", number) for number in range(1, 13))
    plan = (*makes, Step("cancel", 4), Step("read", 5), Step("cancel", 6))
    shrinking = Shrinking(attempt, attempts=500, seconds_left=lambda: seconds)
    shortest = anyio.run(shrinking.shortest, plan)
    assert [step.do for step in shortest] == ["create", "create", "read"]


def test_looks_that_only_take_their_time_become_one_wait() -> None:
    async def attempt(plan: Plan) -> bool:
        seconds = sum(2 if step.how == "over" else step.do in ("read", "wait") for step in plan)
        return {"create", "answer"} <= {step.do for step in plan} and seconds >= 2

    looks = (Step("wait", 1, "input"), Step("read", 1), Step("read", 1, "paced", OTHER))
    plan = (Step("create", 1), Step("answer", 1), *looks)
    shortest = anyio.run(Shrinking(attempt, attempts=100).shortest, plan)
    assert [(step.do, step.how) for step in shortest[2:]] == [("wait", "over")]


def test_other_tasks_that_only_take_their_time_become_one_wait() -> None:
    async def attempt(plan: Plan) -> bool:
        seconds = sum(4 if step.how == "over" else step.task == 2 for step in plan)
        own = [step.do for step in plan if step.task == 1]
        return {"create", "cancel"} <= set(own) and seconds >= 4

    own = (Step("create", 1), Step("cancel", 1))
    other = (Step("create", 2), Step("answer", 2), Step("read", 2), Step("cancel", 2))
    shortest = anyio.run(Shrinking(attempt, attempts=100).shortest, (*own, *other))
    assert [(step.do, step.how) for step in shortest[2:]] == [("wait", "over")]


def test_listening_to_all_becomes_listening_to_one() -> None:
    """Where two listen to the same, however many that are, one task is enough."""

    async def attempt(plan: Plan) -> bool:
        made = {step.task for step in plan if step.makes}
        heard = [made if s.how == "all" else {s.task} for s in plan if s.do == "listen"]
        cancelled = {step.task for step in plan if step.do == "cancel"}
        alike = len(heard) == 2 and heard[0] == heard[1]
        both = alike and bool(heard[0] & cancelled)
        return both and ("one" in {s.how for s in plan if s.do == "listen"} or len(made) == 3)

    makes = tuple(Step("create", number) for number in (1, 2, 3))
    plan = (*makes, Step("cancel", 3), Step("listen", 1, "all"), Step("listen", 2, "all"))
    shortest = anyio.run(Shrinking(attempt, attempts=100).shortest, plan)
    assert [(step.do, step.task) for step in shortest] == [
        ("create", 1), ("cancel", 1), ("listen", 1), ("listen", 1),
    ]  # fmt: skip


def test_of_many_steps_that_could_go_one_by_one_some_must_stay() -> None:
    """Which those are is found in few attempts."""
    tried = 0

    async def attempt(plan: Plan) -> bool:
        nonlocal tried
        tried += 1
        return sum(step.do == "read" for step in plan) >= 3 and plan[0].do == "create"

    plan = (Step("create", 1), *(Step("read", 1, "paced", OTHER) for _ in range(20)))
    shortest = anyio.run(Shrinking(attempt, attempts=500, at_once=1).shortest, plan)
    assert [step.do for step in shortest] == ["create", "read", "read", "read"]
    assert tried < 50


def test_what_shows_only_in_company_is_found_one_at_a_time() -> None:
    """Of several attempts at once every one shows; alone, only what really does."""
    at_work = 0

    async def attempt(plan: Plan) -> bool:
        nonlocal at_work
        at_work += 1
        await anyio.sleep(0)
        company = at_work > 1
        await anyio.sleep(0)
        at_work -= 1
        return company or {"create", "answer", "cancel"} <= {step.do for step in flat(plan)}

    shortest = anyio.run(Shrinking(attempt, attempts=500).shortest, _LONG)
    assert [step.do for step in shortest] == ["create", "answer", "cancel"]


def test_the_last_step_that_might_change_a_task_is_replaced_by_a_look() -> None:
    plan = (Step("create", 1), Step("create", 2), Step("cancel", 1), Step("read", 2))
    assert looking_instead(plan) == (*plan[:2], Step("read", 1), plan[3])
    assert looking_instead(plan[:2]) is None


def test_a_plan_is_done_without_hurry() -> None:
    plan = (Step("create", 1), Step("other", 0, "list"), Step("cancel", 1))
    assert [step.words for step in unhurried(plan)] == [
        "create task 1", "other list", "wait while task 1", "cancel task 1",
    ]  # fmt: skip


def test_no_callback_of_the_collector_is_left_behind() -> None:
    """One that is called when some thread has run out of stack ends the process."""
    code = (
        "import gc\n"
        "from conformance.drive.sequences.planning import plans\n"
        "from conformance.drive.sequences.tools import Toolbox\n"
        "from conformance.drive.surroundings import ToolUse\n"
        "tools = Toolbox(quick=(ToolUse('t', roles=('task',), seconds=0.1),))\n"
        "print(len(plans(tools, number=6, chosen_seed=1)), len(gc.callbacks))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    made, left = map(int, done.stdout.split())
    assert made > 0
    assert left == 0
