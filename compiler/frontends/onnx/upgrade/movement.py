"""movement: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.frontends.onnx.upgrade._resize import resize_from_10, resize_from_11, upsample
from isomorph.ir.build import Build, restate
from isomorph.ir.types import TensorType
from isomorph.ir.versions import SAME

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _attribute(op: Op, patch: Patch, name: str) -> Value | None:
    """A list attribute as a constant vector; `None` when it is not given."""
    given = op.attr(name)
    return None if given is None else Build(op, patch).ints(*given)


def _without(op: Op, *names: str) -> dict[str, object]:
    return {k: v for k, v in op.attributes.items() if k not in names}


def _split(op: Op, patch: Patch) -> None:
    sizes = _attribute(op, patch, "split")
    restate(op, patch, 13, (op.inputs[0], sizes), _without(op, "split"))


def _split_18(op: Op, patch: Patch) -> None:
    parts = len(op.outputs) if op.input(1) is None else None
    restate(op, patch, 18, None, {**op.attributes, "num_outputs": parts})


def _slice(op: Op, patch: Patch) -> None:
    bounds = (_attribute(op, patch, n) for n in ("starts", "ends", "axes"))
    restate(op, patch, 10, (op.inputs[0], *bounds), {})


def _axes(op: Op, patch: Patch) -> None:
    axes = _attribute(op, patch, "axes")
    restate(op, patch, 13, (op.inputs[0], axes), _without(op, "axes"))


def _pad(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    data, filling = op.inputs[0], op.attr("value")
    value: Value | None = None
    if filling and op.attr("mode") == "constant":
        filling = np.float32(filling)
        if data is not None and isinstance(data.type, TensorType):
            value = build.const(filling, data.type.dtype)
        else:
            value = build("CastLike", patch.weight(filling), data)
    pads = build.ints(*op.attr("pads"))
    restate(op, patch, 11, (data, pads, value), _without(op, "pads", "value"))


_TYPES_FROM_19 = {19: SAME, 21: SAME, 23: SAME, 24: SAME, 25: SAME}
_TYPES_FROM_21 = {21: SAME, 23: SAME, 24: SAME, 25: SAME}

UPGRADES: dict[Key, Steps] = {
    ("", "Reshape"): {13: SAME, 14: SAME, **_TYPES_FROM_19},
    ("", "Transpose"): {13: SAME, **_TYPES_FROM_21},
    ("", "Concat"): {11: SAME, 13: SAME},
    ("", "Split"): {11: SAME, 13: _split, 18: _split_18},
    ("", "Slice"): {10: _slice, 11: SAME, 13: SAME},
    ("", "Squeeze"): {11: SAME, 13: _axes, **_TYPES_FROM_21},
    ("", "Unsqueeze"): {11: SAME, 13: _axes, **_TYPES_FROM_21},
    ("", "Flatten"): {9: SAME, 11: SAME, 13: SAME, **_TYPES_FROM_21},
    ("", "Expand"): {13: SAME},
    ("", "Tile"): {13: SAME},
    ("", "Pad"): {11: _pad, 13: SAME, 18: SAME, **_TYPES_FROM_19},
    ("", "DepthToSpace"): {11: SAME, 13: SAME, 28: SAME},
    ("", "SpaceToDepth"): {13: SAME, 28: SAME},
    ("", "Shape"): {13: SAME, 15: SAME, **_TYPES_FROM_19},
    ("", "Size"): {13: SAME, **_TYPES_FROM_19},
    ("", "Constant"): {9: SAME, 11: SAME, 12: SAME, 13: SAME, **_TYPES_FROM_19},
    ("", "ConstantOfShape"): {20: SAME, **_TYPES_FROM_21},
    ("", "Range"): {27: SAME},
    ("", "EyeLike"): {22: SAME},
    ("", "ReverseSequence"): {28: SAME},
    ("", "Upsample"): {7: upsample, 9: upsample, 10: upsample},
    ("", "Resize"): {11: resize_from_10, 13: resize_from_11, 18: SAME, 19: SAME},
}
