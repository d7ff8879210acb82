"""The streams of ``subscriptions/listen``: what was asked for, agreed to and sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.judge.lives import lives
from conformance.specification.names import (
    ACKNOWLEDGED,
    LISTEN,
    META_SUBSCRIPTION_ID,
    METHOD_NOT_FOUND,
)
from conformance.wire.exchange import Exchange, JsonObject
from conformance.wire.history import History


@dataclass(frozen=True)
class Subscription:
    """One request to listen that was answered with an event stream.

    ``asked`` is the filter of the request. ``told`` are the notifications in order, each with
    the monotonic second in which it came. ``agreed`` is the filter of the acknowledgement;
    ``None`` where none came.
    """

    exchange: Exchange
    asked: JsonObject
    told: tuple[tuple[float, JsonObject], ...]
    agreed: JsonObject | None

    @property
    def asked_tasks(self) -> list[str]:
        return _texts(self.asked.get("taskIds"))

    @property
    def agreed_tasks(self) -> list[str]:
        return _texts((self.agreed or {}).get("taskIds"))


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def params_of(message: JsonObject) -> JsonObject:
    """The params of a message; empty where they are no object."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def subscription_id_of(message: JsonObject) -> Any:
    """What a message gives as its subscription's id; ``...`` where it gives none."""
    holder = message.get("result") if "result" in message else message.get("params")
    meta = holder.get("_meta") if isinstance(holder, dict) else None
    return meta.get(META_SUBSCRIPTION_ID, ...) if isinstance(meta, dict) else ...


def subscriptions(history: History) -> list[Subscription]:
    """Every stream that was opened by listening with the extension declared, in order."""
    return history.derive(_subscriptions)


def _subscriptions(history: History) -> list[Subscription]:
    found = []
    for exchange in history.of_method(LISTEN):
        if exchange.declares_tasks and exchange.is_stream and exchange.error is None:
            asked = exchange.params.get("notifications")
            told = exchange.notifications
            first = next((m for _, m in told if m.get("method") == ACKNOWLEDGED), None)
            agreed = params_of(first).get("notifications") if first is not None else None
            found.append(
                Subscription(
                    exchange,
                    asked if isinstance(asked, dict) else {},
                    told,
                    agreed if isinstance(agreed, dict) else None,
                )
            )
    return found


@dataclass(frozen=True)
class Offer:
    """Whether the server offers to tell of tasks: ``True``, ``False``, or ``None`` where the
    history does not tell. ``reason`` and ``evidence`` say why not."""

    offered: bool | None
    reason: str = ""
    evidence: tuple[Exchange, ...] = ()


def offer(history: History) -> Offer:
    """Whether the server was seen to agree to tell of a task.

    A server need not serve ``subscriptions/listen`` at all, and one that does may leave tasks
    out of what it agrees to.
    """
    return history.derive(_offer)


def _offer(history: History) -> Offer:
    known = lives(history)
    left_out: Exchange | None = None
    for stream in subscriptions(history):
        if stream.agreed_tasks:
            return Offer(True)
        own = any(
            task_id in known and known[task_id].caller == stream.exchange.caller
            for task_id in stream.asked_tasks
        )
        if own and stream.agreed is not None and left_out is None:
            left_out = stream.exchange
    asked = [e for e in history.of_method(LISTEN) if e.declares_tasks]
    not_served = next((e for e in asked if e.error_code == METHOD_NOT_FOUND), None)
    if not_served is not None:
        return Offer(False, "the server does not serve subscriptions/listen", (not_served,))
    if left_out is not None:
        reason = "the server serves subscriptions/listen, but agrees to tell of no task"
        return Offer(False, reason, (left_out,))
    return Offer(None)
