"""Where every dim is a number, so is what asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.patch import Patch
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import TensorType
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op


def fold(graph: Graph, op: Op) -> Patch | None:
    """Shape and Size of a tensor of known shape are constants."""
    operand = op.inputs[0]
    if operand is None or not isinstance(operand.type, TensorType):
        return None
    shape = operand.type.static_shape
    if shape is None:
        return None
    nothing = np.broadcast_to(np.zeros((), np.bool_), shape)
    patch = Patch(graph, op)
    patch.replace(op.output, patch.weight(evaluate(op, [nothing])[0], op.output.name))
    patch.remove(op)
    return patch


FOLD_SHAPES = Rules("fold-shapes", {("", "Shape"): (fold,), ("", "Size"): (fold,)})
