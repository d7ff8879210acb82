"""What other sequences did at the same time: part of what happened, where a server mixes up the
tasks of one with those of another."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from conformance.drive.sequences.followed import Followed
from conformance.drive.sequences.performing import Performance
from conformance.drive.sequences.steps import MAIN, OTHER, Plan, Step, renumbered

# So many seconds before the end of a sequence others may have had to do with it.
_WINDOW = 1.5
# Of these steps the latest count, so many of all together; what made their tasks comes besides.
_MOST_STEPS = 40
# Tasks of the n-th of the others are numbered from so many times n.
_NUMBERS = 1000
# Shorter ids stand in other texts by chance; and so does whatever is found in so many sequences.
_TELLING_LETTERS, _MOST_SHOWN = 6, 4


class Company:
    """The sequences that are or were lately at work in this process."""

    def __init__(self) -> None:
        self._lately: deque[Performance] = deque(maxlen=64)

    def joins(self, performance: Performance) -> None:
        self._lately.append(performance)

    def of(self, own: Performance) -> Plan:
        """The steps of a sequence and of those that had to do with it, in the order they were
        begun, as one plan; empty where there was nobody else. Those whose tasks it was shown
        certainly had; where there are none, all may have that went on beside it lately. What is
        sent to another server is no company."""
        wire = own.session.wire
        others = [p for p in self._lately if p is not own and p.begun and p.session.wire is wire]
        shown = [other for other in others if _was_shown(own, other)]
        if 0 < len(shown) <= _MOST_SHOWN:
            return _together(own, shown, since=0.0)
        since = time.monotonic() - _WINDOW
        return _together(own, [p for p in others if p.begun[-1][0] >= since], since)


def _was_shown(own: Performance, other: Performance) -> bool:
    """Whether a sequence was answered with something of a task of another one."""
    known = [word for followed in other.tasks.values() for word in _words_of(followed)]
    if not known:
        return False
    # One word may be a part of another one.
    pattern = f"(?<![0-9A-Za-z])(?:{'|'.join(map(re.escape, known))})(?![0-9A-Za-z])"
    # An id may be half of a character, which has no bytes of its own.
    wanted = re.compile(pattern.encode(errors="surrogatepass"))
    return any(e.seen is not None and wanted.search(e.seen.body) for e in own.exchanges)


def _words_of(followed: Followed) -> Iterator[str]:
    """What a task is known by: its id, and the words that its call was given."""
    for word in (followed.task_id, followed.created.exchange.notes.get("marker")):
        if isinstance(word, str) and len(word) >= _TELLING_LETTERS:
            yield word


def _together(own: Performance, others: Sequence[Performance], since: float) -> Plan:
    if since:
        moments = sorted(at for each in (own, *others) for at, _ in each.begun)
        since = max([since, *moments[-_MOST_STEPS:][:1]])
    steps = list(own.begun)
    for number, other in enumerate(others, 1):
        steps += _of_another(other.begun, since, number * _NUMBERS)
    if len(steps) == len(own.begun):
        return ()
    return renumbered([step for _, step in sorted(steps, key=lambda pair: pair[0])])


def _of_another(
    begun: Iterable[tuple[float, Step]], since: float, offset: int
) -> Iterator[tuple[float, Step]]:
    """The late steps of another sequence, and those that made the tasks they are about."""
    begun = list(begun)
    wanted = {part.task for at, step in begun if at >= since for part in step.steps or (step,)}
    for at, step in begun:
        makes = any(part.makes in wanted for part in step.steps or (step,) if part.makes)
        if at >= since or makes:
            yield at, _moved(step, offset)


def _moved(step: Step, offset: int) -> Step:
    """The step with other numbers, and on another connection."""
    return replace(
        step,
        task=step.task + offset if step.task else 0,
        where=OTHER if step.where == MAIN else step.where,
        steps=tuple(_moved(part, offset) for part in step.steps),
    )
