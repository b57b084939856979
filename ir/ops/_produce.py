"""Shape rules of operators that make tensors from shapes and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.constants import constant_of
from isomorph.ir.context import CONTENT_LIMIT
from isomorph.ir.dims import Dim, Expr, floor_div
from isomorph.ir.ops._bounds import Bounds, ceil_div, product
from isomorph.ir.ops._reshape import Types, tensor, unknown, vector_length
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context


def shape(ctx: Context) -> Types:
    given = ctx.shape(0)
    if given is None:
        return (TensorType(DType.INT64, unknown(1)),)
    kept = given[slice(*clamped_range(ctx, len(given)))]
    ctx.know(kept)
    return (TensorType(DType.INT64, (len(kept),)),)


def clamped_range(ctx: Context, rank: int) -> tuple[int, int]:
    """First and last (exclusive) axis that Shape's attributes select."""
    first, last = ctx.attr("start", 0), ctx.attr("end")
    last = rank if last is None else last
    ends = (min(max(v + rank if v < 0 else v, 0), rank) for v in (first, last))
    start, end = ends
    return start, max(start, end)


def size(ctx: Context) -> Types:
    given = ctx.shape(0)
    if given is not None:
        ctx.know((product(given),), scalar=True)
    return (TensorType(DType.INT64, ()),)


def constant(ctx: Context) -> Types:
    weight = constant_of(ctx.op)
    return (None if weight is None else weight.type,)


def constant_of_shape(ctx: Context) -> Types:
    value = ctx.attr("value")
    dtype = DType.FLOAT32 if value is None else value.dtype
    dims = ctx.dims(0)
    if dims is None:
        length = vector_length(ctx, 0)
        return (TensorType(dtype, None if length is None else unknown(length)),)
    if dtype.is_integer and len(dims) <= 1:
        element = 0 if value is None else int(value.numpy().reshape(-1)[0])
        if not dims:
            ctx.know((element,), scalar=True)
        elif isinstance(dims[0], int) and dims[0] <= CONTENT_LIMIT:
            ctx.know((element,) * dims[0])
    return (TensorType(dtype, dims),)


def range_(ctx: Context) -> Types:
    dtype = ctx.dtype(0)
    if dtype is None:
        return (None,)
    arrays = [ctx.array(i) for i in range(3)]
    if all(a is not None and a.size == 1 for a in arrays):
        first, limit, step = (a.reshape(-1)[0] for a in arrays if a is not None)
        if not step:
            raise ctx.error("delta is 0; the range would never end")
        count = range_length(first, limit, step, dtype)
        if dtype.is_integer and count <= CONTENT_LIMIT:
            ctx.know(tuple(int(first) + i * int(step) for i in range(count)))
        return (TensorType(dtype, (count,)),)
    return (TensorType(dtype, (_symbolic_length(ctx),)),)


def range_length(first: np.generic, limit: np.generic, step: np.generic, dtype: DType) -> int:
    """max(ceil((limit - start) / delta), 0); raises ZeroDivisionError for a delta of zero."""
    if dtype.is_integer:
        return max(-((int(first) - int(limit)) // int(step)), 0)
    return max(int(np.ceil((float(limit) - float(first)) / float(step))), 0)


def _symbolic_length(ctx: Context) -> Dim:
    dims = [ctx.dims(i) for i in range(3)]
    if any(d is None or len(d) != 1 or d[0] is None for d in dims):
        return None
    first, limit, step = (d[0] for d in dims if d is not None)
    if first is None or limit is None or isinstance(step, Expr) or not step:
        return None
    span = limit - first if step > 0 else first - limit
    return Bounds(ctx.constraints).at_least(ceil_div(span, abs(step)), 0)


def eye_like(ctx: Context) -> Types:
    kind = ctx.attr("dtype")
    dtype = ctx.dtype(0) if kind is None else DType(kind)
    given = ctx.shape(0)
    if given is not None and len(given) != 2:
        raise ctx.error(f"a matrix was expected, not {len(given)} axes")
    return (None if dtype is None else TensorType(dtype, given or unknown(2)),)


def same(ctx: Context) -> Types:
    return tensor(ctx, ctx.shape(0))


def space_to_depth(ctx: Context) -> Types:
    given, block = ctx.shape(0), ctx.attr("blocksize")
    n, c, h, w = _four(ctx)
    if given is not None:
        for name, dim in (("height", h), ("width", w)):
            if isinstance(dim, int) and dim % block:
                raise ctx.error(f"{name} {dim} is not a multiple of blocksize {block}")
    return tensor(
        ctx,
        (
            n,
            None if c is None else c * (block * block),
            None if h is None else floor_div(h, block),
            None if w is None else floor_div(w, block),
        ),
    )


def depth_to_space(ctx: Context) -> Types:
    block = ctx.attr("blocksize")
    n, c, h, w = _four(ctx)
    if isinstance(c, int) and c % (block * block):
        raise ctx.error(f"{c} channels are not a multiple of blocksize² = {block * block}")
    return tensor(
        ctx,
        (
            n,
            None if c is None else floor_div(c, block * block),
            None if h is None else h * block,
            None if w is None else w * block,
        ),
    )


def _four(ctx: Context) -> tuple[Dim, Dim, Dim, Dim]:
    given = ctx.shape(0)
    if given is None:
        return None, None, None, None
    if len(given) != 4:
        raise ctx.error(f"a tensor [N, C, H, W] was expected, not {len(given)} axes")
    return given  # type: ignore[return-value]
