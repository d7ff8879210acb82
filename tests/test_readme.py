"""The README: short sections, and nothing in them that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.cli import main

README = Path(__file__).resolve().parent.parent / "README.md"


def sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    title = ""
    for line in README.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
            found[title] = []
        elif line.strip():
            found[title].append(line)
    return found


@pytest.mark.parametrize(
    "title",
    [
        "GitHub and GitLab", "Baseline", "Diff", "Judge", "HAR", "Certify and verify",
        "In your own tests",
    ],
)  # fmt: skip
def test_a_section_of_the_readme_has_at_most_ten_lines(title: str) -> None:
    assert 0 < len(sections()[title]) <= 10


def test_the_commands_and_options_of_the_readme_exist() -> None:
    text = README.read_text(encoding="utf-8")
    for name in re.findall(r"^    mcp-tasks-conformance (\w+)", text, re.MULTILINE):
        assert name in main.commands
    known = {option for c in main.commands.values() for p in c.params for option in p.opts}
    ours = re.findall(r"(?<=[`\s])--[a-z][a-z-]+", text)
    assert set(ours) <= known | {"--help"}
