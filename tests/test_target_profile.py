"""Profiles: what may stand in conformance.toml, and what is told when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.target.profile import KEYS, read_profile

EVERYTHING = """
url = "http://127.0.0.1:8000/mcp"
header = ["X-Tenant: acme"]
header-env = ["Authorization=MCP_TOKEN"]
other-header = ["X-Tenant: other"]
other-header-env = "Authorization=OTHER_TOKEN"
replica = ["http://127.0.0.1:8001/mcp"]
restart-command = "systemctl restart it"
tool = ["slow:export={\\"rows\\": 100000}", "add"]
explore = "none"
spec = "2026-07-28"
only = ["polling"]
skip = ["polling.timestamps"]
effort = "quick"
for = "10m"
max-wait = 20
seed = 7
workers = 2
html = "a.html"
json = "a.json"
junit = "a.xml"
markdown = "a.md"
sarif = "a.sarif"
badge = "a.svg"
log = "a.html"
history = "history"
baseline = "baseline.toml"
strict = true
require-exercised = true
judge-origin = false
"""


def profile(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "conformance.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    options = read_profile(profile(tmp_path, EVERYTHING))
    assert options.keys() == KEYS.keys()
    assert options["max-wait"] == 20
    assert options["tool"] == ['slow:export={"rows": 100000}', "add"]
    assert options["other-header-env"] == ["Authorization=OTHER_TOKEN"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("effrot = 'quick'", "unknown key 'effrot': did you mean 'effort'"),
        ("max_wait = 3", "unknown key 'max_wait': did you mean 'max-wait'"),
        ("x = 3", "unknown key 'x': known are url, header"),
        ("[server]\nurl = 'x'", "unknown key 'server'"),
        ("url = 3", "url should be a string"),
        ("tool = 3", "tool should be an array of strings"),
        ("tool = ['a', 3]", "tool should be an array of strings"),
        ("strict = 1", "strict should be true or false"),
        ("strict = 'yes'", "strict should be true or false"),
        ("seed = 1.5", "seed should be an integer"),
        ("seed = true", "seed should be an integer"),
        ("max-wait = '20'", "max-wait should be a number"),
        ("max-wait = true", "max-wait should be a number"),
        ("url = ", "is not TOML"),
        ("url = 'a'\nurl = 'b'", "is not TOML"),
        ("\x00", "is not TOML"),
    ],
)
def test_what_is_wrong_is_told_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_profile(profile(tmp_path, text))
    assert message in str(raised.value)
    assert "conformance.toml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_profiles_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the profile"):
        read_profile(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="cannot read the profile"):
        read_profile(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not TOML"):
        read_profile(binary)
