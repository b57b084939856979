"""Repeating and reordering elements along axes."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import axes_of, axis_of, cast, elementwise, emit, ints, lift
from isomorph.frontends.array.dims import as_dim
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.rules.joining import concatenate
from isomorph.frontends.array.rules.selection import iota
from isomorph.frontends.array.rules.shape import expand_dims, expanded, ravel, reshape, swapaxes
from isomorph.frontends.array.rules.subscript import getitem
from isomorph.frontends.array.traced import Traced

if TYPE_CHECKING:
    from collections.abc import Callable


def tile(A: Any, reps: Any) -> Traced:  # noqa: N803 - numpy's parameter
    x = lift(A)
    counts: list[Any] = list(reps) if np.iterable(reps) else [reps]
    counts = [1] * (x.ndim - len(counts)) + counts
    if len(counts) > x.ndim:
        x = expand_dims(x, tuple(range(len(counts) - x.ndim)))
    sizes = [as_dim(c) for c in counts]
    shape = [None if c is None else c * d for c, d in zip(sizes, x.dims, strict=True)]
    return emit("Tile", x, ints(counts), shape=shape) if counts else x


def repeat(a: Any, repeats: Any, axis: Any = None) -> Traced:
    x = lift(a) if axis is not None else ravel(a)
    place = axis_of(axis or 0, x.ndim)
    dim = x.dims[place]
    before, after = x.dims[:place], x.dims[place + 1 :]
    count = as_dim(repeats)
    if count is not None:
        wide = emit("Unsqueeze", x, [place + 1])
        return reshape(
            expanded(wide, (*before, dim, count, *after)), (*before, dim * count, *after)
        )
    if isinstance(repeats, Traced):
        return _repeat_by(x, cast(repeats, np.dtype(np.int64)), place)
    counts = np.asarray(repeats)
    if not isinstance(dim, int):
        raise TraceError(
            f"repeat of the open axis {place} of {x.type} by {reprlib.repr(counts.tolist())}"
        )
    places = np.repeat(np.arange(dim), counts)
    return emit("Gather", x, places.astype(np.int64), axis=place)


def _repeat_by(x: Traced, counts: Traced, axis: int) -> Traced:
    """By a traced count per element: the k-th element is the one whose running total passes k."""
    if counts.ndim == 0:
        counts = expanded(emit("Unsqueeze", counts, [0]), (x.dims[axis],))
    totals = emit("CumSum", counts, np.array(0, np.int64))
    every = emit("ReduceSum", counts, [0], keepdims=0)
    order = emit("Range", np.array(0, np.int64), every, np.array(1, np.int64))
    passed = elementwise("LessOrEqual", totals, emit("Unsqueeze", order, [-1]))
    places = emit("ReduceSum", cast(passed, np.dtype(np.int64)), [-1], keepdims=0)
    return emit("Gather", x, places, axis=axis)


def flip(m: Any, axis: Any = None) -> Traced:
    x = lift(m)
    axes = axes_of(axis, x.ndim)
    return getitem(x, tuple(slice(None, None, -1 if i in axes else 1) for i in range(x.ndim)))


def _flipping(axis: int) -> Callable[..., Traced]:
    def rule(m: Any) -> Traced:
        return flip(m, axis)

    return rule


def roll(a: Any, shift: Any, axis: Any = None) -> Traced:
    x = lift(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.dims)
    shifts, axes = np.broadcast_arrays(np.asarray(shift), np.asarray(axis))
    for by, where in zip(shifts.reshape(-1), axes.reshape(-1), strict=True):
        x = _rolled(x, int(by), axis_of(int(where), x.ndim))
    return x


def _rolled(x: Traced, by: int, axis: int) -> Traced:
    dim = x.dims[axis]
    if isinstance(dim, int):
        if not dim or not by % dim:
            return x
        cut = dim - by % dim
        before = (slice(None),) * axis
        tail, head = getitem(x, (*before, slice(cut, None))), getitem(x, (*before, slice(cut)))
        return concatenate([tail, head], axis)
    size = emit("Squeeze", ints([dim]), [0])
    places = elementwise("Mod", elementwise("Sub", iota((dim,)), np.array(by, np.int64)), size)
    return emit("Gather", x, places, axis=axis, shape=x.dims)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Traced:
    x = lift(m)
    i, j = axes_of(tuple(axes), x.ndim)
    match k % 4:
        case 0:
            return x
        case 1:
            return swapaxes(flip(x, j), i, j)
        case 2:
            return flip(x, (i, j))
        case _:
            return flip(swapaxes(x, i, j), j)


def delete(arr: Any, obj: Any, axis: Any = None) -> Traced:
    x = lift(arr)
    if axis is None:
        x, axis = ravel(x), 0
    dim = x.dims[axis_of(axis, x.ndim)]
    if not isinstance(dim, int) or isinstance(obj, Traced):
        raise TraceError(f"np.delete on {x.type}: the size and the indices must be numbers")
    places = np.delete(np.arange(dim), obj).astype(np.int64)
    return emit("Gather", x, places, axis=axis)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tile": tile,
    "repeat": repeat,
    "flip": flip,
    "flipud": _flipping(0),
    "fliplr": _flipping(1),
    "roll": roll,
    "rot90": rot90,
    "delete": delete,
}
