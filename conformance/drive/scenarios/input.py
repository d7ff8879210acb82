"""Answers what tasks ask: all of it, some of it, twice, wrongly, too late, or not at all.

The intents, each on a ``tasks/update`` unless it says otherwise:

``answer-all``               every open request, with content that fits
``decline-all``, ``cancel-all``  the same, but each form is declined or cancelled
``answer-some``              one of several open requests
``answer-rest``              what an ``answer-some`` left open
``answer-again``             a key that an earlier update answered, with another answer
``decline-again``            the same, but now declined
``answer-at-once``           one of two updates sent together, with different answers
``answer-old-key``           a key of an earlier round, while the next one is open
``unknown-key``              only a key that the task never issued
``known-and-unknown-key``    every open request and a key that was never issued
``answer-to-working``        a key never issued, to a task that works
``nothing-to-working``       no answers at all, to a task that works
``answer-to-ended``          an answer to a task that has ended
``nothing-to-ended``         no answers at all, to a task that has ended
``unknown-id``               a task that does not exist
``no-responses``, ``responses-not-an-object``  malformed params
``kinds-not-declared``       on ``tools/call`` and ``tasks/get``: not all of elicitation,
                             sampling and roots are declared
``left-alone``               on ``tools/call``: the task gets no update at all
``left-waiting``             on ``tools/call``: what the task asks is not answered
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio

from conformance.drive.answers import ACCEPT, CANCEL, DECLINE, answer_to
from conformance.drive.draft import DECLARED, Draft
from conformance.drive.driver import Created, Driver
from conformance.drive.scenario import scenario
from conformance.drive.surroundings import ToolUse
from conformance.drive.trying import is_soon_done
from conformance.specification.names import EXTENSION, TASKS_UPDATE
from conformance.specification.states import INPUT_REQUIRED, WORKING, is_terminal
from conformance.target.roles import BEFORE, INPUT, INPUTS, ROUNDS, SHORT_TTL, SLOW, TASK
from conformance.wire.exchange import ORDINARY, Exchange, JsonObject

# Seconds after which a task that was answered and did not move is not waited for any longer.
_PATIENCE = 12.0
# Seconds in which what should not happen would have happened.
_A_WHILE = 1.0
# Seconds, and reads, for which the scenarios look at a task that should not go on, and some more.
_LONGEST_LOOK = 4.0
_MOST_LOOKS = 3
# Seconds between those more: it is the first to move that counts, not how soon it is seen.
_BETWEEN_LOOKS = 0.4
_MOST_ROUNDS = 5
_MORE_TRIES = 3

_NO_SUCH_KEY = "conformance-never-issued"
_NO_SUCH_TASKS = (
    "6b1f0d3e-52a7-4c1c-9d0e-8f3f1f0c7a55",
    "conformance-no-such-task-4Qz81mB7tLw0",
)
# The scenarios below do not all begin at once: each waits a little (``driver.pause``), so that
# a small server is not met by fifty calls in one moment.

# A tool asks for nothing by itself where it plays one of these.
_ASKING = (INPUT, BEFORE)


# ---- what several scenarios do --------------------------------------------------------------


def _marked(requests: Mapping[str, Any], marker: str, action: str = ACCEPT) -> JsonObject:
    """Answers to all of these requests; each has a text of its own, to be found again."""
    return {
        key: answer_to(request, f"{marker}-{index:02d}", action)
        for index, (key, request) in enumerate(requests.items(), 1)
    }


def _open(task: JsonObject | None) -> JsonObject:
    """The open requests of a task that waits for input."""
    requests = (task or {}).get("inputRequests")
    waits = (task or {}).get("status") == INPUT_REQUIRED
    return requests if waits and isinstance(requests, dict) else {}


def _askers(driver: Driver, *, most: int) -> list[ToolUse]:
    """Tools whose task asks for input; the quickest first."""
    return driver.tools(INPUT, avoiding=(BEFORE,))[: most if not driver.thorough else 2 * most]


async def _ask(
    driver: Driver, tool: ToolUse, intent: str = ORDINARY
) -> tuple[str, JsonObject] | None:
    """A new task that waits for input, and its open requests."""
    created = await driver.create(tool, intent)
    if created is None:
        return None
    seen = await driver.wait_for_input(created.task_id, limit=_limit(driver))
    requests = _open(seen.task if seen is not None else None)
    return (created.task_id, requests) if requests else None


def _limit(driver: Driver) -> float:
    return min(driver.target.max_wait, _PATIENCE)


async def _look(driver: Driver, task_id: str, times: int) -> None:
    """Read a task a few times, at its pace. Where that is slow, once is late enough."""
    late_enough = anyio.current_time() + _A_WHILE
    for _ in range(times):
        await driver.get(task_id)
        if anyio.current_time() >= late_enough:
            return


async def _to_the_end(
    driver: Driver, task_id: str, answered: set[str], marker: str, intent: str = "answer-all"
) -> Exchange | None:
    """Follow a task, answering further rounds. Returns the read that showed its end."""

    def asks_more_or_ended(task: JsonObject) -> bool:
        return is_terminal(task.get("status")) or bool(_open(task).keys() - known)

    known = set(answered)
    for _ in range(_MOST_ROUNDS):
        seen = await driver.wait_for(task_id, asks_more_or_ended, limit=_limit(driver))
        if seen is None or seen.task is None or is_terminal(seen.task.get("status")):
            return seen
        requests = {k: v for k, v in _open(seen.task).items() if k not in known}
        known |= requests.keys()
        await driver.update(task_id, _marked(requests, marker), intent)
    return None


# ---- answering well -------------------------------------------------------------------------


@scenario("input.answer-all", needs=(INPUT,))
async def answer_all(driver: Driver) -> None:
    """The open requests are looked at twice and answered; when all is over, once more."""

    async def one(tool: ToolUse) -> None:
        asked = await _ask(driver, tool)
        if asked is None:
            return
        task_id, requests = asked
        await driver.get(task_id, connection="second-look")
        taken = await driver.update(task_id, _marked(requests, "first-answer"), "answer-all")
        if taken.result is None:
            await _look(driver, task_id, 1)
            return
        ended = await _to_the_end(driver, task_id, set(requests), "next-answer")
        if ended is None or ended.task is None or not is_terminal(ended.task.get("status")):
            return
        await _look(driver, task_id, 1)
        await driver.update(task_id, _marked(requests, "second-answer"), "answer-to-ended")
        await _look(driver, task_id, 2)

    async with anyio.create_task_group() as group:
        for tool in _askers(driver, most=4):
            group.start_soon(one, tool)


@scenario("input.refuse", needs=(INPUT,))
async def refuse(driver: Driver) -> None:
    """Forms are declined, and in another task cancelled."""

    async def refused(tool: ToolUse, action: str, intent: str) -> None:
        asked = await _ask(driver, tool)
        if asked is None:
            return
        task_id, requests = asked
        taken = await driver.update(task_id, _marked(requests, "first-answer", action), intent)
        if taken.result is None:
            await _look(driver, task_id, 1)
            return
        await _to_the_end(driver, task_id, set(requests), "next-answer")

    await driver.pause(0.2)
    async with anyio.create_task_group() as group:
        for tool in _askers(driver, most=2):
            group.start_soon(refused, tool, DECLINE, "decline-all")
            group.start_soon(refused, tool, CANCEL, "cancel-all")


@scenario("input.rounds", needs=(ROUNDS,))
async def rounds(driver: Driver) -> None:
    """While the second round is open the key of the first is answered again."""
    tool = driver.tool(ROUNDS, avoiding=(BEFORE,))
    asked = await _ask(driver, tool) if tool is not None else None
    if asked is None:
        return
    task_id, first = asked
    await driver.update(task_id, _marked(first, "first-answer"), "answer-all")
    seen = await driver.wait_for(
        task_id,
        lambda task: is_terminal(task.get("status")) or bool(_open(task).keys() - first.keys()),
        limit=_limit(driver),
    )
    second = _open(seen.task if seen is not None else None)
    if not second:
        return
    await driver.update(task_id, _marked(first, "second-answer"), "answer-old-key")
    await _look(driver, task_id, 3)
    await driver.update(task_id, _marked(second, "next-answer"), "answer-all")
    await _to_the_end(driver, task_id, {*first, *second}, "next-answer")


# ---- not answering --------------------------------------------------------------------------


@scenario(
    "input.unanswered",
    needs=(INPUT,),
    also=("negotiation", "security", "sequences", "transport"),
    long=True,
)
async def unanswered(driver: Driver) -> None:
    """Tasks ask, and nobody answers: for as long as other scenarios look whether a task goes on
    that should not, it is seen whether one does by itself."""
    tools: list[ToolUse | None] = list(_askers(driver, most=2))
    tools += [driver.tool(role, avoiding=(BEFORE,)) for role in (INPUTS, ROUNDS)]
    tools += [] if any(tools) else [driver.tool(INPUT)]

    async def wait(tool: ToolUse) -> None:
        asked = await _ask(driver, tool, "left-waiting")
        if asked is None:
            return
        task_id, requests = asked
        since = time.monotonic()
        looks = 0
        while looks < _MOST_LOOKS or not _looked_long_enough(driver, since):
            read = await driver.get(task_id)
            if read.task is not None and not requests.keys() <= _open(read.task).keys():
                return
            looks += 1
            if looks >= _MOST_LOOKS:
                await driver.pause(_BETWEEN_LOOKS)

    async with anyio.create_task_group() as group:
        for tool in {tool.name: tool for tool in tools if tool is not None}.values():
            group.start_soon(wait, tool)


def _looked_long_enough(driver: Driver, since: float) -> bool:
    """Whether a task that waits since this monotonic second was looked at for as long as those
    of other scenarios may have been."""
    session = driver.session
    waited = time.monotonic() - since
    others_waited = _LONGEST_LOOK
    if session.rest_ended is not None and session.first_asked is not None:
        others_waited = session.rest_ended - session.first_asked + _BETWEEN_LOOKS
    return waited >= min(others_waited, _LONGEST_LOOK, driver.target.max_wait)


# ---- answering in part, twice, and too late -------------------------------------------------


@scenario("input.some", needs=(INPUTS,))
async def some(driver: Driver) -> None:
    """One of several open requests is answered, and after a while the rest."""
    tool = driver.tool(INPUTS, avoiding=(BEFORE,))
    if tool is None:
        return

    async def first_or_last(last: bool) -> None:
        asked = await _ask(driver, tool)
        if asked is None or len(asked[1]) < 2:
            return
        task_id, requests = asked
        key = list(requests)[-1 if last else 0]
        answers = _marked(requests, "first-answer")
        await driver.update(task_id, {key: answers[key]}, "answer-some")
        await _look(driver, task_id, 2)
        seen = await driver.get(task_id)
        # All that is still open: a server need not take answers in parts.
        rest = {k: answers[k] for k in _open(seen.task) or requests.keys() - {key} if k in answers}
        if seen.task is not None and not is_terminal(seen.task.get("status")):
            await driver.update(task_id, rest, "answer-rest")
        await _to_the_end(driver, task_id, set(requests), "next-answer")

    async def and_again() -> None:
        asked = await _ask(driver, tool)
        if asked is None or len(asked[1]) < 2:
            return
        task_id, requests = asked
        key = next(iter(requests))
        answers = _marked(requests, "first-answer")
        taken = await driver.update(task_id, {key: answers.pop(key)}, "answer-some")
        if taken.result is None:
            return
        # Only where the first answer has been taken is the other one a second.
        gone = await driver.wait_for(
            task_id, lambda task: key not in _open(task), limit=min(3.0, _limit(driver))
        )
        if gone is None or not _open(gone.task):
            return
        other = {key: _marked(requests, "second-answer")[key]}
        await driver.update(task_id, other, "answer-again", control=taken)
        await _look(driver, task_id, 1)
        await driver.update(task_id, answers, "answer-rest")
        await _to_the_end(driver, task_id, set(requests), "next-answer")

    async with anyio.create_task_group() as group:
        group.start_soon(first_or_last, False)
        group.start_soon(first_or_last, True)
        group.start_soon(and_again)


@scenario("input.twice", needs=(INPUT,))
async def twice(driver: Driver) -> None:
    """A key is answered a second time: right after the first answer, and together with it."""

    async def one_after_another(tool: ToolUse, action: str, intent: str) -> None:
        asked = await _ask(driver, tool)
        if asked is None:
            return
        task_id, requests = asked
        taken = await driver.update(task_id, _marked(requests, "first-answer"), "answer-all")
        if taken.result is not None:
            other = _marked(requests, "second-answer", action)
            await driver.update(task_id, other, intent, control=taken)
        await _to_the_end(driver, task_id, set(requests), "next-answer")

    async def at_once(tool: ToolUse) -> None:
        asked = await _ask(driver, tool)
        if asked is None:
            return
        task_id, requests = asked

        async def update(marker: str) -> None:
            answers = _marked(requests, marker)
            await driver.update(task_id, answers, "answer-at-once", connection=marker)

        async with anyio.create_task_group() as group:
            group.start_soon(update, "first-answer")
            group.start_soon(update, "second-answer")
        await _to_the_end(driver, task_id, set(requests), "next-answer")

    await driver.pause(0.4)
    async with anyio.create_task_group() as group:
        for tool in _askers(driver, most=2):
            group.start_soon(one_after_another, tool, ACCEPT, "answer-again")
            group.start_soon(one_after_another, tool, DECLINE, "decline-again")
            for _ in range(4 if driver.thorough else 2):
                group.start_soon(at_once, tool)


@scenario("input.unknown-key", needs=(INPUT,))
async def unknown_key(driver: Driver) -> None:
    """A key that was never issued is answered, alone and beside those that were."""

    async def one(tool: ToolUse) -> None:
        control = await _ask(driver, tool)
        if control is None:
            return
        task_id, requests = control
        accepted = await driver.update(task_id, _marked(requests, "first-answer"), "answer-all")
        async with anyio.create_task_group() as group:
            group.start_soon(_to_the_end, driver, task_id, set(requests), "next-answer")
            for _ in range(alone_each):
                group.start_soon(alone, tool, accepted)
            group.start_soon(beside, tool, accepted)

    async def alone(tool: ToolUse, accepted: Exchange) -> None:
        asked = await _ask(driver, tool)
        if asked is None:
            return
        task_id, requests = asked
        await driver.update(task_id, _stray(requests), "unknown-key", control=accepted)
        await _look(driver, task_id, 2)
        await driver.update(task_id, _marked(requests, "first-answer"), "answer-all")
        await _to_the_end(driver, task_id, set(requests), "next-answer")

    async def beside(tool: ToolUse, accepted: Exchange) -> None:
        asked = await _ask(driver, tool)
        if asked is None:
            return
        task_id, requests = asked
        answers = {**_stray(requests), **_marked(requests, "first-answer")}
        mixed = await driver.update(task_id, answers, "known-and-unknown-key", control=accepted)
        if mixed.result is None:
            await driver.update(task_id, _marked(requests, "first-answer"), "answer-all")
        await _to_the_end(driver, task_id, set(requests), "next-answer")

    tools = _askers(driver, most=2)
    # A task that fails then may fail by accident, unless another does too.
    alone_each = 2 if len(tools) == 1 else 1
    await driver.pause(0.8)
    async with anyio.create_task_group() as group:
        for tool in tools:
            group.start_soon(one, tool)


def _stray(requests: Mapping[str, Any]) -> JsonObject:
    """An answer that would fit the first of these requests, under a key never issued."""
    return {_NO_SUCH_KEY: answer_to(next(iter(requests.values())), "stray-answer")}


@scenario("input.working", needs=(SLOW,))
async def working(driver: Driver) -> None:
    """A task that works is sent answers; a twin of it is left alone. Where none was seen at work
    after its answers, since there was too much else to do, a few more are."""
    tool = driver.tool(SLOW, avoiding=_ASKING)
    if tool is None:
        return
    went_on: list[str] = []

    async def updated(responses: JsonObject, intent: str, *, at_once: bool = False) -> None:
        created = await driver.create(tool)
        if created is None:
            return
        told: set[object] = {created.seed.get("statusMessage")}

        def under_way(task: JsonObject) -> bool:
            # A step is behind it, so that going back would be seen.
            told.add(task.get("statusMessage"))
            return len(told) > 1 or task.get("status") != WORKING

        soon = min(driver.target.max_wait, 0.4 * (tool.seconds or 1.0))
        if not at_once and driver.session.intervals.get(created.task_id, 0.0) < soon:
            await driver.wait_for(created.task_id, under_way, limit=soon)
        await driver.update(created.task_id, responses, intent)
        after = await driver.wait_for(created.task_id, lambda task: True)
        if after is not None and after.task is not None and after.task.get("status") == WORKING:
            went_on.append(created.task_id)
        await driver.wait_for_end(created.task_id)

    async def left_alone() -> None:
        created = await driver.create(tool, "left-alone")
        if created is not None:
            await driver.wait_for_end(created.task_id)

    stray = {_NO_SUCH_KEY: {"action": "accept", "content": {"text": "stray-answer"}}}
    async with anyio.create_task_group() as group:
        group.start_soon(left_alone)
        group.start_soon(updated, stray, "answer-to-working")
        group.start_soon(updated, {}, "nothing-to-working")
        # A quick task may be over before there was time to read it, and one may fail by accident.
        group.start_soon(partial(updated, at_once=True), stray, "answer-to-working")
        group.start_soon(partial(updated, at_once=True), {}, "nothing-to-working")
    for _ in range(_MORE_TRIES if is_soon_done(tool) else 0):
        if not went_on:
            await updated(stray, "answer-to-working", at_once=True)


@scenario("input.ended", needs=(TASK,))
async def ended(driver: Driver) -> None:
    """A task that has ended is sent an answer, and then an update without any."""
    peculiar = ("tool-error", "protocol-error", "large", SHORT_TTL)
    tool = driver.tool(TASK, avoiding=(*_ASKING, *peculiar)) or driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is None or await driver.wait_for_end(created.task_id) is None:
        return
    task_id = created.task_id
    await _look(driver, task_id, 1)
    stray = {_NO_SUCH_KEY: {"action": "accept", "content": {"text": "stray-answer"}}}
    await driver.update(task_id, stray, "answer-to-ended")
    await _look(driver, task_id, 2)
    await driver.update(task_id, {}, "nothing-to-ended")
    await _look(driver, task_id, 2)


# ---- answering wrongly ----------------------------------------------------------------------


@scenario("input.unknown-task")
async def unknown_task(driver: Driver) -> None:
    """An answer to a task that does not exist."""
    responses = {"question-1": {"action": "accept", "content": {}}}
    for task_id in _NO_SUCH_TASKS:
        await driver.update(task_id, responses, "unknown-id")


@scenario("input.malformed", needs=(TASK,))
async def malformed(driver: Driver) -> None:
    """Updates without inputResponses, and with ones that are no object.

    Where a tool asks for input the task waits for an answer that fits, which is accepted;
    otherwise an update without any answers is what is accepted.
    """
    tool = driver.tool(INPUT, avoiding=(BEFORE,))
    if tool is not None:
        accepting, waiting = await _ask(driver, tool), await _ask(driver, tool)
        if accepting is None or waiting is None:
            return
        task_id, requests = accepting
        accepted = await driver.update(task_id, _marked(requests, "first-answer"), "answer-all")
        await _malformed_probes(driver, waiting[0], accepted)
        answers = _marked(waiting[1], "first-answer")
        await driver.update(waiting[0], answers, "answer-all")
        async with anyio.create_task_group() as group:
            group.start_soon(_to_the_end, driver, task_id, set(requests), "next-answer")
            group.start_soon(_to_the_end, driver, waiting[0], set(waiting[1]), "next-answer")
        return
    tool = driver.tool(SLOW, avoiding=_ASKING) or driver.plain_task_tool()
    created = await driver.create(tool) if tool is not None else None
    if created is not None:
        accepted = await driver.update(created.task_id, {}, "nothing-to-working")
        await _malformed_probes(driver, created.task_id, accepted)
        await driver.wait_for_end(created.task_id)


async def _malformed_probes(driver: Driver, task_id: str, accepted: Exchange) -> None:
    absent = driver.draft(TASKS_UPDATE, {"taskId": task_id})
    await driver.send(absent, "no-responses", control=accepted)
    for responses in (None, "first-answer", ["first-answer"]):
        await driver.update(task_id, responses, "responses-not-an-object", control=accepted)


# ---- asking only what the client can answer -------------------------------------------------

# The extension, and of what can be asked: nothing, no forms, or only the others.
_EXTENSION_ALONE: JsonObject = {"extensions": {EXTENSION: {}}}
_ONLY_URLS: JsonObject = {**DECLARED, "elicitation": {"url": {}}}
_ONLY_FORMS: JsonObject = {**DECLARED, "elicitation": {"form": {}}}
_NO_ELICITATION: JsonObject = {k: v for k, v in DECLARED.items() if k != "elicitation"}


@scenario("input.kinds-not-declared")
async def kinds_not_declared(driver: Driver) -> None:
    """Tools that ask are called by a client that can answer nothing, or not what they ask."""
    most = 8 if driver.thorough else 3
    askers = [*_askers(driver, most=3), *driver.tools(BEFORE)[:most]]
    await driver.pause(0.6)

    async def one(tool: ToolUse, capabilities: JsonObject) -> None:
        draft = driver.call_draft(tool, capabilities=capabilities)
        called = await driver.send(draft, "kinds-not-declared")
        created = driver.created(tool, called)
        if created is not None:
            await _watch(driver, created, capabilities)

    async with anyio.create_task_group() as group:
        for tool in askers:
            for capabilities in (_EXTENSION_ALONE, _NO_ELICITATION, _ONLY_URLS, {}):
                group.start_soon(one, tool, capabilities)
        for tool in askers[:2]:
            group.start_soon(one, tool, _ONLY_FORMS)


async def _watch(driver: Driver, created: Created, capabilities: JsonObject) -> None:
    """Read a task, declaring no more than its call did, until it asks or ends."""
    ends = anyio.current_time() + min(driver.target.max_wait, 3.0 + 2 * (created.tool.seconds or 0))
    while True:
        await driver.pace(created.task_id)
        draft: Draft = driver.get_draft(created.task_id, capabilities=capabilities)
        seen = await driver.send(draft, "kinds-not-declared")
        task = seen.task
        if task is None or task.get("status") != WORKING or anyio.current_time() >= ends:
            return
