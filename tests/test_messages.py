"""The message corpus and the schemas agree, and neither says more than the other.

Every example is judged as it says. Then each word of the schemas is weakened in turn, and the
corpus must notice: there is no required member, type, value or branch without an example that is
wrong in just that, and no member without an example that has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from conformance.places import schemas_directory
from conformance.specification.schemas import (
    compiled,
    definitions,
    explained,
    inlined,
    messages,
    problems,
)
from fixtures.messages.make import FOLDER, files

REVISION = "2026-07-28"
DOCUMENTS = [
    json.loads(file.read_text(encoding="utf-8"))
    for file in sorted((schemas_directory() / REVISION).glob("*.json"))
]
WRITTEN = {name: schema for each in DOCUMENTS for name, schema in each["$defs"].items()}


@cache
def examples(message: str) -> list[dict[str, Any]]:
    return [line for line in corpus() if line["message"] == message]


@cache
def corpus() -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for file in sorted(FOLDER.glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def test_the_files_are_what_the_script_writes() -> None:
    committed = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
    assert committed == files()


def test_each_topic_has_a_schema_file_and_a_corpus_file() -> None:
    topics = {each["$id"].rpartition(":")[2]: set(each["$defs"]) for each in DOCUMENTS}
    named = {
        file.stem: {json.loads(line)["message"] for line in file.open(encoding="utf-8")}
        for file in FOLDER.iterdir()
    }
    assert named == topics


@pytest.mark.parametrize("message", messages(REVISION))
def test_examples_are_judged_as_they_say(message: str) -> None:
    lines = examples(message)
    assert {line["valid"] for line in lines} == {True, False}
    for line in lines:
        found = problems(REVISION, message, line["value"])
        expected = [] if line["valid"] else [line["problem"]]
        assert [
            {"path": problem.path, "keyword": problem.keyword} for problem in found
        ] == expected, (line["why"], [problem.sentence for problem in found])


def test_the_plain_library_reads_the_schemas_the_same_way() -> None:
    """The files mean what JSON Schema says, whatever we do to explain them."""
    registry: Any = Registry().with_resources(
        (each["$id"], Resource.from_contents(each)) for each in DOCUMENTS
    )
    for document in DOCUMENTS:
        for message in document["$defs"]:
            plain = Draft202012Validator(
                {"$ref": f"{document['$id']}#/$defs/{message}"}, registry=registry
            )
            for line in examples(message):
                assert plain.is_valid(line["value"]) == line["valid"], (message, line["why"])


# --- every word of the schemas changed ---------------------------------------------------------

NEVER = {"const": "example.org/never"}
"""A schema that no example meets."""


def altered(schema: Any) -> Iterator[tuple[str, Any]]:
    """Every way to change one word of a schema, each with the whole schema so changed."""
    for keyword, value in schema.items():
        rest = {key: each for key, each in schema.items() if key != keyword}
        if keyword == "$ref":
            yield "$ref dropped", {}
            target = referred(value)
            kept = {key: each for key, each in target.items() if key in ("title", "type")}
            if "type" in kept and kept != target:
                yield f"only the type of {value}", kept
        elif keyword == "required":
            for name in value:
                yield f"{name} not required", {**schema, keyword: [n for n in value if n != name]}
        elif keyword == "properties":
            for name, member in value.items():
                yield f"{name} forbidden", {**schema, keyword: {**value, name: NEVER}}
                for what, changed in altered(member):
                    yield f"{name}: {what}", {**schema, keyword: {**value, name: changed}}
        elif keyword in ("allOf", "anyOf"):
            for at, each in enumerate(value):
                others = [*value[:at], *value[at + 1 :]]
                yield f"{keyword}[{at}] dropped", {**schema, keyword: others}
                for what, changed in altered(each):
                    branches = [*value[:at], changed, *value[at + 1 :]]
                    yield f"{keyword}[{at}]: {what}", {**schema, keyword: branches}
        elif keyword in ("items", "additionalProperties", "then", "else"):
            yield f"{keyword} dropped", rest
            if keyword in ("items", "additionalProperties"):
                yield f"{keyword} forbidden", {**schema, keyword: NEVER}
            for what, changed in altered(value):
                yield f"{keyword}: {what}", {**schema, keyword: changed}
        elif keyword == "if":
            yield "if always", {**schema, keyword: {}}
        elif keyword in ("minimum", "maximum"):
            yield f"{keyword} dropped", rest
            step = 0.001 if abs(value) <= 1 else 1
            closer = value + step if keyword == "minimum" else value - step
            yield f"{keyword} closer", {**schema, keyword: closer}
        elif keyword != "title":
            yield f"{keyword} dropped", rest
            for each in value if isinstance(value, list) else ():
                yield (
                    f"{keyword} without {each}",
                    {**schema, keyword: [v for v in value if v != each]},
                )


def referred(reference: str) -> Any:
    return WRITTEN[reference.rpartition("/")[2]]


def noticed(message: str, schema: Any) -> bool:
    """Is any example of the message judged otherwise than it says?"""
    ready = compiled(inlined(schema, definitions(REVISION).__getitem__))
    for line in examples(message):
        found = [(each.path, each.keyword) for each in explained(ready, line["value"])]
        expected = [] if line["valid"] else [(line["problem"]["path"], line["problem"]["keyword"])]
        if found != expected:
            return True
    return False


@pytest.mark.parametrize("message", messages(REVISION))
def test_no_word_of_a_schema_can_change_unnoticed(message: str) -> None:
    unnoticed = [
        what for what, changed in altered(WRITTEN[message]) if not noticed(message, changed)
    ]
    assert unnoticed == []
