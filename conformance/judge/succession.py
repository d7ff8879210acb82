"""What one revision's catalogue has that another's has not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from conformance.judge.rule import Rule, catalogue
from conformance.specification.revisions import REVISIONS, Revision, Successor, revision_named

TURNED = "turned"
CHANGED = "changed"


@dataclass(frozen=True)
class Pair:
    """A rule and the one that it followed. ``kind`` is ``TURNED`` where it asks for the opposite,
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
    """From ``old`` to ``new``: the rules that come and go, and those that are in both.

    ``abolished`` are those of the rules that go whose subject has no place any more.
    """

    old: Revision
    new: Revision
    come: tuple[Rule, ...]
    go: tuple[Rule, ...]
    both: tuple[Pair, ...]
    abolished: frozenset[str]
    methods: Names
    headers: Names
    error_codes: Names

    @property
    def words(self) -> tuple[tuple[str, Names], ...]:
        """The words of the protocol that come and go, by what they are."""
        return (
            ("Methods", self.methods),
            ("Headers", self.headers),
            ("Error codes", self.error_codes),
        )

    @property
    def forward(self) -> bool:
        """Whether ``new`` is the later one."""
        return _way(self.old, self.new) is not None

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
    both = tuple(_pairs(before, after, had, has))
    paired_old, paired_new = {p.old.id for p in both}, {p.new.id for p in both}
    return Difference(
        before,
        after,
        come=tuple(rule for rule in has.values() if rule.id not in paired_new),
        go=tuple(rule for rule in had.values() if rule.id not in paired_old),
        both=both,
        abolished=frozenset().union(*(each.abolished for each in _way(before, after) or ())),
        methods=_names(before.methods, after.methods),
        headers=_names(before.headers, after.headers),
        error_codes=_names(_codes(before), _codes(after)),
    )


def _pairs(
    before: Revision, after: Revision, had: Mapping[str, Rule], has: Mapping[str, Rule]
) -> Iterator[Pair]:
    forward = _way(before, after)
    way = forward if forward is not None else _way(after, before) or []
    turned = {new: step.turned[new] for step in way for new in step.turned}
    changed = {new: step.changed[new] for step in way for new in step.changed}
    if forward is None:
        turned, changed = _turned_back(turned), _turned_back(changed)
    taken = {successor.old for successor in (*turned.values(), *changed.values())}
    for rule_id, rule in has.items():
        told = turned.get(rule_id) or changed.get(rule_id)
        if told is not None and told.old in had:
            kind = TURNED if rule_id in turned else CHANGED
            yield Pair(had[told.old], rule, kind, told.words)
        elif rule_id in had and rule_id not in taken:
            yield Pair(had[rule_id], rule)


def _turned_back(told: Mapping[str, Successor]) -> dict[str, Successor]:
    """What became of each older rule, read from the newer revision to the older one."""
    return {step.old: Successor(new, step.words) for new, step in told.items()}


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
