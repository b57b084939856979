"""indexing: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops._bounds import product
from isomorph.ir.ops._reshape import Types, tensor, unknown
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim


def _gather(ctx: Context) -> Types:
    shape, places = ctx.shape(0), ctx.shape(1)
    if shape is None:
        return tensor(ctx, None)
    axis = ctx.axis(ctx.attr("axis"), len(shape))
    elements, indices = ctx.dims(0), ctx.array(1)
    if elements is not None and indices is not None and indices.ndim <= 1 and len(shape) == 1:
        count = len(elements)
        if any(not -count <= int(i) < count for i in indices.reshape(-1)):
            raise ctx.error(f"indices {indices.tolist()} are out of range for {count} elements")
        ctx.know(tuple(elements[int(i)] for i in indices.reshape(-1)), scalar=not indices.ndim)
    if places is None:
        return tensor(ctx, None)
    return tensor(ctx, (*shape[:axis], *places, *shape[axis + 1 :]))


def _gather_elements(ctx: Context) -> Types:
    return tensor(ctx, ctx.shape(1))


def _gather_nd(ctx: Context) -> Types:
    shape, places = ctx.shape(0), ctx.shape(1)
    if shape is None or places is None or not places:
        return tensor(ctx, None)
    depth, batch = places[-1], ctx.attr("batch_dims")
    if not isinstance(depth, int):
        return tensor(ctx, None)
    if not 0 <= batch < min(len(shape), len(places)):
        raise ctx.error(
            f"batch_dims is {batch}; 0 to {min(len(shape), len(places)) - 1} was expected, of data "
            f"of rank {len(shape)} and indices of rank {len(places)}"
        )
    if not 1 <= depth <= len(shape) - batch:
        raise ctx.error(f"index tuples of {depth} do not fit {len(shape)} axes, {batch} of a batch")
    return tensor(ctx, (*places[:-1], *shape[batch + depth :]))


def _scatter(ctx: Context) -> Types:
    """The first operand's type; contents where all three operands are known vectors."""
    elements, indices, updates = ctx.dims(0), ctx.array(1), ctx.dims(2)
    known = elements is not None and indices is not None and updates is not None
    if known and ctx.rank(0) == 1 and ctx.attr("reduction", "none") == "none":
        changed = list(elements or ())
        for place, update in zip(indices.reshape(-1), updates or (), strict=False):  # type: ignore[union-attr]
            changed[int(place)] = update
        ctx.know(tuple(changed))
    return tensor(ctx, ctx.shape(0))


def _same(ctx: Context) -> Types:
    return tensor(ctx, ctx.shape(0))


def _one_hot(ctx: Context) -> Types:
    shape = ctx.shape(0)
    if shape is None:
        return tensor(ctx, None, like=2)
    axis = ctx.axis(ctx.attr("axis"), len(shape) + 1)
    known, array = ctx.dims(1), ctx.array(1)
    depth: Dim = None
    if array is not None and array.size == 1:
        depth = int(array.reshape(-1)[0])
    elif known is not None and len(known) == 1:
        depth = known[0]
    return tensor(ctx, (*shape[:axis], depth, *shape[axis:]), like=2)


def _top_k(ctx: Context) -> Types:
    shape, dtype = ctx.shape(0), ctx.dtype(0)
    if shape is not None:
        axis = ctx.axis(ctx.attr("axis"), len(shape))
        known = ctx.dims(1)
        count = known[0] if known is not None and len(known) == 1 else None
        dim = shape[axis]
        if isinstance(count, int) and isinstance(dim, int) and not 0 <= count <= dim:
            raise ctx.error(f"the {count} largest of {dim} elements are asked for")
        shape = (*shape[:axis], count, *shape[axis + 1 :])
    values = None if dtype is None else TensorType(dtype, shape)
    return values, TensorType(DType.INT64, shape)


def _non_zero(ctx: Context) -> Types:
    return (TensorType(DType.INT64, (ctx.rank(0), None)),)


def _compress(ctx: Context) -> Types:
    shape, axis, condition = ctx.shape(0), ctx.attr("axis"), ctx.array(1)
    count = None if condition is None else int(condition.sum())
    if axis is None:
        return tensor(ctx, (count,))
    if shape is None:
        return tensor(ctx, None)
    axis = ctx.axis(axis, len(shape))
    size = shape[axis]
    if condition is not None and isinstance(size, int) and condition[size:].any():
        raise ctx.error(f"its condition selects element {size} and beyond, of {size}")
    return tensor(ctx, (*shape[:axis], count, *shape[axis + 1 :]))


def _unique(ctx: Context) -> Types:
    shape, axis, dtype = ctx.shape(0), ctx.attr("axis"), ctx.dtype(0)
    found, whole = unknown(1), None if shape is None else product(shape)
    if axis is not None and shape is None:
        found = None
    elif axis is not None and shape is not None:
        axis = ctx.axis(axis, len(shape))
        found, whole = (*shape[:axis], None, *shape[axis + 1 :]), shape[axis]
    places = TensorType(DType.INT64, unknown(1))
    values = None if dtype is None else TensorType(dtype, found)
    return values, places, TensorType(DType.INT64, (whole,)), places


def _non_max_suppression(ctx: Context) -> Types:
    return (TensorType(DType.INT64, (None, 3)),)


OPS: dict[Key, OpDef] = {
    ("", "Gather"): OpDef(_gather, Tolerance.EXACT),
    ("", "GatherElements"): OpDef(_gather_elements, Tolerance.EXACT),
    ("", "GatherND"): OpDef(_gather_nd, Tolerance.EXACT),
    ("", "ScatterElements"): OpDef(_scatter, Tolerance.SUM),
    ("", "ScatterND"): OpDef(_scatter, Tolerance.SUM),
    ("", "TensorScatter"): OpDef(_same, Tolerance.EXACT),
    ("", "OneHot"): OpDef(_one_hot, Tolerance.EXACT),
    ("", "TopK"): OpDef(_top_k, Tolerance.DISCONTINUOUS),
    ("", "NonZero"): OpDef(_non_zero, Tolerance.DISCONTINUOUS),
    ("", "Compress"): OpDef(_compress, Tolerance.EXACT),
    ("", "Unique"): OpDef(_unique, Tolerance.DISCONTINUOUS),
    ("", "NonMaxSuppression"): OpDef(_non_max_suppression, Tolerance.DISCONTINUOUS),
}
