"""Products of integers less their zero points, times their scales: as floats, or quantized again.

Sums beyond 32 bits wrap, as those of MatMulInteger do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._dynamic import product, quantized
from isomorph.ir.semantics._requantized import Sized
from isomorph.ir.semantics.quantized import moved, to_int32

if TYPE_CHECKING:
    import numpy.typing as npt

    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]


def _working(call: Call, scale: Any) -> np.dtype:
    return np.dtype(np.float64) if call.wide else n.up(scale).dtype


def _of_columns(call: Call, parameter: Any, weights: Any) -> Any:
    """A scale or zero point, of all weights or of each of their columns."""
    shape = np.shape(parameter)
    return parameter if shape in {(), (1,)} else call.fitting(parameter, np.shape(weights)[-1:])


def integer_to_float(
    call: Call,
    a: Any,
    b: Any,
    a_scale: Any,
    b_scale: Any,
    a_zero: Any = None,
    b_zero: Any = None,
    bias: Any = None,
) -> Array:
    """MatMulIntegerToFloat: the weights' scale and zero point may be one per column."""
    at = _working(call, a_scale)
    b_scale, b_zero = (_of_columns(call, v, b) for v in (b_scale, b_zero))
    factor = np.asarray(a_scale).astype(at) * np.asarray(b_scale).astype(at)
    sums = to_int32(moved(a, a_zero) @ moved(b, b_zero)).astype(at)
    found = sums * factor
    if bias is not None:
        found = found + np.asarray(bias).astype(at)
    call.fitting(found, sums.shape)
    return np.asarray(found).astype(call.float_dtype(n.declared(call, 2, a_scale)), copy=False)


def dynamic_matmul(
    call: Call, a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None
) -> Array:
    """DynamicQuantizeMatMul: the left operand is quantized by its own range first."""
    given = np.asarray(a)
    b_scale, b_zero = (_of_columns(call, v, b) for v in (b_scale, b_zero))
    found = product(quantized(given), moved(b, b_zero), np.asarray(b_scale).astype(given.dtype))
    result = found if bias is None else np.asarray(found + np.asarray(bias))
    return call.fitting(
        result, (*given.shape[:-1], np.shape(b)[-1]) if np.ndim(b) == 2 else result.shape
    )


def gemm(
    call: Call,
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    c: Any = None,
    scale: Any = None,
    zero: Any = None,
) -> Array | Sized:
    """QGemm: C counts in units of both scales, alpha not among them; the result in its own, if any.

    Where it has no scale, the result is what the integers stand for.
    """
    at = _working(call, a_scale)
    left = np.asarray(a).T if call.attr("transA", 0) else a
    right = np.asarray(b).T if call.attr("transB", 0) else b
    sums = moved(left, a_zero) @ moved(right, b_zero)
    if c is not None:
        sums = call.fitting(sums + np.asarray(c).astype(np.float64), sums.shape)
    sums = to_int32(sums)
    alpha = at.type(call.attr("alpha", 1.0))
    factor = alpha * np.asarray(a_scale).astype(at) * np.asarray(b_scale).astype(at)
    call.fitting(sums * factor, sums.shape)
    if scale is None:
        return np.asarray(sums.astype(at) * factor)
    factor = factor / np.asarray(scale).astype(at).reshape(())
    value = np.asarray(sums.astype(at) * factor)
    offset = np.asarray(zero).astype(at).reshape(())
    return Sized(value, offset, n.declared(call, 8, zero), np.abs(value) + np.abs(offset))


def gemm_result(call: Call, *operands: Any) -> Array:
    """The same, rounded where it is quantized."""
    found = gemm(call, *operands)
    return found.rounded(call) if isinstance(found, Sized) else found
