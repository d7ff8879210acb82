"""Plans that were made before are taken as they are: the same seed makes the same plans for every
server with the same tools, and making them takes a third of a search."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from unittest.mock import patch

from conformance.drive.sequences import searching
from conformance.drive.sequences.plan_maker import PlanMaker
from conformance.drive.sequences.steps import Plan
from conformance.drive.sequences.tools import Toolbox

# What the tools of a server took when they were tried; plans do not depend on it.
_MEASURED = ("seconds", "at_least", "status")


@contextmanager
def plans_kept(folder: Path) -> Iterator[None]:
    """Searches of this process take plans from the folder, and leave in it what they make. Plans
    of other code than this are to be kept in another folder."""

    class Keeping(PlanMaker):
        async def __aenter__(self) -> PlanMaker:
            return self  # a process is begun when there is something to make

        async def plans(self, *, number: int, chosen_seed: int) -> list[Plan]:
            kept = folder / f"{_digest(self._tools, number, chosen_seed)}.pickle"
            if kept.exists():
                made: list[Plan] = pickle.loads(kept.read_bytes())
                return made
            if self.process is None:
                await super().__aenter__()
            made = await super().plans(number=number, chosen_seed=chosen_seed)
            # Another process may be about the same: whoever is last, the file is whole.
            mine = kept.with_suffix(f".{os.getpid()}")
            mine.write_bytes(pickle.dumps(made))
            mine.replace(kept)
            return made

    with patch.object(searching, "PlanMaker", Keeping):
        yield


def _digest(tools: Toolbox, number: int, chosen_seed: int) -> str:
    def told(value: object) -> object:
        if isinstance(value, dict):
            return {k: told(v) for k, v in value.items() if k not in _MEASURED}
        return [told(each) for each in value] if isinstance(value, (list, tuple)) else value

    what = json.dumps([told(asdict(tools)), number, chosen_seed], sort_keys=True)
    return hashlib.sha256(what.encode("utf-8")).hexdigest()[:32]
