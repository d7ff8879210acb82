"""Tasks that were gone before their time, and what else that explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.judge.asking import next_sent
from conformance.judge.expectations import unanswered
from conformance.judge.lifetimes import asked_by_its_caller, certainly_within_ttl, says_gone
from conformance.judge.lives import Life, Sighting, any_between, lives, may_have_expired
from conformance.specification.names import HEADER_MISMATCH
from conformance.specification.states import CANCELLED
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

# Why a refusal proves nothing: ``may_be_gone``.
GONE = "the task may have been gone by then"


@dataclass(frozen=True)
class Loss:
    """A task that its own caller could no longer read, by ``read``, before its time was over.

    ``answered`` tells whether an update was sent to it since it was last seen; ``answer`` is that
    update where it came after the end of the task, and alone may have been what lost it.
    """

    life: Life
    read: Exchange
    answered: bool = False
    answer: Exchange | None = None


def losses(history: History) -> dict[str, Loss]:
    """The tasks that were lost, by their ids."""
    return history.derive(_losses)


def _losses(history: History) -> dict[str, Loss]:
    known = lives(history)
    return {task_id: loss for task_id, life in known.items() for loss in _lost(life, history)}


def _lost(life: Life, history: History) -> Iterator[Loss]:
    for read in life.reads:
        # What another request is compared with was made wrong, or odd, on purpose.
        if not asked_by_its_caller(life, read, history) or history.control_of(read) is not None:
            continue
        if came_late(life, read):
            continue  # it was not there yet: ``creation.durable``
        if certainly_within_ttl(life, read, history) and says_gone(read, history):
            last = life.last_seen_before(read)
            since = last.ended if last is not None else life.creation_ended
            answered = any_between(life.updates, since, read.ended)
            yield Loss(life, read, answered, _answer_between(life, read))
            return


def came_late(life: Life, read: Exchange) -> bool:
    """Whether a task that a read did not find had never been read before, and was afterwards, all
    on the replica that made it: another may lag behind."""
    if life.creation is None or read.replica != life.creation.replica:
        return False
    seen = [s for s in life.seen_by_reading() if s.exchange.replica == read.replica]
    before = any(sighting.ended <= read.started for sighting in seen)
    return not before and any(sighting.began >= read.ended for sighting in seen)


def _answer_between(life: Life, read: Exchange) -> Exchange | None:
    for update in answers_to_an_end(life):
        alone = update.ended <= read.started and read.ended <= next_sent(life, update)
        if alone and not unanswered(update):
            return update
    return None


def answers_to_an_end(life: Life) -> Iterator[Exchange]:
    """The updates sent by the task's own caller when it had last been read as ended."""
    for update in life.updates:
        end = read_before(life, update)[-1:]
        if not end or not end[0].terminal or update.caller != life.caller:
            continue
        if life.cancels and end[0].status != CANCELLED:
            continue  # a cancellation may take effect late, which is another matter
        yield update


def read_before(life: Life, exchange: Exchange) -> list[Sighting]:
    """The reads of a task that had ended when an exchange began."""
    return [s for s in life.seen_by_reading() if s.ended <= exchange.started]


def loses_unanswered(history: History) -> bool:
    """Whether a task was lost to which nobody had sent an answer since it was last seen."""
    return any(not loss.answered for loss in losses(history).values())


def loses_answered(history: History) -> bool:
    """Whether answers to ended tasks, and nothing else, were seen to lose tasks."""
    lost = losses(history).values()
    return any(loss.answer is not None for loss in lost) and not loses_unanswered(history)


def loses_for_good(history: History) -> bool:
    """Whether a task that had been read was lost, and not found again."""
    return any(
        sighting.ended <= loss.read.started
        for loss in losses(history).values()
        for sighting in loss.life.seen_by_reading()[-1:]
    )


def may_be_gone(history: History, request: Exchange) -> bool:
    """Whether a request about a task may have been refused since the server had discarded it: when
    its time may have been over, or where tasks are lost before, and this one was not seen again.
    What was refused for its headers was not."""
    life = lives(history).get(request.task_id or "")
    if life is None or request.error is None or request.error_code == HEADER_MISMATCH:
        return False
    if may_have_expired(life, request.ended):
        return True
    seen_again = any(s.began >= request.started for s in life.seen_by_reading())
    return says_gone(request, history) and not seen_again and bool(losses(history))
