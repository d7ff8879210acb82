"""Params of the three methods, generated from our own schemas and broken in one place.

Each breakage takes one member away that the schema requires, or gives it a value that the
schema does not allow: of another type, out of bounds, or none of those it names.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.specification.names import TASKS_CANCEL, TASKS_GET, TASKS_UPDATE
from conformance.specification.schemas import definitions
from conformance.wire.exchange import JsonObject

# Stands in a path for whatever key is there: the keys of answers are the server's.
ANY_KEY = "*"

_MESSAGES = {
    TASKS_GET: "GetTaskRequest",
    TASKS_UPDATE: "UpdateTaskRequest",
    TASKS_CANCEL: "CancelTaskRequest",
}
# Of each type one value; of those that are false in some languages, the other one as well.
_OF_TYPE: tuple[tuple[str, Any], ...] = (
    ("null", None),
    ("boolean", True),
    ("integer", 5),
    ("integer", 0),
    ("number", 1.5),
    ("string", "conformance"),
    ("string", ""),
    ("array", []),
    ("array", ["conformance"]),
    ("object", {}),
)
_DEEPEST = 4


@dataclass(frozen=True)
class Breakage:
    """What is done to the params. ``path`` leads to a member; with ``gone`` it is taken away,
    else ``put`` takes its place. ``change`` says it in words."""

    path: tuple[str, ...]
    change: str
    put: Any = None
    gone: bool = False

    def to_json(self) -> JsonObject:
        found: JsonObject = {"path": list(self.path), "change": self.change}
        return {**found, "gone": True} if self.gone else {**found, "put": self.put}


def breakage_from(value: object) -> Breakage | None:
    """The breakage that a step carries; ``None`` where it carries none."""
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), list):
        return None
    path = tuple(str(part) for part in value["path"])
    return Breakage(path, str(value.get("change", "")), value.get("put"), value.get("gone") is True)


@functools.cache
def breakages(revision: str, method: str) -> tuple[Breakage, ...]:
    """Every way in which one place of a method's params can be wrong, in a fixed order."""
    known = definitions(revision)
    params = dict(known[_MESSAGES[method]]["properties"]["params"])
    meta = known["RequestMetaObject"]
    params["properties"] = {**params["properties"], "_meta": meta}
    params["required"] = [*params.get("required", ()), "_meta"]
    return tuple(_of_members(params, (), 0))


def _of_members(schema: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Iterator[Breakage]:
    if depth > _DEEPEST:
        return
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        if name == "extensions":
            # Broken, it is no declaration any more: a request of another kind, with its own steps.
            continue
        if name in required:
            yield Breakage((*path, name), f"without {'/'.join((*path, name))}", gone=True)
        yield from _of_value(part, (*path, name), depth + 1)
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        yield from _of_value(more, (*path, ANY_KEY), depth + 1)


def _of_value(schema: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Iterator[Breakage]:
    where = "/".join(path)
    for kind, value in _OF_TYPE:
        if not _allows(schema, kind):
            yield Breakage(path, f"{where} is {_words(kind, value)}", copy.deepcopy(value))
    if "enum" in schema or "const" in schema:
        yield Breakage(path, f"{where} is a word nobody knows", "conformance-unknown")
    if "minimum" in schema:
        yield Breakage(path, f"{where} is below its least", schema["minimum"] - 1)
    if "maximum" in schema:
        yield Breakage(path, f"{where} is above its most", schema["maximum"] + 1)
    for branch in schema.get("anyOf", ()):
        # What is wrong with one branch may be right with another: only its own words count.
        for name, part in branch.get("properties", {}).items():
            if "enum" in part:
                yield from _of_value(part, (*path, name), depth + 1)
    yield from _of_members(schema, path, depth)


def _allows(schema: Mapping[str, Any], kind: str) -> bool:
    names = schema.get("type")
    if names is None:
        return "enum" not in schema and "const" not in schema
    allowed = [names] if isinstance(names, str) else names
    return kind in allowed or (kind == "integer" and "number" in allowed)


def _words(kind: str, value: Any) -> str:
    if value in ("", [], 0, {}) and kind not in ("null", "boolean"):
        return {"string": "an empty text", "array": "an empty list", "integer": "0"}.get(
            kind, "an empty object"
        )
    return {
        "null": "null",
        "boolean": "true",
        "integer": "an integer",
        "number": "a fraction",
        "string": "a text",
        "array": "a list",
        "object": "an object",
    }[kind]


def broken_params(params: JsonObject, breakage: Breakage) -> JsonObject | None:
    """The params with this one place wrong; ``None`` where they have no such place."""
    changed = copy.deepcopy(params)
    holder: Any = changed
    *way, last = breakage.path
    for name in way:
        holder = holder.get(_key(holder, name)) if isinstance(holder, dict) else None
    if not isinstance(holder, dict):
        return None
    key = _key(holder, last)
    if key is None:
        return None
    if breakage.gone:
        holder.pop(key, None)
    else:
        holder[key] = copy.deepcopy(breakage.put)
    return changed


def _key(holder: Mapping[str, Any], name: str) -> str | None:
    if name != ANY_KEY:
        return name
    return next(iter(holder), None)
