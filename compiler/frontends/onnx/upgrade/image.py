"""image: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import restate
from isomorph.ir.ops.image import MODES
from isomorph.ir.versions import SAME

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _grid_sample_20(op: Op, patch: Patch) -> None:
    """Modes lose their prefix, since there may be any number of axes."""
    mode = op.attr("mode", "bilinear")
    restate(op, patch, 20, attributes={**op.attributes, "mode": MODES.get(mode, mode)})


UPGRADES: dict[Key, Steps] = {
    ("", "GridSample"): {20: _grid_sample_20, 22: SAME},
    ("", "AffineGrid"): {},
    ("", "ImageDecoder"): {},
}
