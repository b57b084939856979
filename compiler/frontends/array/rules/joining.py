"""Joining, splitting, repeating and reordering arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import (
    axes_of,
    axis_of,
    cast,
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
from isomorph.frontends.array.rules.selection import iota
from isomorph.frontends.array.rules.shape import (
    at_least,
    expand_dims,
    expanded,
    ravel,
    reshape,
    swapaxes,
)
from isomorph.frontends.array.rules.subscript import getitem
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.traced import Traced
from isomorph.ir.dims import Expr, floor_div

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.frontends.array.build import Size


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
    axis = axis_of(axis, first.ndim)
    for other in parts[1:]:
        if other.ndim != first.ndim:
            raise TraceError(f"{first.type} and {other.type} have different ranks: no concatenation")
        for index in range(first.ndim):
            if index != axis:
                what = f"concatenating {first.type} and {other.type} along axis {axis}"
                current().require(first.dims[index], "==", other.dims[index], what)
    total: Size = 0
    for part in parts:
        total = part.dims[axis] + total
    shape = (*first.dims[:axis], total, *first.dims[axis + 1 :])
    return emit("Concat", *parts, axis=axis, shape=shape) if len(parts) > 1 else first


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
    edges = [None, *bounds, None]
    return [
        getitem(x, (*before, slice(a, b))) for a, b in zip(edges, edges[1:], strict=False)
    ]


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


def tile(A: Any, reps: Any) -> Traced:  # noqa: N803 - numpy's parameter
    x = lift(A)
    counts = list(reps) if isinstance(reps, (tuple, list, np.ndarray)) else [reps]
    counts = [1] * (x.ndim - len(counts)) + counts
    if len(counts) > x.ndim:
        x = expand_dims(x, tuple(range(len(counts) - x.ndim)))
    sizes = [as_dim(c) for c in counts]
    shape = [None if c is None else c * d for c, d in zip(sizes, x.dims, strict=True)]
    return emit("Tile", x, ints(counts), shape=shape) if counts else x


def repeat(a: Any, repeats: Any, axis: Any = None) -> Traced:
    x = lift(a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    count = as_dim(repeats)
    if count is not None:
        wide = emit("Unsqueeze", x, [axis + 1])
        shape = (*x.dims[: axis + 1], count, *x.dims[axis + 1 :])
        merged = (*x.dims[:axis], x.dims[axis] * count, *x.dims[axis + 1 :])
        return reshape(expanded(wide, shape), merged)
    if isinstance(repeats, Traced):
        return _repeat_by(x, cast(repeats, np.dtype(np.int64)), axis)
    dim = x.dims[axis]
    counts = np.asarray(repeats)
    if not isinstance(dim, int):
        raise TraceError(f"repeat of the open axis {axis} of {x.type} by {counts.tolist()}")
    places = np.repeat(np.arange(dim), counts)
    return emit("Gather", x, places.astype(np.int64), axis=axis)


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


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Traced:
    """Constant, edge, reflect and wrap are Pad's own; symmetric is gathered along fixed axes."""
    x = lift(array)
    width = _pad_width(pad_width, x.ndim)
    if mode == "symmetric":
        return _pad_symmetric(x, width)
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise TraceError(f"np.pad with mode={mode!r} is not captured", "constant, edge, reflect, wrap")
    if unknown := set(kwargs) - {"constant_values", "reflect_type"}:
        raise TraceError(f"np.pad does not take {', '.join(sorted(unknown))} with mode {mode!r}")
    if kwargs.get("reflect_type", "even") != "even":
        raise TraceError("np.pad with reflect_type='odd' is not captured", "reflect_type='even'")
    if mode in ("reflect", "wrap"):
        for axis, pair in enumerate(width):
            for count in pair:
                needed = count + 1 if mode == "reflect" and count else count
                current().require(x.dims[axis], ">=", needed, f"{mode} padding of axis {axis}")
    pads = [before for before, _ in width] + [after for _, after in width]
    shape = [d + a + b for d, (a, b) in zip(x.dims, width, strict=True)]
    fill = kwargs.get("constant_values", 0)
    if mode == "constant" and not np.isscalar(fill) and not isinstance(fill, Traced):
        return _pad_constants(x, width, np.asarray(fill))
    value = lift(fill, x.dtype) if mode == "constant" else None
    return emit("Pad", x, ints([wrap(p, current()) for p in pads]), value, mode=mode, shape=shape)


def _pad_width(given: Any, rank: int) -> list[tuple[Size, Size]]:
    if isinstance(given, dict):
        found: list[tuple[Size, Size]] = [(0, 0)] * rank
        for axis, pair in given.items():
            found[axis_of(axis, rank)] = _pad_width(pair, 1)[0]
        return found
    size = as_dim(given)
    if size is not None:
        return [(size, size)] * rank
    items = [tuple(i) if isinstance(i, (tuple, list, np.ndarray)) else i for i in given]
    if all(not isinstance(i, tuple) for i in items):
        items = [tuple(items)] if len(items) > 1 else [(items[0], items[0])]
    pairs = [_pair(i) for i in items]
    if len(pairs) == 1:
        pairs *= rank
    if len(pairs) != rank:
        raise TraceError(f"pad_width {given!r} does not fit an array of rank {rank}")
    return pairs


def _pair(item: Any) -> tuple[Size, Size]:
    sizes = [as_dim(i) for i in (item if isinstance(item, tuple) else (item,))]
    if len(sizes) == 1:
        sizes *= 2
    before, after = sizes
    if before is None or after is None:
        raise TraceError(f"pad width {item!r}: integers are needed")
    return before, after


def _pad_constants(x: Traced, width: Sequence[tuple[Size, Size]], fill: np.ndarray) -> Traced:
    """A value of its own for each edge; the last axis is padded last, as in numpy."""
    values = np.broadcast_to(fill, (x.ndim, 2))
    for axis, pair in enumerate(width):
        for side, size in enumerate(pair):
            pads: list[Size] = [0] * (2 * x.ndim)
            pads[axis + side * x.ndim] = size
            shape = [d + size if i == axis else d for i, d in enumerate(x.dims)]
            fill_value = lift(values[axis, side], x.dtype)
            x = emit("Pad", x, ints([wrap(p, current()) for p in pads]), fill_value, shape=shape)
    return x


def _pad_symmetric(x: Traced, width: Sequence[tuple[Size, Size]]) -> Traced:
    for axis, (before, after) in enumerate(width):
        dim = x.dims[axis]
        if (before, after) == (0, 0):
            continue
        if isinstance(dim, Expr) or isinstance(before, Expr) or isinstance(after, Expr):
            raise TraceError(f"symmetric padding of the open axis {axis} of {x.type}", "reflect, edge")
        places = np.pad(np.arange(dim), (before, after), "symmetric")
        x = emit("Gather", x, places, axis=axis)
    return x


def append(arr: Any, values: Any, axis: Any = None) -> Traced:
    return concatenate([arr, values], axis)


def delete(arr: Any, obj: Any, axis: Any = None) -> Traced:
    x = lift(arr)
    if axis is None:
        x, axis = ravel(x), 0
    dim = x.dims[axis_of(axis, x.ndim)]
    if not isinstance(dim, int) or isinstance(obj, Traced):
        raise TraceError(f"np.delete on {x.type}: the size and the indices must be numbers")
    return take_places(x, np.delete(np.arange(dim), obj), axis)


def take_places(x: Traced, places: np.ndarray, axis: int) -> Traced:
    """Gather at constant places."""
    return emit("Gather", x, places.astype(np.int64), axis=axis)


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
    "tile": tile,
    "repeat": repeat,
    "flip": flip,
    "flipud": _flipping(0),
    "fliplr": _flipping(1),
    "roll": roll,
    "rot90": rot90,
    "pad": pad,
    "append": append,
    "delete": delete,
    "diff": diff,
    "meshgrid": meshgrid,
}
