"""From observations to one verdict a rule, and from verdicts to causes."""

from __future__ import annotations

import gc
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from conformance.judge.fingerprint import Fingerprint, fingerprint_of
from conformance.judge.observation import BROKEN, HOLDS, NOT_OFFERED, UNCLEAR, Observation
from conformance.judge.passing import may_be_passing
from conformance.judge.rule import Rule
from conformance.judge.uniform import Uniform, uniform_errors
from conformance.judge.unseen import is_for_users_to_give, missing_reason
from conformance.wire.history import History

PASS = "pass"
FAIL = "fail"
WARN = "warn"
NOT_EXERCISED = "not-exercised"
NOT_APPLICABLE = "not-applicable"
VERDICTS = (FAIL, WARN, PASS, NOT_EXERCISED, NOT_APPLICABLE)


@dataclass(frozen=True)
class Verdict:
    """The verdict of one rule. ``observations`` counts those that decided it; ``evidence``
    are those shown. ``cause`` is the violated rule that kept this one from being judged."""

    rule: Rule
    verdict: str
    reason: str
    observations: int = 0
    evidence: tuple[Observation, ...] = ()
    cause: str | None = None

    @property
    def violated(self) -> bool:
        return self.verdict in (FAIL, WARN)


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong: the violated rule that tells it, why, and the rules that it
    kept from being judged."""

    rule: str
    because: str
    also: tuple[str, ...] = ()


# The rule that tells of errors that pass; what they do to others is its finding. Two more object to
# errors as such: that one has no JSON-RPC, and that it lasts.
PASSING_ERRORS = "polling.passing-errors"
_OF_ERRORS = (PASSING_ERRORS, "transport.answered", "polling.served")
_PASSES = (
    "the answer was an error that this server also gives now and then where nothing is wrong"
    f" ({PASSING_ERRORS} tells), so it need not be about this"
)
# More evidence than this of one rule tells a reader nothing new.
_EVIDENCE_SHOWN = 5


def verdict_of(rule: Rule, history: History) -> Verdict:
    """Judge one rule, by itself: a pure function of the history."""
    found: dict[str, list[Observation]] = {BROKEN: [], HOLDS: [], UNCLEAR: [], NOT_OFFERED: []}
    for observation in rule.judge(history):
        found[observation.kind].append(observation)
    broken, held, unclear, absent = found.values()
    if broken and rule.id not in _OF_ERRORS and may_be_passing(broken, len(held), history):
        unclear = [replace(each, kind=UNCLEAR, note=_PASSES) for each in broken]
    elif broken:
        return Verdict(rule, rule.violated, broken[0].note, len(broken), tuple(_varied(broken)))
    if held:
        noted = [o for o in held if o.note]
        times = "once" if len(held) == 1 else f"{len(held)} times"
        reason = noted[0].note if noted else f"held {times}"
        return Verdict(rule, PASS, reason, len(held), tuple((noted or held)[:1]))
    if absent and not unclear:
        return Verdict(rule, NOT_APPLICABLE, absent[0].note, 0, tuple(absent[:1]))
    if unclear:
        return Verdict(rule, NOT_EXERCISED, unclear[0].note, 0, tuple(unclear[:2]))
    return Verdict(rule, NOT_EXERCISED, missing_reason(rule, history))


def _varied(broken: Sequence[Observation]) -> list[Observation]:
    """A few of many violations: one of each kind of note first."""
    first_of_kind = {(o.note, o.found): o for o in reversed(broken)}
    chosen = [o for o in broken if first_of_kind[(o.note, o.found)] is o]
    return chosen[:_EVIDENCE_SHOWN]


@dataclass(frozen=True)
class Judgement:
    """All verdicts, in the order of the catalogue, and what is behind the violations."""

    verdicts: tuple[Verdict, ...]
    causes: tuple[Cause, ...]


def judge(
    rules: Mapping[str, Rule], history: History, *, beside: Mapping[str, Rule] | None = None
) -> Judgement:
    """Judge every rule of a catalogue. The same history gives the same judgement.

    ``beside`` are rules that nobody wants to hear of. They are judged all the same: what follows
    from their violation is not held against the server because of that.
    """
    everything = {**(beside or {}), **rules}
    with _collector_at_rest():
        alone = {rule.id: verdict_of(rule, history) for rule in everything.values()}
        fingerprint, uniform = fingerprint_of(history), uniform_errors(history)
        return _narrowed(conclude(alone, fingerprint, uniform, rules), rules)


def _narrowed(judgement: Judgement, rules: Mapping[str, Rule]) -> Judgement:
    """What a judgement says of these rules."""
    return Judgement(
        tuple(verdict for verdict in judgement.verdicts if verdict.rule.id in rules),
        tuple(
            replace(cause, also=tuple(rule for rule in cause.also if rule in rules))
            for cause in judgement.causes
            if cause.rule in rules
        ),
    )


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """All that judging makes it also keeps: to look for garbage in it, again and again, takes a
    third of the time and finds nothing."""
    was_at_work = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_at_work:
            gc.enable()


def conclude(
    alone: Mapping[str, Verdict],
    fingerprint: Fingerprint | None = None,
    uniform: Iterable[Uniform] = (),
    wanted: Container[str] = (),
) -> Judgement:
    """Tell each cause once: a rule that could not hold because another was violated is not
    counted against the server a second time. What is ``uniform`` is told by one of the rules that
    are ``wanted``."""
    settled = dict(alone)
    blocked_by: dict[str, str] = {}
    if fingerprint is not None and fingerprint.carrier in settled:
        settled = _as_one_finding(settled, fingerprint, blocked_by)
    for rule_id, verdict in list(settled.items()):
        if verdict.verdict in (PASS, NOT_APPLICABLE) or rule_id in blocked_by:
            continue
        if is_for_users_to_give(verdict.reason):
            continue
        cause = _violated_before(verdict.rule, alone)
        if cause is not None:
            blocked_by[rule_id] = cause
            settled[rule_id] = _blocked(
                verdict, f"it was not judged, since {cause} is violated", cause
            )
    for each in uniform:
        _tell_together(each, alone, settled, blocked_by, wanted)
    causes = []
    for rule_id, verdict in settled.items():
        if verdict.violated:
            also = tuple(r for r, c in blocked_by.items() if _root(c, blocked_by) == rule_id)
            causes.append(Cause(rule_id, verdict.reason, also))
    causes.sort(key=lambda cause: settled[cause.rule].verdict != FAIL)
    return Judgement(tuple(settled.values()), tuple(causes))


def _root(rule_id: str, blocked_by: Mapping[str, str]) -> str:
    while rule_id in blocked_by:
        rule_id = blocked_by[rule_id]
    return rule_id


# With fewer rules that object to it, each tells its own.
_ENOUGH_ALIKE = 3


def _tell_together(
    uniform: Uniform,
    alone: Mapping[str, Verdict],
    settled: dict[str, Verdict],
    blocked_by: dict[str, str],
    wanted: Container[str],
) -> None:
    """Make one finding of the rules that are broken for no other reason than that all errors of a
    server are alike. The first of them that somebody wants to hear of tells it."""
    explained = [
        rule_id
        for rule_id, verdict in alone.items()
        if verdict.violated and all(map(uniform.explains, verdict.evidence))
    ]
    told = [rule_id for rule_id in explained if settled[rule_id].violated]
    told.sort(key=lambda rule_id: settled[rule_id].verdict != FAIL)
    first = next((rule_id for rule_id in told if rule_id in wanted), None)
    if first is None or len(explained) < _ENOUGH_ALIKE:
        return
    because = f"{uniform.words}, and {len(explained)} rules object to it"
    settled[first] = replace(settled[first], reason=f"{because}, as here: {settled[first].reason}")
    for rule_id in told:
        if rule_id != first:
            blocked_by[rule_id] = first
            reason = f"it is told with {first}, since {uniform.words}"
            settled[rule_id] = _blocked(settled[rule_id], reason, first)


def _violated_before(rule: Rule, alone: Mapping[str, Verdict]) -> str | None:
    """The first of the rules this one builds on, near or far, that is violated."""
    to_see, seen = list(rule.after), {rule.id}
    while to_see:
        rule_id = to_see.pop(0)
        if rule_id in seen or rule_id not in alone:
            continue
        seen.add(rule_id)
        if alone[rule_id].violated:
            return rule_id
        to_see.extend(alone[rule_id].rule.after)
    return None


def _blocked(verdict: Verdict, reason: str, cause: str) -> Verdict:
    return replace(
        verdict, verdict=NOT_EXERCISED, reason=reason, observations=0, evidence=(), cause=cause
    )


def _as_one_finding(
    alone: dict[str, Verdict], fingerprint: Fingerprint, blocked_by: dict[str, str]
) -> dict[str, Verdict]:
    """A server of the 2025-11-25 design breaks dozens of rules for one reason."""
    carrier = fingerprint.carrier
    settled: dict[str, Verdict] = {}
    for rule_id, verdict in alone.items():
        if rule_id == carrier:
            settled[rule_id] = Verdict(
                verdict.rule,
                FAIL,
                fingerprint.sentence,
                len(fingerprint.evidence),
                fingerprint.evidence,
            )
        elif verdict.verdict in (PASS, NOT_APPLICABLE):
            settled[rule_id] = verdict
        else:
            blocked_by[rule_id] = carrier
            settled[rule_id] = _blocked(
                verdict,
                "it was not judged, since the server speaks the 2025-11-25 design of tasks",
                carrier,
            )
    return settled
