"""The reference server does what the text says, seen with a plain HTTP client."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from fixtures.faults import FAULTS, Fault, fault, load_faults
from fixtures.reference.protocol import JSONObject, text_result
from fixtures.reference.server import Server
from fixtures.reference.store import Store
from fixtures.reference.tools import Arguments, Tool
from fixtures.reference.work import Work
from fixtures.serve import Settings, running
from fixtures.variants import VARIANTS, Variant, load_variants, variant

REPOSITORY = Path(__file__).resolve().parent.parent
REVISION = "2026-07-28"
EXTENSION = "io.modelcontextprotocol/tasks"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"

TASKS: JSONObject = {"extensions": {EXTENSION: {}}}
ASKING: JSONObject = {"elicitation": {}, "sampling": {}, "roots": {}}
EVERYTHING: JSONObject = {**TASKS, **ASKING}

#: Longer than anything here takes, so that a hang is a failure and not a hang.
PATIENCE_SECONDS = 15.0

MIRRORED = {"tools/call": "name"} | dict.fromkeys(
    ("tasks/get", "tasks/update", "tasks/cancel"), "taskId"
)


class Absent:
    """Stands for a member or header that is left out."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


@dataclass
class Answer:
    """One HTTP response, and the JSON-RPC messages in it."""

    http: httpx.Response
    messages: list[JSONObject] = field(default_factory=list)

    @property
    def status(self) -> int:
        return self.http.status_code

    @property
    def message(self) -> JSONObject:
        return self.messages[-1]

    @property
    def result(self) -> JSONObject:
        assert "result" in self.message, self.message
        result: JSONObject = self.message["result"]
        return result

    @property
    def error(self) -> JSONObject:
        assert "error" in self.message, self.message
        error: JSONObject = self.message["error"]
        return error

    @property
    def refusal(self) -> tuple[int, int]:
        return self.status, self.error["code"]


def events(lines: Iterator[str]) -> Iterator[JSONObject]:
    """The messages of an event stream, of which every event is one line of data."""
    for line in lines:
        if line.startswith("data:"):
            yield json.loads(line[5:])


@dataclass
class Client:
    """A client that sends well-formed requests, except where it is told otherwise."""

    url: str
    http: httpx.Client
    token: str | None = None
    capabilities: JSONObject = field(default_factory=lambda: EVERYTHING)

    def body(
        self, method: str, params: Mapping[str, Any], capabilities: JSONObject | None
    ) -> JSONObject:
        declared = self.capabilities if capabilities is None else capabilities
        meta = {VERSION_KEY: REVISION, CAPABILITIES_KEY: declared}
        return {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {"_meta": meta, **params},
        }

    def headers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": REVISION,
            "Mcp-Method": method,
        }
        if method in MIRRORED and isinstance(params.get(MIRRORED[method]), str):
            headers["Mcp-Name"] = params[MIRRORED[method]]
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        capabilities: JSONObject | None = None,
        headers: Mapping[str, Any] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Sends a request; `headers` and `members` replace parts of it, ABSENT leaves one out."""
        params = params or {}
        sent = {**self.headers(method, params), **(headers or {})}
        body = {**self.body(method, params, capabilities), **(members or {})}
        return self.post(
            json.dumps({name: value for name, value in body.items() if value is not ABSENT}),
            {name: value for name, value in sent.items() if value is not ABSENT},
        )

    def post(self, body: str | bytes, headers: Mapping[str, str]) -> Answer:
        response = self.http.post(self.url, content=body, headers=dict(headers))
        kind = response.headers.get("content-type", "").partition(";")[0]
        if kind == "text/event-stream":
            return Answer(response, list(events(iter(response.text.splitlines()))))
        return Answer(response, [response.json()] if kind == "application/json" else [])

    def call(self, tool: str, arguments: JSONObject | None = None, **more: Any) -> Answer:
        return self.request(
            "tools/call",
            {"name": tool, "arguments": ARGUMENTS.get(tool, {}) | (arguments or {})},
            **more,
        )

    def create(self, tool: str, arguments: JSONObject | None = None) -> str:
        result = self.call(tool, arguments).result
        assert result["resultType"] == "task", result
        task_id: str = result["taskId"]
        return task_id

    def get(self, task_id: str) -> JSONObject:
        return self.request("tasks/get", {"taskId": task_id}).result

    def update(self, task_id: str, responses: Mapping[str, Any]) -> Answer:
        return self.request("tasks/update", {"taskId": task_id, "inputResponses": responses})

    def cancel(self, task_id: str) -> Answer:
        return self.request("tasks/cancel", {"taskId": task_id})

    def until(self, task_id: str, condition: Callable[[JSONObject], bool]) -> JSONObject:
        """Reads the task until it is as wanted."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            task = self.get(task_id)
            if condition(task):
                return task
            assert time.monotonic() < deadline, task
            time.sleep(0.01)

    def ended(self, task_id: str) -> JSONObject:
        return self.until(
            task_id, lambda task: task["status"] in {"completed", "failed", "cancelled"}
        )

    def asked(self, task_id: str) -> JSONObject:
        return self.until(task_id, lambda task: task["status"] == "input_required")

    @contextlib.contextmanager
    def listen(
        self, notifications: JSONObject, *, identifier: Any = "listening"
    ) -> Iterator[Iterator[JSONObject]]:
        body = {**self.body("subscriptions/listen", {"notifications": notifications}, None)}
        body["id"] = identifier
        headers = self.headers("subscriptions/listen", {})
        with self.http.stream("POST", self.url, json=body, headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            yield events(response.iter_lines())


#: Arguments for the tools that need some.
ARGUMENTS: dict[str, JSONObject] = {
    "add_numbers": {"a": 2, "b": 3},
    "import_orders": {"path": "orders.csv"},
    "shout": {"text": "hello"},
}


def accept(**content: Any) -> JSONObject:
    return {"action": "accept", "content": content}


def text_of(result: JSONObject) -> str:
    text: str = result["content"][0]["text"]
    return text


def moment(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text[:-1] + "+00:00")


@contextlib.contextmanager
def client_of(settings: Settings) -> Iterator[Client]:
    with running(settings) as url, httpx.Client(timeout=PATIENCE_SECONDS) as http:
        yield Client(url, http)


@pytest.fixture(scope="module", params=[False, True], ids=["json", "sse"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """The server, answering in either way."""
    with client_of(Settings(work_seconds=0.4, sse=request.param)) as client:
        yield client


@pytest.fixture(scope="module")
def plain() -> Iterator[Client]:
    """The server where it makes no difference how it frames its answers."""
    with client_of(Settings(work_seconds=0.4, official_names=True)) as client:
        yield client


# Discovery and tools


def test_discovery_advertises_the_extension_with_an_object(client: Client) -> None:
    result = client.request("server/discover", capabilities={}).result
    assert result["resultType"] == "complete"
    assert result["supportedVersions"] == [REVISION]
    assert result["capabilities"] == {"tools": {}, "extensions": {EXTENSION: {}}}
    assert set(result["_meta"][SERVER_INFO_KEY]) == {"name", "version"}
    assert isinstance(result["ttlMs"], int)
    assert result["cacheScope"] in {"public", "private"}


def test_tools_are_listed_with_schemas_and_hints(client: Client) -> None:
    result = client.request("tools/list", capabilities={}).result
    assert isinstance(result["ttlMs"], int)
    assert result["cacheScope"] in {"public", "private"}
    tools = {tool["name"]: tool for tool in result["tools"]}
    assert len(tools) == 13
    for name, tool in tools.items():
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
        assert "execution" not in tool
        assert tool["annotations"]["readOnlyHint"] is (name != "purge_records")
    assert tools["purge_records"]["annotations"]["destructiveHint"] is False


def test_a_cursor_that_was_never_given_out_is_invalid(plain: Client) -> None:
    assert plain.request("tools/list", {"cursor": "2"}).refusal == (400, -32602)


@pytest.mark.parametrize(
    ("sse", "kind"), [(False, "application/json"), (True, "text/event-stream")]
)
def test_an_answer_is_json_or_a_stream(sse: bool, kind: str) -> None:
    with client_of(Settings(sse=sse)) as client:
        response = client.request("server/discover").http
        assert response.headers["content-type"].startswith(kind)
        assert response.headers.get("x-accel-buffering") == ("no" if sse else None)
        # A refusal has an HTTP status, and a stream could not show it.
        refused = client.request("no/such/method").http
        assert refused.headers["content-type"].startswith("application/json")


def test_progress_comes_before_the_answer_of_a_plain_call_that_asks_for_it() -> None:
    with client_of(Settings(sse=True)) as client:
        body = client.body("tools/call", {"name": "add_numbers", "arguments": {"a": 1, "b": 1}}, {})
        body["params"]["_meta"]["progressToken"] = "token"
        messages = client.post(
            json.dumps(body), client.headers("tools/call", body["params"])
        ).messages
        assert [message.get("method") for message in messages] == ["notifications/progress", None]
        assert messages[0]["params"]["progressToken"] == "token"


# Creation


def test_a_handle_is_flat_and_resolves_at_once(client: Client) -> None:
    handle = client.call("export_report").result
    assert handle["resultType"] == "task"
    assert handle["status"] == "working"
    assert handle["ttlMs"] == 600_000
    assert handle["pollIntervalMs"] == 100
    assert moment(handle["createdAt"]) <= moment(handle["lastUpdatedAt"])
    assert not {"task", "result", "error", "inputRequests", "requestState"} & handle.keys()
    task = client.get(handle["taskId"])
    assert task["resultType"] == "complete"
    assert task["createdAt"] == handle["createdAt"]


def test_equal_calls_make_different_tasks(plain: Client) -> None:
    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(lambda _: plain.create("shout"), range(20)))
    assert len(ids) == 20
    assert min(map(len, ids)) >= 22


def test_a_poll_interval_and_a_lifetime_can_be_left_open() -> None:
    with client_of(Settings(poll_interval_ms=None, ttl_ms=None)) as client:
        task = client.get(client.create("shout"))
        assert task["ttlMs"] is None
        assert "pollIntervalMs" not in task


# Outcomes, as a task and as a plain call


@dataclass(frozen=True)
class Outcome:
    """A tool, the answers it is given in turn, and what comes of it."""

    tool: str
    text: str
    is_error: bool = False
    rounds: tuple[JSONObject, ...] = ()


OUTCOMES = [
    Outcome("export_report", "Exported 1000 rows."),
    Outcome("import_orders", "Nothing was imported: the file has no header row.", is_error=True),
    Outcome("shout", "hello!"),
    Outcome("peek_cache", "The cache holds 10 entries."),
    Outcome(
        "book_table", "Booked for 2 guests: by the window.", rounds=(accept(table="by the window"),)
    ),
    Outcome(
        "book_table", "No table was booked: the guest declined.", rounds=({"action": "decline"},)
    ),
    Outcome(
        "book_table", "No table was booked: the guest cancelled.", rounds=({"action": "cancel"},)
    ),
    Outcome(
        "plan_trip",
        "The plan for 7 days. destination: Rome, month: Rome.",
        rounds=(accept(destination="Rome", month="Rome"),),
    ),
    Outcome(
        "describe_project",
        "A compiler. Root directories: 2.",
        rounds=({"content": {"type": "text", "text": "A compiler."}, "roots": [{}, {}]},),
    ),
    Outcome(
        "haggle_price",
        "The carpet is yours. Offers: 5, then 9.",
        rounds=(accept(offer=5), accept(offer=9)),
    ),
    Outcome(
        "haggle_price",
        "No deal about the carpet: declined.",
        rounds=(accept(offer=5), {"action": "decline"}),
    ),
    Outcome(
        "purge_records",
        "Purged the records older than 90 days, as confirmed.",
        rounds=(accept(confirmed=True),),
    ),
    Outcome(
        "purge_records",
        "Nothing was purged: the request was declined.",
        rounds=({"action": "decline"},),
    ),
]


def outcome_name(outcome: Outcome) -> str:
    return f"{outcome.tool}-{len(outcome.rounds)}-{outcome.text[:10]}"


def to_the_end(
    client: Client, tool: str, rounds: tuple[JSONObject, ...], capabilities: JSONObject
) -> JSONObject:
    """Calls the tool, answers what it asks, and returns its result, however it comes."""
    answers = list(rounds)
    call: JSONObject = {"name": tool, "arguments": ARGUMENTS.get(tool, {})}
    result = client.request("tools/call", call, capabilities=capabilities).result
    while result["resultType"] == "input_required":
        answer = answers.pop(0)
        retry = {
            **call,
            "inputResponses": dict.fromkeys(result["inputRequests"], answer),
            "requestState": result["requestState"],
        }
        result = client.request("tools/call", retry, capabilities=capabilities).result
    if result["resultType"] == "task":
        task = result
        while task["status"] != "completed":
            if task["status"] == "input_required":
                answer = answers.pop(0)
                client.update(task["taskId"], dict.fromkeys(task["inputRequests"], answer))
            task = client.until(
                task["taskId"], lambda now: now["status"] in {"input_required", "completed"}
            )
        result = task["result"]
    assert not answers
    return result


@pytest.mark.parametrize("outcome", OUTCOMES, ids=outcome_name)
def test_a_task_has_the_outcome_of_the_plain_call(client: Client, outcome: Outcome) -> None:
    as_task = to_the_end(client, outcome.tool, outcome.rounds, EVERYTHING)
    directly = to_the_end(client, outcome.tool, outcome.rounds, ASKING)
    for result in (as_task, directly):
        assert text_of(result) == outcome.text
        assert result["isError"] is outcome.is_error
    assert as_task == {name: value for name, value in directly.items() if name != "_meta"}


def test_a_json_rpc_error_fails_the_task_and_answers_the_plain_call(client: Client) -> None:
    task = client.ended(client.create("sync_mailbox"))
    answer = client.call("sync_mailbox", capabilities={})
    assert task["status"] == "failed"
    assert task["error"] == answer.error
    assert task["statusMessage"] == answer.error["message"]
    assert "result" not in task
    assert answer.status == 200


def test_a_large_result_arrives_whole(client: Client) -> None:
    text = text_of(client.ended(client.create("dump_logs"))["result"])
    assert len(text) == 300 * 1024
    assert len(set(text.splitlines())) == len(text.splitlines())
    shorter = client.ended(client.create("dump_logs", {"kilobytes": 2}))["result"]
    assert text.startswith(text_of(shorter))


def test_the_slow_task_tells_its_progress(plain: Client) -> None:
    task_id = plain.create("export_report", {"rows": 400})
    messages: list[str] = []
    times: list[str] = []

    def is_done(task: JSONObject) -> bool:
        if task["statusMessage"] not in messages:
            messages.append(task["statusMessage"])
            times.append(task["lastUpdatedAt"])
        return bool(task["status"] == "completed")

    plain.until(task_id, is_done)
    assert "Exported 200 of 400 rows." in messages
    assert times == sorted(set(times))


def test_a_tool_that_answers_at_once_is_never_a_task(client: Client) -> None:
    result = client.call("add_numbers").result
    assert result["resultType"] == "complete"
    assert text_of(result) == "5"
    assert result["structuredContent"] == {"sum": 5}


@pytest.mark.parametrize(
    "arguments",
    [{"a": 2}, {"a": "two", "b": 3}, {"a": True, "b": 3}, {"a": None, "b": 3}],
    ids=["missing", "string", "boolean", "null"],
)
def test_wrong_arguments_are_a_tool_error(plain: Client, arguments: JSONObject) -> None:
    call = {"name": "add_numbers", "arguments": arguments}
    assert plain.request("tools/call", call).result["isError"] is True


@pytest.mark.parametrize("rows", [0, 10_000_000, 1.5])
def test_arguments_out_of_bounds_make_no_task(plain: Client, rows: float) -> None:
    result = plain.call("export_report", {"rows": rows}).result
    assert result["resultType"] == "complete"
    assert result["isError"] is True


def test_reading_changes_nothing(plain: Client) -> None:
    task_id = plain.create("shout")
    first = plain.ended(task_id)
    assert all(plain.get(task_id) == first for _ in range(5))


# Declarations


UNDECLARED: dict[str, JSONObject] = {
    "nothing": {},
    "other extension": {"extensions": {"io.modelcontextprotocol/ui": {}}},
    "legacy": {"tasks": {"requests": {"tools": {"call": {}}}}},
    "null": {"extensions": {EXTENSION: None}},
    "list": {"extensions": [EXTENSION]},
}


@pytest.mark.parametrize("capabilities", UNDECLARED.values(), ids=UNDECLARED)
def test_without_a_declaration_there_is_no_task(plain: Client, capabilities: JSONObject) -> None:
    # The same connection has declared it before.
    plain.create("shout")
    assert plain.call("shout", capabilities=capabilities).result["resultType"] == "complete"


def test_the_extension_is_declared_in_the_envelope_only(plain: Client) -> None:
    params = {"name": "shout", "arguments": {"text": "a"}, "task": {"ttl": 1000}}
    body = plain.body("tools/call", params, {})
    body["params"]["_meta"][EXTENSION] = {}
    answer = plain.post(json.dumps(body), plain.headers("tools/call", params))
    assert answer.result["resultType"] == "complete"


def test_a_legacy_task_parameter_makes_no_task(plain: Client) -> None:
    params = {"name": "add_numbers", "arguments": {"a": 1, "b": 1}, "task": {"ttl": 1000}}
    assert plain.request("tools/call", params).result["resultType"] == "complete"


@pytest.mark.parametrize("capabilities", UNDECLARED.values(), ids=UNDECLARED)
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
@pytest.mark.parametrize("known", [True, False])
def test_the_methods_need_the_declaration(
    plain: Client, capabilities: JSONObject, method: str, known: bool
) -> None:
    task_id = plain.create("book_table") if known else "unknown"
    params: JSONObject = {"taskId": task_id, "inputResponses": {"table-1": accept(table="x")}}
    answer = plain.request(method, params, capabilities=capabilities)
    assert answer.refusal == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": TASKS}
    if known:
        assert set(plain.asked(task_id)["inputRequests"]) == {"table-1"}


def test_a_tool_that_works_only_as_a_task_says_so(client: Client) -> None:
    answer = client.call("train_model", capabilities=ASKING)
    assert answer.refusal == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": TASKS}
    assert client.ended(client.create("train_model"))["status"] == "completed"


@pytest.mark.parametrize(
    ("tool", "declared", "missing"),
    [
        ("book_table", {}, {"elicitation": {}}),
        ("book_table", {"elicitation": {"url": {}}}, {"elicitation": {}}),
        ("purge_records", {"sampling": {}}, {"elicitation": {}}),
        ("describe_project", {"elicitation": {}}, {"sampling": {}, "roots": {}}),
        ("describe_project", {"sampling": {}}, {"roots": {}}),
    ],
)
@pytest.mark.parametrize("tasks", [True, False], ids=["task", "plain call"])
def test_a_tool_asks_nothing_that_the_client_cannot_answer(
    plain: Client, tool: str, declared: JSONObject, missing: JSONObject, tasks: bool
) -> None:
    answer = plain.call(tool, capabilities={**(TASKS if tasks else {}), **declared})
    assert answer.refusal == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": missing}


# Questions during a task


def test_questions_are_shown_until_they_are_answered(client: Client) -> None:
    task_id = client.create("plan_trip")
    task = client.asked(task_id)
    requests = task["inputRequests"]
    assert set(requests) == {"destination-1", "month-2"}
    assert {request["method"] for request in requests.values()} == {"elicitation/create"}
    assert client.get(task_id) == task

    client.update(task_id, {"destination-1": accept(destination="Rome")})
    partly = client.get(task_id)
    assert partly["status"] == "input_required"
    assert partly["inputRequests"] == {"month-2": requests["month-2"]}
    assert partly["lastUpdatedAt"] > task["lastUpdatedAt"]

    # An answered key, and one that never was, change nothing.
    client.update(task_id, {"destination-1": accept(destination="Oslo"), "other": {}})
    assert client.get(task_id) == partly

    client.update(task_id, {"month-2": accept(month="May")})
    assert text_of(client.ended(task_id)["result"]).endswith("destination: Rome, month: May.")


def test_a_second_round_has_a_key_of_its_own(plain: Client) -> None:
    task_id = plain.create("haggle_price")
    assert set(plain.asked(task_id)["inputRequests"]) == {"offer-1"}
    plain.update(task_id, {"offer-1": accept(offer=3)})
    second = plain.asked(task_id)
    assert set(second["inputRequests"]) == {"offer-2"}
    plain.update(task_id, {"offer-1": accept(offer=4)})
    assert plain.get(task_id) == second


def test_of_two_answers_at_once_one_counts(plain: Client) -> None:
    for _ in range(5):
        task_id = plain.create("book_table")
        plain.asked(task_id)
        with ThreadPoolExecutor(2) as pool:
            answers = list(
                pool.map(
                    lambda table, task=task_id: plain.update(
                        task, {"table-1": accept(table=table)}
                    ),
                    ["A", "B"],
                )
            )
        assert [answer.status for answer in answers] == [200, 200]
        assert text_of(plain.ended(task_id)["result"]) in {
            "Booked for 2 guests: A.",
            "Booked for 2 guests: B.",
        }


def test_an_acknowledgement_is_empty(client: Client) -> None:
    task_id = client.create("book_table")
    key = next(iter(client.asked(task_id)["inputRequests"]))
    for answer in (
        client.update(task_id, {key: accept(table="x")}),
        client.update(task_id, {}),
        client.cancel(task_id),
    ):
        assert answer.result["resultType"] == "complete"
        assert set(answer.result) == {"resultType", "_meta"}


def test_answers_do_not_disturb_a_task_that_asks_nothing(plain: Client) -> None:
    working = plain.create("export_report")
    assert plain.update(working, {"table-1": accept(table="x")}).status == 200
    assert text_of(plain.ended(working)["result"]) == "Exported 1000 rows."
    ended = plain.ended(working)
    assert plain.update(working, {"table-1": accept(table="x")}).status == 200
    assert plain.get(working) == ended


@pytest.mark.parametrize(
    "responses", [ABSENT, None, [], "yes", {"table-1": "yes"}, {"table-1": None}], ids=repr
)
def test_answers_must_be_objects(plain: Client, responses: object) -> None:
    task_id = plain.create("book_table")
    before = plain.asked(task_id)
    params: JSONObject = {"taskId": task_id}
    if responses is not ABSENT:
        params["inputResponses"] = responses
    assert plain.request("tasks/update", params).refusal == (400, -32602)
    assert plain.get(task_id) == before


# Questions before a task


def test_a_question_before_the_task_is_answered_before_there_is_a_task(client: Client) -> None:
    call: JSONObject = {"name": "purge_records", "arguments": {"days": 30}}
    asked = client.request("tools/call", call).result
    assert asked["resultType"] == "input_required"
    assert "taskId" not in asked
    state = {"requestState": asked["requestState"]}

    # Without the answer it is asked again.
    again = client.request("tools/call", {**call, **state, "inputResponses": {"other": {}}}).result
    assert again["inputRequests"] == asked["inputRequests"]

    key = next(iter(asked["inputRequests"]))
    answers = {"inputResponses": {key: accept(confirmed=True)}}
    handle = client.request("tools/call", {**call, **state, **answers}).result
    assert handle["resultType"] == "task"
    assert not {"requestState", "inputRequests"} & handle.keys()
    assert "30 days" in text_of(client.ended(handle["taskId"])["result"])


def test_state_that_is_not_ours_is_refused(plain: Client) -> None:
    call: JSONObject = {"name": "purge_records", "arguments": {}}
    state = plain.request("tools/call", call).result["requestState"]
    sealed = base64.urlsafe_b64decode(state)
    altered = base64.urlsafe_b64encode(sealed[:-1] + bytes([sealed[-1] ^ 1])).decode()
    for wrong in (altered, "", "!", "é", 7, state + "AAAA"):
        answer = plain.request("tools/call", {**call, "requestState": wrong})
        assert answer.refusal == (400, -32602), wrong
    other = {"name": "purge_records", "arguments": {"days": 1}, "requestState": state}
    assert plain.request("tools/call", other).refusal == (400, -32602)


def test_an_answer_that_was_not_asked_for_does_not_spare_the_question(plain: Client) -> None:
    call: JSONObject = {"name": "haggle_price", "arguments": {}}
    first = plain.request("tools/call", call, capabilities=ASKING).result
    responses = {"offer-1": accept(offer=1), "offer-2": accept(offer=2)}
    retry = {**call, "requestState": first["requestState"], "inputResponses": responses}
    second = plain.request("tools/call", retry, capabilities=ASKING).result
    assert set(second["inputRequests"]) == {"offer-2"}


# Cancelling


@pytest.mark.parametrize("tool", ["export_report", "book_table"])
def test_a_live_task_is_cancelled(client: Client, tool: str) -> None:
    task_id = client.create(tool)
    if tool == "book_table":
        client.asked(task_id)
    assert client.cancel(task_id).status == 200
    task = client.ended(task_id)
    assert task["status"] == "cancelled"
    assert not {"result", "error", "inputRequests"} & task.keys()
    client.cancel(task_id)
    client.update(task_id, {"table-1": accept(table="x")})
    assert client.get(task_id) == task


def test_cancelling_an_ended_task_changes_nothing(client: Client) -> None:
    for tool in ("shout", "sync_mailbox"):
        task = client.ended(client.create(tool))
        assert client.cancel(task["taskId"]).status == 200
        assert client.get(task["taskId"]) == task


def test_a_cancelled_notification_is_no_cancellation(plain: Client) -> None:
    task_id = plain.create("export_report")
    body = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1, "taskId": task_id},
    }
    answer = plain.post(json.dumps(body), plain.headers("notifications/cancelled", {}))
    assert answer.status == 202
    assert answer.http.content == b""
    assert plain.ended(task_id)["status"] == "completed"


def test_a_task_outlives_the_connection_of_its_handle(plain: Client) -> None:
    with httpx.Client(timeout=PATIENCE_SECONDS) as http:
        task_id = Client(plain.url, http).create("export_report")
    assert plain.ended(task_id)["status"] == "completed"


# Unknown tasks, methods, tools


ODD_IDS = {
    "unknown": "unknown",
    "empty": "",
    "long": "x" * 40_000,
    "path": "../../etc/passwd",
    "prototype": "__proto__",
    "quote": "' OR 1=1 --",
    "accented": "tâche",
    "emoji": "🚲",
    "null character": "a\x00b",
    "lone surrogate": "\ud800",
}


def encoded(value: str) -> str:
    data = value.encode("utf-8", "surrogatepass")
    return f"=?base64?{base64.b64encode(data).decode()}?="


@pytest.mark.parametrize("task_id", ODD_IDS.values(), ids=ODD_IDS)
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_an_id_that_names_no_task_is_invalid(plain: Client, method: str, task_id: str) -> None:
    name = task_id if task_id and task_id.isascii() and task_id.isprintable() else encoded(task_id)
    answer = plain.request(
        method, {"taskId": task_id, "inputResponses": {}}, headers={"Mcp-Name": name}
    )
    if task_id == "\ud800":
        # UTF-8 has no form for it, so no header can be right.
        assert answer.refusal == (400, -32020)
    else:
        assert answer.refusal == (400, -32602)
        assert answer.error["message"] == "Task not found"


@pytest.mark.parametrize("task_id", [ABSENT, None, 7, {}, [], True], ids=repr)
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_a_task_id_is_a_string(plain: Client, method: str, task_id: object) -> None:
    params: JSONObject = {"inputResponses": {}}
    if task_id is not ABSENT:
        params["taskId"] = task_id
    assert plain.request(method, params).refusal == (400, -32602)
    # What is wrong with the params is said before what is missing in the capabilities.
    assert plain.request(method, params, capabilities={}).refusal == (400, -32602)


@pytest.mark.parametrize(
    "method",
    ["tasks/result", "tasks/list", "tasks/delete", "ping", "initialize", "resources/list", ""],
)
def test_a_method_that_is_not_served_is_not_found(client: Client, method: str) -> None:
    answer = client.request(method, {"taskId": "x"})
    assert answer.refusal == (404, -32601)


def test_initialize_is_told_the_versions(plain: Client) -> None:
    legacy = {"protocolVersion": "2025-11-25", "capabilities": {}, "_meta": ABSENT}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": legacy}
    del legacy["_meta"]
    answer = plain.post(json.dumps(body), {"Content-Type": "application/json"})
    assert answer.status == 400
    assert answer.error["data"]["supported"] == [REVISION]
    assert REVISION in answer.error["message"]


def test_an_unknown_tool_is_invalid(client: Client) -> None:
    answer = client.call("no_such_tool")
    assert answer.refusal == (400, -32602)
    assert client.request("tools/call", {"arguments": {}}).refusal == (400, -32602)
    wrong = {"name": "shout", "arguments": [1]}
    assert client.request("tools/call", wrong).refusal == (400, -32602)


# Headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Method": ABSENT},
        {"Mcp-Method": "tasks/cancel"},
        {"Mcp-Method": "TASKS/GET"},
        {"Mcp-Name": ABSENT},
        {"Mcp-Name": "other"},
        {"Mcp-Name": encoded("other")},
        {"Mcp-Name": "=?base64?***?="},
        {"Mcp-Name": "=?BASE64?eA==?="},
        {"MCP-Protocol-Version": ABSENT},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"MCP-Protocol-Version": "1900-01-01"},
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_headers_must_agree_with_the_body(client: Client, method: str, headers: JSONObject) -> None:
    task_id = client.create("book_table")
    before = client.asked(task_id)
    if headers.get("Mcp-Method") == method:
        headers = {"Mcp-Method": "tasks/get"}
    params: JSONObject = {"taskId": task_id, "inputResponses": {"table-1": accept(table="x")}}
    assert client.request(method, params, headers=headers).refusal == (400, -32020)
    assert client.get(task_id) == before


def test_a_name_header_is_checked_for_tools_too(plain: Client) -> None:
    assert plain.call("shout", headers={"Mcp-Name": "greet"}).refusal == (400, -32020)
    assert plain.call("shout", headers={"Mcp-Name": ABSENT}).refusal == (400, -32020)
    assert plain.call("shout", headers={"Mcp-Name": encoded("shout")}).status == 200


def test_the_encoded_form_of_an_id_is_decoded(client: Client) -> None:
    task_id = client.create("shout")
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        params: JSONObject = {"taskId": task_id, "inputResponses": {}}
        answer = client.request(method, params, headers={"Mcp-Name": encoded(task_id)})
        assert answer.result["resultType"] == "complete"


def test_two_headers_that_contradict_each_other_are_a_mismatch(plain: Client) -> None:
    task_id = plain.create("shout")
    params = {"taskId": task_id}
    headers = [*plain.headers("tasks/get", params).items(), ("Mcp-Name", "other")]
    response = plain.http.post(
        plain.url, json=plain.body("tasks/get", params, None), headers=headers
    )
    assert response.json()["error"]["code"] == -32020


def test_header_names_are_case_insensitive(plain: Client) -> None:
    task_id = plain.create("shout")
    params = {"taskId": task_id}
    headers = {name.upper(): value for name, value in plain.headers("tasks/get", params).items()}
    body = json.dumps(plain.body("tasks/get", params, None))
    assert plain.post(body, headers).status == 200


def test_a_version_that_is_not_ours_is_named_with_those_that_are(client: Client) -> None:
    meta = {VERSION_KEY: "1900-01-01", CAPABILITIES_KEY: {}}
    answer = client.request(
        "server/discover", {"_meta": meta}, headers={"MCP-Protocol-Version": "1900-01-01"}
    )
    assert answer.refusal == (400, -32022)
    assert answer.error["data"] == {"supported": [REVISION], "requested": "1900-01-01"}


@pytest.mark.parametrize(
    "params",
    [
        {"_meta": None},
        {"_meta": {}},
        {"_meta": {VERSION_KEY: REVISION}},
        {"_meta": {CAPABILITIES_KEY: {}}},
        {"_meta": {VERSION_KEY: 20260728, CAPABILITIES_KEY: {}}},
        {"_meta": {VERSION_KEY: REVISION, CAPABILITIES_KEY: []}},
    ],
    ids=repr,
)
def test_meta_must_be_whole(client: Client, params: JSONObject) -> None:
    assert client.request("server/discover", params).refusal == (400, -32602)


def test_params_may_not_be_missing(plain: Client) -> None:
    assert plain.request("tools/list", members={"params": ABSENT}).refusal == (400, -32602)


# Bodies


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": NaN}', -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'"text"', -32600),
        (b"null", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "tools/list"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1e999, "method": "tools/list"}', -32600),
    ],
)
def test_a_body_that_is_no_request_is_refused_without_an_id(
    client: Client, body: bytes, code: int
) -> None:
    answer = client.post(body, client.headers("tools/list", {}))
    assert answer.refusal == (400, code)
    assert "id" not in answer.message


@pytest.mark.parametrize(
    "members",
    [{"jsonrpc": "1.0"}, {"jsonrpc": ABSENT}, {"method": 7}, {"method": ABSENT}, {"params": []}],
    ids=repr,
)
def test_a_broken_envelope_is_refused_with_its_id(client: Client, members: JSONObject) -> None:
    answer = client.request("tools/list", members={"id": "mine", **members})
    assert answer.refusal == (400, -32600)
    assert answer.message["id"] == "mine"


@pytest.mark.parametrize(
    "identifier", [0, -1, 7, 2**53, "", "7", "x" * 10_000, "ключ", "\ud800"], ids=repr
)
def test_an_id_comes_back_as_it_was(client: Client, identifier: Any) -> None:
    answer = client.request("server/discover", members={"id": identifier})
    assert answer.message["id"] == identifier
    assert type(answer.message["id"]) is type(identifier)


def test_what_is_unknown_is_passed_over(client: Client) -> None:
    meta = {VERSION_KEY: REVISION, CAPABILITIES_KEY: TASKS, "com.example/extra": [1]}
    params = {"name": "shout", "arguments": {"text": "a", "more": 1}, "_meta": meta, "extra": {}}
    assert client.request("tools/call", params, members={"extra": 1}).status == 200


@pytest.mark.parametrize("method", ["notifications/cancelled", "notifications/x", "tools/call"])
def test_a_notification_is_taken_without_an_answer(client: Client, method: str) -> None:
    answer = client.request(method, members={"id": ABSENT})
    assert answer.status == 202
    assert answer.http.content == b""


def test_a_body_that_is_too_long_is_refused(plain: Client) -> None:
    body = b" " * (8 * 1024 * 1024 + 1)
    assert plain.post(body, plain.headers("tools/list", {})).status == 413
    long = plain.call("shout", {"text": "x" * 1_000_000}, capabilities={})
    assert len(text_of(long.result)) == 1_000_001


# HTTP


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_post_is_served(plain: Client, method: str) -> None:
    response = plain.http.request(method, plain.url)
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:5173", 200),
        ("http://localhost", 200),
        ("https://localhost:8443", 200),
        ("http://[::1]:9000", 200),
        ("https://example.com", 403),
        ("http://localhost.example.com", 403),
        ("http://127.0.0.1@example.com", 403),
        ("http://[", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_only_local_pages_may_talk_to_the_server(plain: Client, origin: str, status: int) -> None:
    assert plain.request("server/discover", headers={"Origin": origin}).status == status


def test_no_session_is_kept(plain: Client) -> None:
    answer = plain.request("server/discover", headers={"Mcp-Session-Id": "old"})
    assert answer.status == 200
    assert "mcp-session-id" not in answer.http.headers


def test_errors_are_quiet(plain: Client) -> None:
    for answer in (
        plain.request("tasks/get", {"taskId": "x"}),
        plain.request("no/such/method"),
        plain.post(b"{", {}),
    ):
        assert not re.search(r"[/\\\n]|Traceback|sqlite|SELECT|\.py", answer.error["message"])


def test_a_crash_inside_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Server) -> JSONObject:
        raise KeyError("/secret/path")

    with client_of(Settings()) as client:
        monkeypatch.setattr(Server, "capabilities", broken)
        answer = client.request("server/discover")
    assert answer.refusal == (500, -32603)
    assert answer.error == {"code": -32603, "message": "Internal error"}


# Expiry and rate


def test_an_expired_task_is_gone_for_all_methods() -> None:
    with client_of(Settings(ttl_ms=150)) as client:
        handle = client.call("book_table").result
        task_id = handle["taskId"]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (answer := client.request("tasks/get", {"taskId": task_id})).status == 200:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        unknown = client.request("tasks/get", {"taskId": "unknown"})
        assert answer.error == unknown.error
        assert client.update(task_id, {"table-1": accept(table="x")}).refusal == (400, -32602)
        assert client.cancel(task_id).refusal == (400, -32602)
        with client.listen({"taskIds": [task_id]}) as messages:
            assert next(messages)["params"]["notifications"] == {"taskIds": []}


def test_one_tool_keeps_its_tasks_for_two_seconds(plain: Client) -> None:
    assert plain.call("peek_cache").result["ttlMs"] == 2000


def test_early_reads_are_refused_clearly() -> None:
    with client_of(Settings(rate_limit=True, poll_interval_ms=60_000)) as client:
        task_id = client.create("shout")
        assert client.request("tasks/get", {"taskId": task_id}).status == 200
        early = client.request("tasks/get", {"taskId": task_id})
        assert early.status == 429
        assert early.http.headers["retry-after"] == "1"
        assert early.error["code"] > -32000
        # Another task has a time of its own, and other methods are not reads.
        assert client.request("tasks/get", {"taskId": client.create("shout")}).status == 200
        assert client.cancel(task_id).status == 200


def test_a_read_after_the_interval_is_served() -> None:
    with client_of(Settings(rate_limit=True, poll_interval_ms=1)) as client:
        task_id = client.create("shout")
        for _ in range(5):
            time.sleep(0.001)
            assert client.request("tasks/get", {"taskId": task_id}).status == 200


# Callers


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[Client, Client]]:
    """Two callers of one server."""
    with client_of(Settings(tokens={"one": "ann", "two": "bob"})) as client:
        client.token = "one"
        yield client, Client(client.url, client.http, "two")


@pytest.mark.parametrize(
    "authorization", [ABSENT, "", "Bearer", "Bearer wrong", "Basic one", "one", "Bearer one two"]
)
def test_a_caller_must_be_known(two: tuple[Client, Client], authorization: object) -> None:
    answer = two[0].request("server/discover", headers={"Authorization": authorization})
    assert answer.status == 401
    assert answer.http.headers["www-authenticate"].startswith("Bearer")


def test_a_task_is_its_callers_alone(two: tuple[Client, Client]) -> None:
    owner, other = two
    task_id = owner.create("book_table")
    before = owner.asked(task_id)
    unknown = other.request("tasks/get", {"taskId": "unknown"})
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        params = {"taskId": task_id, "inputResponses": {"table-1": accept(table="x")}}
        answer = other.request(method, params)
        assert answer.refusal == unknown.refusal
        assert answer.error == unknown.error
    with other.listen({"taskIds": [task_id]}) as messages:
        assert next(messages)["params"]["notifications"] == {"taskIds": []}
    assert owner.get(task_id) == before


def test_state_is_bound_to_its_caller(two: tuple[Client, Client]) -> None:
    owner, other = two
    call: JSONObject = {"name": "purge_records", "arguments": {}}
    state = owner.request("tools/call", call).result["requestState"]
    assert other.request("tools/call", {**call, "requestState": state}).refusal == (400, -32602)
    again = owner.request("tools/call", {**call, "requestState": state})
    assert again.result["resultType"] == "input_required"


# Listening


def without_meta(params: JSONObject) -> JSONObject:
    return {name: value for name, value in params.items() if name not in {"_meta", "resultType"}}


@pytest.mark.parametrize("identifier", [7, "seven"])
def test_changes_of_agreed_tasks_are_told(client: Client, identifier: int | str) -> None:
    task_id, other = client.create("plan_trip"), client.create("book_table")
    client.asked(task_id)
    wanted = {"taskIds": [task_id, "unknown", task_id], "toolsListChanged": True}
    with client.listen(wanted, identifier=identifier) as messages:
        acknowledged = next(messages)
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["notifications"] == {"taskIds": [task_id]}
        seen = [next(messages)]
        client.cancel(other)
        for key in ("destination-1", "month-2"):
            client.update(task_id, {key: accept(destination="Rome", month="May")})
            seen.append(next(messages))
        while seen[-1]["params"]["status"] != "completed":
            seen.append(next(messages))
        assert without_meta(seen[-1]["params"]) == without_meta(client.get(task_id))
        for message in (acknowledged, *seen):
            assert message["params"]["_meta"] == {SUBSCRIPTION_KEY: identifier}
            assert "id" not in message
        assert {message["method"] for message in seen} == {"notifications/tasks"}
        assert {message["params"]["taskId"] for message in seen} == {task_id}
        open_keys = [sorted(message["params"].get("inputRequests", {})) for message in seen]
        assert open_keys[:2] == [["destination-1", "month-2"], ["month-2"]]


def test_listening_for_nothing_is_acknowledged(plain: Client) -> None:
    with plain.listen({"promptsListChanged": True}) as messages:
        assert next(messages)["params"]["notifications"] == {}


def test_listening_for_tasks_needs_the_declaration(client: Client) -> None:
    params: JSONObject = {"notifications": {"taskIds": [client.create("shout")]}}
    answer = client.request("subscriptions/listen", params, capabilities=ASKING)
    assert answer.refusal == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": TASKS}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": []},
        {"notifications": {"taskIds": "x"}},
        {"notifications": {"taskIds": [1]}},
    ],
    ids=repr,
)
def test_a_filter_must_be_well_formed(plain: Client, params: JSONObject) -> None:
    assert plain.request("subscriptions/listen", params).refusal == (400, -32602)


def test_listening_may_not_be_offered() -> None:
    with client_of(Settings(listen=False)) as client:
        params: JSONObject = {"notifications": {"taskIds": []}}
        assert client.request("subscriptions/listen", params).refusal == (404, -32601)


def test_a_quiet_stream_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "keep_alive_seconds", 0.02)
    with client_of(Settings()) as client:
        body = client.body("subscriptions/listen", {"notifications": {}}, None)
        headers = client.headers("subscriptions/listen", {})
        with client.http.stream("POST", client.url, json=body, headers=headers) as response:
            comments = (line for line in response.iter_lines() if line.startswith(":"))
            assert next(comments)
            assert next(comments)


def test_a_stream_that_the_server_ends_ends_with_its_response() -> None:
    with httpx.Client(timeout=PATIENCE_SECONDS) as http:
        with running(Settings()) as url:
            client = Client(url, http)
            context = client.listen({"taskIds": [client.create("book_table")]})
            messages = context.__enter__()
            assert next(messages)["method"] == "notifications/subscriptions/acknowledged"
        last = list(messages)[-1]
        context.__exit__(None, None, None)
    assert last["id"] == "listening"
    assert last["result"]["resultType"] == "complete"
    assert last["result"]["_meta"][SUBSCRIPTION_KEY] == "listening"


# Several processes


PROCESS = """
import sys
from pathlib import Path
from fixtures.reference.server import Server
from fixtures.serve import Settings, serve
Server.lease_seconds = 1.0
serve(Settings(store=Path(sys.argv[1]), work_seconds=float(sys.argv[2])),
      lambda url: print(url, flush=True))
"""


@contextlib.contextmanager
def process(store: Path, *, work_seconds: float = 0.3) -> Iterator[tuple[str, Any]]:
    """A server in a process of its own."""
    command = [sys.executable, "-c", PROCESS, str(store), str(work_seconds)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            yield started.stdout.readline().strip(), started
        finally:
            started.terminate()
            started.wait(PATIENCE_SECONDS)


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=PATIENCE_SECONDS) as http:
        yield http


def test_replicas_share_every_task(tmp_path: Path, http: httpx.Client) -> None:
    store = tmp_path / "tasks.sqlite"
    with process(store) as (first_url, _), process(store) as (second_url, _):
        first, second = Client(first_url, http), Client(second_url, http)

        # What one makes the other knows at once.
        for _ in range(10):
            assert second.get(first.create("shout"))["status"] in {"working", "completed"}

        # What one is told the other acts upon, and a listener hears of it.
        asking = first.create("book_table")
        second.asked(asking)
        with first.listen({"taskIds": [asking]}) as messages:
            next(messages)
            second.update(asking, {"table-1": accept(table="by the door")})
            last = next(m for m in messages if m["params"]["status"] == "completed")
        assert text_of(last["params"]["result"]) == "Booked for 2 guests: by the door."
        assert second.ended(asking) == first.ended(asking)

        # One cancels what the other works on.
        slow = first.create("export_report")
        second.cancel(slow)
        cancelled = first.ended(slow)
        assert cancelled["status"] == "cancelled"

        # Answers given to both at once count once.
        with ThreadPoolExecutor(2) as pool:
            racing = first.create("book_table")
            first.asked(racing)
            list(
                pool.map(
                    lambda client: client.update(racing, {"table-1": accept(table=client.url)}),
                    (first, second),
                )
            )
        assert first.ended(racing) == second.ended(racing)

        # State given out by one is good for the other.
        call: JSONObject = {"name": "purge_records", "arguments": {}}
        state = first.request("tools/call", call).result["requestState"]
        responses = {"confirmation-1": accept(confirmed=True)}
        retry = {**call, "requestState": state, "inputResponses": responses}
        assert second.request("tools/call", retry).result["resultType"] == "task"

        # Both wrote, and neither changed what had ended.
        assert first.get(slow) == second.get(slow) == cancelled


def test_a_new_store_can_be_opened_by_several_at_once(tmp_path: Path) -> None:
    def open_and_close(number: int) -> None:
        Store(tmp_path / "tasks.sqlite").close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(open_and_close, range(8)))


def test_a_store_that_cannot_be_used_is_said_at_once(tmp_path: Path) -> None:
    no_store = tmp_path / "text"
    no_store.write_text("This is not a database." * 100, encoding="utf-8")
    for path in (no_store, tmp_path / "missing" / "tasks.sqlite"):
        with pytest.raises(sqlite3.Error), running(Settings(store=path)):
            pass


def test_after_an_orderly_stop_no_task_is_left_unfinished(
    tmp_path: Path, http: httpx.Client
) -> None:
    store = tmp_path / "tasks.sqlite"
    with process(store, work_seconds=60) as (url, started):
        client = Client(url, http)
        slow, asking, done = (client.create(t) for t in ("export_report", "book_table", "shout"))
        client.asked(asking)
        before = client.ended(done)
        started.send_signal(signal.SIGTERM)
        assert started.wait(PATIENCE_SECONDS) == 0
    with process(store) as (url, _):
        client = Client(url, http)
        for task_id in (slow, asking):
            task = client.get(task_id)
            assert task["status"] == "failed"
            assert task["error"]["code"] == -32603
            assert task["statusMessage"]
        assert client.get(done) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_the_tasks_of_a_process_that_died_fail(tmp_path: Path, http: httpx.Client) -> None:
    store = tmp_path / "tasks.sqlite"
    with process(store) as (other_url, _), process(store, work_seconds=60) as (url, started):
        task_id = Client(url, http).create("export_report")
        other = Client(other_url, http)
        started.kill()
        started.wait(PATIENCE_SECONDS)
        task = other.ended(task_id)
        assert task["status"] == "failed"
        assert task["error"]["code"] == -32603


# The official names


def test_the_tools_of_the_official_suite_are_offered_on_request(plain: Client) -> None:
    names = {tool["name"] for tool in plain.request("tools/list").result["tools"]}
    assert len(names) == 20
    assert text_of(plain.call("greet", {"name": "Ada"}).result) == "Hello, Ada!"
    assert plain.call("failing_job", capabilities=ASKING).refusal == (400, -32021)
    assert plain.ended(plain.create("failing_job"))["result"]["isError"] is True
    assert plain.ended(plain.create("protocol_error_job"))["status"] == "failed"
    assert plain.ended(plain.create("slow_compute", {"seconds": 0}))["status"] == "completed"
    result = to_the_end(plain, "test_tool_with_task", (accept(name="Alice"),), EVERYTHING)
    assert "Alice" in text_of(result)
    result = to_the_end(plain, "confirm_delete", (accept(confirm=True),), EVERYTHING)
    assert text_of(result) == "draft.txt: deleted."
    result = to_the_end(plain, "multi_input", (accept(name="Bo", confirm=True),), EVERYTHING)
    assert text_of(result) == "name: Bo, confirm: True"


# The client that leaves


def test_a_client_that_leaves_cancels_its_plain_call() -> None:
    started, stopped = threading.Event(), threading.Event()

    async def wait(work: Work, arguments: Arguments) -> JSONObject:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return text_result("never")

    name = "test-a-tool-that-waits"

    @variant(name)
    class Waiting(Server):
        """Has one tool, which waits."""

        def tools(self) -> tuple[Tool, ...]:
            return (Tool("wait", "Waits.", wait, {}),)

    try:
        with client_of(Settings(variant=name)) as client:
            params: JSONObject = {"name": "wait", "arguments": {}}
            request = client.http.build_request(
                "POST",
                client.url,
                json=client.body("tools/call", params, {}),
                headers=client.headers("tools/call", params),
            )
            head = [f"POST {request.url.path} HTTP/1.1"]
            head += [f"{name}: {value}" for name, value in request.headers.items()]
            with socket.create_connection((request.url.host, request.url.port or 80)) as connection:
                connection.sendall("\r\n".join([*head, "", ""]).encode() + request.content)
                assert started.wait(PATIENCE_SECONDS)
                assert not stopped.is_set()
            assert stopped.wait(PATIENCE_SECONDS)
    finally:
        del VARIANTS[name]


# Faults and variants


def test_every_fault_and_variant_is_explained() -> None:
    entries: dict[str, Fault | Variant] = {**load_faults(), **load_variants()}
    for name, entry in entries.items():
        assert entry.name == name
        assert entry.summary.endswith(".")
        assert issubclass(entry.server, Server)


def test_a_name_is_used_once() -> None:
    load_faults()
    with pytest.raises(ValueError, match="two faults named handle-nested"):
        fault("handle-nested", breaks="creation.shape")(Server)
    load_variants()
    with pytest.raises(ValueError, match="two variants named null-ttl"):
        variant("null-ttl")(Server)
    assert FAULTS["handle-nested"].server is not Server


@pytest.mark.parametrize(
    "settings",
    [Settings(fault="no"), Settings(variant="no"), Settings(fault="a", variant="b")],
)
def test_a_fault_or_variant_must_exist(settings: Settings) -> None:
    with pytest.raises(ValueError), running(settings):
        pass


@contextlib.contextmanager
def faulty(name: str) -> Iterator[Client]:
    with client_of(Settings(fault=name)) as client:
        yield client


def test_example_faults_are_wrong_in_one_thing() -> None:
    with faulty("unknown-id-obsolete-code") as client:
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            params: JSONObject = {"taskId": "x", "inputResponses": {}}
            assert client.request(method, params).error["code"] == -32001
    with faulty("handle-nested") as client:
        assert set(client.call("shout").result) == {"resultType", "task", "_meta"}
    with faulty("handle-before-store") as client:
        task_id = client.create("shout")
        assert client.request("tasks/get", {"taskId": task_id}).error["code"] == -32602
        assert client.ended(task_id)["status"] == "completed"
    with faulty("get-result-type-task") as client:
        assert client.get(client.create("shout"))["resultType"] == "task"
    with faulty("cancel-overwrites-terminal") as client:
        task_id = client.create("shout")
        assert client.ended(task_id)["status"] == "completed"
        client.cancel(task_id)
        assert client.get(task_id)["status"] == "cancelled"
    with faulty("mcp-name-ignored") as client:
        params = {"taskId": client.create("shout")}
        assert client.request("tasks/get", params, headers={"Mcp-Name": "x"}).status == 200


def test_example_variants_differ_in_one_thing() -> None:
    with client_of(Settings(variant="seconds-in-times")) as client:
        assert len(client.call("shout").result["createdAt"]) == len("2026-07-28T12:00:00Z")
    with client_of(Settings(variant="null-ttl")) as client:
        assert client.call("peek_cache").result["ttlMs"] is None
    with client_of(Settings(variant="uuid-ids")) as client:
        assert client.create("shout").count("-") == 4
