"""Evidence: short whatever came, and the member that decided is always in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.judge.observation import broken
from conformance.report.evidence import BODY_LIMIT, Evidence, evidence_of
from conformance.wire.exchange import Exchange, Fault
from conformance.wire.parsing import dump_json
from tests.builders import creation, exchange, reading, task


def decided(seen: Exchange, member: str = "") -> Evidence:
    return evidence_of([broken(seen, "no", member=member)])[-1]


def at(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def test_a_small_exchange_is_whole() -> None:
    seen = reading("task-1", scenario="polling", number=41, headers={"X-Note": "1"})
    evidence = decided(seen, "/result/status")
    assert (evidence.history, evidence.exchange) == ("polling.jsonl", 41)
    assert evidence.request["method"] == "POST"
    assert evidence.request["body"] == seen.request
    assert ["Mcp-Name", "task-1"] in evidence.request["headers"]
    assert evidence.response["status"] == 200
    assert evidence.response["body"] == seen.response
    assert ["X-Note", "1"] in evidence.response["headers"]
    assert "cut" not in evidence.response
    assert at(evidence.response, evidence.marked) == "working"


def test_a_large_body_is_cut_and_says_by_how_much() -> None:
    seen = reading("task-1", "completed", members={"result": {"content": ["x" * 500_000]}})
    evidence = decided(seen, "/result/status")
    shown = len(dump_json(evidence.response["body"]).encode())
    assert shown <= BODY_LIMIT
    assert seen.seen is not None
    assert evidence.response["cut"] == len(seen.seen.body) - shown
    assert at(evidence.response, evidence.marked) == "completed"


def test_the_deciding_member_survives_in_the_middle_of_much() -> None:
    items = [{"text": "y" * 300, "n": n} for n in range(5000)]
    seen = reading("task-1", "completed", members={"result": {"content": items}})
    evidence = decided(seen, "/result/result/content/2500/n")
    assert len(dump_json(evidence.response["body"])) <= BODY_LIMIT
    assert at(evidence.response, evidence.marked) == 2500


def test_the_place_of_a_missing_member_is_marked() -> None:
    evidence = decided(reading("task-1"), "/result/inputRequests/key")
    assert evidence.marked == "/body/result"


def test_a_member_of_a_stream_is_marked_in_its_event() -> None:
    noise: list[object] = [{"method": "notifications/tasks", "params": task()}] * 60
    answer = {"id": 1, "result": {"resultType": "odd"}}
    evidence = decided(
        exchange("subscriptions/listen", events=[*noise, answer, *noise]), "/result/resultType"
    )
    assert at(evidence.response, evidence.marked) == "odd"
    assert evidence.response["events_left_out"] > 0
    assert len(dump_json(evidence.response["events"])) < 6 * BODY_LIMIT


def test_a_stream_without_an_answer_marks_nothing() -> None:
    evidence = decided(exchange(events=["nonsense", "[1]"]), "/result/status")
    assert evidence.marked == ""
    assert [event["data"] for event in evidence.response["events"]] == ["nonsense", [1]]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"<html>gone</html>", "<html>gone</html>"),
        (b"\xff\xfe{", "\\xff\\xfe{"),
        (b"null", None),
        (b"[1e999]", "[1e999]"),
        (b'"\\ud800"', "\\u{d800}"),
    ],
)
def test_what_is_not_json_or_hardly_is(body: bytes, shown: object) -> None:
    evidence = decided(exchange(body=body), "/result")
    assert evidence.response["body"] == shown
    assert evidence.marked == ""
    json.dumps(evidence.response, allow_nan=False).encode("utf-8")


def test_long_text_is_cut() -> None:
    evidence = decided(exchange(body=b"x" * 10_000, content_type="text/plain"))
    assert len(evidence.response["body"]) == BODY_LIMIT
    assert evidence.response["cut"] == 10_000 - BODY_LIMIT


def test_deep_nesting_is_cut() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"result":' + b'{"a":' * 100 + b"1" + b"}" * 101
    evidence = decided(exchange(body=body), "/result/a/a")
    assert len(dump_json(evidence.response["body"])) < BODY_LIMIT
    assert evidence.marked == "/body/result/a/a"
    assert evidence.response["cut"] > 0


def test_no_answer_shows_the_fault() -> None:
    evidence = decided(exchange(fault=Fault("reset", "gone")))
    assert evidence.response == {"fault": {"kind": "reset", "detail": "gone"}}


def test_many_headers_and_long_ones_are_cut() -> None:
    headers = {f"X-{n}": "v" * 2000 for n in range(200)}
    shown = decided(exchange(headers=headers)).response["headers"]
    assert len(dump_json(shown)) < 30_000
    assert shown[-1] == ["…", "161 more"]


def test_the_words_stand_with_the_exchange_that_decided() -> None:
    pair = (creation("task-1"), reading("task-1", error=-32602))
    first, last = evidence_of(
        [broken(pair, "keep it", expected="the task", found="nothing", member="/error/code")]
    )
    assert (first.note, first.member, first.marked) == ("", "", "")
    assert (last.note, last.expected, last.found) == ("keep it", "the task", "nothing")
    assert first.observation == last.observation == 0


def test_a_long_sequence_keeps_its_beginning_and_its_end() -> None:
    many = [reading("task-1") for _ in range(100)]
    shown = evidence_of([broken(many, "no"), broken(many, "no")])
    first = [e for e in shown if e.observation == 0]
    assert [e.exchange for e in first[:4]] == [e.number for e in many[:4]]
    assert first[-1].exchange == many[-1].number
    assert sum(e.left_out for e in first) == 100 - len(first)
    assert len(shown) < 30


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=30), inner),
    max_leaves=60,
)


def pointers(value: Any, prefix: str = "") -> list[str]:
    found = [prefix]
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = ((k.replace("~", "~0").replace("/", "~1"), v) for k, v in value.items())
    elif isinstance(value, list):
        pairs = enumerate(value)
    for name, each in pairs:
        found += pointers(each, f"{prefix}/{name}")
    return found


@settings(max_examples=50)
@given(result=st.dictionaries(st.text(max_size=20), json_values, max_size=8), data=st.data())
@example(result={"…": 1, "": {"/~": ["x" * 9000]}}, data=None)
def test_any_member_survives_in_any_result(result: dict[str, Any], data: Any) -> None:
    member = "/result/" if data is None else "/result" + data.draw(
        st.sampled_from(pointers(result))
    )  # fmt: skip
    seen = exchange(result=result)
    evidence = decided(seen, member)
    found, wanted = at(evidence.response, evidence.marked), at(seen.response, member)
    assert type(found) is type(wanted) or isinstance(found, str)
    if wanted is None or isinstance(wanted, bool):
        assert found is wanted
    assert len(dump_json(evidence.response["body"]).encode()) <= 2 * BODY_LIMIT
