"""The reference server of 2025-11-25 does what the text says, seen with a plain HTTP client."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx
import pytest

from fixtures.faults_2025_11_25 import load_faults
from fixtures.reference.protocol import JSONObject
from fixtures.serve import Settings, running, server_for
from fixtures.variants_2025_11_25 import load_variants

REVISION = "2025-11-25"
NEWER = "2026-07-28"
RELATED = "io.modelcontextprotocol/related-task"
ASKING: JSONObject = {"elicitation": {}, "sampling": {}, "roots": {}}
ENDED = {"completed", "failed", "cancelled"}

#: Longer than anything here takes, so that a hang is a failure and not a hang.
PATIENCE_SECONDS = 15.0

OLDER = Settings(revision=REVISION, work_seconds=0.4, poll_interval_ms=20)


def messages_in(response: httpx.Response) -> list[JSONObject]:
    """The JSON-RPC messages of a response, which is JSON or a stream of one-line events."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        # An event with an id alone tells a client where to go on, and nothing else.
        lines = response.text.splitlines()
        return [json.loads(line[5:]) for line in lines if line.startswith("data: ")]
    return [response.json()] if response.content else []


def events(response: httpx.Response) -> Iterator[JSONObject]:
    """The messages of a stream as they come."""
    for line in response.iter_lines():
        if line.startswith("data:"):
            yield json.loads(line[5:])


@dataclass
class Client:
    """A client with a session."""

    url: str
    http: httpx.Client
    token: str | None = None
    capabilities: JSONObject = field(default_factory=lambda: ASKING)
    session: str | None = None
    handshake: JSONObject = field(default_factory=dict)
    number: int = 0

    def headers(self, **others: str | None) -> dict[str, str]:
        headers: dict[str, str | None] = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": REVISION,
            "Mcp-Session-Id": self.session,
            "Authorization": None if self.token is None else f"Bearer {self.token}",
            **{name.replace("_", "-"): value for name, value in others.items()},
        }
        return {name: value for name, value in headers.items() if value is not None}

    def post(self, message: Any, **headers: str | None) -> httpx.Response:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.http.post(self.url, content=body, headers=self.headers(**headers))

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> JSONObject:
        self.number += 1
        message: JSONObject = {"jsonrpc": "2.0", "id": self.number, "method": method}
        return message if params is None else {**message, "params": params}

    def send(self, method: str, params: Mapping[str, Any] | None = None) -> JSONObject:
        """The last message of the answer, which is the response."""
        sent = self.request(method, params)
        response = self.post(sent)
        answer = messages_in(response)[-1]
        assert answer["id"] == sent["id"]
        return answer

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> JSONObject:
        answer = self.send(method, params)
        assert "result" in answer, answer
        result: JSONObject = answer["result"]
        return result

    def code(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        answer = self.send(method, params)
        assert "error" in answer, answer
        code: int = answer["error"]["code"]
        return code

    def open(self, *, ready: bool = True) -> Client:
        response = self.post(self.request("initialize", self.greeting()))
        self.session = response.headers.get("mcp-session-id")
        self.handshake = messages_in(response)[-1]["result"]
        if ready:
            self.notify("notifications/initialized")
        return self

    def greeting(self) -> JSONObject:
        return {
            "protocolVersion": REVISION,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        message: JSONObject = {"jsonrpc": "2.0", "method": method}
        response = self.post(message if params is None else {**message, "params": params})
        assert (response.status_code, response.content) == (202, b"")

    def answer(self, question: JSONObject, **outcome: Any) -> httpx.Response:
        """Posts the answer to a request of the server."""
        return self.post({"jsonrpc": "2.0", "id": question["id"], **outcome})

    def create(self, tool: str, *, ttl: float | None = None, **arguments: Any) -> JSONObject:
        task = {} if ttl is None else {"ttl": ttl}
        params = {"name": tool, "arguments": arguments, "task": task}
        created: JSONObject = self.result("tools/call", params)["task"]
        return created

    def get(self, task_id: str) -> JSONObject:
        return self.result("tasks/get", {"taskId": task_id})

    def until(self, task_id: str, *statuses: str) -> JSONObject:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (task := self.get(task_id))["status"] not in statuses:
            assert time.monotonic() < deadline, task
            time.sleep(0.01)
        return task

    def ended(self, tool: str, **arguments: Any) -> JSONObject:
        return self.until(self.create(tool, **arguments)["taskId"], *ENDED)

    def other(self, **changes: Any) -> Client:
        """Another client of the same server."""
        client = Client(self.url, self.http, self.token, self.capabilities)
        for name, value in changes.items():
            setattr(client, name, value)
        return client.open()

    @contextlib.contextmanager
    def stream(
        self, method: str, params: Mapping[str, Any], *, number: int | None = None
    ) -> Iterator[Iterator[JSONObject]]:
        sent = self.request(method, params)
        if number is not None:
            sent["id"] = number
        with self.http.stream("POST", self.url, json=sent, headers=self.headers()) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            yield events(response)

    @contextlib.contextmanager
    def listening(self) -> Iterator[Iterator[JSONObject]]:
        with self.http.stream("GET", self.url, headers=self.headers()) as response:
            assert response.status_code == 200
            yield events(response)

    def list_all(self) -> list[JSONObject]:
        tasks: list[JSONObject] = []
        params: JSONObject = {}
        while True:
            page = self.result("tasks/list", params)
            tasks += page["tasks"]
            if "nextCursor" not in page:
                return tasks
            params = {"cursor": page["nextCursor"]}


@contextlib.contextmanager
def client_of(settings: Settings, **given: Any) -> Iterator[Client]:
    with running(settings) as url, httpx.Client(timeout=PATIENCE_SECONDS) as http:
        yield Client(url, http, **given)


@pytest.fixture(scope="module")
def plain() -> Iterator[Client]:
    with client_of(OLDER) as client:
        yield client


@pytest.fixture
def client(plain: Client) -> Client:
    return Client(plain.url, plain.http).open()


# The handshake and sessions


def test_the_handshake_tells_version_capabilities_and_name(client: Client) -> None:
    assert client.handshake["protocolVersion"] == REVISION
    assert client.handshake["capabilities"]["tasks"] == {
        "list": {},
        "cancel": {},
        "requests": {"tools": {"call": {}}},
    }
    assert set(client.handshake["serverInfo"]) == {"name", "version"}
    assert client.session is not None
    assert re.fullmatch(r"[\x21-\x7e]{20,}", client.session)


@pytest.mark.parametrize("version", ["2099-12-31", "2024-11-05", NEWER])
def test_a_version_that_is_not_spoken_is_answered_with_one_that_is(
    client: Client, version: str
) -> None:
    params = {**client.greeting(), "protocolVersion": version}
    assert client.result("initialize", params)["protocolVersion"] == REVISION


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "clientInfo"])
def test_a_handshake_says_all_it_must(client: Client, missing: str) -> None:
    params = client.greeting()
    del params[missing]
    assert client.code("initialize", params) == -32602


def test_requests_name_their_session(client: Client) -> None:
    ping = client.request("ping")
    assert client.post(ping).json() == {"jsonrpc": "2.0", "id": ping["id"], "result": {}}
    assert client.post(ping, Mcp_Session_Id=None).status_code == 400
    assert client.post(ping, Mcp_Session_Id="unknown").status_code == 404


def test_a_session_that_was_ended_is_gone(client: Client) -> None:
    assert client.http.delete(client.url, headers=client.headers()).status_code == 204
    assert client.post(client.request("ping")).status_code == 404
    assert client.http.delete(client.url, headers=client.headers()).status_code == 404
    assert client.http.get(client.url, headers=client.headers()).status_code == 404


def test_ending_a_session_ends_its_streams(client: Client) -> None:
    with client.listening() as told:
        client.http.delete(client.url, headers=client.headers())
        assert list(told) == []


@pytest.mark.parametrize("version", ["2099-12-31", "conformance", NEWER, ""])
def test_a_version_header_that_is_not_spoken_is_400(client: Client, version: str) -> None:
    answer = client.post(client.request("ping"), MCP_Protocol_Version=version)
    assert answer.status_code == 400


def test_without_a_version_header_the_session_knows_the_version(client: Client) -> None:
    assert client.post(client.request("ping"), MCP_Protocol_Version=None).status_code == 200


def test_a_foreign_origin_is_403(client: Client) -> None:
    for send in (client.http.get, client.http.delete, client.http.post):
        headers = client.headers(Origin="http://attacker.example")
        assert send(client.url, headers=headers).status_code == 403
    local = client.post(client.request("ping"), Origin="http://localhost:8000")
    assert local.status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[]", -32600),
        (b"1", -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, -32600),
    ],
)
def test_what_is_no_message_is_refused(client: Client, body: Any, code: int) -> None:
    answer = client.post(body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code


def test_notifications_and_unexpected_responses_are_taken(client: Client) -> None:
    client.notify("notifications/conformance-unknown")
    answer = client.answer({"id": 4711}, result={})
    assert (answer.status_code, answer.content) == (202, b"")


def test_an_unknown_method_is_an_error(client: Client) -> None:
    assert client.code("tasks/conformance-unknown") == -32601
    assert client.code("tasks/update", {"taskId": "x"}) == -32601
    assert client.code("server/discover") == -32601


def test_ids_are_echoed_with_their_type(client: Client) -> None:
    for identifier in ("seven", 7, ""):
        answer = client.post({"jsonrpc": "2.0", "id": identifier, "method": "ping"})
        assert answer.json()["id"] == identifier


# Tools and tasks


def test_each_tool_says_what_it_thinks_of_tasks(client: Client) -> None:
    tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
    support = {name: tool["execution"]["taskSupport"] for name, tool in tools.items()}
    assert support["add_numbers"] == "forbidden"
    assert support["train_model"] == "required"
    assert support["shout"] == "optional"
    assert client.code("tools/list", {"cursor": "x"}) == -32602


def test_a_tool_that_forbids_tasks_is_refused_as_one(client: Client) -> None:
    params = {"name": "add_numbers", "arguments": {"a": 1, "b": 2}}
    assert client.result("tools/call", params)["structuredContent"] == {"sum": 3}
    assert client.code("tools/call", {**params, "task": {}}) == -32601


def test_a_tool_that_requires_a_task_is_refused_without(client: Client) -> None:
    assert client.code("tools/call", {"name": "train_model"}) == -32601
    assert client.ended("train_model")["status"] == "completed"


def test_an_unknown_tool_is_an_error(client: Client) -> None:
    assert client.code("tools/call", {"name": "unknown", "task": {}}) == -32602
    assert client.code("tools/call", {"name": "unknown"}) == -32602


@pytest.mark.parametrize("task", [7, None, [], {"ttl": "long"}, {"ttl": -1}, {"ttl": True}])
def test_a_task_member_that_is_none_is_an_error(client: Client, task: Any) -> None:
    params = {"name": "shout", "arguments": {"text": "hello"}, "task": task}
    assert client.code("tools/call", params) == -32602


def test_a_task_begins_working_and_comes_in_a_member(client: Client) -> None:
    params = {"name": "export_report", "arguments": {}, "task": {"ttl": 60_000}}
    result = client.result("tools/call", params)
    task = result["task"]
    assert set(result) == {"task", "_meta"}
    assert result["_meta"] == {RELATED: {"taskId": task["taskId"]}}
    assert task["status"] == "working"
    assert (task["ttl"], task["pollInterval"]) == (60_000, 20)
    created, updated = (
        datetime.fromisoformat(task[m][:-1]) for m in ("createdAt", "lastUpdatedAt")
    )
    assert created <= updated
    shown = client.get(task["taskId"])
    assert "_meta" not in shown
    assert shown["createdAt"] == task["createdAt"]


@pytest.mark.parametrize(
    ("tool", "asked", "kept"),
    [
        ("shout", None, 600_000),
        ("shout", 10, 10),
        ("shout", 60_000.5, 60_000),
        ("shout", 10**12, 600_000),
        ("peek_cache", 60_000, 2000),
    ],
)
def test_the_ttl_is_what_is_asked_for_within_limits(
    client: Client, tool: str, asked: float | None, kept: int
) -> None:
    assert client.create(tool, ttl=asked, text="hello", entries=1)["ttl"] == kept


def test_a_call_without_a_task_is_answered_with_its_result(client: Client) -> None:
    result = client.result("tools/call", {"name": "shout", "arguments": {"text": "hello"}})
    assert result == {"content": [{"type": "text", "text": "hello!"}], "isError": False}


@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("shout", {"text": "hello"}, "completed"),
        ("shout", {}, "failed"),
        ("import_orders", {"path": "orders.csv"}, "failed"),
        ("sync_mailbox", {}, "failed"),
        ("dump_logs", {"kilobytes": 300}, "completed"),
    ],
)
def test_a_task_ends_as_the_call_would(
    client: Client, tool: str, arguments: JSONObject, status: str
) -> None:
    plain = client.send("tools/call", {"name": tool, "arguments": arguments})
    task = client.ended(tool, **arguments)
    assert task["status"] == status
    assert task["statusMessage"]
    for _ in range(2):
        answer = client.send("tasks/result", {"taskId": task["taskId"]})
        if "error" in plain:
            assert answer["error"] == plain["error"]
        else:
            assert answer["result"].pop("_meta") == {RELATED: {"taskId": task["taskId"]}}
            assert answer["result"] == plain["result"]


def test_other_requests_ignore_the_task_member(client: Client) -> None:
    assert client.result("tools/list", {"task": {"ttl": 60_000}}) == client.result("tools/list")


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
def test_an_id_that_names_no_task_is_invalid(client: Client, method: str) -> None:
    for params in ({"taskId": "unknown"}, {"taskId": "\ud800"}, {"taskId": 7}, {}, None):
        assert client.code(method, params) == -32602


def test_the_parameter_names_the_task_whatever_meta_says(client: Client) -> None:
    one, other = client.ended("shout", text="one"), client.ended("shout", text="other")
    meta = {RELATED: {"taskId": other["taskId"]}}
    params = {"taskId": one["taskId"], "_meta": meta}
    assert client.result("tasks/get", params)["taskId"] == one["taskId"]
    result = client.result("tasks/result", params)
    assert result["content"][0]["text"] == "one!"
    assert result["_meta"][RELATED]["taskId"] == one["taskId"]


# Waiting for a result


def test_the_result_of_a_live_task_is_waited_for(client: Client) -> None:
    task_id = client.create("export_report")["taskId"]
    with client.stream("tasks/result", {"taskId": task_id}) as answer:
        assert client.get(task_id)["status"] == "working"
        [response] = answer
    assert response["result"]["content"][0]["text"] == "Exported 1000 rows."
    assert client.get(task_id)["status"] == "completed"


def test_who_waits_hears_that_the_task_was_cancelled(client: Client) -> None:
    task_id = client.create("export_report")["taskId"]
    with client.stream("tasks/result", {"taskId": task_id}) as answer:
        assert client.result("tasks/cancel", {"taskId": task_id})["status"] == "cancelled"
        [response] = answer
    assert response["error"]["code"] == -32000


def test_who_waits_hears_that_the_task_expired(client: Client) -> None:
    task_id = client.create("book_table", ttl=300)["taskId"]
    with client.stream("tasks/result", {"taskId": task_id}) as answer:
        *_, response = answer
    assert response["error"]["code"] == -32602


def test_a_cancelled_request_gets_no_answer_and_the_task_goes_on(client: Client) -> None:
    task_id = client.create("export_report")["taskId"]
    with client.stream("tasks/result", {"taskId": task_id}, number=900) as answer:
        client.notify("notifications/cancelled", {"requestId": 900})
        assert list(answer) == []
    assert client.until(task_id, *ENDED)["status"] == "completed"


def test_a_cancelled_call_gets_no_answer(client: Client) -> None:
    with client.stream("tools/call", {"name": "export_report"}, number=901) as answer:
        client.notify("notifications/cancelled", {"requestId": 901})
        assert list(answer) == []


# Questions


def accept(question: JSONObject) -> JSONObject:
    """An answer that fits the question."""
    if question["method"] == "roots/list":
        return {"roots": [{"uri": "file:///project"}]}
    if question["method"] == "sampling/createMessage":
        content = {"type": "text", "text": "A project."}
        return {"role": "assistant", "model": "none", "content": content}
    properties = question["params"]["requestedSchema"]["properties"]
    kinds: JSONObject = {"string": "round", "integer": 5, "boolean": True}
    content = {name: kinds[schema["type"]] for name, schema in properties.items()}
    return {"action": "accept", "content": content}


@pytest.mark.parametrize(
    ("tool", "count", "text"),
    [
        ("book_table", 1, "Booked for 2 guests: round."),
        ("plan_trip", 2, "The plan for 7 days. destination: round, month: round."),
        ("describe_project", 2, "A project. Root directories: 1."),
        ("haggle_price", 2, "The carpet is yours. Offers: 5, then 5."),
        ("purge_records", 1, "Purged the records older than 90 days, as confirmed."),
    ],
)
@pytest.mark.parametrize("as_task", [True, False])
def test_questions_are_asked_on_the_stream(
    client: Client, tool: str, count: int, text: str, as_task: bool
) -> None:
    asked: list[JSONObject] = []
    params: JSONObject = {"name": tool, "arguments": {}}
    if as_task:
        params = {"taskId": client.create(tool)["taskId"]}
    with client.stream("tasks/result" if as_task else "tools/call", params) as stream:
        for message in stream:
            if "method" not in message:
                break
            asked.append(message)
            if as_task:
                related = message["params"]["_meta"][RELATED]
                assert related == {"taskId": params["taskId"]}
                assert client.get(params["taskId"])["status"] == "input_required"
            answer = client.answer(message, result=accept(message))
            assert (answer.status_code, answer.content) == (202, b"")
    assert message["result"]["content"][0]["text"] == text
    assert len({question["id"] for question in asked}) == len(asked) == count


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_refusal_moves_the_task_on(client: Client, action: str) -> None:
    task_id = client.create("book_table")["taskId"]
    with client.stream("tasks/result", {"taskId": task_id}) as stream:
        client.answer(next(stream), result={"action": action})
        [response] = stream
    assert "No table was booked" in response["result"]["content"][0]["text"]


@pytest.mark.parametrize("outcome", [{"error": {"code": -1, "message": "no"}}, {"result": 7}])
def test_an_error_for_an_answer_fails_the_task(client: Client, outcome: JSONObject) -> None:
    task_id = client.create("describe_project")["taskId"]
    with client.stream("tasks/result", {"taskId": task_id}) as stream:
        client.answer(next(stream), **outcome)
        client.answer(next(stream), **outcome)
        [response] = stream
    assert response["result"]["isError"]
    assert client.get(task_id)["status"] == "failed"


def test_nobody_is_asked_what_they_did_not_declare(client: Client) -> None:
    silent = client.other(capabilities={"roots": {}})
    for tool in ("book_table", "describe_project"):
        task = silent.ended(tool)
        assert task["status"] == "failed"
        assert "does not offer" in task["statusMessage"]
        assert silent.result("tools/call", {"name": tool})["isError"]


def test_a_question_is_asked_on_one_stream_and_again_when_that_broke(client: Client) -> None:
    task_id = client.create("book_table")["taskId"]
    client.until(task_id, "input_required")
    params = {"taskId": task_id}
    with client.stream("tasks/result", params) as first:
        question = next(first)
        with client.stream("tasks/result", params, number=902) as second:
            client.notify("notifications/cancelled", {"requestId": 902})
            assert list(second) == []
    with client.stream("tasks/result", params) as third:
        again = next(third)
        assert again["id"] != question["id"]
        client.answer(again, result=accept(again))
        [response] = third
    assert response["result"]["isError"] is False


def test_nothing_is_asked_before_the_client_is_ready(client: Client) -> None:
    early = Client(client.url, client.http).open(ready=False)
    task_id = early.create("book_table")["taskId"]
    early.until(task_id, "input_required")
    with early.stream("tasks/result", {"taskId": task_id}) as stream:
        seen: list[JSONObject] = []
        waiting = threading.Thread(target=lambda: seen.append(next(stream)))
        waiting.start()
        assert early.get(task_id)["status"] == "input_required"
        assert seen == []
        early.notify("notifications/initialized")
        waiting.join(PATIENCE_SECONDS)
        assert seen[0]["method"] == "elicitation/create"


# Listing


def test_the_list_shows_all_tasks_of_the_client(client: Client) -> None:
    made = [client.create("shout", text="x")["taskId"] for _ in range(12)]
    assert len(client.result("tasks/list")["tasks"]) == 5
    listed = client.list_all()
    assert sorted(task["taskId"] for task in listed) == sorted(made)
    task = client.until(made[0], *ENDED)
    assert task in client.list_all()
    assert client.other().list_all() == []


@pytest.mark.parametrize("cursor", ["no-cursor", "", "é", 7, "A" * 60])
def test_a_cursor_that_was_not_given_is_invalid(client: Client, cursor: Any) -> None:
    assert client.code("tasks/list", {"cursor": cursor}) == -32602


def test_a_cursor_is_for_the_client_it_was_given_to(client: Client) -> None:
    for _ in range(6):
        client.create("shout", text="x")
    cursor = client.result("tasks/list")["nextCursor"]
    assert client.other().code("tasks/list", {"cursor": cursor}) == -32602


# Cancelling and expiring


@pytest.mark.parametrize("tool", ["export_report", "book_table"])
def test_a_live_task_is_cancelled_before_the_answer(client: Client, tool: str) -> None:
    task_id = client.create(tool)["taskId"]
    cancelled = client.result("tasks/cancel", {"taskId": task_id})
    assert cancelled["status"] == "cancelled"
    assert client.get(task_id) == cancelled
    assert client.code("tasks/cancel", {"taskId": task_id}) == -32602
    assert client.get(task_id) == cancelled


@pytest.mark.parametrize(
    ("tool", "arguments"), [("shout", {"text": "x"}), ("import_orders", {"path": "x"})]
)
def test_an_ended_task_is_not_cancelled(client: Client, tool: str, arguments: JSONObject) -> None:
    task = client.ended(tool, **arguments)
    assert client.code("tasks/cancel", {"taskId": task["taskId"]}) == -32602
    assert client.get(task["taskId"]) == task


def test_an_expired_task_is_gone_for_all_methods(client: Client) -> None:
    task_id = client.create("shout", text="x", ttl=300)["taskId"]
    assert client.until(task_id, *ENDED)["status"] == "completed"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while "error" not in client.send("tasks/get", {"taskId": task_id}):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert client.code(method, {"taskId": task_id}) == -32602
    assert client.list_all() == []


# Being told


def test_changes_of_status_are_told_on_the_stream_of_get(client: Client) -> None:
    with client.listening() as told:
        task_id = client.create("book_table")["taskId"]
        with client.stream("tasks/result", {"taskId": task_id}) as stream:
            question = next(stream)
            client.answer(question, result=accept(question))
            [_] = stream
        seen = [next(told) for _ in range(3)]
    assert {message["method"] for message in seen} == {"notifications/tasks/status"}
    statuses = [message["params"]["status"] for message in seen]
    assert statuses == ["input_required", "working", "completed"]
    assert seen[-1]["params"] == client.get(task_id)


def test_a_message_is_told_on_one_stream_only(client: Client) -> None:
    with client.listening() as older, client.listening() as newer:
        task_id = client.create("shout", text="x")["taskId"]
        assert next(newer)["params"]["taskId"] == task_id
        client.http.delete(client.url, headers=client.headers())
        assert list(older) == []


def test_progress_is_told_to_who_asks_for_it(client: Client) -> None:
    meta = {"progressToken": "mine"}
    params: JSONObject = {"name": "export_report", "_meta": meta}
    with client.listening() as told:
        task = client.result("tools/call", {**params, "task": {}})["task"]
        progress = next(told)
    assert progress["method"] == "notifications/progress"
    assert progress["params"]["progressToken"] == "mine"
    assert progress["params"]["_meta"] == {RELATED: {"taskId": task["taskId"]}}
    with client.stream("tools/call", params) as stream:
        *progresses, response = stream
    assert [message["params"]["progress"] for message in progresses] == [1, 2, 3]
    assert "result" in response


# Callers


def test_tasks_belong_to_the_token_in_all_sessions() -> None:
    settings = Settings(revision=REVISION, tokens={"one": "alice", "two": "bob"})
    with client_of(settings, token="one") as client:
        assert client.post(client.request("ping"), Authorization=None).status_code == 401
        assert client.http.get(client.url).status_code == 401
        client.open()
        task_id = client.ended("shout", text="x")["taskId"]
        assert client.other().get(task_id)["status"] == "completed"
        bob = client.other(token="two")
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            params = {"taskId": task_id}
            assert bob.send(method, params)["error"] == bob.send(method, {"taskId": "x"})["error"]
        assert bob.list_all() == []
        assert [task["taskId"] for task in client.other().list_all()] == [task_id]
        stolen = bob.post(bob.request("ping"), Mcp_Session_Id=client.session)
        assert stolen.status_code == 404


def test_tasks_belong_to_the_session_where_nobody_need_say_who_they_are(client: Client) -> None:
    task_id = client.create("export_report")["taskId"]
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert client.other().code(method, {"taskId": task_id}) == -32602


def test_many_tasks_at_once_keep_their_own_results(client: Client) -> None:
    def result_of(text: str) -> str:
        other = Client(client.url, client.http, session=client.session)
        task_id = other.create("shout", text=text)["taskId"]
        result = other.result("tasks/result", {"taskId": task_id})
        found: str = result["content"][0]["text"]
        return found

    texts = [f"text {number}" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(result_of, texts)) == [f"{text}!" for text in texts]


# Streams for everything, and both revisions at once


def test_answers_may_all_be_streams() -> None:
    settings = Settings(revision=REVISION, sse=True)
    with client_of(settings) as client:
        client.open()
        task_id = client.ended("shout", text="x")["taskId"]
        for method, kind in (("tasks/get", "application/json"), ("tasks/result", "text/event")):
            answer = client.post(client.request(method, {"taskId": task_id}))
            assert answer.headers["content-type"].startswith(kind)


def newer_body(method: str, params: JSONObject) -> JSONObject:
    extension: JSONObject = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWER,
        "io.modelcontextprotocol/clientCapabilities": extension,
    }
    params = {**params, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def newer_result(
    client: Client, method: str, mirrored: str | None, **params: Any
) -> httpx.Response:
    headers = {"MCP-Protocol-Version": NEWER, "Mcp-Method": method}
    if mirrored is not None:
        headers["Mcp-Name"] = mirrored
    body = newer_body(method, params)
    return client.http.post(client.url, json=body, headers=headers)


def test_both_revisions_on_one_url() -> None:
    with client_of(Settings(revision="both")) as client:
        client.open()
        older_id = client.create("shout", text="older")["taskId"]
        created = newer_result(client, "tools/call", "shout", name="shout", arguments={"text": "x"})
        newer_id = created.json()["result"]["taskId"]
        # What one revision made is nothing to the other.
        assert newer_result(client, "tasks/get", newer_id, taskId=newer_id).status_code == 200
        assert newer_result(client, "tasks/get", older_id, taskId=older_id).status_code == 400
        assert client.code("tasks/get", {"taskId": newer_id}) == -32602
        assert [task["taskId"] for task in client.list_all()] == [older_id]
        discovered = newer_result(client, "server/discover", None).json()["result"]
        assert discovered["supportedVersions"] == [NEWER]
        assert "tasks" not in discovered["capabilities"]
        # Without a session, GET is of the newer revision.
        assert client.http.get(client.url).status_code == 405
        with client.listening() as told:
            client.create("shout", text="x")
            assert next(told)["method"] == "notifications/tasks/status"


def test_the_newer_revision_alone_knows_no_handshake() -> None:
    with client_of(Settings()) as client:
        answer = client.post(client.request("initialize", client.greeting()))
        assert answer.status_code == 400


def test_a_server_of_the_older_revision_alone_knows_no_other() -> None:
    with client_of(OLDER) as client:
        assert newer_result(client, "server/discover", None).status_code == 400
        assert client.http.put(client.url).status_code == 405


# Faults and variants


@pytest.mark.parametrize("kind", ["fault", "variant"])
@pytest.mark.parametrize("revision", [REVISION, "both"])
def test_every_fault_and_variant_can_be_chosen(kind: str, revision: str) -> None:
    loaded: dict[str, Callable[[], Mapping[str, Any]]] = {
        "fault": load_faults,
        "variant": load_variants,
    }
    known = loaded[kind]()
    assert len(known) >= (75 if kind == "fault" else 15)
    for name, entry in known.items():
        assert entry.summary
        chosen = Settings(revision=revision, **{kind: name})  # type: ignore[arg-type]
        server = server_for(chosen)
        assert isinstance(server, entry.server)


def test_a_fault_is_known_by_its_own_revision_only() -> None:
    name = next(iter(load_faults()))
    assert server_for(Settings(revision=REVISION, fault=name))
    with pytest.raises(ValueError, match="no fault"):
        server_for(Settings(revision=REVISION, fault="get-without-result-type"))
    assert server_for(Settings(revision="both", fault="get-without-result-type"))
    with pytest.raises(ValueError, match="no revision"):
        server_for(Settings(revision="2024-11-05"))


@pytest.mark.parametrize("name", sorted(load_variants()))
def test_every_variant_makes_a_task_and_gives_its_result(name: str) -> None:
    settings = Settings(revision=REVISION, variant=name, tokens={"one": "alice"})
    with client_of(settings, token="one") as client:
        client.open()
        if "tasks" not in client.handshake["capabilities"]:
            params = {"name": "shout", "arguments": {"text": "x"}, "task": {}}
            assert "content" in client.result("tools/call", params)
            return
        created = client.create("shout", text="x")
        assert created["status"] == "working"
        params = {"taskId": created["taskId"]}
        assert client.result("tasks/result", params)["content"][0]["text"] == "x!"
        assert client.get(created["taskId"])["status"] == "completed"
