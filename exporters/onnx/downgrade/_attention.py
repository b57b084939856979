"""Attention in older versions, and without itself: products, masks and a softmax.

What a version lacks becomes part of the mask, which every version adds to the scores alike: windows
(25), keys that do not count and masks that are too short (24). The decomposition is the function
body of version 23, with these differences, none of which changes the function: sizes that are known
are numbers; heads of keys are repeated by one Gather; Q alone is scaled, by the whole factor; half
precision is computed in float32 and rounded once; rows are not guarded against having no key left
where every query sees one at least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade._older import single
from isomorph.exporters.onnx.downgrade._sizes import (
    Size,
    counted,
    minus,
    over,
    plus,
    size_of,
    times,
    vector,
)
from isomorph.ir.build import Build, restate
from isomorph.ir.ops.attention import key_count, mask_length
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch

WINDOW = ("left_window_size", "right_window_size")


def attention_25(op: Op, patch: Patch) -> None:
    """Windows become part of the mask."""
    left, right = (int(op.attr(name, -1)) for name in WINDOW)
    given = {k: v for k, v in op.attributes.items() if k not in WINDOW}
    if left < 0 and right < 0:
        restate(op, patch, 24, attributes=given)
        return
    build = Build(op, patch)
    place, key = _places(build), counted(build, _total(build))
    mask = _padded(build)
    if left >= 0:
        first = build("Sub", place, build.const(left, DType.INT64))
        mask = _narrowed(build, mask, build("LessOrEqual", first, key))
    if right >= 0:
        last = build("Add", place, build.const(right, DType.INT64))
        mask = _narrowed(build, mask, build("LessOrEqual", key, last))
    restate(op, patch, 24, (*op.inputs[:3], mask, *op.inputs[4:]), given)


def attention_24(op: Op, patch: Patch) -> None:
    """Keys that do not count, and the causality that depends on them, become part of the mask."""
    build = Build(op, patch)
    mask, given = _padded(build), op.attributes
    nonpad = op.input(6)
    if nonpad is not None:
        key = counted(build, _total(build))
        valid = build("Less", key, build("Unsqueeze", nonpad, build.ints(1, 2, 3)))
        if op.attr("is_causal", 0):
            valid = build("And", valid, build("LessOrEqual", key, _places(build)))
            given = {k: v for k, v in given.items() if k != "is_causal"}
        mask = _narrowed(build, mask, valid)
    restate(op, patch, 23, (*op.inputs[:3], mask, *op.inputs[4:6]), given)


def attention_23(op: Op, patch: Patch) -> None:
    """The function body, in what every opset has."""
    build = Build(op, patch)
    own = build.dtype()
    kinds = {build.dtype(i) for i in range(3)}
    dtype = DType.FLOAT64 if DType.FLOAT64 in kinds else DType.FLOAT32
    q = split_heads(build, build.operand(0), op.attr("q_num_heads"), build.rank())
    k, v = (
        split_heads(build, build.operand(i), op.attr("kv_num_heads"), build.rank()) for i in (1, 2)
    )
    if op.input(4) is not None:
        k = build("Concat", build.operand(4), k, axis=2)
        v = build("Concat", build.operand(5), v, axis=2)
    keys, values = _repeated(build, q, k, v)
    keys = build("Transpose", build.cast(keys, dtype), perm=(0, 1, 3, 2))
    raw = build("MatMul", _scaled(build, build.cast(q, dtype), dtype), keys)
    capped, cap = raw, single(op, "softcap")
    if cap:
        bound = build.const(cap, dtype)
        capped = build("Mul", build("Tanh", build("Div", raw, bound)), bound)
    bias, guarded = _bias(build, dtype)
    scores = capped if bias is None else build("Add", capped, bias)
    weights = _softmax(build, scores, dtype)
    if bias is not None and guarded:
        highest = build("ReduceMax", bias, build.ints(-1))
        emptied = build("Equal", highest, build.const(-np.inf, dtype))
        weights = build("Where", emptied, build.const(0, dtype), weights)
    y = build("MatMul", weights, build.cast(values, dtype))
    if build.rank() == 3:
        y = join_heads(build, y)
    results: list[Value | None] = [build.cast(y, own), k, v]
    if len(op.outputs) > 3 and op.outputs[3] is not None:
        shown = (raw, capped, scores, weights)
        mode = int(op.attr("qk_matmul_output_mode", 0))
        results.append(build.cast(shown[mode] if 0 <= mode < len(shown) else raw, own))
    build.done(*results)


def split_heads(build: Build, value: Value, heads: int | None, rank: int) -> Value:
    """(batch, length, heads · size) as (batch, heads, length, size); rank 4 stays as it is."""
    if rank == 4 or heads is None:
        return value
    size = over(build, size_of(build, value, 2), heads)
    apart = build("Reshape", value, vector(build, 0, 0, heads, size))
    return build("Transpose", apart, perm=(0, 2, 1, 3))


def join_heads(build: Build, value: Value) -> Value:
    """(batch, heads, length, size) as (batch, length, heads · size)."""
    hidden = times(build, size_of(build, value, 1), size_of(build, value, 3))
    turned = build("Transpose", value, perm=(0, 2, 1, 3))
    return build("Reshape", turned, vector(build, 0, 0, hidden))


def repeated_heads(build: Build, value: Value, queries: Size, heads: Size) -> Value:
    """Each of the heads at axis 1 as often as there are query heads for it."""
    if isinstance(queries, int) and isinstance(heads, int):
        if queries == heads:
            return value
        which = build.ints(*(i // (queries // heads) for i in range(queries)))
    else:
        which = build("Div", counted(build, queries), vector(build, over(build, queries, heads)))
    return build("Gather", value, which, axis=1)


def _repeated(build: Build, q: Value, k: Value, v: Value) -> tuple[Value, Value]:
    kinds = [x.type for x in (q, k)]
    dims: list[Dim] = [
        t.shape[1] if isinstance(t, TensorType) and t.shape is not None else None for t in kinds
    ]
    if dims[0] is not None and dims[0] == dims[1]:
        return k, v
    queries, heads = size_of(build, q, 1), size_of(build, k, 1)
    return repeated_heads(build, k, queries, heads), repeated_heads(build, v, queries, heads)


def _scaled(build: Build, q: Value, dtype: DType) -> Value:
    """Q times the whole factor; its root is NaN where the factor is negative."""
    if build.old.attributes.get("scale") is not None:
        factor = single(build.old, "scale")
        number = build.const(factor if factor >= 0 else np.nan, dtype)
        return q if factor == 1 else build("Mul", q, number)
    size = size_of(build, q, 3)
    if not isinstance(size, int):
        return build("Div", q, build("Sqrt", build.cast(size, dtype)))
    factor = 1 / np.sqrt(float(max(size, 1)))
    if dtype is DType.FLOAT64 and float(np.float32(factor)) != factor:
        # one number for each column: a lone one onnxruntime's optimizer would round to float32
        return build("Mul", q, build.const(np.full(size, factor), dtype))
    return build("Mul", q, build.exact(factor, dtype))


def _softmax(build: Build, scores: Value, dtype: DType) -> Value:
    named = build.old.attr("softmax_precision")
    precision = dtype if named is None else DType(named)
    return build.cast(build("Softmax", build.cast(scores, precision), axis=-1), dtype)


def _bias(build: Build, dtype: DType) -> tuple[Value | None, bool]:
    """What is added to the scores, and whether a row of it may be −∞ throughout."""
    mask = build.old.input(3)
    guarded = mask is not None
    if mask is not None and not _is_truth(mask):
        mask = build.cast(build.cast(mask, build.dtype()), dtype)
    if build.old.attr("is_causal", 0):
        key = counted(build, _total(build))
        mask = _narrowed(build, mask, build("LessOrEqual", key, _places(build)))
    if mask is not None and _is_truth(mask):
        mask = build("Where", mask, build.const(0, dtype), build.const(-np.inf, dtype))
    return mask, guarded


# -- masks ------------------------------------------------------------------------------------


def _past(build: Build) -> Size:
    past = build.old.input(4)
    return 0 if past is None else size_of(build, past, 2)


def _total(build: Build) -> Size:
    """How many keys there are, those of the past among them."""
    return plus(build, size_of(build, build.operand(1), -2), _past(build))


def _places(build: Build) -> Value:
    """The position of every query among the keys: (queries, 1), or that for each of the batch."""
    length = size_of(build, build.operand(0), -2)
    nonpad = build.old.input(6)
    offset = _past(build)
    if nonpad is None and isinstance(length, int) and isinstance(offset, int):
        return build.const(np.arange(length)[:, None] + offset, DType.INT64)
    place = build("Unsqueeze", counted(build, length), build.ints(1))
    if nonpad is not None:
        before = build("Sub", nonpad, vector(build, length))
        return build("Add", place, build("Unsqueeze", before, build.ints(1, 2, 3)))
    return place if offset == 0 else build("Add", place, vector(build, offset))


def _padded(build: Build) -> Value | None:
    """The mask for every key: those that it is too short for are left out."""
    mask, op = build.old.input(3), build.old
    if mask is None or op.version < 24 or build.rank(3) == 0:  # one number is that of every key
        return mask
    last, total = mask_length(op), key_count(op)
    covers = last is not None and last == total
    source = _before_expand(op, mask, covers=covers)
    if source is not None and op.version == 24 and op.input(6) is None:
        return source
    if covers or source is not None:
        return mask
    rank, amount = build.rank(3), minus(build, _total(build), size_of(build, mask, -1))
    mask, kind = _truth_or_float(build, mask)
    lowest = build.const(False if kind is DType.BOOL else -np.inf, kind)
    return build("Pad", mask, vector(build, *[0] * (2 * rank - 1), amount), lowest)


def _before_expand(op: Op, mask: Value, *, covers: bool) -> Value | None:
    """A mask as it was before the upgrade from version 23 spread it over all keys.

    Version 23 broadcasts by itself.
    """
    made = mask.producer
    if made is None or made.key != ("", "Expand"):
        return None
    source, target = made.inputs
    known = None if target is None else target.type
    one = isinstance(known, TensorType) and known.shape == (1,)
    counts = target is not None and _counts_keys(op, target)
    shape = source.type.shape if source and isinstance(source.type, TensorType) else None
    return source if shape != () and (counts or (one and covers)) else None


def _counts_keys(op: Op, target: Value) -> bool:
    """Whether this was computed as the number of keys."""
    made = target.producer
    terms = [target] if made is None or made.type != "Add" else [*made.inputs]
    ops = [v.producer for v in terms if v is not None and v.producer is not None]
    wanted = [v for v in (op.input(1), op.input(4)) if v is not None]
    return [o.inputs[0] for o in ops if o.type == "Shape"] == wanted


def _narrowed(build: Build, mask: Value | None, allowed: Value) -> Value:
    """A mask that leaves out, too, whatever is not allowed."""
    if mask is None:
        return allowed
    if _is_truth(mask):
        return build("And", mask, allowed)
    mask, dtype = _truth_or_float(build, mask)
    added = build("Where", allowed, build.const(0, dtype), build.const(-np.inf, dtype))
    return build("Add", mask, added)


def _truth_or_float(build: Build, mask: Value) -> tuple[Value, DType]:
    """A mask of truth values or floats; not of bfloat16, which run times can do little with."""
    known = mask.type.dtype if isinstance(mask.type, TensorType) else None
    if known is DType.BOOL:
        return mask, known
    if known is None or not known.is_float:
        mask, known = build.cast(mask, build.dtype()), build.dtype()
    wider = DType.FLOAT32 if known is DType.BFLOAT16 else known
    return build.cast(mask, wider), wider


def _is_truth(mask: Value) -> bool:
    return isinstance(mask.type, TensorType) and mask.type.dtype is DType.BOOL
