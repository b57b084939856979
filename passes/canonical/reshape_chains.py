"""Reshapes of reshapes become one, and one way to say a shape that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op, Value

_RESHAPES = frozenset(("", t) for t in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"))


def merge(graph: Graph, op: Op) -> Patch | None:
    """Reshape(f(x), shape) = Reshape(x, shape) for any f that only changes the shape."""
    operand, shape = op.inputs[0], op.input(1)
    before = operand.producer if operand is not None else None
    if before is None or before.key not in _RESHAPES or shape is None:
        return None
    if not _independent(op):
        return None
    patch = Patch(graph, op)
    made = patch.op(
        "Reshape", [before.inputs[0], shape], dict(op.attributes), types=[op.output.type]
    )
    patch.replace_op(op, made)
    return patch


def _independent(op: Op) -> bool:
    """Whether the shape wanted copies no dim (a 0) from the operand."""
    if op.attr("allowzero"):
        return True
    shape = op.inputs[1]
    weight = None if shape is None else shape.weight
    return weight is not None and bool(np.all(weight.numpy() != 0))


def as_reshape(graph: Graph, op: Op) -> Patch | None:
    """Squeeze or Unsqueeze after another of them, to a known shape: one Reshape."""
    operand = op.inputs[0]
    before = operand.producer if operand is not None else None
    if before is None or before.key not in _RESHAPES or graph.is_shared(before.output):
        return None
    return _to(graph, op, before.inputs[0])


def plain(graph: Graph, op: Op) -> Patch | None:
    """Flatten, and Reshape that copies dims (a 0) or infers one that is known: one form of both."""
    return _to(graph, op, op.inputs[0])


def _to(graph: Graph, op: Op, operand: Value | None) -> Patch | None:
    """A Reshape to the shape of the op's result, when at most one of its dims is open."""
    kind, given = op.output.type, op.input(1)
    if not isinstance(kind, TensorType) or kind.shape is None:
        return None
    unknown = [d for d in kind.shape if not isinstance(d, int)]
    if len(unknown) > 1 or 0 in kind.shape:
        return None
    wanted = np.array([d if isinstance(d, int) else -1 for d in kind.shape], np.int64)
    if op.type == "Reshape":
        weight = None if given is None else given.weight
        same = weight is not None and np.array_equal(weight.numpy(), wanted)
        if weight is None or (same and not op.attr("allowzero")):
            return None
    patch = Patch(graph, op)
    made = patch.op("Reshape", [operand, patch.weight(wanted, "shape")], types=[kind])
    patch.replace_op(op, made)
    return patch


RESHAPE_CHAINS = Rules(
    "reshape-chains",
    {
        ("", "Reshape"): (merge, plain),
        ("", "Squeeze"): (as_reshape,),
        ("", "Unsqueeze"): (as_reshape,),
        ("", "Flatten"): (plain,),
    },
)
