"""The version of this suite, in one place."""

__version__ = "0.1.0"
