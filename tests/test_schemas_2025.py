"""The schemas of 2025-11-25 are sound, and say what the text of that revision says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from conformance.places import schemas_directory
from conformance.specification.schemas import messages, problems, validator

REVISION = "2025-11-25"
FILES = sorted((schemas_directory() / REVISION).glob("*.json"))

TASK = {
    "taskId": "t",
    "status": "working",
    "createdAt": "2025-11-25T12:00:00Z",
    "lastUpdatedAt": "2025-11-25T12:00:00Z",
    "ttl": None,
}


def told(message: str, value: object) -> list[str]:
    return [problem.sentence for problem in problems(REVISION, message, value)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_file_is_a_json_schema(file: Path) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["$id"] == f"urn:mcp-tasks-conformance:{REVISION}:{file.stem}"
    Draft202012Validator.check_schema(document)


def test_names_are_unique_and_compile() -> None:
    names = [n for f in FILES for n in json.loads(f.read_text(encoding="utf-8"))["$defs"]]
    assert sorted(names) == list(messages(REVISION))
    for name in names:
        validator(REVISION, name)


def test_references_lead_somewhere_in_this_revision() -> None:
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in FILES]
    targets = {f"{d['$id']}#/$defs/{name}" for d in documents for name in d["$defs"]}
    for document in documents:
        text = json.dumps(document)
        for part in text.split('"$ref": "')[1:]:
            reference = part.partition('"')[0]
            whole = document["$id"] + reference if reference.startswith("#") else reference
            assert whole in targets


@pytest.mark.parametrize("member", list(TASK))
@pytest.mark.parametrize(
    "message", ["Task", "GetTaskResult", "CancelTaskResult", "TaskStatusNotificationParams"]
)
def test_each_member_of_a_task_is_required(message: str, member: str) -> None:
    assert told(message, TASK) == []
    lacking = {name: value for name, value in TASK.items() if name != member}
    assert len(told(message, lacking)) == 1
    assert told(message, lacking)[0].startswith(f"/{member}: ")


def test_the_handle_is_nested() -> None:
    assert told("CreateTaskResult", {"task": TASK}) == []
    flat = told("CreateTaskResult", TASK)
    assert len(flat) == 1
    assert flat[0].startswith("/task: ")


@pytest.mark.parametrize("member", ["ttl", "pollInterval"])
def test_durations_are_numbers(member: str) -> None:
    assert told("Task", {**TASK, member: 1.5}) == []
    assert told("Task", {**TASK, member: "60"}) != []


def test_a_url_elicitation_has_an_id() -> None:
    params = {"mode": "url", "message": "Go", "url": "https://x.example/"}
    assert told("ElicitRequestParams", {**params, "elicitationId": "e"}) == []
    assert told("ElicitRequestParams", params) != []


@pytest.mark.parametrize("support", ["forbidden", "optional", "required", "never", None])
def test_task_support_has_three_values(support: object) -> None:
    tool = {
        "name": "n",
        "inputSchema": {"type": "object"},
        "execution": {"taskSupport": support},
    }
    assert bool(told("Tool", tool)) == (support in ("never", None))
