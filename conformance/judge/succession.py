"""What one revision's catalogue has that another's has not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from conformance.judge.rule import Rule, catalogue
from conformance.specification.revisions import REVISIONS, Revision, revision_named

TURNED = "turned"
CHANGED = "changed"


@dataclass(frozen=True)
class Pair:
    """A rule in both revisions. ``kind`` is ``TURNED`` where it asks for the opposite,
    ``CHANGED`` where it asks for the same in another way, empty where it is the same; ``words``
    say how."""

    old: Rule
    new: Rule
    kind: str = ""
    words: str = ""


@dataclass(frozen=True)
class Names:
    """Words of the protocol that come and go."""

    come: tuple[str, ...]
    go: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """From ``old`` to ``new``: the rules that come and go, and those that are in both."""

    old: Revision
    new: Revision
    come: tuple[Rule, ...]
    go: tuple[Rule, ...]
    both: tuple[Pair, ...]
    methods: Names
    headers: Names
    error_codes: Names

    @property
    def turned(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.both if pair.kind == TURNED)

    @property
    def changed(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.both if pair.kind == CHANGED)

    @property
    def moved(self) -> tuple[Pair, ...]:
        """Those whose level is another."""
        return tuple(pair for pair in self.both if pair.old.level != pair.new.level)

    @property
    def same(self) -> tuple[Pair, ...]:
        return tuple(p for p in self.both if not p.kind and p.old.level == p.new.level)


def compare_revisions(old: str, new: str) -> Difference:
    """What changes from one revision to another, in either direction. Raises ``UsageError`` for
    a name that is none."""
    before, after = revision_named(old), revision_named(new)
    had, has = catalogue(old), catalogue(new)
    turned, changed = _told_between(before, after)

    def pair(rule_id: str) -> Pair:
        kind = TURNED if rule_id in turned else CHANGED if rule_id in changed else ""
        words = turned.get(rule_id) or changed.get(rule_id) or ""
        return Pair(had[rule_id], has[rule_id], kind, words)

    return Difference(
        before,
        after,
        come=tuple(rule for rule in has.values() if rule.id not in had),
        go=tuple(rule for rule in had.values() if rule.id not in has),
        both=tuple(pair(rule_id) for rule_id in has if rule_id in had),
        methods=_names(before.methods, after.methods),
        headers=_names(before.headers, after.headers),
        error_codes=_names(_codes(before), _codes(after)),
    )


def _told_between(one: Revision, other: Revision) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The rules that turn round and that change on the way from one to the other."""
    way = _way(one, other) or _way(other, one) or []
    turned: dict[str, str] = {}
    changed: dict[str, str] = {}
    for step in way:
        turned.update(step.turned)
        changed.update(step.changed)
    return turned, changed


def _way(earlier: Revision, later: Revision) -> list[Revision] | None:
    """The revisions after ``earlier`` up to ``later``; ``None`` where the one does not follow."""
    way: list[Revision] = []
    at = later
    while at.name != earlier.name:
        way.insert(0, at)
        if at.follows is None:
            return None
        at = REVISIONS[at.follows]
    return way


def _codes(revision: Revision) -> Iterator[str]:
    return (f"{code} ({words})" for code, words in revision.error_codes.items())


def _names(old: Iterable[str], new: Iterable[str]) -> Names:
    had, has = list(old), list(new)
    return Names(
        tuple(name for name in has if name not in had),
        tuple(name for name in had if name not in has),
    )
