"""Shape rules of operators that join, cut and pad along axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.context import CONTENT_LIMIT
from isomorph.ir.ops._bounds import Bounds, ceil_div, unify_dims
from isomorph.ir.ops._reshape import Types, tensor, unknown, vector_length
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim, Expr

FAR = 10**9
"""Bounds from here on mean the end of a dim: exporters write this or more, no dim is as large."""


def concat(ctx: Context) -> Types:
    count = len(ctx.op.inputs)
    shapes = [ctx.shape(i) for i in range(count)]
    _join_contents(ctx, count)
    known = [s for s in shapes if s is not None]
    if not known:
        return tensor(ctx, None)
    rank = len(known[0])
    if any(len(s) != rank for s in known):
        raise ctx.error(f"ranks {[len(s) for s in known]} differ")
    axis = ctx.axis(ctx.attr("axis"), rank)
    result: list[Dim] = []
    for position in range(rank):
        dims = [s[position] for s in known]
        if position == axis:
            total: Dim = 0
            for dim in dims if len(known) == count else [None]:
                total = None if total is None or dim is None else total + dim
            result.append(total)
        else:
            if len({d for d in dims if isinstance(d, int)}) > 1:
                raise ctx.error(f"dims {dims} of axis {position} differ")
            result.append(unify_dims(dims))
    return tensor(ctx, tuple(result))


def _join_contents(ctx: Context, count: int) -> None:
    elements: list[Dim] = []
    for index in range(count):
        part = ctx.dims(index)
        if part is None:
            length = vector_length(ctx, index)
            if length is None or ctx.rank(index) != 1:
                return
            part = unknown(length)
        elements.extend(part)
        if len(elements) > CONTENT_LIMIT:
            return
    ctx.know(tuple(elements))


def split(ctx: Context) -> Types:
    count = len(ctx.op.outputs)
    dtype, shape = ctx.dtype(0), ctx.shape(0)
    if dtype is None:
        return (None,) * count
    if shape is None:
        return (TensorType(dtype, None),) * count
    axis = ctx.axis(ctx.attr("axis", 0), len(shape))
    sizes: tuple[Dim, ...] = unknown(count)
    if ctx.has(1):
        sizes = ctx.dims(1) or sizes
        if len(sizes) != count:
            raise ctx.error(f"{len(sizes)} sizes were given for {count} outputs")
        whole = shape[axis]
        numbers = [s for s in sizes if isinstance(s, int)]
        if isinstance(whole, int) and len(numbers) == count and sum(numbers) != whole:
            raise ctx.error(f"sizes {sizes} do not add up to {whole}")
    else:
        parts = ctx.attr("num_outputs", None if ctx.op.version >= 18 else count)
        if parts is None:
            raise ctx.error("it has neither sizes nor num_outputs; one of them was expected")
        if parts != count:
            raise ctx.error(f"num_outputs is {parts}, but it has {count} outputs")
        if shape[axis] is not None:
            sizes = equal_parts(shape[axis], parts)  # type: ignore[arg-type]
    elements = ctx.dims(0)
    at: Dim = 0
    for index, part in enumerate(sizes[:count]):
        if elements is not None and isinstance(at, int) and isinstance(part, int):
            ctx.know(elements[at : at + part], output=index)
        at = at + part if isinstance(at, int) and isinstance(part, int) else None
    return tuple(
        TensorType(dtype, (*shape[:axis], part, *shape[axis + 1 :])) for part in sizes[:count]
    )


def equal_parts(whole: int | Expr, parts: int) -> tuple[int | Expr, ...]:
    """`parts` sizes, each the quotient rounded up, and the last one what is left."""
    each = ceil_div(whole, parts)
    return (*([each] * (parts - 1)), whole - each * (parts - 1))


def slice_(ctx: Context) -> Types:
    shape = ctx.shape(0)
    if shape is None:
        return tensor(ctx, None)
    starts, ends, steps = ctx.dims(1), ctx.dims(2), ctx.dims(4) if ctx.has(4) else ()
    count = vector_length(ctx, 1)
    axes: list[int] | None = None
    if not ctx.has(3):
        axes = None if count is None else list(range(count))
    else:
        given = ctx.array(3)
        if given is not None:
            axes = [ctx.axis(int(a), len(shape)) for a in given.reshape(-1)]
    if axes is None:
        return tensor(ctx, unknown(len(shape)))
    bounds = Bounds(ctx.constraints)
    result = list(shape)
    for position, axis in enumerate(axes):
        if starts is None or ends is None or steps is None:
            result[axis] = None
            continue
        step = steps[position] if steps else 1
        if step == 0:
            raise ctx.error("a step is 0")
        result[axis] = slice_length(bounds, shape[axis], starts[position], ends[position], step)
    if len(shape) == 1 and starts and ends and steps is not None and axes == [0]:
        _slice_contents(ctx, starts[0], ends[0], steps[0] if steps else 1)
    return tensor(ctx, tuple(result))


def _slice_contents(ctx: Context, start: Dim, end: Dim, step: Dim) -> None:
    elements = ctx.dims(0)
    if elements is None:
        return
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        first, last = clamp(start, end, step, len(elements))
        ctx.know(tuple(elements[i] for i in range(first, last, step)))


def clamp(start: int, end: int, step: int, dim: int) -> tuple[int, int]:
    """Effective bounds of a slice, as the operator's definition clamps them."""
    if not dim:
        return 0, 0
    start, end = (v + dim if v < 0 else v for v in (start, end))
    if step > 0:
        return min(max(start, 0), dim), min(max(end, 0), dim)
    return min(max(start, 0), dim - 1), min(max(end, -1), dim - 1)


def slice_length(bounds: Bounds, dim: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """Length of a slice of a dim; `None` where the signs of its bounds are unknown."""
    if dim == 0:
        return 0
    if not isinstance(step, int) or start is None or end is None:
        return None
    if dim is None:
        return _known_length(start, end, step)
    span = _forward(bounds, dim, start, end) if step > 0 else _backward(bounds, dim, start, end)
    return None if span is None else ceil_div(span, abs(step))


def _forward(
    bounds: Bounds, dim: int | Expr, start: int | Expr, end: int | Expr
) -> int | Expr | None:
    """Elements between two clamped bounds."""
    if isinstance(end, int) and end >= FAR:
        end, ends_late = 0, True
    else:
        ends_late = bounds.sign(end) == -1
    first, last = bounds.sign(start), -1 if ends_late else bounds.sign(end)
    match first, last:
        case 1, -1:
            return bounds.at_least(dim + end - start, 0)
        case 1, 1:
            return bounds.at_least(bounds.at_most(end, dim) - start, 0)
        case -1, -1:
            return bounds.at_least(bounds.at_most(end - start, bounds.at_least(dim + end, 0)), 0)
        case -1, 1:
            begin = bounds.at_least(dim + start, 0)
            return bounds.at_least(bounds.at_most(end, dim) - begin, 0)
        case _:
            return None


def _backward(
    bounds: Bounds, dim: int | Expr, start: int | Expr, end: int | Expr
) -> int | Expr | None:
    """The same from the higher bound down; nothing is left of an empty dim."""
    first, last = _clamp(bounds, start, dim, 0), _clamp(bounds, end, dim, -1)
    if first is None or last is None:
        return None
    first = dim - 1 if start == -1 else bounds.at_most(first, dim - 1)
    return bounds.at_least(first - last, 0)


def _known_length(start: int | Expr, end: int | Expr, step: int) -> Dim:
    """Of a dim of which nothing is known: only empty slices are certain."""
    if isinstance(start, int) and isinstance(end, int) and (start < 0) == (end < 0):
        span = end - start if step > 0 else start - end
        return 0 if span <= 0 and (step > 0 or start >= 0) else None
    return None


def _clamp(bounds: Bounds, value: int | Expr, dim: int | Expr, floor: int) -> int | Expr | None:
    """A bound of a backward slice made effective: counted from the end, then clamped."""
    if isinstance(value, int) and abs(value) >= FAR:
        return dim - 1 if value > 0 else floor
    sign = bounds.sign(value)
    if sign is None:
        return None
    if sign > 0:
        return bounds.at_most(value, dim - 1)
    return bounds.at_least(value + dim, floor)


def pad(ctx: Context) -> Types:
    shape, pads = ctx.shape(0), ctx.dims(1)
    if shape is None:
        length = None if ctx.has(3) else vector_length(ctx, 1)
        return tensor(ctx, None if length is None else unknown(length // 2))
    axes = list(range(len(shape)))
    if ctx.has(3):
        given = ctx.array(3)
        if given is None:
            return tensor(ctx, unknown(len(shape)))
        axes = [ctx.axis(int(a), len(shape)) for a in given.reshape(-1)]
    result = list(shape)
    if pads is not None and len(pads) != 2 * len(axes):
        raise ctx.error(f"{len(pads)} pads were given for {len(axes)} axes")
    for position, axis in enumerate(axes):
        dim = result[axis]
        before = None if pads is None else pads[position]
        after = None if pads is None else pads[position + len(axes)]
        unclear = dim is None or before is None or after is None
        result[axis] = None if unclear else dim + before + after  # type: ignore[operator]
    return tensor(ctx, tuple(result))


def center_crop_pad(ctx: Context) -> Types:
    shape, target = ctx.shape(0), ctx.dims(1)
    axes = ctx.attr("axes")
    if shape is None:
        if axes is None and target is not None:
            return tensor(ctx, target)
        return tensor(ctx, None)
    places = range(len(shape)) if axes is None else [ctx.axis(a, len(shape)) for a in axes]
    result = list(shape)
    for position, axis in enumerate(places):
        result[axis] = None if target is None else target[position]
    return tensor(ctx, tuple(result))
