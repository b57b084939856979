"""signal: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _dft_20(op: Op, patch: Patch) -> None:
    """The axis, by default the first behind the batch, becomes an operand."""
    axis = Build(op, patch).const(op.attr("axis", 1), DType.INT64)
    attributes = {k: v for k, v in op.attributes.items() if k != "axis"}
    restate(op, patch, 20, (op.inputs[0], op.input(1), axis), attributes)


UPGRADES: dict[Key, Steps] = {
    ("", "DFT"): {20: _dft_20},
    ("", "STFT"): {},
    ("", "HannWindow"): {},
    ("", "HammingWindow"): {},
    ("", "BlackmanWindow"): {},
    ("", "MelWeightMatrix"): {},
}
