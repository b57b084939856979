"""Quantized results: integers that rounding before them may decide either way.

What is rounded to the nearest integer has itself been rounded: x / scale once, a sum of products
times a·b/y at most four times. A result is right when it is what some number within those roundings
gives, so that next to a half both neighbours are, but not where nothing was rounded: ties go to
even. Everything else about it is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import widen
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import Call
from isomorph.ir.semantics._integer_products import gemm
from isomorph.ir.semantics._requantized import REQUANTIZED, Sized
from isomorph.ir.semantics.quantized import ROUNDED, Unrounded, precision
from isomorph.ir.types import DType, TensorType
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key

FLOAT32 = Unit.of(DType.FLOAT32)
SCALES = {"QLinearConv": (1, 4, 6), "QLinearMatMul": (1, 4, 6)}
"""Operands that make up the factor of a sum of products."""
DIGITS = {DType.FLOAT32: 24, DType.FLOAT16: 11, DType.BFLOAT16: 8}
"""Significant bits of the types that DequantizeLinear makes."""
ZERO = {"QLinearConv": 7, "QLinearMatMul": 7, "QuantizeLinear": 2}
"""The zero point that names the type of the result."""
DYNAMIC = ("", "DynamicQuantizeLinear")
SIZED: dict[Key, Callable[..., Any]] = {
    (DOMAIN, "QGemm"): gemm,
    **{(DOMAIN, name): function for name, function in REQUANTIZED.items()},
}
"""Operators of onnxruntime's own, of which nothing says how halves are rounded, or in what order.

What is rounded is within so many roundings of all that is added up in it.
"""


def between(op: Op, operands: Sequence[Any], index: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The lowest and highest result that roundings on the way allow, per element, as float64.

    `None` for operators that round nothing to an integer.

    Args:
        op: the operator.
        operands: in stored dtypes.
        index: which of its results.
    """
    if op.key == DYNAMIC:
        return None if _no_range(np.asarray(operands[0])) else _dynamic(op, operands, index)
    if op.key in SIZED:
        return _sized(op, operands)
    if _plain(op) not in ROUNDED:
        return None
    with np.errstate(all="ignore"):
        exact = _exact(op, operands)
        narrow = ROUNDED[_plain(op)](Call(op), *operands).value.astype(np.float64)
        rounded = np.isfinite(exact.value) & (narrow != exact.value)
        off = np.where(rounded, _roundings(op, operands, exact), 0.0)
        return _both(Call(op, wide=True), exact, off)


def quotients(op: Op, operands: Sequence[Any]) -> np.ndarray:
    """What QuantizeLinear rounds, in float64."""
    with np.errstate(all="ignore"):
        return _exact(op, operands).value


MOST_BIAS = 2.0**30
"""From here on a bias takes sums of products near the end of int32."""


def left_open(op: Op, operands: Sequence[Any], bad: np.ndarray) -> str:
    """Why the elements that differ are determined by nothing; empty when they are determined."""
    if op.key == DYNAMIC:
        return _no_range(np.asarray(operands[0]))
    if any(
        v is not None and not (np.asarray(v, np.float64) > 0).all() for v in _scales(op, operands)
    ):
        return f"the definition leaves {op.type} by a scale that is not positive open"
    bias = operands[8] if op.type == "QLinearConv" and len(operands) > 8 else None
    if bias is not None and (np.abs(np.asarray(bias).astype(np.float64)) >= MOST_BIAS).any():
        return "the standard leaves the overflow of int32 sums open"
    if _plain(op) not in ROUNDED:
        given = [np.asarray(v) for v in operands if op.key in SIZED and v is not None]
        unknown = any(v.dtype.kind in "fV" and np.isnan(v).any() for v in given)
        return f"its definition leaves {op.type} of NaN open" if unknown else ""
    with np.errstate(all="ignore"):
        exact = _exact(op, operands)
    if not (bad & ~np.isnan(exact.value)).any():
        return f"the standard leaves {op.type} of NaN open"
    scale = np.asarray(operands[1 if op.type == "QuantizeLinear" else 6])
    if (scale.astype(np.float64) == 0).any() and not (bad & np.isfinite(exact.value)).any():
        return "the standard leaves a division by a scale of 0 open"
    return ""


def _scales(op: Op, operands: Sequence[Any]) -> list[Any]:
    """The operands that integers are multiplied by; none of operators of other names."""
    known = op.schema
    if known is None or (_plain(op) not in ROUNDED and op.key not in SIZED):
        return []
    formals = ((known.input(n), v) for n, v in enumerate(operands))
    return [v for f, v in formals if f is not None and v is not None and "scale" in f.name]


def _plain(op: Op) -> Key:
    """The standard's operator that another of the same name is like."""
    return ("", op.type) if op.key == (DOMAIN, "QuantizeLinear") else op.key


def _sized(op: Op, operands: Sequence[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    call = Call(op, wide=True)
    with np.errstate(all="ignore"):
        found = SIZED[op.key](call, *map(_wide, operands))
        if not isinstance(found, Sized):
            return None
        off = gamma(found.roundings, FLOAT32.u) * found.size + FLOAT32.tiny
        return _both(call, found, off)


def _no_range(x: np.ndarray) -> str:
    """Why data has no range to quantize; empty where it has one."""
    with np.errstate(all="ignore"):
        reach = np.maximum(x.max(initial=0), 0) - np.minimum(x.min(initial=0), 0)
        if not np.isfinite(reach):
            return "the standard leaves a range that is not finite open"
        if reach / np.float32(255) < FLOAT32.tiny * 2.0**23:
            return "the standard divides by 0 where the range is 0, or its scale underflows"
    return ""


def product(op: Op, truth: np.ndarray, unit: Unit) -> Bound:
    """DequantizeLinear: casts to the type of its result, and a product in it.

    `x - zero point` of 8 bits has 9 of them, of 16 bits 17; where the type holds those, and the
    scale has that type, it is the product alone that is rounded.
    """
    x, scale = _dtype(op.input(0)), _dtype(op.input(1))
    to = DType(op.attr("output_dtype", 0) or (scale or DType.FLOAT32).value)
    held = x is not None and x.bits < DIGITS.get(to, 0)
    count = 1 + (not held) + (scale is not to)
    soft = count * unit.ulp(truth) + unit.tiny
    return Bound(soft, lambda: 2 * soft, np.abs(truth), f"{count} roundings of a product")


def _dtype(value: Value | None) -> DType | None:
    return value.type.dtype if value is not None and isinstance(value.type, TensorType) else None


def _exact(op: Op, operands: Sequence[Any]) -> Unrounded:
    """What is rounded last, in float64, and the type that it is rounded to."""
    found = ROUNDED[_plain(op)](Call(op, wide=True), *map(_wide, operands))
    zero = operands[ZERO[op.type]] if ZERO[op.type] < len(operands) else None
    return found if zero is None else replace(found, to=DType.of(np.asarray(zero).dtype))


def _wide(operand: Any) -> Any:
    return None if operand is None else widen(operand)


def _roundings(op: Op, operands: Sequence[Any], exact: Unrounded) -> np.ndarray:
    """The largest error of what is rounded last."""
    size = np.abs(exact.value)
    if op.type == "QuantizeLinear":
        x, scale = np.asarray(operands[0]), operands[1]
        at = precision(Call(op), x, scale)
        own = DType.of(x.dtype)
        casts = own is not at and not (own.is_float and own.bits < at.bits)
        unit = Unit.of(at)
        return gamma(2 + casts, unit.u) * size + unit.tiny
    units = [Unit.of(DType.of(np.asarray(operands[i]).dtype)) for i in SCALES[op.type]]
    unit = max(units, key=lambda u: u.u)
    if np.asarray(operands[0]).dtype.kind in "iu":
        return gamma(5, unit.u) * size + unit.tiny
    apart = [np.abs(_wide(v)) for v in operands]
    largest = ROUNDED[_plain(op)](Call(op, wide=True), *apart).value
    return gamma(apart[0].shape[-1] + 5, unit.u) * np.abs(largest) + unit.tiny


def _both(call: Call, exact: Unrounded, off: Any) -> tuple[np.ndarray, np.ndarray]:
    low, high = (
        np.asarray(widen(Unrounded(value, exact.zero, exact.to).rounded(call)), np.float64)
        for value in (exact.value - off, exact.value + off)
    )
    return low, high


def _dynamic(op: Op, operands: Sequence[Any], index: int) -> tuple[np.ndarray, np.ndarray]:
    """Scale: a difference and a quotient; zero point: a quotient; data: another."""
    x = np.asarray(operands[0], np.float64)
    low, high = x.min(initial=0), x.max(initial=0)
    call = Call(op, wide=True)
    with np.errstate(all="ignore"):
        scale = np.asarray((high - low) / 255 if high > low else 1.0)
        if index == 1:
            off = gamma(3, FLOAT32.u) * scale + FLOAT32.tiny
            return scale - off, scale + off
        single = scale.astype(np.float32)
        at = np.asarray(-low / scale)
        off = _unless_exact(at, np.float32(-low) / single)
        zeros = _both(call, Unrounded(at, 0, DType.UINT8), off)
        if index == 2:
            return zeros
        value = x / scale
        off = _unless_exact(value, x.astype(np.float32) / single)
        lowest = Unrounded(value - off, zeros[0], DType.UINT8).rounded(call)
        highest = Unrounded(value + off, zeros[1], DType.UINT8).rounded(call)
    return lowest.astype(np.float64), highest.astype(np.float64)


def _unless_exact(exact: np.ndarray, single: np.ndarray) -> np.ndarray:
    """Four roundings of a quotient, unless float32 has it as it is."""
    return np.where(single == exact, 0.0, gamma(4, FLOAT32.u) * np.abs(exact))
