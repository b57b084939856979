"""Functions of quantized tensors whose result is quantized again: onnxruntime's QLinear operators.

Operands less their zero points, times their scales, go through a function of real numbers; its
result over the result's scale is rounded, moved by the zero point, and saturated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics.pooling import Taps
from isomorph.ir.semantics.quantized import Unrounded

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from isomorph.ir.semantics import Call
    from isomorph.ir.types import DType

    Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Sized(Unrounded):
    """A quantized result before it is rounded, and what is rounded on the way there.

    Attributes:
        size: the magnitudes that are added up in it, in units of the scale, zero points included.
        roundings: how many of them one such magnitude may meet.
    """

    size: Array
    roundings: int = 8


def _single(call: Call, parameter: Any) -> Array:
    """A scale or zero point, of one element, in the type that is computed in."""
    at = np.float64 if call.wide else np.float32
    return np.asarray(0 if parameter is None else parameter).astype(at).reshape(())


def _real(call: Call, x: Any, scale: Any, zero: Any) -> tuple[Array, Array]:
    """What integers stand for, and the magnitude of it and of the zero point, each by itself."""
    factor, moved = _single(call, scale), _single(call, zero)
    given = np.asarray(x).astype(factor.dtype)
    return (given - moved) * factor, (np.abs(given) + np.abs(moved)) * np.abs(factor)


def _result(
    call: Call, value: Array, size: Array, scale: Any, zero: Any, to: DType, roundings: int = 8
) -> Sized:
    factor, moved = _single(call, scale), _single(call, zero)
    large = size / np.abs(factor) + np.abs(moved)
    return Sized(np.asarray(value / factor), moved, to, np.asarray(large), roundings)


def _first(call: Call, x: Any) -> DType:
    return n.declared(call, 0, x)


def add(
    call: Call,
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    scale: Any,
    zero: Any = None,
) -> Sized:
    """QLinearAdd: operands broadcast."""
    (left, one), (right, two) = _real(call, a, a_scale, a_zero), _real(call, b, b_scale, b_zero)
    return _result(call, left + right, one + two, scale, zero, _first(call, a))


def multiply(
    call: Call,
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    scale: Any,
    zero: Any = None,
) -> Sized:
    """QLinearMul: operands broadcast."""
    left, right = _real(call, a, a_scale, a_zero)[0], _real(call, b, b_scale, b_zero)[0]
    found = left * right
    return _result(call, found, np.abs(found), scale, zero, _first(call, a))


def sigmoid(call: Call, x: Any, x_scale: Any, x_zero: Any, scale: Any, zero: Any = None) -> Sized:
    """QLinearSigmoid."""
    real = _real(call, x, x_scale, x_zero)[0]
    found = n.sigmoid(real)
    return _result(call, found, found * (1 + np.abs(real)) + 1, scale, zero, _first(call, x))


def leaky_relu(
    call: Call, x: Any, x_scale: Any, x_zero: Any, scale: Any, zero: Any = None
) -> Sized:
    """QLinearLeakyRelu."""
    real = _real(call, x, x_scale, x_zero)[0]
    found = np.where(real >= 0, real, real * real.dtype.type(call.attr("alpha", 0.01)))
    return _result(call, found, np.abs(found), scale, zero, _first(call, x))


def average_pool(
    call: Call, x: Any, x_scale: Any, x_zero: Any, scale: Any, zero: Any = None
) -> Sized:
    """QLinearAveragePool: padding stands for 0; channels may come last."""
    last = bool(call.attr("channels_last", 0))
    found, size = (np.moveaxis(v, -1, 1) if last else v for v in _real(call, x, x_scale, x_zero))
    taps = Taps(call, found)
    count = taps.sizes(with_padding=bool(call.attr("count_include_pad", 0)))
    found, size = (taps.sum(v) / count.astype(v.dtype) for v in (found, size))
    if last:
        found, size = np.moveaxis(found, 1, -1), np.moveaxis(size, 1, -1)
    terms = prod(call.attr("kernel_shape"))
    return _result(call, found, size, scale, zero, _first(call, x), terms + 8)


def global_average_pool(
    call: Call, x: Any, x_scale: Any, x_zero: Any, scale: Any, zero: Any
) -> Sized:
    """QLinearGlobalAveragePool; channels may come last."""
    found, size = _real(call, x, x_scale, x_zero)
    first = 1 if call.attr("channels_last", 0) else 2
    axes = tuple(range(first, first + found.ndim - 2))
    found, size = (v.mean(axes, keepdims=True) for v in (found, size))
    return _result(call, found, size, scale, zero, _first(call, x))


def concat(call: Call, scale: Any, zero: Any, *operands: Any) -> Sized:
    """QLinearConcat: tensors, each with its scale and zero point, one after the other."""
    parts = [_real(call, *operands[at : at + 3]) for at in range(0, len(operands), 3)]
    axis = int(call.attr("axis"))
    found, size = (np.concatenate(every, axis) for every in zip(*parts, strict=True))
    return _result(call, found, size, scale, zero, n.declared(call, 1, zero))


def softmax(call: Call, x: Any, x_scale: Any, x_zero: Any, scale: Any, zero: Any) -> Sized:
    """QLinearSoftmax: along the axis, or before opset 13 along all from it on."""
    real = _real(call, x, x_scale, x_zero)[0]
    axis = softmax_axis(call, real.ndim)
    rows = real if softmax_along_one(call) else real.reshape((*real.shape[:axis], -1))
    found = n.softmax(rows, axis).reshape(real.shape)
    span = np.ptp(real) if real.size else 0
    terms = rows.shape[axis] if rows.ndim else 1
    return _result(call, found, found * (1 + span), scale, zero, _first(call, x), terms + 16)


def softmax_along_one(call: Call) -> bool:
    """Whether a softmax runs along a single axis."""
    return int(call.attr("opset")) >= 13


def softmax_axis(call: Call, rank: int) -> int:
    """The axis, counted from the front."""
    return int(call.attr("axis", -1)) % max(rank, 1)


def where(
    call: Call,
    condition: Any,
    x: Any,
    x_scale: Any,
    x_zero: Any,
    y: Any,
    y_scale: Any,
    y_zero: Any,
    scale: Any,
    zero: Any,
) -> Sized:
    """QLinearWhere: all three broadcast."""
    pairs = zip(_real(call, x, x_scale, x_zero), _real(call, y, y_scale, y_zero), strict=True)
    found, size = (np.where(np.asarray(condition), one, two) for one, two in pairs)
    return _result(call, found, size, scale, zero, n.declared(call, 1, x))


REQUANTIZED: dict[str, Callable[..., Sized]] = {
    "QLinearAdd": add,
    "QLinearAveragePool": average_pool,
    "QLinearConcat": concat,
    "QLinearGlobalAveragePool": global_average_pool,
    "QLinearLeakyRelu": leaky_relu,
    "QLinearMul": multiply,
    "QLinearSigmoid": sigmoid,
    "QLinearSoftmax": softmax,
    "QLinearWhere": where,
}
"""What is rounded last, by operator."""
