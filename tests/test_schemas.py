"""The schemas are sound, and what they say of a wrong value can be read and relied upon."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conformance.places import schemas_directory
from conformance.specification.schemas import (
    PROBLEM_LIMIT,
    VALUE_LIMIT,
    Problem,
    definitions,
    messages,
    problems,
    validator,
)

REVISION = "2026-07-28"
FILES = sorted((schemas_directory() / REVISION).glob("*.json"))
IDENTIFIER = f"urn:mcp-tasks-conformance:{REVISION}:"

TASK = {
    "resultType": "complete",
    "taskId": "t-1",
    "status": "working",
    "createdAt": "2026-08-01T09:00:00Z",
    "lastUpdatedAt": "2026-08-01T09:00:00Z",
    "ttlMs": None,
}


def told(message: str, value: object) -> list[str]:
    return [problem.sentence for problem in problems(REVISION, message, value)]


def nodes(schema: Any) -> list[dict[str, Any]]:
    """Every object of a schema file, the names of properties left aside."""
    if isinstance(schema, list):
        return [node for each in schema for node in nodes(each)]
    if not isinstance(schema, dict):
        return []
    below = [
        node
        for key, each in schema.items()
        for part in (each.values() if key in ("properties", "$defs") else [each])
        for node in nodes(part)
    ]
    return [schema, *below]


# --- the files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_file_is_a_json_schema(file: Path) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert document["$id"] == IDENTIFIER + file.stem
    Draft202012Validator.check_schema(document)


def test_names_are_unique_and_every_reference_leads_to_one() -> None:
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in FILES]
    names = [name for document in documents for name in document["$defs"]]
    assert len(names) == len(set(names))
    assert sorted(names) == list(messages(REVISION))
    targets = {
        f"{document['$id']}#/$defs/{name}" for document in documents for name in document["$defs"]
    }
    for document in documents:
        for node in nodes(document):
            if "$ref" in node:
                reference = node["$ref"]
                whole = document["$id"] + reference if reference[0] == "#" else reference
                assert whole in targets
                assert set(node) == {"$ref"}, "a reference stands alone"


def test_schemas_use_only_keywords_that_can_be_put_into_words() -> None:
    known = {
        "title", "type", "properties", "required", "items", "additionalProperties", "enum", "const",
        "minimum", "maximum", "maxProperties", "anyOf", "allOf", "if", "then", "else",
    }  # fmt: skip
    for schema in definitions(REVISION).values():
        for node in nodes(schema):
            assert set(node) <= known


def test_what_may_be_any_branch_is_an_object_and_says_what_the_branches_are() -> None:
    for schema in definitions(REVISION).values():
        for node in nodes(schema):
            for branch in node.get("anyOf", ()):
                assert branch["title"]


# --- the interface -----------------------------------------------------------------------------


def test_a_validator_is_compiled_once() -> None:
    assert validator(REVISION, "GetTaskResult") is validator(REVISION, "GetTaskResult")
    assert validator(REVISION, "GetTaskResult").is_valid(TASK)
    assert not validator(REVISION, "GetTaskResult").is_valid({})


def test_importing_the_module_does_not_import_jsonschema() -> None:
    script = (
        "import sys, conformance.specification.schemas\n"
        "sys.exit('jsonschema' in sys.modules)"
    )  # fmt: skip
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("revision", ["2024-11-05", "", ".", "..", "../schemas/2026-07-28"])
def test_unknown_revision(revision: str) -> None:
    with pytest.raises(LookupError, match="no schemas for revision"):
        problems(revision, "Task", {})


def test_unknown_message() -> None:
    with pytest.raises(LookupError, match="has no message 'Tusk'"):
        problems(REVISION, "Tusk", {})


# --- the words ---------------------------------------------------------------------------------


def test_a_problem_says_where_what_and_instead_of_what() -> None:
    without = {name: value for name, value in TASK.items() if name != "ttlMs"}
    assert problems(REVISION, "GetTaskResult", without) == [
        Problem("/ttlMs", "an integer or null", "nothing", "required")
    ]
    assert told("GetTaskResult", without) == [
        "/ttlMs: expected an integer or null, found nothing"
    ]  # fmt: skip
    assert told("GetTaskResult", []) == ["the message: expected an object, found an array"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("60", 'the string "60"'),
        ("", 'the string ""'),
        (True, "true"),
        (5.5, "the number 5.5"),
        ({}, "an object"),
        ([], "an array"),
    ],
)
def test_found_is_put_into_words(found: object, words: str) -> None:
    (problem,) = problems(REVISION, "Task", {**TASK, "ttlMs": found})
    assert problem.found == words


def test_null_where_a_string_is_due() -> None:
    assert told("Task", {**TASK, "taskId": None}) == ["/taskId: expected a string, found null"]


def test_a_pointer_escapes_what_a_name_may_hold() -> None:
    value = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": 1}}
    (problem,) = problems(REVISION, "UpdateTaskResult", value)
    assert problem.path == "/_meta/io.modelcontextprotocol~1serverInfo"
    (problem,) = problems(REVISION, "InputRequests", {"a~/b": 1})
    assert problem.path == "/a~0~1b"


@pytest.mark.parametrize(
    ("message", "value", "sentence"),
    [
        (
            "GetTaskResult",
            {**TASK, "status": "completed"},
            "/result: expected an object, found nothing",
        ),
        (
            "GetTaskResult",
            {**TASK, "status": "done"},
            '/status: expected "working", "input_required", "completed", "failed" or "cancelled",'
            ' found the string "done"',
        ),
        (
            "CallToolResult",
            {"resultType": "complete", "content": [{"type": "text"}]},
            "/content/0/text: expected a string, found nothing",
        ),
        (
            "InputRequests",
            {"a": {"method": "elicitation/create", "params": {"mode": "url", "message": "m"}}},
            "/a/params/url: expected a string, found nothing",
        ),
        (
            "CreateTaskResult",
            {**TASK, "resultType": "complete"},
            '/resultType: expected "task", found the string "complete"',
        ),
        (
            "MissingRequiredClientCapabilityError",
            {
                "jsonrpc": "2.0",
                "id": 1,
                "error": {"code": -32003, "message": "m", "data": {"requiredCapabilities": {}}},
            },
            "/error/code: expected -32021, found the integer -32003",
        ),
    ],
)
def test_a_discriminator_picks_what_is_explained(
    message: str, value: object, sentence: str
) -> None:
    assert told(message, value) == [sentence]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            {"action": "yes"},
            '/a/action: expected "accept", "decline" or "cancel", found the string "yes"',
        ),
        ({"roots": [{}]}, "/a/roots/0/uri: expected a string, found nothing"),
        (
            {"role": "user", "content": []},
            "/a/model: expected a string, found nothing",
        ),
        (
            {"value": 1},
            "/a: expected an elicitation answer, a sampling answer or a list of roots,"
            ' found an object with "value"',
        ),
        (
            {},
            "/a: expected an elicitation answer, a sampling answer or a list of roots,"
            " found an empty object",
        ),
        (5, "/a: expected an object, found the integer 5"),
    ],
)
def test_without_a_discriminator_the_closest_branch_is_explained(
    answer: object, sentence: str
) -> None:
    assert told("InputResponses", {"a": answer}) == [sentence]


def test_the_order_is_that_of_the_schema_and_of_the_value() -> None:
    assert [problem.path for problem in problems(REVISION, "Task", {})] == [
        "/taskId", "/status", "/createdAt", "/lastUpdatedAt", "/ttlMs",
    ]  # fmt: skip
    names = ["z", "a", "m", "b", "y", "c"]
    found = problems(REVISION, "InputRequests", dict.fromkeys(names))
    assert [problem.path for problem in found] == [f"/{name}" for name in names]


# --- integers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["5", "5.0", "1e3", "-0.0", "0", "9007199254740991"])
def test_an_integer_is_a_number_without_a_fraction(text: str) -> None:
    assert told("Task", {**TASK, "ttlMs": json.loads(text)}) == []


@pytest.mark.parametrize("text", ["5.5", "1e-3", "true", '"5"', "1e400", "NaN", "1e300"])
def test_what_is_no_integer_or_too_large_for_one(text: str) -> None:
    assert len(told("Task", {**TASK, "ttlMs": json.loads(text)})) == 1


def test_true_is_no_number_and_a_number_is_no_constant_of_another_type() -> None:
    assert told("RequestId", True) == ["the message: expected a string or an integer, found true"]
    error = {"jsonrpc": "2.0", "error": {"code": True, "message": "m"}}
    assert told("HeaderMismatchError", error) == ["/error/code: expected -32020, found true"]
    assert told("HeaderMismatchError", {**error, "error": {"code": -32020.0, "message": ""}}) == []


# --- hostile values ----------------------------------------------------------------------------


@cache  # to build it takes far longer than to judge it
def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_depth_is_no_problem_where_any_value_may_stand() -> None:
    value = {"resultType": "complete", "content": [], "structuredContent": deep(100_000)}
    assert told("CallToolResult", value) == []


@pytest.mark.parametrize("message", messages(REVISION))
def test_a_deep_value_never_overflows_the_stack(message: str) -> None:
    assert problems(REVISION, message, deep(100_000))


def test_a_deep_value_where_a_word_is_due() -> None:
    assert told("Task", {**TASK, "taskId": deep(100_000)}) == [
        "/taskId: expected a string, found an array"
    ]
    (problem,) = problems(REVISION, "Task", {**TASK, "status": deep(100_000)})
    assert problem.found == "an array"
    (problem,) = problems(REVISION, "InputResponse", {"value": deep(100_000)})
    assert problem.found == 'an object with "value"'


def test_long_values_are_cut() -> None:
    (problem,) = problems(REVISION, "Task", {**TASK, "ttlMs": "9" * 1_000_000})
    assert problem.found == 'the string "' + "9" * (VALUE_LIMIT - 2) + "…"
    (problem,) = problems(REVISION, "InputResponse", {"n" * 1_000_000: 1})
    assert len(problem.found) < 2 * VALUE_LIMIT
    (problem,) = problems(REVISION, "InputRequests", {"n" * 1_000_000: 1})
    assert len(problem.path) == 1_000_001
    assert len(problem.sentence) < 3 * VALUE_LIMIT
    (problem,) = problems(REVISION, "Task", {**TASK, "taskId": 10**5000})
    assert problem.found == "a very large integer"


def test_a_sentence_is_one_line_that_can_be_encoded() -> None:
    for text in ("a\nb", "a\u2028b", "\ud800", "\x1b[31m", "\u202egnp"):
        (problem,) = problems(REVISION, "Task", {**TASK, "ttlMs": text})
        (named,) = problems(REVISION, "InputRequests", {text: 1})
        (unlike,) = problems(REVISION, "InputResponse", {text: 1})
        for sentence in (problem.sentence, named.sentence, unlike.sentence):
            assert sentence.isprintable()
            assert sentence.encode()


def test_problems_are_few() -> None:
    found = problems(REVISION, "CallToolResult", {"resultType": "", "content": [1] * 100_000})
    assert [problem.path for problem in found] == [f"/content/{at}" for at in range(PROBLEM_LIMIT)]
