"""What others made of the same texts: the official packages, from npm.

Their schemas agree with us on what a message may look like, their clients are served well by what
we hold to be conformant, and of their servers we tell what is true.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conformance.judge.rule import TOPICS
from conformance.judge.verdict import NOT_EXERCISED, PASS
from conformance.target.target import Target
from fixtures.messages.make import FOLDER
from fixtures.reference.tools import TOOLS
from fixtures.serve import Settings, running
from fixtures.variants import load_variants
from tests.driving import driven, judged, violations
from tests.subjects import announced

PACKAGES = (
    "@modelcontextprotocol/ext-tasks@0.2.2",
    "@modelcontextprotocol/client@2.4.0",
    # Knows the tasks of 2025-11-25, as client and as server.
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/node@2.1.2",
    "zod@4.6.7",
)
WITHOUT_SEQUENCES = frozenset(TOPICS) - {"sequences"}
SCRIPTS = Path(__file__).parent / "official"
# It leaves open what the core protocol says of `_meta`, and so takes what is wrong there.
ONLY_IN_CORE = {"_meta is an array", "_meta names a server without a name"}
ONLY_IN_CORE |= {"the subscription id is null"}

IMMEDIATE = {"add_numbers"}
WITH_ERROR = {"import_orders"}
FAILED = {"sync_mailbox"}

# Each was checked by hand against the text. Its handler of subscriptions/listen knows no taskIds,
# and of inputResponses that are no object it keeps none.
SERVER = {"notifications.requires-declaration", "input.missing-responses"}
EXAMPLE_OLDER = {
    "negotiation.task-only-tool",
    "polling.unknown-id",
    "polling.no-stream",
    "outcome.failed-status-message",
    "input.only-declared-kinds",
    "transport.foreign-origin",
    "jsonrpc.invalid-params",
}


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the official packages and the scripts that use them."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("there is no npm on this machine, and so no official package")
    folder = tmp_path_factory.mktemp("official")
    install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
    done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(f"the official packages cannot be installed: {done.stderr[-200:]}")
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, folder)
    return folder


def told(folder: Path, script: str, *arguments: str) -> list[dict[str, Any]]:
    """The lines that a script prints."""
    done = subprocess.run(
        ["node", script, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_official_schemas_judge_messages_as_ours_do(official: Path) -> None:
    judged = told(official, "agree.mjs", str(FOLDER))
    assert len(judged) > 500
    assert {each["message"] for each in judged} >= {"GetTaskResult", "CreateTaskResult"}
    otherwise = [each for each in judged if each["valid"] != each["accepted"]]
    assert [each for each in otherwise if each["why"] not in ONLY_IN_CORE] == []


def test_the_official_client_settles_every_task_of_the_reference_server(official: Path) -> None:
    with running(Settings()) as url:
        settled = told(official, "settle.mjs", url)
    ends_as_it_should(settled)
    by_tool = {each["tool"]: each for each in settled}
    assert {t for t, each in by_tool.items() if each["isError"]} == WITH_ERROR
    assert {t for t, each in by_tool.items() if each["status"] == "failed"} == FAILED


def test_the_official_sdk_settles_every_task_of_the_older_revision(official: Path) -> None:
    with running(Settings(revision="2025-11-25")) as url:
        settled = told(official, "settle_older.mjs", url)
    ends_as_it_should(settled)
    failed = {each["tool"] for each in settled if each["status"] == "failed"}
    # Under that revision a task fails also where the tool's result is an error.
    assert failed == FAILED | WITH_ERROR


def ends_as_it_should(settled: list[dict[str, Any]]) -> None:
    assert [each for each in settled if "problem" in each] == []
    by_tool = {each["tool"]: each for each in settled}
    assert by_tool.keys() == {tool.name for tool in TOOLS}
    assert {t for t, each in by_tool.items() if each["kind"] == "immediate"} == IMMEDIATE
    assert {each["status"] for each in settled} == {"completed", "failed"}


def test_of_the_official_server_only_is_told_what_is_true(official: Path) -> None:
    with announced(["node", str(official / "serve_tasks.mjs")]) as url:
        judgement = judged(driven(Target(url=url), topics=WITHOUT_SEQUENCES))
    assert set(violations(judgement)) == SERVER
    passed = {v.rule.id for v in judgement.verdicts if v.verdict == PASS}
    assert len({rule for rule in passed if rule.startswith("transport.")}) > 15
    assert passed >= {"creation.durable", "polling.completed", "input.resumes"}


def test_of_the_official_example_of_the_older_revision_only_is_told_what_is_true(
    official: Path,
) -> None:
    with announced(["node", str(official / "serve_example_older.mjs")]) as url:
        judgement = judged(driven(Target(url=url, spec="2025-11-25"), topics=WITHOUT_SEQUENCES))
    assert set(violations(judgement)) == EXAMPLE_OLDER
    verdicts = {v.rule.id: v.verdict for v in judgement.verdicts}
    # Each of its tasks asks, most of them in the millisecond in which they are made.
    assert verdicts["creation.begins-working"] in (PASS, NOT_EXERCISED)
    assert verdicts["results.repeatable"] == PASS


@pytest.mark.nightly
@pytest.mark.parametrize("name", load_variants())
def test_the_official_client_gets_on_with_every_conformant_variant(
    official: Path, name: str
) -> None:
    with running(Settings(variant=name, **load_variants()[name].settings)) as url:
        settled = told(official, "settle.mjs", url)
    assert settled
    assert [each for each in settled if "problem" in each] == []
