"""What the steps do that a careful client does not: requests that are wrong in one thing.

Each is sent beside the accepted request from which it differs, where the sequence has one.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING

from conformance.drive.draft import LEGACY_DECLARED, UNDECLARED, Draft
from conformance.drive.scenarios.polling import changed_ids
from conformance.drive.sequences.answering import NEVER_ISSUED, answers_for
from conformance.drive.sequences.breaking import Breakage, breakage_from, broken_params
from conformance.drive.sequences.followed import Followed
from conformance.drive.sequences.steps import Step
from conformance.specification.names import (
    HEADER_METHOD,
    HEADER_NAME,
    HEADER_VERSION,
    TASK_METHODS,
    TASKS_GET,
    TASKS_UPDATE,
)
from conformance.target.target import SECOND
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.headers import header_value

if TYPE_CHECKING:
    from conformance.drive.sequences.performing import Performance

_UNKNOWN_VERSION = "2099-01-01"


def _params(run: Performance, step: Step, followed: Followed) -> JsonObject:
    """Params that would be in order. Answers are sent only where the task was just seen to
    wait for them: so what becomes of them shows."""
    params: JsonObject = {"taskId": followed.task_id}
    if step.how == TASKS_UPDATE:
        waiting = followed.open if followed.quiet else {}
        params["inputResponses"] = answers_for(run, followed, waiting)
    return params


def _control(step: Step, followed: Followed) -> Exchange | None:
    if step.how == TASKS_GET:
        return followed.read
    return followed.accepted if step.how == TASKS_UPDATE else None


async def undeclared(run: Performance, step: Step, followed: Followed, *, legacy: bool) -> None:
    """A request about a task that does not declare the extension."""
    capabilities = LEGACY_DECLARED if legacy else UNDECLARED
    draft = run.driver.draft(step.how, _params(run, step, followed), capabilities=capabilities)
    intent = "legacy-declaration" if legacy and step.how == TASKS_GET else "undeclared"
    followed.note_misdoing(step.how)
    await run.driver.send(draft, intent, control=_control(step, followed), **run.travel(step))


async def mislabelled(run: Performance, step: Step, followed: Followed) -> None:
    """A request about a task with a header that says something other than the body."""
    draft = run.driver.draft(step.how, _params(run, step, followed))
    draft, intent = _with_wrong_header(run, step, followed, draft)
    followed.note_misdoing(step.how)
    await run.driver.send(draft, intent, control=_control(step, followed), **run.travel(step))


def _with_wrong_header(
    run: Performance, step: Step, followed: Followed, draft: Draft
) -> tuple[Draft, str]:
    label = _change(step)
    if label == "method":
        other = next(method for method in TASK_METHODS if method != step.how)
        return draft.with_header(HEADER_METHOD, other), "mcp-method-differs"
    if label == "version":
        return draft.with_header(HEADER_VERSION, _UNKNOWN_VERSION), "version-header-unknown"
    others = [f.task_id for f in run.tasks.values() if f.task_id != followed.task_id]
    name = others[-1] if others and label == "name of another task" else _never_issued(run)
    return draft.with_header(HEADER_NAME, header_value(name)), "mcp-name-differs"


def _change(step: Step) -> str:
    return str(step.value.get("change", "")) if isinstance(step.value, dict) else ""


async def foreign(run: Performance, step: Step, followed: Followed) -> None:
    """A request about a task by somebody whose task it is not."""
    caller = str(step.value.get("caller", SECOND)) if isinstance(step.value, dict) else SECOND
    if len(run.session.target.callers) < 2:
        return
    draft = run.driver.draft(step.how, _params(run, step, followed))
    intent = "foreign" if caller == SECOND else "unauthenticated"
    control = _control(step, followed)
    followed.note_misdoing(step.how)
    await run.driver.send(draft, intent, caller=caller, control=control, **run.travel(step))


async def unknown(run: Performance, step: Step) -> None:
    """A request about a task that does not exist."""
    value = step.value if isinstance(step.value, dict) else {}
    followed = run.tasks.get(step.task)
    task_id, intent, control = _never_issued(run), "unknown-id", None
    if isinstance(value.get("id"), str):
        task_id, intent = value["id"], "odd-task-id"
    elif followed is not None and (other := _like(followed.task_id, _change(step))) is not None:
        task_id = other
        if step.how == TASKS_GET and followed.read is not None:
            intent, control = "derived-id", followed.read
    params: JsonObject = {"taskId": task_id}
    if step.how == TASKS_UPDATE:
        params["inputResponses"] = {}
    draft = run.driver.draft(step.how, params)
    if not task_id.strip():
        draft = draft.without_header(HEADER_NAME)
    notes = {"change": _change(step)} if intent == "derived-id" else None
    await run.driver.send(draft, intent, control=control, notes=notes, **run.travel(step))


def _like(task_id: str, change: str) -> str | None:
    """An id made from a real one by a small change; ``None`` where it may well exist."""
    wanted = {
        "a character more": "adding a character",
        "a character less": "leaving out its last character",
        "another digit": "changing one digit",
    }.get(change)
    return next((changed for changed, how in changed_ids(task_id) if how == wanted), None)


def _never_issued(run: Performance) -> str:
    """An id of a usual form that no server has handed out; another one each time."""
    name = f"{run.driver.scenario} {len(run.exchanges)}"
    return str(uuid.UUID(bytes=hashlib.md5(name.encode()).digest(), version=4))


async def broken(run: Performance, step: Step, followed: Followed) -> None:
    """A request whose params are wrong in one place, by our own schemas."""
    breakage = breakage_from(step.value)
    if breakage is None:
        return
    params = _params(run, step, followed)
    if step.how == TASKS_UPDATE and not params["inputResponses"]:
        params["inputResponses"] = {NEVER_ISSUED: {"action": "cancel"}}
    if breakage.path[0] == "_meta":
        # Of such a request a server need not even look at the task: so none is named.
        params["taskId"] = _never_issued(run)
    draft = run.driver.draft(step.how, params)
    assert isinstance(draft.message, dict)
    wrong = broken_params(draft.message["params"], breakage)
    if wrong is None:
        return
    draft = draft.with_member("params", wrong)
    if breakage.path == ("taskId",):
        draft = draft.without_header(HEADER_NAME)
    about_task = breakage.path[0] == "inputResponses"
    intent, control = _intent_of(breakage, followed)
    keys = set(params.get("inputResponses", {})) & followed.asked.keys() if about_task else set()
    if about_task:
        # A careless server may take what is left of the answers.
        followed.quiet = False
        followed.sent |= keys
    followed.note_misdoing(step.how)
    exchange = await run.driver.send(draft, intent, control=control, **run.travel(step))
    if exchange.error is not None:
        followed.sent -= keys - followed.answered.keys()


def _intent_of(breakage: Breakage, followed: Followed) -> tuple[str, Exchange | None]:
    if breakage.path == ("taskId",):
        return ("task-id-missing" if breakage.gone else "task-id-ill-typed"), None
    live = followed.accepted is not None and not followed.ended and not followed.cancelled
    if breakage.path == ("inputResponses",) and live:
        intent = "no-responses" if breakage.gone else "responses-not-an-object"
        return intent, followed.accepted
    return "ill-formed", None
