"""One run, phase by phase, in a process of its own: ``python -m benchmarks.street URL EFFORT``.

Prints one line of JSON: the seconds of each phase, and what came out.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

_BEGUN = time.perf_counter()


@dataclass
class Phases:
    """The seconds of wall-clock and of processor time that each phase took, in order."""

    wall: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    _name: str = "importing"
    _since: float = _BEGUN
    _used: float = 0.0

    def begin(self, name: str) -> None:
        now, used = time.perf_counter(), time.process_time()
        self.wall[self._name] = self.wall.get(self._name, 0.0) + now - self._since
        self.processor[self._name] = self.processor.get(self._name, 0.0) + used - self._used
        self._name, self._since, self._used = name, now, used


def phase_of(text: str) -> str:
    """The phase that the suite's own words for what it is doing belong to."""
    for begins, phase in (
        ("looking", "looking"),
        ("trying", "trying tools"),
        ("driving", "driving"),
        ("judging", "judging"),
    ):
        if text.startswith(begins):
            return phase
    return "trying tools"


def main(url: str, effort: str) -> None:
    from conformance.checking import check_target
    from conformance.report import html, junit
    from conformance.report.results import json_text
    from conformance.run import Telling
    from conformance.target.target import target_of

    phases = Phases()
    phases.begin("looking")
    target = target_of(url, effort=effort)
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        telling = Telling(doing=lambda text: phases.begin(phase_of(text)))
        checked = check_target(target, folder=Path(folder), workers=0, telling=telling)
        phases.begin("reporting")
        page = html.render(checked.results)
        begun = time.perf_counter()
        html.render(checked.results)
        rendering = time.perf_counter() - begun
        results = json_text(checked.results)
        junit.render(checked.results, strict=False, history=Path(folder))
        phases.begin("end")
    verdicts = [rule.verdict for rule in checked.results.rules]
    record = {
        "wall": phases.wall,
        "processor": phases.processor,
        "page": len(page.encode("utf-8")),
        "results": len(results.encode("utf-8")),
        "rendering": rendering,
        "exchanges": len(checked.history),
        "decided": sum(verdict in ("pass", "fail", "warn") for verdict in verdicts),
        "violated": sum(verdict in ("fail", "warn") for verdict in verdicts),
        "rules": len(verdicts),
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
