"""indexing: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.versions import SAME

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _top_k(op: Op, patch: Patch) -> None:
    count = Build(op, patch).ints(op.attr("k"))
    restate(op, patch, 10, (op.inputs[0], count), {"axis": op.attr("axis")})


def _scatter(op: Op, patch: Patch) -> None:
    made = patch.op("ScatterElements", op.inputs, {"axis": op.attr("axis")}, version=11)
    patch.replace_op(op, made)


UPGRADES: dict[Key, Steps] = {
    ("", "Gather"): {11: SAME, 13: SAME},
    ("", "GatherElements"): {13: SAME},
    ("", "GatherND"): {12: SAME, 13: SAME},
    ("", "Scatter"): {11: _scatter},
    ("", "ScatterElements"): {13: SAME, 16: SAME, 18: SAME},
    ("", "ScatterND"): {13: SAME, 16: SAME, 18: SAME},
    ("", "OneHot"): {11: SAME, 28: SAME},
    ("", "TopK"): {10: _top_k, 11: SAME, 24: SAME},
    ("", "NonZero"): {13: SAME},
    ("", "Compress"): {11: SAME, 28: SAME},
    ("", "Unique"): {28: SAME},
    ("", "NonMaxSuppression"): {11: SAME},
}
