"""Values of headers that mirror the body: the Base64 form for what plain ASCII cannot carry.

Source: core specification, Streamable HTTP, "Value Encoding".
"""

from __future__ import annotations

import base64
import re

_PLAIN = re.compile(r"[\t -~]*")
_PREFIX, _SUFFIX = "=?base64?", "?="


def encoded(value: str) -> str:
    """The Base64 form of a value, whether it needs it or not."""
    raw = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")
    return f"{_PREFIX}{raw}{_SUFFIX}"


def header_value(value: str) -> str:
    """The value as it must be sent: plain where that is safe, else in its Base64 form."""
    plain = _PLAIN.fullmatch(value) is not None
    padded = value != value.strip(" \t")
    return value if value and plain and not padded and not _marked(value) else encoded(value)


def decoded(value: str) -> str | None:
    """The value that a header carries; ``None`` where its Base64 form is broken."""
    if not _marked(value):
        return value
    try:
        raw = base64.b64decode(value[len(_PREFIX) : -len(_SUFFIX)], validate=True)
        return raw.decode("utf-8")
    except ValueError:  # not Base64, not ASCII, or not UTF-8
        return None


def _marked(value: str) -> bool:
    long_enough = len(value) >= len(_PREFIX) + len(_SUFFIX)
    return long_enough and value.startswith(_PREFIX) and value.endswith(_SUFFIX)


def is_token(name: str) -> bool:
    """Whether this can be the name of a header (RFC 9110, ``token``)."""
    return bool(name) and all(c.isascii() and (c.isalnum() or c in "!#$%&'*+-.^_`|~") for c in name)
