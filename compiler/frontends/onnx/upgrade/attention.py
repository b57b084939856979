"""attention: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.ops.attention import key_count, mask_length
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _attention_24(op: Op, patch: Patch) -> None:
    """A mask for one key was broadcast to all of them; now the others would be left out."""
    mask, last, total = op.input(3), mask_length(op), key_count(op)
    covers = (isinstance(last, int) and last != 1) or (last is not None and last == total)
    if mask is None or covers:
        restate(op, patch, 24)
        return
    build = Build(op, patch)
    count = build("Shape", build.operand(1), start=-2, end=-1)
    if op.input(4) is not None:
        count = build("Add", count, build("Shape", build.operand(4), start=2, end=3))
    wide = build("Expand", mask, count)
    known = mask.type
    if isinstance(known, TensorType) and known.shape is not None:
        wide.type = TensorType(known.dtype, (*known.shape[:-1], total))
    restate(op, patch, 24, (*op.inputs[:3], wide, *op.inputs[4:]))


def _attention_25(op: Op, patch: Patch) -> None:
    """Operands of rank 4 could be told their numbers of heads, to no effect."""
    first = op.input(0)
    known = None if first is None else first.type
    given = op.attributes
    if isinstance(known, TensorType) and known.rank == 4:
        given = {k: v for k, v in given.items() if k not in ("q_num_heads", "kv_num_heads")}
    restate(op, patch, 25, attributes=given)


UPGRADES: dict[Key, Steps] = {
    ("", "Attention"): {24: _attention_24, 25: _attention_25},
    ("", "CausalConvWithState"): {},
    ("", "LinearAttention"): {},
    ("", "RotaryEmbedding"): {},
    ("", "SwiGLU"): {},
}
