"""What drawn graphs found in onnxruntime: kept apart, each as narrow as its own computation.

Measured on onnxruntime 1.31.1 (`tests/fuzz/graphs.py`).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance import Unit

MVN_EPSILON = 1e-9
SINGLE, SINGLE_TOP = 2.0**-24, 2.0**127
BEYOND_INT32, SINGLE_INTEGERS = 2.0**31, 2.0**24


def explain_exact(op: Op, operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> str:
    """Why a result that is determined bit by bit is another one; empty where it is not known."""
    if op.domain:
        return ""
    if op.type == "QuantizeLinear" and got.dtype.name in {"int4", "uint4"}:
        return words("quantize-odd-last") if _odd_last(operands, got, wanted) else ""
    match op.type:
        case "Gather" if got.dtype.kind in "OUST" and (got == _first_of_block(op, operands)).all():
            return words("gather-texts")
        case "OneHot" if _is_moved_one_hot(op, operands, got):
            return words("one-hot-fractions")
        case "MaxPool" | "GlobalMaxPool" | "MaxRoiPool" if _is_lowest(got, wanted):
            return words("pool-lowest")
        case "Shrink" if got.dtype.kind in "iu" and _whole_beyond(operands, SINGLE_INTEGERS):
            return words("shrink-integers")
        case "Mod" if op.attr("fmod", 0) and got.dtype.kind in "iu":
            made = np.fmod(*(np.asarray(v).astype(np.float64) for v in operands[:2]))
            return words("mod-as-floats") if ((got == wanted) | (got == made)).all() else ""
        case "Sign" if got.dtype.itemsize == 2 and _is_zero_of_nan(operands, got, wanted):
            return words("sign-nan")
        case "MaxUnpool" if len(operands) > 2:
            made = _in_stated_shape(operands, got.shape)
            return words("unpool-indices") if made is not None and (made == got).all() else ""
        case _:
            return ""


def in_single(
    op: Op, operands: Sequence[Any], got: np.ndarray, truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """What a Shrink in float64 owes to attributes in float32."""
    size = np.abs(operands[0]) + abs(float(op.attr("bias", 0.0)))
    beyond = (size > SINGLE_TOP) & ~np.isfinite(got)
    return (beyond | (np.abs(got - truth) <= 4 * SINGLE * size)) & (unit.u < SINGLE)


def without_epsilon(
    op: Op, operands: Sequence[Any], got: np.ndarray, truth: np.ndarray, _unit: Unit
) -> np.ndarray:
    """A MeanVarianceNormalization that divides by the deviation as it is."""
    x = np.asarray(operands[0])
    if not x.size:
        return np.zeros(got.shape, bool)
    axes = tuple(int(a) for a in op.attr("axes", (0, 2, 3)))
    deviation = np.sqrt(x.var(axes, keepdims=True))
    return np.abs(got - truth) <= 4 * np.abs(truth) * MVN_EPSILON / deviation


def squares_lost(
    op: Op, operands: Sequence[Any], got: np.ndarray, _truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Everything along an axis whose squares, or their sum, leave the range of the format."""
    x = np.asarray(operands[0])
    nothing = np.zeros(got.shape, bool)
    if not x.size or not x.ndim:
        return nothing
    if op.type == "MeanVarianceNormalization":
        axes = tuple(int(a) for a in op.attr("axes", (0, 2, 3)))
        variance, largest = x.var(axes, keepdims=True), (x * x).max(axes, keepdims=True)
        lost = (variance < x.size * unit.tiny / unit.u) | (largest > unit.top / 4 / x.size)
        return np.broadcast_to(lost, x.shape)
    squared = op.attr("norm") == "L2" if op.domain else op.attr("p", 2) == 2
    if not squared or got.shape != x.shape:
        return nothing
    axis = -1 if op.domain else int(op.attr("axis", -1))
    squares = (x * x).max(axis, keepdims=True)
    lost = (squares < x.shape[axis] * unit.tiny / unit.u) | (squares > unit.top / 4 / x.shape[axis])
    if op.domain:  # √(x² / Σx²), where a square may be lost alone
        lost = lost | (x * x < unit.tiny / unit.u)
    return np.broadcast_to(lost, got.shape)


def slid(
    op: Op, operands: Sequence[Any], got: np.ndarray, truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Elements off by no more than a sum does that squares were added to and taken from."""
    x = np.asarray(operands[0])
    if x.ndim < 2 or not x.size:
        return np.zeros(got.shape, bool)
    share = float(op.attr("alpha", 1e-4)) / int(op.attr("size"))
    beta, bias = float(op.attr("beta", 0.75)), float(op.attr("bias", 1.0))
    every = share * np.add.accumulate(x * x, 1).max(1, keepdims=True)
    least = np.abs(truth / np.where(x == 0, 1.0, x))
    scale = np.where(least > 0, least, 1.0) ** (-1 / beta) if beta else np.full(x.shape, bias)
    relative = 4 * x.shape[1] * unit.u * beta * every / np.abs(scale)
    lost = 4 * x.shape[1] * unit.u * every >= np.abs(scale)
    gone = ~(every < unit.top) | lost  # added and taken away, it leaves NaN, or nothing right
    return (np.abs(got - truth) <= relative * np.abs(truth)) | np.broadcast_to(gone, got.shape)


def _odd_last(operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> bool:
    x = np.asarray(operands[0]).astype(np.float64).reshape(-1)
    scale = np.asarray(operands[1]).astype(np.float64).reshape(-1)
    rest = (got.reshape(-1)[:-1] == wanted.reshape(-1)[:-1]).all()
    return bool(x.size % 2 and rest and abs(x[-1] / scale[-1]) >= BEYOND_INT32)


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
    """Whether it is what indices give that are compared as floats."""
    places, depth = np.asarray(operands[0]), int(np.asarray(operands[1]).reshape(-1)[0])
    if places.dtype.kind != "f":
        return False
    moved = np.where(places < 0, places + depth, places)
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
