"""Specimen reports of four servers, made anew.

    python -m tests.specimens               # all of them, into reports/specimens
    python -m tests.specimens fastmcp       # one of them
    python -m tests.specimens --render      # the results that are there, as reports again
    python -m tests.specimens upgrades      # what an upgrade would change on some servers

The tutorial's server needs Node and a copy of the article it stands in: where these are missing
its specimen stays as it is.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.checking import check_target
from conformance.report import html, markdown, upgrade
from conformance.report.results import Results, json_text, read, write_text
from conformance.report.terminal import summary_lines
from conformance.target.target import Target
from conformance.upgrading import told_of
from fixtures import serve
from fixtures.faults.combinations import SIX_AT_ONCE
from fixtures.serve import Settings
from tests import subjects
from tests.driving import FIRST_HEADERS, OTHER_HEADERS, TOKENS
from tests.subjects.tutorial import extract

FOLDER = Path(__file__).resolve().parent.parent / "reports" / "specimens"
SEED = 20260728
# Each file of a specimen has to stay smaller, in bytes.
LARGEST = 1_000_000


class Missing(Exception):
    """What a specimen needs is not on this machine."""


@contextmanager
def reference() -> Iterator[Target]:
    """Our own server, with two callers."""
    with serve.running(Settings(tokens=TOKENS)) as url:
        yield Target(url=url, headers=FIRST_HEADERS, other_headers=OTHER_HEADERS, seed=SEED)


@contextmanager
def six_faults() -> Iterator[Target]:
    """The same with six faults at once."""
    with serve.running(Settings(fault=SIX_AT_ONCE)) as url:
        yield Target(url=url, seed=SEED)


@contextmanager
def fastmcp() -> Iterator[Target]:
    """A server written with FastMCP and its tasks extension."""
    with subjects.running("fastmcp_server") as url:
        yield Target(url=url, explore="all", seed=SEED)


@contextmanager
def tutorial() -> Iterator[Target]:
    """The Node server of a public tutorial, which follows the design of 2025-11-25."""
    node = shutil.which("node")
    with tempfile.TemporaryDirectory() as folder:
        starter = extract(Path(folder))
        if node is None or starter is None:
            raise Missing("it needs node and a copy of the tutorial's article")
        with subjects.announced([node, str(starter), "0"]) as url:
            yield Target(url=url, explore="all", seed=SEED)


SPECIMENS: dict[str, Callable[[], AbstractContextManager[Target]]] = {
    "reference": reference,
    "fastmcp": fastmcp,
    "tutorial": tutorial,
    "six-faults": six_faults,
}


@contextmanager
def older() -> Iterator[Target]:
    """Our own server, as it was under 2025-11-25."""
    with serve.running(Settings(revision="2025-11-25")) as url:
        yield Target(url=url, seed=SEED)


@contextmanager
def both() -> Iterator[Target]:
    """Our own server, in both eras at once."""
    with serve.running(Settings(revision="both")) as url:
        yield Target(url=url, seed=SEED)


# Of these it is told what the next revision would change.
UPGRADES: dict[str, Callable[[], AbstractContextManager[Target]]] = {
    "upgrade-2025-11-25": older,
    "upgrade-both": both,
    "upgrade-tutorial": tutorial,
}


def write_upgrade(name: str, folder: Path = FOLDER) -> str:
    """Find out what an upgrade of a server changes, write it, and return it in one line. Raises
    ``Missing``."""
    with UPGRADES[name]() as target:
        told = told_of(target)
    for suffix, text in (("html", upgrade.html(told)), ("md", upgrade.markdown(told))):
        assert len(text.encode()) < LARGEST, f"{name}.{suffix} is too large for a specimen"
        write_text(folder / f"{name}.{suffix}", text)
    return told.conclusion


@dataclass(frozen=True)
class Specimen:
    """A specimen as texts, by the names of its files."""

    results: Results

    @property
    def files(self) -> dict[str, str]:
        return {
            "report.html": html.render(self.results),
            "results.json": json_text(self.results) + "\n",
            "summary.md": markdown.render(self.results),
            "terminal.txt": summary_lines(self.results) + "\n",
        }


def made(name: str) -> Specimen:
    """Run the suite against one of the servers. Raises ``Missing``."""
    with SPECIMENS[name]() as target, tempfile.TemporaryDirectory() as folder:
        options = {"explore": target.explore} if target.explore != "safe" else {}
        return Specimen(check_target(target, folder=Path(folder), options=options).results)


def kept(name: str, folder: Path = FOLDER) -> Specimen:
    """The specimen that the results in the folder make. Raises ``UsageError``."""
    return Specimen(read(folder / name / "results.json"))


def write(name: str, specimen: Specimen, folder: Path = FOLDER) -> None:
    for file, text in specimen.files.items():
        assert len(text.encode()) < LARGEST, f"{name}/{file} is too large for a specimen"
        write_text(folder / name / file, text)


def main(names: list[str]) -> int:
    make = made
    if "--render" in names:
        names = [name for name in names if name != "--render"]
        make = kept
    if names == ["upgrades"]:
        return _write_upgrades()
    unknown = [name for name in names if name not in SPECIMENS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are {', '.join(SPECIMENS)}")
        return 2
    for name in names or SPECIMENS:
        try:
            specimen = make(name)
        except Missing as missing:
            print(f"{name}: left as it is, {missing}")
            continue
        write(name, specimen)
        print(f"{name}: {specimen.files['terminal.txt'].splitlines()[-1]}")
    return 0


def _write_upgrades() -> int:
    for name in UPGRADES:
        try:
            print(f"{name}: {write_upgrade(name)}")
        except Missing as missing:
            print(f"{name}: left as it is, {missing}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
