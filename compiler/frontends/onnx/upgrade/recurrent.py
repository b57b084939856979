"""recurrent: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import restate
from isomorph.ir.versions import SAME, Steps

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch


def _to_7(op: Op, patch: Patch) -> None:
    """output_sequence only said whether Y may be left out; an absent output says that now."""
    attributes = {k: v for k, v in op.attributes.items() if k != "output_sequence"}
    restate(op, patch, 7, attributes=attributes)


UPGRADES: dict[Key, Steps] = {
    ("", "LSTM"): {7: _to_7, 14: SAME, 22: SAME},
    ("", "GRU"): {7: _to_7, 14: SAME, 22: SAME},
    ("", "RNN"): {7: _to_7, 14: SAME, 22: SAME},
}
