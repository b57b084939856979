"""Tensors made from sizes and numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.torch.errors import NotLowered
from isomorph.ir.dims import Expr
from isomorph.ir.graph import Value
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context


def filled(number: Any) -> Rule:
    """zeros, ones and their kin: the shape is torch's own result."""

    def rule(ctx: Context, *args: Any, **kwargs: Any) -> Value:
        return ctx.full(ctx.result_shape, number, ctx.result_dtype)

    return rule


def full(ctx: Context, size: Any, value: Any, **kwargs: Any) -> Value:
    return ctx.full(ctx.result_shape, value, ctx.result_dtype)


def new_full(ctx: Context, x: Value, size: Any, value: Any, **kwargs: Any) -> Value:
    return full(ctx, size, value)


def fill(ctx: Context, x: Value, value: Any) -> Value:
    return ctx.full(ctx.shape(x), value, ctx.dtype(x))


def scalar_tensor(ctx: Context, value: Any, **kwargs: Any) -> Value:
    return ctx.tensor(value, ctx.result_dtype)


def arange(ctx: Context, *args: Any, **kwargs: Any) -> Value:
    """Numbers up to `end`, from `start`, in steps: one, two or three arguments."""
    start, end, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
    dtype = ctx.result_dtype
    numbers = (start, end, step)
    if all(isinstance(n, (int, float)) for n in numbers):
        count = ctx.result_shape[0]
        if isinstance(count, int) and count <= 4096:
            return ctx.const(start + np.arange(count) * step, dtype)
    if any(isinstance(n, float) for n in numbers) or not (dtype.is_integer or dtype.is_float):
        raise NotLowered(f"arange{args} of {dtype} with open or broken steps")
    made = ctx("Range", *(_whole(ctx, n) for n in numbers))
    return ctx.cast(made, dtype)


def eye(ctx: Context, rows: Any, columns: Any = None, **kwargs: Any) -> Value:
    columns = rows if columns is None else columns
    dtype = ctx.result_dtype
    if isinstance(rows, int) and isinstance(columns, int):
        return ctx.const(np.eye(rows, columns), dtype)
    return ctx("EyeLike", ctx.full((rows, columns), 0.0, DType.FLOAT32), dtype=dtype.value)


def linspace(ctx: Context, start: Any, end: Any, steps: Any, **kwargs: Any) -> Value:
    numbers = (start, end, steps)
    if not all(isinstance(n, (int, float)) for n in numbers):
        raise NotLowered("linspace between numbers that are not fixed")
    return ctx.const(np.linspace(start, end, steps), ctx.result_dtype)


def _whole(ctx: Context, number: Any) -> Value:
    if isinstance(number, (int, Expr)):
        return ctx.size(number)
    if isinstance(number, Value):
        return ctx.cast(number, DType.INT64)
    raise NotLowered(f"arange with {number!r}")


ATEN: dict[str, Rule] = {
    "aten.arange.default": arange,
    "aten.arange.start": arange,
    "aten.arange.start_step": arange,
    "aten.empty.memory_format": filled(0),
    "aten.empty_like.default": filled(0),
    "aten.eye.default": eye,
    "aten.eye.m": eye,
    "aten.fill.Scalar": fill,
    "aten.fill.Tensor": fill,
    "aten.full.default": full,
    "aten.full_like.default": full,
    "aten.linspace.default": linspace,
    "aten.new_empty.default": filled(0),
    "aten.new_full.default": new_full,
    "aten.new_ones.default": filled(1),
    "aten.new_zeros.default": filled(0),
    "aten.ones.default": filled(1),
    "aten.ones_like.default": filled(1),
    "aten.scalar_tensor.default": scalar_tensor,
    "aten.zero.default": filled(0),
    "aten.zeros.default": filled(0),
    "aten.zeros_like.default": filled(0),
}
