"""Traffic that others recorded, as a history."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.checking import judge_again
from conformance.drive.draft import UNDECLARED, Draft
from conformance.errors import UsageError
from conformance.report.results import Results
from conformance.wire.exchange import Fault, JsonObject
from conformance.wire.har import FOREIGN, Recording, read_har
from tests.builders import creation, exchange, reading
from tests.recordings import har_entry, har_of, text_of
from tests.report_samples import discovery

Edit = Callable[[JsonObject], object]


def written(tmp_path: Path, har: object) -> Path:
    path = tmp_path / "traffic.har"
    path.write_text(har if isinstance(har, str) else text_of(har))  # type: ignore[arg-type]
    return path


def recorded(tmp_path: Path, *entries: JsonObject) -> Recording:
    return read_har(written(tmp_path, har_of((), *entries)))


def session() -> list[Any]:
    """What a client of a good server would have recorded."""
    return [
        discovery(),
        creation("task-0123456789abcdef"),
        reading("task-0123456789abcdef"),
        reading(
            "task-0123456789abcdef",
            "completed",
            members={"lastUpdatedAt": "2026-07-28T12:00:01.000Z"},
        ),
    ]


def judged_har(tmp_path: Path, *exchanges: Any) -> Results:
    return judge_again([written(tmp_path, har_of(exchanges))]).results


def test_exchanges_come_back_as_they_were(tmp_path: Path) -> None:
    exchanges = session()
    recording = read_har(written(tmp_path, har_of(exchanges)))
    assert recording.left_out == 0
    found = recording.history.exchanges
    assert [e.scenario for e in found] == ["traffic.har"] * 4
    assert [e.request for e in found] == [e.request for e in exchanges]
    assert [e.messages for e in found] == [e.messages for e in exchanges]
    assert [e.status for e in found] == [200] * 4
    assert [e.intent for e in found] == ["ordinary"] * 4
    assert len({e.connection for e in found}) == 4
    given = recording.history.circumstances
    assert (given.recorded, given.loopback, given.started) == (True, False, "2026-11-30T10:00:00Z")


def test_times_are_seconds_since_the_first_and_a_little_wider(tmp_path: Path) -> None:
    first = reading("task-1", started=100.0, ended=100.25)
    second = reading("task-1", started=100.251, ended=101.0)
    later = reading("task-1", started=100.3, ended=101.0)
    found = read_har(written(tmp_path, har_of([first, second, later]))).history.exchanges
    assert (found[0].started, found[0].ended) == pytest.approx((0.0, 0.252))
    # One millisecond apart is no order; half a second is.
    assert found[1].started < found[0].ended
    assert found[2].started > found[0].ended


def test_a_good_server_is_not_accused_and_the_rest_is_not_exercised(tmp_path: Path) -> None:
    results = judged_har(tmp_path, *session())
    assert [rule.id for rule in results.rules if rule.violated] == []
    assert results.verdict == "conformant"
    shape = results.rule("creation.shape")
    assert shape is not None
    assert shape.verdict == "pass"
    probed = results.rule("transport.mcp-name-mismatch")
    assert probed is not None
    assert probed.verdict == "not-exercised"
    assert "recorded traffic" in probed.reason
    assert "--tool" not in probed.reason
    assert results.run.options == {"recorded": "traffic.har"} | {"entries-left-out": 0}


def test_a_bad_server_is_found_out(tmp_path: Path) -> None:
    made, *_ = session()[1:]
    wrong = reading("task-0123456789abcdef", "completed", members={"resultType": "task"})
    results = judged_har(tmp_path, discovery(), made, wrong)
    found = results.rule("polling.result-type")
    assert found is not None
    assert found.verdict == "fail"
    assert found.evidence[-1].history == "traffic.har"


@pytest.mark.parametrize(
    ("edit", "capabilities"),
    [
        (lambda draft: draft.without_header("Mcp-Method"), None),
        (lambda draft: draft.with_header("Mcp-Name", "another"), None),
        (lambda draft: draft.with_header("MCP-Protocol-Version", "2025-11-25"), None),
        (lambda draft: draft.with_header("Accept", "application/json"), None),
        (lambda draft: draft.with_member("jsonrpc", "1.0"), None),
        (lambda draft: draft.without_member("id"), None),
        (lambda draft: draft.without_meta("io.modelcontextprotocol/clientInfo"), None),
        (None, UNDECLARED),
    ],
)
def test_what_a_careful_client_would_not_send_is_foreign(
    edit: Callable[[Draft], Draft] | None, capabilities: JsonObject | None, tmp_path: Path
) -> None:
    odd = reading("task-1", edit=edit, capabilities=capabilities)
    found = read_har(written(tmp_path, har_of([odd, reading("task-1")]))).history
    assert [e.intent for e in found] == [FOREIGN, "ordinary"]


def test_events_of_a_stream_are_read(tmp_path: Path) -> None:
    told = {"method": "notifications/tasks", "params": {"taskId": "task-1"}}
    answered = exchange(
        "tasks/get", {"taskId": "task-1"}, events=[told, {"id": 7, "result": {}}], request_id=7
    )
    listening = exchange("subscriptions/listen", {"notifications": {}}, events=[told])
    found = read_har(written(tmp_path, har_of([answered, listening]))).history.exchanges
    assert [message.get("method") for message in found[0].messages] == ["notifications/tasks", None]
    assert found[0].seen is not None
    assert not found[0].seen.cut
    # Nobody knows whether that stream was over.
    assert found[1].seen is not None
    assert found[1].seen.cut


def _no_text(entry: JsonObject) -> None:
    del entry["response"]["content"]["text"]


def _short_text(entry: JsonObject) -> None:
    entry["response"]["content"]["size"] += 1


def _no_status(entry: JsonObject) -> None:
    entry["response"]["status"] = 0


def _no_headers(entry: JsonObject) -> None:
    entry["response"]["headers"] = []


def _no_size_and_no_text(entry: JsonObject) -> None:
    entry["response"]["content"] = {"mimeType": "application/json"}


def _empty_text(entry: JsonObject) -> None:
    entry["response"]["content"] = {"mimeType": "application/json", "size": 0, "text": ""}


def _empty_text_with_its_length(entry: JsonObject) -> None:
    _empty_text(entry)
    entry["response"]["headers"].append({"name": "Content-Length", "value": "412"})


@pytest.mark.parametrize(
    "edit",
    [
        _no_text,
        _short_text,
        _no_status,
        _no_headers,
        _no_size_and_no_text,
        _empty_text,
        _empty_text_with_its_length,
    ],
)
def test_what_was_not_recorded_accuses_nobody(edit: Edit, tmp_path: Path) -> None:
    entry = har_entry(reading("task-1"))
    edit(entry)
    found = recorded(tmp_path, entry).history.exchanges[0]
    assert found.seen is None
    assert found.fault is not None
    assert found.fault.kind == "interrupted"
    results = judge_again([written(tmp_path, har_of(session(), entry))]).results
    assert [rule.id for rule in results.rules if rule.violated] == []


def test_an_empty_answer_that_says_so_was_recorded(tmp_path: Path) -> None:
    empty = har_entry(exchange(status=200, headers={"Content-Length": "0"}))
    accepted = har_entry(exchange(status=202, headers={"Date": "today"}))
    told = har_entry(exchange(status=200, headers={"Content-Length": "0"}))
    told["response"]["content"]["text"] = ""
    found = recorded(tmp_path, empty, accepted, told).history.exchanges
    assert [e.status for e in found] == [200, 202, 200]


def test_a_body_in_base64(tmp_path: Path) -> None:
    entry = har_entry(reading("task-1", "completed"))
    content = entry["response"]["content"]
    content["text"] = base64.b64encode(content["text"].encode()).decode()
    content["encoding"] = "base64"
    task = recorded(tmp_path, entry).history.exchanges[0].task
    assert task is not None
    assert task["status"] == "completed"


def test_secrets_are_masked_wherever_they_stand(tmp_path: Path) -> None:
    secret, cookie = "s3cret-token-of-a-user", "cookie-of-a-user"
    seen = creation(
        "task-1",
        arguments={"token": secret},
        edit=lambda draft: (
            draft.with_header("Authorization", f"Bearer {secret}")
            .with_header("X-Custom-Api-Token", "another-s3cret")
            .with_header("Cookie", f"session={cookie}")
        ),
        headers={"Set-Cookie": "fresh=new-s3cret-cookie"},
    )
    entry = har_entry(seen)
    entry["request"]["url"] += "?key=s3cret-in-the-url"
    kept = recorded(tmp_path, entry).history
    stored = repr(kept.exchanges) + repr(kept.circumstances)
    for part in (secret, cookie, "another-s3cret", "new-s3cret-cookie", "s3cret-in-the-url"):
        assert part not in stored
    assert kept.exchanges[0].params["arguments"] == {"token": "***"}


def test_other_addresses_and_other_callers_are_left_out(tmp_path: Path) -> None:
    page = har_entry(exchange(body="<html>", content_type="text/html"))
    page["request"] |= {"method": "GET", "url": "http://127.0.0.1:8000/"}
    page["request"].pop("postData")
    elsewhere = har_entry(reading("task-1"))
    elsewhere["request"]["url"] = "http://127.0.0.1:9000/mcp"
    other = har_entry(reading("task-0123456789abcdef", error=-32602))
    other["request"]["headers"].append({"name": "authorization", "value": "Bearer of-another-user"})
    path = written(tmp_path, har_of(session(), page, elsewhere, other, {"request": 3}))
    recording = read_har(path)
    assert [e.number for e in recording.history] == [1, 2, 3, 4]
    assert recording.left_out == 4
    # The numbers are those of the file.
    behind = read_har(written(tmp_path, har_of(session()[:2], page, har_entry(session()[2], 1.0))))
    assert [e.number for e in behind.history] == [1, 2, 4]
    written(tmp_path, har_of(session(), page, elsewhere, other, {"request": 3}))
    results = judge_again([path]).results
    assert [rule.id for rule in results.rules if rule.violated] == []
    assert results.run.options["entries-left-out"] == 4


def test_pseudo_headers_are_no_headers(tmp_path: Path) -> None:
    entry = har_entry(reading("task-1"))
    entry["request"]["headers"].insert(0, {"name": ":method", "value": "POST"})
    found = recorded(tmp_path, entry).history.exchanges[0]
    assert not [name for name, _ in found.sent.headers if name.startswith(":")]
    assert found.intent == "ordinary"


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T10:00:00Z",
        "2026-11-30T10:00:00.000Z",
        "2026-11-30T11:00:00.0000000+01:00",
        "2026-11-30T11:00:00+0100",
        "2026-11-30t10:00:00z",
        "2026-11-30T10:00:00",
    ],
)
def test_moments_as_recorders_write_them(text: str, tmp_path: Path) -> None:
    entry = {**har_entry(reading("task-1")), "startedDateTime": text}
    assert recorded(tmp_path, entry).history.circumstances.started == "2026-11-30T10:00:00Z"


@pytest.mark.parametrize(
    "change",
    [{"startedDateTime": "yesterday"}, {"startedDateTime": 3}, {"time": -1}, {"time": None}],
)
def test_an_entry_without_its_time_is_left_out(change: JsonObject, tmp_path: Path) -> None:
    without = {**har_entry(reading("task-1")), **change}
    recording = recorded(tmp_path, without, har_entry(reading("task-1")))
    assert (len(recording.history), recording.left_out) == (1, 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not a HAR file"),
        ("{", "not a HAR file"),
        ("[]", "not a HAR file"),
        ('{"log": []}', "not a HAR file"),
        ('{"log": {"entries": {}}}', "not a HAR file"),
        ('{"log": {"entries": []}}', "none of its 0 entries is MCP"),
        ('{"log": {"entries": [1, null, {"request": {}}]}}', "none of its 3 entries is MCP"),
    ],
)
def test_what_is_no_recording(content: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        read_har(written(tmp_path, content))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_har(tmp_path / "absent.har")


def test_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "traffic.har"
    path.write_text("\ufeff" + json.dumps(har_of(session())), encoding="utf-8")
    assert len(read_har(path).history) == 4


def test_an_aborted_request_is_interrupted(tmp_path: Path) -> None:
    gone = reading("task-1", fault=Fault("reset", "gone"))
    found = read_har(written(tmp_path, har_of([gone, *session()]))).history.exchanges[0]
    assert found.fault == Fault("interrupted", "net::ERR_ABORTED")


def test_a_recording_and_a_run_are_told_together(tmp_path: Path) -> None:
    one = written(tmp_path, har_of(session()))
    other = tmp_path / "second.har"
    other.write_text(one.read_text())
    results = judge_again([one, other]).results
    assert results.run.requests == 8
    assert results.run.options["runs"] == 2
