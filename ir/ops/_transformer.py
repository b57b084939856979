"""Shape rules of what onnxruntime's optimizer makes of transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.context import broadcast
from isomorph.ir.ops import _shapes as s

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.types import Shape, Type


def with_bias(ctx: Context) -> tuple[Type | None, ...]:
    """The first operand's type; the bias has one element per index of its last axis."""
    shape, bias = ctx.shape(0), ctx.shape(1)
    if bias is not None:
        if len(bias) != 1:
            raise ctx.error(f"the bias has rank {len(bias)}, a vector was expected")
        if shape is not None and (not shape or not _equal(shape[-1], bias[0])):
            raise ctx.error(f"the bias has {bias[0]} elements, the last axis {shape[-1:]}")
    return (ctx.type(0),)


def turned(rank: int, attr: Callable[..., Any], side: str) -> tuple[int, ...]:
    """The order of an operand's axes in the product.

    With `transBatchA` (or `B`) the first axis moves before the last; with `transA` the last two
    then change places.
    """
    axes = [*range(rank)]
    if attr(f"transBatch{side}", 0) and rank > 2:
        axes = [*axes[1:-1], 0, axes[-1]]
    if attr(f"trans{side}", 0) and rank > 1:
        axes[-2:] = axes[:-3:-1]
    return tuple(axes)


def fused_matmul(ctx: Context) -> tuple[Type | None, ...]:
    """FusedMatMul."""
    sides: list[Shape] = []
    for index, side in enumerate("AB"):
        shape = ctx.shape(index)
        if shape is None:
            return (s.tensor(ctx.dtype(0), None),)
        if not shape:
            raise ctx.error("a scalar operand; rank 1 or more was expected")
        sides.append(tuple(shape[axis] for axis in turned(len(shape), ctx.attr, side)))
    left, right = sides
    if not _equal(left[-1], right[-2:][0]):
        raise ctx.error(f"the summed dims: {left[-1]} and {right[-2:][0]} do not agree")
    batch = broadcast(ctx, left[:-2], right[:-2])
    if batch is None:
        return (s.tensor(ctx.dtype(0), None),)
    rest: Shape = (*left[-2:-1], *(right[-1:] if len(right) > 1 else ()))
    return (s.tensor(ctx.dtype(0), (*batch, *rest)),)


def _equal(a: Dim, b: Dim) -> bool:
    return a == b or not (isinstance(a, int) and isinstance(b, int))
