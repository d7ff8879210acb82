"""The commands: their exit statuses, what they write, and how they help."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.baseline import read_baseline
from conformance.cli import main
from conformance.errors import SuiteBug
from conformance.version import __version__
from fixtures.serve import Settings, running
from tests import subjects
from tests.commands import PATIENCE, Done, command, done, process

COMMANDS = ("run", "judge", "diff", "rules", "doctor", "serve", "demo")
# A fault of the reference server, and the rule that it breaks.
FAULT, RULE = "tasks-list-empty", "removed.tasks-list"
ONLY = ("--only", "removed")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a folder of its own, in which its reports are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def good() -> Iterator[str]:
    with running(Settings(work_seconds=0.3)) as url:
        yield url


@pytest.fixture(scope="module")
def faulty() -> Iterator[str]:
    with running(Settings(fault=FAULT, work_seconds=0.3)) as url:
        yield url


def last_line(finished: Done) -> str:
    return finished.output.splitlines()[-1]


# ---- exit statuses -------------------------------------------------------------------------


def test_0_no_violation(good: str, folder: Path) -> None:
    finished = command("run", good, *ONLY, "--seed", 7)
    assert finished.status == 0, finished
    assert last_line(finished).startswith("conformant: ")
    assert (folder / "reports" / "report.html").stat().st_size > 0
    results = json.loads((folder / "reports" / "results.json").read_text())
    assert results["verdict"] == "conformant"
    assert results["run"]["seed"] == 7
    assert {rule["id"].partition(".")[0] for rule in results["rules"]} == {"removed"}
    assert list((folder / "reports" / "history").glob("removed.*.jsonl"))


def test_1_a_violation(faulty: str) -> None:
    finished = command("run", faulty, *ONLY)
    assert finished.status == 1, finished
    assert RULE in finished.output
    assert last_line(finished).startswith("non-conformant: ")


def test_1_a_warning_where_warnings_count() -> None:
    with running(Settings(fault="tools-carry-hints", work_seconds=0.3)) as url:
        lenient = command("run", url, *ONLY)
    assert lenient.status == 0, lenient
    assert "removed.tool-hints" in lenient.output
    assert command("judge", "reports/history", *ONLY, "--strict").status == 1


def test_2_wrong_usage() -> None:
    finished = command("run", "localhost:8000/mcp")
    assert finished.status == 2
    assert "give one like http://127.0.0.1:8000/mcp" in finished.complaint


def test_3_nobody_there() -> None:
    with subjects.running("misbehaving", "html") as url:
        pass
    finished = command("run", url)
    assert finished.status == 3
    assert "is the server running" in finished.complaint


def test_3_the_extension_is_not_offered() -> None:
    with subjects.running("no_extension") as url:
        finished = command("run", url, *ONLY)
    assert finished.status == 3
    assert last_line(finished).startswith("not-offered: ")


def test_3_nothing_was_observed(good: str) -> None:
    finished = command("run", good, "--only", "security.foreign-get")
    assert finished.status == 3
    assert last_line(finished).startswith("inconclusive: ")


def test_4_not_exercised(good: str) -> None:
    only = (*ONLY, "--only", "security.foreign-get")
    assert command("run", good, *only).status == 0
    finished = command("judge", "reports/history", *only, "--require-exercised")
    assert finished.status == 4


def test_5_a_stale_baseline(good: str, folder: Path) -> None:
    (folder / "known.toml").write_text("[[expected]]\nrule = 'removed.tasks-list'\n")
    finished = command("run", good, *ONLY, "--baseline", "known.toml")
    assert finished.status == 5
    assert "removed.tasks-list is not violated any more" in finished.complaint
    assert last_line(finished).startswith("conformant: ")


def test_70_a_bug_of_ours(good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("several\nlines")

    monkeypatch.setattr("conformance.checking.check_target", fail)
    finished = command("run", good)
    assert finished.status == 70
    assert "the suite itself failed (RuntimeError: several lines)" in finished.complaint
    with pytest.raises(RuntimeError):
        main.main(["run", good], standalone_mode=False)


def test_70_a_scenario_that_fails(good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise SuiteBug("a scenario failed", "the whole\ntrace")

    monkeypatch.setattr("conformance.checking.check_target", fail)
    assert command("run", good).complaint == "error: a scenario failed"
    told = command("run", good, environment={"CONFORMANCE_TRACEBACK": "1"})
    assert told.status == 70
    assert "the whole\ntrace" in told.errors


# ---- the baseline --------------------------------------------------------------------------


def test_a_known_violation_does_not_fail(faulty: str, folder: Path) -> None:
    adopted = command("run", faulty, *ONLY, "--baseline", "known.toml", "--update-baseline")
    assert adopted.status == 0, adopted
    assert [entry.rule for entry in read_baseline(folder / "known.toml")] == [RULE]
    results = json.loads((folder / "reports" / "results.json").read_text())
    assert results["verdict"] == "conformant"
    known = command("run", faulty, *ONLY, "--baseline", "known.toml")
    assert known.status == 0, known
    assert RULE in known.output


def test_a_new_violation_matters_more_than_a_stale_baseline(faulty: str, folder: Path) -> None:
    (folder / "known.toml").write_text("[[expected]]\nrule = 'removed.tasks-result'\n")
    finished = command("run", faulty, *ONLY, "--baseline", "known.toml")
    assert finished.status == 1
    assert "removed.tasks-result is not violated any more" in finished.complaint


def test_updating_needs_a_baseline() -> None:
    finished = command("run", "http://127.0.0.1:9/", "--update-baseline")
    assert finished.status == 2
    assert "--update-baseline needs --baseline FILE" in finished.complaint


# ---- profiles ------------------------------------------------------------------------------


def test_a_profile_gives_the_options(good: str, folder: Path) -> None:
    (folder / "conformance.toml").write_text(
        f'url = "{good}"\nonly = ["removed"]\njson = "there/it.json"\nseed = 5\neffort = "quick"\n'
    )
    finished = command("run")
    assert finished.status == 0, finished
    results = json.loads((folder / "there" / "it.json").read_text())
    assert (results["run"]["seed"], results["run"]["effort"]) == (5, "quick")


def test_the_command_line_wins_over_the_profile(good: str, folder: Path) -> None:
    (folder / "mine.toml").write_text(
        'url = "http://127.0.0.1:9/"\nonly = ["polling"]\nseed = 5\nexplore = "all"\n'
    )
    finished = command(
        "run", good, "--config", "mine.toml", *ONLY, "--seed", 0, "--explore", "none"
    )
    assert finished.status == 0, finished
    results = json.loads((folder / "reports" / "results.json").read_text())
    assert results["run"]["seed"] == 0
    assert {rule["id"].partition(".")[0] for rule in results["rules"]} == {"removed"}


def test_the_doctor_takes_the_profile_of_a_run(good: str, folder: Path) -> None:
    (folder / "conformance.toml").write_text(f'url = "{good}"\nseed = 5\njson = "it.json"\n')
    finished = command("doctor")
    assert finished.status == 0, finished
    assert "io.modelcontextprotocol/tasks is advertised" in finished.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max-wait = nan", "max-wait"),
        ("max-wait = inf", "max-wait"),
        ("max-wait = -1", "max-wait"),
        ("workers = 99", "workers"),
        ("effort = 'huge'", "effort"),
        ("explore = 'some'", "explore"),
        ("spec = '1999-01-01'", "unknown revision"),
        ("tool = ['slwo:a']", "did you mean 'slow'"),
        ("header = ['nonsense']", "--header wants"),
        ("only = ['pollling']", "unknown rule 'pollling'"),
        ("effrot = 'quick'", "did you mean 'effort'"),
    ],
)
def test_a_wrong_profile_is_wrong_usage(folder: Path, text: str, message: str) -> None:
    (folder / "conformance.toml").write_text(text)
    finished = command("run", "http://127.0.0.1:9/mcp")
    assert finished.status == 2, finished
    assert message in finished.complaint


# ---- other commands ------------------------------------------------------------------------


def test_judging_again_gives_the_same_rules(faulty: str, folder: Path) -> None:
    command("run", faulty, *ONLY, "--json", "one.json")
    again = command("judge", "reports/history", *ONLY, "--json", "two.json")
    assert again.status == 1
    one, two = (json.loads((folder / name).read_text()) for name in ("one.json", "two.json"))
    assert one["rules"] == two["rules"]
    assert one["verdict"] == two["verdict"]


def test_every_report_is_written(good: str, folder: Path) -> None:
    places = {
        "--html": "a/b/it.html",
        "--json": "c/it.json",
        "--junit": "d/it.xml",
        "--markdown": "it.md",
        "--history": "e/history",
    }
    options = [word for pair in places.items() for word in pair]
    assert command("run", good, *ONLY, *options).status == 0
    assert all((folder / place).exists() for place in places.values())
    assert not (folder / "reports").exists()


def test_the_step_summary_is_added_to(good: str, folder: Path) -> None:
    summary = folder / "summary.md"
    summary.write_text("# Before\n")
    environment = {"GITHUB_STEP_SUMMARY": str(summary)}
    assert command("run", good, *ONLY, environment=environment).status == 0
    assert summary.read_text().startswith("# Before\n## MCP Tasks conformance: conformant")


def test_a_difference(good: str, faulty: str) -> None:
    command("run", good, *ONLY, "--json", "old.json")
    command("run", faulty, *ONLY, "--json", "new.json")
    worse = command("diff", "old.json", "new.json")
    assert worse.status == 1
    assert f"{RULE} (implied): pass → fail" in worse.output
    better = command("diff", "new.json", "old.json", "--format", "json")
    assert better.status == 0
    assert json.loads(better.output)["fixed"][0]["rule"] == RULE


def test_the_catalogue() -> None:
    listed = command("rules")
    assert listed.status == 0
    assert last_line(listed).endswith("`rules ID` explains one")
    rules = json.loads(command("rules", "--json").output)
    assert last_line(listed).startswith(f"{len(rules)} rules")
    topic = command("rules", "polling")
    assert {line for line in topic.output.splitlines() if line.isalpha()} == {"polling"}
    assert "RULE may be a topic" in command("rules", "--help").output
    explained = command("rules", "polling.unknown-id")
    assert explained.output.startswith("polling.unknown-id: ")
    topic = json.loads(command("rules", "polling", "--json").output)
    assert {rule["id"].partition(".")[0] for rule in topic} == {"polling"}


def test_every_rule_can_be_explained() -> None:
    for rule in json.loads(command("rules", "--json").output):
        explained = command("rules", rule["id"]).output
        assert rule["source"] in explained
        assert rule["title"] in explained


def test_an_unknown_rule_is_told_with_a_suggestion() -> None:
    for arguments in (
        ("rules", "polling.unknown-idd"),
        ("run", "http://127.0.0.1:9/", "--only", "polling.unknown-idd"),
        ("run", "http://127.0.0.1:9/", "--skip", "polling.unknown-idd"),
    ):
        finished = command(*arguments)
        assert finished.status == 2
        assert "did you mean 'polling.unknown-id'?" in finished.complaint
    assert "lists them" in command("rules", "zzzzzz").complaint


def test_lists_of_the_reference_server() -> None:
    assert FAULT in command("serve", "--list-faults").output
    assert command("serve", "--list-variants").status == 0


def test_the_version() -> None:
    assert __version__ in command("--version").output


# ---- help ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_a_screen_and_has_an_example(name: str) -> None:
    finished = command(*filter(None, [name]), "--help")
    lines = finished.output.splitlines()
    assert finished.status == 0
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100
    assert "Example: mcp-tasks-conformance" in finished.output


def test_without_a_command_there_is_help() -> None:
    finished = command()
    assert finished.status == 0
    assert all(name in finished.output for name in COMMANDS)


def test_every_option_is_explained() -> None:
    for sub in main.commands.values():
        for parameter in sub.params:
            if parameter.param_type_name == "option":
                assert getattr(parameter, "help", ""), (sub.name, parameter.name)


# ---- as a process --------------------------------------------------------------------------


def test_ctrl_c_leaves_a_history_that_can_be_judged(folder: Path) -> None:
    with running(Settings()) as url:
        started = process("run", url, folder=folder)
        try:
            _wait_until(lambda: len(list(folder.glob("reports/history/*.jsonl"))) > 10)
            started.send_signal(signal.SIGINT)
            output, errors = started.communicate(timeout=PATIENCE)
        finally:
            started.kill()
            started.wait()
    finished = Done(started.returncode, output, errors)
    assert finished.status == 130, finished
    assert "mcp-tasks-conformance judge reports/history" in finished.complaint
    assert "Traceback" not in errors
    assert not (folder / "reports" / "history" / "pytest.ini").exists()
    judged = command("judge", "reports/history")
    assert judged.status in (0, 1, 3), judged
    assert "passed" in last_line(judged)


def _wait_until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, "it never came to it"
        time.sleep(0.02)


def test_ctrl_c_while_looking_around(folder: Path) -> None:
    with subjects.running("misbehaving", "hanging") as url:
        started = process("run", url, folder=folder)
        try:
            _wait_until(lambda: (folder / "reports/history/discovery.jsonl").exists())
            started.send_signal(signal.SIGINT)
            _, errors = started.communicate(timeout=PATIENCE)
        finally:
            started.kill()
            started.wait()
    assert started.returncode == 130, errors
    assert "Traceback" not in errors


def test_nobody_reads_the_output(faulty: str, folder: Path) -> None:
    """The exit status is still that of the verdict."""
    started = process("run", faulty, *ONLY, folder=folder)
    assert started.stdout is not None
    started.stdout.close()
    assert started.stderr is not None
    errors = started.stderr.read()
    assert started.wait(PATIENCE) == 1, errors
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


def test_a_terminal_that_knows_few_characters(folder: Path) -> None:
    wrong = ("run", "http://127.0.0.1:9/", "--header", "x")
    finished = done(*wrong, folder=folder, environment={"PYTHONIOENCODING": "latin-1"})
    assert finished.status == 2, finished
    assert "Bearer \\u2026" in finished.complaint


def test_progress_is_told_while_it_drives(good: str, folder: Path) -> None:
    finished = done("run", good, *ONLY, folder=folder)
    assert finished.status == 0, finished
    assert "report: reports/report.html, reports/results.json" in finished.errors
    assert "scenarios done" not in finished.output


def test_the_reference_server_is_served(folder: Path) -> None:
    started = process("serve", "--port", 0, folder=folder)
    try:
        assert started.stdout is not None
        url = started.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        assert command("doctor", url).status == 0
        started.send_signal(signal.SIGINT)
        assert started.wait(PATIENCE) == 0
    finally:
        started.kill()
        started.wait()


def test_an_address_that_is_taken(good: str) -> None:
    port = good.split(":")[2].split("/")[0]
    finished = command("serve", "--port", port)
    assert finished.status == 2
    assert "in use" in finished.complaint


def test_a_store_that_is_none(folder: Path) -> None:
    (folder / "store").write_text("not a database, and long enough to be told from one" * 10)
    finished = command("serve", "--port", 0, "--store", "store")
    assert finished.status == 2
    assert "cannot serve" in finished.complaint


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--store", "absent/store"), "--store absent/store: unable to open"),
        (("--host", "192.0.2.7"), "--host 192.0.2.7 should be an address of this machine"),
        (("--fault", FAULT, "--variant", "answers-as-streams"), "not both"),
        (("--fault", "no-such", "--fault", FAULT), "--fault is given 2 times"),
        (
            ("--variant", "answers-as-streams", "--variant", "answers-as-streams"),
            "--variant is given 2 times",
        ),
    ],
)
def test_what_cannot_be_served_is_named(options: tuple[str, ...], problem: str) -> None:
    finished = command("serve", "--port", 0, *options)
    assert finished.status == 2
    assert problem in finished.complaint
    assert "--port 0" not in finished.complaint


def test_the_demo(folder: Path) -> None:
    good = command("demo", *ONLY)
    assert good.status == 0, good
    assert "reference server: http://127.0.0.1:" in good.errors
    bad = command("demo", *ONLY, "--fault", FAULT)
    assert bad.status == 1, bad


def test_the_demo_has_a_second_caller(folder: Path) -> None:
    finished = command("demo", "--only", "security.foreign-get", "--effort", "quick")
    assert finished.status == 0, finished
    assert "token-of" not in (folder / "reports" / "results.json").read_text()


# ---- what an earlier run said ----------------------------------------------------------------


def test_an_earlier_verdict_does_not_stay_beside_another_history(good: str, folder: Path) -> None:
    outputs = {"--html": "r.html", "--json": "r.json", "--junit": "j.xml", "--markdown": "m.md"}
    outputs |= {"--sarif": "s.sarif", "--badge": "b.svg", "--log": "log.html"}
    options = [word for pair in outputs.items() for word in pair]
    assert command("run", good, *ONLY, *options).status == 0
    assert all((folder / name).exists() for name in outputs.values())
    with subjects.running("misbehaving", "html") as nobody:
        pass
    assert command("run", nobody, *ONLY, *options).status == 3
    assert [name for name in outputs.values() if (folder / name).exists()] == []


def test_what_is_no_run_leaves_the_reports(good: str, folder: Path) -> None:
    assert command("run", good, *ONLY).status == 0
    (folder / "mine.jsonl").write_text("{}\n")
    assert command("run", good, *ONLY, "--history", ".").status == 2
    assert command("run", good, "--only", "pollling").status == 2
    assert (folder / "reports" / "results.json").exists()


def test_a_report_that_is_a_link_stays_one(good: str, folder: Path) -> None:
    (folder / "there.json").write_text("{}")
    (folder / "here.json").symlink_to("there.json")
    assert command("run", good, *ONLY, "--json", "here.json").status == 0
    assert (folder / "here.json").is_symlink()
    assert json.loads((folder / "there.json").read_text())["verdict"] == "conformant"


# ---- nothing to judge ------------------------------------------------------------------------


def test_nobody_there_is_the_same_to_run_and_judge(folder: Path) -> None:
    with subjects.running("misbehaving", "html") as nobody:
        pass
    ran = command("run", nobody)
    assert ran.status == 3
    judged = command("judge", "reports/history")
    assert judged.status == 3
    assert ran.complaint.removeprefix("error: ") in " ".join(judged.output.split())
    assert last_line(judged).startswith("inconclusive: ")
    assert "does not offer" not in judged.output


def test_a_refused_caller_is_the_same_to_run_and_judge(folder: Path) -> None:
    with running(Settings(tokens={"right": "alice"})) as url:
        ran = command("run", url)
    assert ran.status == 3
    judged = command("judge", "reports/history")
    assert judged.status == 3
    assert "refused the caller (HTTP 401)" in ran.complaint
    assert "refused the caller (HTTP 401)" in " ".join(judged.output.split())
    results = json.loads((folder / "reports" / "results.json").read_text())
    assert results["verdict"] == "inconclusive"
    assert {rule["verdict"] for rule in results["rules"]} == {"not-exercised"}


def test_a_history_says_nothing_of_what_was_not_sent(good: str) -> None:
    assert command("run", good, *ONLY, "--only", "creation").status == 0
    judged = command("judge", "reports/history", "--spec", "2025-11-25")
    assert judged.status == 3
    said = " ".join(judged.output.split())
    assert "made under 2026-07-28, and nothing was sent under 2025-11-25." in said
    assert last_line(judged).startswith("inconclusive: ")


def test_violations_that_are_known_are_no_violations(faulty: str, folder: Path) -> None:
    (folder / "known.toml").write_text(f"[[expected]]\nrule = '{RULE}'\n")
    finished = command("run", faulty, "--only", RULE, "--baseline", "known.toml")
    assert finished.status == 0, finished
    assert last_line(finished).startswith("conformant: 0 passed, ")


# ---- replicas and restarts -------------------------------------------------------------------


def test_a_replica_that_does_not_answer_is_named(good: str) -> None:
    with subjects.running("misbehaving", "html") as nobody:
        pass
    finished = command("run", good, "--only", "endurance", "--replica", nobody)
    assert finished.status == 3
    assert f"no answer from the replica {nobody} (connect: " in finished.complaint


def test_a_restart_command_that_fails_is_told(good: str) -> None:
    wrong = ("--restart-command", "no-such-command-77", "--max-wait", "5")
    finished = command("run", good, "--only", "endurance.restart", *wrong)
    assert finished.status == 3
    assert "note: endurance.restart was not exercised: " in finished.errors
    assert "ended with status 127" in finished.errors
