"""BitShift of opset 28 by that of opset 11: unsigned, and undefined for shifts out of range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build
from isomorph.ir.constants import numbers
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch

_UNSIGNED = {
    DType.INT8: DType.UINT8,
    DType.INT16: DType.UINT16,
    DType.INT32: DType.UINT32,
    DType.INT64: DType.UINT64,
}


def bit_shift_28(op: Op, patch: Patch) -> None:
    """Signed operands are shifted as unsigned ones; ¬(¬x >> y) extends the sign of negative x."""
    build = Build(op, patch)
    dtype = build.dtype()
    x, y = build.operand(0), build.operand(1)
    direction = str(op.attr("direction"))
    if dtype.is_signed and direction == "RIGHT" and dtype.bits < 32:
        # older arithmetic starts at 32 bits, and a sign-extended number shifts alike
        amount = build("Where", _outside(build, y, dtype), build.const(31, dtype), y)
        wide = [build.cast(v, DType.INT32) for v in (x, amount)]
        found = build("BitShift", *wide, direction="RIGHT")
        build.done(build.cast(found, dtype))
        return
    unsigned = _UNSIGNED.get(dtype, dtype)
    negative: Value | None = None
    if dtype.is_signed and direction == "RIGHT":
        minus_one = build.const(-1, dtype)
        negative = build("Less", x, build.const(0, dtype))
        x = build("Where", negative, build("Sub", minus_one, x), x)
    result = _shift(build, build.cast(x, unsigned), y, unsigned, direction)
    result = build.cast(result, dtype)
    if negative is not None:
        result = build("Where", negative, build("Sub", build.const(-1, dtype), result), result)
    build.done(result)


def _shift(build: Build, x: Value, y: Value, unsigned: DType, direction: str) -> Value:
    known = numbers(y)
    if known is not None and ((known >= 0) & (known < unsigned.bits)).all():
        return _shift_11(build, x, build.cast(y, unsigned), direction)
    outside = _outside(build, y, build.dtype(1))
    amount = build.cast(build("Where", outside, build.const(0, build.dtype(1)), y), unsigned)
    shifted = _shift_11(build, x, amount, direction)
    return build("Where", outside, build.const(0, unsigned), shifted)


def _outside(build: Build, y: Value, dtype: DType) -> Value:
    """Whether a shift is negative or moves every bit out."""
    above = build("Less", build.const(build.dtype().bits - 1, dtype), y)
    if not dtype.is_signed:
        return above
    return build("Or", above, build("Less", y, build.const(0, dtype)))


def _shift_11(build: Build, x: Value, y: Value, direction: str) -> Value:
    made = build.patch.op("BitShift", (x, y), {"direction": direction}, version=11)
    whole = build.old.output.type
    dtype, shape = build.dtype(), whole.shape if isinstance(whole, TensorType) else None
    made.output.type = TensorType(_UNSIGNED.get(dtype, dtype), shape)
    return made.output
