"""reduction: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.types import DType
from isomorph.ir.versions import SAME

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite, Same, Steps


def _same(*versions: int) -> dict[int, Same]:
    """Steps that only allow more."""
    return dict.fromkeys(versions, SAME)


def _axes_operand(version: int) -> Rewrite:
    """The axes became an operand; without any, all are reduced, as before."""

    def step(op: Op, patch: Patch) -> None:
        axes: tuple[int, ...] = tuple(op.attributes.get("axes", ()))
        attributes = {k: v for k, v in op.attributes.items() if k != "axes"}
        inputs = [op.inputs[0]]
        if axes:
            inputs.append(Build(op, patch).ints(*axes))
        restate(op, patch, version, inputs, attributes)

    return step


def _floats_28(op: Op, patch: Patch) -> None:
    """Integers are no longer allowed; they are computed in float64 and truncated."""
    build = Build(op, patch)
    if build.dtype().is_float:
        restate(op, patch, 28)
        return
    data = build.cast(build.operand(), DType.FLOAT64)
    (found,) = build.op(op.type, (data, *op.inputs[1:]), op.attributes)
    build.done(build.cast(found, build.dtype()))


_SINCE_18 = {**_same(11, 13), 18: _axes_operand(18)}

UPGRADES: dict[Key, Steps] = {
    ("", "ArgMax"): _same(11, 12, 13),
    ("", "ArgMin"): _same(11, 12, 13),
    ("", "CumProd"): {},
    ("", "CumSum"): _same(14),
    ("", "ReduceL1"): _SINCE_18,
    ("", "ReduceL2"): _SINCE_18,
    ("", "ReduceLogSum"): {**_SINCE_18, 28: _floats_28},
    ("", "ReduceLogSumExp"): {**_SINCE_18, 28: _floats_28},
    ("", "ReduceMax"): {**_SINCE_18, **_same(12, 20)},
    ("", "ReduceMean"): _SINCE_18,
    ("", "ReduceMin"): {**_SINCE_18, **_same(12, 20)},
    ("", "ReduceProd"): _SINCE_18,
    ("", "ReduceSum"): {**_same(11), 13: _axes_operand(13)},
    ("", "ReduceSumSquare"): _SINCE_18,
}
