"""Split, Pad and CenterCropPad in older versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.constants import integers
from isomorph.ir.dims import Expr, floor_div
from isomorph.ir.ops._cut import equal_parts
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch


def split_18(op: Op, patch: Patch) -> None:
    """Parts that are not certain to be equal get their sizes, computed where they have to be."""
    axis, parts = op.attr("axis"), op.attr("num_outputs")
    if op.input(1) is not None:
        restate(op, patch, 13, None, {"axis": axis})
        return
    build = Build(op, patch)
    data = build.operand()
    dim = _dim(data, axis)
    if isinstance(dim, Expr) and floor_div(dim, parts) * parts is dim:
        restate(op, patch, 13, None, {"axis": axis})
    elif isinstance(dim, int):
        sizes = equal_parts(dim, parts)
        same = len(set(sizes)) == 1
        given = None if same else build.ints(*(int(s) for s in sizes if isinstance(s, int)))
        restate(op, patch, 13, (data, given), {"axis": axis})
    else:
        whole = build("Gather", build("Shape", data), build.ints(axis))
        each = build("Div", build("Add", whole, build.ints(parts - 1)), build.ints(parts))
        last = build("Sub", whole, build("Mul", each, build.ints(parts - 1)))
        sizes = build("Concat", *([each] * (parts - 1)), last, axis=0)
        restate(op, patch, 13, (data, sizes), {"axis": axis})


def _dim(value: Value, axis: int) -> Dim:
    known = value.type
    return known.shape[axis] if isinstance(known, TensorType) and known.shape else None


def split_13(op: Op, patch: Patch) -> None:
    """Sizes become an attribute; where they are computed, each part is a slice."""
    sizes, axis = integers(op.input(1)), op.attr("axis")
    if sizes is not None or op.input(1) is None:
        restate(op, patch, 11, op.inputs[:1], {"axis": axis, "split": sizes})
        return
    build = Build(op, patch)
    start = build.ints(0)
    parts: list[Value | None] = []
    for index, value in enumerate(op.outputs):
        length = build("Slice", build.operand(1), build.ints(index), build.ints(index + 1))
        end = build("Add", start, length)
        part = build("Slice", build.operand(), start, end, build.ints(axis))
        parts.append(None if value is None else part)
        start = end
    build.done(*parts)


def pad_19(op: Op, patch: Patch) -> None:
    """Wrapping around is gathering at the remainder, axis by axis."""
    if op.attr("mode") != "wrap":
        restate(op, patch, 18)
        return
    build = Build(op, patch)
    rank, pads, axes = build.rank(), integers(op.input(1)), integers(op.input(3))
    if pads is None or (axes is None and op.input(3) is not None):
        raise InexpressibleError(
            "Pad-18 does not wrap around, and to gather instead the pads must be constant",
            "make pads and axes constant, or export at opset 19 or newer",
            19,
        )
    places = range(rank) if axes is None else [a % rank for a in axes]
    half, data = len(pads) // 2, build.operand()
    for axis, before, after in zip(places, pads[:half], pads[half:], strict=True):
        if before or after:
            data = build("Gather", data, _wrapped(build, data, axis, before, after), axis=axis)
    build.done(data)


def _wrapped(build: Build, data: Value, axis: int, before: int, after: int) -> Value:
    """Indices along an axis: cropped by negative pads first, then wrapped around by the others."""
    first, cropped = max(-before, 0), max(-before, 0) + max(-after, 0)
    before, after = max(before, 0), max(after, 0)
    dim = _dim(data, axis)
    if isinstance(dim, int):
        kept = dim - cropped
        return build.ints(*(first + place % kept for place in range(-before, kept + after)))
    size = build("Gather", build("Shape", data), build.const(axis, DType.INT64))
    kept = build("Sub", size, build.const(cropped, DType.INT64))
    end = build("Add", kept, build.const(after, DType.INT64))
    counted = build("Range", build.const(-before, DType.INT64), end, build.const(1, DType.INT64))
    return build("Add", build("Mod", counted, kept), build.const(first, DType.INT64))


def pad_18(op: Op, patch: Patch) -> None:
    """Pads of some axes become pads of all."""
    data, pads, value, axes = (op.input(i) for i in range(4))
    if axes is None:
        restate(op, patch, 13)
        return
    build = Build(op, patch)
    rank = build.rank()
    fixed, places = integers(pads), integers(axes)
    if fixed is not None and places is not None:
        full = [0] * (2 * rank)
        for index, place in enumerate(places):
            full[place % rank] = fixed[index]
            full[rank + place % rank] = fixed[len(places) + index]
        restate(op, patch, 13, (data, build.ints(*full), value))
        return
    whole = build.const(rank, DType.INT64)
    before = build("Mod", build.cast(axes, DType.INT64), whole)
    both = build("Concat", before, build("Add", before, whole), axis=0)
    scattered = build("ScatterElements", build.ints(*([0] * (2 * rank))), both, pads)
    restate(op, patch, 13, (data, scattered, value))


def pad_13(op: Op, patch: Patch) -> None:
    """Truth values are padded as bytes."""
    build = Build(op, patch)
    data, value = build.operand(), op.input(2)
    if not isinstance(data.type, TensorType) or data.type.dtype is not DType.BOOL:
        restate(op, patch, 11)
        return
    filling = None if value is None else build.cast(value, DType.UINT8)
    padded = build("Pad", build.cast(data, DType.UINT8), op.inputs[1], filling, **op.attributes)
    build.done(build.cast(padded, DType.BOOL))


def center_crop_pad_18(op: Op, patch: Patch) -> None:
    """Slice away half of what is too much, then pad half of what is missing."""
    build = Build(op, patch)
    data, axes = build.operand(), op.attr("axes")
    wanted = build.cast(build.operand(1), DType.INT64)
    shape = build("Shape", data)
    if axes is not None:
        wanted = build("ScatterElements", shape, build.ints(*axes), wanted)
    zero, two = build.ints(0), build.ints(2)
    excess = build("Sub", shape, wanted)
    cropped = build("Where", build("Less", excess, zero), zero, excess)
    padded = build("Sub", cropped, excess)
    start = build("Div", cropped, two)
    end = build("Add", start, build("Sub", shape, cropped))
    before = build("Div", padded, two)
    after = build("Sub", padded, before)
    kept = build("Slice", data, start, end)
    build.done(build("Pad", kept, build("Concat", before, after, axis=0)))
