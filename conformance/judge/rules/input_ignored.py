"""input: answers that do not count, since nobody asked for them any more or at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.judge.accidents import not_by_accident
from conformance.judge.asking import (
    answers_of,
    cancelled_before,
    end_of,
    first_without,
    found_in_outcome,
    next_sent,
    open_before,
    reads_between,
    reads_of_effect,
    requests_in,
    showings_of,
    texts_of,
)
from conformance.judge.effects import moved_by_itself, reason_to_go_on
from conformance.judge.expectations import probes, unanswered
from conformance.judge.lifetimes import asked_by_its_caller
from conformance.judge.lives import (
    Alike,
    Life,
    Sighting,
    hashable,
    lives,
    may_have_expired,
    outcome_of,
)
from conformance.judge.lost import (
    GONE,
    answers_to_an_end,
    loses_unanswered,
    may_be_gone,
    read_before,
)
from conformance.judge.moving import CAREFUL, careful_updates, moves_on
from conformance.judge.observation import (
    BROKEN,
    HOLDS,
    Observation,
    broken,
    holds,
    unclear,
)
from conformance.judge.rule import IMPLIED, SHOULD, rule
from conformance.specification.citations import tasks
from conformance.specification.names import (
    INVALID_PARAMS,
    OBSOLETE_CODES,
    TASKS_UPDATE,
    code_words,
)
from conformance.specification.states import COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from conformance.target.roles import INPUT, SLOW, SLOW_SECONDS, TASK
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History

_RESPONSE = tasks("response-1")
_SECOND = ("answer-some", "answer-again", "decline-again", "answer-at-once")


@rule(
    "input.unknown-key-ignored",
    SHOULD,
    _RESPONSE,
    needs=(INPUT,),
    after=("input.resumes", "polling.input-required"),
)
def unknown_keys_are_ignored(history: History) -> Iterator[Observation]:
    """An answer under a key that is not open is acknowledged, and changes nothing.

    A task may also fail by itself: that it did after such an answer counts where it happened more
    than once.
    """
    yield from not_by_accident(_what_unknown_keys_do(history))


def _what_unknown_keys_do(history: History) -> Iterator[Observation]:
    known = lives(history)
    for probe in probes(history, "unknown-key", "known-and-unknown-key", method=TASKS_UPDATE):
        if isinstance(probe, Observation):
            yield probe
            continue
        hindrance = unanswered(probe)
        life = known.get(probe.task_id or "")
        if hindrance or life is None:
            yield unclear(probe, hindrance or "the task is not known")
        elif not open_before(life, probe) or cancelled_before(life, probe.ended):
            yield unclear(probe, "the task was not seen waiting before the answer")
        elif may_be_gone(history, probe):
            yield unclear(probe, GONE)
        elif probe.error is not None:
            old = OBSOLETE_CODES.get(probe.error_code)
            yield broken(
                probe,
                "acknowledge tasks/update and ignore answers under keys that are not open,"
                " instead of refusing the whole update" + (f"; the code is {old}" if old else ""),
                expected="an acknowledgement",
                found=f"error {code_words(probe.error_code)}",
                member="/error/code",
            )
        elif probe.intent == "unknown-key":
            yield _nothing_happens(life, probe, known)
        else:
            yield _rest_is_taken(history, life, probe)


def _stray_texts(life: Life, probe: Exchange) -> set[str]:
    """Texts that were sent only under keys the task never showed."""
    shown = showings_of(life).keys()
    stray = {
        text
        for key, answer in answers_of(probe).items()
        if key not in shown
        for text in texts_of(answer)
    }
    proper = {
        text
        for update in life.updates
        for key, answer in answers_of(update).items()
        if key in shown
        for text in texts_of(answer)
    }
    return stray - proper


def _stray_answer_used(life: Life, probe: Exchange) -> Observation | None:
    end = end_of(life)
    found = found_in_outcome(_stray_texts(life, probe), end.task) if end is not None else ""
    if end is None or not found:
        return None
    return broken(
        (probe, end.exchange),
        "ignore answers under keys that are not open: the result shows one of them",
        expected="a result without that answer",
        found=f"{found!r:.60} in the result",
        member="/result/result",
    )


def _nothing_happens(life: Life, probe: Exchange, known: Mapping[str, Life]) -> Observation:
    seen = _stays_open(
        life,
        probe,
        known,
        "ignore answers under keys that are not open: the task went on without an answer to what"
        " it had asked",
    )
    if seen is None:
        return unclear(probe, "the task was not seen waiting before and after the answer")
    if seen.kind == BROKEN:
        return seen
    return _stray_answer_used(life, probe) or seen


def _stays_open(
    life: Life, probe: Exchange, known: Mapping[str, Life], note: str
) -> Observation | None:
    """Whether a task still asks what it asked before an answer that should not count; ``note``
    tells what to do where it went on. ``None`` where it was not seen waiting before and after."""
    waiting = open_before(life, probe)
    reads = reads_of_effect(life, probe, waiting)
    if not waiting or not reads:
        return None
    moved = first_without(reads, waiting.keys())
    if moved is None:
        return holds((probe, reads[-1].exchange))
    evidence = (probe, moved.exchange)
    reason = reason_to_go_on(life, moved, waiting, known)
    if reason:
        return unclear(evidence, reason)
    return broken(
        evidence,
        note,
        expected="status 'input_required' with the same requests",
        found=f"status {moved.status!r}",
        member="/result/status",
    )


def _rest_is_taken(history: History, life: Life, probe: Exchange) -> Observation:
    used = _stray_answer_used(life, probe)
    if used is not None:
        return used
    seen = moves_on(history, life, probe)
    if seen is None:
        return unclear(probe, "the task was not seen waiting before the answer")
    if seen.kind == BROKEN:
        return broken(
            seen.exchanges,
            "ignore only the answers under keys that are not open, and take the others: the task"
            " still waits for what the same update answered",
            expected=seen.expected,
            found=seen.found,
            member=seen.member,
        )
    return seen


@rule(
    "input.answered-key-ignored",
    SHOULD,
    _RESPONSE,
    needs=(INPUT,),
    # What tasks ended with is compared, so it must not change afterwards; what is open must not
    # close by itself; and a key has to stand for the same request both times.
    after=(
        "input.resumes",
        "input.partial-waits",
        "input.key-names-one-request",
        "lifecycle.terminal-is-final",
    ),
)
def answered_keys_are_ignored(history: History) -> Iterator[Observation]:
    """A second answer to a key changes nothing, also when both come at once.

    A task may also fail by itself: that it did counts where it happened more than once.
    """
    found = _what_second_answers_do(history)
    yield from not_by_accident(found, spared=_survives_second_answers(history))


def _survives_second_answers(history: History) -> bool:
    """Whether a task completed that certainly had not ended when a second answer came."""
    return any(
        end is not None
        and end.status == COMPLETED
        and any(not s.terminal for s in reads_between(life, second.ended))
        for life in lives(history).values()
        for end, second in ((end_of(life), second) for second in life.updates)
        if second.intent in ("answer-again", "decline-again") and not unanswered(second)
    )


def _what_second_answers_do(history: History) -> Iterator[Observation]:
    known = lives(history)
    for probe in probes(history, "answer-again", "decline-again", method=TASKS_UPDATE):
        if isinstance(probe, Observation):
            yield probe
            continue
        life, first = known.get(probe.task_id or ""), history.control_of(probe)
        if life is not None and first is not None:
            rest = _what_is_open_stays_open(life, probe, known)
            if rest is not None and rest.kind == BROKEN:
                yield rest
            else:
                yield _first_answer_counts(life, first, probe)
    for probe in history.intended("answer-old-key", method=TASKS_UPDATE):
        life = known.get(probe.task_id or "")
        if life is not None:
            yield _what_is_open_stays_open(life, probe, known) or unclear(
                probe, unanswered(probe) or "the second round was not seen before and after"
            )
    for life in known.values():
        at_once = [u for u in life.updates if u.intent == "answer-at-once"]
        if len(at_once) > 1:
            yield _one_answer_counts(life, at_once)


def _first_answer_counts(life: Life, first: Exchange, second: Exchange) -> Observation:
    end = end_of(life)
    if end is None:
        return unclear(second, "the task was not seen to end")
    evidence = (first, second, end.exchange)
    if not _was_taken(life, first, second):
        return unclear(evidence, "the first answer was not seen to be taken before the second")
    failed = _failed_by_answers(life, end, evidence)
    if failed is not None:
        return failed
    earlier = {text for answer in answers_of(first).values() for text in texts_of(answer)}
    later = {text for answer in answers_of(second).values() for text in texts_of(answer)}
    found = found_in_outcome(later - earlier, end.task)
    if found:
        return broken(
            evidence,
            "keep the first answer to a key and ignore a second one: the result shows the second",
            expected="the first answer in the result",
            found=f"{found!r:.60} in the result",
            member="/result/result",
        )
    if second.intent == "decline-again":
        return _not_as_if_declined(life, first, end, evidence)
    if found_in_outcome(earlier - later, end.task):
        return holds(evidence)
    return unclear(evidence, "the result does not show which of the answers counted")


def _was_taken(life: Life, first: Exchange, second: Exchange) -> bool:
    """Whether an answer certainly counted before another was sent: it was acknowledged, and it
    answered all that was open, or its requests were seen to be closed. A server need not take
    answers to a part."""
    waiting = open_before(life, first)
    if first.result is None or first.ended > second.started or not waiting:
        return False
    if waiting.keys() <= answers_of(first).keys():
        return True
    return any(
        not requests_in(s.task).keys() & answers_of(second).keys()
        for s in reads_between(life, first.ended, second.started)
    )


def _not_as_if_declined(
    life: Life, first: Exchange, end: Sighting, evidence: tuple[Exchange, ...]
) -> Observation:
    """A task that was answered and then declined ends like one that was answered, unless it had
    gone on without an answer before the first came."""
    accepted, declined = life.of_same_call.derive(_ends_of_accepted_and_declined)
    outcome = _outcome(end.task)
    if not accepted or not declined or accepted & declined:
        return unclear(evidence, "accepting and declining were not seen to end differently")
    asked = answers_of(first).keys()
    moved = first_without(reads_between(life, first.ended), asked) or end
    if outcome in declined and (reason := moved_by_itself(life, moved)):
        return unclear(evidence, reason)
    if outcome in declined:
        return broken(
            evidence,
            "keep the first answer to a key and ignore a second one: the task ended as if its"
            " form had been declined, though it had been accepted before",
            expected="what the first answer leads to",
            found="what declining leads to",
            member="/result/result",
        )
    return holds(evidence)


def _ends_of_accepted_and_declined(
    tasks: Alike,
) -> tuple[frozenset[object], frozenset[object]]:
    """How tasks ended that were only accepted, and how those that were only declined."""
    accepted, declined = set(), set()
    for life in tasks:
        end, intents = end_of(life), {update.intent for update in life.updates}
        if end is not None and intents == {"answer-all"}:
            accepted.add(_outcome(end.task))
        elif end is not None and intents == {"decline-all"}:
            declined.add(_outcome(end.task))
    return frozenset(accepted), frozenset(declined)


def _outcome(task: JsonObject) -> object:
    """How a task ended, its status and its payload, as something that can be in a set."""
    return hashable([task.get("status"), *outcome_of(task)])


def _failed_by_answers(
    life: Life, end: Sighting, evidence: tuple[Exchange, ...]
) -> Observation | None:
    """A task that failed, while the same call completes when each key is answered once."""
    undisturbed = not life.cancels and {u.intent for u in life.updates} <= {*CAREFUL, *_SECOND}
    if end.status != FAILED or not undisturbed or may_have_expired(life, end.ended):
        return None
    ends = life.of_same_call.derive(_ends_of_carefully_answered)
    if not ends or FAILED in ends:
        return None
    return broken(
        evidence,
        "ignore a second answer to a key: the task failed, while the same call completes when"
        " each key is answered once",
        expected="the task ends as after one answer",
        found="status 'failed'",
        member="/result/status",
    )


def _ends_of_carefully_answered(tasks: Alike) -> frozenset[object]:
    """The statuses that tasks ended with which nobody cancelled or answered oddly."""
    return frozenset(
        end.status
        for life in tasks
        if (end := end_of(life)) is not None
        and not life.cancels
        and {update.intent for update in life.updates} <= set(CAREFUL)
    )


def _what_is_open_stays_open(
    life: Life, probe: Exchange, known: Mapping[str, Life]
) -> Observation | None:
    """An answer to keys that were answered before leaves open what the task asks besides, or has
    asked since. ``None`` where it asks for nothing else, or that was not seen."""
    if unanswered(probe) or open_before(life, probe).keys() & answers_of(probe).keys():
        return None
    return _stays_open(
        life,
        probe,
        known,
        "ignore an answer to a key that was answered before: the task went on without an answer"
        " to what it still asks",
    )


def _one_answer_counts(life: Life, at_once: list[Exchange]) -> Observation:
    end = end_of(life)
    if end is None:
        return unclear(at_once, "the task was not seen to end")
    evidence = (*at_once, end.exchange)
    failed = _failed_by_answers(life, end, evidence)
    if failed is not None:
        return failed
    # Of several keys each may have been answered by another of the updates.
    seen = 0
    for key in answers_of(at_once[0]):
        counted = []
        for update in at_once:
            others = {
                text
                for other in at_once
                if other is not update
                for text in texts_of(answers_of(other).get(key))
            }
            found = found_in_outcome(texts_of(answers_of(update).get(key)) - others, end.task)
            counted += [found] if found else []
        if len(counted) > 1:
            return broken(
                evidence,
                "count one answer to a key, whichever comes first: two came at once, and the"
                " result shows both",
                expected="one of the answers in the result",
                found=" and ".join(f"{text!r:.40}" for text in counted),
                member="/result/result",
            )
        seen += len(counted)
    if seen:
        return holds(evidence)
    return unclear(evidence, "the result does not show which of the answers counted")


@rule(
    "input.working-unaffected",
    SHOULD,
    _RESPONSE,
    needs=(SLOW,),
    after=("concurrency.reads-agree", "lifecycle.terminal-is-final"),
)
def working_task_is_unaffected(history: History) -> Iterator[Observation]:
    """Answers sent to a working task change nothing, and do not start it again.

    A task may also fail by itself: that it did counts where all that were sent the same did, and
    more than one.
    """
    for intent in ("answer-to-working", "nothing-to-working"):
        found = list(_what_becomes_of_working_tasks(history, intent))
        spared = any(
            seen.kind == HOLDS and (seen.exchanges[-1].task or {}).get("status") == COMPLETED
            for seen in found
        )
        yield from not_by_accident(found, spared=spared)


def _what_becomes_of_working_tasks(history: History, intent: str) -> Iterator[Observation]:
    for life, update in careful_updates(history, (intent,)):
        twin = life.of_same_call.derive(_twin_that_ended)
        seen = [s for s in life.sightings if s.ended <= update.started and s.how != "notification"]
        if not seen or seen[-1].status != WORKING:
            continue
        if len(life.updates) > 1 or life.cancels:
            continue
        hindrance = unanswered(update)
        if hindrance:
            yield unclear(update, hindrance)
            continue
        end, after = end_of(life), reads_between(life, update.ended)
        evidence = (update, *[s.exchange for s in after[-1:]])
        if not after or twin is None:
            yield unclear(evidence, "the task, or its twin that was left alone, was not followed")
            continue
        problem = _disturbance(life, update, twin)
        if problem is not None:
            yield problem
        elif end is None:
            yield unclear(evidence, "the task was not seen to end")
        elif after[0].terminal and update.ended - seen[0].ended >= SLOW_SECONDS:
            # It may have ended before the update came.
            yield unclear(evidence, "the task was not seen working after the update")
        else:
            yield holds((update, end.exchange))


def _twin_that_ended(tasks: Alike) -> Life | None:
    """A task that was made to be left alone, and was seen to end."""
    return next(
        (t for t in tasks if t.creation and t.creation.intent == "left-alone" and end_of(t)), None
    )


def _disturbance(life: Life, update: Exchange, twin: Life) -> Observation | None:
    """What became of a working task that was sent something, and of its twin did not."""
    alone = life.of_same_call.derive(_left_alone)
    asking = next(
        (s for s in reads_between(life, update.ended) if s.status == INPUT_REQUIRED), None
    )
    if asking is not None and not showings_of(twin) and not alone.any_asked:
        return _disturbed(update, asking, "went to input_required", "status 'input_required'")
    again = _starts_again(life, update)
    if again is not None and not _goes_back(twin) and not alone.any_goes_back:
        told = str(again.task.get("statusMessage"))
        return _disturbed(update, again, "went back to an earlier step", f"{told!r:.60} again")
    end = end_of(life)
    if end is None or may_have_expired(life, end.ended):
        return None
    # One that was left alone may have failed by itself, so that another only did not.
    may_be_usual = end.status == COMPLETED and alone.ended < 2
    if not may_be_usual and end.status not in (_status_at_end(twin), *alone.statuses):
        return _disturbed(update, end, f"ended {end.status}", f"status {end.status!r}")
    stray = found_in_outcome(_stray_texts(life, update), end.task)
    if stray:
        return _disturbed(update, end, "shows the answer", f"{stray!r:.60} in the result")
    if alone.usual_outcome(end) not in (None, _outcome(end.task)):
        return _disturbed(update, end, "ended with another result", "another result")
    return None


def _disturbed(update: Exchange, seen: Sighting, what: str, found: str) -> Observation:
    return broken(
        (update, seen.exchange),
        "ignore answers that nobody asked for: a working task that was sent some"
        f" {what}, while the same call left alone did not",
        expected="what happens without the answers",
        found=found,
        member="/result/status",
    )


@dataclass(frozen=True)
class LeftAlone:
    """What became of the tasks of a call that nobody sent anything: whether any of them
    asked for something, or went back to an earlier step; how many were seen to end, how, and when
    the first and the last were."""

    any_asked: bool
    any_goes_back: bool
    ended: int
    statuses: frozenset[object]
    outcomes: frozenset[object]
    first_end: float
    last_end: float

    def usual_outcome(self, end: Sighting) -> object:
        """How they end; ``None`` where they were not seen to end alike, some before this end of
        another task and some after it."""
        around = self.first_end <= end.began <= self.last_end
        return next(iter(self.outcomes)) if around and len(self.outcomes) == 1 else None


def _left_alone(tasks: Alike) -> LeftAlone:
    alone = [life for life in tasks if not life.updates and not life.cancels]
    ends = [end for life in alone if (end := end_of(life)) is not None]
    return LeftAlone(
        any_asked=any(showings_of(life) for life in alone),
        any_goes_back=any(_goes_back(life) for life in alone),
        ended=len(ends),
        statuses=frozenset(end.status for end in ends),
        outcomes=frozenset(_outcome(end.task) for end in ends),
        first_end=min((end.ended for end in ends), default=float("inf")),
        last_end=max((end.ended for end in ends), default=float("-inf")),
    )


def _status_at_end(life: Life) -> object:
    end = end_of(life)
    return end.status if end is not None else None


def _messages(life: Life) -> list[tuple[Sighting, str]]:
    """The status messages of a working task, each time another one is shown."""
    told: list[tuple[Sighting, str]] = []
    for sighting in life.seen_by_reading():
        message = sighting.task.get("statusMessage")
        if sighting.status != WORKING or not isinstance(message, str):
            continue
        if not told or told[-1][1] != message:
            told.append((sighting, message))
    return told


def _goes_back(life: Life) -> bool:
    """Whether a task shows a step again that it had left behind."""
    told = [message for _, message in _messages(life)]
    return len(set(told)) != len(told)


def _starts_again(life: Life, update: Exchange) -> Sighting | None:
    """A read after the update that shows a step which had been left behind before it."""
    told = _messages(life)
    left_behind = {m for s, m in told if s.ended <= update.started}
    if left_behind and (current := [m for s, m in told if s.ended <= update.started][-1:]):
        left_behind -= set(current)
    return next((s for s, m in told if s.began >= update.ended and m in left_behind), None)


@rule(
    "input.terminal-unaffected",
    IMPLIED,
    # As of a cancellation: the state diagram leaves no way back from an end.
    tasks("task-status"),
    needs=(TASK,),
    after=("lifecycle.terminal-is-final", "polling.pure-read", "concurrency.reads-agree"),
)
def ended_task_is_unaffected(history: History) -> Iterator[Observation]:
    """Answers sent to a task that has ended change nothing.

    They may be acknowledged or refused.
    """
    for life in lives(history).values():
        for update in answers_to_an_end(life):
            hindrance = unanswered(update)
            if hindrance:
                yield unclear(update, hindrance)
                continue
            ended = [s for s in read_before(life, update) if s.terminal]
            yield from _stays_as_it_was(history, life, update, ended)


def _stays_as_it_was(
    history: History, life: Life, update: Exchange, before: list[Sighting]
) -> Iterator[Observation]:
    until = next_sent(life, update)
    outcome = _outcome(before[-1].task)
    if any(_outcome(s.task) != outcome for s in before):
        yield unclear(update, "the ended task changed before the answer was sent")
        return
    reads = [
        r
        for r in life.reads
        if r.started >= update.ended and r.ended <= until and asked_by_its_caller(life, r, history)
    ]
    for read in reads:
        evidence = (before[-1].exchange, update, read)
        if read.task is None:
            if read.error_code == INVALID_PARAMS and not may_have_expired(life, read.ended):
                if loses_unanswered(history):
                    yield unclear(evidence, "tasks that nobody had answered were gone as well")
                    return
                yield broken(
                    evidence,
                    "leave an ended task as it is when an answer comes: it could not be read"
                    " any more",
                    expected=f"status {before[-1].status!r}, as before",
                    found=read.outcome,
                    member="/error/code",
                )
                return
            continue
        if _outcome(read.task) != outcome:
            if may_have_expired(life, read.ended):
                yield unclear(evidence, "the time of the task may have been over by then")
                return
            same_status = read.task.get("status") == before[-1].status
            if same_status and len(before) < 2:
                yield unclear(evidence, "the ended task was not read twice before the answer")
                return
            yield broken(
                evidence,
                "leave an ended task as it is when an answer comes: its"
                f" {'result' if same_status else 'status'} changed",
                expected=f"status {before[-1].status!r}, as before",
                found="another payload" if same_status else f"status {read.task.get('status')!r}",
                member="/result/result" if same_status else "/result/status",
            )
            return
    if any(r.task is not None for r in reads):
        yield holds((before[-1].exchange, update, reads[-1]))
