"""CastLike is a Cast: the type it copies is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op


def name_the_type(graph: Graph, op: Op) -> Patch | None:
    """CastLike(x, y) = Cast(x, to the element type of y)."""
    like = op.inputs[1]
    if like is None or not isinstance(like.type, TensorType):
        return None
    patch = Patch(graph, op)
    attributes = {**op.attributes, "to": like.type.dtype.value}
    made = patch.op("Cast", [op.inputs[0]], attributes, types=[op.output.type])
    patch.replace_op(op, made)
    return patch


CAST_LIKE = Rules("cast-like", {("", "CastLike"): (name_the_type,)})
