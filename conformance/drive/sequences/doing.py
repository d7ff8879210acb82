"""What each kind of step does.

Here a step gets its meaning: which id the task's number stands for, which requests are open and
so can be answered, whether a cancellation is the first or another. What a step cannot do (a task
that was never made, an answer that was never given) it leaves out.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from conformance.drive.answers import CANCEL, DECLINE
from conformance.drive.draft import LEGACY_DECLARED, UNDECLARED
from conformance.drive.sequences import misdoing
from conformance.drive.sequences.answering import (
    answer_open,
    answers_for,
    stray_answer,
    update,
)
from conformance.drive.sequences.followed import Followed, Stream
from conformance.drive.sequences.steps import Step
from conformance.specification.names import (
    ACKNOWLEDGED,
    DISCOVER,
    EXTENSION,
    HEADER_NAME,
    LISTEN,
    TOOLS_LIST,
)
from conformance.target.marking import marked
from conformance.target.roles import ECHO, INPUT
from conformance.wire.client import FRESH
from conformance.wire.exchange import ORDINARY, Exchange, JsonObject
from conformance.wire.parsing import parse_json
from conformance.wire.sse import Event

if TYPE_CHECKING:
    from conformance.drive.sequences.performing import Performance

    AloneDoing = Callable[[Performance, Step], Awaitable[None]]
    TaskDoing = Callable[[Performance, Step, Followed], Awaitable[None]]

# Seconds for what a step waits for: that a task asks, that it ends, that a while passes.
_TO_ASK, _TO_END, _A_WHILE = 1.0, 2.5, 0.15
# A new handle may be read at once for so many seconds.
_AT_ONCE = 0.5
# Seconds for the first message of a stream.
_FIRST_MESSAGE = 3.0
# Seconds in which a server notices that a connection was closed.
_TO_NOTICE = 0.05
_TASK_PARAMETER: JsonObject = {"ttl": 7_654_321}


async def do(run: Performance, step: Step) -> None:
    """Do one step. A step on a task that was not made does nothing."""
    alone = _ALONE.get(step.do)
    if alone is not None:
        await alone(run, step)
        return
    followed = run.tasks.get(step.task)
    if followed is not None:
        await _ON_TASKS[step.do](run, step, followed)


# ---- making tasks ------------------------------------------------------------------------


async def _create(run: Performance, step: Step, place: str = "") -> None:
    tool = run.tool(step.tool)
    arguments = dict(step.arguments or {})
    intent, notes = ORDINARY, {}
    travel = run.travel(step, place)
    if step.how == "hung-up":
        intent, travel["connection"] = "create-and-hang-up", FRESH
    elif step.how == "notified":
        intent = "create-and-notify"
    elif tool.plays(ECHO) and tool.how == "observed":
        # What tells two calls apart comes first: a text may be cut to what its schema allows.
        marker = f"{step.task:02d}-{run.driver.scenario}"
        arguments = marked(tool.schema, arguments, marker)
        intent, notes = "create-with-marker", {"marker": marker}
    created = await run.driver.create(tool, intent, arguments=arguments, notes=notes, **travel)
    if created is None:
        return
    run.tasks[step.task] = Followed(step.task, created, created.seed)
    if step.how == "notified":
        params = {"requestId": created.exchange.request_id, "reason": "No longer wanted."}
        draft = run.driver.draft("notifications/cancelled", params).without_member("id")
        await run.driver.send(draft, "cancel-by-notification", **travel)


async def _call(run: Performance, step: Step) -> None:
    """A call that must not become a task."""
    tool = run.tool(step.tool)
    arguments = dict(step.arguments or {})
    control = _same_call_declared(run, step.tool, arguments)
    legacy = step.how == "legacy"
    draft = run.driver.call_draft(
        tool, arguments=arguments, capabilities=LEGACY_DECLARED if legacy else UNDECLARED
    )
    intent = "legacy-declaration" if legacy else "undeclared"
    if step.how == "elsewhere-declared":
        draft, intent = draft.with_meta(EXTENSION, {}), "declared-elsewhere"
    elif step.how == "task-parameter":
        draft = draft.with_param("task", _TASK_PARAMETER)
        intent = "task-parameter-undeclared"
    await run.driver.send(draft, intent, control=control, **run.travel(step))


def _same_call_declared(run: Performance, tool: str, arguments: JsonObject) -> Exchange | None:
    """A call of this sequence that was the same, but for its declaration, and made a task."""
    for followed in run.tasks.values():
        exchange = followed.created.exchange
        if exchange.tool == tool and exchange.params.get("arguments") == arguments:
            return exchange
    return None


# ---- looking at them -----------------------------------------------------------------------


async def _read(run: Performance, step: Step, followed: Followed) -> None:
    travel = run.travel(step)
    new = time.monotonic() - followed.created.exchange.ended < _AT_ONCE
    if step.how == "at-once" and new and followed.read is None and not followed.cancelled:
        await run.read(followed, "read-at-once", paced=False, **travel)
    else:
        await run.read(followed, **travel)


async def _wait(run: Performance, step: Step, followed: Followed) -> None:
    if step.how == "while":
        await run.driver.pause(_A_WHILE)
    elif step.how == "over":
        await run.outlive(followed)
    else:
        asks = step.how == "input" or followed.created.tool.plays(INPUT)
        await run.until(followed, _TO_ASK if asks else _TO_END, lambda task: task.settled)


async def _finish(run: Performance, step: Step, followed: Followed) -> None:
    """Follow a task to its end and answer all it asks, each key once."""
    ends = time.monotonic() + _TO_END
    while not followed.ended and time.monotonic() < ends:
        await run.until(followed, _TO_END, lambda task: task.settled)
        if followed.ended or not followed.open:
            return
        answer = await answer_open(run, followed, followed.open, "answer-all", run.travel(step))
        if answer.error is not None:
            return  # it takes no answers, so it would wait for ever


# ---- changing them -------------------------------------------------------------------------


async def _answer(run: Performance, step: Step, followed: Followed) -> None:
    new_ones = step.how == "old" or not followed.answered
    if followed.may_ask and new_ones and step.how not in ("again", "nothing"):
        await run.until(followed, _TO_ASK, lambda task: task.settled)
    travel = run.travel(step)
    waiting = followed.open
    earlier = {k: followed.asked[k] for k in followed.answered if k not in followed.waits}
    if followed.ended and followed.asked and step.how not in ("nothing", "unknown"):
        answers = answers_for(run, followed, followed.asked)
        await update(run, followed, answers, "answer-to-ended", travel)
    elif step.how == "again" and followed.answered:
        await _answer_again(run, followed, travel)
    elif step.how == "old" and waiting and earlier:
        answers = answers_for(run, followed, earlier)
        await update(run, followed, answers, "answer-old-key", travel)
    elif step.how == "unknown":
        if followed.open and not (followed.quiet and followed.untouched):
            # What was asked before may have changed it: then nothing is to be learnt of this.
            await run.read(followed)
        intent = _intent_of_stray(followed)
        await update(run, followed, stray_answer(followed), intent, travel)
    elif step.how == "nothing" or not waiting:
        intent = "nothing-to-ended" if followed.ended else "nothing"
        await update(run, followed, {}, intent, travel)
    elif step.how == "some" and len(waiting) > 1:
        key = next(iter(waiting))
        await answer_open(run, followed, {key: waiting[key]}, "answer-some", travel)
    elif step.how == "beside":
        intent = "known-and-unknown-key"
        more = stray_answer(followed)
        await answer_open(run, followed, waiting, intent, travel, more=more)
    elif step.how in ("decline", "cancel"):
        action = DECLINE if step.how == "decline" else CANCEL
        await answer_open(run, followed, waiting, f"{step.how}-all", travel, action=action)
    else:
        await answer_open(run, followed, waiting, "answer-all", travel)


def _intent_of_stray(followed: Followed) -> str:
    if followed.ended:
        return "answer-to-ended"
    return "unknown-key" if followed.open and followed.quiet else "answer-to-working"


async def _answer_again(run: Performance, followed: Followed, travel: Mapping[str, Any]) -> None:
    """The keys that were answered last once more, with other texts."""
    first = list(followed.answered.values())[-1]
    again = {k: followed.asked[k] for k, taken in followed.answered.items() if taken is first}
    answers = answers_for(run, followed, again)
    await update(run, followed, answers, "answer-again", travel, control=first)


async def _cancel(run: Performance, step: Step, followed: Followed, place: str = "") -> None:
    intent = "cancel-live"
    if place:
        intent = "cancel-together"
    elif followed.cancelled:
        intent = "cancel-again"
    elif followed.ended:
        intent = "cancel-ended"
    followed.quiet = False
    travel = run.travel(step, place)
    exchange = await run.driver.cancel(followed.task_id, intent, **travel)
    followed.cancelled = followed.cancelled or exchange.result is not None


# ---- at the same time ----------------------------------------------------------------------


async def _together(run: Performance, step: Step) -> None:
    # What must be known, or waited for, is so before anything is sent.
    for part in step.steps:
        followed = run.tasks.get(part.task)
        if followed is None or part.makes:
            continue
        if part.do == "answer" and followed.may_ask and not followed.answered:
            await run.until(followed, _TO_ASK, lambda task: task.settled)
        if part.do == "read":
            await run.driver.pace(followed.task_id)
    opened = {number: dict(followed.open) for number, followed in run.tasks.items()}
    async with anyio.create_task_group() as group:
        for place, part in enumerate(step.steps):
            group.start_soon(_beside_others, run, part, f"together-{place}", opened, step.steps)


async def _beside_others(
    run: Performance,
    part: Step,
    place: str,
    opened: Mapping[int, JsonObject],
    others: Sequence[Step],
) -> None:
    followed = run.tasks.get(part.task)
    if part.do == "create":
        await _create(run, part, place)
    elif followed is None:
        return
    elif part.do == "read":
        travel = run.travel(part, place)
        draft = run.driver.get_draft(followed.task_id)
        followed.note(await run.driver.send(draft, "read-in-parallel", **travel))
    elif part.do == "cancel":
        await _cancel(run, part, followed, place)
    elif part.do == "answer":
        waiting = dict(opened.get(part.task, {}))
        several = sum(o.do == "answer" and o.task == part.task for o in others) > 1
        travel = run.travel(part, place)
        if waiting:
            intent = "answer-at-once" if several else "answer-all"
            await answer_open(run, followed, waiting, intent, travel)
        else:
            await update(run, followed, {}, "nothing", travel)


# ---- connections ---------------------------------------------------------------------------


async def _listen(run: Performance, step: Step, followed: Followed) -> None:
    chosen = list(run.tasks.values()) if step.how == "all" else [followed]
    filters = {"taskIds": [task.task_id for task in chosen]}
    draft = run.driver.draft(LISTEN, {"notifications": filters})
    first = anyio.Event()
    stream = Stream()

    def hear(event: Event) -> bool:
        message = parse_json(event.data).value
        if isinstance(message, dict) and message.get("method") == ACKNOWLEDGED:
            first.set()
        return False

    async def listen() -> None:
        # A stream holds its connection: it has one of its own.
        try:
            await run.driver.send(
                draft, "listen", connection=FRESH, on_event=hear, enough=stream.enough
            )
        finally:
            stream.ended.set()
            first.set()

    assert run.group is not None
    run.streams.append(stream)
    run.group.start_soon(listen)
    with anyio.move_on_after(_FIRST_MESSAGE):
        await first.wait()


async def _stop_listening(run: Performance, step: Step) -> None:
    """End the stream that was opened last."""
    if run.streams:
        stream = run.streams.pop()
        stream.enough.set()
        await stream.ended.wait()
        # A server takes a moment to notice that nobody listens any more.
        await run.driver.pause(_TO_NOTICE)


async def _disconnect(run: Performance, step: Step) -> None:
    await run.session.wire.disconnect(run.connection(step.where))


async def _other(run: Performance, step: Step) -> None:
    travel = run.travel(step)
    if step.how == "discover":
        await run.driver.send(run.driver.draft(DISCOVER), **travel)
    elif step.how == "list":
        await run.driver.send(run.driver.draft(TOOLS_LIST), **travel)
    elif step.how == "plain":
        await run.driver.call(run.tool(step.tool), arguments=dict(step.arguments or {}), **travel)
    elif step.how == "ill-formed":
        draft = run.driver.draft(DISCOVER).with_raw_body(b'{"jsonrpc": "2.0", "id": 1, "meth')
        await run.driver.send(draft, "ill-formed", **travel)
    elif (followed := run.tasks.get(step.task)) is not None:
        name = dict(run.driver.get_draft(followed.task_id).headers)[HEADER_NAME]
        draft = run.driver.draft("tasks/result", {"taskId": followed.task_id})
        draft = draft.with_header(HEADER_NAME, name)
        await run.driver.send(draft, "removed-method", control=followed.read, **travel)


_ALONE: dict[str, AloneDoing] = {
    "create": _create,
    "call": _call,
    "together": _together,
    "stop-listening": _stop_listening,
    "disconnect": _disconnect,
    "other": _other,
    "unknown": misdoing.unknown,
}
_ON_TASKS: dict[str, TaskDoing] = {
    "read": _read,
    "wait": _wait,
    "finish": _finish,
    "answer": _answer,
    "cancel": _cancel,
    "listen": _listen,
    "undeclared": partial(misdoing.undeclared, legacy=False),
    "legacy": partial(misdoing.undeclared, legacy=True),
    "mislabelled": misdoing.mislabelled,
    "foreign": misdoing.foreign,
    "broken": misdoing.broken,
}
