"""Has plans made in a process of its own, which is asked in lines of JSON.

Hypothesis takes as much of the processor as the requests themselves do. In a process of its own
it holds up no request, and where a tool's schema drives it mad, nobody waits for it in vain.

``python -m conformance.drive.sequences.plan_maker`` is that process: each line on its standard
input is a question, each line on its standard output the plans that answer it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from subprocess import DEVNULL
from types import TracebackType
from typing import BinaryIO

import anyio
import anyio.to_thread
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

import conformance
from conformance.drive.sequences.steps import Plan, from_json, to_json
from conformance.drive.sequences.tools import Toolbox, toolbox_from_json
from conformance.errors import UsageError

# Arguments may be of any length; here each plan has its own copy of them.
_LONGEST_LINE = 64 * 1024 * 1024
_NO_ANSWER = (
    anyio.EndOfStream,
    anyio.BrokenResourceError,
    anyio.IncompleteRead,
    anyio.DelimiterNotFound,
    OSError,
    ValueError,
    TypeError,
    UsageError,
)
# So long may it take to make some plans, on a busy machine too. A schema that takes longer has
# driven Hypothesis mad, here as well as there.
_LONGEST_SECONDS = 60.0
_HERE = Path(conformance.__file__).resolve().parent.parent


class PlanMaker:
    """Makes plans, with a process that lives until the context is left.

    Where no process can be started, it ends, or what it says is no answer, plans are made in a
    thread of this one: that takes longer, and nothing else. ``process`` is ``None`` then. Where
    plans take too long to be made, there are none.
    """

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools
        self._stack = AsyncExitStack()
        self.process: Process | None = None

    async def __aenter__(self) -> PlanMaker:
        try:
            self.process = await anyio.open_process(
                [sys.executable, "-m", __name__],
                stderr=DEVNULL,
                # Python looks in the folder it is started in first, and whoever is testing a
                # server may have packages there that are named like ours.
                cwd=_HERE,
                env=_environment(),
                # Ctrl-C is for this process, which ends the other by closing its input.
                start_new_session=True,
            )
        except OSError:
            return self
        self._stack.push_async_callback(_end, self.process)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def plans(self, *, number: int, chosen_seed: int) -> list[Plan]:
        """What ``planning.plans`` returns."""
        question = {"tools": asdict(self._tools), "number": number, "seed": chosen_seed}
        with anyio.move_on_after(_LONGEST_SECONDS):
            if self.process is not None:
                try:
                    return await _answer(self.process, json.dumps(question))
                except _NO_ANSWER:
                    self.process = None
            return await anyio.to_thread.run_sync(
                _made, self._tools, number, chosen_seed, abandon_on_cancel=True
            )
        return []


async def _answer(process: Process, question: str) -> list[Plan]:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send(question.encode("utf-8") + b"\n")
    lines = BufferedByteReceiveStream(process.stdout)
    return [from_json(plan) for plan in json.loads(await lines.receive_until(b"\n", _LONGEST_LINE))]


async def _end(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.kill()
        await process.aclose()


def _environment() -> dict[str, str]:
    """The environment of the process: it finds this package where this process found it."""
    paths = [str(_HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _made(tools: Toolbox, number: int, chosen_seed: int) -> list[Plan]:
    # Hypothesis takes a while to import: nobody has to wait for it.
    from conformance.drive.sequences.planning import plans

    return plans(tools, number=number, chosen_seed=chosen_seed)


def answer_questions(questions: Iterable[bytes], answers: BinaryIO) -> None:
    """Answer each question, until there are no more."""
    for line in questions:
        question = json.loads(line)
        tools = toolbox_from_json(question["tools"])
        made = _made(tools, question["number"], question["seed"])
        answers.write(json.dumps([to_json(plan) for plan in made]).encode("utf-8") + b"\n")
        answers.flush()


if __name__ == "__main__":
    answer_questions(sys.stdin.buffer, sys.stdout.buffer)
