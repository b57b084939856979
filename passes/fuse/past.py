"""Keys and values of a cache are put in front of the new ones; all of them are then valid keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType
from isomorph.passes.fuse.heads import BY_HEADS, dtype_of, reshaped, shape_of, split, transposed
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op, Value


def join(graph: Graph, op: Op) -> Patch | None:
    """Attention with a past is Attention over Concat(past, new), in which `total` keys are valid.

    The last query then stands at the last key. With a past it stands as far behind it as there are
    queries without a key of their own: where places matter, there must be none of those.
    """
    given = [*op.inputs[:3], op.input(4), op.input(5)]
    values = [v for v in given if v is not None]
    shown = op.outputs[3] if len(op.outputs) > 3 else None
    if len(values) != 5 or op.input(6) is not None or shown is not None:
        return None
    kinds = [v.type for v in values]
    if not all(isinstance(k, TensorType) and k.static_shape is not None for k in kinds):
        return None
    patch = Patch(graph, op)
    heads = op.attr("kv_num_heads")
    queries = split(patch, values[0], op.attr("q_num_heads"))
    key, value = (
        _joined(patch, old, split(patch, new, heads))
        for new, old in zip(values[1:3], values[3:], strict=True)
    )
    (batch, count, length, _), (_, _, total, size) = shape_of(queries), shape_of(value)
    if length != total - shape_of(values[4])[2] and _places_matter(op):
        patch.discard()
        return None
    valid = patch.weight(np.full(batch, total, np.int64))
    kept = {k: v for k, v in op.attributes.items() if not k.endswith("num_heads")}
    operands = [queries, key, value, op.input(3), None, None, valid]
    kind = TensorType(dtype_of(queries), (batch, count, length, size))
    result = patch.op("Attention", operands, kept, types=[kind]).output
    if len(shape_of(values[0])) == 3:
        turned = transposed(patch, result, BY_HEADS)
        result = reshaped(patch, turned, (batch, length, count * size))
    for old, new in zip(op.outputs, (result, key, value), strict=False):
        if old is not None:
            patch.replace(old, new)
    patch.remove(op)
    return patch


def _places_matter(op: Op) -> bool:
    sides = (op.attr(f"{side}_window_size", -1) for side in ("left", "right"))
    return bool(op.attr("is_causal")) or any(side >= 0 for side in sides)


def _joined(patch: Patch, old: Value, new: Value) -> Value:
    batch, heads, length, size = shape_of(old)
    kind = TensorType(dtype_of(old), (batch, heads, length + shape_of(new)[2], size))
    return patch.op("Concat", [old, new], {"axis": 2}, types=[kind]).output


JOIN_PAST = Rules("join-past", {("", "Attention"): (join,)})
