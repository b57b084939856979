"""Scaled dot-product attention, written out: it then runs at every opset."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.torch.errors import NotLowered
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.frontends.torch.symbols import Whole
    from isomorph.ir.graph import Value

_LARGEST_MASK = 1 << 20
"""Elements of a causal mask that is stored as a constant; a larger one is computed."""


def attention(
    ctx: Context,
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(q·kᵀ·scale + mask)·v; a row that attends to nothing gives zeros, as torch's does."""
    if dropout > 0:
        raise NotLowered("attention with dropout", "dropout_p=0.0 unless self.training")
    dtype = ctx.dtype(query)
    if enable_gqa:
        key, value = (_repeated(ctx, query, v) for v in (key, value))
    factor = scale if scale is not None else _scale(ctx, query)
    scaled = ctx("Mul", query, ctx.const(factor, dtype))
    scores = ctx("MatMul", scaled, ctx.swapped(key))
    rows, columns = ctx.shape(query)[-2], ctx.shape(key)[-2]
    if is_causal:
        mask = _causal(ctx, rows, columns)
    if mask is None:
        return ctx("MatMul", ctx("Softmax", scores, axis=-1), value)
    if ctx.dtype(mask) is DType.BOOL:
        open_ = mask
        blocked = ctx.where(mask, scores, ctx.const(-math.inf, dtype))
    else:
        added = ctx.cast(mask, dtype)
        blocked = ctx("Add", scores, added)
        open_ = ctx("Not", ctx("Equal", added, ctx.const(-math.inf, dtype)))
    weights = ctx("Softmax", blocked, axis=-1)
    if not is_causal:
        attends = ctx("ReduceMax", ctx.cast(open_, DType.UINT8), ctx.ints(-1), keepdims=1)
        weights = ctx.where(ctx.cast(attends, DType.BOOL), weights, ctx.const(0.0, dtype))
    return ctx("MatMul", weights, value)


def with_statistics(
    ctx: Context, query: Value, key: Value, value: Value, *rest: Any, **more: Any
) -> Any:
    """The fused forms of a decomposed program: (output, what only gradients need…)."""
    names = ("dropout", "is_causal")
    given = dict(zip(names, rest, strict=False))
    mask = more.pop("attn_mask", None)
    made = attention(ctx, query, key, value, mask, **given, scale=more.get("scale"))
    empty = [ctx.full((0,), 0.0, DType.FLOAT32) for _ in ctx.result[1:]]
    return made, *empty


def _scale(ctx: Context, query: Value) -> float:
    return 1 / math.sqrt(ctx.fixed(query, ctx.rank(query) - 1, "attention without a scale"))


def _causal(ctx: Context, rows: Whole, columns: Whole) -> Value:
    """True where a row may look: at its own position and before."""
    if isinstance(rows, int) and isinstance(columns, int) and rows * columns <= _LARGEST_MASK:
        return ctx.const(np.tri(rows, columns, dtype=bool), DType.BOOL)
    down = ctx.unsqueeze(_counted(ctx, rows), 1)
    return ctx("GreaterOrEqual", down, _counted(ctx, columns))


def _counted(ctx: Context, size: Whole) -> Value:
    return ctx("Range", ctx.size(0), ctx.size(size), ctx.size(1))


def _repeated(ctx: Context, query: Value, x: Value) -> Value:
    """Heads of keys and values repeated so that there is one for every head of the query."""
    wanted, have = (ctx.fixed(v, ctx.rank(v) - 3, "grouped heads") for v in (query, x))
    if wanted == have:
        return x
    shape = ctx.shape(x)
    lead, tail = shape[:-2], shape[-2:]
    wide = ctx.expand(ctx.unsqueeze(x, ctx.rank(x) - 2), (*lead, wanted // have, *tail))
    return ctx.reshape(wide, (*shape[:-3], wanted, *tail))


ATEN: dict[str, Rule] = {
    "aten._scaled_dot_product_flash_attention_for_cpu.default": with_statistics,
    "aten.scaled_dot_product_attention.default": attention,
}
