"""Answers what tasks ask on the stream of ``tasks/result``, or on the GET stream.

* ``answer``, ``decline-all``: responses to requests of the server, posted by the client.
* ``result-for-input``: the ``tasks/result`` on whose stream a task is to ask.
* ``read-while-asked``: a read after a request has come and before it is answered.
* ``kinds-not-declared``: ``tasks/result`` in a session that cannot answer all kinds.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import anyio

from conformance.drive.answers import CANCEL, DECLINE
from conformance.drive.driver import STALLED_SECONDS
from conformance.drive.older.driver import OlderDriver
from conformance.drive.older.scenario import older_scenario
from conformance.drive.older.session import answering, refusing, related_task
from conformance.drive.surroundings import ToolUse
from conformance.target.roles import INPUT
from conformance.wire.exchange import JsonObject

# Seconds after which a task that asks nothing is not waited for any longer.
_PATIENCE = 8.0
_MOST_QUESTIONS = 6
# Of these it can be that only the task is waiting for them: there is one in the session.
_ASKED_OF_THE_USER = ("elicitation/create", "sampling/createMessage")


def _askers(driver: OlderDriver) -> list[ToolUse]:
    return driver.tools(INPUT)[: 8 if driver.thorough else 3]


@older_scenario("input.answer", needs=(INPUT,), also=("outcome", "results", "lifecycle"))
async def answer(driver: OlderDriver) -> None:
    """In one session, tasks of every tool that asks are followed and answered, two at once."""

    async def one(tool: ToolUse) -> None:
        created = await driver.create(tool)
        if created is None:
            return
        if await driver.wait_for_input(created.task_id, limit=_limit(driver)) is None:
            return
        await driver.finish(created.task_id)
        await driver.get(created.task_id)

    async with anyio.create_task_group() as group:
        for tool in _askers(driver):
            for _ in range(2):
                group.start_soon(one, tool)


@older_scenario("input.hold", needs=(INPUT,), also=("lifecycle", "transport"))
async def hold(driver: OlderDriver) -> None:
    """A task's result is asked for at once, while the GET stream is open. Whatever it asks on
    either is answered only after the task was read."""
    async with anyio.create_task_group() as group:
        for number, tool in enumerate(_askers(driver)):
            group.start_soon(_hold_one, driver, tool, f"held-{number}")


async def _hold_one(driver: OlderDriver, tool: ToolUse, name: str) -> None:
    # Whatever is heard goes in here, and is answered further down.
    put, asked = anyio.create_memory_object_stream[JsonObject](_MOST_QUESTIONS)

    respond = answering()

    def keep(message: JsonObject) -> JsonObject | None:
        if related_task(message) is None and message.get("method") not in _ASKED_OF_THE_USER:
            return respond(message)  # the task does not wait for that
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            put.send_nowait(message)
        return None

    session = await driver.open(name, answers=keep)

    async def answer_after_reading(only_task: str) -> None:
        async for message in asked:
            named = related_task(message)
            task = named or only_task
            await driver.get(task, "read-while-asked")
            await driver.respond(session, message["id"], respond(message), task_id=named)
            await driver.get(task)

    # A server may ask on the GET stream, and as soon as the task is made.
    with put, asked:
        async with driver.listening(name):
            created = await driver.create(tool, in_session=name)
            if created is None:
                return
            async with anyio.create_task_group() as group:
                group.start_soon(answer_after_reading, created.task_id)
                await driver.result(created.task_id, "result-for-input", seconds=_limit(driver))
                await driver.wait_for_end(created.task_id, limit=_limit(driver))
                put.close()


@older_scenario("input.refuse", needs=(INPUT,))
async def refuse(driver: OlderDriver) -> None:
    """What tasks ask is declined, and in another session cancelled (``decline-all``)."""

    async def one(tool: ToolUse, name: str, action: str) -> None:
        await driver.open(name, answers=answering(action=action), answer_intent="decline-all")
        # It may ask again, on either stream, as long as it is looked at.
        async with driver.listening(name):
            created = await driver.create(tool, in_session=name)
            if created is None:
                return
            task_id = created.task_id
            if await driver.wait_for_input(task_id, limit=_limit(driver)) is None:
                return
            async with anyio.create_task_group() as both:
                both.start_soon(partial(driver.wait_for_end, task_id, limit=_limit(driver)))
                await driver.finish(task_id, limit=_limit(driver))
            await driver.get(task_id)

    async with anyio.create_task_group() as group:
        for number, tool in enumerate(_askers(driver)[:2]):
            for action in (DECLINE, CANCEL):
                group.start_soon(one, tool, f"{action}-{number}", action)


# What a client may be able to answer: nothing, or only one kind.
_ABLE: tuple[tuple[str, JsonObject], ...] = (
    ("nothing", {}),
    ("forms", {"elicitation": {"form": {}}}),
    ("models", {"sampling": {}}),
)


@older_scenario("input.kinds-not-declared", needs=(INPUT,), also=("negotiation",))
async def kinds_not_declared(driver: OlderDriver) -> None:
    """Tools that ask are called in sessions that cannot answer them, or not all they ask."""

    async def one(tool: ToolUse, name: str, capabilities: JsonObject) -> None:
        await driver.open(name, capabilities=capabilities, answers=refusing)
        patience = min(_limit(driver), STALLED_SECONDS)
        async with driver.listening(name):
            created = await driver.create(tool, in_session=name)
            if created is None:
                return
            task_id = created.task_id
            answer = await driver.result(task_id, "kinds-not-declared", hang_up_after=patience)
            if answer.error is None:
                await driver.get(task_id)
            else:  # it did not wait: what the task asks may be yet to come
                await driver.wait_for_end(task_id, limit=_limit(driver))

    async with anyio.create_task_group() as group:
        for number, tool in enumerate(_askers(driver)):
            for kind, capabilities in _ABLE:
                group.start_soon(partial(one, tool, f"{kind}-{number}", capabilities))


def _limit(driver: OlderDriver) -> float:
    return min(driver.target.max_wait, _PATIENCE)
