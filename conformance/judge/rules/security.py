"""security: ids that nobody guesses, tasks that nobody else reaches, errors that tell little."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.judge.answers import is_web_page
from conformance.judge.effects import Effect, effect_of_cancel, effect_of_update
from conformance.judge.entropy import CUSTOMARY, MOST, IdSample, estimate
from conformance.judge.expectations import refused_beforehand, unanswered
from conformance.judge.leaks import PATH, leak_in
from conformance.judge.lives import Life, handles, lives
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.rule import ADVICE, MUST, rule
from conformance.judge.subscriptions import Subscription, offer, params_of, subscriptions
from conformance.judge.times import SECOND as NANOSECONDS
from conformance.judge.times import moment_of
from conformance.specification.citations import sep, tasks
from conformance.specification.names import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LISTEN,
    TASK_NOTIFICATION,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_UPDATE,
    TOOLS_CALL,
    code_words,
)
from conformance.target.roles import IDENTITIES, TASK
from conformance.target.roles import LISTEN as LISTEN_ROLE
from conformance.target.target import FIRST, NOBODY, SECOND, WRONG_TOKEN
from conformance.wire.exchange import Exchange
from conformance.wire.history import History
from conformance.wire.parsing import dump_json

_SECURITY = "security-considerations"
_ANOTHER = "another caller"


# ---- ids ------------------------------------------------------------------------------------


@rule("security.unguessable-ids", MUST, tasks(_SECURITY), needs=(TASK,))
def ids_cannot_be_guessed(history: History) -> Iterator[Observation]:
    """Ids of tasks show no counter, no clock and no small space.

    The estimate is an upper bound: what varies between the ids of this run is counted as
    random. So an id that can be guessed may pass, and one that cannot is not accused.
    """
    made = sorted(handles(history), key=lambda exchange: exchange.ended)[:MOST]
    samples = [
        IdSample(handle["taskId"], _created(handle, history), str(e.tool or ""), e.caller)
        for e in made
        if (handle := e.handle) is not None and isinstance(handle.get("taskId"), str)
    ]
    found = estimate(samples)
    if found is None:
        return
    looked_at = set(found.ids[:5])
    made = [e for e in made if (e.handle or {}).get("taskId") in looked_at]
    if found.guessable is None:
        yield unclear(made, f"it cannot be told from these ids: {found.sentence}")
    elif found.guessable:
        yield broken(
            made,
            f"make ids that nobody can guess, a random UUID for instance: {found.sentence}",
            expected=f"{CUSTOMARY:.0f} bits or more that others cannot know",
            found=f"at most {found.bits:.0f}",
            member="/result/taskId",
        )
    elif found.bits < CUSTOMARY:
        yield holds(made, f"{found.sentence}; {CUSTOMARY:.0f} or more are customary")
    else:
        yield holds(made, found.sentence)


def _created(handle: dict[str, object], history: History) -> float | None:
    """When the task was made, in seconds since 1970: as the server says, else the run's start."""
    for text in (handle.get("createdAt"), history.circumstances.started):
        moment = moment_of(text) if isinstance(text, str) else None
        if moment is not None:
            return moment.nanoseconds / NANOSECONDS
    return None


# ---- other callers ----------------------------------------------------------------------------


def _admitted(history: History) -> bool:
    """Whether the second caller was let in: else a refusal says nothing of tasks."""
    return history.derive(_second_is_admitted)


def _second_is_admitted(history: History) -> bool:
    """Whether it was served what a caller has to be known for: what a server can do, and the
    names of its tools, it may tell to everybody."""
    return any(
        e.caller == SECOND and e.result is not None and e.method in (TOOLS_CALL, TASKS_GET)
        for e in history.exchanges
    )


def _of_others(life: Life, requests: list[Exchange]) -> list[Exchange]:
    """Those of the requests about a task that the other of the two callers sent."""
    return [
        exchange
        for exchange in requests
        if {exchange.caller, life.caller} == {FIRST, SECOND} and exchange.declares_tasks
    ]


def unsure(history: History, exchange: Exchange) -> str:
    """Why the answer to a foreign caller says nothing; empty where it does."""
    if not _admitted(history):
        return (
            "no tool call of the second caller was served, so this refusal says nothing: pass in"
            " --other-header what lets it call the same tools"
        )
    return _no_answer(exchange)


def _no_answer(exchange: Exchange) -> str:
    """Why an answer is neither a refusal to this caller nor a service; empty where it is one of
    them."""
    if exchange.status in (401, 403) and not exchange.rate_limited:
        return ""
    if exchange.status == 404 and exchange.error is None:
        return ""
    if exchange.error_code == INTERNAL_ERROR:
        return f"the request was answered with {code_words(INTERNAL_ERROR)}"
    return refused_beforehand(exchange)


def _nothing_said(exchange: Exchange) -> str:
    """Why an answer has no face by which to tell one task from another; empty where it has."""
    if exchange.status in (401, 403, 404) and not exchange.rate_limited:
        return ""
    return unanswered(exchange)


@rule("security.foreign-get", MUST, tasks(_SECURITY), needs=(IDENTITIES, TASK))
def others_cannot_read(history: History) -> Iterator[Observation]:
    """Another caller cannot read the task."""
    for life in lives(history).values():
        for probe in _of_others(life, life.reads):
            if probe.task is not None:
                yield broken(
                    life.with_creation(probe),
                    f"check on tasks/get whose task it is: it was shown to {_ANOTHER}",
                    expected="an error, such as -32602",
                    found=probe.outcome,
                    member="/result",
                )
            elif unsure(history, probe):
                yield unclear(probe, unsure(history, probe))
            else:
                yield holds(probe)


@rule("security.foreign-update", MUST, tasks(_SECURITY), needs=(IDENTITIES, TASK))
def others_cannot_answer(history: History) -> Iterator[Observation]:
    """Another caller cannot answer what the task asks."""
    for life in lives(history).values():
        for probe in _of_others(life, life.updates):
            effect = effect_of_update(life, probe)
            if effect is not None and effect.moved:
                yield broken(
                    life.with_creation(probe, effect.seen.exchange),
                    f"check on tasks/update whose task it is: {_ANOTHER} answered what the task"
                    " asks, and it moved on",
                    expected="status 'input_required', with the same requests",
                    found=f"status {effect.seen.status!r}",
                    member="/result/status",
                )
            elif unsure(history, probe):
                yield unclear(probe, unsure(history, probe))
            elif probe.result is None:
                yield holds(probe)
            elif effect is not None:
                yield holds(
                    (probe, effect.seen.exchange),
                    "the answer of another caller was acknowledged, and did not arrive",
                )
            else:
                yield unclear(probe, "it was acknowledged; whether it arrived was not seen")


@rule("security.foreign-cancel", MUST, tasks(_SECURITY), needs=(IDENTITIES, TASK))
def others_cannot_cancel(history: History) -> Iterator[Observation]:
    """Another caller cannot cancel the task."""
    for life in lives(history).values():
        for probe in _of_others(life, life.cancels):
            effect = effect_of_cancel(life, probe)
            if effect is not None and effect.moved:
                yield broken(
                    life.with_creation(probe, effect.seen.exchange),
                    f"check on tasks/cancel whose task it is: {_ANOTHER} cancelled it",
                    expected="the task goes on",
                    found="status 'cancelled'",
                    member="/result/status",
                )
            elif unsure(history, probe):
                yield unclear(probe, unsure(history, probe))
            elif probe.result is None:
                yield holds(probe)
            else:
                yield unclear(
                    probe,
                    f"the cancel of {_ANOTHER} was acknowledged; a task that goes on all the same"
                    " does not show whether it was refused",
                )


@rule(
    "security.foreign-listen",
    MUST,
    tasks(_SECURITY),
    needs=(IDENTITIES, LISTEN_ROLE, TASK),
)
def others_are_not_told(history: History) -> Iterator[Observation]:
    """Another caller is not notified of the task."""
    known = lives(history)
    offered = offer(history)
    if offered.offered is False:
        yield not_offered(offered.reason, offered.evidence)
        return
    streams = {s.exchange.key: s for s in subscriptions(history)}
    for probe in history.of_method(LISTEN):
        filters = probe.params.get("notifications")
        asked = filters.get("taskIds") if isinstance(filters, dict) else None
        foreign = [
            known[task_id]
            for task_id in (asked if isinstance(asked, list) else [])
            if isinstance(task_id, str) and task_id in known
            if _of_others(known[task_id], [probe])
        ]
        if not foreign:
            continue
        stream = streams.get(probe.key)
        ids = {life.task_id for life in foreign}
        told = ids & _told_of(stream)
        agreed = ids.intersection(stream.agreed_tasks) if stream is not None else set()
        if agreed and not told and _agrees_to_anything(history):
            yield unclear(probe, "any id is agreed to here, and of this one nothing was told")
        elif told or agreed:
            did = "was notified of it" if told else "was promised notifications of it"
            yield broken(
                foreign[0].with_creation(probe),
                f"check on subscriptions/listen whose task it is: {_ANOTHER} {did}",
                expected="an acknowledgement without the task, or an error",
                found="notifications/tasks" if told else "its id in the acknowledgement",
            )
        elif not any(other.agreed is not None for other in streams.values()):
            yield unclear(probe, "nobody's request to listen was seen to be acknowledged")
        elif stream is not None and _admitted(history):
            yield holds(probe)
        elif unsure(history, probe):
            yield unclear(probe, unsure(history, probe))
        else:
            yield holds(probe)


def _agrees_to_anything(history: History) -> bool:
    """Whether an id that nobody was ever given was agreed to as well: then an agreement says
    nothing of who may be told."""
    given = {str((exchange.handle or {}).get("taskId")) for exchange in handles(history)}
    return any(
        task_id not in given for stream in subscriptions(history) for task_id in stream.agreed_tasks
    )


def _told_of(stream: Subscription | None) -> set[str]:
    """The tasks that the notifications of a stream were about."""
    return {
        str(params_of(message).get("taskId"))
        for _, message in (stream.told if stream is not None else ())
        if message.get("method") == TASK_NOTIFICATION
    }


@rule(
    "security.no-token",
    MUST,
    tasks(_SECURITY),
    needs=(IDENTITIES, TASK),
    after=("security.foreign-get", "security.foreign-cancel"),
)
def strangers_get_no_further(history: History) -> Iterator[Observation]:
    """Without a token, or with a wrong one, nobody gets further than another caller."""
    for life in lives(history).values():
        for probe in (*life.reads, *life.updates, *life.cancels):
            if probe.caller not in (NOBODY, WRONG_TOKEN) or life.caller != FIRST:
                continue
            who = "without a token" if probe.caller == NOBODY else "with a wrong token"
            effect = _effect(life, probe)
            if probe.task is not None or (effect is not None and effect.moved):
                did = {
                    TASKS_GET: "read",
                    TASKS_UPDATE: "answered",
                    TASKS_CANCEL: "cancelled",
                }[str(probe.method)]
                yield broken(
                    life.with_creation(probe),
                    f"ask on {probe.method} who it is: the task was {did} {who}",
                    expected="HTTP 401, or what another caller gets",
                    found=probe.outcome,
                    member="/result",
                )
            elif _no_answer(probe):
                yield unclear(probe, _no_answer(probe))
            elif probe.result is None:
                yield holds(probe)
            else:
                yield unclear(probe, f"it was acknowledged {who}, to what effect was not seen")


def _effect(life: Life, probe: Exchange) -> Effect | None:
    if probe.method == TASKS_UPDATE:
        return effect_of_update(life, probe)
    return effect_of_cancel(life, probe) if probe.method == TASKS_CANCEL else None


@rule(
    "security.no-existence-oracle",
    ADVICE,
    sep("security-implications"),
    needs=(IDENTITIES, TASK),
    after=("security.foreign-get", "security.foreign-update", "security.foreign-cancel"),
)
def foreign_looks_like_unknown(history: History) -> Iterator[Observation]:
    """A task of somebody else looks like one that does not exist.

    The text has no sentence on it. Where the answers differ, a caller can find out which ids
    are taken.
    """
    for method in (TASKS_GET, TASKS_UPDATE, TASKS_CANCEL):
        foreign = next(iter(_answers(history, "foreign", method)), None)
        unknown = _answers(history, "foreign-unknown", method)
        if foreign is None or not unknown:
            continue
        if not _admitted(history):
            yield unclear(foreign, unsure(history, foreign))
            continue
        faces = {_face(answer) for answer in unknown}
        plain = {face[:-1] for face in faces}
        alike = _face(foreign)[:-1] in plain
        if _face(foreign) in faces or (alike and len(faces) > 1):
            # Messages that differ by themselves, by a number or the time, tell nobody anything.
            yield holds((foreign, unknown[0]))
        elif len(plain) > 1:
            yield unclear(unknown, "unknown ids are not answered alike themselves")
        elif alike and len({answer.task_id for answer in unknown}) < 2:
            yield unclear((unknown[0], foreign), "such messages may differ by themselves")
        elif any(answer.error_code != INVALID_PARAMS for answer in unknown):
            # Other rules tell that; who mends it may have mended this.
            yield unclear((unknown[0], foreign), "unknown ids are not refused as they are to be")
        else:
            yield broken(
                (unknown[0], foreign),
                f"answer {method} about a task of {_ANOTHER} as if it did not exist: the"
                " difference tells which ids are taken",
                expected=_in_words(_face(unknown[0])),
                found=_in_words(_face(foreign)),
            )


def _answers(history: History, intent: str, method: str) -> list[Exchange]:
    """The answers to the second caller that say anything."""
    return [
        e
        for e in history.intended(intent, method=method)
        if e.caller == SECOND and not _nothing_said(e)
    ]


# The kind of answer, its HTTP status, code and message.
Face = tuple[str, "int | None", object, str]


def _face(exchange: Exchange) -> Face:
    """What a caller can tell an answer by. The id asked for, and numbers that look like one of
    a request or a moment, are left out."""
    message = str((exchange.error or {}).get("message", ""))
    for text in (exchange.task_id or "", str(exchange.request_id)):
        if len(text) > 3:
            message = message.replace(text, "…")
    message = re.sub(r"[0-9a-fA-F-]{8,}|\d{4,}", "…", message)
    kind = "an error" if exchange.error is not None else "no error"
    return (kind, exchange.status, exchange.error_code, message)


def _in_words(face: Face) -> str:
    kind, status, code, message = face
    words = kind if code is None else f"error {code}"
    return f"HTTP {status}, {words}" + (f": {message:.80}" if message else "")


# ---- errors -----------------------------------------------------------------------------------


@rule("security.quiet-errors", ADVICE, tasks("protocol-errors"))
def errors_tell_little(history: History) -> Iterator[Observation]:
    """Error messages show no stack trace, no path and no query."""
    for exchange in history.exchanges:
        text = _error_text(exchange)
        if not text:
            continue
        # A tool's own error may well speak of the file it was to open, and a web page has paths
        # of its own site.
        may_name_files = exchange.method == TOOLS_CALL or is_web_page(exchange)
        sent = exchange.sent.body.decode("utf-8", "replace")
        found = leak_in(text, sent, but=(PATH,) if may_name_files else ())
        if found is not None:
            kind, passage = found
            yield broken(
                exchange,
                f"keep {kind} out of error messages: it helps nobody but an attacker",
                expected="a message in plain words",
                found=passage,
                member="/error/message" if exchange.error is not None else "",
            )
        else:
            yield holds(exchange)


def _error_text(exchange: Exchange) -> str:
    """What an error says, its data included; of an answer that is no JSON-RPC, its body."""
    if exchange.error is not None:
        message = exchange.error.get("message", "")
        data = exchange.error.get("data")
        parts = [message if isinstance(message, str) else dump_json(message)]
        parts += _texts_in(data)
        return "\n".join(parts)
    if exchange.seen is None or exchange.seen.status < 400 or exchange.response is not None:
        return ""
    return exchange.seen.body.decode("utf-8", "replace")


def _texts_in(value: object) -> list[str]:
    """Every text within a JSON value, as it is, with its line breaks."""
    texts: list[str] = []
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
    return texts
