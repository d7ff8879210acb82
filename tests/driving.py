"""Drives real servers in tests: the whole street, from a URL to verdicts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.judge.rule import catalogue
from conformance.judge.verdict import Judgement, judge
from conformance.run import Telling, drive
from conformance.specification.revisions import DEFAULT_REVISION
from conformance.target.target import Target
from conformance.wire.history import History, read
from fixtures.faults import Fault
from fixtures.reference.server import Server
from fixtures.serve import Settings, running, server_for
from fixtures.variants import Variant
from tests.restartable import replicas, restartable

# Two callers of the reference server, for what needs identities.
TOKENS = {"token-of-the-first-caller": "first", "token-of-the-second-caller": "second"}
FIRST_HEADERS = (("Authorization", "Bearer token-of-the-first-caller"),)
OTHER_HEADERS = (("Authorization", "Bearer token-of-the-second-caller"),)


def driven(
    target: Target, *, topics: Iterable[str] | None = None, telling: Telling | None = None
) -> History:
    """Drive a server, all scenarios or those of some topics, and return the history."""
    with tempfile.TemporaryDirectory(prefix="conformance-history-") as folder:
        drive(
            target,
            Path(folder),
            workers=None,
            topics=frozenset(topics) if topics is not None else None,
            telling=telling,
        )
        return read([Path(folder)])


def judged(history: History) -> Judgement:
    return judge(catalogue(history.circumstances.spec), history)


def violations(judgement: Judgement) -> dict[str, str]:
    """Violated rules with their reasons."""
    return {v.rule.id: v.reason for v in judgement.verdicts if v.violated}


def drive_reference(
    settings: Settings | None = None,
    *,
    topics: Iterable[str] | None = None,
    identities: bool = False,
    made_by: Callable[[Settings], Server] = server_for,
    **target: object,
) -> Judgement:
    """Serve the reference server with these settings, drive it, and judge. ``target`` are
    members of ``Target``; ``identities`` gives it two callers, ``made_by`` makes another server."""
    settings = settings or Settings()
    if identities:
        settings = replace(settings, tokens=TOKENS)
        target = {"headers": FIRST_HEADERS, "other_headers": OTHER_HEADERS, **target}
    with running(settings, made_by=made_by) as url:
        return judged(driven(Target(url=url, **target), topics=topics))  # type: ignore[arg-type]


def drive_fault(
    fault: Fault, *, topics: Iterable[str] | None = None, spec: str = DEFAULT_REVISION
) -> Judgement:
    """Drive the reference server of a revision with one fault, narrowed to the topics of its
    rules."""
    if topics is None:
        topics = {rule.partition(".")[0] for rule in (fault.breaks, *fault.also)}
    settings = Settings(**{"fault": fault.name, "revision": spec, **fault.settings})
    if "replicas" in fault.needs:
        return drive_replicas(settings, topics=topics)
    if "restart" in fault.needs:
        return drive_restarting(settings, topics=topics)
    patience: dict[str, Any] = {} if fault.max_wait is None else {"max_wait": fault.max_wait}
    identities = "identities" in fault.needs
    return drive_reference(settings, topics=topics, identities=identities, spec=spec, **patience)


def drive_replicas(
    settings: Settings | None = None, *, topics: Iterable[str] | None = None
) -> Judgement:
    """Drive two reference servers that share one store."""
    with replicas(settings or Settings()) as (url, *others):
        return judged(driven(Target(url=url, replicas=tuple(others)), topics=topics))


def drive_restarting(
    settings: Settings | None = None, *, topics: Iterable[str] | None = None
) -> Judgement:
    """Drive a reference server that the suite may restart."""
    with restartable(settings or Settings()) as (url, command):
        return judged(driven(Target(url=url, restart_command=command), topics=topics))


def drive_variant(
    variant: Variant, *, topics: Iterable[str] | None = None, spec: str = DEFAULT_REVISION
) -> Judgement:
    """Drive the reference server of a revision as a conformant variant, as two callers."""
    settings = Settings(**{"variant": variant.name, "revision": spec, **variant.settings})
    return drive_reference(settings, topics=topics, identities=True, spec=spec)
