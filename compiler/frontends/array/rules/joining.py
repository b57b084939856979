"""Joining and splitting arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import (
    axis_of,
    elementwise,
    emit,
    ints,
    lift,
    product,
    strong,
)
from isomorph.frontends.array.dims import as_dim, wrap
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import result_type
from isomorph.frontends.array.rules.shape import (
    at_least,
    expand_dims,
    expanded,
    ravel,
    reshape,
)
from isomorph.frontends.array.rules.subscript import getitem
from isomorph.frontends.array.scope import current
from isomorph.ir.dims import floor_div

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.frontends.array.build import Size
    from isomorph.frontends.array.traced import Traced


def concatenate(
    arrays: Any,
    /,
    axis: Any = 0,
    out: None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Traced:
    given = list(arrays)
    if not given:
        raise TraceError("there is nothing to concatenate")
    wanted = np.dtype(dtype) if dtype is not None else result_type(*given)
    parts = [lift(a, wanted) for a in given]
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    first = parts[0]
    place = axis_of(axis, first.ndim)
    for other in parts[1:]:
        if other.ndim != first.ndim:
            raise TraceError(f"{first.type} and {other.type} differ in rank: no concatenation")
        for index in range(first.ndim):
            if index != place:
                what = f"concatenating {first.type} and {other.type} along axis {place}"
                current().require(first.dims[index], "==", other.dims[index], what)
    total: Size = 0
    for part in parts:
        total = part.dims[place] + total
    shape = (*first.dims[:place], total, *first.dims[place + 1 :])
    return emit("Concat", *parts, axis=place, shape=shape) if len(parts) > 1 else first


def stack(
    arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Traced:
    given = list(arrays)
    if not given:
        raise TraceError("there is nothing to stack")
    wanted = np.dtype(dtype) if dtype is not None else result_type(*map(strong, given))
    return concatenate([expand_dims(lift(a, wanted), axis) for a in given],
                       axis_of(axis, lift(given[0]).ndim + 1))  # fmt: skip


def _stacking(rank: int, axis: int) -> Callable[..., Traced]:
    def rule(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
        parts = [at_least(rank)(a) for a in tup]
        return concatenate(parts, 0 if axis == 1 and parts[0].ndim == 1 else axis, dtype=dtype)

    return rule


def column_stack(tup: Any) -> Traced:
    parts = [lift(a) for a in tup]
    return concatenate([expand_dims(at_least(1)(p), -1) if p.ndim < 2 else p for p in parts], 1)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    """Equal parts (an open dim is recorded as divisible), or parts between given indices."""
    x = lift(ary)
    axis = axis_of(axis, x.ndim)
    count = as_dim(indices_or_sections)
    if count is None:
        return _between(x, list(indices_or_sections), axis)
    if not isinstance(count, int):
        raise TraceError("the number of parts of a split must be a number")
    dim = x.dims[axis]
    size = floor_div(dim, count)
    current().require(size * count, "==", dim, f"splitting axis {axis} of {x.type} in {count}")
    if count == 1:
        return [x]
    sizes = [size] * count
    return _parts(x, sizes, axis)


def _parts(x: Traced, sizes: Sequence[Size], axis: int) -> list[Traced]:
    found = emit(
        "Split", x, ints([wrap(s, current()) for s in sizes]), axis=axis, outputs=len(sizes)
    )
    return list(found)


def _between(x: Traced, bounds: Sequence[Any], axis: int) -> list[Traced]:
    before = (slice(None),) * axis
    edges = pairwise([None, *bounds, None])
    return [getitem(x, (*before, slice(a, b))) for a, b in edges]


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    x = lift(ary)
    axis = axis_of(axis, x.ndim)
    count = as_dim(indices_or_sections)
    if count is None:
        return _between(x, list(indices_or_sections), axis)
    dim = x.dims[axis]
    if not isinstance(dim, int) or not isinstance(count, int):
        raise TraceError(f"array_split of the open axis {axis} of {x.type}", "xp.split")
    short, longer = divmod(dim, count)
    return _parts(x, [short + 1] * longer + [short] * (count - longer), axis)


def _splitting(axis: int) -> Callable[..., list[Traced]]:
    def rule(ary: Any, indices_or_sections: Any) -> list[Traced]:
        x = lift(ary)
        return split(x, indices_or_sections, 0 if axis == 1 and x.ndim == 1 else axis)

    return rule


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Traced, ...]:
    array = lift(x)
    axis = axis_of(axis, array.ndim)
    dim = array.dims[axis]
    if not isinstance(dim, int):
        raise TraceError(f"unstack of {array.type}: axis {axis} has no fixed size", "x itself")
    before = (slice(None),) * axis
    return tuple(getitem(array, (*before, i)) for i in range(dim))


def append(arr: Any, values: Any, axis: Any = None) -> Traced:
    return concatenate([arr, values], axis)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Traced:
    x = lift(a)
    axis = axis_of(axis, x.ndim)
    ends = [v for v in (prepend, x, append) if v is not None]
    if len(ends) > 1:
        x = concatenate([v if lift(v).ndim else _slab(v, x, axis) for v in ends], axis)
    before = (slice(None),) * axis
    for _ in range(n):
        later, earlier = getitem(x, (*before, slice(1, None))), getitem(x, (*before, slice(-1)))
        if x.dtype.kind == "b":
            x = elementwise("Xor", later, earlier)
        else:
            x = elementwise("Sub", later, earlier)
    return x


def _slab(value: Any, x: Traced, axis: int) -> Traced:
    return expanded(lift(value), [1 if i == axis else d for i, d in enumerate(x.dims)])


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
             ) -> tuple[Traced, ...]:  # fmt: skip
    axes = [ravel(a) for a in xi]
    rank = len(axes)
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[:2] = [1, 0]
    shape: list[Size] = [1] * rank
    for place, array in zip(places, axes, strict=True):
        shape[place] = product(array.dims)
    made = [
        reshape(a, [shape[i] if i == place else 1 for i in range(rank)])
        for place, a in zip(places, axes, strict=True)
    ]
    return tuple(m if sparse else expanded(m, shape) for m in made)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "concatenate": concatenate,
    "stack": stack,
    "vstack": _stacking(2, 0),
    "hstack": _stacking(1, 1),
    "dstack": _stacking(3, 2),
    "column_stack": column_stack,
    "split": split,
    "array_split": array_split,
    "vsplit": _splitting(0),
    "hsplit": _splitting(1),
    "dsplit": _splitting(2),
    "unstack": unstack,
    "append": append,
    "meshgrid": meshgrid,
    "diff": diff,
}
