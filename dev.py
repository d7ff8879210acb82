#!/usr/bin/env python3
"""Sets up what is needed, in ``.venv``, and runs it. Needs Python 3.10 or later, and nothing else.

python3 dev.py run [URL] [options of `mcp-tasks-conformance run`]
python3 dev.py test [options of pytest]
python3 dev.py lint
python3 dev.py types
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "installed.txt"


def say(text: str) -> None:
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def set_up(*extras: str) -> None:
    """Make the environment and install the project in it, where that was not done yet."""
    digest = hashlib.sha256((HERE / "pyproject.toml").read_bytes()).hexdigest()
    have = STAMP.read_text().split() if STAMP.exists() else []
    missing = [extra for extra in extras if extra not in have[1:]]
    if have[:1] == [digest] and not missing and PYTHON.exists():
        return
    if not PYTHON.exists():
        say(f"making an environment in {VENV.name}")
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    wanted = sorted({*extras, *(have[1:] if have[:1] == [digest] else [])})
    say("installing what is needed (once; a minute or two)")
    project = f"{HERE}[{','.join(wanted)}]" if wanted else str(HERE)
    quiet = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*quiet, "--editable", project], check=True, cwd=HERE)
    STAMP.write_text(" ".join([digest, *wanted]))


def run(*command: str) -> int:
    return subprocess.run([str(PYTHON), *command], cwd=HERE).returncode


def main(arguments: list[str]) -> int:
    task, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if task == "run":
        set_up()
        has_url = any(word.startswith(("http://", "https://")) for word in rest)
        if not has_url:
            say("no URL given: running against the reference server")
        return run("-m", "conformance", "run" if has_url else "demo", *rest)
    if task == "test":
        set_up("test")
        # Most tests wait for servers, so more processes than cores are a gain.
        return run("-m", "pytest", "-n", "6", "--dist", "worksteal", *rest)
    if task == "lint":
        set_up("test", "lint")
        return run("-m", "ruff", "check", ".") or run("-m", "ruff", "format", "--check", ".")
    if task == "types":
        set_up("test", "lint")
        return run("-m", "mypy")
    print(__doc__)
    return 0 if task in ("", "-h", "--help", "help") else 2


if __name__ == "__main__":
    if sys.version_info < (3, 10):  # noqa: UP036 - it is run by whatever Python there is
        sys.exit("dev.py needs Python 3.10 or later")
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"dev.py: this failed: {' '.join(map(str, error.cmd))}")
    except KeyboardInterrupt:
        sys.exit(130)
