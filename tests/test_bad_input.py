"""Whatever a command is given, it ends in time, with one line that says what to do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.wire.history import FORMAT
from fixtures.serve import Settings, running
from tests import subjects
from tests.commands import Done, command

NOBODY = "http://127.0.0.1:9/mcp"
# Seconds that a command may take over what is wrong with its input alone, with much to spare.
SOON = 20.0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that are of no use, which is where the commands are called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOT_SET", raising=False)
    head = json.dumps({"format": FORMAT, "scenario": "a", "circumstances": {}})
    files: dict[str, str | bytes] = {
        "file": "text",
        "empty": "",
        "binary": bytes(range(256)),
        "array.json": "[]",
        "deep.json": "[" * 100_000,
        "half.json": '{"format": "mcp-tasks-conformance/results/1"',
        "bare.json": '{"format": "mcp-tasks-conformance/results/1"}',
        "other.json": '{"format": "mcp-tasks-conformance/results/99"}',
        "history.jsonl": head + "\n",
        "wrong.jsonl": head + "\nhello\n",
        "future.jsonl": head.replace("{}", '{"spec": "2099-01-01"}') + "\n",
        "broken.toml": "url = ",
        "typo.toml": "effrot = 'quick'",
        "types.toml": "strict = 'yes'",
        "rule.toml": "[[expected]]\nreason = 'none'",
        "odd.toml": "[[expected]]\nrule = 'a'\nwhy = 'b'",
    }
    for name, content in files.items():
        raw = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(raw)
    (tmp_path / "nothing").mkdir()
    return tmp_path


def complained(finished: Done, status: int, message: str) -> None:
    """One line says what is wrong, and nothing else is said."""
    assert finished.status == status, finished
    assert message in finished.complaint, finished.complaint
    assert finished.output == ""
    assert "Traceback" not in finished.errors
    assert len(finished.complaint) < 700
    assert finished.complaint.isprintable()


RUN = [
    (["run"], "give the URL of the server"),
    (["run", ""], "give the URL of the server"),
    (["run", "localhost:8000"], "give one like http://127.0.0.1:8000/mcp"),
    (["run", "http://[::1"], "is not a URL"),
    (["run", "http://a:99999/"], "is not a URL"),
    (["run", "http://a/\x1b[2J\nb"], "is not the URL of a server"),
    (["run", NOBODY, NOBODY], "unexpected extra argument"),
    (["run", NOBODY, "--no-such-option"], "No such option"),
    (["run", NOBODY, "--headers", "x"], "Did you mean"),
    (["run", NOBODY, "--explore", "some"], "'safe', 'all', 'none'"),
    (["run", NOBODY, "--effort", "huge"], "'quick', 'standard', 'thorough'"),
    (["run", NOBODY, "--max-wait", "soon"], "--max-wait"),
    (["run", NOBODY, "--max-wait", "0"], "0.5<=x<=3600"),
    (["run", NOBODY, "--max-wait", "nan"], "max-wait"),
    (["run", NOBODY, "--seed", "x"], "--seed"),
    (["run", NOBODY, "-n", "-1"], "0<=x<=64"),
    (["run", NOBODY, "--spec", "2024-11-05"], "this suite knows 2025-11-25, 2026-07-28, draft"),
    (["run", NOBODY, "--header", "X: hush-77\r\nInjected: yes"], "--header wants 'Name: value'"),
    (["run", NOBODY, "--header", "hush-77"], "--header wants 'Name: value'"),
    (["run", NOBODY, "--header", "Mcp-Name: x"], "leave it out"),
    (["run", NOBODY, "--other-header", "hush-77"], "--header wants 'Name: value'"),
    (["run", NOBODY, "--header-env", "Authorization"], "NAME=VARIABLE"),
    (["run", NOBODY, "--header-env", "Authorization=NOT_SET"], "'NOT_SET' is not set"),
    (["run", NOBODY, "--replica", "localhost"], "is not the URL of a server"),
    (["run", NOBODY, "--replica", NOBODY], "is a URL that was given already"),
    (["run", "http://a/mcp", "--replica", "http://u:hush-77@A:80/mcp"], "given already"),
    (["run", NOBODY, "--replica", "http://a/mcp", "--replica", "http://a/mcp"], "given already"),
    (["run", NOBODY, "--tool", "slwo:export"], "did you mean 'slow'"),
    (["run", NOBODY, "--tool", "export={"], "not a JSON object"),
    (["run", NOBODY, "--tool", "\x1b[31m={"], "not a JSON object"),
    (["run", NOBODY, "--only", "pollling"], "unknown rule 'pollling'"),
    (["run", NOBODY, "--skip", "polling.unknown-idd"], "did you mean 'polling.unknown-id'"),
    (["run", NOBODY, "--config", "none.toml"], "cannot read the profile none.toml"),
    (["run", NOBODY, "--config", "nothing"], "cannot read the profile nothing"),
    (["run", NOBODY, "--config", "broken.toml"], "broken.toml is not TOML"),
    (["run", NOBODY, "--config", "binary"], "binary is not TOML"),
    (["run", NOBODY, "--config", "typo.toml"], "did you mean 'effort'"),
    (["run", NOBODY, "--config", "types.toml"], "strict should be true or false"),
    (["run", NOBODY, "--baseline", "none.toml"], "cannot read the baseline none.toml"),
    (["run", NOBODY, "--baseline", "broken.toml"], "broken.toml is not TOML"),
    (["run", NOBODY, "--baseline", "rule.toml"], "entry 1: it has no rule"),
    (["run", NOBODY, "--baseline", "odd.toml"], "why is wrong"),
    (["run", NOBODY, "--update-baseline"], "needs --baseline FILE"),
    (["run", NOBODY, "--html", "file/report.html"], "cannot write file/report.html"),
    (["run", NOBODY, "--json", "nothing"], "cannot write nothing"),
    (["run", NOBODY, "--junit", "/proc/none/it.xml"], "cannot write /proc/none/it.xml"),
    (["run", NOBODY, "--markdown", "/dev/null/it.md"], "cannot write /dev/null/it.md"),
    (["run", NOBODY, "--history", "file"], "pass --history PATH"),
    (["run", NOBODY, "--history", "file/history"], "pass --history PATH"),
    (
        ["run", NOBODY, "--baseline", "file/known.toml", "--update-baseline"],
        "cannot write file/known.toml",
    ),
]  # fmt: skip
OTHERS = [
    (["judge"], "Missing argument"),
    (["judge", "none"], "cannot read the history none"),
    (["judge", "nothing"], "the folder nothing holds no history"),
    (["judge", "empty"], "empty"),
    (["judge", "file"], "is not a history"),
    (["judge", "binary"], "is not a history"),
    (["judge", "array.json"], "is not a history"),
    (["judge", "deep.json"], "is not a history"),
    (["judge", "bare.json"], "is not a history"),
    (["judge", "wrong.jsonl"], "wrong.jsonl, line 2"),
    (["judge", "future.jsonl"], "unknown revision '2099-01-01'"),
    (["judge", "history.jsonl", "--spec", "1999"], "unknown revision '1999'"),
    (["judge", "history.jsonl", "--only", "pollling"], "unknown rule 'pollling'"),
    (["judge", "history.jsonl", "--html", "file/x"], "cannot write file/x"),
    (["judge", "history.jsonl", "--baseline", "broken.toml"], "broken.toml is not TOML"),
    (["diff", "bare.json"], "Missing argument"),
    (["diff", "none", "bare.json"], "none"),
    (["diff", "nothing", "bare.json"], "nothing"),
    (["diff", "empty", "bare.json"], "empty"),
    (["diff", "binary", "bare.json"], "binary"),
    (["diff", "array.json", "bare.json"], "array.json"),
    (["diff", "deep.json", "bare.json"], "deep.json"),
    (["diff", "half.json", "bare.json"], "half.json"),
    (["diff", "bare.json", "bare.json"], "bare.json"),
    (["diff", "other.json", "bare.json"], "other.json"),
    (["diff", "history.jsonl", "bare.json"], "history.jsonl"),
    (["diff", "bare.json", "bare.json", "--format", "yaml"], "'text', 'markdown', 'json'"),
    (["rules", "nothing.such"], "unknown rule 'nothing.such'"),
    (["rules", "\x1b[31m"], "unknown rule"),
    (["doctor"], "give the URL of the server"),
    (["doctor", "localhost"], "is not the URL of a server"),
    (["doctor", NOBODY, "--config", "typo.toml"], "did you mean 'effort'"),
    (["serve", "--fault", "none"], "`serve --list-faults` lists them"),
    (["serve", "--variant", "none"], "`serve --list-variants` lists them"),
    (["serve", "--token", "nobody"], "--token wants CALLER=TOKEN"),
    (["serve", "--port", "99999"], "0<=x<=65535"),
    (["serve", "--port", "0", "--host", "256.0.0.1"], "cannot serve"),
    (["serve", "--port", "0", "--store", "nothing"], "cannot serve"),
    (["serve", "--port", "0", "--store", "file/store"], "cannot serve"),
    (["demo", "--fault", "none"], "`serve --list-faults` lists them"),
    (["demo", "--html", "file/x"], "cannot write file/x"),
    (["rnu"], "Did you mean 'run'?"),
    (["--verison"], "No such option"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), [pytest.param(*case, id=" ".join(case[0])) for case in RUN + OTHERS]
)
def test_wrong_usage(arguments: list[str], message: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    begun = time.monotonic()
    finished = command(*arguments)
    assert time.monotonic() - begun < SOON
    if arguments[0] == "demo":
        finished = Done(finished.status, finished.output, _without_address(finished.errors))
    complained(finished, 2, message)
    assert "hush-77" not in finished.errors
    # Nothing was driven, and nothing was left behind but folders that reports would be in.
    assert [path for path in folder.rglob("*") if path.is_file() and path not in before] == []


def _without_address(errors: str) -> str:
    return "\n".join(line for line in errors.splitlines() if "reference server:" not in line)


@pytest.mark.parametrize("name", ["run", "doctor"])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("html", "is not an MCP endpoint"),
        ("empty", "is not an MCP endpoint"),
        ("not_json", "is not an MCP endpoint"),
        ("internal_error", "HTTP 500"),
        ("unauthorized", "pass --header 'Authorization: Bearer …'"),
        ("hanging", "it accepts connections but does not answer"),
        ("slow_drip", "it accepts connections but does not answer"),
        ("reset", "it closed the connection without an answer"),
        ("redirect_elsewhere", "give the URL it redirects to, if you trust it"),
    ],
)
def test_nothing_to_judge(name: str, kind: str, message: str) -> None:
    with subjects.running("misbehaving", kind) as url:
        begun = time.monotonic()
        finished = command(name, url, "--max-wait", 1)
        assert time.monotonic() - begun < SOON
    assert finished.status == 3, finished
    if name == "run":
        told = [line for line in finished.errors.splitlines() if line.startswith("error: ")]
    else:
        told = finished.output.splitlines()
    assert len(told) == 1
    assert message in told[0]
    assert url in told[0]


@pytest.mark.parametrize("name", ["run", "doctor"])
def test_nobody_is_there(name: str) -> None:
    finished = command(name, NOBODY)
    assert finished.status == 3
    assert "is the server running" in finished.errors + finished.output


def test_the_protocol_before_this_one() -> None:
    with subjects.running("initialize_only") as url:
        finished = command("run", url)
    assert finished.status == 3
    assert "speaks MCP 2025-11-25 with the initialize handshake" in finished.complaint
    assert "pass --spec 2025-11-25" in finished.complaint


@pytest.fixture(scope="module")
def good() -> Iterator[str]:
    with running(Settings(work_seconds=0.3)) as url:
        yield url


def test_a_tool_that_the_server_does_not_have(good: str) -> None:
    finished = command("run", good, "--tool", "slow:exprot_report")
    assert finished.status == 2
    assert "did you mean 'export_report'?" in finished.complaint


def test_a_disk_that_is_full(good: str) -> None:
    finished = command("run", good, "--only", "removed", "--html", "/dev/full")
    assert finished.status == 2
    assert "cannot write /dev/full: No space left on device" in finished.complaint


def test_the_files_of_others_are_left_alone(folder: Path) -> None:
    (folder / "mine").mkdir()
    mine = folder / "mine" / "mine.jsonl"
    mine.write_text('{"my": "data"}\n')
    complained(command("run", NOBODY, "--history", "mine"), 2, "mine.jsonl is not a history")
    assert mine.read_text() == '{"my": "data"}\n'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{torn", "not JSON"),
        ("{}", "it has no 'sent'"),
        ("[]", "a member of it is not as a run writes it"),
    ],
)
def test_a_corrupt_line_is_told_in_plain_words(
    good: str, folder: Path, line: str, problem: str
) -> None:
    assert command("run", good, "--only", "removed", "--explore", "none").status == 0
    with (folder / "reports" / "history" / "discovery.jsonl").open("a") as file:
        file.write(f"{line}\n")
    finished = command("judge", "reports/history")
    assert finished.status == 2
    assert f": not an exchange: {problem}" in finished.complaint
    assert "Error" not in finished.complaint
