"""A list that knows at once whether it holds an object, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_CHANGES = (
    *("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"),
    *("__delitem__", "__iadd__", "__imul__", "__setitem__"),
)
"""The methods by which a list changes."""


class IndexedList(list[T]):
    """A list with an index of its elements, made when first asked and dropped at any change."""

    places: dict[T, list[int]] | None = None

    def holds(self, item: T) -> bool:
        """`item in self`, in constant time."""
        return item in self._index()

    def replace(self, old: T, new: T) -> None:
        """Put `new` wherever `old` stands."""
        index = self._index()
        if old is new or old not in index:
            return
        where = index.pop(old)
        index[new] = sorted(where + index.get(new, []))
        for place in where:
            self[place] = new
        self.places = index

    def _index(self) -> dict[T, list[int]]:
        if self.places is None:
            self.places = {}
            for place, item in enumerate(self):
                self.places.setdefault(item, []).append(place)
        return self.places


def _forgetting(change: Callable[..., Any]) -> Callable[..., Any]:
    def changed(self: IndexedList[Any], *args: Any, **kwargs: Any) -> Any:
        self.places = None
        return change(self, *args, **kwargs)

    return changed


for _change in _CHANGES:
    setattr(IndexedList, _change, _forgetting(cast("Callable[..., Any]", getattr(list, _change))))
