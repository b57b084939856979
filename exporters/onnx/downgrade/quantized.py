"""quantized: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade._granularity import block_of, is_single, shape_of, spread
from isomorph.exporters.onnx.downgrade._older import older, refuse
from isomorph.ir import schema
from isomorph.ir.build import Build, restate
from isomorph.ir.constants import constant, numbers
from isomorph.ir.types import DType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Attribute, Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps

WIDER = {
    DType.INT2: DType.INT8,
    DType.UINT2: DType.UINT8,
    DType.INT4: DType.INT8,
    DType.UINT4: DType.UINT8,
    DType.FLOAT4E2M1: DType.FLOAT8E4M3FN,
    DType.FLOAT6E2M3: DType.FLOAT8E4M3FN,
    DType.FLOAT6E3M2: DType.FLOAT8E4M3FN,
}
"""Types that hold every number of a newer one; constants are stored in them."""


def _without(op: Op, *names: str) -> dict[str, Attribute]:
    return {k: v for k, v in op.attributes.items() if k not in names}


def _in_float32(build: Build, index: int = 1) -> Value | None:
    """A scale that is a constant power of two as float32; `None` when it is anything else."""
    weight = constant(build.old.input(index))
    if build.dtype(index) is not DType.FLOAT8E8M0 or weight is None:
        return None
    return build.const(weight.numpy(), DType.FLOAT32)


# -- QuantizeLinear ---------------------------------------------------------------------------


def _precision(build: Build) -> DType:
    """The type in which it divides: see `isomorph.ir.semantics.quantized.precision`."""
    named = int(build.old.attr("precision", 0) or 0)
    found = DType(named) if named else build.dtype(1)
    if found is DType.FLOAT8E8M0:
        found = build.dtype(0)
    return found if found.is_float else DType.FLOAT32


def _result(build: Build) -> DType:
    if build.old.input(2) is not None:
        return build.dtype(2)
    return DType(build.old.attr("output_dtype", 0) or DType.UINT8.value)


def _older(op: Op, patch: Patch) -> None:
    older(op, patch)


def _quantize_24(op: Op, patch: Patch) -> None:
    """Powers of two as scales are numbers of another type where they are constant."""
    build = Build(op, patch)
    scale = _in_float32(build)
    if scale is None:
        older(op, patch)
        return
    attributes = {**op.attributes, "precision": _precision(build).value}
    restate(op, patch, 23, [op.inputs[0], scale, op.input(2)], attributes)


def _quantize_23(op: Op, patch: Patch) -> None:
    """Operand and scale had one type, in which it divides."""
    build = Build(op, patch)
    at, given = _precision(build), _without(op, "precision")
    x, scale = build.operand(0), build.operand(1)
    if build.dtype(0) is not build.dtype(1) or (at is not build.dtype(0) and op.attr("precision")):
        if at is DType.FLOAT64:
            _by_parts(build)
            return
        x, scale = build.cast(x, at), build.cast(scale, at)
    restate(op, patch, 21, [x, scale, op.input(2)], given)


def _quantize_21(op: Op, patch: Patch) -> None:
    """Neither blocks, nor 16 bits, nor a type that is only named."""
    build = Build(op, patch)
    to = _result(build)
    if to in (DType.INT16, DType.UINT16) or block_of(op):
        _by_parts(build)
        return
    zero, scale = op.input(2), build.operand(1)
    if zero is None and to is not DType.UINT8:
        shape = shape_of(scale) or ()
        sizes = [d for d in shape if isinstance(d, int)]
        if len(sizes) == len(shape):
            zero = build.const(np.zeros(sizes), to)
        else:
            none = Weight.of(np.zeros(1, np.int8))
            zero = build.cast(build("ConstantOfShape", build("Shape", scale), value=none), to)
    restate(op, patch, 19, [op.inputs[0], scale, zero], _without(op, "block_size", "output_dtype"))


def _quantize_19(op: Op, patch: Patch) -> None:
    """The scale was float32, the operand float32 or int32."""
    build = Build(op, patch)
    if not _result(build).is_integer:
        older(op, patch)  # refuses, by its type
    elif build.dtype(1).is_float and build.dtype(1) is not DType.FLOAT32:
        _by_parts(build)
    else:
        scale = build.cast(build.operand(1), DType.FLOAT32)
        restate(op, patch, 13, [op.inputs[0], scale, op.input(2)], _without(op, "saturate"))


def _quantize_13(op: Op, patch: Patch) -> None:
    if is_single(op):
        restate(op, patch, 10, attributes={})
    else:
        _by_parts(Build(op, patch))


def _by_parts(build: Build) -> None:
    """Divide, round, move, saturate: exact, since what is rounded is an integer."""
    op, to, at = build.old, _result(build), _precision(build)
    if to.bits < 8:
        refuse(op, f"no opset below {op.version} has tensors of {to}")
    x, scale = build.cast(build.operand(0), at), spread(build, 1, at)
    value = build("Div", x, scale)
    if at.bits < 32:
        value, at = build.cast(value, DType.FLOAT32), DType.FLOAT32
    if to.is_integer:
        value = build("Round", value)
    if not _is_nothing(op.input(2)):
        value = build("Add", value, spread(build, 2, at))
    if not to.is_integer:
        one, none = build.const(1, at), build.const(0, to)
        build.done(build("QuantizeLinear", value, one, none, saturate=op.attr("saturate", 1)))
        return
    top = 2 ** (to.bits - to.is_signed) - 1
    low, high = build.const(-top - 1 if to.is_signed else 0, at), build.const(top, at)
    build.done(build.cast(build("Clip", value, low, high), to))


def _is_nothing(zero: Value | None) -> bool:
    """Whether a zero point moves nothing: it is absent, or known to be 0."""
    if zero is None:
        return True
    known = numbers(zero)
    return known is not None and not known.astype(np.float64).any()


# -- DequantizeLinear -------------------------------------------------------------------------


def _stored_wider(op: Op, patch: Patch) -> bool:
    """State the op with a constant operand in a type that older versions have, if it has one."""
    build = Build(op, patch)
    wider = WIDER.get(build.dtype(0))
    weights = [constant(op.input(i)) for i in (0, 2)]
    absent = op.input(2) is None
    if wider is None or weights[0] is None or not (absent or weights[1]):
        return False
    made: list[Value | None] = [
        None if w is None else build.const(w.numpy(), wider) for w in weights
    ]
    restate(op, patch, op.version, [made[0], op.inputs[1], made[1]])
    return True


def _dequantize_older(op: Op, patch: Patch) -> None:
    known = schema.schema(*op.key, op.version - 1)
    allowed = known is not None and known.allows(0, Build(op, patch).dtype(0))
    if allowed or not _stored_wider(op, patch):
        older(op, patch)


def _dequantize_24(op: Op, patch: Patch) -> None:
    """Powers of two as scales are numbers of another type where they are constant."""
    scale = _in_float32(Build(op, patch))
    if scale is None:
        older(op, patch)
    else:
        restate(op, patch, 23, [op.inputs[0], scale, op.input(2)])


def _dequantize_23(op: Op, patch: Patch) -> None:
    """The result had the type of the scale; between two other types, float32 holds both."""
    build = Build(op, patch)
    if build.dtype(0) is DType.FLOAT4E2M1 and _stored_wider(op, patch):
        return
    given, to = _without(op, "output_dtype"), DType(op.attr("output_dtype", 0) or build.dtype(1))
    if to is build.dtype(1):
        restate(op, patch, 21, attributes=given)
        return
    operands = [build.operand(0), build.cast(build.operand(1), DType.FLOAT32), op.input(2)]
    build.done(build.cast(_again(build, operands, given), to))


def _again(build: Build, operands: Sequence[Value | None], given: dict[str, Attribute]) -> Value:
    return build.op("DequantizeLinear", operands, given)[0]


def _dequantize_21(op: Op, patch: Patch) -> None:
    """Neither blocks nor 16 bits; constants of 4 bits are stored in 8."""
    build = Build(op, patch)
    if build.dtype(0).bits == 16 or (block_of(op) and build.dtype(0).bits >= 8):
        _multiplied(build, op.input(0), op.input(2))
    elif not _stored_wider(op, patch):
        restate(op, patch, 19, attributes=_without(op, "block_size"))


def _dequantize_19(op: Op, patch: Patch) -> None:
    """The scale was float32; constants of 8-bit floats are stored in float16."""
    build = Build(op, patch)
    weight, zero = constant(op.input(0)), op.input(2)
    if build.dtype(0).is_float and weight is not None and _is_nothing(zero):
        _multiplied(build, build.const(weight.numpy(), DType.FLOAT16), None)
    elif build.dtype(0).is_float or build.dtype(1) is DType.FLOAT32:
        restate(op, patch, 13)
    else:
        scale = build.cast(build.operand(1), DType.FLOAT32)
        found = _again(build, [build.operand(0), scale, zero], op.attributes)
        build.done(build.cast(found, build.dtype(1)))


def _dequantize_13(op: Op, patch: Patch) -> None:
    if is_single(op):
        restate(op, patch, 10, attributes={})
    else:
        _multiplied(Build(op, patch), op.input(0), op.input(2))


def _multiplied(build: Build, x: Value | None, zero: Value | None) -> None:
    """(x - zero point) * scale, in float32: exact but for the last step."""
    op = build.old
    value = build.cast(build.operand(0) if x is None else x, DType.FLOAT32)
    if not _is_nothing(zero):
        value = build("Sub", value, spread(build, 2, DType.FLOAT32))
    value = build("Mul", value, spread(build, 1, DType.FLOAT32))
    named = int(op.attr("output_dtype", 0) or 0)
    build.done(build.cast(value, DType(named) if named else build.dtype(1)))


# -- QLinearMatMul ----------------------------------------------------------------------------


def _qlinear_matmul_21(op: Op, patch: Patch) -> None:
    """Scales were float32, operands integers; 8-bit floats are taken apart."""
    build = Build(op, patch)
    if not any(build.dtype(i).is_float for i in (0, 3)):
        inputs = [
            build.cast(v, DType.FLOAT32) if i in (1, 4, 6) and v is not None else v
            for i, v in enumerate(op.inputs)
        ]
        restate(op, patch, 10, inputs)
        return
    factors: list[Value] = []
    for first, axis in ((0, -2), (3, -1)):
        shape = shape_of(op.input(first + 1))
        if shape is None or len(shape) > 1:
            refuse(op, f"{op.type}: its scales are neither single nor a vector")
        scale = build.cast(build.operand(first + 1), DType.FLOAT32)
        operands = (build.operand(first), scale, op.input(first + 2))
        factors.append(build("DequantizeLinear", *operands, axis=axis))
    scale = build.cast(build.operand(6), DType.FLOAT32)
    build.done(build("QuantizeLinear", build("MatMul", *factors), scale, op.input(7)))


DOWNGRADES: dict[Key, Steps] = {
    ("", "ConvInteger"): {},
    ("", "DequantizeLinear"): {
        28: _dequantize_older,
        25: _dequantize_older,
        24: _dequantize_24,
        23: _dequantize_23,
        21: _dequantize_21,
        19: _dequantize_19,
        13: _dequantize_13,
    },
    ("", "DynamicQuantizeLinear"): {},
    ("", "MatMulInteger"): {},
    ("", "QLinearConv"): {},
    ("", "QLinearMatMul"): {21: _qlinear_matmul_21},
    ("", "QuantizeLinear"): {
        28: _older,
        25: _older,
        24: _quantize_24,
        23: _quantize_23,
        21: _quantize_21,
        19: _quantize_19,
        13: _quantize_13,
    },
}
