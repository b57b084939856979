"""`xp.at(x)[i].set(v)`: a copy of an array with some elements changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.frontends.array.build import cast, emit, has_traced, lift
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.rules.selection import iota
from isomorph.frontends.array.rules.shape import broadcast_to, reshape
from isomorph.frontends.array.rules.subscript import getitem

_NUMPY = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


class at:  # noqa: N801 - reads as a function: xp.at(x)[i].set(v)
    """Elements of an array, about to be replaced in a copy: `y = xp.at(x)[key].set(value)`.

    Takes every key that indexing takes, except that no two elements of it may be the same for
    `set`. Works alike on numpy arrays. Source: ONNX's ScatterND.
    """

    def __init__(self, x: Any) -> None:
        self._x = x
        self._key: Any = ...

    def __getitem__(self, key: Any) -> at:
        made = at(self._x)
        made._key = key
        return made

    def set(self, value: Any) -> Any:
        """The array with those elements set."""
        return self._updated("none", value)

    def add(self, value: Any) -> Any:
        """The array with something added to them, repeatedly where an element is named twice."""
        return self._updated("add", value)

    def multiply(self, value: Any) -> Any:
        """The array with them multiplied."""
        return self._updated("mul", value)

    def max(self, value: Any) -> Any:
        """The array with the larger of each of them and `value`."""
        return self._updated("max", value)

    def min(self, value: Any) -> Any:
        """The array with the smaller of each of them and `value`."""
        return self._updated("min", value)

    def _updated(self, reduction: str, value: Any) -> Any:
        if not has_traced((self._x, value)) and not has_traced(self._key):
            return _eager(self._x, self._key, reduction, value)
        x = lift(self._x)
        places = getitem(iota(x.dims), self._key)
        new = broadcast_to(lift(value, x.dtype), places.shape)
        if x.dtype.kind == "b" and reduction != "none":
            raise TraceError(f"xp.at(…).{reduction} on bool is not defined", "xp.where")
        flat = emit(
            "ScatterND",
            reshape(x, (-1,)),
            emit("Unsqueeze", cast(places, np.dtype(np.int64)), [-1]),
            new,
            reduction=None if reduction == "none" else reduction,
        )
        return reshape(flat, x.shape)


def _eager(x: Any, key: Any, reduction: str, value: Any) -> Any:
    made = np.array(x, copy=True, subok=True)
    if reduction == "none":
        made[key] = value
    else:
        _NUMPY[reduction].at(made, key, value)
    return made
