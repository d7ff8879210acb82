"""Sequences on real servers: nothing is found on a right one, and what is found is small, told
whole, judged again alike, and can be done again."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import pytest
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from conformance.checking import check_target, judge_again
from conformance.drive.sequences.extents import extent_of, further_seconds
from conformance.drive.sequences.finds import (
    Sequence,
    forget,
    read_counts,
    read_sequence,
    write_sequence,
)
from conformance.drive.sequences.planning import plans
from conformance.drive.sequences.steps import Plan, Step, from_json, length
from conformance.drive.sequences.tools import toolbox
from conformance.errors import UsageError
from conformance.judge.observation import BROKEN
from conformance.judge.rule import catalogue
from conformance.judge.verdict import judge
from conformance.replay import replay_sequence
from conformance.run import Telling
from conformance.target.target import Target
from conformance.wire.exchange import Exchange
from conformance.wire.history import read
from conformance.wire.secrets import Redactor
from fixtures.faults import FAULTS, Fault
from fixtures.faults.deep import SHORTEST
from fixtures.reference.server import Server
from fixtures.serve import Settings, running
from tests.at_work import extent, performed, reference_tools, searched, settled, two_callers
from tests.commands import command, done, process

ACKNOWLEDGEMENT = "deep-acknowledgement-shows-cancelled-task"
TAKES = ("create", "cancel", "answer")


# ---- a right server --------------------------------------------------------------------------


def test_nothing_is_found_on_a_right_server() -> None:
    box = toolbox(reference_tools(), identities=True, replicas=False, revision="2026-07-28")
    chosen = plans(box, number=18, chosen_seed=11)
    with two_callers() as target:
        done_ = performed(target, *chosen)
    for each, broken in done_:
        steps = [step.words for step in each.done]
        assert broken == {}, steps
        assert each.suspected == (), steps
        assert each.done == each.plan
        assert not each.cut
        assert [e.fault for e in each.history if e.fault is not None] == [], steps


def test_a_sequence_leaves_nothing_behind() -> None:
    plan = (Step("create", 1, "kept", tool="book_table"), Step("create", 2, tool="export_report"))
    with two_callers() as target:
        ((each, _),) = performed(target, plan)
    tidied = {e.task_id for e in each.history.intended("tidy-up")}
    assert tidied == {(e.handle or {}).get("taskId") for e in each.history if e.handle}
    assert len(tidied) == 2


def test_a_sequence_keeps_the_pace() -> None:
    plan = (Step("create", 1, "kept", tool="book_table"), *[Step("read", 1)] * 4)
    with two_callers() as target:
        ((each, _),) = performed(target, plan)
    reads = each.history.of_method("tasks/get")
    assert len(reads) == 5  # and once more, at the end
    gaps = [b.started - a.ended for a, b in pairwise(reads)]
    assert min(gaps) >= 0.1  # pollIntervalMs of the reference server is 100


# ---- deep faults -----------------------------------------------------------------------------


def test_deep_faults_are_many_and_deep() -> None:
    assert len(SHORTEST) >= 25
    for name, steps in SHORTEST.items():
        assert length(from_json(list(steps))) >= 3, name
        assert "sequences" in FAULTS[name].needs


@pytest.mark.parametrize("name", sorted(SHORTEST))
def test_deep_fault_shows_in_the_steps_it_is_said_to_take(name: str) -> None:
    fault = FAULTS[name]
    plan = from_json(list(SHORTEST[name]))
    with two_callers(name) as target:
        ((each, broken),) = performed(target, plan)
        if fault.breaks not in broken:
            # One time in a hundred is a round one, which might have been cut: it proves nothing.
            ((each, broken),) = performed(target, plan)
    shown = [(e.method, e.intent, e.outcome) for e in each.history]
    assert fault.breaks in broken, shown
    assert set(broken) <= {fault.breaks, *fault.also}


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A run of the command against a server with a deep fault: its folder, and its results."""
    folder = tmp_path_factory.mktemp("run")
    with running(Settings(fault=ACKNOWLEDGEMENT)) as url, extent("quick", seconds=60.0, plans=30):
        result = command(
            "run", url, "--effort", "quick", "--seed", "3", "--history", folder / "history",
            "--json", folder / "results.json", "--html", folder / "report.html",
        )  # fmt: skip
    assert result.status == 1, result.output + result.errors
    return folder, json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module")
def found(whole_run: tuple[Path, dict[str, object]]) -> tuple[Path, Sequence]:
    """The folder of the histories of that run, and what was found."""
    folder = whole_run[0] / "history"
    return folder, read_sequence(folder / "sequences.input.ack-empty.jsonl")


def test_what_happens_anyway_is_not_blamed_on_the_last_request(tmp_path: Path) -> None:
    """A task that is no longer cancelled when it is read again, with an answer in between."""
    fault = "deep-cancelling-partly-answered-task-does-not-last"
    *beginning, _ = SHORTEST[fault]
    answer = {"do": "answer", "task": 1, "how": "unknown"}
    with two_callers(fault) as target:
        plan = from_json([*beginning, answer])
        ((_, broken),) = performed(target, plan)
        assert set(broken) == {"input.terminal-unaffected"}
        found = settled(target, tmp_path, Sequence(plan, tuple(broken)))
    assert set(found) == {"lifecycle.legal-transitions"}
    assert length(found["lifecycle.legal-transitions"].plan) == len(SHORTEST[fault])


def test_a_deep_fault_is_found_and_made_small(found: tuple[Path, Sequence]) -> None:
    folder, sequence = found
    assert sequence.repeated
    assert length(sequence.plan) <= len(SHORTEST[ACKNOWLEDGEMENT]) + 1
    remaining = iter(step.do for step in sequence.plan)
    assert all(do in remaining for do in TAKES)
    counts = read_counts(folder)
    assert counts.sequences > 3
    assert counts.requests > counts.tasks > counts.sequences


def test_what_was_found_is_judged_with_the_rest(found: tuple[Path, Sequence]) -> None:
    folder, sequence = found
    checked = judge_again([folder])
    rule = checked.results.rule("input.ack-empty")
    assert rule is not None
    assert rule.verdict == "fail"
    assert not rule.intermittent
    # The evidence is the whole sequence, in order.
    shown = [e for e in sequence.exchanges if e.intent != "tidy-up"]
    numbers = [each.exchange for each in rule.evidence[: len(shown)]]
    assert numbers[0] == 1
    assert numbers == sorted(numbers)
    assert {each.history for each in rule.evidence} == {"sequences.input.ack-empty.jsonl"}
    assert [c.rule for c in checked.results.causes] == ["input.ack-empty"]
    again = judge_again([folder])
    assert json.dumps(again.results.to_json()) == json.dumps(checked.results.to_json())


def test_a_sequence_replays_where_the_fault_is_and_not_elsewhere(
    found: tuple[Path, Sequence],
) -> None:
    _, sequence = found
    with two_callers(ACKNOWLEDGEMENT) as target:
        assert "input.ack-empty" in replay_sequence(sequence, target).broken
    with two_callers() as target:
        assert replay_sequence(sequence, target).broken == {}


def test_the_command_replays_a_file(found: tuple[Path, Sequence]) -> None:
    folder, _ = found
    file = folder / "sequences.input.ack-empty.jsonl"
    with running(Settings(fault=ACKNOWLEDGEMENT)) as url:
        shows = command("replay", file, url)
    assert shows.status == 1, shows.output + shows.errors
    assert "input.ack-empty: it shows" in shows.output
    assert "1. create task 1" in shows.output
    with running(Settings()) as url:
        gone = command("replay", file, url)
    assert gone.status == 0, gone.output + gone.errors
    assert "input.ack-empty: it does not show" in gone.output


def test_a_file_that_holds_no_sequence_is_told(
    found: tuple[Path, Sequence], tmp_path: Path
) -> None:
    folder, _ = found
    assert command("replay", folder / "discovery.jsonl", "http://127.0.0.1:9/mcp").status == 2
    assert command("replay", tmp_path / "absent.jsonl", "http://127.0.0.1:9/mcp").status == 2
    file = folder / "sequences.input.ack-empty.jsonl"
    assert command("replay", file, "http://127.0.0.1:9/mcp").status == 3


def test_an_odd_file_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "sequences.x.jsonl"
    write_sequence(path, Sequence((Step("read", 1),), ("polling.shape",)), Redactor([], []))
    assert read_sequence(path).rules == ("polling.shape",)
    text = path.read_text().replace('"do":"read"', '"do":"dance"')
    path.write_text(text)
    with pytest.raises(UsageError, match="not a step"):
        read_sequence(path)


# ---- in the whole of a run -------------------------------------------------------------------


def test_only_a_sequence_sees_what_no_scenario_does(
    whole_run: tuple[Path, dict[str, object]],
) -> None:
    folder, results = whole_run
    violated = [r for r in results["rules"] if r["verdict"] in ("fail", "warn")]  # type: ignore[attr-defined]
    assert [r["id"] for r in violated] == ["input.ack-empty"]
    histories = {e["history"] for e in violated[0]["evidence"]}
    assert histories == {"sequences.input.ack-empty.jsonl"}
    run = results["run"]
    assert isinstance(run, dict)
    assert (run["seed"], run["sequences"] > 0) == (3, True)
    assert run["hypothesis"]
    in_histories = len(read([folder / "history"]))
    assert run["requests"] > in_histories


def test_the_script_does_the_same_with_curl(whole_run: tuple[Path, dict[str, object]]) -> None:
    folder, _ = whole_run
    script = folder / "history" / "sequences.input.ack-empty.sh"
    with running(Settings(fault=ACKNOWLEDGEMENT)) as url:
        ran = subprocess.run(
            ["bash", str(script), url], capture_output=True, text=True, timeout=60, check=False
        )
    assert ran.returncode == 0, ran.stderr
    answers = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert all("error" not in answer for answer in answers), ran.stdout
    acknowledged = [a["result"] for a in answers if "content" not in str(a)]
    # An acknowledgement that shows the task is what is wrong here.
    assert any("status" in r and "createdAt" in r for r in acknowledged)
    assert "input.ack-empty" in ran.stdout
    with running(Settings()) as url:
        right = subprocess.run(
            ["bash", str(script), url], capture_output=True, text=True, timeout=60, check=False
        )
    assert right.returncode == 0
    assert right.stdout.count('"status"') < ran.stdout.count('"status"')
    # Each answer stands below what was sent, and how that was answered when it was found.
    told = [line for line in ran.stdout.splitlines() if line.startswith("== ")]
    assert len(told) == script.read_text().count(' "$URL" ')
    assert all("answered then: " in line for line in told)


def test_the_script_works_in_any_shell(whole_run: tuple[Path, dict[str, object]]) -> None:
    folder, _ = whole_run
    script = folder / "history" / "sequences.input.ack-empty.sh"
    with running(Settings(fault=ACKNOWLEDGEMENT)) as url:
        ran = subprocess.run(
            ["sh", str(script), url], capture_output=True, text=True, timeout=60, check=False
        )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_script_says_that_nobody_answers(whole_run: tuple[Path, dict[str, object]]) -> None:
    folder, _ = whole_run
    script = folder / "history" / "sequences.input.ack-empty.sh"
    url = "http://127.0.0.1:9/mcp"
    ran = subprocess.run(
        ["bash", str(script), url], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 1
    assert f"nobody answers at {url}" in ran.stderr


def test_several_processes_share_the_searches(tmp_path: Path) -> None:
    with two_callers(effort="standard", seed=4, sequences_for=2.0) as target:
        result = searched(target, tmp_path, workers=2)
    assert result.found == {}
    counts = sorted(p.name for p in (tmp_path / "sequences").glob("counts-*.json"))
    assert counts == ["counts-search-1.json", "counts-search-2.json"]
    assert read_counts(tmp_path).sequences > 2


# ---- servers that fail -----------------------------------------------------------------------


class EveryThirdFails(Server):
    """Every third request is an internal error, without a body."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._number = count(1)

    async def respond(self, http: HttpRequest) -> Response:
        if next(self._number) % 3 == 0:
            return Response(status_code=500)
        return await super().respond(http)


def test_a_server_that_fails_every_third_request_ends_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAULTS, "test-third", Fault("test-third", "", EveryThirdFails))
    with running(Settings(fault="test-third")) as url:
        target = Target(url=url, effort="quick", seed=1, max_wait=3.0)
        with extent("quick", plans=20, seconds=20.0, settling=15.0, attempts=20):
            result = searched(target, tmp_path)
    assert result.cut_short == ""
    assert read_counts(tmp_path).sequences >= 20
    # Nothing is blamed but that requests fail, and that some of them are not answered.
    blamed = {v.rule.id for v in judge(catalogue(), read([tmp_path])).verdicts if v.violated}
    answers = {"transport.answered", "jsonrpc.survives-bad-input"}
    assert blamed <= {*answers, "polling.passing-errors"}
    # One fault hides no others: once a rule is set aside, sequences go on that break it. (Seven
    # or eight of them do; were it not set aside, one or two, in which something else went on.)
    log = read([tmp_path / "sequences" / "search-1.jsonl"])
    wrong = {
        observation.exchanges[-1].key
        for rule in answers
        for observation in catalogue()[rule].judge(log)
        if observation.kind == BROKEN
    }
    sequences: dict[object, list[bool]] = {}
    for each in log:
        if each.intent != "tidy-up":
            sequences.setdefault(each.notes["sequence"], []).append(each.key in wrong)
    broken = [steps for steps in sequences.values() if True in steps]
    assert sum(len(steps) - steps.index(True) > 6 for steps in broken) >= 4


def test_what_was_seen_before_the_server_died_is_kept(tmp_path: Path) -> None:
    server = process("serve", "--port", 0, folder=tmp_path)
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    in_sequences = count(1)

    def exchanged(exchange: Exchange) -> None:
        if exchange.scenario.startswith("search") and next(in_sequences) == 60:
            server.kill()
            server.wait()

    try:
        target = Target(url=url, effort="quick", seed=1, max_wait=5.0)
        with extent("quick", plans=40, seconds=60.0):
            result = searched(target, tmp_path / "history", telling=Telling(exchanged=exchanged))
    finally:
        server.kill()
        server.communicate()
    assert result.cut_short.startswith("the server stopped answering ")
    assert result.seconds < 60
    log = tmp_path / "history" / "sequences" / "search-1.jsonl"
    assert len(read([log])) >= 60
    checked = judge_again([tmp_path / "history"])
    assert checked.results.verdict == "inconclusive"
    assert not any(rule.violated for rule in checked.results.rules)


# ---- how far ---------------------------------------------------------------------------------


def test_a_duration_takes_the_place_of_the_effort(tmp_path: Path) -> None:
    plain = Target(url="http://127.0.0.1:1/mcp", effort="quick")
    assert further_seconds(plain) == 0.0
    longer = replace(plain, sequences_for=600.0)
    assert extent_of(longer).seconds == 600.0
    assert extent_of(longer).plans > 10**6
    assert further_seconds(longer) > 500.0
    away = replace(plain, url="https://example.com/mcp")
    assert extent_of(away).slots < extent_of(plain).slots
    wrong = done("run", "http://127.0.0.1:1/mcp", "--for", "soon", folder=tmp_path)
    assert wrong.status == 2
    assert "10m" in wrong.complaint


def _titles(plan: Plan) -> list[str]:
    return [step.words for step in plan]


def test_steps_are_told_in_words() -> None:
    plan = (
        Step("create", 1, "hung-up", tool="export"),
        Step("undeclared", 1, "tasks/get", "aloof"),
        Step("unknown", 0, "tasks/cancel", value={"change": "an odd id", "id": ""}),
        Step("together", steps=(Step("read", 1), Step("cancel", 1, "once", "other"))),
    )
    assert _titles(plan) == [
        "create hung-up task 1 (export)",
        "undeclared tasks/get task 1",
        "unknown tasks/cancel [an odd id]",
        "at the same time: read task 1; cancel task 1 on other",
    ]


def test_nothing_of_an_earlier_run_is_left(tmp_path: Path) -> None:
    (tmp_path / "sequences").mkdir()
    stale = Sequence((Step("disconnect"),), ("polling.shape",), repeated=True)
    write_sequence(tmp_path / "sequences.polling.shape.jsonl", stale, Redactor([], []))
    write_sequence(tmp_path / "sequences" / "seen-search-1-1.jsonl", stale, Redactor([], []))
    with (
        two_callers(effort="quick", seed=5) as target,
        extent("quick", plans=2, seconds=30.0),
    ):
        checked = check_target(target, folder=tmp_path, rules={})
    assert checked.results.run.sequences == 0  # no rule, no topic, so nothing was searched
    assert not (tmp_path / "sequences.polling.shape.jsonl").exists()
    assert list((tmp_path / "sequences").glob("seen-*")) == []


def test_only_our_own_files_are_removed(tmp_path: Path) -> None:
    beside = tmp_path / "sequences"
    beside.mkdir()
    theirs = {
        beside / "genome.jsonl": '{"base": "ACGT"}',
        tmp_path / "sequences.align.sh": "#!/bin/sh",
    }
    for path, text in theirs.items():
        path.write_text(text)
    write_sequence(beside / "seen-search-1-1.jsonl", Sequence((), ()), Redactor([], []))
    forget(tmp_path)
    assert {path: path.read_text() for path in theirs} == theirs
    assert not (beside / "seen-search-1-1.jsonl").exists()
