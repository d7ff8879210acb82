"""Collects one HTTP response while it comes in: bounded, decompressed, its events read."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

import anyio
import httpx

from conformance.wire.exchange import ENCODING, Fault, Headers, Seen
from conformance.wire.sse import Event, EventReader

_COMPRESSED = ("gzip", "x-gzip", "deflate")
# Few bytes of JSON may take much memory: "[]," is an object, and so is an event without data.
# So much is set aside for each value that a body may hold, in bytes.
_WEIGHT_OF_VALUE = 32
_FEWEST_VALUES = 20_000
_MOST_EVENTS = 20_000


class TooLarge(Exception):
    """The body, decompressed, went past the limit, or holds more values or events than may be."""


class Reading:
    """What has come in so far of one response.

    ``complete`` is true once the whole body was read. ``fault`` is the first thing that went
    wrong. ``cut`` is true where the suite itself stopped reading. ``allowance`` says how large the
    body may be, anew with each chunk: others come in at the same time. ``begun`` is set when a
    head came in.
    """

    def __init__(
        self,
        allowance: Callable[[], int],
        on_event: Callable[[Event], bool] | None = None,
        begun: anyio.Event | None = None,
    ) -> None:
        self.port: int | None = None
        self.fault: Fault | None = None
        self.cut = False
        self.complete = False
        self._on_event = on_event
        self._begun = begun
        self._allowance = allowance
        self.size = allowance()
        self._response: httpx.Response | None = None
        self._chunks: list[bytes] = []
        self._length = 0
        self._values = 0
        self._events: list[Event] = []
        self._reader: EventReader | None = None
        self._inflate: zlib._Decompress | None = None
        self._inflating = False

    def restart(self) -> None:
        """Another request follows, since this response was a redirect: forget it."""
        self.complete = False
        self._response = None
        self._chunks, self._length, self._values, self._events = [], 0, 0, []

    def begin(self, response: httpx.Response) -> None:
        """A response head came in."""
        if self._begun is not None:
            self._begun.set()
        self._response = response
        stream = response.extensions.get("network_stream")
        address = stream.get_extra_info("client_addr") if stream is not None else None
        self.port = address[1] if address else None
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._reader = EventReader() if kind == "text/event-stream" else None
        encoding = response.headers.get("content-encoding", "").strip().lower()
        self._inflating = False
        self._inflate = _decompressor() if encoding in _COMPRESSED else None
        if self._inflate is None and encoding not in ("", "identity"):
            self.fault = Fault(ENCODING, f"content encoding {encoding[:40]!r} was not asked for")

    @property
    def weight(self) -> int:
        """About how many bytes of memory the body takes when it is read as JSON."""
        return self._length + _WEIGHT_OF_VALUE * self._values

    @property
    def _most_values(self) -> int:
        return max(self.size // _WEIGHT_OF_VALUE, _FEWEST_VALUES)

    def add(self, chunk: bytes) -> bool:
        """Take a chunk. Returns True where the reader of the events has seen enough.

        Raises ``TooLarge``, and ``httpx.DecodingError`` where it is not compressed as it says.
        """
        if self._inflate is not None:
            self._inflating = True
            chunk = self._decompressed(chunk)
        self.size = min(self.size, self._allowance())
        self._length += len(chunk)
        self._values += chunk.count(b"[") + chunk.count(b"{") + chunk.count(b",")
        too_large = self._length > self.size or self._values > self._most_values
        if too_large:
            # What came before is heard all the same: an event may share its chunk with a flood.
            chunk = chunk[: max(len(chunk) - (self._length - self.size), 0)]
            self._chunks = [b"".join(self._chunks)[: self.size]]
        self._chunks.append(chunk)
        if self._reader is not None:
            for event in self._reader.feed(chunk, time.monotonic()):
                self._events.append(event)
                if len(self._events) > _MOST_EVENTS:
                    raise TooLarge
                if self._on_event is not None and self._on_event(event):
                    self.cut = True
                    return True
        if too_large:
            raise TooLarge
        return False

    def end(self) -> None:
        """The body ended as HTTP says it should. Raises ``httpx.RemoteProtocolError`` where what
        was compressed did not end."""
        if self._inflate is not None and self._inflating and not self._inflate.eof:
            raise httpx.RemoteProtocolError("the compressed body ends early")
        self.complete = True

    def seen(self) -> Seen | None:
        """The response as far as it came; ``None`` before its head was complete."""
        response = self._response
        if response is None:
            return None
        headers: Headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in response.headers.raw
        )
        return Seen(
            response.status_code, headers, b"".join(self._chunks), tuple(self._events), self.cut
        )

    def _decompressed(self, chunk: bytes) -> bytes:
        whole = b""
        while chunk and self._inflate is not None:
            if self._inflate.eof:
                # gzip allows several members in a row.
                self._inflate = _decompressor()
            room = self.size + 1 - self._length - len(whole)
            if room <= 0:
                raise TooLarge
            try:
                whole += self._inflate.decompress(chunk, room)
            except zlib.error as error:
                raise httpx.DecodingError(str(error)) from None
            chunk = self._inflate.unconsumed_tail or self._inflate.unused_data
        return whole


def _decompressor() -> zlib._Decompress:
    """Reads zlib and gzip alike."""
    return zlib.decompressobj(zlib.MAX_WBITS | 32)
