"""image: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._fourier import counted
from isomorph.exporters.onnx.downgrade._older import computing, inexpressible, widened
from isomorph.exporters.onnx.downgrade._sampling import grid_sample
from isomorph.ir.build import Build, restate
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps

_PREFIXED = {"linear": "bilinear", "cubic": "bicubic"}


def _grid_sample_20(op: Op, patch: Patch) -> None:
    """Version 16 has two spatial axes; others are written out."""
    if Build(op, patch).rank() != 4:
        grid_sample(op, patch)
        return
    mode = op.attr("mode", "linear")
    restate(op, patch, 16, attributes={**op.attributes, "mode": _PREFIXED.get(mode, mode)})


def _affine_grid_20(op: Op, patch: Patch) -> None:
    """Σ coordinate · column of theta, over axes; the coordinates are computed in float64."""
    build = Build(op, patch)
    theta, dtype = computing(build)
    rank = _spatial(build)
    size, axes = build.operand(1), build.ints(*range(1, rank + 1))

    def column(index: int) -> Value:
        found = build("Gather", theta, build.const(index, DType.INT64), axis=2)
        return build("Unsqueeze", found, axes)

    total = column(rank)
    for axis in range(rank):
        count = build("Gather", size, build.const(axis + 2, DType.INT64))
        at = build.cast(_centres(build, count, corners=bool(op.attr("align_corners"))), dtype)
        behind = build.ints(*range(1, rank - axis + 1))
        term = build("Mul", build("Unsqueeze", at, behind), column(rank - 1 - axis))
        total = build("Add", total, term)
    build.done(build.cast(total, build.dtype()))


def _spatial(build: Build) -> int:
    """Two or three spatial axes, whichever operand says so."""
    theta, size = (build.operand(i).type for i in (0, 1))
    if isinstance(theta, TensorType) and theta.shape and isinstance(theta.shape[1], int):
        return theta.shape[1]
    if isinstance(size, TensorType) and size.shape and isinstance(size.shape[0], int):
        return size.shape[0] - 2
    raise InexpressibleError(
        "whether AffineGrid makes a plane or a volume is not known",
        "state the shape of theta or of size, or export at opset 20 or newer",
        20,
    )


def _centres(build: Build, count: Value, *, corners: bool) -> Value:
    """(2i - (n - 1)) / n, or / (n - 1) when corners are aligned; a single one is 0."""
    one, two = (build.const(v, DType.INT64) for v in (1, 2))
    last = build("Sub", count, one)
    steps = build("Sub", build("Mul", counted(build, count), two), last)
    whole = build("Max", last, one) if corners else count
    return build("Div", build.cast(steps, DType.FLOAT64), build.cast(whole, DType.FLOAT64))


DOWNGRADES: dict[Key, Steps] = {
    ("", "GridSample"): {22: widened, 20: _grid_sample_20, 16: grid_sample},
    ("", "AffineGrid"): {20: _affine_grid_20},
    ("", "ImageDecoder"): {20: inexpressible("images have to be decoded before the model")},
}
