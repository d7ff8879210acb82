"""What searching and settling have in common: how long they take, and what is enough."""

from __future__ import annotations

import time

from conformance.drive.driver import Driver, Session
from conformance.judge.asking import long_enough
from conformance.wire.history import Circumstances, History

# So many sequences that break the same rule are kept, and then it is set aside.
ENOUGH = 3
# Seconds after which a task that was answered and has not moved on is suspected.
SHORT_PATIENCE = 1.0


def full_patience(circumstances: Circumstances) -> float:
    """Seconds after which the judge takes what has not happened as not happening."""
    return long_enough(History((), circumstances)) + 0.2


def ends_after(driver: Driver, seconds: float) -> float:
    """The monotonic second after so many more, but not after the end of the run."""
    return min(driver.session.ends, time.monotonic() + seconds)


def session_for(driver: Driver, seconds: float) -> Session:
    """A session of its own on the same wire, that ends after these seconds, or with the run."""
    shared = driver.session
    session = Session(
        target=shared.target,
        surroundings=shared.surroundings,
        wire=shared.wire,
        redactor=shared.redactor,
        ends=ends_after(driver, seconds),
        on_exchange=shared.on_exchange,
    )
    session.request_ids = shared.request_ids
    session.pulse = shared.pulse
    return session
