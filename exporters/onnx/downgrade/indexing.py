"""indexing: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.types import DType
from isomorph.ir.versions import SAME, InexpressibleError

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _gather_nd_12(op: Op, patch: Patch) -> None:
    """Batch dims become coordinates in front of each index tuple."""
    batch = op.attr("batch_dims")
    if not batch:
        restate(op, patch, 11, None, {})
        return
    build = Build(op, patch)
    data, indices, rank = build.operand(0), build.operand(1), build.rank(1)
    shape = build("Shape", indices)
    single = build(
        "Concat", build("Slice", shape, build.ints(0), build.ints(-1)), build.ints(1), axis=0
    )
    columns: list[Value] = []
    for axis in range(batch):
        places = [1] * rank
        places[axis] = -1
        counted = build("Reshape", _counted(build, shape, axis), build.ints(*places))
        columns.append(build("Expand", counted, single))
    whole = build("Concat", *columns, indices, axis=-1)
    build.done(build("GatherND", data, whole))


def _counted(build: Build, shape: Value, axis: int) -> Value:
    """0, 1, … up to the size of an axis of that shape."""
    size = build("Gather", shape, build.const(axis, DType.INT64))
    return build("Range", build.const(0, DType.INT64), size, build.const(1, DType.INT64))


def _scatter_18(op: Op, patch: Patch) -> None:
    if op.attr("reduction") in ("max", "min"):
        raise InexpressibleError(
            f"{op.type}-16 does not reduce by {op.attr('reduction')}",
            "export at opset 18 or newer",
            18,
        )
    restate(op, patch, 16)


def _tensor_scatter_24(op: Op, patch: Patch) -> None:
    """ScatterElements at write index + position, around the end where it is circular."""
    build = Build(op, patch)
    past, update, rank = build.operand(0), build.operand(1), build.rank()
    axis = op.attr("axis") % rank
    shape = build("Shape", update)
    along = [1] * rank
    along[axis] = -1
    places = build("Reshape", _counted(build, shape, axis), build.ints(*along))
    first = op.input(2)
    if first is not None:
        starts = build("Reshape", first, build.ints(-1, *([1] * (rank - 1))))
        places = build("Add", places, starts)
    if op.attr("mode") == "circular":
        size = build("Gather", build("Shape", past), build.const(axis, DType.INT64))
        places = build("Mod", places, size)
    everywhere = build("Expand", places, shape)
    build.done(build("ScatterElements", past, everywhere, update, axis=axis))


DOWNGRADES: dict[Key, Steps] = {
    ("", "Gather"): {13: SAME},
    ("", "GatherElements"): {13: SAME},
    ("", "GatherND"): {13: SAME, 12: _gather_nd_12},
    ("", "ScatterElements"): {18: _scatter_18, 16: SAME, 13: SAME},
    ("", "ScatterND"): {18: _scatter_18, 16: SAME, 13: SAME},
    ("", "TensorScatter"): {24: _tensor_scatter_24},
    ("", "OneHot"): {28: SAME},
    ("", "TopK"): {24: SAME},
    ("", "NonZero"): {13: SAME},
    ("", "Compress"): {28: SAME},
    ("", "Unique"): {28: SAME},
}
