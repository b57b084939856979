"""quantized: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _shapes as s
from isomorph.ir.ops.convolution import convolved
from isomorph.ir.ops.linear import product_shape
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.opdef import Key, ShapeRule
    from isomorph.ir.types import Shape, Type


def quantized(ctx: Context) -> tuple[Type | None, ...]:
    """QuantizeLinear."""
    _granularity(ctx)
    named = int(ctx.attr("output_dtype", 0) or 0)
    dtype = ctx.dtype(2) if ctx.has(2) else DType(named) if named else DType.UINT8
    if dtype is not None and named and DType(named) is not dtype:
        raise ctx.error(f"output_dtype is {DType(named)}, the zero point is {dtype}")
    return (s.tensor(dtype, ctx.shape(0)),)


def dequantized(ctx: Context) -> tuple[Type | None, ...]:
    """DequantizeLinear."""
    _granularity(ctx)
    if ctx.dtype(0) is not None and ctx.dtype(2) not in (None, ctx.dtype(0)):
        raise ctx.error(f"the zero point is {ctx.dtype(2)}, {ctx.dtype(0)} was expected")
    named = int(ctx.attr("output_dtype", 0) or 0)
    dtype = DType(named) if named else ctx.dtype(1)
    if dtype is DType.FLOAT8E8M0:
        raise ctx.error(f"output_dtype must say what a scale of type {dtype} makes")
    return (s.tensor(dtype, ctx.shape(0)),)


def _granularity(ctx: Context) -> None:
    """Scale and zero point fit the operand: one for all, one per index of an axis, or per block."""
    shape, scale, zero = ctx.shape(0), ctx.shape(1), ctx.shape(2)
    if scale is None:
        return
    if zero is not None and not _alike(scale, zero):
        raise ctx.error(f"the zero point has shape {_text(zero)}, the scale {_text(scale)}")
    if shape is None or scale in ((), (1,)):
        return
    block = int(ctx.attr("block_size", 0) or 0)
    if len(scale) == 1 and not block:
        axis = 0 if len(shape) == 1 else ctx.axis(int(ctx.attr("axis", 1)), len(shape))
        if not _equal(scale[0], shape[axis]):
            raise ctx.error(f"{scale[0]} scales for axis {axis} of {shape[axis]} elements")
        return
    if len(scale) != len(shape):
        raise ctx.error(
            f"a scale of rank {len(scale)} for an operand of rank {len(shape)}; a scalar, a vector "
            "(one scale per index of `axis`) or the operand's own rank (blocks) was expected"
        )
    if block < 1:
        raise ctx.error(f"block_size is {block}; a scale of rank {len(scale)} needs 1 or more")
    at = ctx.axis(int(ctx.attr("axis", 1)), len(shape))
    for axis, (size, count) in enumerate(zip(shape, scale, strict=True)):
        length = block if axis == at else 1
        wanted = -(-size // length) if isinstance(size, int) else None
        if not _equal(count, wanted):
            raise ctx.error(
                f"the scale has {count} elements along axis {axis}, {wanted} were expected: "
                f"{size} in blocks of {length}"
            )


def _alike(scale: Shape, zero: Shape) -> bool:
    """Whether two shapes may be equal; a scalar may be written as a vector of one element."""
    if all(shape in ((), (1,)) for shape in (scale, zero)):
        return True
    return len(scale) == len(zero) and all(map(_equal, scale, zero))


def _equal(a: object, b: object) -> bool:
    return a == b or not (isinstance(a, int) and isinstance(b, int))


def _text(shape: Shape) -> str:
    return f"[{', '.join('?' if d is None else str(d) for d in shape)}]"


def _dynamic(ctx: Context) -> tuple[Type | None, ...]:
    return (
        TensorType(DType.UINT8, ctx.shape(0)),
        TensorType(DType.FLOAT32, ()),
        TensorType(DType.UINT8, ()),
    )


def _product(second: int, zero: int | None) -> ShapeRule:
    """Matmul of operands 0 and `second`; int32, or the type of an operand."""

    def rule(ctx: Context) -> tuple[Type | None, ...]:
        dtype = DType.INT32 if zero is None else ctx.dtype(zero)
        return (s.tensor(dtype, product_shape(ctx, 0, second)),)

    return rule


def _convolution(weights: int, zero: int | None) -> ShapeRule:
    """Convolution of operand 0 with operand `weights`; int32, or the type of an operand."""

    def rule(ctx: Context) -> tuple[Type | None, ...]:
        dtype = DType.INT32 if zero is None else ctx.dtype(zero)
        return (s.tensor(dtype, convolved(ctx, weights)),)

    return rule


# Sums of products of integers are exact; what is rounded to an integer may lie within its own
# rounding of a half (`isomorph.parity.tolerance.quantized`).
OPS: dict[Key, OpDef] = {
    ("", "ConvInteger"): OpDef(_convolution(1, None), Tolerance.EXACT),
    ("", "DequantizeLinear"): OpDef(dequantized, Tolerance.ELEMENTWISE, ulps=3, unpacks=True),
    ("", "DynamicQuantizeLinear"): OpDef(_dynamic, Tolerance.DISCONTINUOUS),
    ("", "MatMulInteger"): OpDef(_product(1, None), Tolerance.EXACT),
    ("", "QLinearConv"): OpDef(_convolution(3, 7), Tolerance.DISCONTINUOUS),
    ("", "QLinearMatMul"): OpDef(_product(3, 7), Tolerance.DISCONTINUOUS),
    ("", "QuantizeLinear"): OpDef(quantized, Tolerance.DISCONTINUOUS),
}
