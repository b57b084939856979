"""convolution: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.versions import SAME, InexpressibleError, Steps

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch


def _new(op: Op, patch: Patch) -> None:
    """No older ops sample or sum at places like these without multiplying by zeros."""
    raise InexpressibleError(
        f"{op.type} exists from opset {op.version} on, and no older operators compute it",
        f"export at opset {op.version} or newer",
        op.version,
    )


DOWNGRADES: dict[Key, Steps] = {
    ("", "Conv"): {22: SAME},
    ("", "ConvTranspose"): {22: SAME},
    ("", "DeformConv"): {22: SAME, 19: _new},
    ("", "Col2Im"): {18: _new},
}
