"""Addresses of the published text, for the ``source`` of a rule."""

from __future__ import annotations

_TASKS_PAGE = "https://modelcontextprotocol.github.io/ext-tasks/specification/2026-07-28/tasks.html"
_SEP_PAGE = "https://modelcontextprotocol.io/seps/2663-tasks-extension"
_CORE_PAGES = "https://modelcontextprotocol.io/specification/2026-07-28/"
_CORE_PAGES_2025 = "https://modelcontextprotocol.io/specification/2025-11-25/"


def tasks(anchor: str = "") -> str:
    """A section of the page of the Tasks extension."""
    return _TASKS_PAGE + (f"#{anchor}" if anchor else "")


def sep(anchor: str = "") -> str:
    """A section of SEP-2663."""
    return _SEP_PAGE + (f"#{anchor}" if anchor else "")


def core(page: str, anchor: str = "") -> str:
    """A section of a page of the core specification, such as ``basic/index``."""
    return _CORE_PAGES + page.removesuffix("/index") + (f"#{anchor}" if anchor else "")


def core_2025(page: str, anchor: str = "") -> str:
    """A section of a page of the core specification of 2025-11-25."""
    return _CORE_PAGES_2025 + page.removesuffix("/index") + (f"#{anchor}" if anchor else "")


def tasks_2025(anchor: str = "") -> str:
    """A section of the page on tasks of 2025-11-25, where they were part of the core."""
    return core_2025("basic/utilities/tasks", anchor)
