"""Ops whose data says how large their results are: the host reads it, and says.

What they find are places; what lies at these places is moved by kernels.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.semantics import evaluate
from isomorph.runtime.errors import RunError
from isomorph.runtime.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.runtime.program import Watch
    from isomorph.runtime.staged.action import Action, Handler, Make
    from isomorph.runtime.tensors import Held


def _read(op: Op, make: Make) -> Action:
    """The op itself, on the host."""

    def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
        results = evaluate(op, [None if v is None else v.numpy() for v in operands])
        return [Tensor.of(make.pool, r) for r in results]

    return run


def _compress(op: Op, make: Make) -> Action:
    axis = op.attr("axis")

    def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
        x: Tensor = operands[0]
        condition: Tensor = operands[1]
        if axis is None:
            x, place = x.reshaped((prod(x.shape),)), 0
        else:
            place = int(axis) % max(len(x.shape), 1)
        chosen = np.flatnonzero(condition.numpy())
        if chosen.size and chosen[-1] >= x.shape[place]:
            raise RunError(
                f"{op}: its condition chooses {chosen[-1]} along axis {place} of {list(x.shape)}"
            )
        indices = Tensor.of(make.pool, chosen.astype(np.int64))
        return make.apply("Gather", [x, indices], {"axis": place})

    return run


SIZED: dict[Key, Handler] = {
    ("", "Compress"): _compress,
    ("", "NonMaxSuppression"): _read,
    ("", "NonZero"): _read,
    ("", "Unique"): _read,
}
