"""The script of a sequence carries along what a server makes up, however short it is."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from conformance.drive.sequences.steps import Step
from conformance.report.script import script
from conformance.wire.exchange import Exchange
from fixtures.faults import FAULTS, Fault
from fixtures.reference.envelope import Request
from fixtures.reference.server import Server
from fixtures.reference.settings import Settings as ReferenceSettings
from fixtures.reference.store import Task
from fixtures.serve import Settings, running
from tests.at_work import performed, two_callers
from tests.builders import creation, exchange, reading


class ShortIds(Server):
    """Tasks are numbered, from another number each time the server is started."""

    first = 7

    def __init__(self, settings: ReferenceSettings) -> None:
        super().__init__(settings)
        self._numbers = count(self.first)

    def new_task(self, request: Request, tool: str, ttl_ms: int | None) -> Task:
        task = super().new_task(request, tool, ttl_ms)
        return replace(task, task_id=str(next(self._numbers)))


def test_short_ids_are_carried_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAULTS, "test-short", Fault("test-short", "", ShortIds))
    plan = (Step("create", 1, tool="book_table"), Step("answer", 1), Step("cancel", 1))
    with two_callers("test-short") as target:
        ((each, _),) = performed(target, plan)
    path = tmp_path / "it.sh"
    path.write_text(script(tuple(each.history), (), "http://127.0.0.1:9/mcp", ()))
    monkeypatch.setattr(ShortIds, "first", 5150)
    with running(Settings(fault="test-short")) as url:
        ran = subprocess.run(
            ["bash", str(path), url],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={"PATH": "/usr/bin:/bin", "AUTHORIZATION": "none"},
        )
    assert ran.returncode == 0, ran.stderr
    assert '"taskId":"5150"' in ran.stdout.replace(" ", "")
    assert '"error"' not in ran.stdout, ran.stdout


def test_each_replica_has_its_url() -> None:
    there = "http://127.0.0.1:9001/mcp"
    made, read = creation(), reading()
    elsewhere: Exchange = replace(read, replica=1, sent=replace(read.sent, url=there))
    text = script((made, elsewhere, exchange("tools/list")), (), "http://127.0.0.1:9000/mcp", ())
    assert "URL=${1:-http://127.0.0.1:9000/mcp}\nURL2=${2:-http://127.0.0.1:9001/mcp}\n" in text
    assert text.count(' "$URL2" ') == 1
    assert text.count(' "$URL" ') == 2
