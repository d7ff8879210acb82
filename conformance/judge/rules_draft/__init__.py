"""The rules that the next revision adds to those of 2026-07-28, or that it changes."""
