"""Shapes, views, joining, cutting, padding: elements keep their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.structure import is_many
from isomorph.frontends.torch.context import FARTHEST
from isomorph.frontends.torch.errors import NotLowered
from isomorph.frontends.torch.scope import Param
from isomorph.ir.dims import Expr, maximum, minimum
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.frontends.torch.symbols import Whole
    from isomorph.ir.graph import Value


def same(ctx: Context, x: Value, *args: Any, **kwargs: Any) -> Value:
    """Copies, aliases and memory formats: nothing that a value could show."""
    return x


def view(ctx: Context, x: Value, size: Any, *rest: Any) -> Value:
    """A shape as the user wrote it where that is all numbers, else torch's own result."""
    if all(isinstance(s, int) and s != 0 for s in size) and len(size) > 0 and -1 in size:
        if ctx.rank(x) != len(size) or ctx.shape(x) != ctx.result_shape:
            return ctx("Reshape", x, ctx.ints(*size))
        return x
    return ctx.reshape(x, ctx.result_shape)


def view_dtype(ctx: Context, x: Value, dtype: Any) -> Value:
    if ctx.result_dtype is not ctx.dtype(x):
        return ctx("BitCast", x, to=ctx.result_dtype.value)
    return x


def as_result(ctx: Context, x: Value, *args: Any, **kwargs: Any) -> Value:
    """flatten, unflatten and the like: the shape is torch's own result."""
    return ctx.reshape(x, ctx.result_shape)


def permute(ctx: Context, x: Value, dims: Sequence[int]) -> Value:
    return ctx.transpose(x, dims)


def transpose(ctx: Context, x: Value, first: int, second: int) -> Value:
    rank = ctx.rank(x)
    if rank == 0:
        return x
    order = list(range(rank))
    a, b = ctx.axis(first, rank), ctx.axis(second, rank)
    order[a], order[b] = order[b], order[a]
    return ctx.transpose(x, order)


def t(ctx: Context, x: Value | Param) -> Value:
    if isinstance(x, Param):
        return ctx.swapped(x)
    return ctx.transpose(x, tuple(reversed(range(ctx.rank(x)))))


def squeeze(ctx: Context, x: Value, dim: Any = None) -> Value:
    rank = ctx.rank(x)
    shape = ctx.shape(x)
    many = range(rank) if dim is None else dim if is_many(dim) else [dim]
    axes = sorted(
        {ctx.axis(d, rank) for d in many if rank} & {i for i in range(rank) if shape[i] == 1}
    )
    return ctx.squeeze(x, *axes)


def unsqueeze(ctx: Context, x: Value, dim: int) -> Value:
    return ctx.unsqueeze(x, ctx.axis(dim, ctx.rank(x) + 1))


def expand(ctx: Context, x: Value, *args: Any, **kwargs: Any) -> Value:
    return ctx.expand(x, ctx.result_shape)


def repeat(ctx: Context, x: Value, repeats: Sequence[Whole]) -> Value:
    missing = len(repeats) - ctx.rank(x)
    if missing:
        x = ctx.reshape(x, (*(1,) * missing, *ctx.shape(x)))
    return x if all(r == 1 for r in repeats) else ctx("Tile", x, ctx.ints(*repeats))


def tile(ctx: Context, x: Value, repeats: Sequence[Whole]) -> Value:
    short = max(ctx.rank(x) - len(repeats), 0)
    return repeat(ctx, x, [*(1,) * short, *repeats])


def repeat_interleave(
    ctx: Context, x: Value, repeats: Any, dim: int | None = None, *, output_size: Any = None
) -> Value:
    if not isinstance(repeats, (int, Expr)):
        raise NotLowered("repeat_interleave with a tensor of repeats")
    if dim is None:
        x, dim = ctx("Reshape", x, ctx.ints(-1)), 0
    axis = ctx.axis(dim, ctx.rank(x))
    shape = ctx.shape(x)
    wide = ctx.unsqueeze(x, axis + 1)
    spread = ctx.expand(wide, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
    return ctx.reshape(spread, (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]))


def cat(ctx: Context, tensors: Sequence[Value], dim: int = 0) -> Value:
    dtype = ctx.result_dtype
    rank = len(ctx.result.shape)
    parts = [ctx.cast(v, dtype) for v in tensors if not (ctx.shape(v) == (0,) and rank > 1)]
    return parts[0] if len(parts) == 1 else ctx("Concat", *parts, axis=ctx.axis(dim, rank))


def stack(ctx: Context, tensors: Sequence[Value], dim: int = 0) -> Value:
    dtype = ctx.result_dtype
    axis = ctx.axis(dim, len(ctx.result.shape))
    return ctx("Concat", *(ctx.unsqueeze(ctx.cast(v, dtype), axis) for v in tensors), axis=axis)


def split(ctx: Context, x: Value, *args: Any, **kwargs: Any) -> Any:
    """split, chunk and their kin: pieces as large as torch makes them."""
    sizes = ctx.result
    dim = kwargs.get("dim", args[1] if len(args) > 1 else 0)
    axis = ctx.axis(dim, ctx.rank(x))
    lengths = [ctx.symbols.dim(v.shape[axis]) for v in sizes]
    if len(lengths) == 1:
        return (x,)
    return ctx.ops("Split", x, ctx.ints(*lengths), outputs=len(lengths), axis=axis)


def unbind(ctx: Context, x: Value, dim: int = 0) -> Any:
    axis = ctx.axis(dim, ctx.rank(x))
    count = ctx.fixed(x, axis, "unbind")
    if count == 1:
        return (ctx.squeeze(x, axis),)
    parts = ctx.ops("Split", x, ctx.ints(*(1,) * count), outputs=count, axis=axis)
    return tuple(ctx.squeeze(p, axis) for p in parts)


def slice_(
    ctx: Context, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    axis = ctx.axis(dim, ctx.rank(x))
    first = 0 if start is None else start
    last = FARTHEST if end is None else end
    if first == 0 and step == 1 and _reaches(ctx, x, axis, last):
        return x
    return ctx.slice(x, axis, first, last, step)


def select(ctx: Context, x: Value, dim: int, index: Whole) -> Value:
    axis = ctx.axis(dim, ctx.rank(x))
    return ctx("Gather", x, ctx.size(index), axis=axis)


def narrow(ctx: Context, x: Value, dim: int, start: Whole, length: Whole) -> Value:
    if isinstance(start, int) and start < 0:
        start = ctx.shape(x)[ctx.axis(dim, ctx.rank(x))] + start
    return slice_(ctx, x, dim, start, start + length)


def select_scatter(ctx: Context, x: Value, source: Value, dim: int, index: Whole) -> Value:
    axis = ctx.axis(dim, ctx.rank(x))
    size = ctx.shape(x)[axis]
    if isinstance(index, int) and index < 0:
        index = size + index
    return _put(ctx, x, ctx.unsqueeze(source, axis), axis, index, index + 1)


def slice_scatter(
    ctx: Context,
    x: Value,
    source: Value,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> Value:
    axis = ctx.axis(dim, ctx.rank(x))
    size = ctx.shape(x)[axis]
    first = _bounded(0 if start is None else start, size)
    last = _bounded(FARTHEST if end is None else end, size)
    if step != 1:
        raise NotLowered(f"writing to a slice with step {step}")
    return _put(ctx, x, source, axis, first, last)


def copy(ctx: Context, x: Value, source: Value, *rest: Any) -> Value:
    return ctx.expand(ctx.cast(source, ctx.dtype(x)), ctx.shape(x))


def flip(ctx: Context, x: Value, dims: Sequence[int]) -> Value:
    axes = [ctx.axis(d, ctx.rank(x)) for d in dims]
    if not axes:
        return x
    many = len(axes)
    return ctx(
        "Slice",
        x,
        ctx.ints(*(-1,) * many),
        ctx.ints(*(-FARTHEST - 1,) * many),
        ctx.ints(*axes),
        ctx.ints(*(-1,) * many),
    )


def roll(ctx: Context, x: Value, shifts: Sequence[int], dims: Sequence[int] = ()) -> Value:
    shape = ctx.shape(x)
    if not dims:
        flat = ctx("Reshape", x, ctx.ints(-1))
        return ctx.reshape(_rolled(ctx, flat, shifts[0], 0), shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(ctx, x, shift, ctx.axis(dim, ctx.rank(x)))
    return x


def constant_pad(ctx: Context, x: Value, pad: Sequence[Whole], value: Any = 0) -> Value:
    return _padded(ctx, x, pad, "constant", value)


def pad_mode(mode: str) -> Rule:
    """Reflection and replication padding."""

    def rule(ctx: Context, x: Value, padding: Sequence[Whole]) -> Value:
        return _padded(ctx, x, padding, mode, None)

    return rule


def pad(
    ctx: Context, x: Value, sizes: Sequence[Whole], mode: str = "constant", value: Any = None
) -> Value:
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return _padded(ctx, x, sizes, names[mode], 0 if value is None else value)


def unfold(ctx: Context, x: Value, dim: int, size: int, step: int) -> Value:
    """Windows along an axis, each a new last axis."""
    rank = ctx.rank(x)
    axis = ctx.axis(dim, rank)
    count = (ctx.fixed(x, axis, "unfold") - size) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(size)
    found = ctx("Gather", x, ctx.const(places, DType.INT64), axis=axis)
    order = [*(a for a in range(rank + 1) if a != axis + 1), axis + 1]
    return ctx.transpose(found, order)


def triangle(upper: int) -> Rule:
    """Tril and triu."""

    def rule(ctx: Context, x: Value, diagonal: int = 0) -> Value:
        return ctx("Trilu", x, ctx.const(diagonal, DType.INT64), upper=upper)

    return rule


def pixel_shuffle(ctx: Context, x: Value, factor: int) -> Value:
    return ctx("DepthToSpace", x, blocksize=factor, mode="CRD")


def pixel_unshuffle(ctx: Context, x: Value, factor: int) -> Value:
    """Channel order is torch's: the block's offsets vary fastest."""
    n, c, h, w = ctx.shape(x)
    rows, columns = h // factor, w // factor
    cut = ctx.reshape(x, (n, c, rows, factor, columns, factor))
    moved = ctx.transpose(cut, (0, 1, 3, 5, 2, 4))
    return ctx.reshape(moved, (n, c * factor * factor, rows, columns))


def _padded(ctx: Context, x: Value, sizes: Sequence[Whole], mode: str, value: Any) -> Value:
    """Torch counts axes from the last, begin and end together; ONNX all begins, then all ends."""
    rank = ctx.rank(x)
    befores: list[Whole] = [0] * rank
    afters: list[Whole] = [0] * rank
    for index in range(len(sizes) // 2):
        befores[rank - 1 - index], afters[rank - 1 - index] = sizes[2 * index], sizes[2 * index + 1]
    if all(s == 0 for s in sizes):
        return x
    filling = ctx.tensor(value, ctx.dtype(x)) if mode == "constant" else None
    return ctx("Pad", x, ctx.ints(*befores, *afters), filling, mode=mode)


def _rolled(ctx: Context, x: Value, shift: Any, axis: int) -> Value:
    if not isinstance(shift, int):
        raise NotLowered("roll by a size that is not fixed")
    if shift == 0:
        return x
    size = ctx.shape(x)[axis]
    if isinstance(size, int):
        shift %= max(size, 1)
        if shift == 0:
            return x
        cut: Whole = size - shift
    else:
        cut = -shift
    return ctx("Concat", ctx.slice(x, axis, cut, FARTHEST), ctx.slice(x, axis, 0, cut), axis=axis)


def _reaches(ctx: Context, x: Value, axis: int, last: Any) -> bool:
    size = ctx.shape(x)[axis]
    if isinstance(last, int) and isinstance(size, int):
        return last >= size
    return last == FARTHEST or ctx.same(size, last)


def _bounded(position: Whole, size: Whole) -> Whole:
    """A slice's bound as torch reads it: from the end when negative, within the axis."""
    if isinstance(position, int) and position < 0:
        position = maximum(size + position, 0)
    return size if position == FARTHEST else minimum(position, size)


def _put(ctx: Context, x: Value, source: Value, axis: int, first: Whole, last: Whole) -> Value:
    """X with source in place of x[first:last] along an axis."""
    size = ctx.shape(x)[axis]
    parts = [ctx.cast(source, ctx.dtype(x))]
    if first != 0:
        parts.insert(0, ctx.slice(x, axis, 0, first))
    if not ctx.same(last, size):
        parts.append(ctx.slice(x, axis, last, FARTHEST))
    return parts[0] if len(parts) == 1 else ctx("Concat", *parts, axis=axis)


ATEN: dict[str, Rule] = {
    "aten._reshape_alias.default": as_result,
    "aten._unsafe_view.default": view,
    "aten.alias.default": same,
    "aten.broadcast_to.default": expand,
    "aten.cat.default": cat,
    "aten.chunk.default": split,
    "aten.clone.default": same,
    "aten.concat.default": cat,
    "aten.constant_pad_nd.default": constant_pad,
    "aten.contiguous.default": same,
    "aten.copy.default": copy,
    "aten.detach.default": same,
    "aten.expand.default": expand,
    "aten.expand_as.default": expand,
    "aten.flatten.using_ints": as_result,
    "aten.flip.default": flip,
    "aten.lift_fresh.default": same,
    "aten.lift_fresh_copy.default": same,
    "aten.narrow.default": narrow,
    "aten.numpy_T.default": t,
    "aten.pad.default": pad,
    "aten.permute.default": permute,
    "aten.pixel_shuffle.default": pixel_shuffle,
    "aten.pixel_unshuffle.default": pixel_unshuffle,
    "aten.reflection_pad1d.default": pad_mode("reflect"),
    "aten.reflection_pad2d.default": pad_mode("reflect"),
    "aten.reflection_pad3d.default": pad_mode("reflect"),
    "aten.repeat.default": repeat,
    "aten.repeat_interleave.self_int": repeat_interleave,
    "aten.replication_pad1d.default": pad_mode("edge"),
    "aten.replication_pad2d.default": pad_mode("edge"),
    "aten.replication_pad3d.default": pad_mode("edge"),
    "aten.reshape.default": view,
    "aten.reshape_as.default": as_result,
    "aten.roll.default": roll,
    "aten.select.int": select,
    "aten.select_scatter.default": select_scatter,
    "aten.slice.Tensor": slice_,
    "aten.slice_scatter.default": slice_scatter,
    "aten.split.Tensor": split,
    "aten.split.sizes": split,
    "aten.split_with_sizes.default": split,
    "aten.squeeze.default": squeeze,
    "aten.squeeze.dim": squeeze,
    "aten.squeeze.dims": squeeze,
    "aten.stack.default": stack,
    "aten.swapaxes.default": transpose,
    "aten.t.default": t,
    "aten.tensor_split.sections": split,
    "aten.tile.default": tile,
    "aten.transpose.int": transpose,
    "aten.tril.default": triangle(0),
    "aten.triu.default": triangle(1),
    "aten.unbind.int": unbind,
    "aten.unflatten.int": as_result,
    "aten.unfold.default": unfold,
    "aten.unsafe_chunk.default": split,
    "aten.unsafe_split.Tensor": split,
    "aten.unsqueeze.default": unsqueeze,
    "aten.view.default": view,
    "aten.view.dtype": view_dtype,
    "aten.view_as.default": as_result,
}
