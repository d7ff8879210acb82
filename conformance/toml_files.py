"""TOML files that people write: read in one way, and refused in the same words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from conformance.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Bad TOML, bad UTF-8 and integers of thousands of digits are all ValueErrors.
NOT_TOML = (ValueError, RecursionError)


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises one of ``NOT_TOML``."""
    tables: dict[str, Any] = tomllib.loads(text)
    return tables


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The tables of a file; ``what`` says what it is. Raises ``UsageError`` that names it."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {what} {path}: {error.strerror or error}") from None
    except NOT_TOML as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
