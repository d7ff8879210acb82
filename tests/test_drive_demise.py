"""What a server was about when it stopped answering."""

from __future__ import annotations

from conformance.drive.demise import GONE_AFTER, Contact
from conformance.wire.exchange import Exchange, Fault
from tests.builders import exchange

REFUSED = Fault("connect", "connection refused")
BROKEN_OFF = (Fault("reset", "connection reset"), Fault("protocol", "server disconnected"))


def after(*exchanges: Exchange) -> Contact:
    contact = Contact()
    for each in exchanges:
        contact.note(each)
    return contact


def refused(times: int = GONE_AFTER) -> list[Exchange]:
    return [exchange(fault=REFUSED) for _ in range(times)]


def test_a_few_answers_that_never_came_are_no_loss() -> None:
    assert not after(*refused(GONE_AFTER - 1)).lost
    assert not after(*refused(GONE_AFTER - 1), exchange(), *refused(1)).lost
    assert after(*refused()).lost


def test_what_was_under_way_is_named() -> None:
    fatal = [
        exchange("tasks/update", intent="unknown-id", scenario="input.unknown", number=3, fault=f)
        for f in BROKEN_OFF
    ]
    # What had broken off before an answer came was not the end.
    earlier = exchange("tasks/cancel", fault=BROKEN_OFF[0])
    contact = after(earlier, exchange(), *fatal, *refused())
    assert contact.last_words == (
        "the server stopped answering while this was under way:"
        " tasks/update (unknown-id, input.unknown.jsonl, number 3),"
        " tasks/update (unknown-id, input.unknown.jsonl, number 3)"
    )


def test_of_much_that_was_under_way_some_is_named() -> None:
    many = [exchange(number=n, fault=BROKEN_OFF[1]) for n in range(5)]
    odd = exchange("tasks/cancel", intent="odd-task-id", fault=BROKEN_OFF[1])
    words = after(*many, odd, *refused()).last_words
    assert words.count("tasks/get") == 2
    assert words.index("tasks/cancel") < words.index("tasks/get")
    assert words.endswith("and 3 more")


def test_where_nothing_was_under_way_the_last_that_was_answered_is_named() -> None:
    last = exchange("tasks/cancel", scenario="cancellation.live", number=7)
    words = after(last, *refused()).last_words
    assert words.endswith("after tasks/cancel (cancellation.live.jsonl, number 7)")
    assert after(*refused()).last_words == "the server stopped answering"


def test_what_comes_after_the_end_changes_nothing() -> None:
    contact = after(exchange("tasks/cancel"), *refused())
    words = contact.last_words
    contact.note(exchange())
    assert contact.lost
    assert contact.last_words == words
