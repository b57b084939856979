"""Upsample and the first versions of Resize."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.build import Build, restate
from isomorph.ir.constants import numbers
from isomorph.ir.types import DType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch


def upsample(op: Op, patch: Patch) -> None:
    """Any Upsample as Resize-10, which has its meaning (asymmetric, to the left pixel)."""
    scales = op.input(1)
    if scales is None:
        given = op.attr("scales")
        if given is None:
            given = (1.0, 1.0, op.attr("height_scale"), op.attr("width_scale"))
        scales = patch.weight(np.asarray(given, np.float32))
    mode = "linear" if op.attr("mode") == "bilinear" else op.attr("mode")
    made = patch.op("Resize", (op.inputs[0], scales), {"mode": mode}, version=10)
    patch.replace_op(op, made)


def resize_from_10(op: Op, patch: Patch) -> None:
    """`x / scale`, to the left pixel where it grows and to the right one where it shrinks."""
    build = Build(op, patch)
    data, scales = build.operand(0), build.operand(1)
    fixed = numbers(scales)
    if op.attr("mode") != "nearest":
        build.done(_asymmetric(build, data, scales, mode=op.attr("mode")))
        return
    grows = fixed is None or bool((fixed > 1).any())
    shrinks = fixed is None or bool((fixed < 1).any())
    if not shrinks:
        build.done(_asymmetric(build, data, scales, nearest_mode="floor"))
    elif not grows:
        build.done(_asymmetric(build, data, scales, nearest_mode="ceil"))
    else:
        one = build.const(1, DType.FLOAT32)
        larger = _asymmetric(build, data, build("Max", scales, one), nearest_mode="floor")
        build.done(_asymmetric(build, larger, build("Min", scales, one), nearest_mode="ceil"))


def _asymmetric(build: Build, data: Value, scales: Value, **attributes: str) -> Value:
    return build(
        "Resize", data, None, scales, coordinate_transformation_mode="asymmetric", **attributes
    )


_SHIFTED = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}
"""`(x + 0.5) / scale` lies half a pixel to the right of `half_pixel`."""


def resize_from_11(op: Op, patch: Patch) -> None:
    """An empty tensor meant an absent operand; `tf_half_pixel_for_nn` went."""
    attributes = dict(op.attributes)
    where = op.attr("coordinate_transformation_mode")
    if where == "tf_half_pixel_for_nn":
        rounding = _SHIFTED.get(op.attr("nearest_mode"))
        if op.attr("mode") != "nearest" or rounding is None:
            raise InexpressibleError(
                f"Resize-13 has no equivalent of {where} with mode {op.attr('mode')!r}, "
                f"nearest_mode {op.attr('nearest_mode')!r}",
                "choose half_pixel where the model is made",
            )
        attributes["coordinate_transformation_mode"] = "half_pixel"
        attributes["nearest_mode"] = rounding
    roi = op.input(1) if where == "tf_crop_and_resize" else None
    scales = op.input(2) if op.input(3) is None else None
    restate(op, patch, 13, (op.inputs[0], roi, scales, op.input(3)), attributes)
