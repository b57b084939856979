"""Order: sort, argsort, median, unique. Ties keep their order, as TopK defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import axis_of, cast, emit, ints, lift
from isomorph.frontends.array.build import where as choose_by
from isomorph.frontends.array.dims import wrap
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.rules.arithmetic import is_float
from isomorph.frontends.array.rules.reduction import any_
from isomorph.frontends.array.rules.shape import moveaxis, ravel, reshape
from isomorph.frontends.array.rules.subscript import getitem
from isomorph.frontends.array.scope import current

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced

_INT32, _INT64, _FLOAT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)


def _ordered(x: Traced, axis: int, descending: bool) -> tuple[Traced, Traced]:
    """All elements along an axis in order, and where they came from."""
    inner = cast(x, _INT32) if x.dtype.kind == "b" else x
    values, places = emit(
        "TopK",
        inner,
        ints([wrap(x.dims[axis], current())]),
        axis=axis,
        largest=int(descending),
        sorted=1,
        outputs=2,
        shape=x.dims,
    )
    return cast(values, x.dtype), places


def sort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: None = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Traced:
    x = lift(a)
    if axis is None:
        x, axis = ravel(x), 0
    return _ordered(x, axis_of(axis, x.ndim), descending)[0]


def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: None = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Traced:
    x = lift(a)
    if axis is None:
        x, axis = ravel(x), 0
    return _ordered(x, axis_of(axis, x.ndim), descending)[1]


def median(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Traced:  # fmt: skip
    return quantile(a, 0.5, axis, keepdims=keepdims)


def percentile(
    a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False,
) -> Traced:  # fmt: skip
    return quantile(a, np.asarray(q) / 100, axis, method=method, keepdims=keepdims)


def quantile(
    a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False,
) -> Traced:  # fmt: skip
    """Linear interpolation between neighbours in order; NaN wherever there is one."""
    x = lift(a)
    at = np.asarray(q, np.float64)
    if method != "linear" or at.ndim:
        raise TraceError("quantiles of one fraction by method 'linear' are captured, no other")
    x = x if is_float(x) else cast(x, _FLOAT64)
    rank = x.ndim
    if axis is None:
        x, place = ravel(x), 0
    else:
        place = axis_of(axis, rank)
    x = moveaxis(x, place, -1)
    count = x.dims[-1]
    current().require(count, ">=", 1, "a quantile")
    if not isinstance(count, int):
        raise TraceError(f"a quantile of the open axis {place} of {x.type}", "a fixed size there")
    ordered = _ordered(x, x.ndim - 1, descending=False)[0]
    exact = float(at) * (count - 1)
    low = int(np.floor(exact))
    below, above = getitem(ordered, (..., low)), getitem(ordered, (..., min(low + 1, count - 1)))
    found = below + (above - below) * (exact - low)
    found = choose_by(any_(emit("IsNaN", x), -1), lift(np.nan, x.dtype), found)
    if not keepdims:
        return found
    if axis is None:
        return reshape(found, (1,) * rank)
    return emit("Unsqueeze", found, np.array([place], np.int64))


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,  # noqa: A002 - numpy's own word
) -> Any:
    x = lift(ar)
    values, index, inverse, counts = _unique(x, axis)
    if return_inverse and axis is None:
        inverse = reshape(inverse, x.dims)
    wanted = ((index, return_index), (inverse, return_inverse), (counts, return_counts))
    made = (values, *(v for v, asked in wanted if asked))
    return made if len(made) > 1 else values


def _unique(x: Traced, axis: Any) -> tuple[Traced, ...]:
    chosen = None if axis is None else axis_of(axis, x.ndim)
    inner = cast(x, np.dtype(np.int8)) if x.dtype.kind == "b" else x
    values, index, inverse, counts = emit("Unique", inner, axis=chosen, sorted=1, outputs=4)
    return cast(values, x.dtype), index, inverse, counts


def unique_values(x: Any, /) -> Traced:
    return _unique(lift(x), None)[0]


def unique_counts(x: Any, /) -> Any:
    values, _, _, counts = _unique(lift(x), None)
    return np.unique_counts(np.zeros(1))._replace(values=values, counts=counts)


def unique_inverse(x: Any, /) -> Any:
    array = lift(x)
    values, _, inverse, _ = _unique(array, None)
    made = np.unique_inverse(np.zeros(1))
    return made._replace(values=values, inverse_indices=reshape(inverse, array.dims))


def unique_all(x: Any, /) -> Any:
    array = lift(x)
    values, index, inverse, counts = _unique(array, None)
    return np.unique_all(np.zeros(1))._replace(
        values=values, indices=index, inverse_indices=reshape(inverse, array.dims), counts=counts
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sort": sort,
    "argsort": argsort,
    "median": median,
    "percentile": percentile,
    "quantile": quantile,
    "unique": unique,
    "unique_values": unique_values,
    "unique_counts": unique_counts,
    "unique_inverse": unique_inverse,
    "unique_all": unique_all,
}
