"""`x[key]` for every kind of key that numpy takes."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import broadcast, cast, clamp, emit, ints, lift
from isomorph.frontends.array.dims import TracedDim, as_dim
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.rules.shape import permuted
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.structure import is_many, is_ndarray, is_number, is_slice
from isomorph.frontends.array.traced import Traced
from isomorph.ir.dims import Expr, floor_div, minimum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.frontends.array.build import Size

_FIRST, _LAST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Pick:
    """An axis that an integer (a number or a dim) picks one element of."""

    at: Size


def getitem(x: Traced, key: Any) -> Traced:
    """A view or a gather, by numpy's rules; bounds on open dims are recorded as constraints."""
    items = _items(key)
    if len(items) == 1 and isinstance(items[0], Traced) and items[0].dtype == np.bool_:
        return _masked(x, items[0])
    items, apart = _filled(x, items)
    x, items = _with_new_axes(x, _without_masks(x, items))
    advanced = [i for i, item in enumerate(items) if isinstance(item, Traced)]
    if not advanced:
        return _basic(x, items)
    for index, item in enumerate(items):
        if isinstance(item, _Pick):
            _check_bounds(x, index, item.at)
            items[index] = lift(item.at if isinstance(item.at, int) else _dim(item.at))
            advanced.append(index)
    x = _basic(x, [i if isinstance(i, slice) else slice(None) for i in items])
    return _gather(x, {i: items[i] for i in sorted(advanced)}, apart)


def _dim(expr: Expr) -> TracedDim:
    return TracedDim(expr, current().root)


def _items(key: Any) -> list[Any]:
    if is_many(key) and isinstance(key, tuple):
        return [_item(k) for k in key]
    return [_item(key)]


def _filled(x: Traced, items: list[Any]) -> tuple[list[Any], bool]:
    """One item per axis and new axis; and whether an ellipsis stands between index arrays.

    Even one that stands for no axis separates them, in numpy.
    """
    used = sum(_width(i) for i in items if i is not Ellipsis and i is not None)
    if used > x.ndim:
        raise TraceError(f"too many indices: {x.type} has {x.ndim} axes, {used} were indexed")
    gaps = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(gaps) > 1:
        raise TraceError("an index can have one ellipsis")
    filler = [slice(None)] * (x.ndim - used)
    place = gaps[0] if gaps else len(items)
    before, after = items[:place], items[place + len(gaps) :]
    apart = all(any(isinstance(i, (Traced, _Pick)) for i in side) for side in (before, after))
    return before + filler + after, apart


def _item(key: Any) -> Any:
    if key is None or key is Ellipsis or is_slice(key):
        return key
    if isinstance(key, (bool, np.bool_)):
        raise TraceError(f"x[{key}] adds or drops everything", "x[None], or the array itself")
    dim = as_dim(key)
    if dim is not None:
        return _Pick(dim)
    if isinstance(key, Traced) or is_ndarray(key) or is_many(key):
        array = lift(np.zeros(0, np.int64) if is_many(key) and not key else key)
        if array.dtype.kind not in "biu":
            raise TraceError(
                f"an index of {array.type}: integers or bools are needed", "xp.astype(i, xp.int64)"
            )
        if array.dtype == np.bool_ and not array.ndim:
            raise TraceError("a bool scalar as an index is not captured", "xp.where(flag, a, b)")
        return array
    raise TraceError(
        f"{type(key).__name__} {reprlib.repr(key)} is not an index",
        "an int, a slice, an ellipsis, None, or an array of integers or bools",
    )


def _width(item: Any) -> int:
    """How many axes an item indexes."""
    return item.ndim if isinstance(item, Traced) and item.dtype == np.bool_ else 1


def _without_masks(x: Traced, items: Sequence[Any]) -> list[Any]:
    """Each mask replaced by one integer array per axis that it covers."""
    made: list[Any] = []
    axis = 0
    for item in items:
        if item is None:
            made.append(item)
            continue
        width = _width(item)
        if isinstance(item, Traced) and item.dtype == np.bool_:
            _check_mask(x.dims[axis : axis + width], item)
            rows = emit("NonZero", item)
            for row in range(width):
                made.append(emit("Gather", rows, np.array(row, np.int64), axis=0))
                current().same(rows.dims[1], made[-1].dims[0])
        else:
            made.append(item)
        axis += width
    return made


def _check_mask(dims: Sequence[Size], mask: Traced) -> None:
    for size, dim in zip(mask.dims, dims, strict=True):
        current().require(size, "==", dim, f"a mask of {mask.type}")


def _masked(x: Traced, mask: Traced) -> Traced:
    _check_mask(x.dims[: mask.ndim], mask)
    places = emit("Transpose", emit("NonZero", mask), perm=(1, 0))
    return emit("GatherND", x, places, shape=(places.dims[0], *x.dims[mask.ndim :]))


def _with_new_axes(x: Traced, items: Sequence[Any]) -> tuple[Traced, list[Any]]:
    new = [i for i, item in enumerate(items) if item is None]
    if new:
        x = emit("Unsqueeze", x, np.array(new, np.int64))
    return x, [slice(None) if item is None else item for item in items]


def _basic(x: Traced, items: Sequence[Any]) -> Traced:
    """Slices and picks, one item per axis: one Slice, then one Squeeze."""
    ahead = [_ahead(item, dim) for item, dim in zip(items, x.dims, strict=True)]
    if any(a is not None for a in ahead):
        x = _basic(x, [slice(None) if a is None else a for a in ahead])
        items = [
            i if a is None else slice(None, None, i.step) for i, a in zip(items, ahead, strict=True)
        ]
    starts: list[Any] = []
    ends: list[Any] = []
    steps: list[int] = []
    axes: list[int] = []
    shape: list[Size | None] = list(x.dims)
    picked: list[int] = []
    for axis, item in enumerate(items):
        if isinstance(item, _Pick):
            _check_bounds(x, axis, item.at)
            start, end, step = item.at, item.at + 1, 1
            end = _LAST if item.at == -1 else end
            picked.append(axis)
            size: Size | None = 1
        else:
            bounds = _bounds(item, x.dims[axis])
            if bounds is None:
                continue
            start, end, step, size = bounds
        starts.append(start)
        ends.append(end)
        steps.append(step)
        axes.append(axis)
        shape[axis] = size
    if axes:
        x = emit("Slice", x, ints(_wrapped(starts)), ints(_wrapped(ends)), ints(axes), ints(steps),
                 shape=shape)  # fmt: skip
    if picked:
        x = emit("Squeeze", x, np.array(picked, np.int64))
    return x


def _ahead(item: Any, dim: Size) -> slice[Any, Any, Any] | None:
    """For a backward slice of an open axis, the forward slice of what it walks over.

    ONNX moves a start before the first element onto it, where numpy finds nothing.
    """
    if not is_slice(item) or isinstance(dim, int) or not isinstance(item.step, int):
        return None
    if item.step > 0 or (item.start is None and item.stop is None):
        return None
    first, last = _after(item.stop, _LAST), _after(item.start, None)
    return slice(first, last)


def _after(bound: Any, end: Any) -> Any:
    """One past a bound; `end` past the last element."""
    if bound is None:
        return None
    return end if as_dim(bound) == -1 else bound + 1


def _wrapped(values: Sequence[Any]) -> list[Any]:
    return [_dim(v) if isinstance(v, Expr) else v for v in values]


def _check_bounds(x: Traced, axis: int, at: Size) -> None:
    """Numpy's IndexError: known not to come, or recorded as a constraint."""
    what = f"index {at} of axis {axis} of {x.type}"
    facts = current().trace.facts
    if facts.decide(at, ">=", 0) is False:
        current().require(x.dims[axis], ">=", -at, what)
    else:
        current().require(x.dims[axis], ">=", at + 1, what)


def _bounds(item: slice[Any, Any, Any], dim: Size) -> tuple[Any, Any, int, Size | None] | None:
    """(start, end, step, resulting size) for the Slice operator; `None` when all is kept."""
    step = 1 if item.step is None else item.step
    if not is_number(step) or step == 0:
        raise TraceError(f"a slice step of {step!r}: a number other than 0 is needed")
    step = int(step)
    start, end = _bound(item.start), _bound(item.stop)
    if start is None and end is None and step == 1:
        return None
    size = None
    if not isinstance(start, Traced) and not isinstance(end, Traced):
        if isinstance(dim, int) and not isinstance(start, Expr) and not isinstance(end, Expr):
            return _fixed(slice(start, end, step), dim)
        size = _slice_size(start, end, step, dim)
    if start is None:
        start = 0 if step > 0 else _LAST
    if end is None:
        end = _LAST if step > 0 else _FIRST
    return start, end, step, size


def _bound(value: Any) -> Any:
    dim = as_dim(value)
    if value is None or dim is not None:
        return dim
    if isinstance(value, Traced) and not value.ndim and value.dtype.kind in "iu":
        return cast(value, np.dtype(np.int64))
    index = getattr(value, "__index__", None)
    if index is None or isinstance(value, Traced):
        raise TraceError(f"a slice bound of {reprlib.repr(value)}: an integer is needed")
    return index()


def _fixed(item: slice[Any, Any, Any], dim: int) -> tuple[int, int, int, int]:
    """Bounds that need no clamping."""
    places = range(*item.indices(dim))
    if not places:
        return 0, 0, 1, 0
    end = places[-1] + (1 if item.step > 0 else -1)
    return places[0], _FIRST if end < 0 else end, item.step, len(places)


def _slice_size(start: Size | None, end: Size | None, step: int, dim: Size) -> Size | None:
    if step < 0:
        if start is not None or end is not None:
            return None
        return floor_div(dim - step - 1, -step)
    low = _from_front(0 if start is None else start, dim)
    high = dim if end is None else _from_front(end, dim)
    if low is None or high is None:
        return None
    low = clamp(low, 0)
    if end is not None and not current().trace.facts.decide(high, "<=", dim):
        high = minimum(high, dim)
    return floor_div(clamp(high - low, 0) + step - 1, step)


def _from_front(bound: Size, dim: Size) -> Size | None:
    """A bound counted from the front; `None` when its sign is open."""
    facts = current().trace.facts
    if facts.decide(bound, "<", 0):
        return dim + bound
    return bound if facts.decide(bound, ">=", 0) else None


def _gather(x: Traced, indices: dict[int, Traced], apart: bool) -> Traced:
    """Elements at integer arrays, which broadcast together; their axes come first if apart."""
    axes = list(indices)
    arrays = [cast(i, np.dtype(np.int64)) for i in indices.values()]
    if len(axes) == 1:
        (axis,) = axes
        shape = (*x.dims[:axis], *arrays[0].dims, *x.dims[axis + 1 :])
        return emit("Gather", x, arrays[0], axis=axis, shape=shape)
    common = broadcast(*(a.dims for a in arrays))
    rest = [i for i in range(x.ndim) if i not in axes]
    moved = permuted(x, axes + rest)
    columns = [emit("Unsqueeze", _expand(a, common), [-1]) for a in arrays]
    places = emit("Concat", *columns, axis=-1, shape=(*common, len(axes)))
    found = emit("GatherND", moved, places, shape=(*common, *moved.dims[len(axes) :]))
    if apart or axes[-1] - axes[0] != len(axes) - 1 or not axes[0]:
        return found
    rank = len(common)
    before = list(range(rank, rank + axes[0]))
    after = list(range(rank + axes[0], found.ndim))
    return permuted(found, [*before, *range(rank), *after])


def _expand(x: Traced, shape: Sequence[Size]) -> Traced:
    return x if x.dims == tuple(shape) else emit("Expand", x, ints(_wrapped(shape)), shape=shape)


FUNCTIONS: dict[str, Callable[..., Any]] = {"__getitem__": getitem}
