"""Runs commands in tests: in this process where that is enough, else as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from conformance.cli import main

CHECKOUT = Path(__file__).resolve().parents[1]
# No command may take longer, whatever it is given.
PATIENCE = 90.0


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    status: int
    output: str
    errors: str

    @property
    def complaint(self) -> str:
        """The one line that says what is wrong."""
        lines = [line for line in self.errors.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, self.errors
        return lines[0]


def command(*arguments: object, environment: Mapping[str, str | None] | None = None) -> Done:
    """Run a command in this process, as where nobody says how wide a terminal is."""
    variables = {"COLUMNS": None, **(environment or {})}
    result = CliRunner().invoke(main, [*map(str, arguments)], env=variables)
    return Done(result.exit_code, result.stdout, result.stderr)


def process(
    *arguments: object, folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a command in a folder, as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "conformance", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def done(*arguments: object, folder: Path, environment: Mapping[str, str] | None = None) -> Done:
    """Run a command in a folder, as a process of its own, to its end."""
    started = process(*arguments, folder=folder, environment=environment)
    try:
        output, errors = started.communicate(timeout=PATIENCE)
    finally:
        started.kill()
        started.wait()
    return Done(started.returncode, output, errors)
