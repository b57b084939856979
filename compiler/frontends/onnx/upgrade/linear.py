"""linear: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import restate
from isomorph.ir.versions import SAME, Steps

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch


def _gemm_7(op: Op, patch: Patch) -> None:
    """C always broadcasts from version 7 on; before, only where `broadcast` said so."""
    attributes = {k: v for k, v in op.attributes.items() if k != "broadcast"}
    restate(op, patch, 7, attributes=attributes)


UPGRADES: dict[Key, Steps] = {
    ("", "MatMul"): {9: SAME, 13: SAME},
    ("", "Gemm"): {7: _gemm_7, 9: SAME, 11: SAME, 13: SAME},
    ("", "Einsum"): {28: SAME},
    ("", "Det"): {22: SAME},
}
