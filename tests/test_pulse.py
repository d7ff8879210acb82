"""What holds up the suite itself is told with the exchange, and is nobody's fault."""

from __future__ import annotations

import time

import anyio

from conformance.drive.pulse import Pulse
from conformance.wire.exchange import HELD_UP
from tests.builders import exchange


def test_a_held_up_event_loop_is_noticed() -> None:
    async def hold_up() -> tuple[float, float, float]:
        pulse = Pulse()
        async with anyio.create_task_group() as group:
            group.start_soon(pulse.beat)
            await anyio.sleep(0)
            begun = time.monotonic()
            time.sleep(0.3)
            held_until = time.monotonic()
            await anyio.sleep(0.05)
            group.cancel_scope.cancel()
        before = pulse.held_up(begun - 1, begun)
        return pulse.held_up(begun, held_until), before, held_until - begun

    during, before, lasted = anyio.run(hold_up)
    assert 0.5 * lasted < during <= lasted
    assert before < 0.05


def test_hold_ups_are_taken_off_what_an_answer_took() -> None:
    slow = exchange("tools/list", result={"tools": []}, started=1.0, ended=3.0)
    held = exchange(
        "tools/list", result={"tools": []}, started=1.0, ended=3.0, notes={HELD_UP: 0.5}
    )
    stuck = exchange("tools/list", result={"tools": []}, started=1.0, ended=3.0, notes={HELD_UP: 2})
    odd = exchange("tools/list", result={"tools": []}, started=1.0, ended=3.0, notes={HELD_UP: "x"})
    assert [e.certainly_took for e in (slow, held, stuck, odd)] == [2.0, 0.5, 0.0, 2.0]
