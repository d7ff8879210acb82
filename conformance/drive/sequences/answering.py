"""Answers to what the tasks of a sequence ask, and updates of every other kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.drive.answers import ACCEPT, answer_to
from conformance.drive.sequences.followed import Followed
from conformance.wire.exchange import Exchange, JsonObject

if TYPE_CHECKING:
    from conformance.drive.sequences.performing import Performance

# A key that no server gives to a request.
NEVER_ISSUED = "conformance-never-issued"


def answers_for(
    run: Performance, followed: Followed, requests: Mapping[str, Any], action: str = ACCEPT
) -> JsonObject:
    """Answers to these requests; every update has texts of its own, to be found again."""
    marker = f"answer-{followed.number}-{len(run.exchanges)}"
    return {
        key: answer_to(request, f"{marker}-{place}", action)
        for place, (key, request) in enumerate(requests.items(), 1)
    }


def stray_answer(followed: Followed) -> JsonObject:
    """An answer under a key that was never issued, which would fit what the task asked."""
    request = next(iter(followed.asked.values()), None)
    if request is None:
        return {NEVER_ISSUED: {"action": "accept", "content": {"text": "stray-answer"}}}
    return {NEVER_ISSUED: answer_to(request, "stray-answer")}


async def answer_open(
    run: Performance,
    followed: Followed,
    requests: JsonObject,
    intent: str,
    travel: Mapping[str, Any],
    *,
    action: str = ACCEPT,
    more: JsonObject | None = None,
) -> Exchange:
    """Answer requests that are open, and remember which."""
    keys = set(requests)
    answers = {**(more or {}), **answers_for(run, followed, requests, action)}
    control = followed.accepted if more else None
    followed.sent |= keys
    exchange = await update(run, followed, answers, intent, travel, control=control)
    if exchange.result is not None:
        for key in keys:
            followed.answered.setdefault(key, exchange)
    elif exchange.error is not None:
        # Refused: they are as open as they were, unless another update has answered them.
        followed.sent -= keys - followed.answered.keys()
    return exchange


async def update(
    run: Performance,
    followed: Followed,
    answers: object,
    intent: str,
    travel: Mapping[str, Any],
    *,
    control: Exchange | None = None,
) -> Exchange:
    """Send answers, whatever they are."""
    followed.quiet = False
    exchange = await run.driver.update(followed.task_id, answers, intent, control=control, **travel)
    if exchange.result is not None:
        followed.accepted = exchange
    return exchange
