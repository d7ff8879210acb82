"""Servers that other people would write, started as processes of their own.

None of them is part of the suite, and none knows of it. `running` starts one by the name of its
module and gives the URL it announces. They are test subjects, so that the suite's own reference
server is not the only server it is tried on.
"""

import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# The folder from which this package is imported under its own name.
IMPORT_ROOT = Path(__file__).resolve().parents[len(__name__.split("."))]
START_SECONDS = 20.0
STOP_SECONDS = 5.0
STDERR_CHARACTERS = 4000


class SubjectDidNotStart(Exception):
    """A subject ended, stayed silent, or printed something other than its URL."""


@contextmanager
def running(name: str, *arguments: str) -> Iterator[str]:
    """Run the module `name` of this package on a free port and yield its MCP URL.

    The arguments follow the port on the subject's command line. The process is ended at exit.

    Raises:
        SubjectDidNotStart: no URL was announced within 20 seconds; the message holds what the
            process wrote to its standard error.
    """
    with announced([sys.executable, "-m", f"{__name__}.{name}", "0", *arguments]) as url:
        yield url


@contextmanager
def announced(command: Sequence[str]) -> Iterator[str]:
    """Run any command whose first line of output is a URL, and yield that URL.

    Raises:
        SubjectDidNotStart: as `running` does.
    """
    path = os.pathsep.join(filter(None, [str(IMPORT_ROOT), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": path},
        )
        try:
            line = _first_line(process)
            if not line.startswith("http://"):
                raise SubjectDidNotStart(_explanation(command, process, line, errors))
            yield line
        finally:
            _end(process)


def _first_line(process: "subprocess.Popen[bytes]") -> str:
    """Wait for the first line of output; give "" where the process ends or stays silent."""
    first: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        with process.stdout as output:
            first.put(output.readline())
            # Later output is read and dropped, so that the process never blocks on a full pipe.
            while output.read(65536):
                pass

    threading.Thread(target=read, daemon=True).start()
    try:
        return first.get(timeout=START_SECONDS).decode(errors="replace").strip()
    except queue.Empty:
        return ""


def _explanation(
    command: Sequence[str], process: "subprocess.Popen[bytes]", line: str, errors: IO[bytes]
) -> str:
    try:
        outcome = f"ended with status {process.wait(timeout=1)}"
    except subprocess.TimeoutExpired:
        outcome = f"did not announce a URL within {START_SECONDS:.0f} s"
    errors.seek(0)
    written = errors.read().decode(errors="replace").strip()[-STDERR_CHARACTERS:]
    return (
        f"{' '.join(command)}: {outcome}. Its first line was {line!r}. "
        f"Its standard error was:\n{written or '(nothing)'}"
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
