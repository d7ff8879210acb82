"""The command ``upgrade``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.conclusion import check_writable, say, tell
from conformance.errors import NothingToJudge, UsageError
from conformance.options import (
    REPORTS,
    reaching_options,
    service_options,
    target_from,
    with_profile,
)

if TYPE_CHECKING:
    from conformance.checking import Checked
    from conformance.report.upgrade import Told
    from conformance.run import Telling
    from conformance.target.target import Target

_FILE = click.Path(path_type=Path)


@click.command(epilog="Example: mcp-tasks-conformance upgrade http://127.0.0.1:8000/mcp")
@click.argument("url", required=False)
@click.option(
    "--to", "new", metavar="REVISION", help="To which one.  [default: the one that follows]"
)
@click.option(
    "--spec", metavar="REVISION", help="From which one.  [default: each that the server speaks]"
)
@reaching_options
@service_options
@click.option(
    "--effort",
    type=click.Choice(["quick", "standard", "thorough"]),
    help="How much to try.  [default: standard]",
)
@click.option("--seed", type=int, help="Repeats a run's choices.  [default: random]")
@click.option("--html", type=_FILE, metavar="PATH", help="A page.  [default: reports/upgrade.html]")
@click.option("--json", "json_", type=_FILE, metavar="PATH", help="For programs.")
@click.option("--markdown", type=_FILE, metavar="PATH", help="For people and issues.")
@click.pass_context
def upgrade(context: click.Context, /, **_: Any) -> None:
    """Tell what the server at URL would have to change for the next revision.

    It is driven through what it speaks today, of each era that it answers to; then, rule by rule:
    already right, must change, must go, new. --spec says from which revision, where it speaks
    several. Exit status: 0 nothing has to be done, 1 something has, 3 nothing to judge.
    """
    options = with_profile(context)
    paths = {
        "html": options.get("html") or REPORTS / "upgrade.html",
        "json": options.get("json_"),
        "markdown": options.get("markdown"),
    }
    check_writable({"html": paths["html"], "json_": paths["json"], "markdown": paths["markdown"]})
    written = {kind: path for kind, path in paths.items() if path is not None}
    told = _told(options, written.values())
    _write(told, written)
    sys.exit(0 if told.upgrade.ready else 1)


def _told(options: dict[str, Any], replaces: Iterable[Path]) -> Told:
    from conformance.report.terminal import Progress
    from conformance.run import Telling, remove

    target = target_from(options)
    # Whatever becomes of this, what was told before is not told of it.
    remove(replaces)
    progress = Progress(sys.stderr)
    telling = Telling(progress.doing, progress.exchanged)
    try:
        return told_of(target, old=options.get("spec"), new=options.get("new"), telling=telling)
    finally:
        progress.done()


def told_of(
    target: Target,
    *,
    old: str | None = None,
    new: str | None = None,
    telling: Telling | None = None,
) -> Told:
    """What the server would have to change, from one revision to another.

    ``old`` narrows what it is driven through to one revision; by default it is all it speaks, and
    ``new`` the revision after the oldest of these. Raises ``NothingToJudge`` and ``UsageError``.
    """
    from conformance.judge.upgrade import upgrade as compare
    from conformance.report.upgrade import Told
    from conformance.run import Telling

    checked = _checked(target, old, telling or Telling())
    old, new = _from_and_to(checked, old, new)
    facts = next(iter(checked.values())).results
    return Told(
        compare({name: each.judgement for name, each in checked.items()}, old, new),
        name=facts.target.name,
        url=facts.target.url,
        started=facts.run.started,
    )


def _checked(target: Target, only: str | None, telling: Telling) -> dict[str, Checked]:
    """The server judged under each revision that it speaks, by name; the older ones first.

    Raises ``NothingToJudge`` where it speaks none of them.
    """
    from conformance.checking import check_target
    from conformance.specification.revisions import REVISIONS

    found: dict[str, Checked] = {}
    versions: set[str] = set()
    reasons: list[str] = []
    for revision in REVISIONS.values():
        # A revision that cannot be told from another on the wire is not driven a second time.
        if only not in (None, revision.name) or revision.protocol_version in versions:
            continue
        telling.doing(f"looking for {revision.name}")
        with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
            try:
                found[revision.name] = check_target(
                    replace(target, spec=revision.name),
                    folder=Path(folder) / "history",
                    telling=telling,
                )
            except NothingToJudge as error:
                reasons.append(str(error))
            else:
                versions.add(revision.protocol_version)
    if not found:
        raise NothingToJudge("; ".join(dict.fromkeys(reasons)))
    return found


def _from_and_to(checked: dict[str, Checked], old: str | None, new: str | None) -> tuple[str, str]:
    """From the oldest revision spoken to the one that follows, unless the user said otherwise.

    A server may say that it speaks a revision, and have the design of the one before.
    """
    from conformance.judge.fingerprint import fingerprint_of
    from conformance.specification.revisions import revision_after, revision_named

    start = old or next(iter(checked))
    before = revision_named(start).follows
    if new in (None, start) and before and fingerprint_of(checked[start].history) is not None:
        return before, start
    if new is not None:
        if revision_named(new).name == start:
            raise UsageError(f"--to {new} is what it speaks already: name another revision")
        return start, new
    follows = revision_after(start)
    if follows is None:
        raise UsageError(f"no revision follows {start}: pass --to REVISION")
    return start, follows.name


def _write(told: Told, paths: dict[str, Path]) -> None:
    from conformance.report import upgrade as report
    from conformance.report.results import write_text

    writers: dict[str, Callable[[Told], str]] = {
        "html": report.html,
        "json": report.json_text,
        "markdown": report.markdown,
    }
    for kind, path in paths.items():
        write_text(path, writers[kind](told))
    tell(report.text(told))
    say("report: " + ", ".join(map(str, paths.values())), err=True)
