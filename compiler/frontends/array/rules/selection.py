"""Selecting elements by index, condition or order of magnitude."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import (
    axis_of,
    broadcast,
    cast,
    elementwise,
    emit,
    ints,
    lift,
    truth,
)
from isomorph.frontends.array.build import where as choose_by
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import is_weak, limits, result_type
from isomorph.frontends.array.rules.arithmetic import is_float
from isomorph.frontends.array.rules.reduction import any_, sum_
from isomorph.frontends.array.rules.shape import expanded, ravel, reshape
from isomorph.frontends.array.rules.subscript import getitem
from isomorph.ir.dims import Expr

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.build import Size
    from isomorph.frontends.array.traced import Traced

_INT64 = np.dtype(np.int64)


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """A choice per element; with the condition alone, the indices where it holds."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise TraceError("where takes one operand or three")
    return choose_by(truth(condition), x, y)


def nonzero(a: Any) -> tuple[Traced, ...]:
    x = truth(a)
    if not x.ndim:
        raise TraceError("nonzero of a 0-d array", "xp.nonzero(xp.reshape(x, (1,)))")
    rows = emit("NonZero", x)
    return tuple(emit("Gather", rows, np.array(i, np.int64), axis=0) for i in range(x.ndim))


def argwhere(a: Any) -> Traced:
    return emit("Transpose", emit("NonZero", truth(a)), perm=(1, 0))


def flatnonzero(a: Any) -> Traced:
    return nonzero(ravel(a))[0]


def take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: str = "raise") -> Traced:
    """Gather; `mode` says what becomes of indices out of range, as in numpy."""
    x = lift(a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    index = cast(lift(indices), _INT64)
    size = ints([x.dims[axis]])
    if mode == "clip":
        top = elementwise("Sub", emit("Squeeze", size, [0]), np.array(1, np.int64))
        index = elementwise("Max", elementwise("Min", index, top), np.array(0, np.int64))
    elif mode == "wrap":
        index = elementwise("Mod", index, emit("Squeeze", size, [0]))
    elif mode != "raise":
        raise TraceError(f"take: mode {mode!r} is none of 'raise', 'clip', 'wrap'")
    shape = (*x.dims[:axis], *index.dims, *x.dims[axis + 1 :])
    return emit("Gather", x, index, axis=axis, shape=shape)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Traced:
    """GatherElements; the other axes broadcast."""
    x, index = lift(arr), cast(lift(indices), _INT64)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    if index.ndim != x.ndim:
        raise TraceError(f"take_along_axis: {x.type} and {index.type} have different ranks")
    around = broadcast(_without(x.dims, axis), _without(index.dims, axis))
    x = expanded(x, _with(around, axis, x.dims[axis]))
    index = expanded(index, _with(around, axis, index.dims[axis]))
    return emit("GatherElements", x, index, axis=axis, shape=index.dims)


def _without(dims: tuple[Size, ...], axis: int) -> tuple[Size, ...]:
    return dims[:axis] + dims[axis + 1 :]


def _with(dims: tuple[Size, ...], axis: int, size: Size) -> tuple[Size, ...]:
    return (*dims[:axis], size, *dims[axis:])


def compress(condition: Any, a: Any, axis: Any = None, out: None = None) -> Traced:
    x = lift(a)
    return emit("Compress", x, truth(condition), axis=None if axis is None else int(axis))


def extract(condition: Any, arr: Any) -> Traced:
    return compress(ravel(truth(condition)), ravel(arr), 0)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Traced:
    """The first choice whose condition holds."""
    found: Any = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        found = choose_by(lift(condition), choice, found)
    return found


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Traced:
    index = lift(a)
    dtype = result_type(*choices)
    found = lift(choices[-1], dtype)
    for number in reversed(range(len(choices) - 1)):
        found = choose_by(elementwise("Equal", index, lift(number, index.dtype)),
                          lift(choices[number], dtype), found)  # fmt: skip
    return found


def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: None = None,
    *,
    min: Any = None,  # noqa: A002 - numpy's and the array API's own words
    max: Any = None,  # noqa: A002
    dtype: Any = None,
) -> Traced:
    """Clip where both bounds are scalars, else Max and Min; bounds take part in promotion."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    given = [v for v in (low, high) if v is not None]
    wanted = np.dtype(dtype) if dtype is not None else result_type(lift(a), *given)
    x = lift(a, wanted)
    bounds = [None if v is None else lift(_fitting(v, wanted), wanted) for v in (low, high)]
    if wanted.kind != "b" and all(b is None or not b.ndim for b in bounds):
        return emit("Clip", x, *bounds, shape=x.dims) if given else x
    lowest, highest = bounds
    larger, smaller = ("Or", "And") if wanted.kind == "b" else ("Max", "Min")
    x = x if lowest is None else elementwise(larger, x, lowest)
    return x if highest is None else elementwise(smaller, x, highest)


def _fitting(bound: Any, dtype: np.dtype[Any]) -> Any:
    """A Python integer bound beyond the dtype bounds nothing, in numpy."""
    if dtype.kind in "iu" and is_weak(bound) and type(bound) is int:
        range_ = limits(dtype)
        return min(max(bound, int(range_.min)), int(range_.max))
    return bound


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Traced:
    array = lift(x)
    if not is_float(array):
        return array
    range_ = limits(array.dtype)
    zero = lift(0, array.dtype)
    infinite = emit("IsInf", array)
    above = elementwise("And", infinite, elementwise("Greater", array, zero))
    below = elementwise("And", infinite, elementwise("Less", array, zero))
    found = choose_by(emit("IsNaN", array), lift(nan, array.dtype), array)
    top = range_.max if posinf is None else posinf
    bottom = range_.min if neginf is None else neginf
    found = choose_by(above, lift(top, array.dtype), found)
    return choose_by(below, lift(bottom, array.dtype), found)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Traced:
    """Compared with every test element."""
    x, tests = lift(element), ravel(lift(test_elements))
    dtype = result_type(x, tests)
    same = elementwise("Equal", emit("Unsqueeze", cast(x, dtype), [-1]), cast(tests, dtype))
    found = any_(same, -1)
    return emit("Not", found) if invert else found


def searchsorted(
    a: Any,
    v: Any,
    side: str = "left",
    sorter: Any = None,
) -> Traced:
    """How many elements of the sorted `a` come before each of `v`."""
    sorted_ = lift(a)
    if sorter is not None:
        sorted_ = getitem(sorted_, lift(sorter))
    values = lift(v)
    dtype = result_type(sorted_, values)
    column = emit("Unsqueeze", cast(values, dtype), [-1])
    before = elementwise("Less" if side == "left" else "LessOrEqual", cast(sorted_, dtype), column)
    return sum_(before, -1)


def digitize(x: Any, bins: Any, right: bool = False) -> Traced:
    edges = np.asarray(bins) if not hasattr(bins, "value") else None
    if edges is not None and len(edges) > 1 and edges[0] > edges[-1]:
        count = lift(len(edges), _INT64)
        flipped = searchsorted(edges[::-1], x, "right" if right else "left")
        return elementwise("Sub", count, flipped)
    return searchsorted(bins, x, "left" if right else "right")


def iota(dims: tuple[Size, ...]) -> Traced:
    """0, 1, 2, … in this shape."""
    from isomorph.frontends.array.build import product

    total = product(dims)
    if not isinstance(total, Expr):
        fixed = [d for d in dims if isinstance(d, int)]
        return lift(np.arange(total, dtype=np.int64).reshape(fixed))
    limit = emit("Squeeze", ints([total]), [0])
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    return reshape(emit("Range", zero, limit, one, shape=(total,)), dims)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": where,
    "nonzero": nonzero,
    "argwhere": argwhere,
    "flatnonzero": flatnonzero,
    "take": take,
    "take_along_axis": take_along_axis,
    "compress": compress,
    "extract": extract,
    "select": select,
    "choose": choose,
    "clip": clip,
    "nan_to_num": nan_to_num,
    "isin": isin,
    "searchsorted": searchsorted,
    "digitize": digitize,
}
