"""``conformance.toml``: the options of ``run``, kept in a file.

    url = "http://127.0.0.1:8000/mcp"
    header-env = ["Authorization=MCP_TOKEN"]
    tool = ["slow:export={\"rows\": 100000}"]
    max-wait = 20

The keys are the long options without their dashes; where an option may be repeated the value
is an array. What the command line says wins. Secrets belong in the environment.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from conformance.errors import UsageError
from conformance.toml_files import read_toml

DEFAULT_PROFILE = "conformance.toml"

# The keys of a profile, with the type of their value; a list holds strings.
KEYS: dict[str, type] = {
    "url": str,
    "header": list,
    "header-env": list,
    "other-header": list,
    "other-header-env": list,
    "replica": list,
    "restart-command": str,
    "tool": list,
    "explore": str,
    "spec": str,
    "only": list,
    "skip": list,
    "effort": str,
    "for": str,
    "max-wait": float,
    "seed": int,
    "workers": int,
    "html": str,
    "json": str,
    "junit": str,
    "markdown": str,
    "sarif": str,
    "badge": str,
    "log": str,
    "history": str,
    "baseline": str,
    "strict": bool,
    "require-exercised": bool,
    "judge-origin": bool,
}
_WORDS = {
    str: "a string",
    list: "an array of strings",
    float: "a number",
    int: "an integer",
    bool: "true or false",
}


def read_profile(path: Path) -> dict[str, Any]:
    """The options of a profile, by their keys.

    Raises ``UsageError`` with the file and the key that is wrong.
    """
    options = read_toml(path, "the profile")
    return {key: _checked(path, key, value) for key, value in options.items()}


def _checked(path: Path, key: str, value: Any) -> Any:
    wanted = KEYS.get(key)
    if wanted is None:
        close = get_close_matches(key, KEYS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "known are " + ", ".join(KEYS)
        raise UsageError(f"{path}: unknown key {key!r}: {hint}")
    if wanted is list and isinstance(value, str):
        value = [value]
    right = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
    if wanted is not bool and isinstance(value, bool):
        right = False
    if wanted is list and right:
        right = all(isinstance(item, str) for item in value)
    if not right:
        raise UsageError(f"{path}: {key} should be {_WORDS[wanted]}")
    return value
