"""The whole street in one call: drive, judge, results. The command line and other people's
tests both come in here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.drive.sequences.finds import read_counts
from conformance.drive.sequences.judging import rules_for_sequences
from conformance.judge.rule import Rule, catalogue
from conformance.judge.sequences import seen_once, told_whole
from conformance.judge.upgrade import carried
from conformance.judge.verdict import Judgement, judge
from conformance.kept import one_spec, read_kept
from conformance.lock import held
from conformance.report.results import Results, RunFacts, build
from conformance.report.script import write_scripts
from conformance.report.together import together
from conformance.run import Driven, Telling, drive, selected_rules
from conformance.specification.revisions import Revision, revision_named
from conformance.target.target import Target, named_tool, parsed_header, target_of
from conformance.wire.history import History, read

# The topic of the scenarios that search.
_SEQUENCES = "sequences"


@dataclass(frozen=True)
class Checked:
    """Results, and what they were made from."""

    results: Results
    history: History
    judgement: Judgement
    folder: Path = field(default_factory=Path)


def check_target(
    target: Target,
    *,
    folder: Path,
    rules: Mapping[str, Rule] | None = None,
    beside: Mapping[str, Rule] | None = None,
    sequences: bool = False,
    workers: int | None = None,
    telling: Telling | None = None,
    expected: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
    replaces: Sequence[Path] = (),
) -> Checked:
    """Drive a server and judge it. The history stays in ``folder``, which is this run's alone.

    ``workers`` and ``replaces`` are as in ``drive``; ``expected`` are rules whose violation is
    known, with the reason. Without ``rules`` it is the whole catalogue; with them, sequences are
    searched only where ``sequences`` says so and one can break a rule of these. ``beside`` is as
    in ``judge``; the results say which of them were left out. Raises the errors of
    ``conformance.errors``.
    """
    chosen = dict(rules) if rules is not None else selected_rules(spec=target.spec)
    topics = None if rules is None else _topics(chosen, target.spec, sequences)
    with held(folder):
        driven = drive(
            target, folder, telling=telling, workers=workers, topics=topics, replaces=replaces
        )
        history = read([folder])
        if telling is not None:
            telling.doing(f"judging {len(history)} exchanges")
        judgement = told_whole(judge(chosen, history, beside=beside), history)
        write_scripts(folder)
    found = results_of(target, driven, history, judgement, workers, expected or {}, options or {})
    return Checked(
        replace(found, run=replace(found.run, left_out=_left_out(chosen, beside))),
        history,
        judgement,
        folder,
    )


def _left_out(chosen: Mapping[str, Rule], beside: Mapping[str, Rule] | None) -> tuple[str, ...]:
    return tuple(rule for rule in beside or () if rule not in chosen)


def _topics(rules: Mapping[str, Rule], spec: str, sequences: bool) -> frozenset[str]:
    """The topics of the scenarios that feed these rules."""
    topics = frozenset(rule.topic for rule in rules.values())
    searched = sequences and sequences_can_break(rules, spec)
    return topics | {_SEQUENCES} if searched else topics


def sequences_can_break(rules: Iterable[str], spec: str) -> bool:
    """Whether any of these rules is one that sequences are judged by."""
    return not rules_for_sequences(spec).keys().isdisjoint(rules)


def results_of(
    target: Target,
    driven: Driven,
    history: History,
    judgement: Judgement,
    workers: int | None,
    expected: Mapping[str, str],
    options: Mapping[str, object],
) -> Results:
    searched = read_counts(driven.folder)
    facts = RunFacts(
        started=driven.started,
        seconds=round(driven.seconds, 2),
        seed=target.seed,
        effort=target.effort,
        workers=workers or 0,
        requests=searched.requests,
        tasks=searched.tasks,
        sequences=searched.sequences,
        hypothesis=history.circumstances.hypothesis,
        options=dict(options),
        cut_short=driven.cut_short,
    )
    return build(
        judgement,
        history,
        surroundings=driven.surroundings,
        run=facts,
        revision=revision_named(target.spec),
        expected=expected,
        intermittent=seen_once(judgement, history),
    )


def check(
    url: str,
    *,
    headers: str | Sequence[str] = (),
    other_headers: str | Sequence[str] = (),
    tools: str | Sequence[str] = (),
    explore: str = "safe",
    only: str | Sequence[str] = (),
    skip: str | Sequence[str] = (),
    effort: str = "standard",
    max_wait: float = 30.0,
    seed: int = 0,
    spec: str = "2026-07-28",
) -> Results:
    """Check the server at a URL and return its results.

    For people who start their server in their own tests. All options are written as on the
    command line: ``headers="Authorization: Bearer …"``, ``tools=["slow:export={…}"]``. It
    blocks: beside a server in the same event loop, call it in a thread.

    Raises ``conformance.errors.ConformanceError`` where there is nothing to judge.
    """
    target = target_of(
        url,
        headers=tuple(map(parsed_header, _several(headers))),
        other_headers=tuple(map(parsed_header, _several(other_headers))),
        tools=tuple(map(named_tool, _several(tools))),
        explore=explore,
        effort=effort,
        max_wait=max_wait,
        seed=seed,
        spec=spec,
    )
    narrowed = only or skip
    rules = selected_rules(_several(only), _several(skip), spec=spec) if narrowed else None
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        checked = check_target(
            target,
            folder=Path(folder),
            rules=rules,
            beside=selected_rules(spec=spec),
            sequences=not only,
        )
        return checked.results


def _several(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given


def judge_again(
    paths: Sequence[Path],
    *,
    spec: str | None = None,
    rules: Mapping[str, Rule] | None = None,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    expected: Mapping[str, str] | None = None,
) -> Checked:
    """Judge kept histories again, of one run or of several, and HAR files of others' traffic.

    Nothing is sent. Each run is judged by itself; several are told as one. The same input gives
    the same results. ``only`` and ``skip`` narrow the rules of the revision. Raises
    ``UsageError``.
    """
    kept = read_kept(paths)
    revision = revision_named(spec or one_spec(kept))
    beside = selected_rules(spec=revision.name) if rules is None else None
    chosen = dict(rules) if rules is not None else selected_rules(only, skip, spec=revision.name)
    judged = []
    for each in kept:
        history, judgement = _judged_by(revision, chosen, beside, each.history)
        results = build(
            judgement,
            history,
            surroundings=None,
            run=replace(
                _facts_of(history, each.options, revision), left_out=_left_out(chosen, beside)
            ),
            revision=revision,
            expected=expected or {},
            intermittent=seen_once(judgement, history),
        )
        judged.append(Checked(results, history, judgement, paths[0]))
    return replace(judged[0], results=together([checked.results for checked in judged]))


def _judged_by(
    revision: Revision,
    rules: Mapping[str, Rule],
    beside: Mapping[str, Rule] | None,
    kept: History,
) -> tuple[History, Judgement]:
    """A kept history judged by a revision. Where it was made under one that is another on the
    wire, what is judged is what the two have in common."""
    made_under = revision_named(kept.circumstances.spec)
    if made_under.protocol_version != revision.protocol_version:
        judgement = told_whole(judge(catalogue(made_under.name), kept), kept)
        return kept, carried(rules, judgement, made_under.name, revision.name)
    history = History(kept.exchanges, replace(kept.circumstances, spec=revision.name))
    return history, told_whole(judge(rules, history, beside=beside), history)


def _facts_of(history: History, options: Mapping[str, object], revision: Revision) -> RunFacts:
    """What a history knows of its run."""
    given = history.circumstances
    elsewhere = revision_named(given.spec).protocol_version != revision.protocol_version
    unsent = f"it was made under {given.spec}, and nothing was sent under {revision.name}"
    first = min((e.started for e in history), default=0.0)
    last = max((e.ended for e in history), default=0.0)
    return RunFacts(
        started=given.started,
        seconds=round(last - first, 2),
        seed=given.seed,
        effort=given.effort,
        workers=0,
        hypothesis=given.hypothesis,
        cut_short=given.cut_short,
        unjudged=given.unjudged or (unsent if elsewhere else ""),
        options=dict(options),
    )
