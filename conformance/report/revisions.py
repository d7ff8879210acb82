"""``rules --diff``: the difference of two catalogues as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conformance.judge.rule import Rule
from conformance.judge.succession import Difference, Names, Pair


def difference_text(difference: Difference) -> str:
    """What comes, goes, turns round and changes, each with its source."""
    old, new = difference.old, difference.new
    lines = [
        f"From {old.name} ({old.catalogue}) to {new.name} ({new.catalogue}):"
        f" {len(difference.same)} rules stay, {len(difference.come)} come, {len(difference.go)} go,"
        f" {len(difference.turned)} turn round, {len(difference.changed)} ask in another way,"
        f" {len(difference.moved)} change level."
    ]
    for what, names in difference.words:
        lines += _names(what.lower(), names)
    lines += _section("turn round", _pairs(difference.turned, old.name, new.name))
    lines += _section("ask in another way", _pairs(difference.changed, old.name, new.name))
    moved = [pair for pair in difference.moved if not pair.kind]
    lines += _section("change level", _pairs(moved, old.name, new.name))
    lines += _section("come", _rules(difference.come))
    lines += _section("go", _rules(difference.go))
    return "\n".join(lines)


def _names(what: str, names: Names) -> Iterator[str]:
    if names.come:
        yield f"  {what} that come: {', '.join(names.come)}"
    if names.go:
        yield f"  {what} that go: {', '.join(names.go)}"


def _section(heading: str, lines: Iterable[str]) -> list[str]:
    told = list(lines)
    return ["", heading, *told] if told else []


def _rules(rules: Sequence[Rule]) -> Iterator[str]:
    for rule in rules:
        yield f"  {rule.id} ({rule.level}): {rule.title}"
        yield f"      {rule.source}"


def _pairs(pairs: Sequence[Pair], old: str, new: str) -> Iterator[str]:
    for pair in pairs:
        yield f"  {pair.new.id}" + (f": {pair.words}" if pair.words else "")
        before = "" if pair.old.id == pair.new.id else f", {pair.old.id}"
        yield f"      {old}{before} ({pair.old.level}): {pair.old.title}"
        yield f"          {pair.old.source}"
        yield f"      {new} ({pair.new.level}): {pair.new.title}"
        yield f"          {pair.new.source}"


def difference_json(difference: Difference) -> str:
    """The same, for programs."""
    return json.dumps(
        {
            "from": {"revision": difference.old.name, "catalogue": difference.old.catalogue},
            "to": {"revision": difference.new.name, "catalogue": difference.new.catalogue},
            "methods": _names_json(difference.methods),
            "headers": _names_json(difference.headers),
            "errorCodes": _names_json(difference.error_codes),
            "turned": [_pair_json(pair) for pair in difference.turned],
            "changed": [_pair_json(pair) for pair in difference.changed],
            "level": [_pair_json(pair) for pair in difference.moved],
            "come": [_rule_json(rule) for rule in difference.come],
            "go": [_rule_json(rule) for rule in difference.go],
            "same": [pair.new.id for pair in difference.same],
        },
        ensure_ascii=False,
        indent=1,
    )


def _names_json(names: Names) -> dict[str, Any]:
    return {"come": list(names.come), "go": list(names.go)}


def _rule_json(rule: Rule) -> dict[str, Any]:
    return {"id": rule.id, "level": rule.level, "title": rule.title, "source": rule.source}


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {
        "id": pair.new.id,
        "words": pair.words,
        "from": _rule_json(pair.old),
        "to": _rule_json(pair.new),
    }
