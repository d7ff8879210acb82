"""The scenarios of 2025-11-25, one module a topic."""
