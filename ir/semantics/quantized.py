"""quantized: what each operator computes.

Integers and their sums of products are exact. `x / scale` is rounded to the precision that the
definition names (when wide, not at all), then to the nearest integer, ties to even, and saturated;
formats of 8 bits and fewer are what quantization is about, so they are rounded to when wide too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics.convolution import convolve
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]


def spread(call: Call, parameter: Any, shape: tuple[int, ...]) -> Array:
    """A scale or zero point so that it broadcasts over its operand: single, per axis, or blocked.

    Raises:
        TypeInferenceError: when it fits none of the three.
    """
    array = _single(parameter)
    if not array.ndim:
        return array
    block = int(call.attr("block_size", 0) or 0)
    axis = 0 if len(shape) == 1 else int(call.attr("axis", 1))
    if -len(shape) <= axis < len(shape):
        axis %= len(shape)
        if array.ndim == 1 and not block and array.size == shape[axis]:
            return array.reshape(-1, *(1,) * (len(shape) - axis - 1))
        wanted = tuple(-(-d // block) if a == axis else d for a, d in enumerate(shape) if block)
        if block and array.shape == wanted:
            return array.take(np.arange(shape[axis]) // block, axis)
    raise TypeInferenceError(
        f"{call.op}: a scale or zero point of shape {array.shape} does not fit an operand of shape "
        f"{shape}, axis {call.attr('axis', 1)}, block_size {block}"
    )


def precision(call: Call, x: Any, scale: Any) -> DType:
    """The type in which QuantizeLinear divides: `precision`, else the scale's own.

    Integers are divided in float32, and what has a power of two as its scale in its own type.
    """
    named = int(call.attr("precision", 0) or 0)
    found = DType(named) if named else n.declared(call, 1, scale)
    if found is DType.FLOAT8E8M0:
        found = n.declared(call, 0, x)
    return found if found.is_float else DType.FLOAT32


@dataclass(frozen=True, slots=True)
class Unrounded:
    """A quantized result before it is rounded.

    Attributes:
        value: in units of the scale.
        zero: the zero point, which broadcasts over it.
        to: the element type of the result.
    """

    value: Array
    zero: Any
    to: DType

    def rounded(self, call: Call) -> Array:
        """To nearest, ties to even; then moved by the zero point and saturated."""
        wide = self.value.astype(np.float64)
        low, high = n.limits(self.to)
        moved = np.asarray(self.zero).astype(np.float64)
        if self.to.is_integer:
            return np.clip(np.rint(wide) + moved, low, high).astype(self.to.numpy)
        if moved.any():  # adding 0 would lose the sign of -0
            wide = wide + moved
        if call.attr("saturate", 1) or self.to.bits < 8:
            wide = np.clip(wide, low, high)
        return n.once(wide, self.to.numpy).astype(call.float_dtype(self.to), copy=False)


def divided(call: Call, x: Any, scale: Any, zero: Any = None) -> Unrounded:
    """QuantizeLinear before it rounds."""
    a, factor = np.asarray(x), spread(call, scale, np.shape(x))
    at = np.float64 if call.wide else precision(call, x, scale).numpy
    value = np.asarray(a.astype(at) / factor.astype(at))
    if zero is None:
        return Unrounded(value, 0, DType(call.attr("output_dtype", 0) or DType.UINT8.value))
    return Unrounded(value, spread(call, zero, a.shape), n.declared(call, 2, zero))


def dequantize(call: Call, x: Any, scale: Any, zero: Any = None) -> Array:
    """DequantizeLinear: the product is exact in float64 for all but int32; it is rounded once."""
    value = np.asarray(x).astype(np.float64)
    if zero is not None:
        value = value - spread(call, zero, value.shape).astype(np.float64)
    named = int(call.attr("output_dtype", 0) or 0)
    to = DType(named) if named else n.declared(call, 1, scale)
    product = value * spread(call, scale, value.shape).astype(np.float64)
    return n.once(product, call.float_dtype(to))


def _dynamic(call: Call, x: Any) -> tuple[Array, Array, Array]:
    """The range of the data, 0 among it, in 255 steps.

    Of data that is all 0 the definition divides 0 by 0; it is given the scale 1, as by onnxruntime.
    """
    a = np.asarray(x)
    low, high = a.min(initial=0), a.max(initial=0)
    scale = np.asarray((high - low) / a.dtype.type(255) if high > low else 1).astype(a.dtype)
    zero = np.clip(np.rint(-low / scale), 0, 255).astype(np.uint8)
    result = Unrounded(np.asarray(a / scale), zero, DType.UINT8).rounded(call)
    return result, scale, np.asarray(zero)


def _single(parameter: Any) -> Array:
    """A scale or zero point; a vector of one element is a scalar."""
    array = np.asarray(parameter)
    return array.reshape(()) if array.shape == (1,) else array


def _rows(parameter: Any, rank: int) -> Array:
    """One per row of the left operand: a vector runs along the last axis but one."""
    array = _single(parameter)
    return array[:, None] if array.ndim == 1 and rank > 1 else array


def moved(x: Any, zero: Any) -> Array:
    """Integers less their zero point, if any, in float64, which holds their products exactly.

    Raises:
        TypeInferenceError: where there are more zero points than integers.
    """
    array = np.asarray(x).astype(np.float64)
    if zero is None:
        return array
    found = np.asarray(array - np.asarray(zero).astype(np.float64))
    if found.shape != array.shape:
        raise TypeInferenceError(
            f"zero points of shape {np.shape(zero)} for an operand of shape {array.shape}"
        )
    return found


def to_int32(sums: Array) -> Array:
    """Sums beyond 32 bits wrap; the definition lets them overflow."""
    return sums.astype(np.int64).astype(np.int32)


def _matmul_integer(call: Call, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Array:
    left = moved(a, None if a_zero is None else _rows(a_zero, np.ndim(a)))
    right = moved(b, None if b_zero is None else _single(b_zero))
    return to_int32(np.asarray(left @ right))


def _qlinear_matmul(
    call: Call,
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    y_scale: Any,
    y_zero: Any,
) -> Unrounded:
    left = moved(a, _rows(a_zero, np.ndim(a)))
    right = moved(b, _single(b_zero))
    sums = np.asarray(left @ right)
    factor = _factor(_rows(a_scale, np.ndim(a)), _single(b_scale), _single(y_scale))
    return _scaled(call, sums, factor, y_zero)


def _factor(first: Any, second: Any, result: Any) -> Array:
    """What a sum of products is multiplied by: in float32, or the wider type of the scales."""
    return np.asarray(n.up(first) * n.up(second) / n.up(result))


def _scaled(call: Call, sums: Array, factor: Array, zero: Any) -> Unrounded:
    value = call.fitting(np.asarray(sums.astype(factor.dtype) * factor), sums.shape)
    single = _single(zero)
    call.fitting(np.broadcast_to(single, np.broadcast_shapes(single.shape, sums.shape)), sums.shape)
    return Unrounded(value, single, n.declared(call, 7, zero))


def _channels(parameter: Any, rank: int) -> Array:
    """One per output channel, which is the first of so many axes."""
    array = _single(parameter)
    return array.reshape(-1, *(1,) * (rank - 1)) if array.ndim else array


def _conv_integer(call: Call, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Array:
    return to_int32(_windows(call, x, w, x_zero, w_zero))


def _windows(call: Call, x: Any, w: Any, x_zero: Any, w_zero: Any) -> Array:
    """Sums of products; padding adds what stands for 0: the zero point, taken away before."""
    taps = None if w_zero is None else _channels(w_zero, np.ndim(w))
    image = moved(x, None if x_zero is None else _single(x_zero))
    return convolve(call, image, moved(w, taps))


def _qlinear_conv(
    call: Call,
    x: Any,
    x_scale: Any,
    x_zero: Any,
    w: Any,
    w_scale: Any,
    w_zero: Any,
    y_scale: Any,
    y_zero: Any,
    b: Any = None,
) -> Unrounded:
    sums = _windows(call, x, w, x_zero, w_zero)
    if b is not None:
        sums = sums + _channels(call.fitting(b, sums.shape[1:2]), sums.ndim - 1)
    factor = _factor(_single(x_scale), _channels(w_scale, sums.ndim - 1), _single(y_scale))
    return _scaled(call, sums, factor, y_zero)


def _rounding(unrounded: Callable[..., Unrounded]) -> tuple[Impl, ...]:
    def run(call: Call, *operands: Any) -> Array:
        return unrounded(call, *operands).rounded(call)

    return (Impl(run),)


ROUNDED: dict[Key, Callable[..., Unrounded]] = {
    ("", "QLinearConv"): _qlinear_conv,
    ("", "QLinearMatMul"): _qlinear_matmul,
    ("", "QuantizeLinear"): divided,
}
"""What operators round last: a function of the call and its operands."""

SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "ConvInteger"): (Impl(_conv_integer),),
    ("", "DequantizeLinear"): (Impl(dequantize),),
    ("", "DynamicQuantizeLinear"): (Impl(_dynamic),),
    ("", "MatMulInteger"): (Impl(_matmul_integer),),
    **{key: _rounding(function) for key, function in ROUNDED.items()},
}
