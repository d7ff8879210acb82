"""Processes that are measured: commands with their times and memory, and servers."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SUITE = (sys.executable, "-m", "conformance")
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Ended:
    """A command that has ended. ``processor`` are seconds of processor time, ``memory`` the most
    megabytes it had at a time."""

    status: int
    seconds: float
    processor: float
    memory: float
    output: str


def run(command: Sequence[str], *, folder: Path | None = None, seconds: float = 300) -> Ended:
    """Run a command to its end. Raises ``subprocess.TimeoutExpired`` when it takes too long."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder or ROOT,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        status, used = _wait(process, seconds)
        took = time.perf_counter() - begun
        output.seek(0)
        text = output.read()
    processor = used.ru_utime + used.ru_stime
    return Ended(status, took, processor, used.ru_maxrss / 1024, text)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, resource.struct_rusage]:
    """Wait as ``Popen.wait`` does, and learn what the process has used."""
    ends = time.monotonic() + seconds
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used
        if time.monotonic() > ends:
            process.kill()
            os.wait4(process.pid, 0)
            process.returncode = -9
            raise subprocess.TimeoutExpired(process.args, seconds)
        time.sleep(0.002)


def _environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NO_COLOR": "1"}


@dataclass(frozen=True)
class Serving:
    """A server in a process of its own."""

    url: str
    pid: int

    def processor(self) -> float:
        """The seconds of processor time it has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(*options: str, command: Sequence[str] | None = None) -> Iterator[Serving]:
    """Start the reference server, or another command that first prints its URL."""
    process = subprocess.Popen(
        [*(command or (*SUITE, "serve", "--port", "0")), *options],
        cwd=ROOT,
        env={**_environment(), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url.startswith("http://127.0.0.1:"):
            raise RuntimeError(f"the server did not start: {url!r}")
        yield Serving(url, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def quickest(times: int, measure: Callable[[], Ended]) -> Ended:
    """The quickest of several: what a busy machine adds is no part of the figure."""
    return min((measure() for _ in range(times)), key=lambda ended: ended.seconds)
