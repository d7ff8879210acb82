"""What a scenario holds in its hand: send, create, read, answer, cancel, wait.

A ``Session`` is what the scenarios of one process share (the wire, the pace of each task,
the time that is left); a ``Driver`` belongs to one scenario and writes its history.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import anyio

from conformance.drive.answers import ACCEPT, answers_to
from conformance.drive.demise import Contact
from conformance.drive.draft import Draft, mirrored_parameters, request
from conformance.drive.pulse import Pulse
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.specification.names import (
    CODES_WITH_ANOTHER_MEANING,
    DISCOVER,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_UPDATE,
    TOOLS_CALL,
    TOOLS_LIST,
)
from conformance.specification.revisions import Revision, revision_named
from conformance.specification.states import INPUT_REQUIRED, STATUSES, is_terminal
from conformance.target.target import FIRST, Target
from conformance.wire.client import Wire
from conformance.wire.exchange import (
    HELD_UP,
    ORDINARY,
    TIDY_UP,
    Exchange,
    Fault,
    JsonObject,
    Sent,
    certain_seconds,
)
from conformance.wire.history import Recorder
from conformance.wire.parsing import parse_json
from conformance.wire.secrets import Redactor
from conformance.wire.sse import Event

# Where a server gives no pollIntervalMs, a quarter of a second is a polite pace.
DEFAULT_POLL_SECONDS = 0.25
# pollIntervalMs of zero, or of a few milliseconds, is no licence to flood.
SHORTEST_POLL_SECONDS = 0.02
# So many reads of a task that told nothing mean that it cannot be followed.
GIVE_UP_AFTER = 8
# An error may come once; what comes so often in a row is the server's last word.
LAST_WORD_AFTER = 3
# A task that has waited for so long, with nothing open that was not answered, waits for ever.
STALLED_SECONDS = 5.0
# So long it may take to leave nothing behind.
TIDYING_SECONDS = 5.0
# Of what was answered sooner it does not matter whether the suite was held up.
_TELLING_SECONDS = 0.1


class ServerGone(Exception):
    """The server stopped answering; its text says what was under way. What was driven so far is
    in the history."""


class OutOfTime(Exception):
    """The time of the whole run is used up."""


def single_errors(error: BaseException) -> list[BaseException]:
    """The errors that a group of errors carries, as where several things are done at once, or
    the one that is none."""
    parts = getattr(error, "exceptions", ())
    return [single for part in parts for single in single_errors(part)] or [error]


@dataclass
class Session:
    """What the scenarios of one process share. ``ends`` is a monotonic second, and so are
    ``first_asked``, when a task was first seen to wait for input, and ``rest_ended``, when all
    scenarios but the long ones had ended; it stays ``None`` where not all are known here."""

    target: Target
    surroundings: Surroundings
    wire: Wire
    redactor: Redactor
    ends: float
    first_request_id: int = 1
    on_exchange: Callable[[Exchange], None] | None = None
    contact: Contact = field(default_factory=Contact)
    next_poll: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, float] = field(default_factory=dict)
    first_asked: float | None = None
    rest_ended: float | None = None

    def __post_init__(self) -> None:
        self.revision: Revision = revision_named(self.target.spec)
        self.request_ids = itertools.count(self.first_request_id)
        # What follows a call must not stand in a queue behind calls that have just begun, or
        # its task has ended meanwhile; nor must those queue behind calls that are kept waiting.
        self.at_once = anyio.CapacityLimiter(24)
        self.calls_at_once = anyio.CapacityLimiter(8)
        self.plain_calls_at_once = anyio.CapacityLimiter(12)
        self.pulse = Pulse()

    @property
    def gone(self) -> bool:
        """Whether the server stopped answering."""
        return self.contact.lost

    def remaining(self) -> float:
        return self.ends - time.monotonic()

    def noticed(self, exchange: Exchange) -> None:
        self.contact.note(exchange)
        if self.on_exchange is not None:
            self.on_exchange(exchange)

    def note_pace(self, task_id: str, task: Mapping[str, Any], at: float) -> None:
        """A handle or a task was seen: its next poll is due after its interval."""
        milliseconds = task.get("pollIntervalMs")
        seconds = DEFAULT_POLL_SECONDS
        if isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool):
            # The number may be too large, or too small, to be divided.
            seconds = max(min(milliseconds, self.target.max_wait * 1000), 0) / 1000
        seconds = min(max(seconds, SHORTEST_POLL_SECONDS), self.target.max_wait)
        self.intervals[task_id] = seconds
        self.next_poll[task_id] = at + seconds


@dataclass(frozen=True)
class Created:
    """A task that a call made. ``seed`` is the handle as it came."""

    task_id: str
    exchange: Exchange
    tool: ToolUse
    seed: JsonObject


def seconds_to_wait(refusal: Exchange) -> float:
    """What ``Retry-After`` asks for, as seconds or as a date; 0 where it is not there."""
    text = (refusal.response_header("retry-after") or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max((moment - datetime.now(timezone.utc)).total_seconds(), 0.0)


def _answers(request_id: object) -> Callable[[Event], bool]:
    """Says of an event whether it is the response to this request."""

    def is_response(event: Event) -> bool:
        if '"result"' not in event.data and '"error"' not in event.data:
            return False
        message = parse_json(event.data).value
        if not isinstance(message, dict) or "method" in message:
            return False
        return "id" in message and bool(message["id"] == request_id)

    return is_response


def _is_last_word(read: Exchange) -> bool:
    """Whether a read that brought no task need not be tried again."""
    return read.result is not None or read.error_code in CODES_WITH_ANOTHER_MEANING


class Driver:
    """Drives the server for one scenario and records every exchange."""

    def __init__(self, session: Session, scenario: str, writer: Recorder) -> None:
        self.session = session
        self.scenario = scenario
        self._writer = writer
        self._numbers = itertools.count(1)
        self._unfinished: dict[str, str] = {}
        self._leaving = False

    # ---- what there is -----------------------------------------------------------------

    @property
    def writer(self) -> Recorder:
        """Where the exchanges go."""
        return self._writer

    @property
    def target(self) -> Target:
        return self.session.target

    @property
    def surroundings(self) -> Surroundings:
        return self.session.surroundings

    @property
    def thorough(self) -> bool:
        return self.target.effort == "thorough"

    def tools(self, *roles: str, avoiding: tuple[str, ...] = ()) -> list[ToolUse]:
        """The tools that play all these roles and none of ``avoiding``, the quickest first."""
        found = [
            tool
            for tool in self.surroundings.tools
            if all(tool.plays(role) for role in roles) and not any(map(tool.plays, avoiding))
        ]
        return sorted(found, key=lambda t: (t.seconds is None, t.seconds or 0.0, t.name))

    def tool(self, *roles: str, avoiding: tuple[str, ...] = ()) -> ToolUse | None:
        """The quickest tool that plays all these roles and none of ``avoiding``."""
        return next(iter(self.tools(*roles, avoiding=avoiding)), None)

    def plain_task_tool(self) -> ToolUse | None:
        """The quickest tool that becomes a task, needs nobody and ends by itself."""
        peculiar = ("large", "short-ttl", "tool-error", "protocol-error", "task-only")
        return self.tool("task", avoiding=("input", "before", *peculiar)) or self.tool(
            "task", avoiding=("input", "before")
        )

    # ---- sending -----------------------------------------------------------------------

    def draft(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        capabilities: JsonObject | None = None,
        request_id: object = None,
        mirrored: Mapping[str, str] | None = None,
    ) -> Draft:
        """A correct request of this method, with a new id."""
        return request(
            method,
            params,
            request_id=next(self.session.request_ids) if request_id is None else request_id,
            version=self.session.revision.protocol_version,
            capabilities=capabilities,
            mirrored=mirrored,
        )

    def call_draft(
        self, tool: ToolUse, *, arguments: JsonObject | None = None, **options: Any
    ) -> Draft:
        """A correct ``tools/call`` of this tool; ``options`` are those of ``draft``."""
        chosen = tool.arguments if arguments is None else arguments
        return self.draft(
            TOOLS_CALL,
            {"name": tool.name, "arguments": chosen},
            mirrored=mirrored_parameters(tool.schema, chosen),
            **options,
        )

    def get_draft(self, task_id: str, **options: Any) -> Draft:
        return self.draft(TASKS_GET, {"taskId": task_id}, **options)

    def update_draft(self, task_id: str, responses: object, **options: Any) -> Draft:
        return self.draft(TASKS_UPDATE, {"taskId": task_id, "inputResponses": responses}, **options)

    def cancel_draft(self, task_id: str, **options: Any) -> Draft:
        return self.draft(TASKS_CANCEL, {"taskId": task_id}, **options)

    async def send(
        self,
        draft: Draft,
        intent: str = ORDINARY,
        *,
        control: Exchange | None = None,
        caller: str = FIRST,
        connection: str = "main",
        replica: int = 0,
        seconds: float | None = None,
        hang_up_after: float | None = None,
        on_event: Callable[[Event], bool] | None = None,
        enough: anyio.Event | None = None,
        begun: anyio.Event | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> Exchange:
        """Send a draft and record the exchange.

        ``intent`` names what is meant by it, for the judge. ``seconds`` bounds it (default:
        ``--max-wait``, at least 5 s). ``hang_up_after``, ``on_event`` and ``enough`` end it
        early, and ``begun`` is set, as in ``Wire.send``. Raises ``ServerGone`` or ``OutOfTime``.
        """
        if self.session.gone:
            raise ServerGone(self.session.contact.last_words)
        remaining = TIDYING_SECONDS if self._leaving else self.session.remaining()
        if remaining <= 0:
            raise OutOfTime
        number = next(self._numbers)
        headers = (*draft.headers, *self.target.headers_of(caller))
        sent = Sent(draft.http_method, self.target.urls[replica], headers, draft.body)
        wanted = seconds or max(self.target.max_wait, 5.0)
        bound = min(wanted, remaining)
        arguments: dict[str, Any] = {
            "connection": connection,
            "seconds": bound,
            "on_event": on_event,
            "enough": enough,
            "begun": begun,
            "hang_up_after": hang_up_after,
            "last": None,
        }
        exchange = Exchange(
            scenario=self.scenario,
            number=number,
            started=time.monotonic(),
            ended=time.monotonic(),
            intent=intent,
            sent=sent,
            caller=caller,
            replica=replica,
            connection=connection,
            control=control.number if control is not None else None,
            notes=dict(notes or {}),
        )
        try:
            if on_event is not None or enough is not None:
                # A held stream must not take a place from those who come and go.
                outcome = await self.session.wire.send(sent, **arguments)
            else:
                arguments["last"] = _answers(exchange.request_id)
                async with self._places_for(exchange):
                    outcome = await self.session.wire.send(sent, **arguments)
        except anyio.get_cancelled_exc_class():
            # What was sent may have been done: the history has to say that it was sent.
            stopped = Fault("interrupted", "it was stopped before an answer came")
            self._record(replace(exchange, ended=time.monotonic(), fault=stopped))
            raise
        fault = outcome.fault
        if fault is not None and fault.kind == "timeout" and bound < wanted:
            fault = Fault("interrupted", "the time of the run was used up")
        exchange = self._with_hold_ups(
            replace(
                exchange,
                started=outcome.started,
                ended=outcome.ended,
                connection=outcome.connection,
                seen=outcome.seen,
                fault=fault,
            )
        )
        self._record(exchange)
        self._keep_track(exchange)
        return exchange

    def _record(self, exchange: Exchange) -> None:
        """Keep it, without secrets. The scenario goes on with what really came: an id that
        happens to hold a secret still has to be sent as it is."""
        kept = self.session.redactor.exchange(exchange)
        self._writer.append(kept)
        self.session.noticed(kept)

    def _with_hold_ups(self, exchange: Exchange) -> Exchange:
        """The exchange with a note of how long the suite itself was held up meanwhile."""
        took = exchange.ended - exchange.started
        if took < _TELLING_SECONDS:
            return exchange
        held_up = self.session.pulse.held_up(exchange.started, exchange.ended)
        if held_up < _TELLING_SECONDS / 10:
            return exchange
        return replace(exchange, notes={**exchange.notes, HELD_UP: round(held_up, 3)})

    def certain_seconds_since(self, began: float) -> float:
        """The seconds since this monotonic moment, without those that the suite was held up."""
        now = time.monotonic()
        return certain_seconds(now - began, self.session.pulse.held_up(began, now))

    def _places_for(self, exchange: Exchange) -> anyio.CapacityLimiter:
        """Among which others a request takes its turn."""
        if exchange.method != TOOLS_CALL:
            return self.session.at_once
        declared = exchange.declares_tasks
        return self.session.calls_at_once if declared else self.session.plain_calls_at_once

    def _keep_track(self, exchange: Exchange) -> None:
        seed = exchange.handle
        if seed is not None and isinstance(seed.get("taskId"), str):
            task_id = seed["taskId"]
            self.session.note_pace(task_id, seed, exchange.ended)
            if not is_terminal(seed.get("status")):
                self._unfinished[task_id] = exchange.caller
        task = exchange.task
        if task is not None and exchange.task_id is not None:
            self.session.note_pace(exchange.task_id, task, exchange.ended)
            if task.get("status") == INPUT_REQUIRED and self.session.first_asked is None:
                self.session.first_asked = exchange.ended
            if is_terminal(task.get("status")):
                self._unfinished.pop(exchange.task_id, None)

    # ---- what a client does ------------------------------------------------------------

    async def discover(self, **options: Any) -> Exchange:
        return await self.send(self.draft(DISCOVER), **options)

    async def list_tools(self, cursor: str | None = None, **options: Any) -> Exchange:
        params = {} if cursor is None else {"cursor": cursor}
        return await self.send(self.draft(TOOLS_LIST, params), **options)

    async def call(self, tool: ToolUse, intent: str = ORDINARY, **options: Any) -> Exchange:
        """Call a tool, declared; ``arguments`` may be given, the rest is as in ``send``."""
        arguments = options.pop("arguments", None)
        return await self.send(self.call_draft(tool, arguments=arguments), intent, **options)

    async def create(self, tool: ToolUse, intent: str = ORDINARY, **options: Any) -> Created | None:
        """Call a tool and return the task it made, if it made one.

        A tool that asks before it creates its task is answered; HTTP 429 is waited out once.
        """
        marker = str(options.pop("marker", "conformance"))
        exchange = await self.call(tool, intent, **options)
        if exchange.rate_limited:
            seconds = max(seconds_to_wait(exchange), DEFAULT_POLL_SECONDS)
            await self.pause(min(seconds, self.target.max_wait))
            exchange = await self.call(tool, intent, **options)
        for _ in range(4):
            if exchange.result_type != "input_required":
                break
            exchange = await self.answer_before(tool, exchange, marker=marker, **options)
        return self.created(tool, exchange)

    def created(self, tool: ToolUse, exchange: Exchange) -> Created | None:
        """The task that an answered call made, if it made one."""
        seed = exchange.handle
        if seed is None or not isinstance(seed.get("taskId"), str):
            return None
        return Created(seed["taskId"], exchange, tool, seed)

    async def answer_before(
        self, tool: ToolUse, asked: Exchange, *, marker: str = "conformance", **options: Any
    ) -> Exchange:
        """Retry a call that was answered ``input_required``, with the answers it wants."""
        arguments = options.pop("arguments", None)
        intent = str(options.pop("intent", ORDINARY))
        action = str(options.pop("action", ACCEPT))
        result = asked.result or {}
        draft = self.call_draft(tool, arguments=arguments).with_param(
            "inputResponses", answers_to(result.get("inputRequests"), marker, action)
        )
        if "requestState" in result:
            draft = draft.with_param("requestState", result["requestState"])
        return await self.send(draft, intent, **options)

    async def pace(self, task_id: str) -> None:
        """Wait until this task may be polled again."""
        while (due := self.session.next_poll.get(task_id, 0.0) - time.monotonic()) > 0:
            # Another scenario may have polled it meanwhile, which moves the due time.
            await self.pause(due)
        # Readers of the same task that wake together take turns.
        self.session.next_poll[task_id] = time.monotonic() + self.session.intervals.get(
            task_id, DEFAULT_POLL_SECONDS
        )

    async def pause(self, seconds: float) -> None:
        """Wait, but not past the end of the run. Raises ``OutOfTime``."""
        remaining = self.session.remaining()
        if remaining <= 0:
            raise OutOfTime
        await anyio.sleep(min(seconds, remaining))

    async def get(
        self, task_id: str, intent: str = ORDINARY, *, paced: bool = True, **options: Any
    ) -> Exchange:
        """Read a task, at its pace unless ``paced`` is False. A refusal for the pace is waited
        out, thrice, each time for longer."""
        for attempt in range(4):
            if paced:
                await self.pace(task_id)
            exchange = await self.send(self.get_draft(task_id), intent, **options)
            if not exchange.rate_limited or attempt == 3:
                break
            interval = self.session.intervals.get(task_id, DEFAULT_POLL_SECONDS)
            seconds = max(seconds_to_wait(exchange), interval * 2**attempt)
            await self.pause(min(seconds, self.target.max_wait))
        return exchange

    async def update(
        self, task_id: str, responses: object, intent: str = ORDINARY, **options: Any
    ) -> Exchange:
        return await self.send(self.update_draft(task_id, responses), intent, **options)

    async def cancel(self, task_id: str, intent: str = ORDINARY, **options: Any) -> Exchange:
        exchange = await self.send(self.cancel_draft(task_id), intent, **options)
        if exchange.result is not None and intent != "undeclared":
            # Asked to stop once: it is not asked again when the scenario ends.
            self._unfinished.pop(task_id, None)
        return exchange

    async def wait_for(
        self,
        task_id: str,
        until: Callable[[JsonObject], bool],
        *,
        limit: float | None = None,
        intent: str = ORDINARY,
        patience: float = 0.0,
        **options: Any,
    ) -> Exchange | None:
        """Poll a task at its pace until ``until(task)`` holds.

        Returns the exchange that showed it; ``None`` where it did not come within ``limit``
        seconds (default ``--max-wait``) or the task could not be read, several times in a row and
        for ``patience`` seconds.
        """
        ends = time.monotonic() + (self.target.max_wait if limit is None else limit)
        in_vain = refused = 0
        served = time.monotonic()
        while True:
            exchange = await self.get(task_id, intent, **options)
            if exchange.task is not None and until(exchange.task):
                return exchange
            answered = exchange.fault is None and not exchange.rate_limited
            refused = refused + 1 if answered and exchange.result is None else 0
            served = served if refused else exchange.ended
            patient = time.monotonic() - served < patience
            lasts = refused >= LAST_WORD_AFTER and not patient
            if answered and exchange.task is None and (lasts or _is_last_word(exchange)):
                return None
            if exchange.fault is not None and exchange.fault.kind == "too-large":
                return None  # it would be as large the next time
            # Neither an answer that never comes nor a status that is none leads anywhere.
            understood = exchange.task is not None and exchange.task.get("status") in STATUSES
            in_vain = 0 if understood or exchange.rate_limited else in_vain + 1
            if (in_vain >= GIVE_UP_AFTER and not patient) or time.monotonic() >= ends:
                return None

    async def wait_for_end(self, task_id: str, **options: Any) -> Exchange | None:
        """Poll a task until it has ended. Does not answer what it asks."""
        return await self.wait_for(task_id, lambda t: is_terminal(t.get("status")), **options)

    async def wait_for_input(self, task_id: str, **options: Any) -> Exchange | None:
        """Poll a task until it asks for input. ``None`` also where it ended without asking."""
        seen = await self.wait_for(
            task_id,
            lambda t: t.get("status") == INPUT_REQUIRED or is_terminal(t.get("status")),
            **options,
        )
        if seen is None or seen.task is None or seen.task.get("status") != INPUT_REQUIRED:
            return None
        return seen

    async def finish(
        self,
        task_id: str,
        *,
        marker: str = "conformance",
        limit: float | None = None,
        patience: float = 0.0,
    ) -> Exchange | None:
        """Poll a task to its end and answer all it asks on the way, each key once.

        Ends earlier, with the last read, where a task waits for answers and says not for which.
        ``limit`` and ``patience`` are those of ``wait_for``.
        """
        ends = time.monotonic() + (self.target.max_wait if limit is None else limit)
        answered: set[str] = set()
        waiting_since: float | None = None

        def decides(task: JsonObject) -> bool:
            nonlocal waiting_since
            if is_terminal(task.get("status")) or self._open(task, answered):
                return True
            if task.get("status") != INPUT_REQUIRED:
                waiting_since = None
            elif waiting_since is None:
                waiting_since = time.monotonic()
            # An answer may take effect late, but not that late.
            return waiting_since is not None and time.monotonic() - waiting_since > STALLED_SECONDS

        while time.monotonic() < ends:
            left = ends - time.monotonic()
            seen = await self.wait_for(task_id, decides, limit=left, patience=patience)
            if seen is None or seen.task is None or is_terminal(seen.task.get("status")):
                return seen
            wanted = self._open(seen.task, answered)
            if not wanted:
                return seen
            waiting_since = None
            answered |= wanted.keys()
            answer = await self.update(task_id, answers_to(wanted, marker))
            if answer.result is None and not answer.rate_limited:
                return seen  # it takes no answers, so it would wait for ever
        return None

    def _open(self, task: JsonObject, answered: set[str]) -> JsonObject:
        requests = task.get("inputRequests")
        if task.get("status") != INPUT_REQUIRED or not isinstance(requests, dict):
            return {}
        return {key: value for key, value in requests.items() if key not in answered}

    # ---- leaving -----------------------------------------------------------------------

    async def tidy_up(self) -> None:
        """Leave nothing behind; within a few seconds, also where the time of the run is over."""
        if self.session.gone:
            return
        self._leaving = True
        with anyio.move_on_after(TIDYING_SECONDS, shield=True), suppress(ServerGone, OutOfTime):
            await self._tidy_up()
        self._leaving = False

    async def _tidy_up(self) -> None:
        """Cancel what this scenario created and did not see ending."""
        for task_id, caller in list(self._unfinished.items()):
            draft = self.cancel_draft(task_id)
            await self.send(draft, TIDY_UP, caller=caller, seconds=TIDYING_SECONDS)
