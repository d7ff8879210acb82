"""What a server would have to change for another revision, told from what it does today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from conformance.judge.rule import Rule, catalogue
from conformance.judge.succession import TURNED, Difference, Pair, compare_revisions
from conformance.judge.verdict import (
    FAIL,
    NOT_APPLICABLE,
    NOT_EXERCISED,
    PASS,
    WARN,
    Judgement,
    Verdict,
)

RIGHT = "already right"
CHANGE = "must change"
GO = "must go"
FREE = "no rule of its own"
NEW = "new"
UNSEEN = "not seen"
NOT_OFFERED = "not offered"
KINDS = (CHANGE, GO, NEW, UNSEEN, RIGHT, FREE, NOT_OFFERED)

_SEEN = (PASS, FAIL, WARN)


@dataclass(frozen=True)
class Step:
    """What becomes of one rule. ``kind`` is one of ``KINDS``; ``words`` say what to do, or what
    was seen. ``today`` is the verdict on which that rests, empty where there is none, and
    ``asks`` what the revision left behind asked for, where it asked for something else."""

    rule: Rule
    kind: str
    words: str
    today: str = ""
    asks: str = ""


@dataclass(frozen=True)
class Promise:
    """A line of the table of SEP-2663 on servers that speak both: ``kept`` is ``yes``, ``no`` or
    ``not seen``."""

    text: str
    source: str
    kept: str
    words: str


@dataclass(frozen=True)
class Upgrade:
    """From the revision ``old`` to ``new``. ``promises`` are empty but for a server that speaks
    both. ``spoken`` are the revisions that it speaks today."""

    old: str
    new: str
    spoken: tuple[str, ...]
    difference: Difference
    steps: tuple[Step, ...]
    promises: tuple[Promise, ...] = ()

    def of(self, kind: str) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.kind == kind)

    @property
    def ready(self) -> bool:
        """Whether nothing must change, go or be added."""
        todo = any(step.kind in (CHANGE, GO, NEW) for step in self.steps)
        return not todo and all(promise.kept != "no" for promise in self.promises)


def upgrade(judgements: Mapping[str, Judgement], old: str, new: str) -> Upgrade:
    """What has to be done to come from one revision to another.

    ``judgements`` are those of the revisions that the server speaks, by name. Where it speaks
    ``new``, what it does there is what counts; where it speaks that alone, it is one that says so
    and has the design of ``old``. Raises ``UsageError`` for a name that is none.
    """
    difference = compare_revisions(old, new)
    before = _verdicts(judgements[old]) if old in judgements else {}
    if old not in judgements:
        pairs = {pair.new.id: pair for pair in difference.both}
        after = _verdicts(judgements[new])
        steps = tuple(
            _redesigned_step(rule, after.get(rule.id), pairs.get(rule.id))
            for rule in catalogue(new).values()
        )
    elif new in judgements:
        after = _verdicts(judgements[new])
        steps = tuple(_seen_step(rule, after.get(rule.id)) for rule in catalogue(new).values())
    else:
        steps = (
            *(_carried_step(pair, before.get(pair.old.id), old) for pair in difference.both),
            *(_new_step(rule) for rule in difference.come),
            *_going_steps(difference, before),
        )
    both = old in judgements and new in judgements
    promises = tuple(_promises(judgements)) if both else ()
    return Upgrade(old, new, tuple(judgements), difference, steps, promises)


def _verdicts(judgement: Judgement) -> dict[str, Verdict]:
    return {verdict.rule.id: verdict for verdict in judgement.verdicts}


def _seen_step(rule: Rule, verdict: Verdict | None) -> Step:
    """A rule of a revision that the server speaks already."""
    if verdict is None:
        return Step(rule, UNSEEN, "it was not judged")
    kind = {PASS: RIGHT, FAIL: CHANGE, WARN: CHANGE, NOT_APPLICABLE: NOT_OFFERED}.get(
        verdict.verdict, UNSEEN
    )
    return Step(rule, kind, verdict.reason, verdict.verdict)


def _redesigned_step(rule: Rule, verdict: Verdict | None, pair: Pair | None) -> Step:
    """A rule of a revision that the server claims to speak, while it has an older design."""
    step = _seen_step(rule, verdict)
    if step.kind != UNSEEN:
        return step
    if pair is None:
        return _new_step(rule)
    if pair.kind:
        return Step(rule, CHANGE, pair.words, step.today, pair.old.title)
    return step


def _carried_step(pair: Pair, verdict: Verdict | None, old: str) -> Step:
    """A rule that both revisions have, judged under the older one."""
    today = verdict.verdict if verdict is not None else ""
    if verdict is not None and verdict.violated and pair.kind == TURNED:
        words = f"it may be right already, since it is not as {old} asks: {verdict.reason}"
        return Step(pair.new, UNSEEN, f"{pair.words}; {words}", today, pair.old.title)
    if verdict is not None and verdict.violated and pair.kind:
        words = f"{pair.words}; and today: {verdict.reason}"
        return Step(pair.new, CHANGE, words, today, pair.old.title)
    if pair.kind and today in _SEEN:
        return Step(pair.new, CHANGE, pair.words, today, pair.old.title)
    if pair.kind:
        kind = NOT_OFFERED if today == NOT_APPLICABLE else UNSEEN
        return Step(pair.new, kind, f"it was not seen today; then: {pair.words}", today)
    if verdict is None or today not in (*_SEEN, NOT_APPLICABLE):
        reason = verdict.reason if verdict is not None else "it was not judged"
        return Step(pair.new, UNSEEN, reason, today)
    return _seen_step(pair.new, verdict)


def _new_step(rule: Rule) -> Step:
    return Step(rule, NEW, rule.title)


def _going_steps(difference: Difference, before: Mapping[str, Verdict]) -> Iterator[Step]:
    """What the server does today, and no rule asks of it any more."""
    for rule in difference.go:
        verdict = before.get(rule.id)
        if verdict is not None and verdict.verdict in _SEEN:
            kind = GO if rule.id in difference.abolished else FREE
            yield Step(rule, kind, rule.title, verdict.verdict)


# ---- a kept history ------------------------------------------------------------------------


def carried(rules: Mapping[str, Rule], judgement: Judgement, old: str, new: str) -> Judgement:
    """What a history that was made under one revision says of rules of another.

    It speaks about those that are the same in both. Of the others it says why not.
    """
    before = _verdicts(judgement)
    difference = compare_revisions(old, new)
    pairs = {pair.new.id: pair for pair in difference.both}
    later = new if difference.forward else old
    verdicts = []
    for rule in rules.values():
        pair = pairs.get(rule.id)
        verdict = before.get(pair.old.id) if pair is not None else None
        if pair is None:
            verdicts.append(_unseen(rule, f"it is not in {old}, and nothing was sent under {new}"))
        elif pair.kind:
            reason = f"nothing was sent under {new}, and it changed in {later}: {pair.words}"
            verdicts.append(_unseen(rule, reason))
        elif verdict is None:
            verdicts.append(_unseen(rule, "it was not judged"))
        else:
            kind = rule.violated if verdict.violated else verdict.verdict
            cause = verdict.cause if verdict.cause in rules else None
            verdicts.append(replace(verdict, rule=rule, verdict=kind, cause=cause))
    told = {verdict.rule.id for verdict in verdicts if verdict.violated}
    return Judgement(tuple(verdicts), tuple(c for c in judgement.causes if c.rule in told))


def _unseen(rule: Rule, reason: str) -> Verdict:
    return Verdict(rule, NOT_EXERCISED, reason)


# ---- both at once --------------------------------------------------------------------------

_SEP = "https://modelcontextprotocol.io/seps/2663-tasks-extension#backward-compatibility"

# What SEP-2663 says of servers that speak both, and the rule of which revision that tells it.
_TABLE = (
    (
        "Under 2025-11-25 the extension's capability enables nothing.",
        "2026-07-28",
        "negotiation.not-in-older-protocol",
    ),
    (
        "Under 2025-11-25 tasks go on as they were: made on request, and readable.",
        "2025-11-25",
        "creation.durable",
    ),
    (
        "Under 2025-11-25 their results come by tasks/result.",
        "2025-11-25",
        "results.returned",
    ),
    (
        "Under 2026-07-28 a client of these tasks can still read and cancel them.",
        "2025-11-25",
        "negotiation.older-tasks-reachable",
    ),
    (
        "Under 2026-07-28 a client that declares only the older capability is as one that"
        " declares none.",
        "2026-07-28",
        "negotiation.legacy-declaration-ignored",
    ),
    (
        "Under 2026-07-28 the older capability is not advertised.",
        "2026-07-28",
        "negotiation.no-legacy-capability",
    ),
    (
        "Under 2026-07-28 the task parameter is ignored.",
        "2026-07-28",
        "negotiation.task-parameter-ignored",
    ),
    (
        "Under 2026-07-28 tasks/result is an unknown method.",
        "2026-07-28",
        "removed.tasks-result",
    ),
)


def _promises(judgements: Mapping[str, Judgement]) -> Iterator[Promise]:
    seen = {revision: _verdicts(judgement) for revision, judgement in judgements.items()}
    for text, revision, rule_id in _TABLE:
        if revision not in seen:
            continue
        verdict = seen[revision].get(rule_id)
        if verdict is None or verdict.verdict not in _SEEN:
            reason = verdict.reason if verdict is not None else "it was not judged"
            yield Promise(text, _SEP, UNSEEN, reason)
        else:
            kept = "yes" if verdict.verdict == PASS else "no"
            yield Promise(text, _SEP, kept, verdict.reason)
