"""The ops of the host, and which they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.types import TensorType
from isomorph.runtime.staged.control import CONTROL
from isomorph.runtime.staged.partition import is_decided
from isomorph.runtime.staged.sequences import SEQUENCES
from isomorph.runtime.staged.sized import SIZED

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.runtime.staged.procedure import Action, Maker

HANDLERS: dict[Key, Callable[[Op, Maker], Action]] = {**CONTROL, **SEQUENCES, **SIZED}
"""What makes the action of an op, by its key."""


def is_host(op: Op) -> bool:
    """Whether an op is the host's: its meaning is which kernels run, or what size things are."""
    if op.key not in HANDLERS:
        return False
    if op.type == "Identity":
        return any(v.type is not None and not isinstance(v.type, TensorType) for v in op.operands)
    if op.type != "If":
        return True
    return not is_decided(op) or any(
        is_host(inner) for _, graph in op.subgraphs() for inner in graph.ops()
    )
