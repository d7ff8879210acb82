"""``results.json``: what a run found, as data. Every other report is made from it.

``build`` makes it from a judgement; ``Results.to_json`` and ``from_json`` carry it to and from
plain JSON. The same history gives the same ``rules``, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from conformance.drive.surroundings import Surroundings
from conformance.errors import UsageError
from conformance.judge import older
from conformance.judge.fingerprint import nested_task
from conformance.judge.requests import advertising, of_this_revision, task_made
from conformance.judge.rule import LEVELS, MUST
from conformance.judge.verdict import (
    FAIL,
    NOT_APPLICABLE,
    NOT_EXERCISED,
    PASS,
    VERDICTS,
    WARN,
    Cause,
    Judgement,
    Verdict,
)
from conformance.report.evidence import Evidence, evidence_of, short_text, shortened
from conformance.report.life import KINDS, Step, TaskLife, life_of
from conformance.report.members import Members, WrongShape
from conformance.report.reproduce import reproducer
from conformance.specification.names import DISCOVER, EXTENSION, META_SERVER_INFO, TOOLS_CALL
from conformance.specification.revisions import INITIALIZE, Revision, revision_named
from conformance.target.roles import WITHOUT_TASKS, roles_seen
from conformance.version import __version__
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History

FORMAT = "mcp-tasks-conformance/results/1"

CONFORMANT = "conformant"
NON_CONFORMANT = "non-conformant"
INCONCLUSIVE = "inconclusive"
NOT_OFFERED = "not-offered"
OVERALL_VERDICTS = (CONFORMANT, NON_CONFORMANT, INCONCLUSIVE, NOT_OFFERED)

# The statuses of those who are not let in.
_CALLER_REFUSED = (401, 403, 407)


@dataclass(frozen=True)
class RunFacts:
    """How the run was made. ``started`` is UTC, ISO 8601. ``options`` are what the user asked
    for, without secrets. ``cut_short`` says why driving ended early, if it did, and ``unjudged``
    why there is nothing that a verdict could be built on. ``sequences`` are those that were
    searched; the requests and tasks of them that are in no history are ``requests`` and ``tasks``
    here, to which ``build`` adds those it counts. ``left_out`` are rules that the user did not
    want to have judged."""

    started: str = ""
    seconds: float = 0.0
    seed: int = 0
    effort: str = "standard"
    workers: int = 0
    requests: int = 0
    tasks: int = 0
    sequences: int = 0
    hypothesis: str = ""
    cut_short: str = ""
    unjudged: str = ""
    left_out: tuple[str, ...] = ()
    options: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class ServerFacts:
    """The server as it said of itself. ``server`` is its serverInfo, empty where it had none."""

    url: str = ""
    server: JsonObject = field(default_factory=dict)
    versions: tuple[str, ...] = ()
    extension: bool = False

    @property
    def name(self) -> str:
        """Its name and version, or what to call a server without a name."""
        name, version = self.server.get("name"), self.server.get("version")
        if not isinstance(name, str) or not name:
            return "a server that does not name itself"
        return f"{name} {version}" if isinstance(version, str) else name


@dataclass(frozen=True)
class ToolFacts:
    """A tool that was called, the parts it played, where they come from, and with what it was
    called."""

    name: str
    roles: tuple[str, ...] = ()
    how: str = "observed"
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class RuleResult:
    """One rule of the catalogue and its verdict.

    ``expected`` says that the baseline names the rule, ``expectation`` why. ``intermittent``
    marks a violation that did not come back when it was tried again. ``cause`` is the
    violated rule that kept this one from being judged, or empty. ``life`` is that of the task
    that a violation is about, where it is about one task's history.
    """

    id: str
    level: str
    title: str
    explanation: str
    source: str
    verdict: str
    reason: str
    observations: int = 0
    expected: bool = False
    expectation: str = ""
    intermittent: bool = False
    cause: str = ""
    evidence: tuple[Evidence, ...] = ()
    reproduce: str = ""
    life: TaskLife | None = None

    @property
    def topic(self) -> str:
        return self.id.partition(".")[0]

    @property
    def violated(self) -> bool:
        return self.verdict in (FAIL, WARN)

    @property
    def exercised(self) -> bool:
        return self.verdict in (PASS, FAIL, WARN)


@dataclass(frozen=True)
class Results:
    """The whole of ``results.json``. ``summary`` counts verdicts by level."""

    suite: str
    catalogue: str
    spec: str
    target: ServerFacts
    run: RunFacts
    tools: tuple[ToolFacts, ...]
    verdict: str
    summary: dict[str, dict[str, int]]
    causes: tuple[Cause, ...]
    rules: tuple[RuleResult, ...]

    def rule(self, rule_id: str) -> RuleResult | None:
        return next((rule for rule in self.rules if rule.id == rule_id), None)

    def count(self, verdict: str, *, expected: bool = False) -> int:
        """Rules with this verdict; violations that the baseline names are counted apart."""
        return sum(
            rule.verdict == verdict and (rule.expected and rule.violated) == expected
            for rule in self.rules
        )

    def applicable(self, *levels: str) -> int:
        """Rules of these levels that apply to the server."""
        return sum(r.level in levels and r.verdict != NOT_APPLICABLE for r in self.rules)

    def exercised(self, *levels: str) -> int:
        """Rules of these levels that passed or were violated."""
        return sum(r.level in levels and r.exercised for r in self.rules)

    def to_json(self) -> JsonObject:
        """The promised shape, as plain JSON values."""
        return {
            "format": FORMAT,
            "suite": {"version": self.suite, "catalogue": self.catalogue},
            "spec": self.spec,
            "target": _plain(asdict(self.target)),
            "run": _plain(asdict(self.run)),
            "tools": [_plain(asdict(tool)) for tool in self.tools],
            "verdict": self.verdict,
            "summary": {level: dict(counts) for level, counts in self.summary.items()},
            "causes": [_plain(asdict(cause)) for cause in self.causes],
            "rules": [_plain(asdict(rule)) for rule in self.rules],
        }

    @staticmethod
    def from_json(record: object) -> Results:
        """The results that a JSON value holds; members it does not know are passed over.

        Raises ``UsageError`` with one line where the value is something else.
        """
        return _results_from(record)


def _plain(value: Any) -> Any:
    """Tuples become lists, as JSON has it."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


# ---- making them ---------------------------------------------------------------------------


def build(
    judgement: Judgement,
    history: History,
    *,
    surroundings: Surroundings | None,
    run: RunFacts,
    revision: Revision,
    expected: Mapping[str, str] | None = None,
    intermittent: Collection[str] = (),
) -> Results:
    """The results of a judged history.

    ``expected`` maps the ids of rules that the baseline names to its reasons; ``intermittent``
    names rules whose violation did not come back. Without ``surroundings`` (a kept history)
    the server is described by what it answered to ``server/discover``.
    """
    target = _server_facts(history, surroundings)
    offered = target.extension or _was_offered(history)
    unheard = "" if offered else run.unjudged or _unheard(history)
    if unheard:
        run, judgement = replace(run, unjudged=unheard), _of_nothing_heard(judgement, unheard)
    elif not offered:
        judgement = _of_nothing_offered(judgement)
    rules = tuple(
        _rule_result(verdict, history, expected or {}, verdict.rule.id in intermittent)
        for verdict in judgement.verdicts
    )
    made = _tasks_made(history)
    run = replace(
        run,
        requests=run.requests + len(history),
        tasks=run.tasks + made,
        seconds=round(run.seconds, 3),
    )
    return Results(
        suite=__version__,
        catalogue=revision.catalogue,
        spec=revision.name,
        target=target,
        run=run,
        tools=_tool_facts(history, surroundings),
        verdict=_overall(rules, offered=offered or bool(unheard), run=run),
        summary=_summary(rules),
        causes=tuple(replace(c, because=short_text(c.because)) for c in judgement.causes),
        rules=rules,
    )


def with_expected(results: Results, expected: Mapping[str, str]) -> Results:
    """The same results under another baseline: ``expected`` is as in ``build``."""
    rules = tuple(
        replace(rule, expected=rule.id in expected, expectation=expected.get(rule.id, ""))
        for rule in results.rules
    )
    offered = results.verdict != NOT_OFFERED
    verdict = _overall(rules, offered=offered, run=results.run)
    return replace(results, rules=rules, verdict=verdict)


def _was_offered(history: History) -> bool:
    """Whether the server says so, or a request of this revision got a task."""
    return advertising(history) is not None or any(
        task_made(exchange) is not None and of_this_revision(exchange, history)
        for exchange in history.exchanges
    )


def _unheard(history: History) -> str:
    """Why it is not known what the server offers, where none of the requests got an answer of
    MCP to its caller; empty where one did, or nothing was sent."""
    unheard = [e for e in history.exchanges if not _is_answer(e)]
    if not unheard or len(unheard) < len(history):
        return ""
    return f"the server answered nothing: {short_text(unheard[0].outcome)}"


def _is_answer(exchange: Exchange) -> bool:
    refused = exchange.status in _CALLER_REFUSED
    return exchange.result is not None or (exchange.error is not None and not refused)


def _of_nothing_heard(judgement: Judgement, reason: str) -> Judgement:
    """Of a server that nobody heard, nothing is known."""
    return Judgement(tuple(Verdict(v.rule, NOT_EXERCISED, reason) for v in judgement.verdicts), ())


def _of_nothing_offered(judgement: Judgement) -> Judgement:
    """A server that never offered tasks has nothing to conform to, but for what is asked of
    those that do not."""
    reason = "the server does not offer tasks"
    verdicts = tuple(
        v if WITHOUT_TASKS in v.rule.needs else Verdict(v.rule, NOT_APPLICABLE, reason)
        for v in judgement.verdicts
    )
    told = {v.rule.id for v in verdicts if v.violated}
    return Judgement(verdicts, tuple(c for c in judgement.causes if c.rule in told))


def _rule_result(
    verdict: Verdict, history: History, expected: Mapping[str, str], intermittent: bool
) -> RuleResult:
    rule = verdict.rule
    return RuleResult(
        id=rule.id,
        level=rule.level,
        title=rule.title,
        explanation=rule.explanation,
        source=rule.source,
        verdict=verdict.verdict,
        reason=short_text(verdict.reason),
        observations=verdict.observations,
        expected=rule.id in expected,
        expectation=expected.get(rule.id, ""),
        intermittent=intermittent,
        cause=verdict.cause or "",
        evidence=evidence_of(verdict.evidence),
        reproduce=reproducer(verdict.evidence[0], history) if verdict.violated else "",
        life=life_of(rule.id, verdict.evidence[0], history) if verdict.violated else None,
    )


def _overall(rules: Iterable[RuleResult], *, offered: bool, run: RunFacts) -> str:
    rules = tuple(rules)
    if not offered:
        return NOT_OFFERED
    if any(rule.verdict == FAIL and not rule.expected for rule in rules):
        return NON_CONFORMANT
    # What is known to be broken was seen as well as what holds.
    seen = any(r.verdict == FAIL or (r.level == MUST and r.verdict == PASS) for r in rules)
    return CONFORMANT if seen and not run.cut_short and not run.unjudged else INCONCLUSIVE


def _summary(rules: Iterable[RuleResult]) -> dict[str, dict[str, int]]:
    counts = {level: dict.fromkeys(VERDICTS, 0) for level in LEVELS}
    for rule in rules:
        counts[rule.level][rule.verdict] += 1
    return counts


def _tasks_made(history: History) -> int:
    made = {str((nested_task(e) or e.handle or {}).get("taskId")) for e in history.exchanges}
    return len(made - {"None"})


def _server_facts(history: History, surroundings: Surroundings | None) -> ServerFacts:
    url = history.circumstances.url
    if surroundings is not None:
        said = shortened(surroundings.server)
        return ServerFacts(url, said, _versions(surroundings.versions), surroundings.extension)
    if revision_named(history.circumstances.spec).greeting == INITIALIZE:
        return _facts_of_handshake(url, history)
    answers = (e.result for e in history.of_method(DISCOVER) if e.is_ordinary)
    result = next((answer for answer in answers if answer is not None), {})
    meta, versions = result.get("_meta"), result.get("supportedVersions")
    server = meta.get(META_SERVER_INFO) if isinstance(meta, dict) else None
    capabilities = result.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return ServerFacts(
        url,
        shortened(server) if isinstance(server, dict) else {},
        _versions(versions) if isinstance(versions, list) else (),
        isinstance(extensions, dict) and EXTENSION in extensions,
    )


def _facts_of_handshake(url: str, history: History) -> ServerFacts:
    """What a server says of itself in a handshake of ``initialize``."""
    answers = (e.result for e in history.of_method("initialize"))
    result = next((answer for answer in answers if answer is not None), {})
    server, version = result.get("serverInfo"), result.get("protocolVersion")
    return ServerFacts(
        url,
        shortened(server) if isinstance(server, dict) else {},
        _versions([version]) if isinstance(version, str) else (),
        older.offered(history, *older.TOOLS) is not None
        or any(e.handle is not None for e in history.exchanges),
    )


def _versions(versions: Iterable[object]) -> tuple[str, ...]:
    return tuple(short_text(str(version), 80) for version in islice(versions, 20))


def _tool_facts(history: History, surroundings: Surroundings | None) -> tuple[ToolFacts, ...]:
    used: dict[str, JsonObject] = {}
    for exchange in history.of_method(TOOLS_CALL):
        arguments = exchange.params.get("arguments")
        if exchange.tool is not None and isinstance(arguments, dict):
            used.setdefault(exchange.tool, arguments)
    seen = roles_seen(history)
    known = {use.name: use for use in surroundings.tools} if surroundings is not None else {}
    permitted = history.circumstances.permitted
    facts = []
    for name in sorted({*seen, *known}):
        if permitted and name not in permitted and not seen.get(name):
            continue  # a probe with a name that no tool has
        use = known.get(name)
        named = history.circumstances.named.get(name)
        roles = {*seen.get(name, ()), *(use.roles if use is not None else named or ())}
        how = use.how if use is not None else "named" if named else "observed"
        arguments = use.arguments if use is not None else used.get(name, {})
        facts.append(
            ToolFacts(short_text(name, 200), tuple(sorted(roles)), how, shortened(arguments))
        )
    return tuple(facts)


# ---- reading them --------------------------------------------------------------------------


def _results_from(record: object) -> Results:
    try:
        whole = Members(record, "the file")
        if whole.text("format") != FORMAT:
            raise WrongShape(f'format is not "{FORMAT}"')
        suite = whole.object("suite")
        return Results(
            suite=suite.text("version"),
            catalogue=suite.text("catalogue"),
            spec=whole.text("spec"),
            target=_server_facts_from(whole.object("target")),
            run=_run_facts_from(whole.object("run")),
            tools=tuple(_tool_facts_from(tool) for tool in whole.objects("tools")),
            verdict=whole.text("verdict"),
            summary=_summary_from(whole.object("summary")),
            causes=tuple(_cause_from(cause) for cause in whole.objects("causes")),
            rules=tuple(_rule_result_from(rule) for rule in whole.objects("rules")),
        )
    except WrongShape as wrong:
        raise UsageError(f"not results of this suite: {wrong}") from None


def _server_facts_from(record: Members) -> ServerFacts:
    return ServerFacts(
        url=record.text("url"),
        server=record.plain("server", {}),
        versions=record.texts("versions"),
        extension=record.truth("extension"),
    )


def _run_facts_from(record: Members) -> RunFacts:
    return RunFacts(
        started=record.text("started"),
        seconds=record.seconds("seconds"),
        seed=record.number("seed"),
        effort=record.text("effort"),
        workers=record.number("workers", 0),
        requests=record.number("requests", 0),
        tasks=record.number("tasks", 0),
        sequences=record.number("sequences", 0),
        hypothesis=record.text("hypothesis", ""),
        cut_short=record.text("cut_short", ""),
        unjudged=record.text("unjudged", ""),
        left_out=record.texts("left_out"),
        options=record.plain("options", {}),
    )


def _tool_facts_from(record: Members) -> ToolFacts:
    return ToolFacts(
        name=record.text("name"),
        roles=record.texts("roles"),
        how=record.text("how", "observed"),
        arguments=record.plain("arguments", {}),
    )


def _summary_from(record: Members) -> dict[str, dict[str, int]]:
    levels: Mapping[str, object] = record.record if isinstance(record.record, dict) else {}
    counts = {}
    for level in levels:
        members = record.object(level)
        counts[level] = {verdict: members.number(verdict, 0) for verdict in VERDICTS}
    return counts


def _cause_from(record: Members) -> Cause:
    return Cause(record.text("rule"), record.text("because"), record.texts("also"))


def _rule_result_from(record: Members) -> RuleResult:
    result = RuleResult(
        id=record.text("id"),
        level=record.text("level"),
        title=record.text("title"),
        explanation=record.text("explanation", ""),
        source=record.text("source"),
        verdict=record.text("verdict"),
        reason=record.text("reason"),
        observations=record.number("observations", 0),
        expected=record.truth("expected", False),
        expectation=record.text("expectation", ""),
        intermittent=record.truth("intermittent", False),
        cause=record.text("cause", ""),
        evidence=tuple(_evidence_from(each) for each in record.objects("evidence")),
        reproduce=record.text("reproduce", ""),
        life=_life_from(record.object("life")) if record.has("life") else None,
    )
    if result.verdict not in VERDICTS:
        raise WrongShape(f"{record.where} has the unknown verdict {result.verdict!r:.40}")
    if result.level not in LEVELS:
        raise WrongShape(f"{record.where} has the unknown level {result.level!r:.40}")
    return result


def _evidence_from(record: Members) -> Evidence:
    return Evidence(
        history=record.text("history"),
        exchange=record.number("exchange"),
        observation=record.number("observation", 0),
        intent=record.text("intent", ""),
        caller=record.text("caller", ""),
        seconds=record.seconds("seconds", 0.0),
        note=record.text("note", ""),
        expected=record.text("expected", ""),
        found=record.text("found", ""),
        member=record.text("member", ""),
        marked=record.text("marked", ""),
        request=record.plain("request", {}),
        response=record.plain("response", {}),
        left_out=record.number("left_out", 0),
    )


def _life_from(record: Members) -> TaskLife:
    return TaskLife(
        task_id=record.text("task_id"),
        steps=tuple(_step_from(step) for step in record.objects("steps")),
        left_out=record.number("left_out", 0),
    )


def _step_from(record: Members) -> Step:
    step = Step(
        kind=record.text("kind"),
        began=record.seconds("began"),
        ended=record.seconds("ended"),
        caller=record.text("caller", ""),
        history=record.text("history"),
        exchange=record.number("exchange"),
        status=record.text("status", ""),
        refused=record.text("refused", ""),
        evidence=record.truth("evidence", False),
    )
    if step.kind not in KINDS:
        raise WrongShape(f"{record.where} has the unknown kind {step.kind!r:.40}")
    return step


# ---- files ---------------------------------------------------------------------------------


def write(results: Results, path: Path) -> None:
    """Write ``results.json``. Raises ``UsageError`` where the path cannot be written."""
    write_text(path, json_text(results) + "\n")


def json_text(results: Results) -> str:
    """The results as JSON text, indented, members in the promised order."""
    return json.dumps(results.to_json(), ensure_ascii=False, indent=1)


def write_text(path: Path, text: str) -> None:
    """Write a report. Raises ``UsageError`` with one line where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def read(path: Path) -> Results:
    """Read ``results.json``. Raises ``UsageError`` with one line that names the file."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is not JSON") from None
    try:
        return Results.from_json(record)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
