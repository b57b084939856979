"""Transposes after transposes become one; one that moves nothing goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType
from isomorph.passes.canonical.clean import identity
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op


def _perm(op: Op) -> tuple[int, ...] | None:
    perm = op.attributes.get("perm")
    if perm is not None:
        return tuple(perm)
    kind = op.inputs[0].type if op.inputs[0] is not None else None
    if not isinstance(kind, TensorType) or kind.rank is None:
        return None
    return tuple(reversed(range(kind.rank)))


def compose(graph: Graph, op: Op) -> Patch | None:
    """Transpose(Transpose(x, p), q) = Transpose(x, p∘q)."""
    operand = op.inputs[0]
    before = operand.producer if operand is not None else None
    if before is None or before.key != op.key:
        return None
    first, second = _perm(before), _perm(op)
    if first is None or second is None:
        return None
    patch = Patch(graph, op)
    perm = tuple(first[axis] for axis in second)
    made = patch.op("Transpose", [before.inputs[0]], {"perm": perm}, types=[op.output.type])
    patch.replace_op(op, made)
    return patch


def still(graph: Graph, op: Op) -> Patch | None:
    """A transpose that keeps the order of all axes."""
    perm = _perm(op)
    if perm is None or perm != tuple(range(len(perm))):
        return None
    return identity(graph, op)


TRANSPOSE_CHAINS = Rules("transpose-chains", {("", "Transpose"): (compose, still)})
