"""Norms and determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import axes_of, cast, elementwise, emit, lift
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.rules.arithmetic import is_float
from isomorph.frontends.array.rules.reduction import max_, min_, reduce, sum_
from isomorph.frontends.array.rules.shape import ravel, reshape

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced

_FLOAT64 = np.dtype(np.float64)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Traced:  # noqa: A002
    array = _inexact(lift(x))
    if axis is None:
        if ord is None:
            flat = ravel(array)
            found = emit("ReduceL2", flat, [0], keepdims=0)
            return reshape(found, (1,) * array.ndim) if keepdims else found
        axes = tuple(range(array.ndim))
    else:
        axes = axes_of(axis, array.ndim)
    if len(axes) == 1:
        return vector_norm(array, axis=axes, ord=2 if ord is None else ord, keepdims=keepdims)
    if len(axes) != 2:
        raise TraceError(f"a norm over {len(axes)} axes with ord={ord!r}: one or two are needed")
    return _matrix_norm(array, axes, "fro" if ord is None else ord, keepdims)


def _inexact(x: Traced) -> Traced:
    return x if is_float(x) else cast(x, _FLOAT64)


def vector_norm(
    x: Any,
    /,
    *,
    axis: Any = None,
    keepdims: bool = False,
    ord: Any = 2,  # noqa: A002
) -> Traced:
    array = _inexact(lift(x))
    if ord == 2:
        return reduce("ReduceL2", array, axis, keepdims)
    size = emit("Abs", array)
    if ord == 1:
        return reduce("ReduceL1", array, axis, keepdims)
    if ord == np.inf:
        return max_(size, axis, keepdims=keepdims)
    if ord == -np.inf:
        return min_(size, axis, keepdims=keepdims)
    if ord == 0:
        zero = lift(0, array.dtype)
        return sum_(cast(emit("Not", elementwise("Equal", array, zero)), array.dtype), axis,
                    keepdims=keepdims)  # fmt: skip
    if isinstance(ord, str):
        raise TraceError(f"a vector norm of order {ord!r} does not exist")
    powers = elementwise("Pow", size, lift(ord, array.dtype))
    total = reduce("ReduceSum", powers, axis, keepdims)
    return elementwise("Pow", total, lift(1 / ord, array.dtype))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Traced:  # noqa: A002
    array = _inexact(lift(x))
    return _matrix_norm(array, axes_of((-2, -1), array.ndim), ord, keepdims)


def _matrix_norm(x: Traced, axes: tuple[int, ...], order: Any, keepdims: bool) -> Traced:
    if order in ("fro", "f"):
        return reduce("ReduceL2", x, axes, keepdims)
    if order not in (1, -1, np.inf, -np.inf):
        raise TraceError(f"a matrix norm of order {order!r} needs singular values", "'fro', 1, inf")
    rows, columns = axes
    summed, other = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = reduce("ReduceL1", x, summed, True)
    found = (max_ if order > 0 else min_)(sums, other, keepdims=True)
    if keepdims:
        return found
    return emit("Squeeze", found, np.array(sorted(axes), np.int64))


def det(a: Any) -> Traced:
    return emit("Det", _inexact(lift(a)))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linalg.norm": norm,
    "linalg.vector_norm": vector_norm,
    "linalg.matrix_norm": matrix_norm,
    "linalg.det": det,
}
