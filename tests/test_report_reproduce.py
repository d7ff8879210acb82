"""The curl lines: a shell that runs them sends what the suite sent, and nothing else happens."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.drive.draft import Draft
from conformance.judge.observation import broken
from conformance.judge.rule import catalogue
from conformance.judge.verdict import verdict_of
from conformance.report.reproduce import reproducer
from conformance.report.visible import visible
from conformance.target.target import Target
from conformance.wire.exchange import Exchange
from conformance.wire.headers import encoded
from conformance.wire.secrets import MASK
from fixtures.serve import Settings, running
from tests.builders import URL, creation, exchange, handle, history, reading, task
from tests.driving import driven
from tests.report_samples import HOSTILE

needs_shell = pytest.mark.skipif(
    not (shutil.which("bash") and shutil.which("curl")), reason="bash and curl are not here"
)


@dataclass
class Recorded:
    """Requests as they arrived: method, headers and body; and how they are answered."""

    url: str
    answer: bytes = b""
    requests: list[tuple[str, list[tuple[str, str]], bytes]] = field(default_factory=list)


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorded]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def _record(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            recorded.requests.append((self.command, list(self.headers.items()), body))
            self.send_response(200)
            self.send_header("Content-Length", str(len(recorded.answer)))
            self.end_headers()
            self.wfile.write(recorded.answer)

        do_POST = do_GET = do_DELETE = _record

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing: the test reads what was recorded."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    recorded = Recorded(f"http://127.0.0.1:{server.server_port}/mcp")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield recorded
    server.shutdown()
    server.server_close()
    thread.join()


def run(lines: str, folder: Path, **variables: str) -> None:
    """Let bash do it, in an empty folder that has to stay empty."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **variables}
    done = subprocess.run(
        ["bash", "-eu", "-c", lines], cwd=folder, env=environment, capture_output=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir())


def lines_for(*seen: Exchange, url: str = URL) -> str:
    kept = history(*seen)
    return reproducer(broken(seen[-1], "no"), kept).replace(URL, url)


@needs_shell
def test_the_request_arrives_as_it_was_sent(recorder: Recorded, tmp_path: Path) -> None:
    seen = reading("unknown-id", error=-32602)
    recorder.requests.clear()
    run(lines_for(seen, url=recorder.url), tmp_path)
    ((method, headers, body),) = recorder.requests
    assert method == "POST"
    assert body == seen.sent.body
    automatic = {"host", "user-agent", "content-length"}
    assert [pair for pair in headers if pair[0].lower() not in automatic] == list(seen.sent.headers)


@needs_shell
@settings(max_examples=60)
@given(body=st.binary(max_size=80) | st.text("'\"$`!\\\n\x00@%-{}é\u202e", max_size=40).map(
    lambda text: text.encode()
))  # fmt: skip
@example(body=b"@/etc/passwd")
@example(body=b"-\x00%s\\'\"")
@example(body=b"'; touch made; $(touch made) `touch made`")
@example(body=b"")
def test_any_body_arrives(
    recorder: Recorded, tmp_path_factory: pytest.TempPathFactory, body: bytes
) -> None:
    seen = exchange(edit=lambda draft: draft.with_raw_body(body), error=-32700)
    recorder.requests.clear()
    run(lines_for(seen, url=recorder.url), tmp_path_factory.mktemp("empty"))
    assert [request[2] for request in recorder.requests] == [body]


@needs_shell
def test_headers_arrive_and_missing_ones_stay_away(recorder: Recorded, tmp_path: Path) -> None:
    def edit(draft: Draft) -> Draft:
        draft = draft.without_header("Accept").with_header("X-Empty", "")
        draft = draft.with_header("X-Odd", "a'b\"c$(touch made)\\ \t\xe9")
        return draft.without_header("Content-Type")

    seen = exchange(edit=edit)
    recorder.requests.clear()
    run(lines_for(seen, url=recorder.url), tmp_path)
    ((_, headers, _),) = recorder.requests
    names = {name.lower() for name, _ in headers}
    assert "accept" not in names
    assert "content-type" not in names
    assert ("X-Odd", "a'b\"c$(touch made)\\ \t\xe9") in headers
    assert ("X-Empty", "") in headers


@needs_shell
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_other_methods(recorder: Recorded, tmp_path: Path, method: str) -> None:
    seen = exchange(edit=lambda draft: replace(draft, http_method=method, message=b""), status=405)
    recorder.requests.clear()
    run(lines_for(seen, url=recorder.url), tmp_path)
    assert [(request[0], request[2]) for request in recorder.requests] == [(method, b"")]


def answering(recorder: Recorded, task_id: str) -> None:
    """Let the next requests be answered with a task of this id."""
    recorder.requests.clear()
    answer = {"result": {"taskId": task_id, "_meta": {"taskId": "another"}}}
    recorder.answer = f"data: {json.dumps(answer, ensure_ascii=False)}\n\n".encode()


@needs_shell
@pytest.mark.parametrize("new_id", ["another-task", "täsk", "two words $PATH `ls`"])
def test_the_id_is_carried_along(recorder: Recorded, tmp_path: Path, new_id: str) -> None:
    made = creation("old-task")
    seen = reading("old-task", error=-32602)
    lines = lines_for(made, seen, url=recorder.url)
    assert lines.startswith("# first create a task; its id goes into $TASK\n")
    assert "old-task" not in lines
    answering(recorder, new_id)
    run(lines, tmp_path)
    first, second = recorder.requests
    assert first[2] == made.sent.body
    assert second[2].decode() == seen.sent.body.decode().replace("old-task", new_id)


@needs_shell
@pytest.mark.parametrize("odd_id", ['a "quoted" one', "with \\ in it", "tâche"])
def test_an_id_that_a_shell_cannot_read_is_carried_by_hand(
    recorder: Recorded, tmp_path: Path, odd_id: str
) -> None:
    lines = lines_for(creation(odd_id), reading(odd_id), url=recorder.url)
    by_hand = "TASK='put the taskId of that answer here'"
    assert by_hand in lines
    answering(recorder, odd_id)
    run(lines.replace(by_hand, "TASK=by-hand"), tmp_path)
    assert json.loads(recorder.requests[1][2])["params"]["taskId"] == "by-hand"


@needs_shell
def test_an_id_in_base64_is_carried_too(recorder: Recorded, tmp_path: Path) -> None:
    made, seen = creation("tâche"), reading("tâche")
    lines = lines_for(made, seen, url=recorder.url)
    recorder.requests.clear()
    run(lines.replace("put the taskId of that answer here", "tâche"), tmp_path)
    assert ("Mcp-Name", encoded("tâche")) in recorder.requests[1][1]


@needs_shell
@pytest.mark.parametrize("old", ["0123456789abcdef", "0123456789äöü"])
def test_an_id_made_from_a_real_one_is_made_from_the_new_one(
    recorder: Recorded, tmp_path: Path, old: str
) -> None:
    made, seen = creation(old), reading(f"{old}:tail", error=-32602)
    lines = lines_for(made, seen, url=recorder.url)
    answering(recorder, "new-id-ä")
    run(lines.replace("put the taskId of that answer here", "new-id-ä"), tmp_path)
    _, headers, body = recorder.requests[1]
    assert json.loads(body)["params"]["taskId"] == "new-id-ä:tail"
    name = dict(headers)["Mcp-Name"]
    sent = dict(seen.sent.headers)["Mcp-Name"]
    assert name == (
        "new-id-Ã¤:tail" if sent.isascii() and sent[0] == "0" else encoded("new-id-ä:tail")
    )


@needs_shell
def test_masked_headers_come_from_the_environment(recorder: Recorded, tmp_path: Path) -> None:
    def masked(draft: Draft) -> Draft:
        return draft.with_header("Authorization", "***")

    first, second = exchange(edit=masked), exchange(edit=masked, caller="second")
    lines = reproducer(broken((first, second), "no"), history(first, second))
    recorder.requests.clear()
    run(
        lines.replace(URL, recorder.url).replace("sleep 0.9", ""),
        tmp_path,
        AUTHORIZATION="Bearer one",
        OTHER_AUTHORIZATION="Bearer two",
    )
    values = [dict(headers)["Authorization"] for _, headers, _ in recorder.requests]
    assert values == ["Bearer one", "Bearer two"]


def test_hostile_bytes_do_not_reach_the_eye() -> None:
    raw = HOSTILE.encode("utf-8", "surrogatepass")
    lines = lines_for(exchange(edit=lambda draft: draft.with_raw_body(raw)))
    assert visible(lines, keep="\n") == lines


def test_a_pause_and_a_parallel_request_are_told() -> None:
    first = exchange(started=10.0, ended=10.5)
    later = exchange(started=12.0, ended=14.0)
    parallel = exchange(started=12.5, ended=13.0)
    lines = reproducer(broken((first, later, parallel), "no"), history(first, later, parallel))
    assert "\nsleep 1.5\n" in lines
    assert "\n# at the same time:\n" in lines


@needs_shell
def test_a_task_is_read_until_it_has_come_to_what_it_had(
    recorder: Recorded, tmp_path: Path
) -> None:
    made, ended = creation("task-1"), reading("task-1", "completed")
    cancel = exchange("tasks/cancel", {"taskId": "task-1"})
    lines = lines_for(made, ended, cancel, url=recorder.url)
    assert "# wait until tasks/get says that its status is completed\n" in lines
    recorder.requests.clear()
    recorder.answer = b'{"result": {"taskId": "another", "status": "completed"}}'
    run(lines, tmp_path)
    sent = [json.loads(body) for _, _, body in recorder.requests]
    assert [each["method"] for each in sent] == ["tools/call", "tasks/get", "tasks/cancel"]
    assert [each["params"].get("taskId") for each in sent] == [None, "another", "another"]


def test_a_read_of_more_than_an_id_is_done_again_too() -> None:
    made = creation("task-1")
    odd = exchange(
        "tasks/get",
        {"taskId": "task-1", "requestState": "none of its own"},
        result=task("task-1", "completed"),
    )
    lines = lines_for(made, odd, exchange("tasks/cancel", {"taskId": "task-1"}))
    assert "none of its own" in lines
    assert "sleep 1; done" in lines


def test_a_task_that_takes_answers_to_make_is_made_by_hand() -> None:
    answers = {"name": "export", "arguments": {}, "inputResponses": {"a": {"action": "accept"}}}
    made = exchange("tools/call", answers, result=handle("task-1"))
    lines = lines_for(made, exchange("tasks/cancel", {"taskId": "task-1"}))
    assert lines.startswith("# first create a task and put its id in $TASK\n")
    assert "tools/call" not in lines


@pytest.mark.parametrize("status", ["unheard of", ["completed"], None])
def test_a_state_that_is_none_is_told_and_not_waited_for(status: object) -> None:
    made, odd = creation("task-1"), reading("task-1", result={**task("task-1"), "status": status})
    cancel = exchange("tasks/cancel", {"taskId": "task-1"})
    lines = lines_for(made, odd, cancel)
    assert "# wait until tasks/get says that its status is " in lines
    assert "seq" not in lines


def test_two_tasks_have_two_variables() -> None:
    one, two = creation("task-one"), creation("task-two")
    both = exchange(
        "subscriptions/listen", {"notifications": {"taskIds": ["task-one", "task-two"]}}
    )
    lines = lines_for(one, two, both)
    assert '"taskIds":["\'"$TASK"\'","\'"$TASK2"\'"]' in lines


def test_a_huge_body_is_named_and_not_pasted() -> None:
    seen = reading("x" * 100_000, error=-32602, scenario="jsonrpc", number=7)
    lines = lines_for(seen)
    assert len(lines) < 200
    assert "jsonrpc.jsonl, exchange 7" in lines


def test_a_long_sequence_is_shortened() -> None:
    many = [reading("task-1") for _ in range(50)]
    lines = reproducer(broken(many, "no"), history(*many))
    assert lines.count("curl ") == 8
    assert "# 42 more requests came here" in lines


def test_no_exchange_gives_no_lines() -> None:
    assert reproducer(broken((), "no"), history()) == ""


# ---- sessions --------------------------------------------------------------------------------


@needs_shell
def test_a_session_is_opened_before_what_was_sent_in_it() -> None:
    """Run on a real server, the lines bring the same answer, in a session of their own."""
    wrong = Settings(revision="2025-11-25", fault="unknown-id-is-internal-error")
    with running(wrong) as url:
        kept = driven(Target(url=url, spec="2025-11-25"), topics=["polling"])
        rule = catalogue("2025-11-25")["polling.unknown-id"]
        found = verdict_of(rule, kept).evidence[0]
        lines = reproducer(found, kept)
        done = subprocess.run(
            ["bash", "-c", lines], capture_output=True, text=True, timeout=60, check=True
        )
    assert lines.count("# open a session") == 1
    sessions = {e.request_header("Mcp-Session-Id") for e in found.exchanges}
    assert not any(str(session) in lines for session in sessions)
    assert '"code":-32603' in done.stdout


def test_a_session_that_nobody_opened_is_sent_as_it_was() -> None:
    probe = exchange("tools/list", error=-32600)
    more = (*probe.sent.headers, ("Mcp-Session-Id", "made-up"))
    probe = replace(probe, sent=replace(probe.sent, headers=more))
    lines = reproducer(broken(probe, "no"), history(probe))
    assert "# open a session" not in lines
    assert "made-up" in lines


@pytest.mark.parametrize("value", ["", "there", MASK])
def test_a_name_of_no_header_hinders_nothing(value: str) -> None:
    """A history that somebody else wrote may hold any text for one."""
    seen = exchange()
    headers = (("\ud800 \u202e", value), *seen.sent.headers)
    odd = replace(seen, sent=replace(seen.sent, headers=headers))
    assert "?" in lines_for(odd)
