"""The members of JSON objects, each asked for by its name and kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.wire.exchange import JsonObject


class WrongShape(Exception):
    """What is wrong with a JSON value, and where."""


@dataclass(frozen=True)
class Members:
    """A JSON value that should be an object; ``where`` says what it is, for messages.

    Each method returns one member. It raises ``WrongShape`` where the member is missing and
    has no default, or is of another kind.
    """

    record: object
    where: str

    def _member(self, name: str, kind: type | tuple[type, ...], default: object = ...) -> Any:
        if not isinstance(self.record, dict):
            raise WrongShape(f"{self.where} is not an object")
        value = self.record.get(name, default)
        if value is ...:
            raise WrongShape(f"{self.where} has no {name}")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise WrongShape(f"{name} of {self.where} is of the wrong type")
        return value

    def has(self, name: str) -> bool:
        """Whether the member is there, and not null."""
        return isinstance(self.record, dict) and self.record.get(name) is not None

    def text(self, name: str, default: object = ...) -> str:
        return str(self._member(name, str, default))

    def number(self, name: str, default: object = ...) -> int:
        return int(self._member(name, int, default))

    def seconds(self, name: str, default: object = ...) -> float:
        return float(self._member(name, (int, float), default))

    def truth(self, name: str, default: object = ...) -> bool:
        return bool(self._member(name, bool, default))

    def plain(self, name: str, default: object = ...) -> JsonObject:
        return dict(self._member(name, dict, default))

    def object(self, name: str) -> Members:
        return Members(self._member(name, dict), name)

    def objects(self, name: str) -> list[Members]:
        items = self._member(name, list)
        return [Members(item, f"{name}[{number}]") for number, item in enumerate(items)]

    def numbers(self, name: str) -> tuple[int, ...]:
        items = self._member(name, list)
        if not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
            raise WrongShape(f"{name} of {self.where} is of the wrong type")
        return tuple(items)

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._member(name, list, [])
        if not all(isinstance(item, str) for item in items):
            raise WrongShape(f"{name} of {self.where} is of the wrong type")
        return tuple(items)
