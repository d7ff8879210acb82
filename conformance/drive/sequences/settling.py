"""Settling: what broke a rule is done again, when nobody else is at work on the server; of each
cause the shortest sequence is looked for, and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from conformance.drive.driver import Driver, ServerGone
from conformance.drive.sequences.extents import extent_of
from conformance.drive.sequences.finds import (
    Counts,
    Sequence,
    as_found,
    counts_of,
    found_path,
    read_seen,
    write_counts,
    write_sequence,
)
from conformance.drive.sequences.judging import blocked_by, rules_for_sequences, violations
from conformance.drive.sequences.limits import (
    ENOUGH,
    SHORT_PATIENCE,
    full_patience,
    session_for,
)
from conformance.drive.sequences.performing import NEEDS_PATIENCE, Performance, Performed
from conformance.drive.sequences.shrinking import Shrinking, looking_instead
from conformance.drive.sequences.steps import Plan, contains, key, length, unhurried
from conformance.judge.verdict import Verdict, verdict_of
from conformance.wire.exchange import Exchange
from conformance.wire.history import Circumstances, History, HistoryWriter, read_file

# What these scenarios saw a server do by itself excuses what a sequence shows alone.
_BY_ITSELF = ("input.unanswered",)
# So often a sequence is done again, and one in which things happen at the same time.
_TIMES, _RACES = 2, 3
# This part of the time that is left may go into one find while others wait.
_PART_FOR_ONE = 1 / 2


class Settling:
    """Does again what broke a rule, alone; makes it short; and writes what was found."""

    def __init__(self, driver: Driver) -> None:
        assert isinstance(driver.writer, HistoryWriter)
        self._folder: Path = driver.writer.path.parent
        self._circumstances: Circumstances = driver.writer.circumstances
        self._extent = extent_of(driver.target)
        self._session = session_for(driver, self._extent.settling)
        self._rules = rules_for_sequences(self._circumstances.spec)
        self._patience = full_patience(self._circumstances)
        self._done = 0
        self._found: set[str] = set()
        self._plans: list[Plan] = []
        self._besides = _besides(self._folder)
        # What came of doing a plan again that a rule was seen broken by, where it did not show.
        self._in_vain: dict[tuple[str, str], Performed] = {}
        self._waiting = 0
        self._counts = Counts()

    async def run(self) -> None:
        """Settle each rule that was seen broken. Raises ``ServerGone``."""
        seen = [s for s in map(self._judged_with_the_rest, read_seen(self._folder)) if _tells(s)]
        by_rule: dict[str, list[Sequence]] = {}
        for sequence in seen:
            for rule_id in (*sequence.rules, *sequence.suspected):
                by_rule.setdefault(rule_id, []).append(sequence)
        in_doubt: list[str] = []
        for number, (rule_id, sequences) in enumerate(by_rule.items(), 1):
            self._waiting = len(by_rule) - number
            if rule_id not in self._found and not await self._settled(rule_id, sequences):
                in_doubt.append(rule_id)
        for rule_id in in_doubt:
            sequences = [s for s in by_rule[rule_id] if not self._is_covered(rule_id, s)]
            if sequences and not await self._settled_in_company(rule_id, sequences):
                self._keep_unrepeated(rule_id, sequences)
        if seen:
            write_counts(self._folder, "settling", self._counts)
        if self._session.gone:
            raise ServerGone(self._session.contact.last_words)

    def _judged_with_the_rest(self, sequence: Sequence) -> Sequence:
        """What a sequence shows together with what the server was seen to do by itself."""
        if not self._besides or not sequence.rules:
            return sequence
        broken = self._broken_by(sequence.exchanges)
        return replace(sequence, rules=tuple(r for r in sequence.rules if r in broken))

    async def _settled(self, rule_id: str, sequences: list[Sequence]) -> bool:
        """Whether a rule was seen broken again, or what was seen has another cause."""
        explained = False
        for plan in _to_repeat(s.plan for s in sequences[:ENOUGH]):
            if explained and self._has_a_find(plan):
                continue  # most likely explained by the same
            again = await self._perform(plan, self._patience_for(rule_id), "again")
            if again is None:
                return explained
            broken = self._violations(again)
            if rule_id not in broken:
                self._in_vain.setdefault((rule_id, key(plan)), again)
            elif explained and not self._found.isdisjoint(broken):
                continue  # what explains it is broken here as well
            elif await self._found_again(rule_id, plan, again):
                return True
            else:
                explained = True
        return explained

    async def _settled_in_company(self, rule_id: str, sequences: list[Sequence]) -> bool:
        """Whether a rule was broken again together with what others did at the same time. Where
        a server mixes up tasks of different sequences, nothing less shows it."""
        for plan in _to_repeat(s.company for s in sequences[:ENOUGH]):
            again = await self._perform(plan, self._patience_for(rule_id), "company")
            if again is None:
                return False
            if rule_id in self._violations(again):
                await self._found_again(rule_id, again.done, again, at_once=1)
                return True
        return False

    async def _found_again(
        self, rule_id: str, plan: Plan, again: Performed, *, at_once: int = 8
    ) -> bool:
        """Make what was found short, and keep it. Returns whether it is kept under this rule."""
        only_in_time = rule_id == NEEDS_PATIENCE
        besides: dict[str, Plan] = {}
        shown: dict[str, Performed] = {}

        async def shows(shorter: Plan) -> bool:
            patience = SHORT_PATIENCE if only_in_time else 0.0
            performed = await self._perform(shorter, patience, "shorter")
            if performed is None:
                return False
            broken = self._violations(performed)
            for other in broken:
                if other not in besides or length(shorter) < length(besides[other]):
                    besides[other] = shorter
            if rule_id in broken:
                shown[key(shorter)] = performed
            return rule_id in broken or (only_in_time and rule_id in performed.suspected)

        seconds_left = self._seconds_for_this_one()
        shrinking = Shrinking(shows, self._extent.attempts, at_once, seconds_left)
        shortest = await shrinking.shortest(plan)
        patience = self._patience_for(rule_id)
        name = found_path(self._folder, rule_id).stem
        final = await self._perform(shortest, patience, name)
        broken = self._violations(final) if final is not None else {}
        if final is None or rule_id not in broken:
            # It does not show each time, or no time is left: what was seen is evidence enough.
            seen = shown.get(key(shortest))
            shortest, final = (shortest, seen) if seen is not None else (plan, again)
        elif await self._is_explained(shortest, besides) or await self._happens_anyway(
            rule_id, shortest, broken
        ):
            return False
        self._write(rule_id, shortest, final)
        return True

    def _seconds_for_this_one(self) -> Callable[[], float]:
        """Says how many seconds are left to make one find short. While others wait to be settled
        it has a part of the time only, or there would be none to do those again."""
        left = self._session.remaining()
        kept = left * (1 - _PART_FOR_ONE) if self._waiting else 0.0
        return lambda: self._session.remaining() - kept

    async def _is_explained(self, plan: Plan, besides: Mapping[str, Plan]) -> bool:
        """Whether what happened was blamed on the wrong step: the last of the plan breaks another
        rule, without some of the steps before it. That is kept instead."""
        explained = False
        for rule_id, fewer in besides.items():
            same_end = contains(plan[-1:], fewer[-1:]) and contains(plan, fewer)
            if length(fewer) >= length(plan) or not same_end:
                continue
            explained = await self._is_found(rule_id, fewer) or explained
        return explained

    async def _happens_anyway(
        self, rule_id: str, plan: Plan, before: Mapping[str, Verdict]
    ) -> bool:
        """Whether what is blamed on the last request sent to a task happens without it: only
        looking breaks another rule. That is kept instead."""
        looking = looking_instead(plan)
        looked = await self._perform(looking, 0.0, "looking") if looking is not None else None
        if looking is None or looked is None:
            return False
        broken = self._violations(looked)
        if rule_id in broken:
            return False
        for other in broken:
            # A rule that was broken before as well is another matter, unless it tells the same.
            if other not in before or _last_shown(before[other]) & _last_shown(before[rule_id]):
                return await self._is_found(other, looking)
        return False

    async def _is_found(self, rule_id: str, plan: Plan) -> bool:
        """Whether a rule is found to be broken, by this plan if not yet."""
        if rule_id not in self._found:
            again = await self._perform(plan, self._patience_for(rule_id), "instead")
            if again is not None and rule_id in self._violations(again):
                await self._found_again(rule_id, plan, again)
        return rule_id in self._found

    def _write(self, rule_id: str, plan: Plan, performed: Performed) -> None:
        broken = tuple(self._violations(performed))
        self._found.update(broken)
        self._plans.append(plan)
        self._keep(rule_id, "", plan, broken, performed.history, repeated=True)

    def _keep(
        self,
        rule_id: str,
        which: str,
        plan: Plan,
        broken: tuple[str, ...],
        exchanges: Iterable[Exchange],
        *,
        repeated: bool | None,
    ) -> None:
        path = found_path(self._folder, rule_id, which)
        kept = as_found(exchanges, path.stem, repeated=repeated)
        # It was counted when it was done, and is from now on in a history.
        self._counts = self._counts.without(counts_of(kept))
        found = Sequence(
            plan,
            broken,
            repeated=repeated,
            exchanges=kept,
            circumstances=self._circumstances,
            tools=self._session.surroundings.tools,
        )
        write_sequence(path, found, self._session.redactor)

    def _patience_for(self, rule_id: str) -> float:
        return self._patience if rule_id == NEEDS_PATIENCE else 0.0

    def _is_covered(self, rule_id: str, sequence: Sequence) -> bool:
        """Whether what was found is in a sequence too, and explains it."""
        if rule_id in self._found or blocked_by(self._rules, rule_id, self._found):
            return True
        return self._has_a_find(sequence.plan)

    def _has_a_find(self, plan: Plan) -> bool:
        """Whether a plan has all the steps of one that was found."""
        return any(contains(plan, found) for found in self._plans)

    def _keep_unrepeated(self, rule_id: str, sequences: list[Sequence]) -> None:
        """What was seen and did not come back is kept as it was seen, and as it was then; what
        there was no time to do again, as it was seen."""
        seen = [sequence for sequence in sequences if rule_id in sequence.rules]
        if not seen:
            return
        in_vain = {key(s.plan): self._in_vain.get((rule_id, key(s.plan))) for s in seen}
        sequence = next((s for s in seen if in_vain[key(s.plan)] is not None), seen[0])
        again = in_vain[key(sequence.plan)]
        self._found.update(sequence.rules)
        repeated = False if again is not None else None
        self._keep(
            rule_id, "", sequence.plan, sequence.rules, sequence.exchanges, repeated=repeated
        )
        if again is not None:
            self._keep(rule_id, "again", again.plan, (), again.history, repeated=False)

    def _violations(self, performed: Performed) -> Mapping[str, Verdict]:
        return self._broken_by(performed.history)

    def _broken_by(self, exchanges: Iterable[Exchange]) -> Mapping[str, Verdict]:
        """The rules that these exchanges break, and that nothing excuses which the server was seen
        to do by itself."""
        alone = violations(self._rules, History(exchanges, self._circumstances))
        if not alone or not self._besides:
            return alone
        whole = History((*exchanges, *self._besides), self._circumstances)
        return {
            rule_id: verdict
            for rule_id, verdict in alone.items()
            if verdict_of(self._rules[rule_id], whole).violated
        }

    async def _perform(self, plan: Plan, patience: float, name: str) -> Performed | None:
        """Do a plan; ``None`` where the time is used up or the server is gone."""
        if self._session.gone or self._session.remaining() <= 0:
            return None
        self._done += 1
        if not name.startswith("sequences."):
            name = f"{name}-{self._done}"
        performance = Performance(
            self._session,
            self._circumstances,
            name=name,
            slot=f"{name}-{self._done}",
            patience=patience,
            rules=self._rules,
        )
        performed = await performance.perform(plan)
        self._counts += counts_of(performed.history)
        return None if performed.cut else performed


def _besides(folder: Path) -> tuple[Exchange, ...]:
    paths = [folder / f"{name}.jsonl" for name in _BY_ITSELF]
    kept = [read_file(path) for path in paths if path.exists()]
    return tuple(exchange for each in kept if each is not None for exchange in each[1])


def _tells(sequence: Sequence) -> bool:
    return bool(sequence.rules or sequence.suspected)


def _to_repeat(plans: Iterable[Plan]) -> Iterator[Plan]:
    """The plans of sequences, to see whether they show again what they showed; each more than
    once, since a server does not take the same time each time. Those in which things happen at
    the same time may come out another way more easily, and are done more often. At last each
    without hurry: when much is going on, what one waits for has happened sooner."""
    plans = [plan for plan in plans if plan]
    for turn in range(_RACES):
        for plan in plans:
            if turn < _TIMES or any(step.do == "together" for step in plan):
                yield plan
    yield from map(unhurried, plans)


def _last_shown(verdict: Verdict) -> set[tuple[str, int]]:
    """The exchanges in which it was seen at last that a rule is broken."""
    return {seen.exchanges[-1].key for seen in verdict.evidence if seen.exchanges}
