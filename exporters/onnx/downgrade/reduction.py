"""reduction: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade._older import (
    before,
    computing,
    inexpressible,
    older,
    refuse,
    same,
    widened,
)
from isomorph.ir.build import Build, restate
from isomorph.ir.constants import integers
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import fits
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps

LEAST = -(2**63)


def axes_of(op: Op) -> tuple[int, ...] | None:
    """The constant axes of a reduction, none when all are reduced; `None` if they are computed."""
    given = op.input(1)
    if given is None or (isinstance(given.type, TensorType) and given.type.shape == (0,)):
        return ()
    return integers(given)


def _axes_attribute(op: Op, patch: Patch) -> None:
    axes = axes_of(op)
    if axes is None:
        _by_sum(op, patch)
    elif not axes and op.attr("noop_with_empty_axes", 0):
        _without_axes(op, patch)
    else:
        attributes = {"keepdims": op.attributes.get("keepdims"), "axes": axes or None}
        restate(op, patch, before(op), op.inputs[:1], attributes)


def _by_sum(op: Op, patch: Patch) -> None:
    """ReduceSum takes axes as an operand since opset 13, the others since 18."""
    build = Build(op, patch)

    def total(x: Value) -> Value:
        return build.op("ReduceSum", (x, op.inputs[1]), op.attributes)[0]

    x, dtype = computing(build)
    match op.type:
        case "ReduceL1":
            found = total(build("Abs", x))
        case "ReduceL2" if dtype.is_float:
            found = build("Sqrt", total(build("Mul", x, x)))
        case "ReduceSumSquare":
            found = total(build("Mul", x, x))
        case "ReduceLogSum":
            found = build("Log", total(x))
        case "ReduceMean" if dtype.is_float:
            one = Weight.of(np.ones(1, dtype.numpy), dtype)
            count = total(build("ConstantOfShape", build("Shape", x), value=one))
            found = build("Div", total(x), count)
        case _:
            name = op.inputs[1].name if op.inputs[1] is not None else ""
            refuse(
                op,
                f"the axes of {op.type} (%{name}) are computed at run time; "
                f"before opset {op.version} they are an attribute",
            )
    build.done(build.cast(found, build.dtype()))


def _without_axes(op: Op, patch: Patch) -> None:
    """Reducing no axis leaves what the operator does to each element."""
    build = Build(op, patch)
    x = build.operand()
    match op.type:
        case "ReduceL1" | "ReduceL2":
            build.done(build("Abs", x))
        case "ReduceSumSquare":
            build.done(build("Mul", x, x))
        case "ReduceLogSum":
            build.done(build("Log", x))
        case _:
            build.done(build("Identity", x))


def _extreme_20(op: Op, patch: Patch) -> None:
    """Truth values as 0 and 1."""
    build = Build(op, patch)
    if build.dtype() is not DType.BOOL:
        older(op, patch)
        return
    numbers = build.cast(build.operand(), DType.UINT8)
    (found,) = build.op(op.type, (numbers, *op.inputs[1:]), op.attributes)
    build.done(build.cast(found, DType.BOOL))


def _extreme_12(op: Op, patch: Patch) -> None:
    """8-bit integers as int32."""
    build = Build(op, patch)
    if not fits(op, 11):
        older(op, patch)
        return
    if build.dtype().bits != 8:
        refuse(op, fits(op, 11))
    data, whole = build.cast(build.operand(), DType.INT32), op.output.type
    made = patch.op(op.type, (data,), op.attributes, version=11).output
    made.type = TensorType(DType.INT32, whole.shape if isinstance(whole, TensorType) else None)
    dtype = build.dtype()
    top = 2 ** (8 - dtype.is_signed) - 1
    # of no elements the result is the end of the type's own range
    limit = build.const(top if op.type == "ReduceMin" else top - 255, DType.INT32)
    build.done(build.cast(build(op.type.removeprefix("Reduce"), made, limit), dtype))


def _argument_12(op: Op, patch: Patch) -> None:
    """The last of several extremes is the first from behind."""
    if not op.attr("select_last_index", 0):
        older(op, patch, ("axis", "keepdims"))
        return
    build = Build(op, patch)
    axis = int(op.attr("axis", 0))
    flipped = _flip(build, build.operand(), axis)
    found = build(op.type, flipped, axis=axis, keepdims=op.attr("keepdims", 1))
    size = build("Gather", build("Shape", build.operand()), build.const(axis, DType.INT64))
    last = build("Sub", size, build.const(1, DType.INT64))
    build.done(build("Sub", last, found))


def _flip(build: Build, x: Value, axis: int) -> Value:
    return build("Slice", x, build.ints(-1), build.ints(LEAST), build.ints(axis), build.ints(-1))


_SINCE_18: Steps = {18: _axes_attribute, **same(13)}

DOWNGRADES: dict[Key, Steps] = {
    ("", "ArgMax"): {**same(13), 12: _argument_12},
    ("", "ArgMin"): {**same(13), 12: _argument_12},
    ("", "CumProd"): {26: inexpressible("older opsets have no running product")},
    ("", "CumSum"): {14: widened},
    ("", "ReduceL1"): _SINCE_18,
    ("", "ReduceL2"): _SINCE_18,
    ("", "ReduceLogSum"): {**same(28), **_SINCE_18},
    ("", "ReduceLogSumExp"): {**same(28), **_SINCE_18},
    ("", "ReduceMax"): {20: _extreme_20, **_SINCE_18, 12: _extreme_12},
    ("", "ReduceMean"): _SINCE_18,
    ("", "ReduceMin"): {20: _extreme_20, **_SINCE_18, 12: _extreme_12},
    ("", "ReduceProd"): _SINCE_18,
    ("", "ReduceSum"): {13: _axes_attribute},
    ("", "ReduceSumSquare"): _SINCE_18,
}
