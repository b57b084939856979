"""ml: features of ai.onnx.ml that are arithmetic or movement of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.build import Build
from isomorph.ir.schema import ML
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite


def _extract(op: Op, patch: Patch) -> None:
    """Elements along the last axis; of a vector the result has one row."""
    build = Build(op, patch)
    places = build("Reshape", build.operand(1), build.ints(-1))
    found = build("Gather", build.operand(), places, axis=-1)
    build.done(build("Unsqueeze", found, build.ints(0)) if build.rank() == 1 else found)


def _binarize(op: Op, patch: Patch) -> None:
    """1 where it is above the threshold."""
    build = Build(op, patch)
    threshold = build.const(np.float32(op.attr("threshold", 0.0)), build.dtype())
    above = build("Greater", build.operand(), threshold)
    build.done(build.cast(above, build.dtype()))


def _scale(op: Op, patch: Patch) -> None:
    """(x − offset) · scale, in float32."""
    build = Build(op, patch)
    x = build.cast(build.operand(), DType.FLOAT32)
    offset, factor = op.attr("offset"), op.attr("scale")
    if offset:
        x = build("Sub", x, build.const(offset, DType.FLOAT32))
    if factor:
        x = build("Mul", x, build.const(factor, DType.FLOAT32))
    build.done(x if offset or factor else build("Identity", x))


DEFINITIONS: dict[Key, Rewrite] = {
    (ML, "ArrayFeatureExtractor"): _extract,
    (ML, "Binarizer"): _binarize,
    (ML, "Scaler"): _scale,
}
