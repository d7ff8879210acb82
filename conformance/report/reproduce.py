"""How to see it again by hand: the exchanges of an observation as lines of curl.

The lines are for a shell that knows ``$'…'``, such as bash or zsh. Whatever bytes were sent,
they are quoted so that the shell hands them to curl and does nothing else with them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.judge.lives import lives
from conformance.judge.observation import Observation
from conformance.report.evidence import history_file
from conformance.report.shell import (
    TELLING_LENGTH,
    data_of,
    header,
    ids_in_json,
    name_header,
    quoted,
    secret_variable,
)
from conformance.report.visible import visible
from conformance.specification.names import (
    HEADER_NAME,
    HEADER_SESSION,
    HEADER_VERSION,
    TASKS_UPDATE,
)
from conformance.specification.states import STATUSES
from conformance.wire.exchange import Exchange, header_of
from conformance.wire.headers import decoded
from conformance.wire.history import History
from conformance.wire.parsing import dump_json
from conformance.wire.secrets import MASK

# A shell takes some 128 KiB in one argument; nobody pastes that much.
_BODY_LIMIT = 16 * 1024
_EXCHANGES_SHOWN = 8
# A pause that the driver made (seconds) is repeated from here on, and at most so long.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 120.0
_STREAM_SECONDS = 30
# So often, with a second between, a task is read until it has come to what it had come to.
_MOST_READS = 30
_FIND_TASK_ID = 'grep -o \'"taskId" *: *"[^"]*"\' | head -n 1 | cut -d \'"\' -f 4'


def reproducer(observation: Observation, history: History) -> str:
    """Shell lines that do again what an observation saw; empty where it saw no exchange.

    Ids of tasks that the server made are carried in ``$TASK``, ``$TASK2`` and so on: from the
    answer, or by hand where a shell cannot read it. What is masked stands in a variable of its
    header's name. Sessions are opened first, and their ids stand in ``$SESSION`` and so on.
    """
    steps = list(observation.exchanges)
    sessions = history.derive(_sessions)
    made = history.derive(_creations)
    needed = list(dict.fromkeys(i for exchange in steps for i in _ids_in(exchange, made)))
    variables = {i: f"TASK{n if n > 1 else ''}" for n, i in enumerate(needed, 1)}
    left_out = max(len(steps) - _EXCHANGES_SHOWN, 0)
    if left_out:
        steps = [*steps[: _EXCHANGES_SHOWN // 2], *steps[-_EXCHANGES_SHOWN // 2 :]]
    shown = {exchange.key for exchange in steps}
    creations = [made[task_id] for task_id in needed]
    opened = _sessions_of([*steps, *creations], sessions)
    variables.update({i: f"SESSION{n if n > 1 else ''}" for n, i in enumerate(opened, 1)})
    lines: list[str] = []
    for session_id in opened:
        if sessions[session_id].key not in shown:
            lines.extend(_opening(sessions[session_id], variables, variables[session_id]))
    given: set[str] = set()
    before: Exchange | None = None
    for index, exchange in enumerate(steps):
        if left_out and index == _EXCHANGES_SHOWN // 2:
            lines.append(f"# {left_out} more requests came here")
        for task_id in _ids_in(exchange, made):
            if task_id in given:
                continue
            given.add(task_id)
            creation = made[task_id]
            if creation.key in shown or "inputResponses" in creation.params:
                lines.append(f"# first create a task and put its id in ${variables[task_id]}")
            else:
                lines.append(f"# first create a task; its id goes into ${variables[task_id]}")
                lines.extend(_creating(creation, task_id, variables))
                lines.extend(_state_before(history, task_id, exchange, variables))
        if before is not None:
            lines.extend(_between(before, exchange))
        task_id = _id_made(exchange)
        if task_id in variables and task_id not in given:
            given.add(task_id)
            lines.extend(_creating(exchange, task_id, variables))
        else:
            lines.extend(_command(exchange, variables))
        session_id = _session_opened(exchange)
        if session_id in variables:
            lines.append(f"{variables[session_id]}='put the {HEADER_SESSION} that came here'")
        before = exchange
    return "\n".join(lines)


def _sessions(history: History) -> dict[str, Exchange]:
    """The exchange that opened each session, by the id that the server gave it."""
    opened = ((_session_opened(exchange), exchange) for exchange in history.exchanges)
    return {session_id: exchange for session_id, exchange in opened if session_id}


def _session_opened(exchange: Exchange) -> str:
    if exchange.method != "initialize":
        return ""
    return exchange.response_header(HEADER_SESSION) or ""


def _sessions_of(exchanges: Iterable[Exchange], known: Mapping[str, Exchange]) -> list[str]:
    """The sessions in which these were sent, and that the server opened."""
    ids = (exchange.request_header(HEADER_SESSION) for exchange in exchanges)
    return list(dict.fromkeys(i for i in ids if i is not None and i in known))


def _opening(opening: Exchange, variables: Mapping[str, str], word: str) -> Iterator[str]:
    """Lines that open a session, keep its id, and say that the client is ready."""
    yield "# open a session"
    command = "\n".join(_command(opening, variables))
    find = f"tr -d '\\r' | grep -i '^{HEADER_SESSION}:' | cut -d ' ' -f 2"
    yield f"{word}=$({command} \\\n  | {find})"
    agreed = (opening.result or {}).get("protocolVersion", "")
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    words = [
        f"curl -sS -i {_url(opening)}",
        *(f"-H {header}" for header in _headers(opening, variables)),
        f"-H {quoted(f'{HEADER_VERSION}: {agreed}'.encode('latin-1', 'replace'))}",
        f"-H {header(HEADER_SESSION, f'${word}')}",
        f"--data-binary {shlex.quote(dump_json(ready))}",
    ]
    yield " \\\n  ".join(words)


def _creations(history: History) -> dict[str, Exchange]:
    """The exchange that made each task, by the task's id."""
    made: dict[str, Exchange] = {}
    for exchange in history.exchanges:
        task_id = _id_made(exchange)
        if task_id:
            made.setdefault(task_id, exchange)
    return made


def _id_made(exchange: Exchange) -> str:
    task_id = exchange.handle.get("taskId") if exchange.handle is not None else None
    return task_id if isinstance(task_id, str) else ""


def _ids_in(exchange: Exchange, made: Mapping[str, Exchange]) -> Iterator[str]:
    """The ids that a request names, of tasks that the server made."""
    named = exchange.task_id
    if named is not None:
        if named in made:
            yield named
        else:
            # A probe may have been made from a real id.
            yield from (i for i in made if len(i) >= TELLING_LENGTH and i in named)
    notifications = exchange.params.get("notifications")
    wanted: Any = notifications.get("taskIds") if isinstance(notifications, dict) else None
    for task_id in wanted if isinstance(wanted, list) else ():
        if isinstance(task_id, str) and task_id in made:
            yield task_id


def _creating(creation: Exchange, task_id: str, variables: Mapping[str, str]) -> Iterator[str]:
    """The call that makes a task, and its id kept. What JSON writes with a backslash, a shell
    does not read."""
    *comments, command = _command(creation, variables)
    yield from comments
    if _is_comment(command) or dump_json(task_id) != f'"{task_id}"' or not task_id.isascii():
        yield command
        yield f"{variables[task_id]}='put the taskId of that answer here'"
    else:
        yield f"ANSWER=$({command})"
        yield "printf '%s\\n' \"$ANSWER\""
        yield f'{variables[task_id]}=$(printf %s "$ANSWER" | {_FIND_TASK_ID})'


def _state_before(
    history: History, task_id: str, exchange: Exchange, variables: Mapping[str, str]
) -> Iterator[str]:
    """What the task had come to when the request was sent, where it had moved at all: it is read
    until it has come to that again."""
    life = lives(history).get(task_id)
    sightings = [s for s in life.sightings if s.ended <= exchange.started] if life else []
    if not sightings or sightings[-1].status == sightings[0].status:
        return
    status = sightings[-1].status
    yield f"# wait until tasks/get says that its status is {visible(str(status), 40)}"
    reads = [s.exchange for s in sightings if s.how == "read" and s.status == status]
    if not reads or status not in STATUSES or not _in_known_session(reads[-1], variables):
        return
    *_, command = _command(reads[-1], variables)
    if not _is_comment(command):
        yield f"for _ in $(seq {_MOST_READS}); do"
        yield f'{command} \\\n  | grep -q \'"status" *: *"{status}"\' && break'
        yield "sleep 1; done"


def _in_known_session(read: Exchange, variables: Mapping[str, str]) -> bool:
    """Whether a read was sent in a session that is opened here, or in none."""
    session_id = read.request_header(HEADER_SESSION)
    return session_id is None or session_id in variables


def _is_comment(line: str) -> bool:
    return line.startswith("#")


def _between(before: Exchange, exchange: Exchange) -> Iterator[str]:
    pause = exchange.started - before.ended
    if pause < 0:
        yield "# at the same time:"
    elif pause >= _SHORTEST_PAUSE:
        yield f"sleep {min(pause, _LONGEST_PAUSE):.1f}"


def _command(exchange: Exchange, variables: Mapping[str, str]) -> Iterator[str]:
    sent = exchange.sent
    if len(sent.body) > _BODY_LIMIT:
        where = visible(history_file(exchange), 200)
        yield f"# send the {len(sent.body):,} bytes of {where}, exchange {exchange.number}"
        return
    if exchange.method == TASKS_UPDATE and exchange.params.get("inputResponses"):
        yield "# the keys of inputResponses are those of the inputRequests that came"
    if "requestState" in exchange.params:
        yield "# requestState is the one that came"
    first = r"curl -sS -i -w '\n'"  # the next answer begins on a line of its own
    if exchange.is_stream:
        first += f" --no-buffer --max-time {_STREAM_SECONDS}"
    if sent.http_method not in ("POST", "GET"):
        first += f" -X {shlex.quote(sent.http_method)}"
    words = [f"{first} {_url(exchange)}"]
    words.extend(f"-H {header}" for header in _headers(exchange, variables))
    piped = ""
    if sent.http_method == "POST":
        piped, data = data_of(sent.body, ids_in_json(variables))
        words.append(data)
    yield piped + " \\\n  ".join(words)


def _url(exchange: Exchange) -> str:
    return quoted(exchange.sent.url.encode(), {re.escape(MASK.encode()): "CREDENTIALS"})


def _headers(exchange: Exchange, variables: Mapping[str, str]) -> Iterator[str]:
    headers = exchange.sent.headers
    for name, value in headers:
        if MASK in value:
            yield header(name, f"${secret_variable(name, exchange.caller)}")
        elif not value:
            yield quoted(f"{name};".encode("latin-1", "replace"))
        elif name.lower() == HEADER_SESSION.lower() and value in variables:
            yield header(name, f"${variables[value]}")
        elif name.lower() == HEADER_NAME.lower() and any(
            i in (decoded(value) or "") for i in variables
        ):
            yield name_header(name, value, variables)
        else:
            yield quoted(f"{name}: {value}".encode("latin-1", "replace"))
    # curl sends these of its own accord unless they are taken away.
    for name in ("Accept", "Content-Type"):
        if header_of(headers, name) is None and (name == "Accept" or exchange.sent.body):
            yield shlex.quote(f"{name}:")
