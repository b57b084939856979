"""Dims of operands that are heads side by side: they agree, and they divide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.dims import floor_div
from isomorph.ir.ops._bounds import unify_dims

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim


def one(ctx: Context, what: str, *dims: Dim) -> Dim:
    """What is known of dims that have to be equal."""
    numbers = {d for d in dims if isinstance(d, int)}
    if len(numbers) > 1:
        raise ctx.error(f"{what} is {' and '.join(map(str, sorted(numbers)))} at once")
    return unify_dims(dims)


def share(ctx: Context, what: str, whole: Dim, parts: Dim) -> Dim:
    """`whole / parts`, which must leave nothing over."""
    if isinstance(whole, int) and isinstance(parts, int) and (parts < 1 or whole % parts):
        raise ctx.error(f"{what}: {whole} is no multiple of {parts}")
    return None if whole is None or parts is None else floor_div(whole, parts)


def split(ctx: Context, index: int, name: str, count: Dim) -> tuple[Dim, Dim, Dim, Dim]:
    """Batch, heads, length and head size of Q, K or V."""
    shape = ctx.shape(index)
    if shape is None:
        return None, count, None, None
    if len(shape) == 4:
        batch, heads, length, size = shape
        return batch, heads, length, size
    if len(shape) != 3:
        raise ctx.error(f"{name} has rank {len(shape)}, 3 or 4 was expected")
    return shape[0], count, shape[1], share(ctx, f"{name}'s hidden size", shape[2], count)


def times(a: Dim, b: Dim) -> Dim:
    """The product of two dims, unknown where one of them is."""
    return None if a is None or b is None else a * b
