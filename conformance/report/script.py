"""A sequence that was found, as a shell script: every request a line of curl.

What the server makes up is carried along in variables: ids of tasks, and keys of what they ask.
The script needs bash, curl and python3, which reads the answers.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.drive.sequences.finds import SCRIPT_HEADING, is_sequence, read_sequence
from conformance.judge.rule import catalogue
from conformance.judge.sequences import PREFIX
from conformance.report.shell import (
    data_of,
    header,
    ids_in_json,
    name_header,
    quoted,
    secret_variable,
)
from conformance.report.visible import visible
from conformance.specification.names import HEADER_NAME, LISTEN
from conformance.specification.states import INPUT_REQUIRED
from conformance.wire.exchange import TIDY_UP, Exchange, header_of
from conformance.wire.headers import decoded
from conformance.wire.parsing import dump_json
from conformance.wire.secrets import MASK

# A pause (seconds) that was made between two requests is made again from here on.
_SHORTEST_PAUSE = 0.04
_SECONDS_OF_A_REQUEST = 30

# Another shell hands over before it comes to what it cannot read.
_NEEDS_BASH = '[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"'
_HELPERS = r"""
send() {
  curl -sS -w "\nHTTP %{http_code}" "$@"
  case $? in
    6 | 7) echo "nobody answers at $URL: start the server, or give its URL" >&2; return 1 ;;
  esac
}
# What was sent, how it was answered when this was found, and the answer now.
told() { printf '== %s\n%s\n\n' "$1" "$2"; }
# The members of an answer, also where it came as an event stream: `task <<<"$answer"` is the
# taskId, `key 2 <<<"$answer"` the second key of inputRequests.
member() {
  python3 -c '
import json, sys
for line in sys.stdin:
    line = line.removeprefix("data:").strip()
    try:
        result = json.loads(line).get("result")
    except (ValueError, AttributeError):
        continue
    if isinstance(result, dict):
        names = [result.get("taskId", "")]
        if sys.argv[1] == "key":
            names = list(result.get("inputRequests") or {})[int(sys.argv[2]) - 1:]
        print("".join(names[:1]))
        break
' "$@"
}
task() { member task 1; }
key() { member key "$1"; }
""".strip()


def script(
    exchanges: Sequence[Exchange], rules: Sequence[str], url: str, steps: Sequence[str]
) -> str:
    """The script of a sequence: its exchanges in the order they began, and the rules it breaks."""
    shown = sorted(
        (e for e in exchanges if e.intent != TIDY_UP), key=lambda e: (e.started, e.number)
    )
    lines = ["#!/usr/bin/env bash"]
    lines += [f"# {visible(line, 400)}" for line in _heading(rules, steps)]
    lines += ["", _NEEDS_BASH, "set -u", "", *_urls(shown, url), "", _HELPERS, ""]
    lines += _requests(shown)
    lines += ["wait", "", *(f"echo {shlex.quote(line)}" for line in _ending(rules))]
    return "\n".join(lines) + "\n"


def _urls(shown: Sequence[Exchange], url: str) -> Iterator[str]:
    """Where requests go: the URL, and that of each replica that was used."""
    urls = {0: url, **{e.replica: e.sent.url for e in shown if e.replica}}
    for replica, known in sorted(urls.items()):
        yield f"{_url_variable(replica)}=${{{replica + 1}:-{shlex.quote(known)}}}"


def _heading(rules: Sequence[str], steps: Sequence[str]) -> Iterator[str]:
    yield SCRIPT_HEADING + (", ".join(rules) or "nothing")
    yield "Its steps:"
    yield from (f"  {number}. {words}" for number, words in enumerate(steps, 1))
    yield "Give another URL as the first argument to try it elsewhere (and those of replicas next)."


def _ending(rules: Sequence[str]) -> Iterator[str]:
    known = catalogue()
    for rule_id in rules:
        title = known[rule_id].title if rule_id in known else ""
        yield f"Compare the answers with {rule_id}: {title}"


@dataclass
class _Variables:
    """The shell variables that carry what the server made up: ids of tasks, and the keys under
    which each task asks."""

    ids: dict[str, str] = field(default_factory=dict)
    keys: dict[tuple[str, str], str] = field(default_factory=dict)


def _requests(shown: Sequence[Exchange]) -> Iterator[str]:
    variables = _Variables()
    answered_by = 0.0
    for place, exchange in enumerate(shown):
        pause = exchange.started - answered_by
        if place and pause >= _SHORTEST_PAUSE:
            yield f"sleep {pause:.2f}"
        following = shown[place + 1] if place + 1 < len(shown) else None
        beside = following is not None and following.started < exchange.ended
        makes = exchange.handle is not None
        told = f'told {shlex.quote(visible(f"{place + 1}. {_words(exchange)}", 200))} "$answer"'
        if beside and not makes:
            yield from _command(exchange, variables, "{ answer=$(", f"); {told}; }} &")
        else:
            yield from _command(exchange, variables, "answer=$(", ") || exit")
            yield told
            yield from _kept(exchange, variables)
            answered_by = max(answered_by, exchange.ended)
        yield ""


def _words(exchange: Exchange) -> str:
    what = exchange.method or "a body that is no request"
    intent = "" if exchange.is_ordinary else f" ({exchange.intent})"
    return f"{what}{intent}, answered then: {exchange.outcome}"


def _kept(exchange: Exchange, variables: _Variables) -> Iterator[str]:
    """Assignments of what this answer made up, for the requests that follow."""
    task_id = (exchange.handle or {}).get("taskId")
    if isinstance(task_id, str) and task_id not in variables.ids:
        name = variables.ids[task_id] = f"TASK{len(variables.ids) + 1}"
        yield f'{name}=$(task <<<"$answer")'
    task = exchange.task or {}
    requests = task.get("inputRequests") if task.get("status") == INPUT_REQUIRED else None
    for place, found in enumerate(requests if isinstance(requests, dict) else (), 1):
        key = (str(exchange.task_id), found)
        if key not in variables.keys:
            name = variables.keys[key] = f"KEY{len(variables.keys) + 1}"
            yield f'{name}=$(key {place} <<<"$answer")'


def _command(exchange: Exchange, variables: _Variables, before: str, after: str) -> Iterator[str]:
    seconds = _SECONDS_OF_A_REQUEST
    if exchange.method == LISTEN:
        seconds = max(1, round(exchange.ended - exchange.started + 0.5))
    piped, data = data_of(exchange.sent.body, _in_body(exchange, variables))
    words = [f'{before}{piped}send --max-time {seconds} "${_url_variable(exchange.replica)}"']
    words += [f"-H {_header(exchange, *sent, variables)}" for sent in exchange.sent.headers]
    for name in ("Accept", "Content-Type"):
        if header_of(exchange.sent.headers, name) is None:
            words.append(f"-H {shlex.quote(f'{name}:')}")
    words.append(f"{data}{after}")
    yield " \\\n  ".join(words)


def _header(exchange: Exchange, name: str, value: str, variables: _Variables) -> str:
    if MASK in value:
        secret = secret_variable(name, exchange.caller)
        return header(name, f"${{{secret}:?its value is a secret}}")
    if not value:
        return quoted(f"{name};".encode("latin-1", "replace"))
    known = decoded(value) or ""
    if name.lower() == HEADER_NAME.lower() and any(i in known for i in variables.ids):
        return name_header(name, value, variables.ids)
    return quoted(f"{name}: {value}".encode("latin-1", "replace"))


def _url_variable(replica: int) -> str:
    return f"URL{replica + 1}" if replica else "URL"


def _in_body(exchange: Exchange, variables: _Variables) -> dict[bytes, str]:
    """What of a body stands in a variable: ids of tasks, and keys of requests as names."""
    keys = {
        b'(?<=")' + re.escape(dump_json(key)[1:-1].encode()) + b'(?="\\s*:)': word
        for (task_id, key), word in variables.keys.items()
        if task_id == exchange.task_id
    }
    return {**ids_in_json(variables.ids), **keys}


def write_scripts(folder: Path) -> list[Path]:
    """Write the script of every sequence that was found beside its history."""
    written = []
    for path in sorted(folder.glob(f"{PREFIX}*.jsonl")):
        if not is_sequence(path):
            continue
        found = read_sequence(path)
        text = script(
            found.exchanges,
            found.rules,
            found.circumstances.url,
            [step.words for step in found.plan],
        )
        beside = path.with_suffix(".sh")
        beside.write_text(text, encoding="utf-8")
        beside.chmod(0o755)
        written.append(beside)
    return written
