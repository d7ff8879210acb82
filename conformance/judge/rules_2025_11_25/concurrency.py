"""concurrency: many tasks, and many readers, at the same time."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.lives import Life, lives
from conformance.judge.observation import Observation, broken, holds, unclear
from conformance.judge.older import fetched
from conformance.judge.rule import IMPLIED, adopt, rule
from conformance.judge.rules import concurrency
from conformance.specification.citations import tasks_2025
from conformance.target.roles import ECHO, TASK
from conformance.wire.exchange import Exchange
from conformance.wire.history import History
from conformance.wire.parsing import dump_json


@rule(
    "concurrency.no-cross-talk",
    IMPLIED,
    tasks_2025("result-retrieval"),
    needs=(ECHO,),
    after=("creation.unique-ids", "polling.same-task", "results.shape"),
)
def tasks_keep_their_own(history: History) -> Iterator[Observation]:
    """Tasks that are made together keep their own arguments and results."""
    made = [
        life
        for life in lives(history).values()
        if life.creation is not None
        and life.creation.intent == "create-with-marker"
        and "marker" in life.creation.notes
    ]
    for life in made:
        assert life.creation is not None
        sent = concurrency.texts_sent(life.creation)
        others = {
            text: other
            for other in made
            if other is not life and other.tool == life.tool
            for text in concurrency.texts_sent(other.creation) - sent
        }
        for exchange in fetched(history, life):
            if exchange.result is not None:
                yield from _own_texts(life.creation, exchange, sent, others)


def _own_texts(
    creation: Exchange, exchange: Exchange, sent: set[str], others: dict[str, Life]
) -> Iterator[Observation]:
    shown = dump_json(exchange.result)
    foreign = next((text for text in others if text in shown), None)
    own = any(text in shown for text in sent)
    if foreign is not None and own:
        yield unclear(
            (creation, exchange),
            "the result repeats the texts of several calls: the tool may tell of all of them",
        )
    elif foreign is not None:
        other = others[foreign].creation
        yield broken(
            (creation, *(() if other is None else (other,)), exchange),
            "keep each task's arguments and result apart: this one shows the text that another"
            " call was given at the same time",
            expected=f"{min(sent, default='')!r:.60}",
            found=f"{foreign!r:.60}",
            member="/result",
        )
    elif own and others:
        yield holds((creation, exchange))
    else:
        yield unclear((creation, exchange), "the result does not repeat the text of the call")


adopt(
    concurrency.readers_see_one_history,
    "concurrency.reads-agree",
    IMPLIED,
    tasks_2025("getting-tasks"),
    into=__package__,
    needs=(TASK,),
    after=("polling.same-task", "creation.unique-ids"),
)
