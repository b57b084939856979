"""sequence: how older versions become the canonical one: the same, for more types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.versions import SAME

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.versions import Steps

UPGRADES: dict[Key, Steps] = {
    ("", "SplitToSequence"): {24: SAME},
    ("", "Optional"): {28: SAME},
    ("", "OptionalGetElement"): {18: SAME, 28: SAME},
    ("", "OptionalHasElement"): {18: SAME, 28: SAME},
}
