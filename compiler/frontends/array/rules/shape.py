"""Reshaping: the same elements under another shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import axes_of, axis_of, broadcast, emit, ints, lift, product
from isomorph.frontends.array.dims import TracedDim
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.structure import is_many
from isomorph.frontends.array.traced import Traced
from isomorph.ir.dims import Expr, floor_div

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.frontends.array.build import Size


def sizes(shape: Any) -> list[Any]:
    """A shape argument as a list of ints, dims and traced scalars."""
    if isinstance(shape, Traced) and shape.ndim == 1:
        return list(shape)
    if is_many(shape) or isinstance(shape, np.ndarray):
        return [_size(s) for s in shape]
    return [_size(shape)]


def _size(value: Any) -> Any:
    if isinstance(value, TracedDim):
        return value.expr
    return value if isinstance(value, (Traced, Expr)) else value.__index__()


def reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Traced:
    """Reshape; one size may be −1, dims may be symbolic, and what they must satisfy is recorded."""
    x = lift(a)
    if order != "C":
        raise TraceError(f"reshape with order={order!r} is not captured", "transpose, then reshape")
    wanted = sizes(shape if shape is not None else newshape)
    if any(isinstance(s, Traced) for s in wanted):
        return emit("Reshape", x, ints(wanted))
    unknown = [i for i, s in enumerate(wanted) if isinstance(s, int) and s < 0]
    if len(unknown) > 1 or any(wanted[i] != -1 for i in unknown):
        raise TraceError(f"cannot reshape {x.type} to {tuple(wanted)}: one size may be -1")
    total = product(x.dims)
    what = f"reshaping {x.type} to ({', '.join(map(str, wanted))})"
    if unknown:
        rest = product([s for s in wanted if s != -1])
        wanted[unknown[0]] = _missing(total, rest, what)
    else:
        current().require(product(wanted), "==", total, what)
    return _reshaped(x, wanted)


def _missing(total: Size, rest: Size, what: str) -> Size:
    facts = current().trace.facts
    total, rest = facts.normal(total), facts.normal(rest)
    if rest == 0:
        raise TraceError(f"{what}: -1 cannot be inferred next to a size of 0")
    found = floor_div(total, rest)
    current().require(found * rest, "==", total, what)
    return found


def _reshaped(x: Traced, wanted: Sequence[Size]) -> Traced:
    """Reshape whose operand is constant wherever one −1 and copies of input dims (0) suffice."""
    form: list[Size] = []
    for axis, size in enumerate(wanted):
        copied = isinstance(size, Expr) and axis < x.ndim and x.dims[axis] == size
        form.append(0 if copied else size)
    open_ = [i for i, s in enumerate(form) if isinstance(s, Expr)]
    if 0 not in wanted and len(open_) <= 1:
        for index in open_:
            form[index] = -1
        return emit("Reshape", x, ints(form), shape=wanted)
    return emit("Reshape", x, ints(wanted), shape=wanted, allowzero=int(0 in wanted))


def ravel(a: Any, order: str = "C") -> Traced:
    return reshape(a, (-1,), order)


def squeeze(a: Any, axis: Any = None) -> Traced:
    x = lift(a)
    if axis is None:
        axes = tuple(i for i, d in enumerate(x.dims) if d == 1)
        for index, dim in enumerate(x.dims):
            if current().trace.facts.decide(dim, "==", 1) is None:
                raise TraceError(
                    f"squeeze of {x.type} without axes: whether axis {index} has size 1 is open",
                    "squeeze(x, axis=…)",
                )
    else:
        axes = axes_of(axis, x.ndim)
    for index in axes:
        current().require(x.dims[index], "==", 1, f"squeezing axis {index} of {x.type}")
    shape = [d for i, d in enumerate(x.dims) if i not in axes]
    return emit("Squeeze", x, np.array(axes, np.int64), shape=shape) if axes else x


def expand_dims(a: Any, axis: Any = 0) -> Traced:
    x = lift(a)
    many = axis if is_many(axis) else (axis,)
    axes = axes_of(tuple(many), x.ndim + len(many))
    return emit("Unsqueeze", x, np.array(sorted(axes), np.int64)) if axes else x


def transpose(a: Any, axes: Any = None) -> Traced:
    x = lift(a)
    order = tuple(reversed(range(x.ndim))) if axes is None else axes_of(tuple(axes), x.ndim)
    if len(order) != x.ndim:
        raise TraceError(f"transpose of {x.type} needs {x.ndim} axes, {len(order)} were given")
    return permuted(x, order)


def permuted(x: Traced, order: Sequence[int]) -> Traced:
    """Transpose, unless the order is the one that the axes have."""
    if list(order) == list(range(x.ndim)):
        return x
    return emit("Transpose", x, perm=tuple(order), shape=[x.dims[i] for i in order])


def swapaxes(a: Any, axis1: int, axis2: int) -> Traced:
    x = lift(a)
    order = list(range(x.ndim))
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[i], order[j] = order[j], order[i]
    return permuted(x, order)


def matrix_transpose(x: Any, /) -> Traced:
    if lift(x).ndim < 2:
        raise TraceError(f"the matrix transpose of {lift(x).type} needs two axes")
    return swapaxes(x, -1, -2)


def moveaxis(a: Any, source: Any, destination: Any) -> Traced:
    x = lift(a)
    source, destination = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(source) != len(destination):
        raise TraceError(f"moveaxis: {len(source)} axes go to {len(destination)} places")
    order = [i for i in range(x.ndim) if i not in source]
    for place, axis in sorted(zip(destination, source, strict=True)):
        order.insert(place, axis)
    return permuted(x, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Traced:
    x = lift(a)
    axis = axis_of(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    order = [i for i in range(x.ndim) if i != axis]
    order.insert(start - (axis < start), axis)
    return permuted(x, order)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Traced:
    x = lift(array)
    wanted = sizes(shape)
    if any(isinstance(s, Traced) for s in wanted):
        return emit("Expand", x, ints(wanted))
    found = broadcast(x.dims, wanted)
    if len(found) != len(wanted):
        raise TraceError(f"{x.type} does not broadcast to ({', '.join(map(str, wanted))})")
    for size, target in zip(found, wanted, strict=True):
        current().require(size, "==", target, f"broadcasting {x.type} to {tuple(wanted)}")
    return expanded(x, wanted)


def expanded(x: Traced, shape: Sequence[Size]) -> Traced:
    """Expand, unless the array has that shape."""
    if tuple(shape) == x.dims:
        return x
    return emit("Expand", x, ints(shape), shape=shape)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Traced, ...]:
    arrays = [lift(a) for a in args]
    shape = broadcast(*(a.dims for a in arrays))
    return tuple(expanded(a, shape) for a in arrays)


def at_least(rank: int) -> Callable[..., Any]:
    """atleast_1d, atleast_2d, atleast_3d."""

    def one(x: Traced) -> Traced:
        if x.ndim >= rank:
            return x
        places = {(3, 1): (0, 2), (3, 2): (2,)}.get((rank, x.ndim), tuple(range(rank - x.ndim)))
        return expand_dims(x, places)

    def rule(*arys: Any) -> Any:
        made = tuple(one(lift(a)) for a in arys)
        return made if len(made) != 1 else made[0]

    return rule


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "reshape": reshape,
    "ravel": ravel,
    "squeeze": squeeze,
    "expand_dims": expand_dims,
    "transpose": transpose,
    "swapaxes": swapaxes,
    "matrix_transpose": matrix_transpose,
    "linalg.matrix_transpose": matrix_transpose,
    "moveaxis": moveaxis,
    "rollaxis": rollaxis,
    "broadcast_to": broadcast_to,
    "broadcast_arrays": broadcast_arrays,
    "atleast_1d": at_least(1),
    "atleast_2d": at_least(2),
    "atleast_3d": at_least(3),
}
