"""What a scenario of 2025-11-25 holds in its hand.

Beyond what every driver does, it opens sessions, each with capabilities of its own, and answers
what the server asks on whatever stream is open: the answer to one request of the server is a
POST of its own (intent ``answer``) while the stream goes on.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import anyio

from conformance.drive.draft import Draft
from conformance.drive.driver import (
    STALLED_SECONDS,
    TIDYING_SECONDS,
    Created,
    Driver,
    OutOfTime,
    ServerGone,
    Session,
)
from conformance.drive.older import draft as drafts
from conformance.drive.older.session import Answering, ServerSession, answering, related_task
from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.specification.names import (
    HEADER_SESSION,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TASKS_RESULT,
    TOOLS_CALL,
)
from conformance.specification.states import INPUT_REQUIRED, is_terminal
from conformance.target.target import FIRST
from conformance.wire.exchange import ORDINARY, Exchange, JsonObject, header_of
from conformance.wire.history import Recorder
from conformance.wire.parsing import parse_json
from conformance.wire.sse import Event

# The session that is used where none is named, of each caller.
MAIN = "main"
# The name for it in ``in_session``.
OWN = ""
# How long a stream may go on after the response, in seconds. Some servers never end one.
_AFTER_RESPONSE = 0.5
_ANSWER_SECONDS = 10.0
# Seconds in which the head of a stream comes, where it does not wait for an event.
_STREAM_OPENS_WITHIN = 1.0
# A server that asks without end is not answered without end.
_MOST_ANSWERS = 200
# A stream that ends without the response may be asked for again; a server may end each of them.
_MOST_STREAMS = 4


class OlderDriver(Driver):
    """Drives a server of 2025-11-25 for one scenario and records every exchange.

    ``sessions`` are those that are open, by their short names. The notes of each exchange say
    in which ``session`` it was sent, by the name that is unique in the history.
    """

    def __init__(self, session: Session, scenario: str, writer: Recorder) -> None:
        super().__init__(session, scenario, writer)
        self.sessions: dict[str, ServerSession] = {}
        self._opened = 0
        self._walks = 0
        self._homes: dict[str, str] = {}

    # ---- what the server offers --------------------------------------------------------

    @property
    def task_capability(self) -> JsonObject:
        """What the server declared of tasks; empty where it declared nothing."""
        return task_capability(self.surroundings)

    @property
    def lists_tasks(self) -> bool:
        return self.task_capability.get("list") not in (None, False)

    @property
    def cancels_tasks(self) -> bool:
        return self.task_capability.get("cancel") not in (None, False)

    @property
    def takes_tasks(self) -> bool:
        """Whether a tool may be called as a task at all."""
        return declares_task_calls(self.task_capability)

    def plain_task_tool(self) -> ToolUse | None:
        """The quickest tool that can be called as a task, needs nobody and ends by itself."""
        peculiar = ("large", "tool-error", "protocol-error", "short-ttl")
        return self.tool("task", avoiding=("input", *peculiar)) or self.tool(
            "task", avoiding=("input",)
        )

    # ---- drafts ------------------------------------------------------------------------

    def draft(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        capabilities: JsonObject | None = None,
        request_id: object = None,
        mirrored: Mapping[str, str] | None = None,
    ) -> Draft:
        """A correct request of this method, with a new id.

        ``capabilities`` and ``mirrored`` have no place in a request of this revision: what a
        client can do is said by its session.
        """
        return drafts.request(
            method,
            params,
            request_id=next(self.session.request_ids) if request_id is None else request_id,
            version=self._version,
        )

    def notification_draft(self, method: str, params: Mapping[str, Any] | None = None) -> Draft:
        return drafts.notification(method, params, version=self._version)

    def call_draft(
        self,
        tool: ToolUse,
        *,
        arguments: JsonObject | None = None,
        task: object = None,
        **options: Any,
    ) -> Draft:
        """A ``tools/call`` of this tool, as a task where ``task`` is not ``None``."""
        params: JsonObject = {
            "name": tool.name,
            "arguments": tool.arguments if arguments is None else arguments,
        }
        if task is not None:
            params["task"] = task
        return self.draft(TOOLS_CALL, params, **options)

    def result_draft(self, task_id: object) -> Draft:
        return self.draft(TASKS_RESULT, {"taskId": task_id})

    @property
    def _version(self) -> str:
        return self.session.revision.protocol_version

    @property
    def asked_ttl(self) -> int:
        """The lifetime, in milliseconds, that ordinary calls ask for: longer than the run
        needs, and no burden to the server afterwards."""
        return int(max(2 * self.target.max_wait, 60.0) * 1000)

    # ---- sessions ----------------------------------------------------------------------

    async def open(
        self,
        name: str = MAIN,
        *,
        capabilities: JsonObject | None = None,
        caller: str = FIRST,
        answers: Answering | None = None,
        answer_intent: str | None = None,
        ready: bool = True,
        seconds: float | None = None,
        version: str | None = None,
        intent: str = drafts.INITIALIZE,
    ) -> ServerSession:
        """Open a session under a short name, in place of one that had it.

        ``answers`` says what is answered to requests of the server, with ``answer_intent``.
        Without ``ready`` the handshake is left unfinished until ``say_ready``. ``version`` is
        the one to ask for, where it is not this revision. Where the server refuses, the session
        has no ``result``, and what is sent in it has no session id.
        """
        opened = self._new_session(name, caller)
        if capabilities is not None:
            opened.capabilities = capabilities
        if answers is not None:
            opened.answers = answers
        if answer_intent is not None:
            opened.answer_intent = answer_intent
        await self._shake_hands(opened, seconds, ready=ready, version=version, intent=intent)
        return opened

    async def say_ready(self, session: ServerSession, seconds: float | None = None) -> Exchange:
        """The notification that ends the handshake."""
        return await super().send(
            in_session(session, self.notification_draft(drafts.INITIALIZED)),
            caller=session.caller,
            notes={"session": session.name},
            seconds=seconds,
        )

    def _new_session(self, name: str, caller: str) -> ServerSession:
        self._opened += 1
        again = f"-{self._opened}" if name in self.sessions else ""
        session = ServerSession(f"{self.scenario}/{name}{again}", caller=caller)
        self.sessions[name] = session
        return session

    async def _shake_hands(
        self,
        session: ServerSession,
        seconds: float | None = None,
        *,
        ready: bool = True,
        version: str | None = None,
        intent: str = drafts.INITIALIZE,
    ) -> None:
        async with session.opening:
            if session.opened is not None:
                return
            opening = drafts.initialize(
                version or self._version,
                session.capabilities,
                request_id=next(self.session.request_ids),
            )
            session.opened = await super().send(
                opening,
                intent,
                caller=session.caller,
                seconds=seconds,
                notes={"session": session.name},
            )
            if session.result and ready:
                await self.say_ready(session, seconds)

    async def _session_named(self, name: str, caller: str) -> ServerSession:
        key = name or (MAIN if caller == FIRST else caller)
        session = self.sessions.get(key)
        if session is None or session.ended:
            session = self._new_session(key, caller)
        if session.opened is None:
            await self._shake_hands(session)
        return session

    async def end_session(
        self, session: ServerSession, intent: str = "end-session", **options: Any
    ) -> Exchange:
        """End a session as a client does that needs it no longer."""
        ending = in_session(session, drafts.ending(self._version))
        session.ended = True
        notes = {"session": session.name}
        return await super().send(ending, intent, caller=session.caller, notes=notes, **options)

    # ---- sending -----------------------------------------------------------------------

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
        in_session: str | None = OWN,
    ) -> Exchange:
        """As ``Driver.send``, in a session, and answering what the server asks meanwhile.

        ``in_session`` is the short name of a session, which is opened where it is not; by
        default that in which the task was made, or the caller's main one. ``None`` sends
        without any. A header of the session that the draft has already is left as it is.
        """
        session: ServerSession | None = None
        if in_session is not None:
            if in_session == OWN and caller == FIRST:
                in_session = self._homes.get(_task_id_of(draft), OWN)
            session = await self._session_named(in_session, caller)
            draft = _within(session, draft)
            notes = {**(notes or {}), "session": session.name}
        options: dict[str, Any] = {
            "control": control,
            "caller": caller,
            "connection": connection,
            "replica": replica,
            "seconds": seconds,
            "hang_up_after": hang_up_after,
            "begun": begun,
            "notes": notes,
        }
        if session is None or not _may_be_streamed(draft):
            return await super().send(draft, intent, on_event=on_event, enough=enough, **options)
        async with self._place_of(draft):
            exchange = await self._hear_out(session, draft, intent, on_event, enough, options)
        if exchange.status == 404 and session.id is not None and intent == ORDINARY:
            session.ended = True  # whoever sends next opens another
        return exchange

    def _place_of(self, draft: Draft) -> AbstractAsyncContextManager[Any]:
        """Among which others a request takes its turn; those that are held take no place."""
        if draft.http_method == "GET" or draft.method == TASKS_RESULT:
            return nullcontext()
        if draft.method != TOOLS_CALL:
            return self.session.at_once
        as_task = "task" in _params_of(draft)
        return self.session.calls_at_once if as_task else self.session.plain_calls_at_once

    async def _hear_out(
        self,
        session: ServerSession,
        draft: Draft,
        intent: str,
        on_event: Callable[[Event], bool] | None,
        enough: anyio.Event | None,
        options: dict[str, Any],
    ) -> Exchange:
        """Send, and answer each request of the server while its stream goes on."""
        request_id = draft.message.get("id") if isinstance(draft.message, dict) else None
        over, stop = anyio.Event(), enough or anyio.Event()
        exchange: Exchange | None = None
        failure: Exception | None = None

        async def leave_soon() -> None:
            with anyio.move_on_after(_AFTER_RESPONSE):
                await over.wait()
            stop.set()

        async with anyio.create_task_group() as group:

            def hear(event: Event) -> bool:
                message = parse_json(event.data).value
                if isinstance(message, dict) and "id" in message:
                    if "method" in message:
                        session.asked += 1
                        group.start_soon(self._answer, session, message)
                    elif request_id is not None and message["id"] == request_id:
                        group.start_soon(leave_soon)
                return on_event is not None and on_event(event)

            try:
                exchange = await super().send(draft, intent, on_event=hear, enough=stop, **options)
            except (ServerGone, OutOfTime) as error:
                failure = error  # not as a group of one
            over.set()
        if exchange is None:
            raise failure or OutOfTime
        return exchange

    async def _answer(self, session: ServerSession, asked: JsonObject) -> None:
        """Answer a request of the server, unless it was answered or is to be left open."""
        identifier = asked["id"]
        if isinstance(identifier, bool) or not isinstance(identifier, str | int):
            return
        if identifier in session.answered or len(session.answered) >= _MOST_ANSWERS:
            return
        answer = session.answers(asked)
        if answer is None:
            return
        session.answered.add(identifier)
        await self.respond(session, identifier, answer, task_id=related_task(asked))

    async def respond(
        self,
        session: ServerSession,
        identifier: object,
        answer: JsonObject,
        *,
        task_id: str | None = None,
    ) -> Exchange | None:
        """POST a response to a request that belongs to this task. ``None`` where the run is
        over."""
        reply = drafts.response(identifier, answer, version=self._version)
        notes = {"session": session.name}
        if task_id is not None:
            notes["answers"] = task_id
        try:
            return await super().send(
                in_session(session, reply),
                session.answer_intent,
                caller=session.caller,
                connection="answers",
                seconds=_ANSWER_SECONDS,
                notes=notes,
            )
        except (ServerGone, OutOfTime):
            return None

    def _keep_track(self, exchange: Exchange) -> None:
        for task_id, task in _tasks_in(exchange):
            pace = {"pollIntervalMs": task.get("pollInterval")}
            self.session.note_pace(task_id, pace, exchange.ended)
            made = exchange.handle is task
            if made:
                self._homes[task_id] = self._short_name(exchange.notes.get("session"))
            if is_terminal(task.get("status")):
                self._unfinished.pop(task_id, None)
            elif made:
                self._unfinished[task_id] = exchange.caller

    def _short_name(self, name: object) -> str:
        return next((short for short, each in self.sessions.items() if each.name == name), OWN)

    # ---- what a client does ------------------------------------------------------------

    async def call(
        self, tool: ToolUse, intent: str = ORDINARY, *, task: object = None, **options: Any
    ) -> Exchange:
        """Call a tool, as a task where ``task`` is given; the rest is as in ``send``."""
        draft = self.call_draft(tool, arguments=options.pop("arguments", None), task=task)
        return await self.send(draft, intent, **options)

    async def call_as_task(self, tool: ToolUse, intent: str = ORDINARY, **options: Any) -> Exchange:
        """Call a tool as a task, for the usual lifetime unless ``task`` says otherwise."""
        task = options.pop("task", {"ttl": self.asked_ttl})
        return await self.call(tool, intent, task=task, **options)

    async def create(self, tool: ToolUse, intent: str = ORDINARY, **options: Any) -> Created | None:
        """Call a tool as a task and return the task it made, if it made one."""
        options.setdefault("task", {"ttl": self.asked_ttl})
        return await super().create(tool, intent, **options)

    async def result(self, task_id: str, intent: str = ORDINARY, **options: Any) -> Exchange:
        """Ask for what a task results in. That blocks until it has ended; what the server asks
        on the stream is answered as the session says."""
        return await self.send(self.result_draft(task_id), intent, **options)

    async def list_tasks(
        self, cursor: object = None, intent: str = ORDINARY, **options: Any
    ) -> Exchange:
        """One page of the tasks."""
        params: JsonObject = {} if cursor is None else {"cursor": cursor}
        return await self.send(self.draft(TASKS_LIST, params), intent, **options)

    async def walk(
        self, intent: str = "list-all", *, most_pages: int = 50, **options: Any
    ) -> list[Exchange]:
        """All pages of the tasks, one after another, until there is no further cursor. They
        share a name in their notes (``walk``)."""
        self._walks += 1
        notes = {**(options.pop("notes", None) or {}), "walk": f"{self.scenario}/{self._walks}"}
        pages: list[Exchange] = []
        cursor: object = None
        cursors: set[str] = set()
        while len(pages) < most_pages:
            pages.append(await self.list_tasks(cursor, intent, notes=notes, **options))
            cursor = (pages[-1].result or {}).get("nextCursor")
            if not isinstance(cursor, str) or cursor in cursors:
                break
            cursors.add(cursor)
        return pages

    @asynccontextmanager
    async def listening(self, name: str = OWN, intent: str = "listen") -> AsyncIterator[None]:
        """Keep the session's GET stream open meanwhile, where the server offers one and
        nobody else holds it."""
        session = await self._session_named(name, FIRST)
        if session.listening or not session.offers_stream:
            yield
            return
        begun, over = anyio.Event(), anyio.Event()
        failure: Exception | None = None

        async def hold() -> None:
            try:
                held = await self.listen(name, intent, begun=begun, enough=over)
                session.offers_stream = held.is_stream
            except (ServerGone, OutOfTime):
                return
            finally:
                session.listening = False
                begun.set()

        async with anyio.create_task_group() as group:
            session.listening = True
            group.start_soon(hold)
            try:
                # What a server asks before the stream is there may go nowhere. Some send the head
                # of a stream with the first event only.
                with anyio.move_on_after(_STREAM_OPENS_WITHIN):
                    await begun.wait()
                yield
            except (ServerGone, OutOfTime) as error:
                failure = error  # not as a group of one
            finally:
                over.set()
        if failure is not None:
            raise failure

    async def listen(
        self,
        name: str = OWN,
        intent: str = "listen",
        *,
        enough: anyio.Event | None = None,
        begun: anyio.Event | None = None,
        seconds: float | None = None,
    ) -> Exchange:
        """Hold the session's GET stream until ``enough`` is set, for at most ``seconds``
        (default: twice ``--max-wait``). A server that offers none answers with HTTP 405."""
        bound = 2 * self.target.max_wait if seconds is None else seconds
        return await self.send(
            drafts.stream(self._version),
            intent,
            in_session=name,
            enough=enough,
            begun=begun,
            connection=f"stream-{name or MAIN}",
            seconds=bound + 5.0,
            hang_up_after=bound,
        )

    async def finish(
        self,
        task_id: str,
        *,
        marker: str | None = None,
        limit: float | None = None,
        patience: float = 0.0,
    ) -> Exchange | None:
        """Poll a task to its end, answer all it asks on the way, and fetch its result.

        Returns the last read. Ends earlier where a task waits for input and asks nothing.
        ``limit`` and ``patience`` are those of ``wait_for``.
        """
        ends = time.monotonic() + (self.target.max_wait if limit is None else limit)
        home = self._homes.get(task_id, OWN)
        session = await self._session_named(home, FIRST)
        if marker is not None:
            session.answers = answering(marker)
        while True:
            left = max(ends - time.monotonic(), 0.0)
            seen = await self.wait_for(task_id, _asks_or_ended, limit=left, patience=patience)
            if seen is None or seen.task is None:
                return seen
            if is_terminal(seen.task.get("status")):
                await self.fetch(task_id)
                return seen
            asked = session.asked
            async with self.listening(home):
                await self.result(task_id, hang_up_after=min(STALLED_SECONDS, max(left, 0.5)))
            if session.asked == asked or time.monotonic() >= ends:
                return await self.get(task_id)

    async def fetch(self, task_id: str, intent: str = ORDINARY, **options: Any) -> Exchange:
        """The result of a task, asked for again where a stream ended before it came."""
        answer = await self.result(task_id, intent, **options)
        for _ in range(_MOST_STREAMS - 1):
            if not answer.is_stream or answer.response is not None or answer.fault is not None:
                break
            answer = await self.result(task_id, intent, **options)
        return answer

    # ---- leaving -----------------------------------------------------------------------

    async def _tidy_up(self) -> None:
        """Cancel what this scenario created and did not see ending, and end its sessions."""
        if self.cancels_tasks:
            await super()._tidy_up()
        for session in list(self.sessions.values()):
            if session.id is not None and not session.ended:
                await self.end_session(session, seconds=TIDYING_SECONDS)


# ---- plain functions -------------------------------------------------------------------------


def task_capability(surroundings: Surroundings) -> JsonObject:
    declared = surroundings.capabilities.get("tasks")
    return declared if isinstance(declared, dict) else {}


def declares_task_calls(capability: Mapping[str, Any]) -> bool:
    """Whether ``tasks.requests.tools.call`` is there."""
    requests = capability.get("requests")
    tools = requests.get("tools") if isinstance(requests, Mapping) else None
    return isinstance(tools, Mapping) and tools.get("call") not in (None, False)


def in_session(session: ServerSession, draft: Draft) -> Draft:
    """The draft with the id of the session, where the server gave one."""
    return draft if session.id is None else draft.with_header(HEADER_SESSION, session.id)


def _within(session: ServerSession, draft: Draft) -> Draft:
    if header_of(draft.headers, HEADER_SESSION) is not None:
        return draft
    return in_session(session, draft)


def _params_of(draft: Draft) -> JsonObject:
    params = draft.message.get("params") if isinstance(draft.message, dict) else None
    return params if isinstance(params, dict) else {}


def _task_id_of(draft: Draft) -> str:
    task_id = _params_of(draft).get("taskId")
    return task_id if isinstance(task_id, str) else ""


def _may_be_streamed(draft: Draft) -> bool:
    """Whether the answer may be a stream on which the server asks something."""
    if draft.http_method == "GET":
        return True
    message = draft.message
    return isinstance(message, dict) and "method" in message and "id" in message


def _tasks_in(exchange: Exchange) -> list[tuple[str, JsonObject]]:
    """The tasks that an answer shows, by their ids."""
    if exchange.handle is not None:
        found: Any = exchange.handle
    elif exchange.method in (TASKS_GET, TASKS_CANCEL):
        found = exchange.result
    else:
        return []
    task_id = found.get("taskId") if isinstance(found, dict) else None
    return [(task_id, found)] if isinstance(task_id, str) else []


def _asks_or_ended(task: JsonObject) -> bool:
    return task.get("status") == INPUT_REQUIRED or is_terminal(task.get("status"))
