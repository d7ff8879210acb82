"""What others made of the same texts: the official clients, from npm, agree with us on what a
message may look like, and are served well by what we hold to be conformant."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fixtures.messages.make import FOLDER
from fixtures.reference.tools import TOOLS
from fixtures.serve import Settings, running
from fixtures.variants import load_variants

PACKAGES = (
    "@modelcontextprotocol/ext-tasks@0.2.2",
    "@modelcontextprotocol/client@2.4.0",
    # Its client knows the tasks of 2025-11-25.
    "@modelcontextprotocol/sdk@1.32.2",
)
SCRIPTS = Path(__file__).parent / "official_client"
# It leaves open what the core protocol says of `_meta`, and so takes what is wrong there.
ONLY_IN_CORE = {"_meta is an array", "_meta names a server without a name"}
ONLY_IN_CORE |= {"the subscription id is null"}

IMMEDIATE = {"add_numbers"}
WITH_ERROR = {"import_orders"}
FAILED = {"sync_mailbox"}


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the official client and the scripts that use it."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("there is no npm on this machine, and so no official client")
    folder = tmp_path_factory.mktemp("official-client")
    install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
    done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(f"the official client cannot be installed: {done.stderr[-200:]}")
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


@pytest.mark.nightly
@pytest.mark.parametrize("name", load_variants())
def test_the_official_client_gets_on_with_every_conformant_variant(
    official: Path, name: str
) -> None:
    with running(Settings(variant=name, **load_variants()[name].settings)) as url:
        settled = told(official, "settle.mjs", url)
    assert settled
    assert [each for each in settled if "problem" in each] == []
