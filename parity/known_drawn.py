"""What drawn graphs found in onnxruntime: kept apart, each as narrow as its own computation.

Measured on onnxruntime 1.31.1 (`tests/fuzz/graphs.py`).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import words
from isomorph.parity.arrays import is_double

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance import Unit

MVN_EPSILON = 1e-9
SINGLE = 2.0**-24
BEYOND_INT32, SINGLE_INTEGERS, DOUBLE_INTEGERS = 2.0**31, 2.0**24, 2.0**53
SQUARED = frozenset({"LpNormalization", "Normalizer", "MeanVarianceNormalization"})


def explain_exact(op: Op, operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> str:
    """Why a result that is determined bit by bit is another one; empty where it is not known."""
    if op.type == "QuantizeLinear" and got.dtype.name in {"int4", "uint4"}:
        return _odd_last(operands, got, wanted)
    if op.domain:
        return ""
    single = _whole_beyond(operands, SINGLE_INTEGERS)
    match op.type:
        case "Gather" if got.dtype.kind in "OUST" and (got == _first_of_block(op, operands)).all():
            return words("gather-texts")
        case "OneHot" if _is_moved_one_hot(op, operands, got):
            return "OneHot adds the depth before it cuts fractions off [onehot.cc, measured]"
        case "MaxRoiPool" if _is_lowest(got, wanted):
            return "MaxRoiPool of nothing but -inf is the lowest number [roipool.cc, measured]"
        case "Shrink" if got.dtype.kind in "iu" and single:
            return "Shrink of integers is computed in float32: wrong beyond 2²⁴ [measured]"
        case "Sign" if got.dtype.itemsize == 2 and _is_zero_of_nan(operands, got, wanted):
            return words("sign-nan")
        case "ReduceMean" if got.dtype.kind == "i" and _whole_beyond(operands, DOUBLE_INTEGERS):
            return "ReduceMean of integers is computed in float64: wrong beyond 2⁵³ [measured]"
        case "MaxUnpool" if len(operands) > 2:
            made = _in_stated_shape(operands, got.shape)
            if made is not None and (made == got).all():
                return words("unpool-indices")
            return ""
        case _:
            return ""


def explain_shape(op: Op, operands: Sequence[Any], got: tuple[int, ...]) -> str:
    """Why a result has another shape than it should, where it is known."""
    reduces = not op.domain and (op.type.startswith("Reduce") or op.type in {"ArgMax", "ArgMin"})
    given = np.shape(operands[0]) if operands else ()
    if reduces and 0 in given and 0 in got and _keeps(got, given):
        return "reductions of nothing keep dims of their operand [reduction_ops.cc, measured]"
    if op.key == ("", "NonZero") and not given and got[:1] == (1,):
        return words("nonzero-scalar")
    return ""


def _keeps(got: tuple[int, ...], given: tuple[int, ...]) -> bool:
    """Whether a shape is another with some dims left out, or as it was."""
    rest = iter(given)
    return all(any(d == g for g in rest) for d in got)


def explain(
    op: Op, operands: Sequence[Any], got: np.ndarray, truth: np.ndarray, unit: Unit
) -> tuple[np.ndarray, str]:
    """Elements of a float result that are known to be off, and in what words."""
    nothing = np.zeros(got.shape, bool)
    if op.key == ("", "MatMul") and not np.size(operands[0]):
        return ~nothing, "MatMul of nothing leaves memory as it was [matmul.cc, measured]"
    if op.domain == "" and operands and is_double(operands[0]):
        x = np.asarray(operands[0])
        if op.type == "ReduceMean" and not x.size:
            return ~nothing, "ReduceMean of nothing is 0 [reduction_ops.cc, measured]"
        if op.type == "Celu":
            alpha = abs(float(op.attr("alpha", 1.0)))
            close = np.abs(got - truth) <= 4 * unit.u * alpha
            return close, "Celu subtracts 1 from an exponential [celu, measured]"
        if op.type == "Shrink" and unit.u < SINGLE:
            size = np.abs(x) + abs(float(op.attr("bias", 0.0)))
            close = np.abs(got - truth) <= 4 * SINGLE * size
            return close, words("shrink-constants")
        if op.type == "LRN" and x.ndim > 1:
            return _sliding(
                op, x, got, truth, unit
            ), "LRN slides a sum of squares [lrn.cc, measured]"
    if op.type not in SQUARED or not operands or not is_double(operands[0]):
        return nothing, ""
    x = np.asarray(operands[0])
    if op.type == "MeanVarianceNormalization":
        axes = tuple(int(a) for a in op.attr("axes", (0, 2, 3)))
        if not x.size:
            return nothing, ""
        deviation = np.sqrt(x.var(axes, keepdims=True))
        lost = np.broadcast_to(deviation * deviation < x.size * unit.tiny / unit.u, x.shape)
        close = np.abs(got - truth) <= 4 * np.abs(truth) * MVN_EPSILON / deviation
        return (
            lost | close,
            "MeanVarianceNormalization divides by the deviation without 1e-9 [measured]",
        )
    axis = -1 if op.domain else int(op.attr("axis", -1))
    squares_add_up = op.attr("norm") == "L2" if op.domain else op.attr("p", 2) == 2
    if x.ndim == 0 or not x.size or not squares_add_up:
        return nothing, ""
    squares = (x * x).max(axis, keepdims=True)
    lost = (squares < x.shape[axis] * unit.tiny / unit.u) | (squares > unit.top / 4 / x.shape[axis])
    said = f"{op.type} adds squares that leave the range of the type [measured]"
    return np.broadcast_to(lost, got.shape) if got.shape == x.shape else nothing, said


def _sliding(op: Op, x: np.ndarray, got: np.ndarray, truth: np.ndarray, unit: Unit) -> np.ndarray:
    """Elements off by no more than a sum does that squares were added to and taken from."""
    share = float(op.attr("alpha", 1e-4)) / int(op.attr("size"))
    beta, bias = float(op.attr("beta", 0.75)), float(op.attr("bias", 1.0))
    every = share * np.add.accumulate(x * x, 1).max(1, keepdims=True)
    least = np.abs(truth / np.where(x == 0, 1.0, x))
    scale = np.where(least > 0, least, 1.0) ** (-1 / beta) if beta else np.full(x.shape, bias)
    relative = 4 * x.shape[1] * unit.u * beta * every / np.abs(scale)
    gone = ~(every < unit.top)  # added and taken away, it leaves NaN
    return (np.abs(got - truth) <= relative * np.abs(truth)) | np.broadcast_to(gone, got.shape)


def _odd_last(operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> str:
    x = np.asarray(operands[0]).astype(np.float64).reshape(-1)
    scale = np.asarray(operands[1]).astype(np.float64).reshape(-1)
    rest = (got.reshape(-1)[:-1] == wanted.reshape(-1)[:-1]).all()
    if x.size % 2 and rest and abs(x[-1] / scale[-1]) >= BEYOND_INT32:
        return "an odd last element beyond int32 becomes the least int4 [measured]"
    return ""


def _whole_beyond(operands: Sequence[Any], limit: float) -> bool:
    """Whether the first operand has integers that a float cannot tell apart."""
    x = np.asarray(operands[0])
    return x.dtype.kind in "iu" and bool((np.abs(x.astype(np.float64)) >= limit).any())


def _is_lowest(got: np.ndarray, wanted: np.ndarray) -> bool:
    lowest = got == np.finfo(got.dtype).min
    return bool(((got == wanted) | (lowest & (wanted == -np.inf))).all())


def _is_zero_of_nan(operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> bool:
    lost = np.isnan(np.asarray(operands[0]).astype(np.float64)) & (got == 0)
    return bool((lost | (got == wanted)).all())


def _is_moved_one_hot(op: Op, operands: Sequence[Any], got: np.ndarray) -> bool:
    if np.asarray(operands[0]).dtype.kind != "f":
        return False
    places, depth = np.asarray(operands[0]), int(np.asarray(operands[1]).reshape(-1)[0])
    moved = np.where(places < 0, places + depth, places).astype(np.int64)
    hot = np.expand_dims(moved, -1) == np.arange(depth)
    made = np.moveaxis(np.asarray(operands[2])[hot.astype(np.intp)], -1, int(op.attr("axis", -1)))
    return bool(made.shape == got.shape and (made == got).all())


def _first_of_block(op: Op, operands: Sequence[Any]) -> np.ndarray:
    """The result if of the elements behind each index the first alone is copied."""
    x, indices = np.asarray(operands[0], object), np.asarray(operands[1])
    axis = int(op.attr("axis", 0)) % x.ndim
    found = np.take(x, indices, axis)
    block = max(prod(x.shape[axis + 1 :]), 1)
    flat = np.full(found.size, "", object)
    flat[::block] = found.reshape(-1)[::block]
    return flat.reshape(found.shape)


def _in_stated_shape(operands: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray | None:
    x, places = np.asarray(operands[0]), np.asarray(operands[1]).reshape(-1)
    flat = np.zeros(prod(shape), x.dtype)
    if places.size and not 0 <= places.min() <= places.max() < flat.size:
        return None
    flat[places] = x.reshape(-1)
    return flat.reshape(shape)
