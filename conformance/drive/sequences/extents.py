"""How far sequences go: how many, for how long, how many at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from conformance.target.target import Target


@dataclass(frozen=True)
class Extent:
    """``plans`` and ``seconds`` bound each search, whichever comes first; ``slots`` are how many
    of its sequences are at work at once. ``settling`` are the seconds for doing again what was
    seen, ``attempts`` the sequences that may be tried to make one shorter."""

    plans: int
    seconds: float
    slots: int
    settling: float
    attempts: int


_WITHOUT_LIMIT = 10**9
# A guest on somebody else's machine does less at once.
_SLOTS_AWAY = 3
# So many of these seconds any run has to spare.
_SPARE_SECONDS = 60.0

EXTENTS = {
    "quick": Extent(plans=10, seconds=1.5, slots=12, settling=15.0, attempts=80),
    "standard": Extent(plans=39, seconds=6.2, slots=12, settling=50.0, attempts=150),
    "thorough": Extent(plans=_WITHOUT_LIMIT, seconds=120.0, slots=6, settling=300.0, attempts=400),
}


def extent_of(target: Target) -> Extent:
    """How far the sequences of a run go."""
    extent = EXTENTS[target.effort]
    if target.sequences_for is not None:
        extent = replace(extent, plans=_WITHOUT_LIMIT, seconds=target.sequences_for)
    if not target.loopback:
        extent = replace(extent, slots=min(extent.slots, _SLOTS_AWAY))
    return extent


def further_seconds(target: Target) -> float:
    """How many seconds a run may take longer than without sequences."""
    extent = extent_of(target)
    return max(extent.seconds + extent.settling - _SPARE_SECONDS, 0.0)
