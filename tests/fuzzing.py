"""Fuzzing for as long as you like, guided by coverage.

    python -m tests.fuzzing test_json -max_total_time=600

The tests do a little of it. Atheris comes with what they need, where it has a wheel: Linux on
x86_64. The tests that it can drive are those of `tests/test_fuzz.py` that need no folder.
"""

from __future__ import annotations

import importlib
import sys

TARGETS = (
    "test_events",
    "test_json",
    "test_headers",
    "test_input_schemas",
    "test_judging_and_telling",
)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"name one of {', '.join(TARGETS)}; the rest goes to atheris")
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        sys.exit("atheris is not installed: pip install atheris, where it has a wheel")
    with atheris.instrument_imports(include=["conformance"]):
        tests = importlib.import_module("tests.test_fuzz")
    target = getattr(tests, sys.argv.pop(1))
    atheris.Setup(sys.argv, target.hypothesis.fuzz_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
