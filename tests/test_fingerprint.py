"""The 2025-11-25 design is recognised, and told once; a few of its traits are not it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.drive.draft import UNDECLARED, Draft
from conformance.judge.fingerprint import CARRIER, fingerprint_of
from conformance.judge.rule import catalogue
from conformance.judge.verdict import Judgement, judge
from conformance.target.target import Target
from conformance.wire.exchange import Exchange, JsonObject
from tests.builders import CALL_RESULT, creation, exchange, handle, history, reading, task
from tests.driving import driven
from tests.subjects import announced
from tests.subjects.tutorial import SEEDS_VARIABLE, extract

NESTED: JsonObject = {"task": {"taskId": "task-1", "status": "working"}}
OLD_NAMES: JsonObject = {"ttl": 60_000, "pollInterval": 500}
GET: JsonObject = {"taskId": "task-1"}


def older(draft: Draft) -> Draft:
    return draft.without_param("_meta").with_header("MCP-Protocol-Version", "2025-11-25")


def without_type(status: str = "working") -> JsonObject:
    return task("task-1", status, resultType=...)


TRAITS: dict[str, list[Exchange]] = {
    "nested": [creation(result=NESTED)],
    "ttl": [creation(result=handle(ttlMs=..., ttl=1000))],
    "interval": [creation(result=handle(pollIntervalMs=..., pollInterval=500))],
    "no result type": [reading(result=without_type())],
    "cancel": [exchange("tasks/cancel", GET, result={**GET, "status": "cancelled"})],
    "no update": [exchange("tasks/update", {**GET, "inputResponses": {}}, error=-32601)],
    "result": [exchange("tasks/result", GET, result=CALL_RESULT)],
    "list": [exchange("tasks/list", result={"tasks": []})],
    "hints": [
        exchange(
            "tools/list",
            result={"tools": [{"name": "export", "execution": {"taskSupport": "optional"}}]},
        )
    ],
    "capability": [exchange("server/discover", result={"capabilities": {"tasks": {"list": {}}}})],
    "no discovery": [exchange("server/discover", error=-32601)],
    "undeclared": [creation(result=NESTED, capabilities=UNDECLARED, connection="fresh:1")],
    "by parameter": [
        exchange("tools/call", {"name": "export", "arguments": {}}, result=CALL_RESULT),
        exchange(
            "tools/call",
            {"name": "export", "arguments": {}, "task": {"ttl": 60_000}},
            result=handle(),
        ),
    ],
}
# Those in the shape of a task, or in how it is asked for.
SHAPES = ("nested", "ttl", "interval", "by parameter")


def found(*names: str) -> bool:
    return fingerprint_of(history(*(e for name in names for e in TRAITS[name]))) is not None


@pytest.mark.parametrize("name", TRAITS)
def test_one_trait_is_a_mistake(name: str) -> None:
    traits = history(*TRAITS[name])
    fingerprint = fingerprint_of(traits)
    # A nested handle for an undeclared caller is two at once.
    assert fingerprint is None


@pytest.mark.parametrize("name", sorted(TRAITS.keys() - {"nested", "ttl", "by parameter"}))
def test_three_traits_are_another_design(name: str) -> None:
    assert found("nested", "ttl", name)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_trait_of_shape_makes_it_one(shape: str) -> None:
    assert found(shape, "result", "list", "capability")


def test_methods_and_capabilities_alone_do_not() -> None:
    """A server of the extension that kept some of the old beside it is told each by itself."""
    assert not found("result", "list", "capability", "hints", "no result type", "cancel")


def test_an_older_session_is_served_by_older_rules() -> None:
    exchanges = [
        creation(result={"task": {**OLD_NAMES, **NESTED["task"]}}, edit=older),
        exchange("tasks/result", GET, result=CALL_RESULT, edit=older),
        exchange("tasks/list", result={"tasks": []}, edit=older),
        creation(),
        reading(),
    ]
    assert fingerprint_of(history(*exchanges)) is None


def test_new_names_beside_old_ones_are_new_names() -> None:
    both = handle(**OLD_NAMES)
    exchanges = [creation(result=both), *TRAITS["result"], *TRAITS["capability"]]
    assert fingerprint_of(history(*exchanges)) is None


def test_a_result_that_speaks_of_a_task_is_no_handle() -> None:
    result = {**CALL_RESULT, "task": {"taskId": 4, "owner": "me"}}
    listed = [exchange("projects/get", result=result), *TRAITS["result"], *TRAITS["capability"]]
    assert fingerprint_of(history(*listed)) is None


@pytest.mark.parametrize(
    "plain",
    [
        {"result": CALL_RESULT, "capabilities": UNDECLARED},
        {"result": {"resultType": "input_required", "inputRequests": {}}},
    ],
)
def test_a_plain_call_that_could_get_no_task_is_no_refusal(plain: dict[str, Any]) -> None:
    """Who declares nothing is given none, and who is asked something is given none yet."""
    call: JsonObject = {"name": "export", "arguments": {}}
    made = exchange("tools/call", {**call, "task": {"ttl": 60_000}}, result=handle())
    others = (*TRAITS["hints"], *TRAITS["list"])
    exchanges = (exchange("tools/call", call, **plain), made, *others)
    assert fingerprint_of(history(*exchanges)) is None


def old_server() -> list[Exchange]:
    """A few exchanges with a server of the older design."""
    return [
        exchange("server/discover", result={"capabilities": {"tasks": {"list": {}}}}),
        creation(result={"task": {**OLD_NAMES, **NESTED["task"]}}),
        reading(result=without_type()),
        exchange("tasks/get", {"taskId": "unknown"}, error=-32001, intent="unknown-id"),
        exchange("tasks/result", GET, result=CALL_RESULT, intent="removed-method"),
    ]


def violated(judgement: Judgement) -> list[str]:
    return [v.rule.id for v in judgement.verdicts if v.violated]


def test_the_design_is_one_finding() -> None:
    judgement = judge(catalogue(), history(*old_server()))
    assert violated(judgement) == [CARRIER]
    (cause,) = judgement.causes
    assert "2025-11-25 design" in cause.because
    assert "nested under task" in cause.because
    assert "polling.unknown-id" in cause.also


def test_the_finding_has_evidence_for_each_trait() -> None:
    judgement = judge(catalogue(), history(*old_server()))
    (carrier,) = [v for v in judgement.verdicts if v.violated]
    assert len(carrier.evidence) == carrier.observations >= 4
    assert all(observation.exchanges for observation in carrier.evidence)


def test_rules_chosen_without_the_carrier_are_judged_by_themselves() -> None:
    rules = {name: rule for name, rule in catalogue().items() if rule.topic == "removed"}
    assert "removed.tasks-result" in violated(judge(rules, history(*old_server())))


@pytest.mark.skipif(shutil.which("node") is None, reason="the tutorial's server runs on Node")
def test_the_tutorials_server_is_one_finding(tmp_path: Path) -> None:
    starter = extract(tmp_path)
    if starter is None:
        pytest.skip(f"no copy of the article: {SEEDS_VARIABLE} does not name its folder")
    with announced(["node", str(starter), "0"]) as url:
        seen = driven(Target(url=url, max_wait=5.0))
    judgement = judge(catalogue(), seen)
    assert violated(judgement) == [CARRIER]
    (cause,) = judgement.causes
    for trait in ("nested under task", "pollInterval", "tasks/update", "server/discover"):
        assert trait in cause.because


def test_the_sentence_names_every_trait() -> None:
    fingerprint = fingerprint_of(history(*(e for name in TRAITS for e in TRAITS[name])))
    assert fingerprint is not None
    notes: list[Any] = [observation.note for observation in fingerprint.evidence]
    assert len(notes) >= len(TRAITS) - 1
    assert all(note in fingerprint.sentence for note in notes)
