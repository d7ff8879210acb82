"""Drafts: right by default, and wrong in exactly one place when asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.drive.draft import (
    CLIENT_INFO,
    DECLARED,
    LEGACY_DECLARED,
    UNDECLARED,
    Draft,
    mirrored_parameters,
    request,
)
from conformance.specification.names import (
    EXTENSION,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_PROTOCOL_VERSION,
)

VERSION = "2026-07-28"


def draft(method: str = "tasks/get", **options: Any) -> Draft:
    options.setdefault("params", {"taskId": "t"})
    return request(method, request_id=7, version=VERSION, **options)


def test_a_careful_client() -> None:
    made = draft()
    assert made.http_method == "POST"
    assert json.loads(made.body) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tasks/get",
        "params": {
            "taskId": "t",
            "_meta": {
                META_PROTOCOL_VERSION: VERSION,
                META_CLIENT_INFO: CLIENT_INFO,
                META_CLIENT_CAPABILITIES: DECLARED,
            },
        },
    }
    assert dict(made.headers) == {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tasks/get",
        "Mcp-Name": "t",
    }


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "export", "arguments": {}}, "export"),
        ("tasks/get", {"taskId": "a"}, "a"),
        ("tasks/update", {"taskId": "a", "inputResponses": {}}, "a"),
        ("tasks/cancel", {"taskId": "é"}, "=?base64?w6k=?="),
        ("tasks/get", {"taskId": ""}, "=?base64??="),
        ("tasks/get", {"taskId": 7}, None),
        ("tasks/get", {}, None),
        ("tools/list", {"name": "x", "taskId": "y"}, None),
        ("server/discover", None, None),
    ],
)
def test_the_name_mirrors_the_body(method: str, params: Any, name: str | None) -> None:
    assert dict(draft(method, params=params).headers).get("Mcp-Name") == name


def test_declarations() -> None:
    extension: dict[str, Any] = {"extensions": {EXTENSION: {}}}
    for capabilities, declares in ((DECLARED, True), (UNDECLARED, False), (LEGACY_DECLARED, False)):
        message = json.loads(draft(capabilities=capabilities).body)
        said = message["params"]["_meta"][META_CLIENT_CAPABILITIES]
        assert (extension.items() <= said.items()) is declares


def test_meta_that_was_given_is_kept() -> None:
    message = json.loads(draft(params={"_meta": {"progressToken": 1}}).body)
    assert message["params"]["_meta"]["progressToken"] == 1
    assert message["params"]["_meta"][META_PROTOCOL_VERSION] == VERSION


def test_params_that_were_given_are_not_changed() -> None:
    params = {"taskId": "t", "_meta": {"a": 1}}
    draft(params=params).with_meta("b", 2).with_param("c", 3)
    assert params == {"taskId": "t", "_meta": {"a": 1}}


Paths = dict[tuple[str, ...], object]


def leaves(value: object, path: tuple[str, ...] = ()) -> Paths:
    if isinstance(value, dict) and value:
        found: Paths = {}
        for name, part in value.items():
            found.update(leaves(part, (*path, name)))
        return found
    return {path: value}


def differences(one: Draft, other: Draft) -> set[str]:
    """What differs between two drafts: headers by name, members of the body by path."""
    headers = dict(one.headers).items() ^ dict(other.headers).items()
    bodies = [leaves(json.loads(each.body)) for each in (one, other)]
    members = {
        ".".join(path)
        for path in bodies[0].keys() | bodies[1].keys()
        if bodies[0].get(path, ...) != bodies[1].get(path, ...)
    }
    return {name.lower() for name, _ in headers} | members


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (lambda d: d.with_header("Mcp-Method", "x"), {"mcp-method"}),
        (lambda d: d.with_header("X-New", "x"), {"x-new"}),
        (lambda d: d.with_header("mcp-method", "tasks/get"), {"mcp-method"}),
        (lambda d: d.without_header("MCP-NAME"), {"mcp-name"}),
        (lambda d: d.without_header("X-Nothing"), set()),
        (lambda d: d.with_member("id", None), {"id"}),
        (lambda d: d.with_member("extra", 1), {"extra"}),
        (lambda d: d.without_member("jsonrpc"), {"jsonrpc"}),
        (lambda d: d.without_member("nothing"), set()),
        (lambda d: d.with_param("taskId", 7), {"params.taskId"}),
        (lambda d: d.with_param("extra", 7), {"params.extra"}),
        (lambda d: d.without_param("taskId"), {"params.taskId"}),
        (lambda d: d.with_meta("a", 1), {"params._meta.a"}),
        (
            lambda d: d.without_meta(META_PROTOCOL_VERSION),
            {f"params._meta.{META_PROTOCOL_VERSION}"},
        ),
        (
            lambda d: d.declaring(UNDECLARED),
            {f"params._meta.{META_CLIENT_CAPABILITIES}.extensions.{EXTENSION}"},
        ),
    ],
)
def test_one_thing_differs(edit: Callable[[Draft], Draft], changed: set[str]) -> None:
    before = draft()
    body = before.body
    assert differences(before, edit(before)) == changed
    assert before.body == body


def test_a_header_is_set_in_the_spelling_given() -> None:
    made = draft().with_header("mCP-nAME", "x")
    assert [pair for pair in made.headers if pair[0].lower() == "mcp-name"] == [("mCP-nAME", "x")]


def test_raw_bodies_and_batches() -> None:
    assert draft().with_raw_body(b"\xff{").body == b"\xff{"
    assert draft().with_raw_body(b"{").method is None
    assert Draft([{"a": 1}], ()).body == b'[{"a":1}]'
    assert Draft([{"a": 1}], ()).method is None


def test_a_lone_surrogate_can_be_sent() -> None:
    assert json.loads(draft(params={"taskId": "\ud800"}).body)["params"]["taskId"] == "\ud800"


# ---- mirrored parameters -------------------------------------------------------------------


def mirroring(name: object, **schema: object) -> dict[str, object]:
    return {"properties": {"it": {"x-mcp-header": name, **schema}}}


@pytest.mark.parametrize(
    ("value", "header"),
    [("eu", "eu"), (42, "42"), (-7, "-7"), (True, "true"), (False, "false"), ("", "")],
)
def test_arguments_that_are_mirrored(value: object, header: str) -> None:
    assert mirrored_parameters(mirroring("Region"), {"it": value}) == {"Region": header}


@pytest.mark.parametrize("value", [None, 1.5, [], {}, {"a": 1}])
def test_arguments_that_cannot_be_mirrored(value: object) -> None:
    assert mirrored_parameters(mirroring("Region"), {"it": value}) == {}


@pytest.mark.parametrize("name", ["", "a b", "a\r\nb", "é", "a:b", 7, None, ["a"]])
def test_names_that_are_no_headers_are_passed_over(name: object) -> None:
    assert mirrored_parameters(mirroring(name), {"it": "x"}) == {}


def test_every_token_can_be_a_name() -> None:
    assert mirrored_parameters(mirroring("a_b.c~1"), {"it": "x"}) == {"a_b.c~1": "x"}


def test_properties_of_properties_are_mirrored_and_nothing_else() -> None:
    schema = {
        "properties": {
            "where": {"properties": {"region": {"x-mcp-header": "Region"}}},
            "list": {"items": {"properties": {"a": {"x-mcp-header": "A"}}}},
            "either": {"anyOf": [{"x-mcp-header": "B"}]},
            "odd": 7,
        }
    }
    arguments = {"where": {"region": "eu"}, "list": [{"a": "x"}], "either": "y", "odd": "z"}
    assert mirrored_parameters(schema, arguments) == {"Region": "eu"}


@pytest.mark.parametrize("schema", [None, True, [], {}, {"properties": 7}, {"properties": []}])
def test_odd_schemas_mirror_nothing(schema: object) -> None:
    assert mirrored_parameters(schema, {"it": "x"}) == {}


def test_mirrored_headers_are_encoded() -> None:
    made = request(
        "tools/call", request_id=1, version=VERSION, mirrored={"Greeting": "Hello, 世界"}
    )
    assert dict(made.headers)["Mcp-Param-Greeting"] == "=?base64?SGVsbG8sIOS4lueVjA==?="
