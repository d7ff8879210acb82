"""After a run nothing that was written, printed or started holds a secret, in any form."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.commands import PATIENCE, Done, done, process
from tests.echoing import echoing

TOKEN = "s3cr3t-of-alice+/=%22-71ad"
OTHER = "s3cr3t-of-bob_5e0c"
KEY = "key/with+odd=chars&9b1f"
QUERY = "qu3ry-t0ken=9c44"
PASSWORD = "p4ss word:/@-d1e2"

QUICKLY = ("--max-wait", "2", "--effort", "quick")
REPORTS = ("--junit", "it.xml", "--markdown", "it.md", "--baseline", "known.toml")


def forms(secret: str) -> set[bytes]:
    """How a secret may be told: the forms that a search of the files looks for."""
    raw = secret.encode()
    plain = {secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1]}
    encoded = {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()}
    whole = {
        base64.b64encode(f"authorization: Bearer {secret}".encode()).decode(),
        base64.b64encode(f"Authorization: Bearer {secret}".encode()).decode(),
    }
    found = plain | encoded | {form.rstrip("=") for form in encoded} | whole
    return {form.encode() for form in found}


def leaks(secrets: Iterable[str], finished: Done, folder: Path) -> list[str]:
    """Where a secret is: files below a folder, and what a command said."""
    places = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    places.update({"stdout": finished.output.encode(), "stderr": finished.errors.encode()})
    return [
        f"{place} has {form!r}"
        for place, content in places.items()
        for secret in secrets
        for form in forms(secret)
        if form in content
    ]


def test_the_search_would_find_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(base64.b64encode(TOKEN.encode()))
    assert leaks([TOKEN], Done(0, quote(OTHER), ""), tmp_path)
    assert leaks([OTHER], Done(0, quote(OTHER), ""), tmp_path)
    assert not leaks([KEY], Done(0, quote(OTHER), ""), tmp_path)


@pytest.mark.parametrize("workers", [0, 2])
def test_after_a_run(tmp_path: Path, workers: int) -> None:
    """Headers, the second caller's too, and a token in the URL."""
    with echoing() as url:
        started = process(
            "run", f"{url}?key={quote(QUERY, safe='')}&v=2", "-n", workers, *QUICKLY,
            "--header-env", "Authorization=TOKEN", "--header", f"X-Api-Key: {KEY}",
            "--other-header-env", "Authorization=OTHER", "--update-baseline", *REPORTS,
            folder=tmp_path,
            environment={"TOKEN": f"Bearer {TOKEN}", "OTHER": f"Bearer {OTHER}"},
        )  # fmt: skip
        with _Watching(started.pid) as watching:
            output, errors = started.communicate(timeout=PATIENCE)
    finished = Done(started.returncode, output, errors)
    assert finished.status in (0, 1, 3), finished
    history = "".join(path.read_text() for path in tmp_path.glob("reports/history/*.jsonl"))
    assert history.count("***") > 100
    assert leaks([TOKEN, OTHER, KEY, QUERY], finished, tmp_path) == []
    # The main process was given some of them by its user; nobody else may have them.
    children = watching.commands
    assert len(children) >= workers
    assert not [c for c in children if any(f in c for f in forms(KEY) | forms(QUERY))]
    everybody = [*children, *watching.own]
    assert not [c for c in everybody if any(f in c for f in forms(TOKEN) | forms(OTHER))]


def test_after_a_run_with_credentials_in_the_url(tmp_path: Path) -> None:
    with echoing() as url:
        user = f"alice:{quote(PASSWORD, safe='')}@"
        finished = done(
            "run", url.replace("//", f"//{user}"), *QUICKLY, *REPORTS, "--update-baseline",
            "--only", "polling", "--only", "transport",
            folder=tmp_path,
        )  # fmt: skip
    assert finished.status in (0, 1, 3), finished
    assert leaks([PASSWORD, f"alice:{PASSWORD}"], finished, tmp_path) == []


def test_when_there_is_nothing_to_judge(tmp_path: Path) -> None:
    """What a server says in an error is repeated to the user, but for what is secret in it."""
    url = "http://nowhere.invalid/mcp"
    for command in ("run", "doctor"):
        finished = done(
            command, f"{url.replace('//', '//alice:' + quote(PASSWORD, safe='') + '@')}?t={KEY}",
            folder=tmp_path,
        )  # fmt: skip
        assert finished.status == 3, finished
        assert "nowhere.invalid" in finished.errors + finished.output
        assert leaks([PASSWORD, KEY], finished, tmp_path) == []


def test_what_the_doctor_says(tmp_path: Path) -> None:
    with echoing() as url:
        finished = done(
            "doctor", url, "--header-env", "Authorization=TOKEN",
            folder=tmp_path, environment={"TOKEN": f"Bearer {TOKEN}"},
        )  # fmt: skip
    assert finished.status == 0, finished
    assert "for ***" in finished.output
    assert leaks([TOKEN], finished, tmp_path) == []


def test_what_is_said_of_a_tool_that_there_is_not(tmp_path: Path) -> None:
    with echoing() as url:
        finished = done(
            "run", url, "--header-env", "Authorization=TOKEN", "--tool", "quite-another",
            folder=tmp_path, environment={"TOKEN": f"Bearer {TOKEN}"},
        )  # fmt: skip
    assert finished.status == 2, finished
    assert "the server lists no such tool" in finished.complaint
    assert leaks([TOKEN], finished, tmp_path) == []


class _Watching:
    """Reads the command lines of a process and of those it starts, until it ends."""

    def __init__(self, pid: int) -> None:
        self.own: set[bytes] = set()
        self.commands: set[bytes] = set()
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _Watching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        forked: set[int] = set()
        while not self._over.wait(0.05):
            self.own.add(_command_line(self._pid))
            for pid in _descendants(self._pid):
                line = _command_line(pid)
                # One that has only just been forked goes by the line of its parent for a moment.
                if line not in self.own or pid in forked:
                    self.commands.add(str(pid).encode() + b" " + line)
                forked.add(pid)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _descendants(pid: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        try:
            status = Path(f"/proc/{entry}/stat").read_text() if entry.isdecimal() else ""
        except OSError:
            continue
        if status:
            parents[int(entry)] = int(status.rpartition(")")[2].split()[1])
    found: set[int] = set()
    new = {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found
