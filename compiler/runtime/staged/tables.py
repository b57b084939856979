"""The ops of the host, and which they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.types import TensorType
from isomorph.runtime.staged.control import CONTROL
from isomorph.runtime.staged.partition import by_shapes, is_decided
from isomorph.runtime.staged.sequences import SEQUENCES
from isomorph.runtime.staged.sized import SIZED

if TYPE_CHECKING:
    from collections.abc import Collection

    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.runtime.staged.action import Handler

HANDLERS: dict[Key, Handler] = {**CONTROL, **SEQUENCES, **SIZED}
"""What makes the action of an op, by its key."""

MOVERS = frozenset({"Compress", "ConcatFromSequence", "SplitToSequence"})
"""Those that move elements with kernels."""


def is_host(op: Op, known: Collection[Value] = ()) -> bool:
    """Whether an op is the host's: its meaning is which kernels run, or what size things are.

    Args:
        op: of a canonical graph.
        known: captures of its graph that shapes alone say.
    """
    if op.key not in HANDLERS:
        return False
    if op.type == "Identity":
        return any(v.type is not None and not isinstance(v.type, TensorType) for v in op.operands)
    if op.type != "If":
        return True
    if not is_decided(op, known):
        return True
    said = [by_shapes(v, known) for v in op.captures]
    for _, graph in op.subgraphs():
        inner = {f for f, is_said in zip(graph.captures, said, strict=True) if is_said}
        if any(is_host(member, inner) for member in graph.ops()):
            return True
    return False
