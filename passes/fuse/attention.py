"""A softmax between two products is one Attention: its scores are never written to memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from isomorph.ir.patch import Patch
from isomorph.ir.types import DType, TensorType
from isomorph.passes.fuse.group import FLOATS, sole_reader, static_shape
from isomorph.passes.fuse.heads import BY_HEADS, dtype_of, reshaped, shape_of, transposed
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Op, Value

LARGEST_HEAD = 128
"""Elements of a head that the kernel takes."""


def attend(graph: Graph, op: Op) -> Patch | None:
    """MatMul(Softmax(scale · MatMul(q, kᵀ) + mask), v) is Attention(q, k, v, mask).

    A row that sees no key is NaN in the one and zero in the other: masks are taken where none of
    their rows is all -inf, or where such rows are set to zero behind the softmax.
    """
    weights, v = op.inputs[0], op.inputs[1]
    if weights is None or v is None or not _is_heads(v) or not _is_heads(op.output):
        return None
    gate: Value | None = None
    soft = _made_by(graph, weights, "Where")
    if soft is None:
        soft = _made_by(graph, weights, "Softmax")
    else:
        gate, kept, other = soft.operands
        soft = _made_by(graph, kept, "Softmax") if _constant(other) == 0 else None
    if soft is None or soft.attr("axis") not in (-1, 3):
        return None
    scores, mask = _unmasked(graph, soft.operands[0])
    if gate is not None and not (mask is not None and _opens(gate, mask)):
        return None
    if mask is not None and gate is None and not bool(np.all(_rows_that_see(mask))):
        return None
    scale, product = _unscaled(graph, scores)
    if product is None:
        return None
    turned = product.operands[1]
    factor, q = _factor(product.operands[0])
    scale *= factor
    if scale <= 0 or not _is_heads(q) or not _fit(op, q, turned, v, mask):
        return None
    patch = Patch(graph, op)
    inputs = [q, _turned_back(patch, turned), v, *([mask] if mask is not None else [])]
    made = patch.op("Attention", inputs, {"scale": float(scale)}, types=[op.output.type])
    patch.replace_op(op, made)
    return patch


def _is_heads(value: Value) -> bool:
    """A tensor (batch, heads, length, size) that the kernel takes."""
    shape = static_shape(value)
    kind = value.type
    return (
        shape is not None
        and len(shape) == 4
        and isinstance(kind, TensorType)
        and kind.dtype in FLOATS
        and 0 < shape[3] <= LARGEST_HEAD
    )


def _made_by(graph: Graph, value: Value, kind: str) -> Op | None:
    """The op that makes a value, if it is of this kind and nothing else reads the value."""
    op = value.producer
    fits = op is not None and op.type == kind and not op.domain
    return op if fits and sole_reader(graph, value) is not None else None


def _constant(value: Value | None) -> float | None:
    """A weight of one element."""
    weight = None if value is None else value.weight
    if weight is None or weight.size != 1 or not weight.dtype.is_float:
        return None
    return float(weight.numpy().reshape(()))


def _unmasked(graph: Graph, value: Value) -> tuple[Value, Value | None]:
    """Scores, and what a mask adds to them, or where it lets them be."""
    added = _made_by(graph, value, "Add")
    if added is not None:
        first, second = added.operands
        return (second, first) if _is_mask(first, value) else (first, second)
    chosen = _made_by(graph, value, "Where")
    if chosen is not None and _constant(chosen.operands[2]) == -np.inf:
        return chosen.operands[1], chosen.operands[0]
    return value, None


def _is_mask(value: Value, scores: Value) -> bool:
    shape = static_shape(value)
    producer = value.producer
    return shape != static_shape(scores) or producer is None or producer.type == "Cast"


def _unscaled(graph: Graph, scores: Value) -> tuple[float, Op | None]:
    """The factor of scores, and the product that they are of."""
    product = _made_by(graph, scores, "MatMul")
    if product is not None:
        return 1.0, product
    for kind in ("Mul", "Div"):
        scaled = _made_by(graph, scores, kind)
        if scaled is None:
            continue
        factor = _constant(scaled.operands[1])
        product = _made_by(graph, scaled.operands[0], "MatMul")
        if factor and product is not None:
            return (factor if kind == "Mul" else 1 / factor), product
    return 1.0, None


def _factor(q: Value) -> tuple[float, Value]:
    """Queries that were scaled before the product, without their scale."""
    op = q.producer
    if op is not None and op.type == "Mul" and not op.domain:
        factor = _constant(op.operands[1])
        if factor is not None:
            return factor, op.operands[0]
    return 1.0, q


def _fit(op: Op, q: Value, turned: Value, v: Value, mask: Value | None) -> bool:
    """Whether shapes are those of attention without any broadcast of K and V but over heads."""
    (batch, heads, rows, size), seen = static_shape(q) or (0,) * 4, static_shape(turned)
    given, made = static_shape(v), static_shape(op.output)
    if seen is None or given is None or len(seen) != 4:
        return False
    keys = seen[3]
    if seen[:3] != (batch, given[1], size) or given[:3] != (batch, given[1], keys):
        return False
    if given[1] not in (1, heads) or made != (batch, heads, rows, given[3]):
        return False
    producer = turned.producer
    if producer is None or producer.type != "Transpose" or producer.domain:
        return False
    if mask is None:
        return True
    shape, kind = static_shape(mask), mask.type
    same = q.type.dtype if isinstance(q.type, TensorType) else None
    if shape is None or not isinstance(kind, TensorType) or kind.dtype not in (DType.BOOL, same):
        return False
    whole = (batch, heads, rows, keys)
    return bool(shape) and shape[-1] == keys and _broadcasts(shape, whole)


def _broadcasts(shape: Sequence[int], whole: Sequence[int]) -> bool:
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all(a in (1, b) for a, b in pairs)


def _rows_that_see(mask: Value) -> np.ndarray:
    """Which rows of a constant mask leave any key; of another one it is not known of any."""
    if mask.weight is None or not mask.weight.shape:
        return np.zeros((), bool)
    array = mask.weight.numpy()
    return np.any(array if array.dtype == bool else array != -np.inf, axis=-1, keepdims=True)


def _opens(gate: Value, mask: Value) -> bool:
    """Whether a gate is true for the rows in which a mask lets any key be seen."""
    if gate.weight is not None:
        return mask.weight is not None and bool(np.all(gate.weight.numpy() == _rows_that_see(mask)))
    value, path = gate, ["Cast", "ReduceMax", "Cast"]
    for kind in path:
        op = value.producer
        if op is None or op.type != kind or op.domain:
            return False
        if kind == "ReduceMax" and not _along_keys(op):
            return False
        value = op.operands[0]
    if value is mask:
        return True
    for kind in ("Not", "Equal"):
        op = value.producer
        if op is None or op.type != kind or op.domain:
            return False
        if kind == "Equal" and _constant(op.operands[1]) != -np.inf:
            return False
        value = op.operands[0]
    return value is mask


def _along_keys(op: Op) -> bool:
    axes = op.input(1)
    kind = op.operands[0].type
    if axes is None or axes.weight is None or not op.attr("keepdims"):
        return False
    rank = kind.rank if isinstance(kind, TensorType) else None
    return axes.weight.numpy().tolist() in ([-1], [(rank or 0) - 1])


def _turned_back(patch: Patch, turned: Value) -> Value:
    """Keys before they were transposed for the product."""
    op = cast("Op", turned.producer)
    *lead, a, b = op.attributes["perm"]
    perm = (*lead, b, a)
    source = op.operands[0]
    return source if perm == (0, 1, 2, 3) else transposed(patch, source, perm)


def share_heads(graph: Graph, op: Op) -> Patch | None:
    """Keys and values that are repeated for the heads of Q are read once for all of them."""
    once = [_before_repetition(v) for v in op.inputs[1:3]]
    if None in once:
        return None
    patch = Patch(graph, op)
    operands = [op.inputs[0], *once, *op.inputs[3:]]
    kind = [op.output.type]
    patch.replace_op(op, patch.op("Attention", operands, op.attributes, types=kind))
    return patch


def _before_repetition(value: Value | None) -> Value | None:
    """X of Reshape(Expand(Unsqueeze(x, 2))), which repeats each head of x."""
    path: list[Value] = []
    for kinds in (("Reshape",), ("Expand",), ("Reshape", "Unsqueeze")):
        op = None if value is None else value.producer
        if value is None or op is None or op.type not in kinds or op.domain:
            return None
        path.append(value)
        value = op.operands[0]
    shapes = [static_shape(v) for v in path]
    if not _is_heads(path[0]) or not _is_heads(value):
        return None
    batch, heads, length, size = shape_of(value)
    times = shape_of(path[0])[1] // max(heads, 1)
    repeated = [(batch, times * heads, length, size), (batch, heads, times, length, size)]
    return value if shapes == [*repeated, (batch, heads, 1, length, size)] else None


def fold_heads(graph: Graph, op: Op) -> Patch | None:
    """Operands whose heads were transposed to the front are read where they are; so is the result.

    Attention of rank 3 takes (batch, length, heads · size) as a projection leaves it.
    """
    reader = sole_reader(graph, op.output)
    operands = op.inputs[:3]
    if reader is None or not _by_heads(reader) or len(op.results) != 1:
        return None
    found = [v.producer if v is not None else None for v in operands]
    sources = [p.operands[0] for p in found if p is not None and _by_heads(p)]
    if len(sources) != 3 or any(v is not None for v in op.inputs[4:6]):
        return None
    patch = Patch(graph, op)
    shapes = [shape_of(v) for v in sources]
    joined = [
        reshaped(patch, v, (*s[:2], s[2] * s[3])) for v, s in zip(sources, shapes, strict=True)
    ]
    attributes = {**op.attributes, "q_num_heads": shapes[0][2], "kv_num_heads": shapes[1][2]}
    batch, length, heads, size = shape_of(reader.output)
    kind = TensorType(dtype_of(op.output), (batch, length, heads * size))
    made = patch.op("Attention", [*joined, *op.inputs[3:]], attributes, types=[kind])
    patch.replace(reader.output, reshaped(patch, made.output, (batch, length, heads, size)))
    patch.remove(reader)
    patch.remove(op)
    return patch


def _by_heads(op: Op) -> bool:
    return op.type == "Transpose" and not op.domain and op.attributes.get("perm") == BY_HEADS


FUSE_ATTENTION = Rules(
    "fuse-attention", {("", "MatMul"): (attend,), ("", "Attention"): (share_heads, fold_heads)}
)
