"""Scaled dot-product attention, written out: it then runs at every opset."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.torch.errors import NotLowered
from isomorph.frontends.torch.symbols import dtype_of
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
    if enable_gqa:
        key, value = (_repeated(ctx, query, v) for v in (key, value))
    scores, attends = _scores(ctx, query, key, mask, scale, causal=is_causal)
    weights = ctx("Softmax", scores, axis=-1)
    if attends is not None:
        weights = ctx.where(attends, weights, ctx.const(0.0, ctx.dtype(query)))
    return ctx("MatMul", weights, value)


def _scores(
    ctx: Context, query: Value, key: Value, mask: Value | None, scale: float | None, *, causal: bool
) -> tuple[Value, Value | None]:
    """What softmax is taken of, and which rows attend to anything (`None`: all of them)."""
    dtype = ctx.dtype(query)
    factor = scale if scale is not None else _scale(ctx, query)
    scaled = ctx("Mul", query, ctx.const(factor, dtype))
    scores = ctx("MatMul", scaled, ctx.swapped(key))
    rows, columns = ctx.shape(query)[-2], ctx.shape(key)[-2]
    if causal:
        mask = _causal(ctx, rows, columns)
    if mask is None:
        return scores, None
    if ctx.dtype(mask) is DType.BOOL:
        open_ = mask
        blocked = ctx.where(mask, scores, ctx.const(-math.inf, dtype))
    else:
        added = ctx.cast(mask, dtype)
        blocked = ctx("Add", scores, added)
        open_ = ctx("Not", ctx("Equal", added, ctx.const(-math.inf, dtype)))
    if causal:
        return blocked, None
    attends = ctx("ReduceMax", ctx.cast(open_, DType.UINT8), ctx.ints(-1), keepdims=1)
    return blocked, ctx.cast(attends, DType.BOOL)


def with_statistics(
    ctx: Context,
    query: Value,
    key: Value,
    value: Value,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> Any:
    """The fused form of a decomposed program: (output, log Σ exp of each row's scores)."""
    made = attention(ctx, query, key, value, attn_mask, dropout, is_causal, scale=scale)
    scores, _ = _scores(ctx, query, key, attn_mask, scale, causal=is_causal)
    summed = ctx("ReduceLogSumExp", scores, ctx.ints(-1), keepdims=0)
    return made, ctx.cast(summed, dtype_of(ctx.result[1].dtype))


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
