"""Server-sent events: what the HTML standard says of lines, fields and dispatch."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.wire.sse import Event, EventReader


def read(*chunks: bytes) -> list[tuple[str, str]]:
    """Kind and data of the events that these chunks hold."""
    reader = EventReader()
    return [(e.kind, e.data) for chunk in chunks for e in reader.feed(chunk, 0.0)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param(b"data: one\n\n", [("message", "one")], id="plain"),
        pytest.param(b"data:one\n\n", [("message", "one")], id="no-space"),
        pytest.param(b"data:  one\n\n", [("message", " one")], id="only-one-space-goes"),
        pytest.param(b"data: a\ndata: b\n\n", [("message", "a\nb")], id="several-lines"),
        pytest.param(b"data: a\r\ndata: b\r\n\r\n", [("message", "a\nb")], id="crlf"),
        pytest.param(b"data: a\rdata: b\r\r", [("message", "a\nb")], id="cr"),
        pytest.param(b"data: a\r\ndata: b\n\r", [("message", "a\nb")], id="mixed-line-ends"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [("message", "a")], id="byte-order-mark"),
        pytest.param(b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [("message", "a")], id="bom-later"),
        pytest.param(b": hello\n\ndata: a\n\n", [("message", "a")], id="comment"),
        pytest.param(
            b"data: a\n: between\ndata: b\n\n", [("message", "a\nb")], id="comment-inside"
        ),
        pytest.param(b"event: ping\ndata: a\n\n", [("ping", "a")], id="kind"),
        pytest.param(b"event: ping\n\ndata: a\n\n", [("message", "a")], id="kind-without-data"),
        pytest.param(b"event: ping\ndata: a\n\ndata: b\n\n", [("ping", "a"), ("message", "b")]),
        pytest.param(b"data\n\n", [("message", "")], id="field-without-colon"),
        pytest.param(b"data:\n\n", [("message", "")], id="empty-data"),
        pytest.param(b"data\ndata\n\n", [("message", "\n")], id="two-empty-lines-of-data"),
        pytest.param(b"\n\n\n", [], id="nothing"),
        pytest.param(b"id: 7\nretry: 10\nother: x\ndata: a\n\n", [("message", "a")], id="fields"),
        pytest.param(b"Data: a\n\n", [], id="field-names-are-case-sensitive"),
        pytest.param(b"data: unfinished\n", [], id="unfinished"),
        pytest.param(b"data: unfinished", [], id="unfinished-line"),
        pytest.param("data: a\u2028b\x0bc\x85d\n\n".encode(), [("message", "a\u2028b\x0bc\x85d")]),
        pytest.param(b"data: \xff\xc3\n\n", [("message", "\ufffd\ufffd")], id="not-utf-8"),
        pytest.param(b'data: {"a":"b: c"}\n\n', [("message", '{"a":"b: c"}')], id="colons"),
    ],
)
def test_the_standard_is_kept(stream: bytes, expected: list[tuple[str, str]]) -> None:
    assert read(stream) == expected
    assert read(*(bytes([byte]) for byte in stream)) == expected


def test_an_event_is_told_with_the_chunk_that_completes_it() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\n", 1.0) == []
    assert reader.feed(b"\ndata: b", 2.0) == [Event(2.0, "a")]
    assert reader.feed(b"\n\n", 3.0) == [Event(3.0, "b")]


def test_cr_ends_an_event_before_the_lf_comes() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\r\n\r", 1.0) == [Event(1.0, "a")]
    assert reader.feed(b"\n", 2.0) == []
    assert reader.feed(b"data: b\r\n\r\n", 3.0) == [Event(3.0, "b")]


# Pieces that meet each other at their ends in all the awkward ways.
AWKWARD = (b"data: x", b"data", b"event: k", b": c", b"\n", b"\r", b"\r\n", b":", b" ")
PIECES = st.sampled_from([*AWKWARD, b"\xef\xbb\xbf", "é\u2028🎈".encode(), b"\xff", b"\x00"])


@given(st.lists(PIECES, max_size=40), st.lists(st.integers(0, 200), max_size=20))
def test_any_split_gives_the_same_events(pieces: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(pieces)
    ends = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    chunks = [stream[start:end] for start, end in pairwise(ends)]
    assert read(*chunks) == read(stream) == list(_plainly(stream))


def _plainly(stream: bytes) -> Iterable[tuple[str, str]]:
    """The standard, read line by line, without any regard to chunks."""
    text = stream.decode("utf-8-sig", errors="replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    data: list[str] = []
    kind = ""
    for line in lines:
        if not line:
            if data:
                yield (kind or "message", "\n".join(data))
            data, kind = [], ""
            continue
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            data.append(value)
        elif name == "event":
            kind = value
