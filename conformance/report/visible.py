"""Text from strangers, made safe to look at: what is invisible or moves other text is shown."""

from __future__ import annotations

_CUT_MARK = "… ({} more characters)"


def visible(text: str, limit: int | None = None, *, keep: str = "") -> str:
    """The text with every control character, bidi mark, lone surrogate and other unprintable
    character written as ``\\u{202e}``, cut after ``limit`` characters.

    ``keep`` names characters to leave alone, such as a line feed. A cut says how much is gone.
    """
    shown = text if limit is None or len(text) <= limit else text[:limit]
    if not shown.isprintable():
        shown = "".join(
            character if character.isprintable() or character in keep else escaped(character)
            for character in shown
        )
    if limit is not None and len(text) > limit:
        shown += _CUT_MARK.format(f"{len(text) - limit:,}")
    return shown


def encodable(text: str) -> str:
    """The text with lone surrogates, which no encoding can carry, made visible."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join(escaped(c) if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def escaped(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"
