"""What HTML pages have in common: templates in which every byte of the server is text."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import jinja2
from markupsafe import Markup, escape

from conformance.report.visible import visible

_TEMPLATES = Path(__file__).parent / "templates"
_TEXT_LIMIT = 1000
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*[a-z])")


@functools.cache
def template(name: str) -> jinja2.Template:
    """A template, which escapes everything that is put into it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        shown=_shown_text, prose=_prose, paragraphs=_paragraphs, link=_link, json=_json
    )
    return environment.get_template(name)


def asset(name: str) -> str:
    """The text of a file of ours that stands beside the templates."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """What a page's policy names a script or a style by."""
    made = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(made).decode()}"


def _shown_text(text: object, limit: int = _TEXT_LIMIT) -> str:
    return visible(str(text), limit)


def _prose(text: str, limit: int = _TEXT_LIMIT) -> Markup:
    """Text with what stands between backticks as code, and options of ours in one piece."""
    parts = visible(text, limit).split("`")
    if len(parts) % 2 == 0:
        return _whole_options("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else _whole_options(part)
        for index, part in enumerate(parts)
    )


def _whole_options(text: str) -> Markup:
    """Text whose lines do not end after the dashes of an option."""
    parts = _OPTION.split(text)
    return Markup("").join(
        Markup('<span class="option">{}</span>').format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )


def _paragraphs(text: str) -> Iterable[str]:
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n", text) if block.strip()]


def _json(value: object, limit: int = 300) -> str:
    return visible(json.dumps(value, ensure_ascii=False), limit)


def _link(source: str) -> Markup:
    """A link to a published text; what is no web address stays text."""
    parts = urlsplit(source)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return escape(visible(source, _TEXT_LIMIT))
    page = parts.path.rstrip("/").rpartition("/")[2].removesuffix(".html") or parts.netloc
    words = f"{page}, {parts.fragment.replace('-', ' ')}" if parts.fragment else page
    return Markup('<a href="{}" rel="noopener noreferrer">{}</a>').format(source, visible(words))
