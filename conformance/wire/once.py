"""A property that is worked out when it is first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")


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
