"""How quick the suite is, measured by one command: ``python -m benchmarks``."""
