"""The revisions of the specification that the suite knows, one entry each.

An entry says everything in which a revision is another one. To add a revision is to add an entry
here, and its new rules, scenarios and schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conformance.errors import UsageError
from conformance.specification import names

# How a client and a server get to know each other.
DISCOVER = "discover"
INITIALIZE = "initialize"


@dataclass(frozen=True)
class Successor:
    """A rule that follows the rule ``old`` of the revision before; ``words`` say what became of
    it."""

    old: str
    words: str


@dataclass(frozen=True)
class Revision:
    """A revision of the specification.

    ``catalogue`` grows its number whenever a rule is added or changes level, so that two
    results can be told to have been judged by the same rules. ``rules`` and ``scenarios`` are
    packages; where there are several, a later one overlays the earlier ones, and ``withdrawn``
    are rules of these that hold no longer. ``schemas`` is a folder of ``schemas/``, ``profile`` a
    file of ``profiles/``, where certificates are given. ``greeting`` is ``DISCOVER`` or
    ``INITIALIZE``. ``follows`` is the revision before it, by name; of its rules, ``turned`` are
    those that ask for the opposite of one before, and ``changed`` those that ask for the same in
    another way. A rule with the id of one before, and in neither, asks for the same. ``abolished``
    are those of its rules that are about something that has no place any more; the others that
    are gone are merely not asked for any longer.
    """

    name: str
    protocol_version: str
    schemas: str
    catalogue: str
    rules: tuple[str, ...]
    scenarios: tuple[str, ...]
    greeting: str
    methods: tuple[str, ...]
    headers: tuple[str, ...]
    error_codes: Mapping[int, str]
    profile: str | None = None
    withdrawn: frozenset[str] = frozenset()
    follows: str | None = None
    turned: Mapping[str, Successor] = field(default_factory=dict)
    changed: Mapping[str, Successor] = field(default_factory=dict)
    abolished: frozenset[str] = frozenset()


def _same_id(words: Mapping[str, str]) -> dict[str, Successor]:
    return {rule_id: Successor(rule_id, text) for rule_id, text in words.items()}


_2025_11_25 = Revision(
    name="2025-11-25",
    protocol_version="2025-11-25",
    schemas="2025-11-25",
    catalogue="2025-11-25/2",
    rules=("conformance.judge.rules_2025_11_25",),
    scenarios=("conformance.drive.scenarios_2025_11_25",),
    greeting=INITIALIZE,
    methods=(
        "initialize",
        "ping",
        names.TOOLS_LIST,
        names.TOOLS_CALL,
        names.TASKS_GET,
        names.TASKS_RESULT,
        names.TASKS_LIST,
        names.TASKS_CANCEL,
        "notifications/initialized",
        names.STATUS_NOTIFICATION,
    ),
    headers=(names.HEADER_SESSION, names.HEADER_VERSION),
    error_codes={
        code: names.CODE_NAMES[code]
        for code in (
            names.PARSE_ERROR,
            names.INVALID_REQUEST,
            names.METHOD_NOT_FOUND,
            names.INVALID_PARAMS,
            names.INTERNAL_ERROR,
        )
    },
)

_2026_07_28 = Revision(
    name="2026-07-28",
    protocol_version="2026-07-28",
    schemas="2026-07-28",
    catalogue="2026-07-28/3",
    rules=("conformance.judge.rules",),
    scenarios=("conformance.drive.scenarios",),
    greeting=DISCOVER,
    methods=(
        names.DISCOVER,
        names.TOOLS_LIST,
        names.TOOLS_CALL,
        *names.TASK_METHODS,
        names.LISTEN,
        names.ACKNOWLEDGED,
        names.TASK_NOTIFICATION,
    ),
    headers=(
        names.HEADER_METHOD,
        names.HEADER_NAME,
        f"{names.HEADER_PARAMETER_PREFIX}*",
        names.HEADER_VERSION,
    ),
    error_codes=names.CODE_NAMES,
    profile="2026-07-28",
    follows="2025-11-25",
    turned={
        "outcome.tool-error-completes": Successor(
            "outcome.tool-error-fails",
            "a result with isError is completed now; failed is for JSON-RPC errors alone",
        ),
        "cancellation.terminal-acknowledged": Successor(
            "cancellation.terminal-refused",
            "tasks/cancel of an ended task is acknowledged now, not refused",
        ),
        "cancellation.ack-empty": Successor(
            "cancellation.answers-with-task",
            "tasks/cancel is answered with an empty result now, not with the task",
        ),
        "negotiation.task-parameter-ignored": Successor(
            "creation.returns-task",
            "the parameter task asks for nothing any more: a client declares the extension, and"
            " the server decides",
        ),
        "removed.tasks-result": Successor(
            "results.returned", "tasks/result is gone: tasks/get carries the result"
        ),
        "removed.tasks-list": Successor("listing.shape", "tasks/list is gone"),
        "removed.tool-hints": Successor(
            "negotiation.task-support-values",
            "execution.taskSupport is gone: the server decides call by call",
        ),
    },
    changed=_same_id(
        {
            "negotiation.advertised": "it is advertised by server/discover, under"
            " capabilities.extensions, not by initialize under capabilities.tasks",
            "negotiation.settings-object": "the object is that of the extension",
            "negotiation.methods-served": "the methods are tasks/get, tasks/update and"
            " tasks/cancel",
            "negotiation.task-only-tool": "the error is -32021 where the client did not declare"
            " the extension, not -32601",
            "creation.shape": "the handle is flat, says resultType task, and has ttlMs and"
            " pollIntervalMs",
            "polling.shape": "the task says resultType complete, has ttlMs and pollIntervalMs, and"
            " carries its result, its error or its questions",
            "polling.durations": "they are called ttlMs and pollIntervalMs, and are integers",
            "polling.durations-plausible": "they are called ttlMs and pollIntervalMs",
            "outcome.same-as-synchronous": "tasks/get carries the outcome",
            "input.requests-valid": "they stand under inputRequests, by keys, and are not sent as"
            " requests of the server",
            "input.only-declared-kinds": "what a client can answer it declares with each request",
            "input.resumes": "answers come by tasks/update",
            "input.refusals-move-on": "answers come by tasks/update",
            "expiry.not-before-ttl": "it is called ttlMs, and a cancelled task is kept as well",
            "expiry.methods-agree": "the methods are tasks/update and tasks/cancel",
            "transport.unsupported-version": "it is answered with -32022, which names the versions",
            "notifications.full-task": "notifications/tasks carries the result too, on a stream of"
            " subscriptions/listen",
            "notifications.agree-with-polling": "they come on a stream of subscriptions/listen",
        }
    ),
    abolished=frozenset(
        (
            "negotiation.handshake",
            "negotiation.version-agreed",
            "negotiation.version-answered",
            "negotiation.quiet-before-initialized",
            "negotiation.forbidden-tool",
            "results.blocks",
            "results.released-at-end",
            "results.related-task",
            "results.repeatable",
            "results.shape",
            "results.unknown-id",
            "listing.agrees-with-get",
            "listing.bad-cursor",
            "listing.complete",
            "listing.cursors-advance",
            "input.related-task",
            "input.request-ids-unique",
            "transport.ended-session",
            "transport.event-ids-unique",
            "transport.get-stream",
            "transport.no-broadcast",
            "transport.no-response-on-get",
            "transport.ping-answered",
            "transport.response-accepted",
            "transport.session-id-strong",
            "transport.session-id-visible",
            "transport.session-required",
            "security.foreign-list",
            "security.foreign-result",
            "security.list-needs-identity",
            "notifications.progress-related-task",
        )
    ),
)

# What the next release changes, as far as it is written; today that is nothing.
_DRAFT = replace(
    _2026_07_28,
    name="draft",
    catalogue="draft/1",
    rules=(*_2026_07_28.rules, "conformance.judge.rules_draft"),
    profile=None,
    follows=_2026_07_28.name,
    turned={},
    changed={},
    abolished=frozenset(),
)

REVISIONS = {each.name: each for each in (_2025_11_25, _2026_07_28, _DRAFT)}
DEFAULT_REVISION = _2026_07_28.name


def revision_named(name: str) -> Revision:
    """The revision of that name. Raises ``UsageError`` naming those that exist."""
    try:
        return REVISIONS[name]
    except KeyError:
        known = ", ".join(REVISIONS)
        raise UsageError(f"unknown revision {name!r}: this suite knows {known}") from None


def revision_after(name: str) -> Revision | None:
    """The revision that follows another, if there is one."""
    return next((each for each in REVISIONS.values() if each.follows == name), None)
