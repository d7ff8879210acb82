"""Declares scenarios of 2025-11-25, which are functions of an ``OlderDriver``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from conformance.drive.driver import Driver
from conformance.drive.older.driver import OlderDriver
from conformance.drive.scenario import scenario

OlderDrive = Callable[[OlderDriver], Awaitable[None]]


def older_scenario(name: str, **options: Any) -> Callable[[OlderDrive], OlderDrive]:
    """Declare a scenario; ``options`` are those of ``scenario``."""

    def declare(function: OlderDrive) -> OlderDrive:
        @wraps(function)
        async def drive(driver: Driver) -> None:
            if not isinstance(driver, OlderDriver):
                raise TypeError(f"{name} wants a driver of 2025-11-25")
            await function(driver)

        scenario(name, **options)(drive)
        return function

    return declare
