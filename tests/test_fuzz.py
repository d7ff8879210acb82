"""What strangers' bytes do to those who read them: nothing, or the error that is documented.

Each file is broken in one of two ways: some of its bytes are replaced, or a value inside it is
replaced by another. ``CONFORMANCE_FUZZ=20000`` tries so many instead of a few.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conformance.baseline import read_baseline
from conformance.checking import judge_again
from conformance.drive.answers import answers_to
from conformance.drive.driver import seconds_to_wait
from conformance.errors import ConformanceError
from conformance.judge.rule import catalogue
from conformance.judge.verdict import judge
from conformance.report import html, junit, markdown
from conformance.report import results as results_files
from conformance.target.arguments import CannotFill, arguments_for
from conformance.target.profile import read_profile
from conformance.wire.exchange import Exchange, Seen
from conformance.wire.har import read_har
from conformance.wire.headers import decoded
from conformance.wire.history import Circumstances, History, HistoryWriter, read_file
from conformance.wire.parsing import parse_json
from conformance.wire.sse import EventReader
from tests.builders import URL, creation, exchange, reading
from tests.commands import CHECKOUT, PATIENCE
from tests.fuzzing import TARGETS
from tests.recordings import har_of
from tests.report_samples import discovery, sample

TASK = "task-0123456789abcdef"
EXAMPLES = int(os.environ.get("CONFORMANCE_FUZZ", "0"))


def tried(usually: int) -> Callable[[Any], Any]:
    """So many examples, unless more are asked for."""
    quiet = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=EXAMPLES or usually,
        deadline=None,
        database=None,
        suppress_health_check=quiet,
    )


# What has broken readers before.
ODD_TEXTS = st.sampled_from(
    ["", "\x00", "\r\n", "\ud800", "\u202e", "9" * 5000, "=?base64?!?=", "a" * 10_000, "NaN"]
)
ODD_NUMBERS = st.sampled_from([0, -1, 0.5, 10**400, -(10**400), 1e308, 2**63, True, False])
VALUES = st.recursive(
    st.none() | ODD_NUMBERS | ODD_TEXTS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXTS | st.text(max_size=5), inner)
    ),
    max_leaves=5,
)
PIECES = st.sampled_from(
    [b"", b"\x00", b"\xff\xfe", b"\r\n", b"\n", b'"', b"{", b"]", b"[" * 2000, b"9" * 5000, b"\\u"]
) | st.binary(max_size=4)


@st.composite
def bytes_replaced(draw: st.DrawFn, whole: bytes) -> bytes:
    """The bytes with up to four places changed."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(whole)))
        length = draw(st.integers(0, 8) | st.just(len(whole)))
        whole = whole[:at] + draw(PIECES) + whole[at + length :]
    return whole


@st.composite
def value_replaced(draw: st.DrawFn, value: Any) -> Any:
    """The value with up to three values inside it replaced, or left out."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(value))
        if not places:
            break
        container, key = draw(st.sampled_from(places))
        if isinstance(container, dict) and draw(st.booleans()):
            del container[key]
        else:
            container[key] = draw(VALUES)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def broken(value: Any) -> st.SearchStrategy[bytes]:
    """A JSON text that was whole once."""
    text = json.dumps(value).encode()
    return bytes_replaced(text) | value_replaced(value).map(lambda v: json.dumps(v).encode())


def session() -> list[Exchange]:
    """What a client of a good server would have seen."""
    ended = {"lastUpdatedAt": "2026-07-28T12:00:01.000Z"}
    return [
        discovery(),
        exchange("tools/list", result={"resultType": "complete", "tools": [{"name": "export"}]}),
        creation(TASK),
        reading(TASK),
        reading(TASK, "input_required"),
        exchange("tasks/update", {"taskId": TASK, "inputResponses": {"question-1": {}}}),
        reading(TASK, "completed", members=ended),
        exchange("tasks/cancel", {"taskId": TASK}),
        exchange("tasks/get", {"taskId": "none"}, error=-32602, intent="unknown-id"),
        exchange(
            "subscriptions/listen",
            {"notifications": {"taskIds": [TASK]}},
            events=[{"method": "notifications/subscriptions/acknowledged", "params": {}}],
            intent="listen",
        ),
    ]


SESSION = session()


def history_lines() -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "polling.jsonl"
        writer = HistoryWriter(path, Circumstances(url=URL, started="2026"))
        for each in SESSION:
            writer.append(replace(each, scenario="polling"))
        writer.close()
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


LINES = history_lines()


# ---- bytes of the wire -----------------------------------------------------------------------


@tried(300)
@given(st.lists(st.sampled_from([b"data", b": ", b"\r", b"\n", b"event:", b"\xff", b"\xef\xbb\xbf"])
                | st.binary(max_size=6), max_size=30))  # fmt: skip
def test_events(chunks: list[bytes]) -> None:
    """However a stream is cut into chunks, the events are the same."""
    whole, parts = EventReader(), EventReader()
    together = whole.feed(b"".join(chunks), 0.0)
    assert [event for chunk in chunks for event in parts.feed(chunk, 0.0)] == together


@tried(300)
@given(bytes_replaced(b'{"jsonrpc":"2.0","id":1,"result":{"ttlMs":1e3,"a":[null,"\\u0041"]}}'))
def test_json(body: bytes) -> None:
    parsed = parse_json(body)
    assert parsed.problem == "" or parsed.value is None
    if not parsed.problem:
        json.dumps(parsed.value, allow_nan=False)


@tried(300)
@given(ODD_TEXTS | st.text() | st.text().map(lambda text: f"=?base64?{text}?="))
@example("=?base64?\x80?=")
def test_headers(value: str) -> None:
    assert isinstance(decoded(value), str | None)
    refusal = exchange(status=429, headers={"Retry-After": value})
    assert seconds_to_wait(refusal) >= 0


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "minItems": 1}},
    "required": ["a"],
    "$defs": {},
    "anyOf": [{"$ref": "#/$defs"}],
}


@tried(200)
@given(value_replaced(SCHEMA))
def test_input_schemas(schema: Any) -> None:
    with contextlib.suppress(CannotFill):
        json.dumps(arguments_for(schema))
    asked = {"q": {"method": "elicitation/create", "params": {"requestedSchema": schema}}}
    json.dumps(answers_to(asked))


# ---- what a whole run makes of strange answers -------------------------------------------------


@tried(60)
@given(st.data())
def test_judging_and_telling(data: st.DataObject) -> None:
    """No answer makes a rule or a report fail."""
    at = data.draw(st.integers(0, len(SESSION) - 1))
    chosen = SESSION[at]
    assert chosen.seen is not None
    events = chosen.seen.events
    if events:
        message = json.loads(events[0].data)
        events = (replace(events[0], data=data.draw(broken(message)).decode("utf-8", "replace")),)
        body = chosen.seen.body
    else:
        body = data.draw(broken(json.loads(chosen.seen.body)))
    status = data.draw(st.sampled_from([200, 200, 200, 202, 204, 404, 429, 500, 999]))
    headers = data.draw(st.sampled_from([chosen.seen.headers, (), (("Retry-After", "\xff"),)]))
    strange = replace(chosen, seen=Seen(status, headers, body, events))
    exchanges = [*SESSION[:at], strange, *SESSION[at + 1 :]]
    judgement = judge(catalogue(), History(exchanges))
    assert len(judgement.verdicts) == len(catalogue())


# ---- files -------------------------------------------------------------------------------------


@tried(150)
@given(content=st.data())
def test_histories(content: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "polling.jsonl"
    at = content.draw(st.integers(0, len(LINES) - 1))
    lines = [json.dumps(line).encode() for line in LINES]
    lines[at] = content.draw(broken(LINES[at]))
    path.write_bytes(b"\n".join(lines) + b"\n")
    with contextlib.suppress(ConformanceError):
        read_file(path)
        judge_again([path])


@tried(100)
@given(content=broken(har_of(SESSION)))
def test_recordings(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "traffic.har"
    path.write_bytes(content)
    with contextlib.suppress(ConformanceError):
        read_har(path)
        judge_again([path])


@tried(100)
@given(content=broken(sample().to_json()))
def test_results(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with contextlib.suppress(ConformanceError):
        results = results_files.read(path)
        html.render(results)
        markdown.render(results)
        junit.render(results, strict=False, history=tmp_path)


PROFILE = b'url = "http://127.0.0.1/mcp"\ntool = ["slow:a={}"]\nmax-wait = 2\nstrict = true\n'
BASELINE = b'[[expected]]\nrule = "polling.unknown-id"\nreason = "known"\n'


@pytest.mark.parametrize(("whole", "read"), [(PROFILE, read_profile), (BASELINE, read_baseline)])
def test_settings(whole: bytes, read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"

    @tried(200)
    @example(b"tool = " + b"9" * 5000)
    @given(bytes_replaced(whole))
    def reads(content: bytes) -> None:
        path.write_bytes(content)
        with contextlib.suppress(ConformanceError):
            read(path)

    reads()


def test_certificates() -> None:
    certificate = pytest.importorskip(
        "conformance.certification.certificate", reason="certificates need the extra `certify`"
    )
    like = {
        "format": certificate.FORMAT,
        "envelope": {"payload": "e30=", "payloadType": certificate.PAYLOAD, "signatures": [
            {"keyid": "a", "sig": "YQ=="}]},
        "publicKey": "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n",
        "materials": {"run-1/results.json.gz": "H4sIAAAAAAAA/wMAAAAAAAAAAAA="},
    }  # fmt: skip

    @tried(200)
    @given(broken(like) | broken(like).map(_sorted))
    def verifies(content: bytes) -> None:
        with pytest.raises(ConformanceError):
            certificate.verify(content)

    verifies()


def _sorted(content: bytes) -> bytes:
    """As a certificate is written, so that more than that is looked at."""
    try:
        return (json.dumps(json.loads(content), indent=1, sort_keys=True) + "\n").encode()
    except (ValueError, RecursionError):
        return content


# ---- guided by coverage -----------------------------------------------------------------------


# Enough to see that it works; `python -m tests.fuzzing` goes on for longer.
GUIDED_RUNS = 200


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this machine"
)
# One by default, since each takes seconds to begin; all of them at night.
@pytest.mark.parametrize(
    "target", [TARGETS[-1], *(pytest.param(t, marks=pytest.mark.nightly) for t in TARGETS[:-1])]
)
def test_coverage_leads_to_nothing_worse(target: str, tmp_path: Path) -> None:
    options = (f"-runs={GUIDED_RUNS}", "-seed=1", "-timeout=30", f"-artifact_prefix={tmp_path}/")
    command = [sys.executable, "-m", "tests.fuzzing", target, *options]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {GUIDED_RUNS} runs" in done.stderr
