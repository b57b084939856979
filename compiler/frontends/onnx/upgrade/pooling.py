"""pooling: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import restate
from isomorph.ir.versions import SAME, Steps

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch


def _roi_align_16(op: Op, patch: Patch) -> None:
    """Version 16 shifts coordinates by half a pixel unless it is told not to."""
    attributes = {**op.attributes, "coordinate_transformation_mode": "output_half_pixel"}
    restate(op, patch, 16, attributes=attributes)


# What changes the wording but not the meaning: AveragePool-11 and -19 and MaxPool-12 correct the
# sizes that auto_pad gives; AveragePool-22 and MaxPool-22 say that with ceil_mode a window that
# would start in the padding at the end is dropped, where older texts leave it nothing to pool; how
# far a window that overhangs the padding counts was never said and is one at all versions.
UPGRADES: dict[Key, Steps] = {
    ("", "MaxPool"): {8: SAME, 10: SAME, 11: SAME, 12: SAME, 22: SAME},
    ("", "AveragePool"): {7: SAME, 10: SAME, 11: SAME, 19: SAME, 22: SAME},
    ("", "LpPool"): {11: SAME, 18: SAME, 22: SAME},
    ("", "GlobalMaxPool"): {22: SAME},
    ("", "GlobalAveragePool"): {22: SAME},
    ("", "GlobalLpPool"): {22: SAME},
    ("", "MaxUnpool"): {11: SAME, 22: SAME},
    ("", "MaxRoiPool"): {22: SAME},
    ("", "RoiAlign"): {16: _roi_align_16, 22: SAME},
}
