"""Is a value the message it claims to be, and if not, what would a server author need to know?

The schemas are the files of ``schemas/<revision>/``: JSON Schema 2020-12, one file a topic, one
entry of ``$defs`` a message. Their names ("GetTaskResult", "CallToolResult") are those of the
specification. The schemas never look into free JSON, such as ``structuredContent``, so a deeply
nested value costs nothing and cannot exhaust the stack.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from conformance.places import schemas_directory
from conformance.specification.acceptance import Accepts, acceptance

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

PROBLEM_LIMIT = 20
"""The most problems told of one value; an array of a thousand wrong items needs no thousand."""

VALUE_LIMIT = 80
"""The most characters shown of a value; what is longer is cut."""

_TYPE_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


@dataclass(frozen=True)
class Problem:
    """One way in which a value is not the message.

    ``path`` is a JSON pointer into the value, ``""`` the value itself; a missing member has the
    path it would have. ``expected`` and ``found`` are short words, ``keyword`` the keyword of JSON
    Schema that was not met.
    """

    path: str
    expected: str
    found: str
    keyword: str

    @property
    def sentence(self) -> str:
        """The problem in one line: ``/ttlMs: expected an integer or null, found nothing``."""
        where = _cut(_printable(self.path)) or "the message"
        return f"{where}: expected {self.expected}, found {self.found}"


def messages(revision: str) -> tuple[str, ...]:
    """The names of all messages of a revision, sorted. LookupError where it has no schemas."""
    return tuple(sorted(definitions(revision)))


@functools.cache
def validator(revision: str, message: str) -> Validator:
    """The compiled validator of a message, the same object each time.

    Its errors carry no text; ``problems`` puts them into words. LookupError where the revision has
    no schemas, or the message is none of its messages.
    """
    known = definitions(revision)
    if message not in known:
        raise LookupError(f"revision {revision} has no message {message!r}")
    return compiled(known[message])


def problems(revision: str, message: str, value: object) -> list[Problem]:
    """Why a value, as ``json.loads`` gives it, is not the message; empty where it is.

    There are at most ``PROBLEM_LIMIT``, one for each path, in the order of the schema. Of a union
    the branch is explained that the value's discriminator names, or else the one it resembles
    most. LookupError as for ``validator``.
    """
    if _is_accepted(revision, message)(value):
        return []
    return explained(validator(revision, message), value)


@functools.cache
def _is_accepted(revision: str, message: str) -> Accepts:
    schema = definitions(revision).get(message)
    return (lambda value: False) if schema is None else acceptance(schema)


def explained(compiled_schema: Any, value: object) -> list[Problem]:
    """The problems of a value under a schema that ``compiled`` has made."""
    errors = compiled_schema.iter_errors(value)
    return list(islice(_distinct(_explain(errors)), PROBLEM_LIMIT))


def compiled(schema: Mapping[str, Any]) -> Validator:
    """A schema without references, ready to use."""
    ready: Validator = _validator_class()(schema)
    return ready


@functools.cache
def definitions(revision: str) -> Mapping[str, Any]:
    """The schema of each message by its name, without references. LookupError where none are.

    The schemas refer to each other in no circle, so every reference can be replaced by what it
    refers to, and since that is the same object each time it takes no more memory.
    """
    folder = schemas_directory() / revision
    files = sorted(folder.glob("*.json")) if _is_revision(revision) else []
    if not files:
        raise LookupError(f"no schemas for revision {revision!r}")
    written: dict[str, Any] = {}
    for file in files:
        written.update(json.loads(file.read_text(encoding="utf-8"))["$defs"])

    @functools.cache
    def definition(name: str) -> Any:
        return inlined(written[name], definition)

    return {name: definition(name) for name in written}


def inlined(schema: Any, definition: Callable[[str], Any]) -> Any:
    """A schema with each reference replaced by the definition of the name it ends in."""
    if isinstance(schema, list):
        return [inlined(each, definition) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return definition(schema["$ref"].rpartition("/")[2])
    return {key: inlined(each, definition) for key, each in schema.items()}


def _is_revision(revision: str) -> bool:
    return re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z.-]*", revision) is not None


@functools.cache
def _validator_class() -> Any:
    """JSON Schema 2020-12 whose errors carry no text.

    The library's own errors print the whole value, which is slow where it is large and overflows
    the stack where it is deep.
    """
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import ValidationError

    extend: Any = validators.extend  # the stubs leave it untyped

    def silent(keyword: str, function: Any) -> Any:
        def check(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
            if function(validator, wanted, value):
                yield ValidationError("", validator=keyword)

        return check

    def of_wrong_type(validator: Any, wanted: Any, value: Any) -> bool:
        names = [wanted] if isinstance(wanted, str) else wanted
        return not any(validator.is_type(value, name) for name in names)

    def required(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            for member in wanted:
                if member not in value:
                    yield ValidationError("", validator="required", path=[member])

    def additional_properties(
        validator: Any, wanted: Any, value: Any, schema: Any
    ) -> Iterator[Any]:
        # The library's own goes through a set, whose order differs from run to run.
        if isinstance(value, dict):
            known = schema.get("properties", {})
            for member, content in value.items():
                if member not in known:
                    yield from validator.descend(content, wanted, path=member)

    def any_of(validator: Any, branches: Any, value: Any, schema: Any) -> Iterator[Any]:
        failures: list[Any] = []
        for branch in branches:
            errors = list(validator.descend(value, branch))
            if not errors:
                return
            failures.append((branch, errors))
        branch_errors = _errors_of_closest_branch(failures, value)
        if branch_errors:
            yield from branch_errors
        else:
            yield ValidationError("", validator="anyOf")

    return extend(
        Draft202012Validator,
        {
            "type": silent("type", of_wrong_type),
            "enum": silent("enum", lambda _, wanted, value: not _is_one_of(value, wanted)),
            "const": silent("const", lambda _, wanted, value: not _is_one_of(value, [wanted])),
            "minimum": silent("minimum", lambda _, least, value: _number(value) and value < least),
            "maximum": silent("maximum", lambda _, most, value: _number(value) and value > most),
            "maxProperties": silent(
                "maxProperties",
                lambda _, wanted, value: isinstance(value, dict) and len(value) > wanted,
            ),
            "required": required,
            "additionalProperties": additional_properties,
            "anyOf": any_of,
        },
    )


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_one_of(value: object, wanted: Iterable[object]) -> bool:
    """Equality as JSON has it, for the strings and numbers our schemas name: true is not 1."""
    scalar = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return scalar and any(each == value for each in wanted)


def _errors_of_closest_branch(failures: list[tuple[Any, list[Any]]], value: object) -> list[Any]:
    """The errors of the branch a value was most likely meant for; none where it is like no branch.

    A value is like a branch when it has one of the members that the branch requires, or when the
    branch requires none.
    """
    if not isinstance(value, dict):
        return []
    alike = [
        errors
        for branch, errors in failures
        if not branch.get("required") or any(name in value for name in branch["required"])
    ]
    return min(alike, key=len, default=[])


def _distinct(each_problem: Iterable[Problem]) -> Iterator[Problem]:
    seen: set[str] = set()
    for problem in each_problem:
        if problem.path not in seen:
            seen.add(problem.path)
            yield problem


def _explain(errors: Iterable[ValidationError]) -> Iterator[Problem]:
    for error in errors:
        schema: Any = error.schema
        keyword = str(error.validator)
        path = _pointer(error.absolute_path)
        if keyword == "required":
            member = schema.get("properties", {}).get(error.path[-1], {})
            yield Problem(path, _expected(member), "nothing", keyword)
        elif keyword in ("anyOf", "maxProperties") and isinstance(error.instance, dict):
            yield Problem(path, _expected(schema, keyword), _members(error.instance), keyword)
        else:
            yield Problem(path, _expected(schema, keyword), _found(error.instance), keyword)


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _expected(schema: Mapping[str, Any], keyword: str = "") -> str:
    """What a schema asks for, in words; with a keyword, what that keyword asks for."""
    if keyword == "minimum":
        return f"at least {schema['minimum']}"
    if keyword == "maximum":
        return f"at most {schema['maximum']}"
    if keyword == "maxProperties":
        return "an empty object"
    if keyword == "anyOf":
        return _alternatives(branch["title"] for branch in schema["anyOf"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return _alternatives(json.dumps(each) for each in schema["enum"])
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        return _alternatives(_TYPE_WORDS[name] for name in names)
    return "a value"


def _alternatives(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _found(value: object) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return f"the string {_quoted(value)}"
    if isinstance(value, int):
        # Python refuses to print integers of thousands of digits.
        return f"the integer {value}" if value.bit_length() <= 256 else "a very large integer"
    if isinstance(value, float):
        return f"the number {value}"
    return "an object" if isinstance(value, dict) else "an array"


def _members(value: Mapping[str, object]) -> str:
    if not value:
        return "an empty object"
    return "an object with " + _cut(", ".join(_quoted(name) for name in islice(value, VALUE_LIMIT)))


def _quoted(text: str) -> str:
    quoted = _printable(json.dumps(text[:VALUE_LIMIT], ensure_ascii=False))
    return _cut(quoted) if len(text) <= VALUE_LIMIT else _cut(quoted + "…")


def _printable(text: str) -> str:
    """On one line, and safe to encode: a line break or half a surrogate pair is escaped."""
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 1] + "…"
