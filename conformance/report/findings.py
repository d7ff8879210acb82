"""What reports tell of results in the same order and the same words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.judge.rule import MUST
from conformance.judge.verdict import FAIL, NOT_APPLICABLE, NOT_EXERCISED, PASS, WARN
from conformance.report.evidence import Evidence, short_text
from conformance.report.results import (
    CONFORMANT,
    INCONCLUSIVE,
    NON_CONFORMANT,
    NOT_OFFERED,
    Results,
    RuleResult,
)
from conformance.report.visible import visible
from conformance.specification.revisions import INITIALIZE, REVISIONS
from conformance.wire.exchange import JsonObject


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: the rule that tells it, and the rules it kept from being
    judged."""

    rule: RuleResult
    also: tuple[RuleResult, ...]

    @property
    def decisive(self) -> Evidence | None:
        """The exchange that decided, of the first look."""
        return next((e for e in reversed(self.rule.evidence) if e.observation == 0), None)


def findings(results: Results, *, expected: bool = False) -> list[Finding]:
    """One finding a cause, the most severe first; those that the baseline names apart."""
    rules = {rule.id: rule for rule in results.rules}
    found = []
    for cause in results.causes:
        rule = rules.get(cause.rule)
        if rule is not None and rule.expected == expected:
            found.append(Finding(rule, tuple(rules[i] for i in cause.also if i in rules)))
    return found


@dataclass(frozen=True)
class Unseen:
    """Rules that were not exercised for one reason, which says what to pass."""

    reason: str
    rules: tuple[RuleResult, ...]


def blocked(results: Results) -> list[RuleResult]:
    """The rules that a violation kept from being judged, and that are told with it."""
    told = {rule.id for rule in results.rules}
    return [r for r in results.rules if r.verdict == NOT_EXERCISED and r.cause in told]


def not_exercised(results: Results, *levels: str) -> list[Unseen]:
    """The rules that were not exercised, by reason, the reason of most rules first, without those
    that are ``blocked``: what follows from a rule that was left out is told with no other."""
    elsewhere = {rule.id for rule in blocked(results)}
    groups: dict[str, list[RuleResult]] = {}
    for rule in results.rules:
        unseen = rule.verdict == NOT_EXERCISED and rule.id not in elsewhere
        if unseen and rule.level in levels:
            groups.setdefault(rule.reason, []).append(rule)
    found = [Unseen(reason, tuple(rules)) for reason, rules in groups.items()]
    return sorted(found, key=lambda unseen: -len(unseen.rules))


def tasks_of(spec: str) -> str:
    """What a revision calls its tasks, in words."""
    revision = REVISIONS.get(spec)
    older = revision is not None and revision.greeting == INITIALIZE
    return f"the tasks of {spec}" if older else "the Tasks extension"


# So many rules that were left out are named.
_NAMED_AT_MOST = 3


def left_out(results: Results) -> str:
    """Which rules the user left out, as a sentence; empty where there are none."""
    rules = results.run.left_out
    if not rules:
        return ""
    if len(rules) <= _NAMED_AT_MOST:
        return f"Left out: {', '.join(visible(rule, 100) for rule in rules)}."
    return f"{len(rules)} of {len(rules) + len(results.rules)} rules were left out."


def conclusion(results: Results) -> str:
    """The verdict of the run in a sentence, and in another what was left out."""
    return " ".join(filter(None, (_verdict(results), left_out(results))))


def _verdict(results: Results) -> str:
    failed, warned = results.count(FAIL), results.count(WARN)
    if results.verdict == NON_CONFORMANT:
        things = "one rule" if failed == 1 else f"{failed} rules"
        return f"The server does not conform to {tasks_of(results.spec)}: it breaks {things}."
    if results.verdict == NOT_OFFERED:
        return (
            f"The server does not offer {tasks_of(results.spec)}: it advertises none and made none."
            " There is nothing to conform to."
        )
    if results.verdict == INCONCLUSIVE:
        if results.run.unjudged:
            return f"No verdict: {results.run.unjudged.removesuffix('.')}."
        if results.run.cut_short:
            return f"No verdict: the run was cut short ({results.run.cut_short})."
        return "No verdict: no rule of the level must was seen to hold."
    assert results.verdict == CONFORMANT
    expected = results.count(FAIL, expected=True)
    sentence = f"The server conforms to {tasks_of(results.spec)} in all that was exercised"
    if expected:
        known = "one known violation" if expected == 1 else f"{expected} known violations"
        sentence += f", but for {known}"
    if warned:
        sentence += f"; {warned} {'warning' if warned == 1 else 'warnings'}"
    return sentence + "."


def summary_line(results: Results) -> str:
    """One line with the counts. Its form is stable: people search for it."""
    expected = results.count(FAIL, expected=True) + results.count(WARN, expected=True)
    known = f"{expected} expected, " if expected else ""
    without = f", {len(results.run.left_out)} left out" if results.run.left_out else ""
    return (
        f"{results.verdict}: {results.count(PASS)} passed, {results.count(FAIL)} failed, "
        f"{results.count(WARN)} warned, {known}{results.count(NOT_EXERCISED)} not exercised, "
        f"{results.count(NOT_APPLICABLE)} not applicable{without} "
        f"(must: {results.exercised(MUST)} of {results.applicable(MUST)} exercised) "
        f"in {results.run.seconds:.1f} s"
    )


def names_of(rules: Iterable[RuleResult]) -> str:
    return ", ".join(rule.id for rule in rules)


def request_words(evidence: Evidence) -> str:
    """What was asked: the JSON-RPC method where there is one, else the HTTP method."""
    body = evidence.request.get("body")
    method = body.get("method") if isinstance(body, dict) else None
    return str(method if isinstance(method, str) else evidence.request.get("method", "a request"))


def response_words(evidence: Evidence) -> str:
    """What came, in a few words: ``HTTP 200, error -32602``."""
    response = evidence.response
    words = [f"HTTP {response['status']}"] if "status" in response else []
    answer = _answer(response)
    error, result = answer.get("error"), answer.get("result")
    if isinstance(error, dict) and "code" in error:
        words.append(f"error {short_text(str(error['code']), 60)}")
    elif isinstance(result, dict):
        members = [
            f"{name} {short_text(str(result[name]), 60)}"
            for name in ("resultType", "status")
            if name in result
        ]
        words.append("a result" + (f" ({', '.join(members)})" if members else ""))
    fault = response.get("fault")
    if isinstance(fault, dict):
        words.append(f"{fault.get('kind')}: {fault.get('detail')}")
    return ", ".join(words) or "no answer"


def _answer(response: JsonObject) -> JsonObject:
    """The JSON-RPC message that answers, as far as the evidence shows it."""
    events = response.get("events")
    listed = events if isinstance(events, list) else []
    shown = [event.get("data") for event in listed if isinstance(event, dict)]
    for body in (response.get("body"), *shown):
        if isinstance(body, dict) and ("result" in body or "error" in body):
            return body
    return {}
