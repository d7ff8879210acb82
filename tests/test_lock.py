"""A folder of histories belongs to one run at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.lock import LOCK, held
from fixtures.serve import Settings, running
from tests.commands import done

NARROW = ("--only", "removed", "--explore", "none")


def dead_process() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_a_second_one_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with held(folder):
        assert int((folder / LOCK).read_text()) == os.getpid()
        with pytest.raises(UsageError, match=f"process {os.getpid()}.*--history"), held(folder):
            pass
        assert (folder / LOCK).exists()
    assert list(folder.iterdir()) == []
    with held(folder):
        pass


@pytest.mark.parametrize("text", ["", "nobody", "-1"])
def test_what_a_dead_run_left_is_taken_over(tmp_path: Path, text: str) -> None:
    (tmp_path / LOCK).write_text(text or str(dead_process()))
    with held(tmp_path):
        assert int((tmp_path / LOCK).read_text()) == os.getpid()


def test_a_process_with_our_number_is_dead(tmp_path: Path) -> None:
    """In a container every run may have the same number."""
    (tmp_path / LOCK).write_text(str(os.getpid()))
    with held(tmp_path):
        pass


def test_a_run_into_a_folder_that_is_taken(tmp_path: Path) -> None:
    report = tmp_path / "reports" / "report.html"
    with held(tmp_path / "reports" / "history"), running(Settings()) as url:
        report.write_text("of the first")
        second = done("run", url, *NARROW, folder=tmp_path)
    assert second.status == 2, second
    assert f"process {os.getpid()}" in second.complaint
    assert "--history PATH" in second.complaint
    assert report.read_text() == "of the first"


def test_a_run_leaves_no_lock(tmp_path: Path) -> None:
    with running(Settings(work_seconds=0.3)) as url:
        assert done("run", url, *NARROW, folder=tmp_path).status == 0
    assert not (tmp_path / "reports" / "history" / LOCK).exists()
