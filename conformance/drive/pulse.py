"""Whether this process itself was held up: on a busy machine an answer seems late that was not."""

from __future__ import annotations

import time
from collections import deque

import anyio

_TICK_SECONDS = 0.02
# A timer is a little late on any machine.
_USUAL_SECONDS = 0.003
_KEPT = 8192


class Pulse:
    """Sleeps for a moment, again and again, and remembers how much too late it woke."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, float]] = deque(maxlen=_KEPT)

    async def beat(self) -> None:
        """Go on until it is cancelled. What holds up this task holds up all of its event loop."""
        while True:
            due = time.monotonic() + _TICK_SECONDS
            await anyio.sleep(_TICK_SECONDS)
            now = time.monotonic()
            if now - due > _USUAL_SECONDS:
                self._late.append((due, now))

    def held_up(self, started: float, ended: float) -> float:
        """For how many of the seconds between two moments it was held up."""
        seconds = 0.0
        for due, woke in reversed(self._late):
            if woke <= started:
                break
            seconds += max(min(woke, ended) - max(due, started), 0.0)
        return seconds
