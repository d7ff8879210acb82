"""The test subjects are what they claim to be. They are driven by hand, without the suite."""

import itertools
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.subjects import SubjectDidNotStart, announced, running
from tests.subjects.misbehaving import KINDS
from tests.subjects.tutorial import SEEDS_VARIABLE, extract

EXTENSION = "io.modelcontextprotocol/tasks"
PREFIX = "io.modelcontextprotocol/"
VERSION = "2026-07-28"
LIMIT_SECONDS = 15.0


class Caller:
    """A client of a few lines that declares the extension unless told not to."""

    def __init__(self, url: str, client: httpx.Client) -> None:
        self.url = url
        self.client = client
        self.identifiers = itertools.count(1)

    def post(
        self, method: str, params: dict[str, Any] | None = None, *, declare: bool = True
    ) -> httpx.Response:
        params = params or {}
        extensions: dict[str, Any] = {EXTENSION: {}} if declare else {}
        meta = {
            PREFIX + "protocolVersion": VERSION,
            PREFIX + "clientInfo": {"name": "subject-test", "version": "1"},
            PREFIX + "clientCapabilities": {"elicitation": {}, "extensions": extensions},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": method,
        }
        name = params.get("name") or params.get("taskId")
        if name:
            headers["Mcp-Name"] = name
        body = {
            "jsonrpc": "2.0",
            "id": next(self.identifiers),
            "method": method,
            "params": {**params, "_meta": meta},
        }
        return self.client.post(self.url, json=body, headers=headers)

    def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        body = self.post(method, params).json()
        assert "result" in body, body
        result: dict[str, Any] = body["result"]
        return result

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.result("tools/call", {"name": tool, "arguments": arguments or {}})

    def until(self, task_id: str, *states: str) -> dict[str, Any]:
        """Poll until the task is in one of the states."""
        end = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < end:
            task = self.result("tasks/get", {"taskId": task_id})
            if task["status"] in states:
                return task
            time.sleep(0.02)
        raise AssertionError(f"{task_id} did not become {states}: {task}")

    def answer(self, task: dict[str, Any], content: dict[str, str]) -> None:
        """Accept every open request with the same content."""
        responses = {key: {"action": "accept", "content": content} for key in task["inputRequests"]}
        self.result("tasks/update", {"taskId": task["taskId"], "inputResponses": responses})


@contextmanager
def calling(subject: str, *arguments: str, timeout: float = 10.0) -> Iterator[Caller]:
    """Start a subject and yield a caller of it."""
    with (
        running(subject, *arguments) as url,
        httpx.Client(timeout=timeout, trust_env=False) as client,
    ):
        yield Caller(url, client)


@pytest.fixture(scope="module")
def warehouse() -> Iterator[Caller]:
    pytest.importorskip("fastmcp_tasks", reason="the subject is written with fastmcp[tasks]")
    with calling("fastmcp_server", "0.1") as caller:
        yield caller


def text(task: dict[str, Any]) -> str:
    written: str = task["result"]["content"][0]["text"]
    return written


def test_fastmcp_offers_the_extension(warehouse: Caller) -> None:
    assert warehouse.result("server/discover")["capabilities"]["extensions"][EXTENSION] == {}


def test_fastmcp_exports_slowly(warehouse: Caller) -> None:
    handle = warehouse.call("export_inventory", {"rows": 12})
    assert handle["resultType"] == "task"
    assert handle["pollIntervalMs"] == 100
    assert warehouse.until(handle["taskId"], "working")["status"] == "working"
    done = warehouse.until(handle["taskId"], "completed")
    assert text(done) == "Exported 12 rows to inventory.csv."


def test_fastmcp_answers_quick_calls_at_once(warehouse: Caller) -> None:
    assert warehouse.call("count_items")["resultType"] == "complete"


def test_fastmcp_tells_a_tool_error_from_a_protocol_error(warehouse: Caller) -> None:
    tool_error = warehouse.call("read_barcode", {"code": "1"})["taskId"]
    assert warehouse.until(tool_error, "completed", "failed")["result"]["isError"] is True
    protocol_error = warehouse.call("check_supplier")["taskId"]
    assert warehouse.until(protocol_error, "completed", "failed")["error"]["code"] == 4100


def test_fastmcp_asks_one_question(warehouse: Caller) -> None:
    task_id = warehouse.call("quote_delivery")["taskId"]
    waiting = warehouse.until(task_id, "input_required")
    assert len(waiting["inputRequests"]) == 1
    warehouse.answer(waiting, {"city": "Oslo"})
    assert "Oslo" in text(warehouse.until(task_id, "completed"))


def test_fastmcp_asks_two_questions_at_once(warehouse: Caller) -> None:
    task_id = warehouse.call("compare_offers")["taskId"]
    waiting = warehouse.until(task_id, "input_required")
    assert len(waiting["inputRequests"]) == 2
    warehouse.answer(waiting, {"supplier": "Acme"})
    assert text(warehouse.until(task_id, "completed")).startswith("First: Acme. Second: Acme.")


def test_fastmcp_asks_again_after_an_answer(warehouse: Caller) -> None:
    task_id = warehouse.call("find_replacement")["taskId"]
    first = warehouse.until(task_id, "input_required")
    warehouse.answer(first, {"part": "bolt"})
    end = time.monotonic() + LIMIT_SECONDS
    second = first
    while set(second.get("inputRequests", first["inputRequests"])) == set(first["inputRequests"]):
        assert time.monotonic() < end, second
        second = warehouse.until(task_id, "working", "input_required")
    warehouse.answer(second, {"colour": "red"})
    assert text(warehouse.until(task_id, "completed")).startswith("Part: bolt. Colour: red.")


def test_fastmcp_dumps_much(warehouse: Caller) -> None:
    task_id = warehouse.call("dump_movements")["taskId"]
    assert len(text(warehouse.until(task_id, "completed"))) == 300 * 1024


def test_fastmcp_has_a_tool_that_is_only_a_task(warehouse: Caller) -> None:
    call = {"name": "forecast_demand", "arguments": {}}
    refused = warehouse.post("tools/call", call, declare=False)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32021)
    assert warehouse.call("forecast_demand")["resultType"] == "task"


def test_the_tutorial_server_nests_its_handle(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    starter = extract(tmp_path)
    if starter is None:
        pytest.skip("there is no copy of the tutorial beside the checkout")
    with announced([node, str(starter), "0"]) as url:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "export_report", "arguments": {"rows": 5}},
        }
        answered = httpx.post(url, json=body, trust_env=False).json()
    assert answered["result"]["task"]["status"] == "working"


def test_without_the_article_there_is_no_tutorial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SEEDS_VARIABLE, str(tmp_path))
    assert extract(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_initialize_only_wants_a_handshake() -> None:
    with calling("initialize_only") as caller:
        modern = caller.post("server/discover")
        assert (modern.status_code, modern.json()["error"]["code"]) == (400, -32000)
        first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        started = caller.client.post(caller.url, json=first)
        assert started.json()["result"]["protocolVersion"] == "2025-11-25"
        session = {"Mcp-Session-Id": started.headers["mcp-session-id"]}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        listed = caller.client.post(caller.url, json=listing, headers=session)
        assert listed.json()["result"]["tools"][0]["name"] == "roll_dice"


def test_never_tasks_offers_the_extension_and_makes_no_task() -> None:
    with calling("never_tasks") as caller:
        assert EXTENSION in caller.result("server/discover")["capabilities"]["extensions"]
        assert caller.call("define_word", {"word": "yawl"})["resultType"] == "complete"
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            params = {"taskId": "none", "inputResponses": {}}
            assert caller.post(method, params).json()["error"]["code"] == -32602
            undeclared = caller.post(method, params, declare=False)
            assert (undeclared.status_code, undeclared.json()["error"]["code"]) == (400, -32021)


def test_never_tasks_really_deletes() -> None:
    with calling("never_tasks") as caller:
        caller.call("delete_word", {"word": "yawl"})
        defined = caller.call("define_word", {"word": "yawl"})
        assert defined["content"][0]["text"] == "yawl: not in the dictionary"


def test_no_extension_knows_no_tasks() -> None:
    with calling("no_extension") as caller:
        assert "extensions" not in caller.result("server/discover")["capabilities"]
        unknown = caller.post("tasks/get", {"taskId": "none"})
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, -32601)


STATUSES = {
    "html": 200,
    "empty": 200,
    "unauthorized": 401,
    "not_json": 200,
    "wrong_content_type": 200,
    "redirect_elsewhere": 307,
    "internal_error": 500,
}


@pytest.mark.parametrize("kind", sorted(STATUSES))
def test_misbehaving_answers_with_its_status(kind: str) -> None:
    with calling("misbehaving", kind) as caller:
        assert caller.post("server/discover").status_code == STATUSES[kind]


def test_misbehaving_never_answers() -> None:
    hanging = calling("misbehaving", "hanging", timeout=0.5)
    with hanging as caller, pytest.raises(httpx.ReadTimeout):
        caller.post("server/discover")


def test_misbehaving_resets_the_connection() -> None:
    with calling("misbehaving", "reset") as caller, pytest.raises(httpx.ReadError):
        caller.post("server/discover")


def test_misbehaving_drips_its_answer() -> None:
    with (
        calling("misbehaving", "slow_drip") as caller,
        caller.client.stream("POST", caller.url, json={}) as dripping,
    ):
        assert dripping.status_code == 200
        assert len(next(dripping.iter_raw())) < int(dripping.headers["content-length"])


def test_every_kind_of_misbehaviour_is_tried_here() -> None:
    assert set(KINDS) == {*STATUSES, "hanging", "reset", "slow_drip"}


def test_a_subject_that_does_not_start_says_why() -> None:
    starting = running("misbehaving", "no_such_kind")
    with pytest.raises(SubjectDidNotStart, match="no_such_kind is none of"):
        starting.__enter__()
