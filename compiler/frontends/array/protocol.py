"""What a trace asks of the rules that turn calls into operators; they are given to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Rules(Protocol):
    """How calls on traced arrays become operators; given to a trace when it starts."""

    def operator(self, name: str, *args: Any) -> Any:
        """A Python operator, by the name of numpy's ufunc for it."""
        ...

    def function(self, path: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function by its path in numpy's namespace."""
        ...

    def method(self, name: str, array: Any) -> Any:
        """A bound method of a traced array, or `None`."""
        ...

    def ufunc(self, ufunc: Any, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What `__array_ufunc__` answers."""
        ...

    def array_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What `__array_function__` answers."""
        ...
