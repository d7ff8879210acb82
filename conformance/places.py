"""Where the files beside the package are, in a checkout and in an installed wheel.

In a checkout ``schemas/``, ``profiles/`` and ``fixtures/`` stand beside ``conformance/``; a wheel
carries them inside it, so that it never claims such common names in somebody's site-packages.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).resolve().parent


def _beside_or_inside(name: str) -> Path:
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def schemas_directory() -> Path:
    """The folder that holds one folder of JSON Schemas a revision."""
    return _beside_or_inside("schemas")


def profiles_directory() -> Path:
    """The folder of the profiles by which servers are certified."""
    return _beside_or_inside("profiles")


def fixtures_directory() -> Path:
    """The folder of the reference server and the example messages."""
    return _beside_or_inside("fixtures")


def fixtures_module(name: str) -> ModuleType:
    """Import ``fixtures.<name>``, from wherever this installation keeps it."""
    installed = (_PACKAGE / "fixtures").is_dir()
    return importlib.import_module(
        f"conformance.fixtures.{name}" if installed else f"fixtures.{name}"
    )
