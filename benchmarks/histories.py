"""Long histories, made from a short one of a real run.

A history is repeated with new task ids, new request ids and later times, so that nothing of
one copy can be taken for a part of another.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from conformance.wire.exchange import Exchange, Headers, Seen
from conformance.wire.history import History
from conformance.wire.sse import Event

# Between the copies of a history, so that none overlaps the next.
_PAUSE_SECONDS = 1.0
# More than the request ids of any run reach.
_IDS_A_COPY = 100_000_000

_NUMBERED = r'(?<="id":)\d+(?=[,}])|(?<="requestId":)\d+(?=[,}])'
_SUBSCRIBED = r'(?<=io\.modelcontextprotocol/subscriptionId":)\d+(?=[,}])'


def lengthened(history: History, exchanges: int) -> History:
    """A history of so many exchanges, give or take one copy, made of whole copies."""
    copies = max(1, round(exchanges / max(1, len(history))))
    return History(_copied(history, copies), history.circumstances)


def _copied(history: History, copies: int) -> Iterator[Exchange]:
    first = min(exchange.started for exchange in history)
    length = max(exchange.ended for exchange in history) - first + _PAUSE_SECONDS
    renaming = _Renaming(task_ids(history))
    for copy in range(copies):
        renaming.begin(copy)
        for exchange in history:
            yield _copy_of(exchange, copy, copy * length, renaming)


def task_ids(history: Iterable[Exchange]) -> set[str]:
    """The ids of the tasks that a history tells of."""
    handles = (exchange.handle for exchange in history)
    found = (handle.get("taskId") for handle in handles if handle is not None)
    return {task_id for task_id in found if isinstance(task_id, str) and task_id}


class _Renaming:
    """Gives the ids of one copy other names, of the same length and looks."""

    def __init__(self, ids: set[str]) -> None:
        self._encoded = {_base64(task_id): task_id for task_id in ids}
        tokens = sorted([*ids, *self._encoded], key=len, reverse=True)
        self._tokens = "|".join(map(re.escape, tokens))
        self._pattern = re.compile("|".join(filter(None, (self._tokens, _NUMBERED, _SUBSCRIBED))))
        self._pieces: dict[str, list[str]] = {}
        self._ids = ids
        self._copy = 0
        self._names: dict[str, str] = {}

    def begin(self, copy: int) -> None:
        self._copy = copy
        self._names = {task_id: _renamed(task_id, copy) for task_id in self._ids}
        encoded = {code: _base64(self._names[task_id]) for code, task_id in self._encoded.items()}
        self._names.update(encoded)

    def text(self, text: str) -> str:
        if text not in self._pieces:
            self._pieces[text] = self._split(text)
        pieces = self._pieces[text]
        if len(pieces) == 1:
            return text
        # Every second piece is an id.
        changed = [self._id(piece) if n % 2 else piece for n, piece in enumerate(pieces)]
        return "".join(changed)

    def body(self, body: bytes) -> bytes:
        try:
            return self.text(body.decode("utf-8")).encode("utf-8")
        except UnicodeDecodeError:
            return body

    def headers(self, headers: Headers) -> Headers:
        return tuple((name, self.text(value)) for name, value in headers)

    def _split(self, text: str) -> list[str]:
        pieces, place = [], 0
        for found in self._pattern.finditer(text):
            pieces += [text[place : found.start()], found.group()]
            place = found.end()
        return [*pieces, text[place:]]

    def _id(self, old: str) -> str:
        name = self._names.get(old)
        return name if name is not None else str(int(old) + self._copy * _IDS_A_COPY)


def _renamed(task_id: str, copy: int) -> str:
    if copy == 0:
        return task_id
    drawn = hashlib.shake_256(f"{copy}/{task_id}".encode()).digest(len(task_id))
    return base64.urlsafe_b64encode(drawn).decode("ascii")[: len(task_id)]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def _copy_of(exchange: Exchange, copy: int, later: float, renaming: _Renaming) -> Exchange:
    seen = exchange.seen
    return replace(
        exchange,
        scenario=exchange.scenario if copy == 0 else f"{exchange.scenario}.copy-{copy}",
        started=exchange.started + later,
        ended=exchange.ended + later,
        connection=f"{exchange.connection}/{copy}",
        sent=replace(
            exchange.sent,
            headers=renaming.headers(exchange.sent.headers),
            body=renaming.body(exchange.sent.body),
        ),
        seen=seen and _seen(seen, later, renaming),
    )


def _seen(seen: Seen, later: float, renaming: _Renaming) -> Seen:
    events = (Event(e.at + later, renaming.text(e.data), e.kind) for e in seen.events)
    return replace(
        seen,
        headers=renaming.headers(seen.headers),
        body=renaming.body(seen.body),
        events=tuple(events),
    )
