"""loss: how older versions become the canonical one: they only allow more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.versions import SAME

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.versions import Steps

UPGRADES: dict[Key, Steps] = {
    ("", "NegativeLogLikelihoodLoss"): {13: SAME, 22: SAME},
    ("", "SoftmaxCrossEntropyLoss"): {13: SAME},
}
