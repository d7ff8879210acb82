"""The revisions of the specification that the suite knows, one entry each.

An entry says everything in which a revision is another one. To add a revision is to add an entry
here, and its new rules, scenarios and schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.errors import UsageError
from conformance.specification import names

# How a client and a server get to know each other.
DISCOVER = "discover"
INITIALIZE = "initialize"


@dataclass(frozen=True)
class Revision:
    """A revision of the specification.

    ``catalogue`` grows its number whenever a rule is added or changes level, so that two
    results can be told to have been judged by the same rules. ``rules`` and ``scenarios`` are
    packages; where there are several, a later one overlays the earlier ones, and ``withdrawn``
    are rules of these that hold no longer. ``schemas`` is a folder of ``schemas/``, ``profile`` a
    file of ``profiles/``, where certificates are given. ``greeting`` is ``DISCOVER`` or
    ``INITIALIZE``. ``follows`` is the revision before it, by name; of the rules that have the
    same id in both, ``turned`` are those that ask for the opposite now, and ``changed`` those
    that ask for the same in another way, each with what became of it.
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
    turned: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)


_2025_11_25 = Revision(
    name="2025-11-25",
    protocol_version="2025-11-25",
    schemas="2025-11-25",
    catalogue="2025-11-25/1",
    rules=("conformance.judge.rules_2025_11_25",),
    scenarios=("conformance.drive.scenarios_2025_11_25",),
    greeting=INITIALIZE,
    methods=(
        "initialize",
        "ping",
        names.TOOLS_LIST,
        names.TOOLS_CALL,
        names.TASKS_GET,
        "tasks/result",
        "tasks/list",
        names.TASKS_CANCEL,
        "notifications/initialized",
        "notifications/tasks/status",
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
    catalogue="2026-07-28/1",
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
)

# What the next release changes, as far as it is written; today that is nothing.
_DRAFT = Revision(
    name="draft",
    protocol_version=_2026_07_28.protocol_version,
    schemas=_2026_07_28.schemas,
    catalogue="draft/1",
    rules=(*_2026_07_28.rules, "conformance.judge.rules_draft"),
    scenarios=_2026_07_28.scenarios,
    greeting=_2026_07_28.greeting,
    methods=_2026_07_28.methods,
    headers=_2026_07_28.headers,
    error_codes=_2026_07_28.error_codes,
    follows=_2026_07_28.name,
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
