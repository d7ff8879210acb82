"""A judged history with one of everything, for the tests of reports."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.judge.observation import Observation, broken, holds, not_offered
from conformance.judge.rule import Rule
from conformance.judge.verdict import Judgement, judge
from conformance.report.results import Results, RunFacts, build
from conformance.specification.citations import tasks
from conformance.specification.revisions import revision_named
from conformance.wire.exchange import Exchange, Fault, JsonObject
from conformance.wire.history import History
from tests.builders import creation, exchange, history, reading

# Markup, a bidi mark, an escape sequence, a null, a lone surrogate, XML's forbidden U+FFFE.
HOSTILE = "<script>alert(1)</script>&amp;\u202egnp\x1b[31m\x00\ud800\ufffe`|](http://evil.test)'\""

REVISION = revision_named("2026-07-28")
RUN = RunFacts(
    started="2026-11-30T10:00:00Z", seconds=7.94, seed=17, options={"tool": ["slow:export={}"]}
)


def rule(
    id: str,
    *observations: Observation,
    level: str = "must",
    needs: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
) -> Rule:
    """A rule that saw exactly this."""
    return Rule(
        id, level, tasks("protocol-errors"), f"What the text asks of `{id}`", "More words.",
        lambda history: observations, needs, after,
    )  # fmt: skip


def discovery(server: JsonObject | None = None, *, extension: bool = True) -> Exchange:
    extensions: JsonObject = {"io.modelcontextprotocol/tasks": {}} if extension else {}
    return exchange(
        "server/discover",
        result={
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"extensions": extensions},
            "_meta": {"io.modelcontextprotocol/serverInfo": server or {"name": "Ledger"}},
        },
    )


def judged(rules: Iterable[Rule], kept: History, run: RunFacts = RUN) -> Results:
    return build(_judge(rules, kept), kept, surroundings=None, run=run, revision=REVISION)


def _judge(rules: Iterable[Rule], kept: History) -> Judgement:
    return judge({rule.id: rule for rule in rules}, kept)


def sample(expected: dict[str, str] | None = None, *, hostile: str = HOSTILE) -> Results:
    """Results with a failure that kept another rule from being judged, a second failure, two
    warnings, passes, rules that were not exercised and one that does not apply. The server's
    texts hold ``hostile``."""
    found = discovery({"name": f"Ledger {hostile}", "version": "2.4.1"})
    made = creation(
        "task-abcdef", arguments={"rows": 3}, headers={"X-Note": "plain"}, scenario="creation.burst"
    )
    lost = reading(
        "task-abcdef",
        error={"code": -32602, "message": f"Unknown task {hostile}"},
        intent="read-at-once",
        scenario="creation.burst",
    )
    done = reading("task-abcdef", "completed", members={"resultType": "task", "note": hostile})
    silent = exchange(
        "tasks/get", {"taskId": "unknown"}, fault=Fault("timeout", f"nothing came {hostile}")
    )
    streamed = exchange(
        "subscriptions/listen",
        events=[
            {"method": "notifications/tasks", "params": {"note": hostile}},
            {"id": 1, "result": {"resultType": "complete"}},
        ],
    )
    kept = history(
        found, made, lost, done, silent, streamed, permitted=("export",), seed=17
    )  # fmt: skip
    rules = [
        rule("negotiation.advertised", holds(found), level="implied"),
        rule(
            "creation.durable",
            broken(
                (made, lost),
                f"return the handle once the task can be read {hostile}",
                expected="the task",
                found=f"error -32602 {hostile}",
                member="/error/code",
            ),
        ),
        rule("creation.unique-ids", level="implied", after=("creation.durable",)),
        rule(
            "polling.result-type",
            broken(
                done,
                "set resultType to complete",
                expected='"complete"',
                found='"task"',
                member="/result/resultType",
            ),
            broken(done, "another place", found=hostile, member="/result/absent"),
        ),
        rule("polling.does-not-block", broken(silent, "answer at once"), level="advice"),
        rule("polling.timestamps", broken(done, "give a zone"), level="advice"),
        rule("polling.large-result", needs=("large",)),
        rule("transport.content-type", holds(streamed), holds(done, f"noted {hostile}")),
        rule("security.foreign-get", needs=("identities",)),
        rule("security.foreign-update", needs=("identities",)),
        rule("notifications.full-task", not_offered("it does not serve listen", found)),
    ]
    return build(
        _judge(rules, kept),
        kept,
        surroundings=None,
        run=RUN,
        revision=REVISION,
        expected=expected or {},
    )
