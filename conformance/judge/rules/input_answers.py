"""input: what becomes of the answers that ``tasks/update`` brings."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.accidents import if_more_than_one, not_by_accident
from conformance.judge.asking import (
    ELICITATION,
    answers_of,
    first_without,
    open_before,
    reads_of_effect,
    requests_in,
    siblings,
)
from conformance.judge.effects import reason_to_go_on
from conformance.judge.expectations import unanswered
from conformance.judge.lives import Life, lives
from conformance.judge.moving import CAREFUL, REFUSED_ONCE, REFUSING, careful_updates, moves_on
from conformance.judge.observation import (
    BROKEN,
    Observation,
    broken,
    holds,
    not_offered,
    unclear,
)
from conformance.judge.rule import ADVICE, IMPLIED, rule
from conformance.specification.citations import core, tasks
from conformance.specification.names import INVALID_PARAMS
from conformance.specification.states import INPUT_REQUIRED
from conformance.target.roles import INPUT, INPUTS
from conformance.wire.history import History


@rule(
    "input.resumes",
    IMPLIED,
    tasks("task-update-requests"),
    needs=(INPUT,),
    after=(
        "negotiation.methods-served",
        "transport.answered",
        "input.requests-valid",
        "polling.input-required",
    ),
)
def answered_task_goes_on(history: History) -> Iterator[Observation]:
    """When every open request is answered the task goes on: it works, asks something new or ends.

    The acknowledgement may come before the effect, so the task is given time. What fits the
    schema may be refused for its content, and once for what happened at that moment.
    """
    for_content: list[tuple[Life, Observation]] = []
    otherwise: list[Observation] = []
    for life, update in careful_updates(history, CAREFUL):
        seen = moves_on(history, life, update)
        if seen is None:
            continue
        if seen.kind != BROKEN or update.result is not None:
            yield seen
        elif update.error_code == INVALID_PARAMS:
            for_content.append((life, seen))
        else:
            otherwise.append(seen)
    for life, seen in for_content:
        if _takes_no_answer(history, life):
            yield seen
        else:
            yield unclear(
                seen.exchanges,
                "an answer that fits the requestedSchema was refused, perhaps for its content",
            )
    yield from if_more_than_one(otherwise, REFUSED_ONCE)


def _takes_no_answer(history: History, life: Life) -> bool:
    """Whether a refusal, which has no content to object to, was refused as well."""
    known = lives(history)
    return any(
        update.intent in REFUSING and update.error_code == INVALID_PARAMS
        for other in siblings(life, known)
        for update in other.updates
    )


@rule(
    "input.partial-waits",
    IMPLIED,
    tasks("response-1"),
    needs=(INPUTS,),
    after=("input.resumes",),
)
def partial_answers_leave_the_rest_open(history: History) -> Iterator[Observation]:
    """After some of the answers the task stays `input_required`, with the rest open.

    A server need not take answers in parts; then there is nothing to see. Nor need it wait for
    ever, and a task may fail by itself: that it ended so counts where it happened more than once.
    """
    yield from not_by_accident(_what_answers_to_a_part_do(history))


def _what_answers_to_a_part_do(history: History) -> Iterator[Observation]:
    for life, update in careful_updates(history, ("answer-some",)):
        waiting = open_before(life, update)
        rest = waiting.keys() - answers_of(update).keys()
        if not rest or not waiting.keys() & answers_of(update).keys():
            continue
        hindrance = unanswered(update)
        if hindrance:
            yield unclear(update, hindrance)
            continue
        if update.error is not None:
            yield not_offered("the server does not take answers in parts", update)
            continue
        reads = reads_of_effect(life, update, rest)
        wrong = first_without(reads, rest)
        reason = reason_to_go_on(life, wrong, waiting, lives(history)) if wrong is not None else ""
        if wrong is not None and reason:
            yield unclear((update, wrong.exchange), reason)
        elif wrong is not None:
            lost = sorted(f"{key!r:.40}" for key in rest - requests_in(wrong.task).keys())
            waits = wrong.status == INPUT_REQUIRED
            yield broken(
                (update, wrong.exchange),
                "keep the task in input_required, with the other requests open, until all of"
                f" them are answered: {', '.join(lost)} had no answer yet",
                expected="status 'input_required' with the rest open",
                found=f"status {wrong.status!r}" + (" without the rest" if waits else ""),
                member="/result/inputRequests" if waits else "/result/status",
            )
        elif reads:
            yield holds((update, reads[-1].exchange))
        else:
            yield unclear(update, "the task was not read between the answers")


@rule(
    "input.refusals-move-on",
    ADVICE,
    core("client/elicitation", "response-actions"),
    needs=(INPUT,),
    after=("input.resumes",),
)
def refusals_move_on(history: History) -> Iterator[Observation]:
    """A form that is declined is answered too: the task goes on, or ends.

    One that was dismissed (`cancel`) may be shown again later.
    """
    refused_once: list[Observation] = []
    for life, update in careful_updates(history, ("decline-all",)):
        waiting = open_before(life, update)
        answers = answers_of(update)
        refused = [key for key in waiting if answers.get(key, {}).get("action") != "accept"]
        if not any(_is_elicitation(waiting[key]) for key in refused):
            continue
        seen = moves_on(history, life, update)
        if seen is None or seen.kind != BROKEN:
            yield from () if seen is None else (seen,)
            continue
        found = broken(
            seen.exchanges,
            "let the task go on, or end it, when its form is declined: a user who says no has"
            " answered",
            expected=seen.expected,
            found=seen.found,
            member=seen.member,
        )
        if update.result is None and update.error_code != INVALID_PARAMS:
            refused_once.append(found)
        else:
            yield found
    yield from if_more_than_one(refused_once, REFUSED_ONCE)


def _is_elicitation(request: object) -> bool:
    return isinstance(request, dict) and request.get("method") == ELICITATION
