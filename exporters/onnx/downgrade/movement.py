"""movement: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade import _cut
from isomorph.exporters.onnx.downgrade._resize import resize_13, resize_18, resize_19
from isomorph.ir.build import Build, restate
from isomorph.ir.constants import constant_of, integers
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import SAME, InexpressibleError
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _reshape_14(op: Op, patch: Patch) -> None:
    """`allowzero` goes where no dim of the shape is zero, or a zero is copied anyway."""
    if op.attr("allowzero") and not _zeros_are_copied(op):
        raise InexpressibleError(
            "Reshape-13 copies a dim where the shape is 0, and here it may be 0",
            "make the shape a constant, or export at opset 14 or newer",
            14,
        )
    restate(op, patch, 13, None, {})


def _zeros_are_copied(op: Op) -> bool:
    shape = integers(op.input(1))
    if shape is None:
        known = op.output.type
        dims = known.shape if isinstance(known, TensorType) else None
        return dims is not None and all(isinstance(d, int) and d > 0 for d in dims)
    data = op.inputs[0].type if op.inputs[0] is not None else None
    dims = data.shape if isinstance(data, TensorType) else None
    return all(
        size != 0 or (dims is not None and axis < len(dims) and dims[axis] == 0)
        for axis, size in enumerate(shape)
    )


def _axes_13(op: Op, patch: Patch) -> None:
    """Axes become an attribute, which takes constants alone."""
    axes = integers(op.input(1))
    if axes is None and op.input(1) is not None:
        raise InexpressibleError(
            f"{op.type}-11 takes constant axes alone, and here they are computed",
            "make the axes constant, or export at opset 13 or newer",
            13,
        )
    restate(op, patch, 11, op.inputs[:1], {"axes": axes})


def _space_to_depth_28(op: Op, patch: Patch) -> None:
    """`CRD` is the default order with blocks and channels exchanged."""
    if op.attr("mode") == "DCR":
        restate(op, patch, 13, None, {"blocksize": op.attr("blocksize")})
        return
    build, block = Build(op, patch), op.attr("blocksize")
    usual = build("SpaceToDepth", build.operand(), blocksize=block)
    shape = build("Shape", usual)
    area = build.ints(block * block)
    batch, channels, space = (
        build("Slice", shape, build.ints(a), build.ints(b)) for a, b in ((0, 1), (1, 2), (2, 4))
    )
    split = build("Concat", batch, area, build("Div", channels, area), space, axis=0)
    apart = build("Reshape", usual, split)
    build.done(build("Reshape", build("Transpose", apart, perm=(0, 2, 1, 3, 4)), shape))


def _shape_15(op: Op, patch: Patch) -> None:
    first, last = op.attr("start"), op.attr("end")
    if not first and last is None:
        restate(op, patch, 13, None, {})
        return
    build = Build(op, patch)
    whole = build("Shape", build.operand())
    end = 2**63 - 1 if last is None else last
    build.done(build("Slice", whole, build.ints(first), build.ints(end)))


def _constant_12(op: Op, patch: Patch) -> None:
    """Numbers, strings and lists of them become tensors."""
    weight = constant_of(op)
    if weight is None:
        raise InexpressibleError("Constant-11 holds dense tensors alone", lowest=12)
    restate(op, patch, 11, None, {"value": weight})


def _range_27(op: Op, patch: Patch) -> None:
    """Half precision is computed in the wider type that `stash_type` names, then rounded."""
    known = op.output.type
    dtype = known.dtype if isinstance(known, TensorType) else None
    if dtype not in (DType.FLOAT16, DType.BFLOAT16):
        restate(op, patch, 11, None, {})
        return
    wider = DType(op.attr("stash_type"))
    if wider not in (DType.FLOAT32, DType.FLOAT64):
        raise InexpressibleError(f"Range-11 does not compute in {wider}", lowest=27)
    build = Build(op, patch)
    ends = [build.cast(build.operand(i), wider) for i in range(3)]
    build.done(build.cast(build("Range", *ends), dtype))


def _trilu_14(op: Op, patch: Patch) -> None:
    """Where(column - row reaches the diagonal, x, zero)."""
    build = Build(op, patch)
    data, dtype = build.operand(), build.dtype()
    diagonal = op.input(1)
    rows, columns = (
        build("Unsqueeze", build("Range", *_indices(build, data, axis)), build.ints(place))
        for axis, place in ((-2, 1), (-1, 0))
    )
    distance = build("Sub", columns, rows)
    bound = build.const(0, DType.INT64) if diagonal is None else diagonal
    outside = build("Less" if op.attr("upper") else "Greater", distance, bound)
    filling = np.array("", object) if dtype is DType.STRING else np.zeros((), dtype.numpy)
    zero = patch.weight(Weight.of(filling, dtype))
    build.done(build("Where", outside, zero, data))


def _indices(build: Build, data: Value, axis: int) -> tuple[Value, Value, Value]:
    """Operands of the Range that counts along an axis."""
    size = build("Gather", build("Shape", data), build.const(axis, DType.INT64))
    return build.const(0, DType.INT64), size, build.const(1, DType.INT64)


_TYPES_TO_19 = {25: SAME, 24: SAME, 23: SAME, 21: SAME, 19: SAME}
_TYPES_TO_21 = {25: SAME, 24: SAME, 23: SAME, 21: SAME}

DOWNGRADES: dict[Key, Steps] = {
    ("", "Reshape"): {**_TYPES_TO_19, 14: _reshape_14, 13: SAME},
    ("", "Transpose"): {**_TYPES_TO_21, 13: SAME},
    ("", "Concat"): {13: SAME},
    ("", "Split"): {18: _cut.split_18, 13: _cut.split_13},
    ("", "Slice"): {13: SAME},
    ("", "Squeeze"): {**_TYPES_TO_21, 13: _axes_13},
    ("", "Unsqueeze"): {**_TYPES_TO_21, 13: _axes_13},
    ("", "Flatten"): {**_TYPES_TO_21, 13: SAME},
    ("", "Expand"): {13: SAME},
    ("", "Tile"): {13: SAME},
    ("", "Pad"): {
        **_TYPES_TO_21,
        19: _cut.pad_19,
        18: _cut.pad_18,
        13: _cut.pad_13,
    },
    ("", "CenterCropPad"): {18: _cut.center_crop_pad_18},
    ("", "DepthToSpace"): {28: SAME, 13: SAME},
    ("", "SpaceToDepth"): {28: _space_to_depth_28, 13: SAME},
    ("", "Shape"): {**_TYPES_TO_19, 15: _shape_15, 13: SAME},
    ("", "Size"): {**_TYPES_TO_19, 13: SAME},
    ("", "Constant"): {**_TYPES_TO_19, 13: SAME, 12: _constant_12},
    ("", "ConstantOfShape"): {**_TYPES_TO_21, 20: SAME},
    ("", "Range"): {27: _range_27},
    ("", "EyeLike"): {22: SAME},
    ("", "Trilu"): {14: _trilu_14},
    ("", "ReverseSequence"): {28: SAME},
    ("", "Resize"): {19: resize_19, 18: resize_18, 13: resize_13},
}
