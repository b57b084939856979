"""reduction: what each operator computes. Narrow floats are accumulated in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]
    Axes = tuple[int, ...]
    Reduction = Callable[[Array, Axes], Any]


def _reduce(f: Reduction) -> tuple[Impl, ...]:
    """A reduction by (data, axes) that keeps the reduced dims; axes are an operand or attribute."""

    def run(call: Call, data: Any, axes: Any = None) -> Array:
        array = np.asarray(data)
        given: Any = call.attr("axes", ()) if axes is None else axes
        chosen = tuple(np.asarray(given, np.int64).reshape(-1).tolist())
        if not chosen and not call.attr("noop_with_empty_axes", 0):
            chosen = tuple(range(array.ndim))
        if any(not -array.ndim <= a < array.ndim for a in chosen):
            raise TypeInferenceError(f"{call.op}: axes {chosen} of a tensor of rank {array.ndim}")
        chosen = tuple(sorted({a % array.ndim for a in chosen}))
        result = n.like(f(n.up(array), chosen), array)
        if call.attr("keepdims", 1):
            return result
        return result.reshape([d for i, d in enumerate(array.shape) if i not in chosen])

    return (Impl(run),)


def _sum(x: Array, axes: Axes) -> Array:
    """Over no axes, the operand itself: −0 too."""
    return x.copy() if not axes else x.sum(axes, dtype=x.dtype, keepdims=True)


def _prod(x: Array, axes: Axes) -> Array:
    return x.prod(axes, dtype=x.dtype, keepdims=True)


def _mean(x: Array, axes: Axes) -> Array:
    count = np.array(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    return n.divide(_sum(x, axes), count.astype(x.dtype))


def _max(x: Array, axes: Axes) -> Array:
    """Of nothing: minus infinity, or the lowest number."""
    return x.max(axes, keepdims=True, initial=_ends(x.dtype)[0])


def _min(x: Array, axes: Axes) -> Array:
    return x.min(axes, keepdims=True, initial=_ends(x.dtype)[1])


def _ends(dtype: np.dtype) -> tuple[Any, Any]:
    if dtype.kind == "f":
        return -np.inf, np.inf
    if dtype.kind == "b":
        return False, True
    info = np.iinfo(dtype)
    return info.min, info.max


def _l1(x: Array, axes: Axes) -> Array:
    return _sum(np.abs(x), axes)


def _l2(x: Array, axes: Axes) -> Array:
    return np.sqrt(_sum(x * x, axes))


def _sum_square(x: Array, axes: Axes) -> Array:
    return _sum(x * x, axes)


def _log_sum(x: Array, axes: Axes) -> Array:
    return np.log(_sum(x, axes))


def _log_sum_exp(x: Array, axes: Axes) -> Array:
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    peak = x.max(axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(peak), peak, 0)
    return np.log(_sum(np.exp(x - shift), axes)) + shift


def _argument(f: Callable[..., Any]) -> tuple[Impl, ...]:
    """The index of an extreme element, the first or the last of several."""

    def run(call: Call, data: Any) -> Array:
        x, keep = n.up(data), bool(call.attr("keepdims", 1))
        axis = call.attr("axis", 0)
        if not call.attr("select_last_index", 0):
            return np.asarray(f(x, axis=axis, keepdims=keep)).astype(np.int64)
        found = f(np.flip(x, axis), axis=axis, keepdims=keep)
        return np.asarray(x.shape[axis] - 1 - found).astype(np.int64)

    return (Impl(run),)


def _cumulative(f: Callable[..., Any], neutral: int) -> tuple[Impl, ...]:
    """Running totals; `exclusive` starts from the neutral element, `reverse` from the end."""

    def run(call: Call, data: Any, axis: Any) -> Array:
        x, along = n.up(data), int(np.asarray(axis).reshape(-1)[0])
        x = np.moveaxis(x, along, 0)
        x = x[::-1] if call.attr("reverse", 0) else x
        total = f(x, axis=0, dtype=x.dtype)
        if call.attr("exclusive", 0):
            total = np.concatenate([np.full_like(x[:1], neutral), total[:-1]])
        total = total[::-1] if call.attr("reverse", 0) else total
        return n.like(np.ascontiguousarray(np.moveaxis(total, 0, along)), data)

    return (Impl(run),)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "ArgMax"): _argument(np.argmax),
    ("", "ArgMin"): _argument(np.argmin),
    ("", "CumProd"): _cumulative(np.cumprod, 1),
    ("", "CumSum"): _cumulative(np.cumsum, 0),
    ("", "ReduceL1"): _reduce(_l1),
    ("", "ReduceL2"): _reduce(_l2),
    ("", "ReduceLogSum"): _reduce(_log_sum),
    ("", "ReduceLogSumExp"): _reduce(_log_sum_exp),
    ("", "ReduceMax"): _reduce(_max),
    ("", "ReduceMean"): _reduce(_mean),
    ("", "ReduceMin"): _reduce(_min),
    ("", "ReduceProd"): _reduce(_prod),
    ("", "ReduceSum"): _reduce(_sum),
    ("", "ReduceSumSquare"): _reduce(_sum_square),
}
