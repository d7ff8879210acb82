"""``diff``: two results, rule by rule."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from conformance.report.markdown import code, plain
from conformance.report.results import Results
from conformance.report.visible import visible
from conformance.wire.parsing import dump_json

_VIOLATED = ("fail", "warn")
_SEEN = ("pass", "fail", "warn")


@dataclass(frozen=True)
class Change:
    """A rule whose verdict changed."""

    rule: str
    level: str
    before: str
    after: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """What changed. ``broken``: violated now and not before; ``fixed``: the other way round;
    ``newly_seen`` passes where nothing was observed before; ``no_longer_seen`` was observed
    and is not any more; ``came`` and ``went`` are rules that only one of the two knows."""

    broken: tuple[Change, ...]
    fixed: tuple[Change, ...]
    newly_seen: tuple[Change, ...]
    no_longer_seen: tuple[Change, ...]
    came: tuple[str, ...]
    went: tuple[str, ...]

    def rendered(self, form: str) -> str:
        """As ``text``, ``markdown`` or ``json``."""
        if form == "json":
            return dump_json(asdict(self))
        return "\n".join(self._lines(markdown=form == "markdown"))

    def _lines(self, *, markdown: bool) -> list[str]:
        groups = (
            ("broken", self.broken),
            ("fixed", self.fixed),
            ("newly seen", self.newly_seen),
            ("no longer seen", self.no_longer_seen),
        )
        lines: list[str] = []
        for title, changes in groups:
            if not changes:
                continue
            lines.append(f"### {title} ({len(changes)})" if markdown else f"{title}:")
            for change in changes:
                rule = f"- {code(change.rule)}" if markdown else f"  {visible(change.rule, 200)}"
                lines.append(f"{rule} ({change.level}): {change.before} → {change.after}")
                if change in self.broken:
                    reason = plain(change.reason) if markdown else visible(change.reason, 1000)
                    lines.append(f"  {reason}" if markdown else f"      {reason}")
        for title, names in (("new rules", self.came), ("rules gone", self.went)):
            if names:
                listed = [code(name) if markdown else visible(name, 200) for name in names]
                lines.append(f"{title}: {', '.join(listed)}")
        counts = ", ".join(f"{len(changes)} {title}" for title, changes in groups)
        lines.append(f"**{counts}**" if markdown else counts)
        return lines


def compare(old: Results, new: Results) -> Comparison:
    """Compare two results."""
    before = {rule.id: rule for rule in old.rules}
    after = {rule.id: rule for rule in new.rules}
    changes = [
        Change(rule_id, after[rule_id].level, before[rule_id].verdict, rule.verdict, rule.reason)
        for rule_id, rule in after.items()
        if rule_id in before and before[rule_id].verdict != rule.verdict
    ]
    severity = {"fail": 2, "warn": 1}
    # A rule that was unknown to the old catalogue and is violated is news as well.
    unknown = [
        Change(rule_id, rule.level, "unknown", rule.verdict, rule.reason)
        for rule_id, rule in after.items()
        if rule_id not in before and rule.verdict in _VIOLATED
    ]
    worse = [c for c in changes if severity.get(c.after, 0) > severity.get(c.before, 0)]
    better = [
        c
        for c in changes
        if severity.get(c.after, 0) < severity.get(c.before, 0) and c.after in _SEEN
    ]
    return Comparison(
        broken=(*worse, *unknown),
        fixed=tuple(better),
        newly_seen=tuple(c for c in changes if c.after == "pass" and c.before not in _SEEN),
        no_longer_seen=tuple(c for c in changes if c.before in _SEEN and c.after not in _SEEN),
        came=tuple(rule_id for rule_id in after if rule_id not in before),
        went=tuple(rule_id for rule_id in before if rule_id not in after),
    )
