"""A sequence that was found, as a shell script: every request a line of curl.

What the server makes up is carried along in variables: ids of tasks, and keys of what they ask.
The script needs bash, curl and python3, which reads the answers.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.drive.sequences.finds import is_sequence, read_sequence
from conformance.judge.rule import catalogue
from conformance.judge.sequences import PREFIX
from conformance.report.visible import visible
from conformance.specification.names import HEADER_NAME, LISTEN
from conformance.specification.states import INPUT_REQUIRED
from conformance.target.target import FIRST, SECOND, WRONG_TOKEN
from conformance.wire.exchange import Exchange, header_of
from conformance.wire.headers import decoded, encoded
from conformance.wire.parsing import dump_json
from conformance.wire.secrets import MASK

# A pause (seconds) that was made between two requests is made again from here on.
_SHORTEST_PAUSE = 0.04
_SECONDS_OF_A_REQUEST = 30
# An id of so many characters does not stand within another text by chance.
_TELLING_LENGTH = 12
_TIDY_UP = "tidy-up"

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
        (e for e in exchanges if e.intent != _TIDY_UP), key=lambda e: (e.started, e.number)
    )
    lines = ["#!/usr/bin/env bash"]
    lines += [f"# {visible(line, 400)}" for line in _heading(rules, steps)]
    lines += ["set -u", "", f"URL=${{1:-{shlex.quote(url)}}}", "", _HELPERS, ""]
    lines += _requests(shown)
    lines += ["wait", "", *(f"echo {shlex.quote(line)}" for line in _ending(rules))]
    return "\n".join(lines) + "\n"


def _heading(rules: Sequence[str], steps: Sequence[str]) -> Iterator[str]:
    yield "A sequence that breaks: " + (", ".join(rules) or "nothing")
    yield "Its steps:"
    yield from (f"  {number}. {words}" for number, words in enumerate(steps, 1))
    yield "Give another URL as the first argument to try it elsewhere."


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
    words = [f'{before}send --max-time {seconds} "$URL"']
    for name, value in exchange.sent.headers:
        words.append(f"-H {_header(exchange, name, value, variables)}")
    for name in ("Accept", "Content-Type"):
        if header_of(exchange.sent.headers, name) is None:
            words.append(f"-H {shlex.quote(f'{name}:')}")
    body = exchange.sent.body.decode("utf-8", "replace")
    words.append(f"--data-binary {_quoted(body, _in_body(exchange, variables))}{after}")
    yield " \\\n  ".join(words)


def _header(exchange: Exchange, name: str, value: str, variables: _Variables) -> str:
    if MASK in value:
        secret = "".join(c if c.isalnum() else "_" for c in name.upper())
        prefix = {FIRST: "", SECOND: "OTHER_", WRONG_TOKEN: "WRONG_"}.get(exchange.caller, "")
        return f'"{name}: ${{{prefix}{secret}:?its value is a secret}}"'
    if name.lower() == HEADER_NAME.lower():
        known, text = variables.ids, decoded(value) or value
        if text in known and value == encoded(text):
            inner = f"""$(printf %s "${known[text]}" | base64 | tr -d '\\n')"""
            return f'"{name}: =?base64?{inner}?="'
        if any(task_id in text for task_id in known):
            return _quoted(f"{name}: {text}", _patterns(known))
    return shlex.quote(f"{name}: {value}") if value else shlex.quote(f"{name};")


def _in_body(exchange: Exchange, variables: _Variables) -> dict[str, str]:
    """What of a body stands in a variable: ids anywhere, keys of requests only as names."""
    found = _patterns(variables.ids)
    for (task_id, key), word in variables.keys.items():
        if task_id == exchange.task_id:
            found[f'(?<="){re.escape(dump_json(key)[1:-1])}(?="\\s*:)'] = word
    return found


def _patterns(ids: Mapping[str, str]) -> dict[str, str]:
    return {
        re.escape(dump_json(task_id)[1:-1]): word
        for task_id, word in ids.items()
        if len(task_id) >= _TELLING_LENGTH
    }


def _quoted(text: str, variables: Mapping[str, str]) -> str:
    """A text as one word of the shell; what matches a pattern becomes that variable."""
    if not variables:
        return shlex.quote(text)
    words = list(variables.values())
    pattern = "|".join(f"({each})" for each in variables)
    parts: list[str] = []
    at = 0
    for match in re.finditer(pattern, text):
        parts += [shlex.quote(text[at : match.start()])] if match.start() > at else []
        parts.append(f'"${words[(match.lastindex or 1) - 1]}"')
        at = match.end()
    parts += [shlex.quote(text[at:])] if at < len(text) or not parts else []
    return "".join(parts)


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
