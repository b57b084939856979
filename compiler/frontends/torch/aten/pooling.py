"""Pooling, fixed and adaptive."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.structure import is_many
from isomorph.frontends.torch.aten.convolution import per_axis
from isomorph.frontends.torch.errors import NotLowered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value


def max_pool(rank: int, *, indices: bool = False) -> Rule:
    """max_pool1d, 2d, 3d; the ones that give positions are for windows that nobody asks about."""

    def rule(
        ctx: Context,
        x: Value,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        sizes = per_axis(kernel, rank)
        strides = per_axis(stride, rank) if stride not in ((), []) else sizes
        pads = per_axis(padding, rank)
        dilations = per_axis(dilation, rank)

        def pool(batch: Value) -> Any:
            extra, ceil = _ceiling(ctx, batch, sizes, strides, pads, dilations, ceil_mode)
            attributes: dict[str, Any] = {
                "kernel_shape": sizes,
                "strides": strides,
                "dilations": dilations,
                "ceil_mode": ceil,
                "pads": (*pads, *(p + e for p, e in zip(pads, extra, strict=True))),
            }
            if not indices:
                return ctx("MaxPool", batch, **attributes)
            return _with_indices(ctx, batch, attributes)

        return _batched(ctx, x, rank, pool)

    return rule


def avg_pool(rank: int) -> Rule:
    """avg_pool1d, 2d, 3d."""

    def rule(
        ctx: Context,
        x: Value,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        sizes = per_axis(kernel, rank)
        strides = per_axis(stride, rank) if stride not in ((), []) else sizes
        pads = per_axis(padding, rank)

        def pool(batch: Value) -> Value:
            ones = (1,) * rank
            extra, ceil = _ceiling(ctx, batch, sizes, strides, pads, ones, ceil_mode)
            if any(extra) and (count_include_pad or divisor_override):
                if any(pads) or divisor_override:
                    raise NotLowered("ceil_mode with counted padding in an average")
                counted = 0
            else:
                counted = int(count_include_pad or divisor_override is not None)
            made = ctx(
                "AveragePool",
                batch,
                kernel_shape=sizes,
                strides=strides,
                dilations=ones,
                ceil_mode=ceil,
                pads=(*pads, *(p + e for p, e in zip(pads, extra, strict=True))),
                count_include_pad=counted if any(pads) or any(extra) else 0,
            )
            if divisor_override is None:
                return made
            factor = ctx.const(prod(sizes) / divisor_override, ctx.dtype(x))
            return ctx("Mul", made, factor)

        return _batched(ctx, x, rank, pool)

    return rule


def adaptive_avg(rank: int) -> Rule:
    """adaptive_avg_pool: global, evenly divided, or a product with the averaging matrices."""

    def rule(ctx: Context, x: Value, output_size: Any) -> Value:
        def pool(batch: Value) -> Value:
            outs = _outputs(ctx, batch, output_size, rank)
            if all(o == 1 for o in outs):
                return ctx("GlobalAveragePool", batch)
            even = _even(ctx, batch, outs)
            if even is not None:
                return ctx("AveragePool", batch, kernel_shape=even, strides=even)
            return _weighted(ctx, batch, outs)

        return _batched(ctx, x, rank, pool)

    return rule


def adaptive_max(rank: int) -> Rule:
    """adaptive_max_pool: global or evenly divided; the positions are not given."""

    def rule(ctx: Context, x: Value, output_size: Any) -> Any:
        def pool(batch: Value) -> Any:
            outs = _outputs(ctx, batch, output_size, rank)
            if not all(isinstance(o, int) for o in outs):
                raise NotLowered("adaptive_max_pool to an open size")
            even = _even(ctx, batch, outs)
            if even is None:
                raise NotLowered(f"adaptive_max_pool to {outs}, which does not divide its input")
            ones = (1,) * rank
            attributes = {
                "kernel_shape": even,
                "strides": even,
                "dilations": ones,
                "pads": (0,) * (2 * rank),
            }
            return _with_indices(ctx, batch, attributes)

        return _batched(ctx, x, rank, pool)

    return rule


def _batched(ctx: Context, x: Value, rank: int, pool: Any) -> Any:
    if ctx.rank(x) == rank + 2:
        return pool(x)
    made = pool(ctx.unsqueeze(x, 0))
    if is_many(made):
        return tuple(ctx.squeeze(m, 0) for m in made)
    return ctx.squeeze(made, 0)


def _ceiling(
    ctx: Context,
    x: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: bool,
) -> tuple[tuple[int, ...], int]:
    """Padding at the end that makes the last, partial windows whole; or ONNX's own ceil_mode.

    torch drops a window that would begin beyond the input and its padding; so the sizes torch
    gives are made with explicit padding wherever they are known.
    """
    rank = len(kernel)
    if not ceil_mode:
        return (0,) * rank, 0
    spatial = ctx.shape(x)[2:]
    found = ctx.result[0] if is_many(ctx.result) else ctx.result
    wanted = [ctx.symbols.dim_or_none(d) for d in found.shape[-rank:]]
    extra: list[int] = []
    for size, out, k, s, p, d in zip(
        spatial, wanted, kernel, strides, pads, dilations, strict=True
    ):
        if not isinstance(size, int) or not isinstance(out, int):
            return (0,) * rank, 1
        extra.append(max((out - 1) * s + d * (k - 1) + 1 - size - 2 * p, 0))
    return tuple(extra), 0


def _with_indices(ctx: Context, x: Value, attributes: dict[str, Any]) -> Any:
    """Values and positions; torch counts positions within one channel, ONNX over the tensor."""
    values, flat = ctx.ops("MaxPool", x, outputs=2, **attributes)
    area: Any = 1
    for dim in ctx.shape(x)[2:]:
        area = area * dim
    return values, ctx("Mod", flat, ctx.size(area))


def _outputs(ctx: Context, x: Value, output_size: Any, rank: int) -> tuple[Any, ...]:
    many = output_size if is_many(output_size) else [output_size] * rank
    spatial = ctx.shape(x)[2:]
    return tuple(s if o is None else o for o, s in zip(many, spatial, strict=True))


def _even(ctx: Context, x: Value, outs: Sequence[Any]) -> tuple[int, ...] | None:
    found: list[int] = []
    for size, out in zip(ctx.shape(x)[2:], outs, strict=True):
        if not isinstance(size, int) or not isinstance(out, int) or size % out:
            return None
        found.append(size // out)
    return tuple(found)


def _weighted(ctx: Context, x: Value, outs: Sequence[Any]) -> Value:
    """Each axis times a matrix whose rows average torch's windows of it."""
    rank = ctx.rank(x)
    for axis, out in zip(range(2, rank), outs, strict=True):
        size = ctx.fixed(x, axis, "adaptive pooling")
        if not isinstance(out, int):
            raise NotLowered("adaptive pooling to an open size")
        if size == out:
            continue
        matrix = np.zeros((size, out))
        for i in range(out):
            first, last = (i * size) // out, -((-(i + 1) * size) // out)
            matrix[first:last, i] = 1 / (last - first)
        order = [*(a for a in range(rank) if a != axis), axis]
        back = [order.index(a) for a in range(rank)]
        moved = ctx.transpose(x, order)
        x = ctx.transpose(ctx("MatMul", moved, ctx.const(matrix, ctx.dtype(x))), back)
    return x


ATEN: dict[str, Rule] = {
    "aten._adaptive_avg_pool2d.default": adaptive_avg(2),
    "aten._adaptive_avg_pool3d.default": adaptive_avg(3),
    "aten.adaptive_avg_pool1d.default": adaptive_avg(1),
    "aten.adaptive_avg_pool2d.default": adaptive_avg(2),
    "aten.adaptive_avg_pool3d.default": adaptive_avg(3),
    "aten.adaptive_max_pool1d.default": adaptive_max(1),
    "aten.adaptive_max_pool2d.default": adaptive_max(2),
    "aten.adaptive_max_pool3d.default": adaptive_max(3),
    "aten.avg_pool1d.default": avg_pool(1),
    "aten.avg_pool2d.default": avg_pool(2),
    "aten.avg_pool3d.default": avg_pool(3),
    "aten.max_pool1d.default": max_pool(1),
    "aten.max_pool1d_with_indices.default": max_pool(1, indices=True),
    "aten.max_pool2d.default": max_pool(2),
    "aten.max_pool2d_with_indices.default": max_pool(2, indices=True),
    "aten.max_pool3d.default": max_pool(3),
    "aten.max_pool3d_with_indices.default": max_pool(3, indices=True),
}
