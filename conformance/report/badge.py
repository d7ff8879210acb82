"""A badge: an SVG picture of our own, or the JSON that shields.io draws one from."""

from __future__ import annotations

import json
from pathlib import Path
from xml.sax.saxutils import escape

from conformance.errors import UsageError
from conformance.judge.rule import MUST
from conformance.judge.verdict import FAIL
from conformance.report.results import CONFORMANT, INCONCLUSIVE, NON_CONFORMANT, Results
from conformance.report.visible import visible

LABEL = "MCP Tasks"

# The name of a colour at shields.io, and the same colour with enough contrast under white text.
_COLOURS = {
    CONFORMANT: ("brightgreen", "#1c6236"),
    NON_CONFORMANT: ("red", "#a3171c"),
    INCONCLUSIVE: ("yellow", "#7a4b00"),
}
_OTHER = ("lightgrey", "#565d66")
# Of Verdana at 11 px, which is the widest of the fonts named: no text runs out of its field.
_CHARACTER_WIDTH = 7.2
_PADDING = 6
_HEIGHT = 20


def check_suffix(path: Path) -> None:
    """Raise ``UsageError`` where a path says neither SVG nor JSON."""
    if path.suffix.lower() not in (".svg", ".json"):
        raise UsageError(f"--badge {path}: the name should end with .svg or .json")


def render(results: Results, path: Path) -> str:
    """The badge that belongs at a path. Raises ``UsageError``."""
    check_suffix(path)
    return svg(results) if path.suffix.lower() == ".svg" else endpoint(results)


def message(results: Results) -> str:
    """What the badge says: the verdict, the revision, and how much of what must hold was seen."""
    failed = results.count(FAIL)
    if results.verdict == NON_CONFORMANT:
        return f"{failed} {'rule' if failed == 1 else 'rules'} broken"
    if results.verdict == CONFORMANT:
        seen = f"{results.exercised(MUST)}/{results.applicable(MUST)} must"
        without = len(results.run.left_out)
        seen += f", {without} left out" if without else ""
        return f"conformant {visible(results.spec, 20)} ({seen})"
    return results.verdict.replace("-", " ")


def endpoint(results: Results) -> str:
    """The JSON of https://shields.io/badges/endpoint-badge."""
    colour, _ = _COLOURS.get(results.verdict, _OTHER)
    badge = {"schemaVersion": 1, "label": LABEL, "message": message(results), "color": colour}
    return json.dumps(badge, ensure_ascii=False) + "\n"


def svg(results: Results) -> str:
    """A flat badge of two fields."""
    said = message(results)
    _, colour = _COLOURS.get(results.verdict, _OTHER)
    left, right = _width(LABEL), _width(said)
    words = escape(f"{LABEL}: {said}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}"'
        f' role="img" aria-label="{words}">\n'
        f"<title>{words}</title>\n"
        f'<rect width="{left}" height="{_HEIGHT}" fill="#333a42"/>\n'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{colour}"/>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"'
        ' text-anchor="middle">\n'
        f'<text x="{left / 2:g}" y="14">{escape(LABEL)}</text>\n'
        f'<text x="{left + right / 2:g}" y="14">{escape(said)}</text>\n'
        "</g>\n</svg>\n"
    )


def _width(text: str) -> int:
    return round(len(text) * _CHARACTER_WIDTH) + 2 * _PADDING
