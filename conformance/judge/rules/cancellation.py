"""cancellation: tasks/cancel, which a server has to acknowledge and may then ignore.

Cancellation is cooperative: nothing here asks that a task becomes `cancelled`.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.accidents import where_none_was_served, without_a_word
from conformance.judge.answers import may_be_unread
from conformance.judge.effects import cancelled_unasked
from conformance.judge.expectations import (
    expect_error,
    is_wordless,
    refused_beforehand,
    unanswered,
)
from conformance.judge.lifetimes import asked_by_its_caller
from conformance.judge.lives import Life, Sighting, lives, may_have_expired, outcome_of
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.requests import is_offered, of_this_revision
from conformance.judge.rule import ADVICE, IMPLIED, MUST, SHOULD, rule
from conformance.specification.citations import tasks
from conformance.specification.names import INVALID_PARAMS, TASKS_CANCEL
from conformance.specification.states import CANCELLED, COMPLETED, FAILED, PAYLOAD_OF, WORKING
from conformance.target.roles import NOTICEABLE_SECONDS, SLOW, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History
from conformance.wire.parsing import dump_json

# What belongs to a task, in this revision or the one before, and not to an acknowledgement.
_MEMBERS_OF_A_TASK = (
    "taskId",
    "status",
    "statusMessage",
    "createdAt",
    "lastUpdatedAt",
    "ttlMs",
    "pollIntervalMs",
    "ttl",
    "pollInterval",
    "task",
    "result",
    "error",
    "inputRequests",
)
_ACKNOWLEDGE = "answer tasks/cancel with an empty result"
# So many other requests, answered in a row meanwhile, say that the server is not just busy.
_QUICK_ANSWERS = 3


def _cancels(history: History, *intents: str) -> Iterator[tuple[Life, Exchange]]:
    """Cancellations that leave nothing to object to, with the task they were for."""
    for life in lives(history).values():
        for exchange in life.cancels:
            if (not intents or exchange.intent in intents) and asked_by_its_caller(
                life, exchange, history
            ):
                yield life, exchange


def _seen_ended_before(life: Life, exchange: Exchange) -> Sighting | None:
    """A sighting of the task's end that was over before the exchange began."""
    return next((s for s in life.sightings if s.terminal and s.ended <= exchange.started), None)


def _lived_on(life: Life, cancel: Exchange) -> Exchange | None:
    """The read that proves that the task had not ended when a cancellation was answered: it
    was still at work then, or nothing but this cancellation can have ended it."""
    others = [o for o in life.cancels if o is not cancel and o.result is not None]
    for sighting in life.sightings:
        # A notification may be late, and tell of what was before.
        if sighting.began < cancel.ended or sighting.how != "read":
            continue
        if not sighting.terminal:
            return sighting.exchange
        by_another = any(other.started < sighting.ended for other in others)
        if sighting.status == CANCELLED and not by_another and not cancelled_unasked(life):
            return sighting.exchange
    return None


def _was_late(life: Life, cancel: Exchange) -> bool:
    """Whether another cancellation, sent before this one was answered, was acknowledged."""
    return any(
        other.result is not None and other.started < cancel.ended
        for other in life.cancels
        if other is not cancel
    )


def _was_live(history: History, life: Life, request: Exchange) -> bool:
    """Whether all there is speaks for a task that was at work when a request was answered.

    This is enough to say that a rule was put to the test, and not to accuse anybody.
    """
    if any(s.began >= request.ended and not s.terminal for s in life.sightings):
        return True
    ended = life.first_terminal
    first = all(other.ended > request.started for other in life.cancels if other is not request)
    if request in life.cancels and first and ended is not None and ended.status == CANCELLED:
        return True
    age = request.ended - life.creation.started if life.creation is not None else 0.0
    return age < _seen_at_work(history).get(_call(life), 0.0)


def _call(life: Life) -> str:
    arguments = life.creation.params.get("arguments") if life.creation is not None else None
    return dump_json([life.tool, arguments])


def _seen_at_work(history: History) -> dict[str, float]:
    """The greatest age, in seconds, at which a task of each call was seen at work."""
    return history.derive(_ages_at_work)


def _ages_at_work(history: History) -> dict[str, float]:
    ages: dict[str, float] = {}
    for life in lives(history).values():
        for sighting in life.seen_by_reading():
            if life.creation is not None and sighting.status == WORKING:
                age = sighting.began - life.creation.ended
                ages[_call(life)] = max(ages.get(_call(life), 0.0), age)
    return ages


@rule(
    "cancellation.acknowledged",
    MUST,
    tasks("task-cancellation"),
    needs=(SLOW,),
    after=(
        "negotiation.methods-served",
        "transport.mcp-name-accepted",
        "transport.answered",
        "creation.durable",
    ),
)
def live_task_is_acknowledged(history: History) -> Iterator[Observation]:
    """Cancelling a live task is acknowledged.

    A server need not stop the work, but it has to take the request. One that was answered without
    a word of JSON-RPC, or not at all, counts where it was not the only one, and none was served of
    a task that had the same status.
    """
    wordless: dict[str, list[Observation]] = {}
    acknowledged: list[str] = []
    for life, cancel in _cancels(history):
        if life.creation is None or _seen_ended_before(life, cancel) is not None:
            continue
        if any(other.ended <= cancel.started for other in life.cancels):
            continue  # cancellation.repeatable is about the second
        if cancel.result is None and _was_late(life, cancel):
            continue  # and about one of several that came together
        hindrance = refused_beforehand(cancel)
        proof = _lived_on(life, cancel)
        status = life.status_before(cancel)
        if cancel.result is not None and _was_live(history, life, cancel):
            acknowledged.append(status)
            yield holds((life.creation, cancel))
        elif is_wordless(cancel) and not may_have_expired(life, cancel.ended):
            evidence = life.with_creation(cancel)
            found = without_a_word(evidence, _ACKNOWLEDGE, "an empty result")
            wordless.setdefault(status, []).append(found)
        elif hindrance:
            yield unclear((life.creation, cancel), hindrance)
        elif cancel.result is not None or proof is None or may_have_expired(life, cancel.ended):
            yield unclear((life.creation, cancel), "the task may have ended before")
        else:
            yield broken(
                (life.creation, cancel, proof),
                "acknowledge tasks/cancel for a task that has not ended, with an empty result,"
                " whether or not the work can be stopped",
                expected="an empty result",
                found=cancel.outcome,
            )

    yield from where_none_was_served(wordless, acknowledged)


@rule("cancellation.ack-empty", MUST, tasks("task-cancellation"), needs=(TASK,))
def acknowledgement_is_empty(history: History) -> Iterator[Observation]:
    """The answer is an empty acknowledgement.

    Beside resultType and `_meta` it carries no member of a task.
    """
    for exchange in history.of_method(TASKS_CANCEL):
        result = exchange.result
        if result is None or not of_this_revision(exchange, history):
            continue
        extra = [member for member in _MEMBERS_OF_A_TASK if member in result]
        others = [m for m in result if m not in (*extra, "_meta", "resultType")]
        if extra:
            yield broken(
                exchange,
                "answer tasks/cancel with an empty result: the state of the task is for"
                f" tasks/get to tell, so leave out {', '.join(extra)}",
                expected="an empty result",
                found=", ".join(extra)[:80],
                member=f"/result/{extra[0]}",
            )
        elif others:
            note = f"it also carries {', '.join(map(repr, others))}, which no client expects"
            yield holds(exchange, note[:200])
        else:
            yield holds(exchange)


@rule(
    "cancellation.ack-result-type",
    MUST,
    tasks("task-cancellation"),
    needs=(TASK,),
    after=("cancellation.ack-empty", "jsonrpc.result-type-present"),
)
def acknowledgement_is_complete(history: History) -> Iterator[Observation]:
    """Its resultType is `complete`."""
    for exchange in history.of_method(TASKS_CANCEL):
        if exchange.result is None or not of_this_revision(exchange, history):
            continue
        if exchange.result_type == "complete":
            yield holds(exchange)
        else:
            found = exchange.result.get("resultType", ...)
            yield broken(
                exchange,
                'set "resultType": "complete" on the result of tasks/cancel',
                expected='"complete"',
                found="no resultType" if found is ... else f"{dump_json(found):.60}",
                member="/result/resultType",
            )


@rule(
    "cancellation.unknown-task",
    SHOULD,
    tasks("protocol-errors"),
    after=("negotiation.methods-served", "polling.unknown-id"),
)
def unknown_task_is_an_error(history: History) -> Iterator[Observation]:
    """An unknown id is an error, -32602."""
    if not is_offered(history):
        yield not_offered("the server does not offer the extension")
        return
    for exchange in history.intended("unknown-id", method=TASKS_CANCEL):
        yield expect_error(
            exchange,
            INVALID_PARAMS,
            "answer tasks/cancel for an id that names no task with error -32602",
        )


@rule(
    "cancellation.terminal-unaffected",
    IMPLIED,
    tasks("task-status"),
    needs=(TASK,),
    after=("lifecycle.terminal-is-final", "polling.pure-read", "concurrency.reads-agree"),
)
def ended_task_stays(history: History) -> Iterator[Observation]:
    """Cancelling an ended task does not change it: not its status, nor its result or error."""
    for life, cancel in _cancels(history):
        before = [s for s in life.seen_by_reading() if s.terminal and s.ended <= cancel.started]
        after = [
            s
            for s in life.seen_by_reading()
            if s.began >= cancel.ended and not may_have_expired(life, s.ended)
        ]
        if not before or not after:
            continue
        hindrance = unanswered(cancel)
        if hindrance:
            yield unclear((before[-1].exchange, cancel), hindrance)
            continue
        ended, seen = before[0], after[0].ended
        if any(u.ended >= ended.began and u.started <= seen for u in life.updates):
            evidence = (before[-1].exchange, cancel, after[0].exchange)
            yield unclear(evidence, "it was sent answers meanwhile: what these do, input tells")
            continue
        yield _unaffected(before, cancel, after)


def _unaffected(before: list[Sighting], cancel: Exchange, after: list[Sighting]) -> Observation:
    last, first = before[-1], after[0]
    evidence = (last.exchange, cancel, first.exchange)
    if any(s.status != last.status for s in before):
        return unclear(evidence, "its status had changed before, without a cancellation")
    if first.status != last.status:
        return broken(
            evidence,
            f"leave a task that has ended as it is: it was {last.status}, and is"
            f" {first.status} after tasks/cancel",
            expected=f"status {last.status!r}",
            found=f"status {first.status!r}",
            member="/result/status",
        )
    for name in (PAYLOAD_OF[COMPLETED], PAYLOAD_OF[FAILED]):
        if _told(first, name) == _told(last, name):
            continue
        if len(before) < 2 or any(_told(s, name) != _told(last, name) for s in before):
            return unclear(evidence, f"its {name} may change from read to read")
        return broken(
            evidence,
            f"leave a task that has ended as it is: its {name} is another after tasks/cancel",
            expected=f"the same {name}",
            found=f"another {name}" if name in first.task else f"no {name}",
            member=f"/result/{name}",
        )
    return holds(evidence)


def _told(sighting: Sighting, name: str) -> object:
    """A result or an error, but for a ``_meta`` that may differ from read to read."""
    result, error = outcome_of(sighting.task)
    return result if name == PAYLOAD_OF[COMPLETED] else error


@rule(
    "cancellation.terminal-acknowledged",
    ADVICE,
    tasks("task-cancellation"),
    needs=(TASK,),
    after=("cancellation.acknowledged", "negotiation.methods-served", "expiry.not-before-ttl"),
)
def ended_task_is_acknowledged(history: History) -> Iterator[Observation]:
    """Cancelling an ended task is acknowledged.

    Contested: the text has no sentence about it. It asks for an error only where the id is
    unknown, and a client that cancels a task cannot know that it has just ended.
    """
    for life, cancel in _cancels(history, "cancel-ended"):
        end = _seen_ended_before(life, cancel)
        if end is None or may_have_expired(life, cancel.ended):
            continue
        evidence = (end.exchange, cancel)
        hindrance = refused_beforehand(cancel)
        if cancel.result is not None:
            yield holds(evidence)
        elif hindrance:
            yield unclear(evidence, hindrance)
        else:
            yield broken(
                evidence,
                f"acknowledge tasks/cancel also for a task that has ended (here: {end.status}),"
                " since its caller cannot know that it has; the text does not say so outright",
                expected="an empty result",
                found=cancel.outcome,
                member="/error/code",
            )


@rule(
    "cancellation.repeatable",
    ADVICE,
    tasks("task-cancellation"),
    needs=(SLOW,),
    after=(
        "cancellation.acknowledged",
        "cancellation.terminal-acknowledged",
        "negotiation.methods-served",
        "expiry.not-before-ttl",
    ),
)
def cancelling_again_is_acknowledged(history: History) -> Iterator[Observation]:
    """Cancelling twice, or from several callers at once, is acknowledged each time."""
    for life, cancel in _cancels(history, "cancel-again", "cancel-together"):
        others = [other for other in life.cancels if other is not cancel and other.result]
        hindrance = refused_beforehand(cancel)
        if not others:
            yield unclear(cancel, "no other cancellation of the task was acknowledged")
        elif cancel.result is not None:
            yield holds((others[0], cancel))
        elif hindrance or may_have_expired(life, cancel.ended):
            yield unclear((others[0], cancel), hindrance or "its time may have been over")
        else:
            together = cancel.intent == "cancel-together"
            yield broken(
                (others[0], cancel),
                "acknowledge every tasks/cancel of a task, also "
                + ("when several come at once" if together else "the second"),
                expected="an empty result",
                found=cancel.outcome,
                member="/error/code",
            )


@rule(
    "cancellation.prompt",
    ADVICE,
    tasks("task-cancellation"),
    needs=(SLOW,),
    after=("cancellation.acknowledged",),
)
def acknowledgement_is_prompt(history: History) -> Iterator[Observation]:
    """The acknowledgement does not wait for the work to stop."""
    waited: list[Observation] = []
    prompt = 0
    for life, cancel in _cancels(history, "cancel-live"):
        if cancel.result is None:
            yield unclear(cancel, refused_beforehand(cancel) or cancel.outcome)
            continue
        took = cancel.ended - cancel.started
        if took < NOTICEABLE_SECONDS:
            if _was_live(history, life, cancel):
                prompt += 1
                yield holds(cancel)
            else:
                yield unclear(cancel, "the task may have ended before")
            continue
        meanwhile = _quick_answers_meanwhile(history, cancel)
        after = next((s for s in life.seen_by_reading() if s.began >= cancel.ended), None)
        certain = cancel.certainly_took >= NOTICEABLE_SECONDS and len(meanwhile) >= _QUICK_ANSWERS
        if not certain or after is None or not after.terminal:
            yield unclear(cancel, f"it took {took:.1f} s, but not for sure to await the work")
            continue
        waited.append(
            broken(
                (cancel, *meanwhile, after.exchange),
                f"acknowledge tasks/cancel at once: it took {took:.1f} s, until the task had"
                f" ended, while {len(meanwhile)} other requests were answered meanwhile",
                expected="an acknowledgement at once",
                found=f"one after {took:.1f} s",
            )
        )
    # Some that took long may be accidents of the moment.
    if len(waited) > max(1, prompt):
        yield from waited
    else:
        yield from (unclear(seen.exchanges, "most did not take as long") for seen in waited)


def _quick_answers_meanwhile(history: History, cancel: Exchange) -> list[Exchange]:
    """Other requests, one after another, each answered in a part of the time that this one
    waited. A server that is merely busy answers in turn."""
    took = cancel.ended - cancel.started
    return [
        other
        for other in history.intended("meanwhile")
        if other.scenario == cancel.scenario
        and other.response is not None
        and cancel.started < other.started
        and other.ended < cancel.ended
        and other.ended - other.started < took / 5
    ]


@rule(
    "cancellation.not-by-notification",
    IMPLIED,
    tasks("task-cancellation"),
    needs=(SLOW,),
    after=("creation.durable",),
)
def notification_does_not_cancel(history: History) -> Iterator[Observation]:
    """`notifications/cancelled` for the original request does not end the task.

    A task may also fail by itself: that it did after the notification counts only where it
    happened more than once, and never otherwise. Nor does it where the server cancels such tasks
    by itself.
    """
    known = lives(history)
    notified = {
        str((made.handle or {}).get("taskId")) for made in history.intended("create-and-notify")
    }
    failed: list[Observation] = []
    completed = False
    for notification in history.intended("cancel-by-notification"):
        request_id = (notification.params or {}).get("requestId")
        creation = next(
            (
                exchange
                for exchange in history.intended("create-and-notify")
                if exchange.scenario == notification.scenario
                and exchange.request_id == request_id
                and exchange.ended <= notification.started
            ),
            None,
        )
        life = known.get(str((creation.handle or {}).get("taskId"))) if creation else None
        if creation is None or life is None:
            continue
        end = life.first_terminal
        if notification.fault is not None:
            yield unclear(notification, "the notification did not reach the server")
        elif may_be_unread(notification):
            yield unclear(notification, f"it may not have been read: {notification.outcome}")
        elif end is None:
            yield unclear((creation, notification), "the task was not seen to end")
        elif end.ended <= notification.started:
            yield unclear((creation, notification), "the task had ended before")
        elif end.status == COMPLETED:
            completed = True
            if _was_live(history, life, notification):
                yield holds((creation, notification, end.exchange))
            else:
                yield unclear((creation, notification), "the task may have ended before")
        elif may_have_expired(life, end.ended):
            yield unclear((creation, notification), "the time of the task may have been over")
        elif life.cancels or life.updates:
            yield unclear((creation, notification), "the task was cancelled or answered besides")
        elif end.status == CANCELLED and cancelled_unasked(life, but=notified):
            yield unclear((creation, notification), "the server cancels such tasks by itself")
        elif (sibling := _completed_sibling(history, creation)) is None:
            yield unclear((creation, notification, end.exchange), "its siblings end so too")
        else:
            found = broken(
                (sibling, creation, notification, end.exchange),
                "let only tasks/cancel cancel a task: it is"
                f" {end.status} after notifications/cancelled for the request that made it,"
                " while the same call completes without",
                expected="the task goes on",
                found=f"status {end.status!r}",
                member="/result/status",
            )
            if end.status == FAILED:
                failed.append(found)
            else:
                yield found
    if len(failed) > 1 and not completed:
        yield from failed
    else:
        yield from (unclear(one.exchanges, "the task may have failed by itself") for one in failed)


def _completed_sibling(history: History, creation: Exchange) -> Exchange | None:
    """The end of another task of the same call, which was left alone and completed."""
    for life in lives(history).values():
        end = life.first_terminal
        if (
            end is not None
            and end.status == COMPLETED
            and not life.cancels
            and life.creation is not None
            and life.creation.intent != creation.intent
            and life.tool == creation.tool
            and life.creation.params.get("arguments") == creation.params.get("arguments")
        ):
            return end.exchange
    return None
