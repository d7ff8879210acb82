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
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "installed.txt"


def say(text: str) -> None:
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def set_up(*extras: str, if_possible: str = "") -> None:
    """Make the environment and install the project in it, where that was not done yet. What is
    only installed where it can be is tried once."""
    digest = hashlib.sha256((HERE / "pyproject.toml").read_bytes()).hexdigest()
    have = STAMP.read_text().split() if STAMP.exists() else []
    wished = [*extras, *filter(None, [if_possible])]
    missing = [extra for extra in wished if extra not in have[1:]]
    if have[:1] == [digest] and not missing and PYTHON.exists():
        return
    if not PYTHON.exists():
        say(f"making an environment in {VENV.name}")
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    say("installing what is needed (once; a minute or two)")
    install(extras, check=True)
    if if_possible and not install([if_possible], check=False):
        say(f"{if_possible!r} cannot be installed here: the tests that need it will say so")
    earlier = have[1:] if have[:1] == [digest] else []
    STAMP.write_text(" ".join([digest, *sorted({*wished, *earlier})]))


def install(extras: Iterable[str], *, check: bool) -> bool:
    """Install the project with these extras. Returns whether that went well."""
    names = ",".join(extras)
    project = f"{HERE}[{names}]" if names else str(HERE)
    quiet = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*quiet, "--editable", project], check=check, cwd=HERE)
    return done.returncode == 0


def run(*command: str) -> int:
    # Tests start many processes, and each would compile everything anew.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run([str(PYTHON), *command], cwd=HERE, env=environment).returncode


def main(arguments: list[str]) -> int:
    task, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if task == "run":
        if rest and not rest[0].startswith(("-", "http://", "https://")):
            say(f"a URL begins with http:// or https://: did you mean http://{rest[0]} ?")
            return 2
        set_up()
        has_url = any(word.startswith(("http://", "https://")) for word in rest)
        if not has_url:
            say("no URL given: running against the reference server")
        return run("-m", "conformance", "run" if has_url else "demo", *rest)
    if task == "test":
        set_up("test", if_possible="fuzz")
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
