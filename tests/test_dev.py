"""``dev.py``, as far as it needs no environment of its own."""

from __future__ import annotations

import subprocess
import sys

from tests.commands import CHECKOUT


def test_a_url_without_its_scheme_is_told_before_anything_is_installed() -> None:
    command = [sys.executable, str(CHECKOUT / "dev.py"), "run", "127.0.0.1:18100/mcp"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "a URL begins with http://" in ended.stderr
    assert "http://127.0.0.1:18100/mcp" in ended.stderr
    assert "installing" not in ended.stderr
