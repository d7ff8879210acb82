"""Where the files beside the package are: in a checkout, and in an installed wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import conformance
from conformance.places import fixtures_directory, fixtures_module, schemas_directory

CHECKOUT = Path(conformance.__file__).resolve().parent.parent

SHOW = """
import conformance.places as places
print(places.schemas_directory())
print(places.fixtures_directory())
print(places.fixtures_module("serve").__name__)
"""


def test_in_a_checkout_they_stand_beside_it() -> None:
    assert schemas_directory() == CHECKOUT / "schemas"
    assert fixtures_directory() == CHECKOUT / "fixtures"
    assert (schemas_directory() / "2026-07-28").is_dir()
    assert fixtures_module("serve").__name__ == "fixtures.serve"


def test_in_a_wheel_they_stand_inside_it(tmp_path: Path) -> None:
    """As the build puts them: see pyproject.toml."""
    without_caches = shutil.ignore_patterns("__pycache__", ".mypy_cache", ".ruff_cache")
    installed = tmp_path / "site-packages" / "conformance"
    shutil.copytree(CHECKOUT / "conformance", installed, ignore=without_caches)
    for name in ("schemas", "fixtures"):
        shutil.copytree(CHECKOUT / name, installed / name, ignore=without_caches)
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.split() == [
        str(installed / "schemas"),
        str(installed / "fixtures"),
        "conformance.fixtures.serve",
    ]
