"""Products of arrays, diagonals and traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import (
    axes_of,
    axis_of,
    broadcast,
    cast,
    elementwise,
    emit,
    lift,
    product,
    strong,
    truth,
    where,
)
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import result_type
from isomorph.frontends.array.rules.arithmetic import is_float
from isomorph.frontends.array.rules.einsum import einsum
from isomorph.frontends.array.rules.reduction import sum_
from isomorph.frontends.array.rules.shape import expand_dims, moveaxis, permuted, ravel, reshape
from isomorph.frontends.array.rules.subscript import getitem
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.structure import is_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.build import Size
    from isomorph.frontends.array.traced import Traced

_BOOL, _INT32, _FLOAT64 = np.dtype(np.bool_), np.dtype(np.int32), np.dtype(np.float64)


def matmul(x1: Any, x2: Any, /, dtype: Any = None) -> Traced:
    """MatMul; what it has no type for is multiplied in int32 and cast back."""
    wanted = np.dtype(dtype) if dtype is not None else result_type(x1, x2)
    a, b = lift(x1, wanted), lift(x2, wanted)
    if not a.ndim or not b.ndim:
        raise TraceError(f"matmul of {a.type} and {b.type}: a scalar has none", "x * y")
    shape = _matmul_shape(a, b)
    if is_float(a) or wanted.itemsize >= 4:
        return emit("MatMul", a, b, shape=shape)
    found = emit("MatMul", cast(a, _INT32), cast(b, _INT32), shape=shape)
    return truth(found) if wanted == _BOOL else cast(found, wanted)


def _matmul_shape(a: Traced, b: Traced) -> tuple[Size, ...]:
    inner = b.dims[-2] if b.ndim > 1 else b.dims[0]
    current().require(a.dims[-1], "==", inner, f"the matrix product of {a.type} and {b.type}")
    rows = a.dims[-2:-1] if a.ndim > 1 else ()
    columns = b.dims[-1:] if b.ndim > 1 else ()
    return (*broadcast(a.dims[:-2], b.dims[:-2]), *rows, *columns)


def dot(a: Any, b: Any, out: None = None) -> Traced:
    x, y = strong(a), strong(b)
    if not x.ndim or not y.ndim:
        dtype = result_type(x, y)
        return elementwise("And" if dtype == _BOOL else "Mul", cast(x, dtype), cast(y, dtype))
    if x.ndim <= 2 and y.ndim <= 2:
        return matmul(x, y)
    return tensordot(x, y, ((-1,), (-2 if y.ndim > 1 else -1,)))


def vdot(a: Any, b: Any, /) -> Traced:
    return matmul(ravel(a), ravel(b))


def inner(a: Any, b: Any, /) -> Traced:
    x, y = lift(a), lift(b)
    return tensordot(x, y, ((-1,), (-1,))) if x.ndim and y.ndim else dot(x, y)


def outer(a: Any, b: Any, out: None = None) -> Traced:
    x, y = ravel(a), ravel(b)
    dtype = result_type(x, y)
    op = "And" if dtype == _BOOL else "Mul"
    return elementwise(op, cast(expand_dims(x, 1), dtype), cast(expand_dims(y, 0), dtype))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Traced:
    """Contracted axes moved together, one MatMul, the free axes restored."""
    x, y = lift(a), lift(b)
    if is_number(axes):
        left = tuple(range(x.ndim - int(axes), x.ndim))
        right = tuple(range(int(axes)))
    else:
        left, right = axes_of(axes[0], x.ndim), axes_of(axes[1], y.ndim)
    if len(left) != len(right):
        raise TraceError(f"tensordot contracts {len(left)} axes with {len(right)}")
    for i, j in zip(left, right, strict=True):
        current().require(x.dims[i], "==", y.dims[j], f"contracting {x.type} with {y.type}")
    kept_left = [i for i in range(x.ndim) if i not in left]
    kept_right = [i for i in range(y.ndim) if i not in right]
    rows = [x.dims[i] for i in kept_left]
    columns = [y.dims[i] for i in kept_right]
    shared = product([x.dims[i] for i in left])
    x = reshape(permuted(x, [*kept_left, *left]), [product(rows), shared])
    y = reshape(permuted(y, [*right, *kept_right]), [shared, product(columns)])
    return reshape(matmul(x, y), [*rows, *columns])


def vecdot(x1: Any, x2: Any, /, axis: int = -1) -> Traced:
    dtype = result_type(x1, x2)
    a, b = lift(x1, dtype), lift(x2, dtype)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    return getitem(matmul(expand_dims(a, -2), expand_dims(b, -1)), (..., 0, 0))


def matvec(x1: Any, x2: Any, /) -> Traced:
    return getitem(matmul(x1, expand_dims(x2, -1)), (..., 0))


def vecmat(x1: Any, x2: Any, /) -> Traced:
    return getitem(matmul(expand_dims(x1, -2), x2), (..., 0, slice(None)))


def multi_dot(arrays: Any, *, out: None = None) -> Traced:
    found = lift(arrays[0])
    for other in arrays[1:]:
        found = matmul(found, other)
    return found


def matrix_power(a: Any, n: int) -> Traced:
    x = lift(a)
    if n < 1:
        raise TraceError(f"matrix_power with n={n} is not captured", "a power of 1 or more")
    found = x
    for _ in range(n - 1):
        found = matmul(found, x)
    return found


def kron(a: Any, b: Any) -> Traced:
    x, y = lift(a), lift(b)
    rank = max(x.ndim, y.ndim)
    x, y = (expand_dims(v, tuple(range(rank - v.ndim))) for v in (x, y))
    shape = [i * j for i, j in zip(x.dims, y.dims, strict=True)]
    wide = expand_dims(x, tuple(range(1, 2 * rank, 2)))
    dtype = result_type(x, y)
    other = expand_dims(y, tuple(range(0, 2 * rank, 2)))
    return reshape(elementwise("Mul", cast(wide, dtype), cast(other, dtype)), shape)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
          ) -> Traced:  # fmt: skip
    if axis is not None:
        axisa = axisb = axisc = axis
    dtype = result_type(a, b)
    x, y = moveaxis(lift(a, dtype), axisa, -1), moveaxis(lift(b, dtype), axisb, -1)
    for array in (x, y):
        current().require(array.dims[-1], "==", 3, "cross")
    i, j = np.array([1, 2, 0]), np.array([2, 0, 1])

    def at(array: Traced, places: np.ndarray) -> Traced:
        return emit("Gather", array, places.astype(np.int64), axis=-1)

    found = elementwise(
        "Sub",
        elementwise("Mul", at(x, i), at(y, j)),
        elementwise("Mul", at(x, j), at(y, i)),
    )
    return moveaxis(found, -1, axisc)


def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Traced:
    return cross(x1, x2, axis=axis)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
    x = lift(a)
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    rows, columns = x.dims[i], x.dims[j]
    x = permuted(x, [k for k in range(x.ndim) if k not in (i, j)] + [i, j])
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise TraceError(f"the diagonal of {x.type}: both axes need a fixed size", "xp.einsum")
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = np.arange(count)
    return getitem(x, (..., start + max(-offset, 0), start + max(offset, 0)))


def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Traced:
    return diagonal(x, offset, -2, -1)


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Traced:
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype)


def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Traced:
    return trace(x, offset, -2, -1, dtype)


def diag(v: Any, k: int = 0) -> Traced:
    x = lift(v)
    if x.ndim == 2:
        return diagonal(x, k)
    size = x.dims[0]
    if x.ndim != 1 or not isinstance(size, int):
        raise TraceError(f"diag of {x.type}: one or two axes of fixed size are needed")
    whole = size + abs(k)
    places = np.zeros((whole, whole), np.int64)
    mask = np.zeros((whole, whole), np.bool_)
    index = np.arange(size)
    places[index + max(-k, 0), index + max(k, 0)] = index
    mask[index + max(-k, 0), index + max(k, 0)] = True
    found = emit("Gather", x, places, axis=0)
    return where(mask, found, lift(0, x.dtype))


def _triangle(upper: int) -> Callable[..., Traced]:
    def rule(m: Any, k: Any = 0) -> Traced:
        x = lift(m)
        if x.ndim < 2:
            raise TraceError(f"tril and triu need two axes, {x.type} has {x.ndim}")
        return emit("Trilu", x, lift(k, np.dtype(np.int64)), upper=upper, shape=x.dims)

    return rule


UFUNCS: dict[str, Callable[..., Any]] = {
    "matmul": matmul,
    "vecdot": vecdot,
    "matvec": matvec,
    "vecmat": vecmat,
}
"""Generalised ufuncs: they promote for themselves."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "dot": dot,
    "vdot": vdot,
    "inner": inner,
    "outer": outer,
    "tensordot": tensordot,
    "einsum": einsum,
    "kron": kron,
    "cross": cross,
    "diagonal": diagonal,
    "trace": trace,
    "diag": diag,
    "tril": _triangle(0),
    "triu": _triangle(1),
    "linalg.matmul": matmul,
    "linalg.outer": outer,
    "linalg.tensordot": tensordot,
    "linalg.vecdot": vecdot,
    "linalg.multi_dot": multi_dot,
    "linalg.matrix_power": matrix_power,
    "linalg.cross": linalg_cross,
    "linalg.diagonal": linalg_diagonal,
    "linalg.trace": linalg_trace,
}
