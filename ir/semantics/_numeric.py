"""Arithmetic that numpy lacks, or does otherwise than the standard says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from typing import cast as as_type

import numpy as np

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.semantics import Call


def up(x: Any) -> np.ndarray:
    """The array in the dtype it is computed in: float32 for every narrower float."""
    array = np.asarray(x)
    if array.dtype == np.float16 or (_foreign(array.dtype) and DType.of(array.dtype).is_float):
        return array.astype(np.float32)
    return array


def like(y: Any, x: Any) -> np.ndarray:
    """The result in the dtype of an operand; floats are rounded once."""
    return np.asarray(y).astype(np.asarray(x).dtype, copy=False)


def declared(call: Call, index: int, given: Any) -> DType:
    """The element type that the graph states of an operand; wide arrays have lost theirs."""
    value = call.op.input(index)
    if value is not None and isinstance(value.type, TensorType):
        return value.type.dtype
    return DType.of(np.asarray(given).dtype)


def limits(dtype: DType) -> tuple[Any, Any]:
    """The lowest and the highest finite number of an element type."""
    if dtype.is_integer:
        top = 2 ** (dtype.bits - dtype.is_signed) - 1
        return (-top - 1 if dtype.is_signed else 0), top
    import ml_dtypes

    info = as_type("Any", ml_dtypes.finfo(dtype.numpy))
    return float(info.min), float(info.max)


def once(x: Any, dtype: np.dtype) -> np.ndarray:
    """Numbers in a dtype, rounded once: ml_dtypes goes from float64 by way of float32.

    There they are rounded to odd, which any format with two bits less rounds as it would the
    number itself (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008).
    """
    array = np.asarray(x)
    if not _foreign(dtype) or array.dtype != np.float64 or not DType.of(dtype).is_float:
        return array.astype(dtype, copy=False)
    near = array.astype(np.float32)
    bits = near.view(np.uint32)
    bits = np.where(np.abs(near.astype(np.float64)) > np.abs(array), bits - np.uint32(1), bits)
    exact = (bits.view(np.float32).astype(np.float64) == array) | ~np.isfinite(array)
    return np.where(exact, bits, bits | np.uint32(1)).view(np.float32).astype(dtype)


def erf(x: Any) -> np.ndarray:
    """The error function as the C library computes it in float64 (under 1 ULP)."""
    return _each(math.erf, x)


def erfc(x: Any) -> np.ndarray:
    """1 - erf(x), accurate where that would cancel."""
    return _each(math.erfc, x)


def _each(function: Callable[[float], float], x: Any) -> np.ndarray:
    array = np.asarray(x)
    flat = np.fromiter(map(function, array.reshape(-1).tolist()), np.float64, array.size)
    return flat.reshape(array.shape).astype(array.dtype, copy=False)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow or cancellation."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype, copy=False)


def softplus(x: np.ndarray) -> np.ndarray:
    """log(1 + exp(x)) without overflow or cancellation."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """Exponentials along an axis, as shares of their sum."""
    powers = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """The logarithm of that, accurate where a share underflows."""
    below = x - x.max(axis, keepdims=True, initial=-np.inf)
    return below - np.log(np.exp(below).sum(axis, keepdims=True))


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Division; of integers towards zero, as in C."""
    if a.dtype.kind not in "iu":
        return np.divide(a, b)
    quotient = np.floor_divide(a, b)
    rounded_down = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
    return quotient + rounded_down.astype(quotient.dtype)


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The power x^y in the dtype of x; integers wrap, and negative powers of them truncate."""
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    if y.dtype.kind not in "iu":
        return np.power(x.astype(np.float64), y).astype(x.dtype)
    x, y = np.broadcast_arrays(x, y)
    powers = np.power(x, np.maximum(y, 0).astype(x.dtype))
    if y.dtype.kind == "u":
        return powers
    odd = np.where(y % 2 == 0, 1, x).astype(x.dtype)
    inverse = np.where(np.abs(x) == 1, odd, np.zeros_like(x))
    return np.where(y < 0, inverse, powers)


def shift(x: np.ndarray, y: np.ndarray, *, left: bool) -> np.ndarray:
    """Bits moved by y; y out of range leaves what extending the sign alone gives."""
    bits = x.dtype.itemsize * 8
    x, y = np.broadcast_arrays(x, y)
    inside = (y >= 0) & (y < bits)
    amount = np.where(inside, y, bits - 1).astype(x.dtype)
    if not left:
        return np.where(inside, np.right_shift(x, amount), np.where(x < 0, -1, 0).astype(x.dtype))
    return np.where(inside, np.left_shift(x, amount), np.zeros_like(x))


def cast(
    call: Call, x: Any, source: DType, to: DType, *, saturate: bool = True, rounding: str = "up"
) -> np.ndarray:
    """Elements as another type by Cast's rules; when wide, floats are not rounded.

    Raises:
        UnsupportedError: for text that is no number.
    """
    array = np.asarray(x)
    if source is DType.STRING:
        return _from_text(array, call.float_dtype(to), to)
    if to is DType.STRING:
        plain = array.astype(source.numpy) if call.wide and source.is_float else array
        return up(plain).astype(np.str_).astype(object)
    if to is DType.BOOL:
        return up(array) != 0 if source.is_float else array.astype(bool)
    if to.is_float and call.wide:
        return array.astype(np.float64)
    if _foreign(array.dtype):
        array = array.astype(np.float32 if source.is_float else np.int64)
    if to is DType.FLOAT8E8M0:
        return _to_exponent(array, saturate=saturate, rounding=rounding)
    if to.name.startswith("FLOAT8") and saturate:
        low, high = limits(to)
        array = np.clip(array.astype(np.float64), low, high)
    return array.astype(to.numpy)


def _from_text(array: np.ndarray, dtype: np.dtype, to: DType) -> np.ndarray:
    if to is DType.STRING:
        return array
    try:
        if to.is_integer:
            numbers = [_integer(t) for t in array.reshape(-1)]
            return (
                np.array(numbers, np.int64 if to.is_signed else np.uint64)
                .reshape(array.shape)
                .astype(dtype)
            )
        numbers = [float(t) for t in array.reshape(-1)]
    except ValueError as error:
        raise UnsupportedError(f"Cast of text to {to}: {error}") from None
    return np.array(numbers, np.float64).reshape(array.shape).astype(dtype)


def _integer(text: str) -> int:
    """An integer's text; the standard lets the fraction of "100.5" be dropped."""
    try:
        return int(text)
    except ValueError:
        return int(float(text))


def _to_exponent(array: np.ndarray, *, saturate: bool, rounding: str) -> np.ndarray:
    """A power of two, as float8e8m0 stores it, by the table in Cast's definition."""
    numbers = np.abs(array.astype(np.float64))
    fraction, exponent = np.frexp(numbers)  # numbers = fraction · 2^exponent, fraction in [½, 1)
    exponent = exponent - 1
    if rounding == "up":
        exponent = exponent + (fraction > 0.5)
    elif rounding == "nearest":
        exponent = exponent + (fraction >= 0.75)
    low, high = -127, 127
    below, above = (exponent < low) | (numbers == 0), (exponent > high) | np.isinf(numbers)
    codes = np.clip(exponent, low, high) + 127
    codes = np.where(below, 0, np.where(above, 254, codes))
    nan = np.isnan(numbers) if saturate else np.isnan(numbers) | below | above
    return np.where(nan, 255, codes).astype(np.uint8).view(DType.FLOAT8E8M0.numpy)


def _foreign(dtype: np.dtype) -> bool:
    """Whether a dtype is one that ml_dtypes adds to numpy's own."""
    return dtype.isbuiltin == 2
