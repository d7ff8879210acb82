"""results.json: its shape, its verdict, and that the same history gives the same text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.drive.surroundings import Surroundings, ToolUse
from conformance.errors import UsageError
from conformance.judge.observation import broken, holds
from conformance.judge.rule import LEVELS, catalogue
from conformance.judge.verdict import VERDICTS, judge
from conformance.report import results as files
from conformance.report.results import Results, RunFacts, build
from conformance.specification.revisions import revision_named
from conformance.wire.history import HistoryWriter, read
from conformance.wire.parsing import dump_json
from tests import builders_2025
from tests.builders import creation, exchange, history, reading
from tests.report_samples import REVISION, RUN, discovery, judged, rule, sample


def test_json_round_trip() -> None:
    results = sample({"polling.timestamps": "known"})
    text = files.json_text(results)
    assert Results.from_json(json.loads(text)) == results


def test_promised_members_are_there() -> None:
    record = sample().to_json()
    assert list(record) == [
        "format", "suite", "spec", "target", "run", "tools", "verdict", "summary", "causes",
        "rules",
    ]  # fmt: skip
    assert record["format"] == "mcp-tasks-conformance/results/1"
    assert record["run"]["requests"] == 6
    assert record["run"]["tasks"] == 1
    assert record["target"]["extension"] is True
    assert record["tools"][0]["name"] == "export"
    assert "task" in record["tools"][0]["roles"]
    assert set(record["summary"]) == set(LEVELS)
    assert all(set(counts) == set(VERDICTS) for counts in record["summary"].values())
    for one in record["rules"]:
        assert {"id", "level", "title", "source", "verdict", "expected", "intermittent"} <= set(one)
        assert {"reason", "observations", "evidence", "reproduce"} <= set(one)


def test_every_rule_is_present_once_in_the_given_order() -> None:
    rules = [rule(f"polling.{name}") for name in ("c", "a", "b")]
    results = judged(rules, history(discovery()))
    assert [each.id for each in results.rules] == ["polling.c", "polling.a", "polling.b"]


def test_rules_are_a_function_of_the_history_alone(tmp_path: Path) -> None:
    made, lost = creation("task-1"), reading("task-1", error=-32602)
    kept = history(discovery(), made, lost)
    writer = HistoryWriter(tmp_path / "scenario.jsonl", kept.circumstances)
    for each in kept:
        writer.append(each)
    writer.close()

    def rules_of(run: RunFacts) -> str:
        again = read([tmp_path])
        by_number = {e.number: e for e in again}
        decided = (by_number[made.number], by_number[lost.number])
        seen = rule("creation.durable", broken(decided, "lost", member="/error/code"))
        return dump_json(judged([seen], again, run).to_json()["rules"])

    first = rules_of(RUN)
    assert first == rules_of(RunFacts(started="another day", seconds=99, seed=3))
    assert json.loads(first)[0]["evidence"][1]["marked"] == "/body/error/code"


@pytest.mark.parametrize(
    ("observed", "level", "extension", "expected", "cut_short", "verdict"),
    [
        ("broken", "must", True, False, "", "non-conformant"),
        ("broken", "implied", True, False, "", "non-conformant"),
        ("broken", "must", False, False, "", "not-offered"),
        ("broken", "must", True, False, "interrupted", "non-conformant"),
        ("broken", "must", True, True, "", "conformant"),
        ("broken", "implied", True, True, "", "conformant"),
        ("broken", "must", True, True, "interrupted", "inconclusive"),
        ("broken", "should", True, False, "", "inconclusive"),
        ("holds", "must", False, False, "", "not-offered"),
        ("holds", "must", True, False, "interrupted", "inconclusive"),
        ("holds", "advice", True, False, "", "inconclusive"),
        ("holds", "must", True, False, "", "conformant"),
    ],
)
def test_verdict_of_the_run(
    observed: str, level: str, extension: bool, expected: bool, cut_short: str, verdict: str
) -> None:
    found = discovery(extension=extension)
    seen = broken(found, "no") if observed == "broken" else holds(found)
    rules = {"polling.shape": rule("polling.shape", seen, level=level)}
    kept = history(found)
    results = build(
        judge(rules, kept),
        kept,
        surroundings=None,
        run=RunFacts(cut_short=cut_short),
        revision=REVISION,
        expected={"polling.shape": "known"} if expected else {},
    )
    assert results.verdict == verdict


def test_nothing_is_told_of_a_server_that_does_not_offer_the_extension() -> None:
    found = discovery(extension=False)
    results = judged(
        [
            rule("polling.shape", broken(found, "no")),
            rule("transport.answered", holds(found)),
            rule("polling.large-result", needs=("large",)),
        ],
        history(found),
    )
    assert results.causes == ()
    assert {r.verdict for r in results.rules} == {"not-applicable"}
    assert {r.reason for r in results.rules} == {"the server does not offer tasks"}
    assert not any(r.evidence or r.reproduce for r in results.rules)


def test_it_is_not_known_what_a_server_offers_that_answered_nothing() -> None:
    silent = exchange("server/discover", {}, status=401, body=b"who are you?")
    results = judged([rule("polling.shape", broken(silent, "no"))], history(silent))
    assert results.verdict == "inconclusive"
    assert {r.verdict for r in results.rules} == {"not-exercised"}
    assert "HTTP 401" in results.run.unjudged
    assert Results.from_json(results.to_json()) == results


def test_a_task_under_an_older_protocol_does_not_offer_the_extension() -> None:
    made = creation("task-1", edit=lambda d: d.with_header("MCP-Protocol-Version", "2025-11-25"))
    results = judged([], history(discovery(extension=False), made))
    assert results.verdict == "not-offered"


def test_a_server_of_sessions_offers_what_it_declares_in_the_handshake() -> None:
    def overall(capabilities: Any) -> str:
        kept = builders_2025.history([builders_2025.handshake(capabilities=capabilities)])
        verdicts = judge(catalogue("2025-11-25"), kept)
        run, revision = RunFacts(), revision_named("2025-11-25")
        return build(verdicts, kept, surroundings=None, run=run, revision=revision).verdict

    assert overall({"tools": {}}) == "not-offered"
    assert overall(builders_2025.CAPABILITIES) == "conformant"


def test_a_made_task_offers_the_extension() -> None:
    kept = history(discovery(extension=False), creation("task-1"))
    results = judged([rule("polling.shape", holds(kept.exchanges[0]))], kept)
    assert results.verdict == "conformant"


def test_expected_violations_are_counted_apart() -> None:
    results = sample({"creation.durable": "ticket 12"})
    assert results.count("fail") == 1
    assert results.count("fail", expected=True) == 1
    named = results.rule("creation.durable")
    assert named is not None
    assert (named.expected, named.expectation) == (True, "ticket 12")


def test_intermittent_violations_are_marked() -> None:
    found = discovery()
    kept = history(found)
    rules = {"polling.shape": rule("polling.shape", broken(found, "no"))}
    results = build(
        judge(rules, kept), kept, surroundings=None, run=RUN, revision=REVISION,
        intermittent=["polling.shape"],
    )  # fmt: skip
    assert results.rules[0].intermittent


def test_surroundings_describe_server_and_tools() -> None:
    kept = history(creation("task-1", arguments={"rows": 3}))
    around = Surroundings(
        server={"name": "Other", "version": "1"},
        versions=("2026-07-28",),
        extension=True,
        tools=(ToolUse("export", {"rows": 5}, roles=("slow",), how="named"), ToolUse("idle")),
    )
    results = build(
        judge({}, kept), kept, surroundings=around, run=RUN, revision=REVISION
    )  # fmt: skip
    assert results.target.name == "Other 1"
    export, idle = results.tools
    assert (export.roles, export.how, export.arguments) == (
        ("short-ttl", "slow", "task") if kept.circumstances.max_wait >= 60 else ("slow", "task"),
        "named",
        {"rows": 5},
    )
    assert (idle.name, idle.roles) == ("idle", ())


def test_a_server_that_says_nonsense_of_itself_has_no_name() -> None:
    strange = exchange(
        "server/discover",
        result={"capabilities": [], "supportedVersions": "x", "_meta": 3, "resultType": None},
    )
    results = judged([], history(strange))
    assert results.target.name == "a server that does not name itself"
    assert not results.target.extension
    assert results.verdict == "not-offered"


def test_members_of_later_versions_are_passed_over() -> None:
    record = json.loads(files.json_text(sample()))
    record["later"] = {"any": 1}
    record["rules"][0]["later"] = 1
    record["rules"][1]["evidence"][0]["later"] = [1]
    record["run"]["later"] = None
    assert Results.from_json(record) == sample_as_read(record)


def sample_as_read(record: dict[str, Any]) -> Results:
    """The same record without the members that were added."""
    for member in (record, record["rules"][0], record["rules"][1]["evidence"][0], record["run"]):
        del member["later"]
    return Results.from_json(record)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), []),
        ((), None),
        (("format",), "mcp-tasks-conformance/results/9"),
        (("format",), None),
        (("suite",), "0.1.0"),
        (("run", "seconds"), "long"),
        (("run", "seed"), True),
        (("target", "versions"), [1]),
        (("rules",), {}),
        (("rules", 0), "x"),
        (("rules", 0, "verdict"), "perhaps"),
        (("rules", 0, "level"), "may"),
        (("rules", 1, "evidence", 0, "exchange"), "1"),
        (("summary", "must"), 3),
        (("causes", 0, "also"), "x"),
    ],
)
def test_a_wrong_shape_is_told_in_one_line(path: tuple[Any, ...], value: object) -> None:
    record: Any = json.loads(files.json_text(sample()))
    if path:
        *way, last = path
        place = record
        for step in way:
            place = place[step]
        place[last] = value
    else:
        record = value
    with pytest.raises(UsageError) as raised:
        Results.from_json(record)
    assert "\n" not in str(raised.value)


def test_files(tmp_path: Path) -> None:
    results = sample()
    path = tmp_path / "new" / "results.json"
    files.write(results, path)
    assert files.read(path) == results


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write") as raised:
        files.write(sample(), tmp_path / "file" / "results.json")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_file_that_is_not_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is not JSON"):
        files.read(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        files.read(tmp_path / "results.json")
