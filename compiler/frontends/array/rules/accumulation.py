"""Running sums and products, and reductions that pass over NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import (
    axis_of,
    cast,
    elementwise,
    emit,
    lift,
    product,
    where,
)
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.rules.arithmetic import is_float
from isomorph.frontends.array.rules.reduction import (
    accumulator,
    all_,
    max_,
    mean,
    min_,
    prod,
    sum_,
    summing_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced


def _cumulative(op: str) -> Callable[..., Traced]:
    def rule(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Traced:
        x = lift(a)
        x = cast(x, accumulator(x, dtype))
        if axis is None:
            x, axis = emit("Reshape", x, [-1], shape=(product(x.dims),)), 0
        own = x.dtype
        x = cast(x, summing_type(own))
        found = emit(op, x, np.array(axis_of(axis, x.ndim), np.int64), shape=x.dims)
        return cast(found, own)

    return rule


def _cumulative_with_initial(op: str, neutral: int) -> Callable[..., Traced]:
    plain = _cumulative(op)

    def rule(
        x: Any,
        /,
        *,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        include_initial: bool = False,
    ) -> Traced:
        array = lift(x)
        if axis is None and array.ndim > 1:
            raise TraceError(f"cumulative operations on {array.type} need `axis`")
        chosen = axis_of(axis or 0, array.ndim)
        found = plain(array, chosen, dtype)
        if not include_initial:
            return found
        pads = [0] * (2 * found.ndim)
        pads[chosen] = 1
        return emit("Pad", found, pads, lift(neutral, found.dtype))

    return rule


def _ignoring_nan(name: str, neutral: float) -> Callable[..., Traced]:
    """Sum and prod of what is not NaN."""
    plain = sum_ if name == "sum" else prod

    def rule(
        a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False
    ) -> Traced:
        x = lift(a)
        if is_float(x):
            x = where(emit("IsNaN", x), lift(neutral, x.dtype), x)
        return plain(x, axis, dtype, keepdims=keepdims)

    return rule


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False
) -> Traced:
    x = lift(a)
    if not is_float(x):
        return mean(x, axis, dtype, keepdims=keepdims)
    present = emit("Not", emit("IsNaN", x))
    total = nansum(x, axis, dtype, keepdims=keepdims)
    return elementwise("Div", total, sum_(present, axis, total.dtype, keepdims=keepdims))


def _nan_extreme(worst: float) -> Callable[..., Traced]:
    plain = max_ if worst < 0 else min_

    def rule(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Traced:
        x = lift(a)
        if not is_float(x):
            return plain(x, axis, keepdims=keepdims)
        nan = emit("IsNaN", x)
        found = plain(where(nan, lift(worst, x.dtype), x), axis, keepdims=keepdims)
        return where(all_(nan, axis, keepdims=keepdims), lift(np.nan, x.dtype), found)

    return rule


nansum = _ignoring_nan("sum", 0)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cumsum": _cumulative("CumSum"),
    "cumprod": _cumulative("CumProd"),
    "cumulative_sum": _cumulative_with_initial("CumSum", 0),
    "cumulative_prod": _cumulative_with_initial("CumProd", 1),
    "nansum": nansum,
    "nanprod": _ignoring_nan("prod", 1),
    "nanmean": nanmean,
    "nanmax": _nan_extreme(-np.inf),
    "nanmin": _nan_extreme(np.inf),
}
