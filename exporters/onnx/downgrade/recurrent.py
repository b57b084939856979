"""recurrent: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.versions import SAME, Steps

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch

BATCH_FIRST = (0, 5, 6)
"""Operands that have the batch first when layout is 1: X, initial_h, initial_c."""


def _from_14(op: Op, patch: Patch) -> None:
    """Before version 14 time comes first: with layout 1, operands and results are transposed."""
    attributes = {k: v for k, v in op.attributes.items() if k != "layout"}
    if not op.attr("layout", 0):
        restate(op, patch, 7, attributes=attributes)
        return
    build = Build(op, patch)
    inputs: list[Value | None] = []
    for index, value in enumerate(op.inputs):
        swapped = value is not None and index in BATCH_FIRST
        inputs.append(build("Transpose", value, perm=(1, 0, 2)) if swapped else value)
    every, *last = build.op(op.type, inputs, attributes, outputs=len(op.outputs))
    results: list[Value | None] = [None] * len(op.outputs)
    for index, (wanted, value) in enumerate(zip(op.outputs, (every, *last), strict=True)):
        if wanted is not None:
            perm = (1, 0, 2) if index else (2, 0, 1, 3)
            results[index] = build("Transpose", value, perm=perm)
    build.done(*results)


DOWNGRADES: dict[Key, Steps] = {
    ("", "LSTM"): {22: SAME, 14: _from_14},
    ("", "GRU"): {22: SAME, 14: _from_14},
    ("", "RNN"): {22: SAME, 14: _from_14},
}
