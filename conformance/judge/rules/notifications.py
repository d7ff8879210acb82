"""notifications: what is told of tasks on the stream of ``subscriptions/listen``."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.asking import long_enough
from conformance.judge.expectations import unanswered
from conformance.judge.lives import (
    Life,
    Sighting,
    handles,
    lives,
    may_have_expired,
    outcome_of,
)
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.requests import is_offered, of_this_revision
from conformance.judge.rule import ADVICE, IMPLIED, MUST, rule
from conformance.judge.subscriptions import (
    Subscription,
    offer,
    params_of,
    subscription_id_of,
    subscriptions,
)
from conformance.judge.times import certainly_differ, moment_of
from conformance.specification.citations import core, tasks
from conformance.specification.names import (
    ACKNOWLEDGED,
    EXTENSION,
    LISTEN,
    META_SUBSCRIPTION_ID,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    OBSOLETE_CODES,
    TASK_METHODS,
    TASK_NOTIFICATION,
    code_words,
)
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.target import roles
from conformance.target.roles import TASK
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History

_NOTIFICATIONS = tasks("task-status-notifications")
_ACKNOWLEDGMENT = core("basic/patterns/subscriptions", "acknowledgment")
_OPENING = core("basic/patterns/subscriptions", "opening-a-stream")

_CANCELLED = "notifications/cancelled"
_PROGRESS_OR_MESSAGE = ("notifications/progress", "notifications/message")

# Which member of the filter asks for which notification.
_ASKED_BY = {
    TASK_NOTIFICATION: "taskIds",
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}


def _unless_offered(history: History) -> Iterator[Observation]:
    """What to say of a server that was not seen to tell of tasks."""
    seen = offer(history)
    if seen.offered is False:
        yield not_offered(seen.reason, seen.evidence)


# ---- opening a stream -----------------------------------------------------------------------


@rule(
    "notifications.requires-declaration",
    MUST,
    _NOTIFICATIONS,
    needs=(roles.LISTEN,),
    after=("negotiation.get-requires-declaration",),
)
def listening_requires_declaration(history: History) -> Iterator[Observation]:
    """Listening for `taskIds` without declaring the extension is -32021, which names it.

    This holds also where the server, asked properly, agrees to no task.
    """
    for probe in history.intended("listen-undeclared", method=LISTEN):
        control = history.control_of(probe)
        if control is None:
            continue
        if control.error_code == METHOD_NOT_FOUND or not is_offered(history):
            yield not_offered("the server does not serve subscriptions/listen", control)
        elif not _was_opened(control):
            yield unclear(
                (control, probe),
                f"listening with the extension declared was refused too ({control.outcome})",
            )
        elif probe.error_code == MISSING_CAPABILITY:
            yield _names_extension(history, probe)
        elif probe.error is not None and unanswered(probe):
            yield unclear(probe, unanswered(probe))
        elif probe.notifications or probe.error is not None or probe.result is not None:
            yield _not_refused(probe)
        else:
            yield unclear(probe, unanswered(probe) or probe.outcome)


def _was_opened(exchange: Exchange) -> bool:
    return any(m.get("method") == ACKNOWLEDGED for _, m in exchange.notifications)


def _not_refused(probe: Exchange) -> Observation:
    note = (
        "answer subscriptions/listen with taskIds with error"
        f" {code_words(MISSING_CAPABILITY)} where the request does not declare the extension"
    )
    code = probe.error_code
    if code in OBSOLETE_CODES:
        note += f"; {code} is {OBSOLETE_CODES[code]}"
    return broken(
        probe,
        note,
        expected=f"error {code_words(MISSING_CAPABILITY)}",
        found=f"error {code_words(code)}" if probe.error is not None else "a stream",
        member="/error/code" if probe.error is not None else "",
    )


def _names_extension(history: History, probe: Exchange) -> Observation:
    if _names(probe):
        return holds(probe)
    if any(
        e.method in TASK_METHODS and e.error_code == MISSING_CAPABILITY and not _names(e)
        for e in history
    ):
        # The server names it nowhere, and a rule of its own tells so.
        return holds(probe, "the error does not name the extension, here as elsewhere")
    return broken(
        probe,
        "name the extension in the error of subscriptions/listen too, as"
        f' data.requiredCapabilities.extensions["{EXTENSION}"] = {{}}',
        expected="the extension, as an object",
        found="nothing under that name",
        member="/error/data",
    )


def _names(exchange: Exchange) -> bool:
    value: object = exchange.error
    for step in ("data", "requiredCapabilities", "extensions", EXTENSION):
        value = value.get(step) if isinstance(value, dict) else None
    return isinstance(value, dict)


@rule("notifications.acknowledged-first", MUST, _ACKNOWLEDGMENT, needs=(roles.LISTEN,))
def acknowledgement_comes_first(history: History) -> Iterator[Observation]:
    """The acknowledgement is the first message, and names what was agreed of what was asked."""
    yield from _unless_offered(history)
    for stream in subscriptions(history):
        exchange = stream.exchange
        first = next(iter(exchange.messages), None)
        if first is None:
            yield _nothing_came(history, exchange)
        elif first.get("method") != ACKNOWLEDGED:
            what = first.get("method", "the response")
            yield broken(
                exchange,
                f"send {ACKNOWLEDGED} as the first message of the stream, before anything else",
                expected=ACKNOWLEDGED,
                found=f"{what!s:.80}",
            )
        else:
            yield from _agrees_to_what_was_asked(stream)
    for exchange in history.of_method(LISTEN):
        if exchange.declares_tasks and exchange.result is not None and not exchange.is_stream:
            yield broken(
                exchange,
                "answer subscriptions/listen with an event stream whose first message is"
                f" {ACKNOWLEDGED}",
                expected="text/event-stream",
                found=exchange.outcome,
            )


def _nothing_came(history: History, exchange: Exchange) -> Observation:
    lasted = exchange.certainly_took
    patience = max(long_enough(history), _SILENT_SECONDS)
    if exchange.status == 200 and lasted >= patience and _lively(history, exchange):
        return broken(
            exchange,
            f"send {ACKNOWLEDGED} when a stream is opened, so that the client knows what it will"
            " be told",
            expected=ACKNOWLEDGED,
            found=f"nothing for {lasted:.0f} s",
        )
    return unclear(exchange, "no message came on the stream")


# A stream that was silent for less may have been opened by a server that was busy.
_SILENT_SECONDS = 3.0
# So many other requests that were answered within a second show that a server is not busy.
_QUICK_ANSWERS = 3


def _lively(history: History, stream: Exchange) -> bool:
    """Whether other requests were answered at once while nothing came on a stream."""
    meanwhile = [
        each
        for each in history.exchanges
        if stream.started <= each.started and each.ended <= stream.ended and each is not stream
    ]
    quick = [e for e in meanwhile if e.response is not None and e.ended - e.started < 1]
    timed_out = any(e.fault is not None and e.fault.kind == "timeout" for e in meanwhile)
    return len(quick) >= _QUICK_ANSWERS and not timed_out


def _agrees_to_what_was_asked(stream: Subscription) -> Iterator[Observation]:
    if stream.agreed is None:
        yield broken(
            stream.exchange,
            "say in the acknowledgement what was agreed to, as params.notifications",
            expected="params.notifications, an object",
            found="nothing",
        )
        return
    if "taskIds" in stream.agreed and not _are_ids(stream.agreed["taskIds"]):
        yield broken(
            stream.exchange,
            "give the agreed taskIds as a list of strings",
            expected="a list of task ids",
            found=f"{stream.agreed['taskIds']!r:.60}",
        )
        return
    added = [
        member
        for member in _ASKED_BY.values()
        if stream.agreed.get(member) and not stream.asked.get(member)
    ]
    added += [repr(i) for i in stream.agreed_tasks if i not in stream.asked_tasks]
    if added:
        yield broken(
            stream.exchange,
            "acknowledge only what was asked for",
            expected="a part of what was asked",
            found=f"{', '.join(added):.120} besides",
        )
    else:
        yield holds(stream.exchange)


def _are_ids(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


@rule(
    "notifications.unknown-not-agreed",
    ADVICE,
    _NOTIFICATIONS,
    needs=(roles.LISTEN,),
    after=("notifications.acknowledged-first",),
)
def unknown_tasks_are_not_agreed(history: History) -> Iterator[Observation]:
    """A task that does not exist is not agreed to.

    The text has no sentence that forbids it; a client that was promised news waits for ever.
    """
    yield from _unless_offered(history)
    known = {str((exchange.handle or {}).get("taskId")) for exchange in handles(history)}
    offered = offer(history).offered
    for probe in history.intended("listen-known-and-unknown", "listen-unknown", method=LISTEN):
        stream = next((s for s in subscriptions(history) if s.exchange is probe), None)
        if stream is None:
            if offered and probe.error is not None:
                yield holds(probe, "a filter that names an unknown task is refused as a whole")
            elif offered:
                yield unclear(probe, unanswered(probe) or probe.outcome)
            continue
        unknown = [i for i in stream.asked_tasks if i not in known]
        agreed = [task_id for task_id in unknown if task_id in stream.agreed_tasks]
        if agreed:
            yield broken(
                probe,
                "leave ids of tasks that do not exist out of the taskIds that are acknowledged",
                expected="an acknowledgement without the unknown id",
                found=f"{agreed[0]!r:.60} agreed to",
            )
        elif offered and stream.agreed is not None:
            yield holds(probe)


# ---- what comes on it -----------------------------------------------------------------------


@rule("notifications.subscription-id", MUST, core("basic/index", "meta"), needs=(roles.LISTEN,))
def messages_carry_subscription_id(history: History) -> Iterator[Observation]:
    """Every message of the stream carries the id of the listen request, in `_meta`."""
    yield from _unless_offered(history)
    for stream in subscriptions(history):
        wanted = stream.exchange.request_id
        wrong = None
        for message in stream.exchange.messages:
            if "error" in message:
                continue
            found = subscription_id_of(message)
            if not _same_id(found, wanted):
                wrong = message, found
                break
        if wrong is not None:
            message, found = wrong
            yield broken(
                stream.exchange,
                "put the id of the listen request, as it was sent, into"
                f' _meta["{META_SUBSCRIPTION_ID}"] of every message of its stream',
                expected=f"{wanted!r}",
                found=("nothing" if found is ... else f"{found!r:.60}")
                + f" in {message.get('method', 'the response')!s:.60}",
            )
        elif stream.exchange.messages:
            yield holds(stream.exchange)


def _same_id(found: object, wanted: object) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return isinstance(found, str) is isinstance(wanted, str) and found == wanted


def _looks_like_task(message: JsonObject) -> bool:
    params = params_of(message)
    task = params.get("task") if isinstance(params.get("task"), dict) else params
    return isinstance(task, dict) and "taskId" in task and "status" in task


def _is_misnamed(message: JsonObject) -> bool:
    """Whether a message tells of a task under another name than its own."""
    method = str(message.get("method"))
    if method in (TASK_NOTIFICATION, ACKNOWLEDGED, *_PROGRESS_OR_MESSAGE):
        return False
    return method.startswith(f"{TASK_NOTIFICATION}/") or _looks_like_task(message)


@rule(
    "notifications.method-name",
    MUST,
    _NOTIFICATIONS,
    needs=(roles.LISTEN, TASK),
)
def task_notifications_have_their_name(history: History) -> Iterator[Observation]:
    """A task is told of as `notifications/tasks`, not under the name of 2025-11-25."""
    yield from _unless_offered(history)
    for exchange in history:
        if not of_this_revision(exchange, history):
            continue
        listening = exchange.method == LISTEN
        # On the stream of a call a server may have notifications of its own, of its own jobs.
        misnamed = next(
            (
                m
                for _, m in exchange.notifications
                if _is_misnamed(m)
                and (listening or str(m.get("method")).startswith(f"{TASK_NOTIFICATION}/"))
            ),
            None,
        )
        if misnamed is not None:
            yield broken(
                exchange,
                f"send what tells of a task as {TASK_NOTIFICATION}",
                expected=TASK_NOTIFICATION,
                found=f"{misnamed.get('method')!s:.80}",
            )
        elif any(m.get("method") == TASK_NOTIFICATION for _, m in exchange.notifications):
            yield holds(exchange)


@rule(
    "notifications.only-agreed-tasks",
    MUST,
    _OPENING,
    needs=(roles.LISTEN, TASK),
    after=("notifications.acknowledged-first", "notifications.method-name"),
)
def only_agreed_tasks_are_told(history: History) -> Iterator[Observation]:
    """Only tasks that were agreed to, and kinds that were asked for, come on the stream."""
    yield from _unless_offered(history)
    for stream in subscriptions(history):
        stray = next((found for _, m in stream.told if (found := _not_agreed(stream, m))), "")
        if stray:
            yield broken(
                stream.exchange,
                "send on a stream only what its acknowledgement agreed to",
                expected="the agreed tasks, and kinds of notification that were asked for",
                found=stray,
            )
        elif stream.agreed is not None and (len(stream.told) > 1 or "taskIds" not in stream.asked):
            yield holds(stream.exchange)


def _not_agreed(stream: Subscription, message: JsonObject) -> str:
    """What a message tells that was not to be told here; empty where all is well."""
    method = str(message.get("method"))
    # A server that ends a stream has to say so by notifications/cancelled.
    if method in (ACKNOWLEDGED, _CANCELLED, *_PROGRESS_OR_MESSAGE) or _is_misnamed(message):
        return ""
    if not stream.asked.get(_ASKED_BY.get(method, "")):
        return f"{method:.80}, which was not asked for"
    task_id = params_of(message).get("taskId")
    if isinstance(task_id, str) and task_id not in stream.agreed_tasks:
        asked = "asked for, but not agreed to" if task_id in stream.asked_tasks else "not asked for"
        return f"the task {task_id!r:.60}, which was {asked}"
    return ""


@rule(
    "notifications.full-task",
    MUST,
    _NOTIFICATIONS,
    needs=(roles.LISTEN, TASK),
    after=(
        "polling.shape",
        "polling.completed",
        "polling.failed",
        "polling.input-required",
        "polling.timestamps",
        "polling.durations",
        "lifecycle.known-status",
        "notifications.method-name",
        "outcome.failed-carries-error",
    ),
)
def notifications_carry_whole_tasks(history: History) -> Iterator[Observation]:
    """Each notification carries a whole, valid detailed task, its result or error included."""
    yield from _unless_offered(history)
    schemas = revision_named(history.circumstances.spec).schemas
    for exchange in history:
        if not of_this_revision(exchange, history):
            continue
        for _, message in exchange.notifications:
            if message.get("method") != TASK_NOTIFICATION:
                continue
            wrong = [
                problem
                for problem in problems(
                    schemas, "TaskStatusNotificationParams", message.get("params")
                )
                # What is wrong with a request for input is told by input.requests-valid.
                if not problem.path.startswith("/inputRequests/")
            ]
            if not wrong:
                yield holds(exchange)
            for problem in wrong[:3]:
                yield broken(
                    exchange,
                    f"put into {TASK_NOTIFICATION} all that tasks/get would answer:"
                    f" {problem.sentence}",
                    expected=problem.expected,
                    found=problem.found,
                )


@rule(
    "notifications.no-progress-or-message",
    MUST,
    _NOTIFICATIONS,
    needs=(roles.LISTEN, TASK),
)
def no_progress_or_messages(history: History) -> Iterator[Observation]:
    """Neither `notifications/progress` nor `notifications/message` is on the stream."""
    yield from _unless_offered(history)
    for stream in subscriptions(history):
        methods = [str(m.get("method")) for _, m in stream.told]
        stray = next((m for m in methods if m in _PROGRESS_OR_MESSAGE), None)
        if stray is not None:
            yield broken(
                stream.exchange,
                f"keep {stray} off the stream of subscriptions/listen: the statusMessage of a task"
                " says how far it has come",
                expected=TASK_NOTIFICATION,
                found=stray,
            )
        elif stream.agreed_tasks and len(methods) > 1:
            yield holds(stream.exchange)


# ---- one history ----------------------------------------------------------------------------


@rule(
    "notifications.agree-with-polling",
    IMPLIED,
    _NOTIFICATIONS,
    needs=(roles.LISTEN, TASK),
    after=(
        "notifications.full-task",
        "notifications.method-name",
        "lifecycle.terminal-is-final",
        "polling.created-at-constant",
    ),
)
def pushed_and_polled_agree(history: History) -> Iterator[Observation]:
    """What is pushed and what is polled belong to one history.

    A notification may come late, so what it tells may be older than what a read has shown
    already. But it tells of nothing that never was.
    """
    yield from _unless_offered(history)
    for life in lives(history).values():
        pushed = [s for s in life.sightings if s.how == "notification"]
        reads = life.seen_by_reading()
        if not pushed or not reads:
            continue
        wrong = (
            _read_shows_older(life, pushed, reads)
            or _ends_differently(life, pushed, reads)
            or _differs_in_constants(history, life, pushed, reads)
        )
        if wrong is not None:
            yield wrong
            continue
        end, told = (next((s for s in seen if s.terminal), None) for seen in (reads, pushed))
        if end is not None and told is not None:
            evidence = (told.exchange, end.exchange)
            if _ending(told) == _ending(end):
                yield holds(evidence)
            else:
                yield unclear(evidence, "what is read at the end varies, or was read only once")


def _read_shows_older(
    life: Life, pushed: list[Sighting], reads: list[Sighting]
) -> Observation | None:
    end = next((s for s in pushed if s.terminal), None)
    if end is None:
        return None
    older = next((s for s in reads if s.began >= end.ended and not s.terminal), None)
    if older is None or _asked_between(life, end.ended, older.ended):
        return None
    return broken(
        (end.exchange, older.exchange),
        "tell of a change once tasks/get shows it: a read that began after the end was told"
        " still showed the task at work",
        expected=f"status {end.status!r}",
        found=f"status {older.status!r}",
        member="/result/status",
    )


def _ends_differently(
    life: Life, pushed: list[Sighting], reads: list[Sighting]
) -> Observation | None:
    # After its time a task may be marked as failed, however it had ended.
    ended = [s for s in reads if s.terminal and not may_have_expired(life, s.ended)]
    if not ended:
        return None
    ends = [s for s in pushed if s.terminal and not may_have_expired(life, s.ended)]
    # A task that is told to change after its end does so, which other rules tell.
    changed = len({s.status for s in ends}) > 1
    # A payload that is another each time it is read could be another when it is told.
    constant = len(ended) > 1 and all(_ending(s) == _ending(ended[0]) for s in ended)
    for told in ends:
        if all(s.status != told.status for s in ended):
            later = next((s for s in ended if s.began >= told.ended), None)
            if changed or later is None or _asked_between(life, told.ended, later.ended):
                continue
            return _told_otherwise(told, later, f"status {told.status!r}")
        first, last = min(told.ended, ended[0].began), max(told.ended, ended[-1].ended)
        other = constant and _ending(told) != _ending(ended[0])
        if other and not _asked_between(life, first, last):
            return _told_otherwise(told, ended[0], "another payload")
    return None


def _asked_between(life: Life, first: float, last: float) -> bool:
    """Whether something was sent to a task between two moments, which may have changed how it had
    ended, or brought it back: other rules tell that. What was under way before led to the end."""
    return any(first <= request.started < last for request in (*life.updates, *life.cancels))


def _told_otherwise(told: Sighting, read: Sighting, found: str) -> Observation:
    return broken(
        (told.exchange, read.exchange),
        "tell of a task exactly what tasks/get answers: its end was told otherwise than it is read",
        expected=f"status {read.status!r} with the payload that is read",
        found=found,
        member="/result/status",
    )


def _ending(sighting: Sighting) -> tuple[object, object]:
    return sighting.status, outcome_of(sighting.task)


def _moving(history: History) -> frozenset[str]:
    """Durations that were seen to change while a task lived, as they may."""
    return history.derive(_durations_that_move)


def _durations_that_move(history: History) -> frozenset[str]:
    moving: set[str] = set()
    for life in lives(history).values():
        for member in ("ttlMs", "pollIntervalMs"):
            values = [s.task.get(member, ...) for s in life.sightings if s.how != "notification"]
            if any(value != values[0] for value in values):
                moving.add(member)
    return frozenset(moving)


def _differs_in_constants(
    history: History, life: Life, pushed: list[Sighting], reads: list[Sighting]
) -> Observation | None:
    """A member that no read ever showed to change, of this task or another, has another value
    in a notification."""
    unpushed = [s for s in life.sightings if s.how != "notification"]
    for member in ("createdAt", "ttlMs", "pollIntervalMs"):
        if member in _moving(history):
            continue
        values = [s.task.get(member, ...) for s in unpushed]
        if len(reads) < 2 or any(value != values[0] for value in values):
            continue
        for sighting in pushed:
            found = sighting.task.get(member, ...)
            if _differ(member, values[0], found):
                return broken(
                    (sighting.exchange, reads[-1].exchange),
                    f"tell of a task exactly what tasks/get answers: its {member} is told"
                    " otherwise than every read shows it",
                    expected="nothing" if values[0] is ... else f"{values[0]!r:.60}",
                    found="nothing" if found is ... else f"{found!r:.60}",
                    member=f"/result/{member}",
                )
    return None


def _differ(member: str, one: object, other: object) -> bool:
    if member == "createdAt" and isinstance(one, str) and isinstance(other, str):
        moments = moment_of(one), moment_of(other)
        if moments[0] is None or moments[1] is None:
            return False
        return certainly_differ(moments[0], moments[1])
    return one != other
