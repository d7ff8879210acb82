"""What is worked out when it is first asked for, and then kept: a property, or a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")
Seen = TypeVar("Seen", bound="Views")


class once(Generic[Owner, Value]):
    """Like ``functools.cached_property``, which up to Python 3.11 takes a lock each time a value
    is made. Here two threads may both make it, and make the same."""

    def __init__(self, function: Callable[[Owner], Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> once[Owner, Value]: ...

    @overload
    def __get__(self, owner: Owner, kind: type[Any]) -> Value: ...

    def __get__(self, owner: Owner | None, kind: type[Any]) -> Value | once[Owner, Value]:
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._function(owner)
        return value


class Views:
    """Keeps what is derived from it. It must not change any more once something is."""

    def derive(self: Seen, view: Callable[[Seen], Value]) -> Value:
        """``view(self)``, computed once."""
        derived: dict[Callable[..., Any], Any] = self.__dict__.setdefault("_derived", {})
        if view not in derived:
            derived[view] = view(self)
        result: Value = derived[view]
        return result
