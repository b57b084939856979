"""Reductions, with numpy's accumulator dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import (
    axes_of,
    axis_of,
    cast,
    elementwise,
    emit,
    lift,
    product,
    truth,
    where,
)
from isomorph.frontends.array.dims import wrap
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.scope import current

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced

_INT32, _INT64, _UINT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64)
_FLOAT16, _FLOAT32, _FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


def reduce(op: str, x: Traced, axis: Any, keepdims: bool) -> Traced:
    """A Reduce operator over some axes; over none of them it is the array itself."""
    axes = axes_of(axis, x.ndim)
    if not axes:
        return x
    shape = [1 if i in axes else d for i, d in enumerate(x.dims) if keepdims or i not in axes]
    return emit(op, x, np.array(axes, np.int64), keepdims=int(keepdims), shape=shape)


def accumulator(x: Traced, dtype: Any) -> np.dtype[Any]:
    """What numpy sums integers and bools in."""
    if dtype is not None:
        return np.dtype(dtype)
    if x.dtype.kind in "bi" and x.dtype.itemsize < 8:
        return _INT64
    return _UINT64 if x.dtype.kind == "u" else x.dtype


def _summing(op: str, neutral: int) -> Callable[..., Traced]:
    def rule(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Traced:
        x = lift(a)
        wanted = accumulator(x, dtype)
        x = _masked(cast(x, wanted), where, neutral)
        found = _exactly(op, x, axis, keepdims)
        if initial is None:
            return found
        return elementwise("Add" if op == "ReduceSum" else "Mul", found, lift(initial, wanted))

    return rule


def summing_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What sums and products of a dtype are computed in: modulo 2ⁿ, signs make no difference."""
    if dtype.kind == "u":
        return _INT32 if dtype.itemsize < 4 else _INT64
    return _INT32 if dtype.kind in "bi" and dtype.itemsize < 4 else dtype


def _exactly(op: str, x: Traced, axis: Any, keepdims: bool) -> Traced:
    return cast(reduce(op, cast(x, summing_type(x.dtype)), axis, keepdims), x.dtype)


def _masked(x: Traced, mask: Any, neutral: Any) -> Traced:
    return x if mask is True else where(lift(mask), x, lift(neutral, x.dtype))


def _extreme(op: str, pairwise: str) -> Callable[..., Traced]:
    def rule(
        a: Any,
        axis: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Traced:
        x = lift(a)
        if where is not True:
            if initial is None:
                raise TraceError(f"{op} with `where` needs `initial`, as in numpy")
            x = _masked(x, where, initial)
        if initial is None:
            not_empty(x, axis, op)
        if x.dtype.kind == "b" or (x.dtype.kind in "iu" and x.dtype.itemsize == 2):
            found = cast(reduce(op, cast(x, _INT32), axis, keepdims), x.dtype)
        else:
            found = reduce(op, x, axis, keepdims)
        return found if initial is None else elementwise(pairwise, found, lift(initial, x.dtype))

    return rule


def not_empty(x: Traced, axis: Any, what: str) -> None:
    """Numpy refuses extremes of nothing: the reduced dims are known or recorded to be ≥ 1."""
    for index in axes_of(axis, x.ndim):
        current().require(x.dims[index], ">=", 1, f"{what} over axis {index}")


def _quantifier(op: str, neutral: bool) -> Callable[..., Traced]:
    def rule(
        a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True
    ) -> Traced:
        x = _masked(truth(a), where, neutral)
        return truth(reduce(op, cast(x, _INT32), axis, keepdims))

    return rule


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Traced:
    """Numpy averages integers in float64 and float16 in float32."""
    x = lift(a)
    wanted = np.dtype(dtype) if dtype is not None else _inexact(x.dtype)
    inner = _FLOAT32 if wanted == _FLOAT16 and x.dtype == _FLOAT16 else wanted
    x = cast(x, inner)
    if where is not True:
        mask = lift(where)
        total = sum_(x, axis, keepdims=keepdims, where=mask)
        counted = sum_(_spread(mask, x), axis, dtype=inner, keepdims=keepdims)
        return cast(elementwise("Div", total, counted), wanted)
    return cast(reduce("ReduceMean", x, axis, keepdims), wanted)


def _spread(mask: Traced, x: Traced) -> Traced:
    """The mask at the shape of `x`."""
    return emit("Expand", mask, emit("Shape", x), shape=x.dims)


def _inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return _FLOAT64 if dtype.kind in "biu" else dtype


def variance(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Traced:
    """The mean squared distance from the mean; `correction` is the array API's word for `ddof`."""
    if where is not True:
        raise TraceError("np.var(…, where=…) is not captured", "np.mean(…, where=…) of squares")
    x = lift(a)
    wanted = np.dtype(dtype) if dtype is not None else _inexact(x.dtype)
    inner = _FLOAT32 if wanted == _FLOAT16 else wanted
    x = cast(x, inner)
    center = reduce("ReduceMean", x, axis, True) if mean is None else lift(mean, inner)
    apart = elementwise("Sub", x, center)
    squares = elementwise("Mul", apart, apart)
    less = ddof if correction is None else correction
    if less == 0:
        return cast(reduce("ReduceMean", squares, axis, keepdims), wanted)
    count = product([x.dims[i] for i in axes_of(axis, x.ndim)])
    degrees = elementwise("Sub", lift(wrap(count, current()), inner), lift(less, inner))
    degrees = elementwise("Max", degrees, lift(0, inner))
    return cast(elementwise("Div", reduce("ReduceSum", squares, axis, keepdims), degrees), wanted)


def deviation(a: Any, *args: Any, **kwargs: Any) -> Traced:
    found = variance(a, *args, **kwargs)
    if found.dtype == _FLOAT16:
        return cast(emit("Sqrt", cast(found, _FLOAT32)), _FLOAT16)
    return emit("Sqrt", found)


deviation.__wrapped__ = variance  # type: ignore[attr-defined] - for inspect.signature


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    x = lift(a)
    if weights is None:
        if returned:
            raise TraceError("np.average(…, returned=True) without weights is not captured", "size")
        return mean(x, axis, keepdims=keepdims)
    w = lift(weights)
    dtype = np.result_type(_inexact(x.dtype), w.dtype)
    x, w = cast(x, dtype), cast(w, dtype)
    if w.ndim == 1 and x.ndim > 1:
        only = axes_of(axis, x.ndim)[0]
        w = emit("Unsqueeze", w, [i for i in range(x.ndim) if i != only])
    w = emit("Expand", w, emit("Shape", x), shape=x.dims)
    scale = sum_(w, axis, keepdims=keepdims)
    found = elementwise("Div", sum_(elementwise("Mul", x, w), axis, keepdims=keepdims), scale)
    return (found, scale) if returned else found


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    return sum_(truth(a), axis, keepdims=keepdims)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Traced:
    top = max_(a, axis, keepdims=keepdims)
    return elementwise("Sub", top, min_(a, axis, keepdims=keepdims))


def _arg(op: str) -> Callable[..., Traced]:
    def rule(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Traced:
        x = lift(a)
        not_empty(x, axis, op)
        if x.dtype.kind == "b":
            x = cast(x, _INT32)
        if axis is None:
            found = emit(op, emit("Reshape", x, [-1]), axis=0, keepdims=0)
            return emit("Reshape", found, np.ones(x.ndim, np.int64)) if keepdims else found
        chosen = axis_of(axis, x.ndim)
        shape = [1 if i == chosen else d for i, d in enumerate(x.dims) if keepdims or i != chosen]
        return emit(op, x, axis=chosen, keepdims=int(keepdims), shape=shape)

    return rule


sum_ = _summing("ReduceSum", 0)
prod = _summing("ReduceProd", 1)
max_ = _extreme("ReduceMax", "Max")
min_ = _extreme("ReduceMin", "Min")
all_ = _quantifier("ReduceMin", neutral=True)
any_ = _quantifier("ReduceMax", neutral=False)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": sum_,
    "prod": prod,
    "max": max_,
    "min": min_,
    "amax": max_,
    "amin": min_,
    "all": all_,
    "any": any_,
    "mean": mean,
    "var": variance,
    "std": deviation,
    "average": average,
    "count_nonzero": count_nonzero,
    "ptp": ptp,
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
}
