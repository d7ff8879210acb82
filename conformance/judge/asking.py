"""What a server asked its client, what the client answered, and what can be found of it again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any
from urllib.parse import urlsplit

from conformance.judge.bare import without_meta
from conformance.judge.lives import Life, Sighting, hashable, may_have_expired
from conformance.specification.states import CANCELLED, FAILED, INPUT_REQUIRED
from conformance.wire.exchange import ORDINARY, Exchange, JsonObject
from conformance.wire.history import History

ELICITATION, SAMPLING, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"

# A text shorter than this may stand in a result by chance.
_TELLING_LENGTH = 6
# Numbers, and how long something is left in words: "1 minute and 5 s", "less than a day".
_NUMBER = r"[-+\u2212]?\d+(?:[.,:]\d+)*"
_UNIT = r"(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|weeks?|months?|[dhms])\b"
_SPAN = rf"(?:{_NUMBER} ?|(?:less than|about|almost|under|in|within) an? ){_UNIT}"
_COUNTED = re.compile(
    rf"(?:\b(?:in|within) )?{_SPAN}(?:,? (?:and )?{_SPAN})*|{_NUMBER}", re.IGNORECASE
)


# ---- requests -----------------------------------------------------------------------------


def requests_in(task: object) -> JsonObject:
    """The requests a task shows while it waits for input, by key; empty in any other state."""
    if not isinstance(task, Mapping):
        return {}
    requests = task.get("inputRequests")
    waits = task.get("status") == INPUT_REQUIRED
    return requests if waits and isinstance(requests, dict) else {}


def requests_before(exchange: Exchange) -> JsonObject:
    """The requests of a call that was answered ``input_required``, by key."""
    result = exchange.result or {}
    requests = result.get("inputRequests")
    asks = exchange.result_type == "input_required"
    return requests if asks and isinstance(requests, dict) else {}


def same_request(one: object, other: object) -> bool:
    """Whether two messages show the same request, as a user takes it.

    What a server may write anew each time it shows one does not count: ``_meta``, a number in the
    message or how long is left, the order of the choices and how they are called, and all of a URL
    but where it leads.
    """
    return _bare(one) == _bare(other)


def _bare(request: object) -> object:
    if not isinstance(request, Mapping):
        return request
    bare = without_meta(request)
    params = bare.get("params")
    if isinstance(params, Mapping):
        params = without_meta(params)
        if isinstance(params.get("message"), str):
            params["message"] = _COUNTED.sub("#", params["message"])
        if params.get("mode") == "url" and isinstance(params.get("url"), str):
            params["url"] = _host_of(params["url"])
        if "requestedSchema" in params:
            params["requestedSchema"] = _bare_schema(params["requestedSchema"])
        bare["params"] = params
    return bare


def _host_of(url: str) -> object:
    """The scheme and the host of a URL; the text itself where it is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return (parts.scheme, parts.netloc) if parts.netloc else url


def _bare_schema(schema: object) -> object:
    """A schema whose lists of choices have no order. Titles of choices go with their order."""
    if isinstance(schema, list):
        return [_bare_schema(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    bare: dict[object, object] = {}
    for name, value in schema.items():
        if isinstance(value, list) and name in ("enum", "oneOf", "anyOf"):
            bare[name] = frozenset(_choice(item) for item in value)
        elif name != "enumNames" or not isinstance(value, list):
            bare[name] = _bare_schema(value)
    return bare


def _choice(item: object) -> object:
    """What one of the choices stands for."""
    if isinstance(item, Mapping) and "const" in item:
        return hashable(item["const"])
    return hashable(item)


def undeclared_capability(request: object, capabilities: Mapping[str, Any]) -> str:
    """The client capability that a request needs and that was not declared; empty where
    nothing is missing or the request is none.

    An ``elicitation`` without a mode stands for forms alone.
    """
    if not isinstance(request, Mapping):
        return ""
    method = request.get("method")
    params = request.get("params")
    params = params if isinstance(params, Mapping) else {}
    if method == ROOTS:
        return "" if _declared(capabilities, "roots") else "roots"
    if method == SAMPLING:
        if not _declared(capabilities, "sampling"):
            return "sampling"
        with_tools = "tools" in params or "toolChoice" in params
        lacks_tools = with_tools and not _declared(capabilities["sampling"], "tools")
        return "sampling.tools" if lacks_tools else ""
    if method == ELICITATION:
        if not _declared(capabilities, "elicitation"):
            return "elicitation"
        modes = capabilities["elicitation"]
        if params.get("mode") == "url":
            return "" if _declared(modes, "url") else "elicitation.url"
        return "elicitation.form" if _declared(modes, "url") and "form" not in modes else ""
    return ""


def _declared(capabilities: object, name: str) -> bool:
    return isinstance(capabilities, Mapping) and isinstance(capabilities.get(name), Mapping)


def url_of(request: object) -> str | None:
    """The URL that a request in url mode wants opened; ``None`` for any other request."""
    params = request.get("params") if isinstance(request, dict) else None
    if not isinstance(params, dict) or params.get("mode") != "url":
        return None
    url = params.get("url")
    return url if isinstance(url, str) else None


def is_url(text: str) -> bool:
    """Whether a text is a whole URL."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) and bool(parts.netloc or parts.path) and " " not in text


def showings_of(life: Life) -> dict[str, list[tuple[Sighting, object]]]:
    """Each key and every time it was shown, in order."""
    shown: dict[str, list[tuple[Sighting, object]]] = {}
    for sighting in life.sightings:
        for key, request in requests_in(sighting.task).items():
            shown.setdefault(key, []).append((sighting, request))
    return shown


# ---- answers ------------------------------------------------------------------------------


def answers_of(update: Exchange) -> JsonObject:
    """The answers that a ``tasks/update`` carried, by key."""
    responses = update.params.get("inputResponses")
    return responses if isinstance(responses, dict) else {}


def fits(answer: object, request: object) -> bool:
    """Whether an accepted form has every field that its request requires. Everything else that
    the suite answers fits by how it is made."""
    params = request.get("params") if isinstance(request, Mapping) else None
    schema = params.get("requestedSchema") if isinstance(params, Mapping) else None
    required = schema.get("required") if isinstance(schema, Mapping) else None
    if not isinstance(answer, Mapping) or answer.get("action") != "accept":
        return True
    content = answer.get("content")
    content = content if isinstance(content, Mapping) else {}
    return not isinstance(required, list) or all(name in content for name in required)


def texts_of(answer: object) -> set[str]:
    """The free texts of an answer that are long enough to be found again in a result."""
    if not isinstance(answer, Mapping):
        return set()
    found: list[object] = []
    content, roots = answer.get("content"), answer.get("roots")
    if isinstance(content, Mapping):
        found += content.values()
    if isinstance(roots, list):
        found += [root.get("name") for root in roots if isinstance(root, Mapping)]
    return {text for text in found if isinstance(text, str) and len(text) >= _TELLING_LENGTH}


def found_in_outcome(texts: Iterable[str], task: Mapping[str, Any]) -> str:
    """The first of the texts that stands in the result or error of a task, by itself and in
    any case; else empty."""
    outcome = "\n".join(_strings([task.get("result"), task.get("error")])).casefold()
    return next((text for text in sorted(texts) if _stands_in(text, outcome)), "")


def _strings(value: object) -> list[str]:
    """Every string of a JSON value, however deep."""
    found: list[str] = []
    rest = [value]
    while rest:
        part = rest.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, list):
            rest.extend(part)
        elif isinstance(part, dict):
            rest.extend(part.values())
    return found


def _stands_in(text: str, outcome: str) -> bool:
    """Whether a text is there, and not as a part of a longer word or number."""
    wanted = text.casefold()
    place = outcome.find(wanted)
    while place >= 0:
        around = outcome[place - 1 : place] + outcome[place + len(wanted) :][:1]
        if not any(letter.isalnum() for letter in around):
            return True
        place = outcome.find(wanted, place + 1)
    return False


# ---- what was seen around an update -------------------------------------------------------


def read_before(life: Life, moment: float) -> Sighting | None:
    """The last read of the task that was over at that moment."""
    return next((s for s in reversed(life.seen_by_reading()) if s.ended <= moment), None)


def reads_between(life: Life, begin: float, end: float = float("inf")) -> list[Sighting]:
    """The reads of the task that lie wholly between two moments."""
    return [s for s in life.seen_by_reading() if s.began >= begin and s.ended <= end]


def open_before(life: Life, update: Exchange) -> JsonObject:
    """The requests that were open when an update was sent, as last seen."""
    seen = read_before(life, update.started)
    return requests_in(seen.task) if seen is not None else {}


def first_without(reads: Iterable[Sighting], keys: Set[str]) -> Sighting | None:
    """The first read in which not all of these requests are open any more."""
    return next((seen for seen in reads if not keys <= requests_in(seen.task).keys()), None)


def next_sent(life: Life, update: Exchange) -> float:
    """When the next update or cancellation after this update was sent, or infinity."""
    later = [e.started for e in (*life.updates, *life.cancels) if e.started > update.started]
    return min(later, default=float("inf"))


def reads_of_effect(life: Life, update: Exchange, waiting: Iterable[str]) -> list[Sighting]:
    """The reads in which what became of open requests can only be this update's effect.

    None are left where the task had been cancelled, or where some of the requests had been
    answered by another update, which may take effect later than it is acknowledged, and may have
    had one although it was refused; and none of a time when the ttlMs of the task may have been
    over.
    """
    keys = set(waiting)
    others = [u for u in life.updates if u is not update and u.started <= update.started]
    if any(_may_have_counted(life, other, keys, update.started) for other in others):
        return []
    if cancelled_before(life, update.ended):
        return []
    reads = reads_between(life, update.ended, next_sent(life, update))
    return [s for s in reads if not may_have_expired(life, s.ended)]


def _may_have_counted(life: Life, update: Exchange, keys: set[str], before: float) -> bool:
    """Whether an update may have answered some of these keys: one that was refused, after which
    all of them were seen to be open, has not."""
    if not keys & answers_of(update).keys():
        return False
    return update.error is None or not any(
        keys <= requests_in(seen.task).keys() for seen in reads_between(life, update.ended, before)
    )


def cancelled_before(life: Life, moment: float) -> bool:
    """Whether somebody asked to cancel the task before that moment, and it may have come of it:
    one that was refused, after which the task was seen to live, is none."""
    return any(
        cancel.started < moment and not did_nothing(life, cancel, moment) for cancel in life.cancels
    )


def did_nothing(life: Life, cancel: Exchange, before: float = float("inf")) -> bool:
    """Whether a cancel was refused, and the task seen to live after it, before some moment."""
    return cancel.error is not None and any(
        not seen.terminal for seen in reads_between(life, cancel.ended, before)
    )


def end_of(life: Life) -> Sighting | None:
    """The first read that showed how the task ended."""
    return next((s for s in life.seen_by_reading() if s.terminal), None)


def siblings(life: Life, among: Mapping[str, Life]) -> Iterator[Life]:
    """The other tasks of the same call."""
    alike = (other for other in life.of_same_call if other is not life)
    return (other for other in alike if among.get(other.task_id) is other)


def fails_anyway(life: Life, seen: Sighting, among: Mapping[str, Life]) -> bool:
    """Whether a task failed, or was given up by its server, as another of the same call did
    that was sent no more than whole answers: then nothing else need be the reason."""
    return seen.status in (FAILED, CANCELLED) and any(
        (end := end_of(other)) is not None
        and end.status == seen.status
        and not other.cancels
        and all(update.intent in (ORDINARY, "answer-all") for update in other.updates)
        for other in siblings(life, among)
    )


def long_enough(history: History) -> float:
    """Seconds after which what has not happened is taken as not happening. An acknowledgement
    may come before its effect, but a client cannot wait for ever."""
    return min(10.0, 0.8 * history.circumstances.max_wait)
