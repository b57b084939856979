"""Shape rules of operators that keep every element and change the shape alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.context import CONTENT_LIMIT, broadcast
from isomorph.ir.dims import Dim, Expr, floor_div
from isomorph.ir.ops._bounds import product
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.types import Shape, Type

Types = tuple["Type | None", ...]


def tensor(ctx: Context, shape: Shape | None, like: int = 0) -> Types:
    """One tensor result with the element type of an operand."""
    dtype = ctx.dtype(like)
    return (None if dtype is None else TensorType(dtype, shape),)


def unknown(rank: int) -> Shape:
    """A shape of which the rank alone is known."""
    return (None,) * rank


def vector_length(ctx: Context, index: int) -> int | None:
    """Number of elements of a vector operand, such as a shape or axes, when fixed.

    `None` also where a file claims more than any shape has: that many dims would fill the memory.
    """
    elements = ctx.dims(index)
    if elements is not None:
        return len(elements)
    shape = ctx.shape(index)
    if shape is None:
        return None
    if not shape:
        return 1
    length = shape[0]
    return length if isinstance(length, int) and length <= CONTENT_LIMIT else None


def reshape(ctx: Context) -> Types:
    target = ctx.dims(1)
    if target is None:
        length = vector_length(ctx, 1)
        return tensor(ctx, None if length is None else unknown(length))
    shape = ctx.shape(0)
    copies_zero = not ctx.attr("allowzero", 0)
    result: list[Dim] = []
    left: list[Dim] | None = None if shape is None else list(shape)
    blank: int | None = None
    for position, element in enumerate(target):
        if element == -1:
            blank = position
            result.append(None)
        elif element == 0 and copies_zero:
            if shape is not None and position >= len(shape):
                raise ctx.error(f"dim {position} of shape {target} copies a dim that is not there")
            result.append(None if shape is None else shape[position])
            if left is not None and shape is not None:
                left[position] = 1
        else:
            result.append(element)
    if left is not None:
        _fill_blank(ctx, target, result, left, blank)
    _keep_contents(ctx, tuple(result))
    return tensor(ctx, tuple(result))


def _fill_blank(
    ctx: Context, target: Shape, result: list[Dim], left: list[Dim], blank: int | None
) -> None:
    """Find the dim that follows from the number of elements; raises on numbers that disagree."""
    copies_zero = not ctx.attr("allowzero", 0)
    below: list[Dim] = [e for e in target if e != -1 and not (e == 0 and copies_zero)]
    for dim in list(below):
        if isinstance(dim, Expr) and dim in left:
            left[left.index(dim)] = 1
            below.remove(dim)
    total, known = product(left), product(below)
    if blank is None:
        if isinstance(total, int) and isinstance(known, int) and total != known:
            raise ctx.error(f"{total} elements do not fill shape {target}")
        unknowns = [i for i, d in enumerate(result) if d is None]
        others = product(d for d in below if d is not None)
        # Without -1 the quotient is certain only where the divisor cannot be zero.
        certain = isinstance(others, int) and others > 0 and total is not None
        if certain and len(unknowns) == 1 and target[unknowns[0]] is None:
            result[unknowns[0]] = floor_div(total, others)  # type: ignore[arg-type]
        return
    if total is None or known is None or known == 0:
        return
    if isinstance(total, int) and isinstance(known, int) and total % known:
        raise ctx.error(f"{total} elements cannot fill shape {target}")
    result[blank] = floor_div(total, known)


def _keep_contents(ctx: Context, result: Shape) -> None:
    elements = ctx.dims(0)
    if elements is not None and len(result) <= 1:
        ctx.know(elements, scalar=not result)


def transpose(ctx: Context) -> Types:
    shape = ctx.shape(0)
    perm = ctx.attr("perm")
    if shape is None:
        return tensor(ctx, None if perm is None else unknown(len(perm)))
    if perm is None:
        perm = tuple(reversed(range(len(shape))))
    if sorted(perm) != list(range(len(shape))):
        raise ctx.error(f"perm {tuple(perm)} does not permute {len(shape)} axes")
    result = tuple(shape[p] for p in perm)
    _keep_contents(ctx, result)
    return tensor(ctx, result)


def squeeze(ctx: Context) -> Types:
    shape = ctx.shape(0)
    if shape is None:
        return tensor(ctx, None)
    if not ctx.has(1):
        if not all(isinstance(d, int) for d in shape):
            return tensor(ctx, None)  # a symbolic dim may be 1, and would go
        result = tuple(d for d in shape if d != 1)
    else:
        axes = ctx.array(1)
        if axes is None:
            count = vector_length(ctx, 1)
            known = count is not None and count <= len(shape)
            return tensor(ctx, unknown(len(shape) - count) if known else None)  # type: ignore[operator]
        gone = {ctx.axis(int(a), len(shape)) for a in axes.reshape(-1)}
        for axis in sorted(gone):
            if isinstance(shape[axis], int) and shape[axis] != 1:
                raise ctx.error(f"axis {axis} of {shape} is not 1, so it cannot be squeezed")
        result = tuple(d for i, d in enumerate(shape) if i not in gone)
    _keep_contents(ctx, result)
    return tensor(ctx, result)


def unsqueeze(ctx: Context) -> Types:
    shape = ctx.shape(0)
    axes = ctx.array(1)
    if shape is None:
        return tensor(ctx, None)
    if axes is None:
        count = vector_length(ctx, 1)
        return tensor(ctx, None if count is None else unknown(len(shape) + count))
    rank = len(shape) + axes.size
    new = {ctx.axis(int(a), rank) for a in axes.reshape(-1)}
    if len(new) != axes.size:
        raise ctx.error(f"axes {axes.tolist()} name an axis twice")
    rest = iter(shape)
    result = tuple(1 if i in new else next(rest) for i in range(rank))
    _keep_contents(ctx, result)
    return tensor(ctx, result)


def flatten(ctx: Context) -> Types:
    shape = ctx.shape(0)
    if shape is None:
        return tensor(ctx, unknown(2))
    axis = ctx.attr("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise ctx.error(f"axis {axis} is out of range for rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return tensor(ctx, (product(shape[:axis]), product(shape[axis:])))


def expand(ctx: Context) -> Types:
    shape, target = ctx.shape(0), ctx.dims(1)
    if target is None:
        length = vector_length(ctx, 1)
        target = None if length is None else unknown(length)
    result = broadcast(ctx, shape, target)
    elements = ctx.dims(0)
    if elements is not None and result is not None and len(result) <= 1:
        if not result or result[0] == len(elements):
            ctx.know(elements, scalar=not result)
        elif len(elements) == 1 and isinstance(result[0], int):
            ctx.know_repeated(elements, result[0])
    return tensor(ctx, result)


def tile(ctx: Context) -> Types:
    shape, repeats = ctx.shape(0), ctx.dims(1)
    if shape is None:
        length = vector_length(ctx, 1)
        return tensor(ctx, None if length is None else unknown(length))
    if repeats is None:
        return tensor(ctx, unknown(len(shape)))
    if len(repeats) != len(shape):
        raise ctx.error(f"{len(repeats)} repeats were given for {len(shape)} axes")
    result = tuple(product((d, r)) for d, r in zip(shape, repeats, strict=True))
    elements = ctx.dims(0)
    if elements is not None and len(repeats) == 1 and isinstance(repeats[0], int):
        ctx.know_repeated(elements, repeats[0])
    return tensor(ctx, result)
