"""Scales and zero points that broadcast over what they belong to, in operators of any opset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade._older import refuse
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.build import Build
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.types import Shape


def shape_of(value: Value | None) -> Shape | None:
    """A tensor's shape where at least its rank is known."""
    return value.type.shape if value is not None and isinstance(value.type, TensorType) else None


def block_of(op: Op) -> int:
    """Elements that share a scale along the axis; 0 where quantization is not blocked."""
    return 0 if is_single(op) else int(op.attr("block_size", 0) or 0)


def is_single(op: Op) -> bool:
    """Whether one scale serves all elements; InexpressibleError where its rank is not known."""
    scale = shape_of(op.input(1))
    if scale is None:
        refuse(op, f"{op.type}: the rank of its scale is not known")
    return scale in ((), (1,))


def spread(build: Build, index: int, dtype: DType) -> Value | None:
    """Operand 1 or 2 in a float type, so that it broadcasts over operand 0; `None` when absent."""
    op, given = build.old, build.old.input(index)
    if given is None:
        return None
    value = build.cast(given, dtype)
    if is_single(op):
        return build("Squeeze", value, build.ints(0)) if shape_of(given) == (1,) else value
    axis, block = int(op.attr("axis", 1)), block_of(op)
    if block:
        axis = axis if axis >= 0 else axis + build.rank()
        return build("Gather", value, _blocks(build, axis, block), axis=axis)
    behind = -axis - 1 if axis < 0 else build.rank() - 1 - axis
    return build("Unsqueeze", value, build.ints(*range(1, behind + 1))) if behind > 0 else value


def _blocks(build: Build, axis: int, block: int) -> Value:
    """The block that each element along an axis lies in."""
    x = build.operand()
    size = (shape_of(x) or ())[axis]
    if isinstance(size, int):
        return build.patch.weight(Weight.of(np.arange(size, dtype=np.int64) // block))
    zero, one = build.const(0, DType.INT64), build.const(1, DType.INT64)
    length = build("Gather", build("Shape", x), build.const(axis, DType.INT64))
    return build("Div", build("Range", zero, length, one), build.const(block, DType.INT64))
