"""Normalizations and softmax, each whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isomorph.frontends.torch.errors import NotLowered
from isomorph.frontends.torch.symbols import torch_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.frontends.torch.symbols import Whole
    from isomorph.ir.graph import Value


def batch_norm(
    ctx: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    training: bool,
    momentum: float,
    epsilon: float,
    *rest: Any,
) -> Value:
    if mean is None or variance is None or training:
        if ctx.rank(x) < 3:
            raise NotLowered("batch norm on the batch's own statistics", "module.eval()")
        raise NotLowered(
            "batch norm on the batch's own statistics", "track_running_stats=True and module.eval()"
        )
    channels = ctx.shape(mean)
    return ctx(
        "BatchNormalization",
        x,
        weight if weight is not None else ctx.full(channels, 1.0, ctx.dtype(mean)),
        bias if bias is not None else ctx.full(channels, 0.0, ctx.dtype(mean)),
        mean,
        variance,
        epsilon=float(epsilon),
    )


def native_batch_norm(
    ctx: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    momentum: float,
    epsilon: float,
) -> Any:
    """The decomposed form; its saved statistics are empty while evaluating."""
    made = batch_norm(ctx, x, weight, bias, mean, variance, False, momentum, epsilon)
    empty = ctx.full((0,), 0.0, ctx.dtype(mean))
    return made, empty, empty


def layer_norm(
    ctx: Context,
    x: Value,
    shape: Sequence[Whole],
    weight: Value | None = None,
    bias: Value | None = None,
    epsilon: float = 1e-5,
    *rest: Any,
) -> Value:
    scale = weight if weight is not None else ctx.full(tuple(shape), 1.0, ctx.dtype(x))
    return ctx("LayerNormalization", x, scale, bias, axis=-len(shape), epsilon=float(epsilon))


def native_layer_norm(
    ctx: Context,
    x: Value,
    shape: Sequence[Whole],
    weight: Value | None,
    bias: Value | None,
    epsilon: float,
) -> Any:
    scale = weight if weight is not None else ctx.full(tuple(shape), 1.0, ctx.dtype(x))
    return ctx.ops(
        "LayerNormalization", x, scale, bias, outputs=3, axis=-len(shape), epsilon=float(epsilon)
    )


def rms_norm(
    ctx: Context,
    x: Value,
    shape: Sequence[Whole],
    weight: Value | None = None,
    epsilon: float | None = None,
) -> Value:
    """Without an epsilon torch takes the smallest step of the element type."""
    dtype = ctx.dtype(x)
    scale = weight if weight is not None else ctx.full(tuple(shape), 1.0, dtype)
    step: float = torch.finfo(torch_dtype(dtype)).eps if epsilon is None else epsilon
    return ctx("RMSNormalization", x, scale, axis=-len(shape), epsilon=step)


def group_norm(
    ctx: Context,
    x: Value,
    groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    epsilon: float = 1e-5,
    *rest: Any,
) -> Value:
    channels = ctx.shape(x)[1]
    dtype = ctx.dtype(x)
    return ctx(
        "GroupNormalization",
        x,
        weight if weight is not None else ctx.full((channels,), 1.0, dtype),
        bias if bias is not None else ctx.full((channels,), 0.0, dtype),
        num_groups=groups,
        epsilon=float(epsilon),
    )


def instance_norm(
    ctx: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    use_input_stats: bool,
    momentum: float,
    epsilon: float,
    *rest: Any,
) -> Value:
    channels = ctx.shape(x)[1]
    dtype = ctx.dtype(x)
    if not use_input_stats:
        return batch_norm(ctx, x, weight, bias, mean, variance, False, momentum, epsilon)
    return ctx(
        "InstanceNormalization",
        x,
        weight if weight is not None else ctx.full((channels,), 1.0, dtype),
        bias if bias is not None else ctx.full((channels,), 0.0, dtype),
        epsilon=float(epsilon),
    )


def softmax(op: str) -> Rule:
    """Softmax and log_softmax along an axis."""

    def rule(ctx: Context, x: Value, dim: int, *rest: Any, **kwargs: Any) -> Value:
        dtype = ctx.result_dtype
        if ctx.rank(x) == 0:
            x = ctx.unsqueeze(ctx.cast(x, dtype), 0)
            return ctx.squeeze(ctx(op, x, axis=0), 0)
        return ctx(op, ctx.cast(x, dtype), axis=ctx.axis(dim, ctx.rank(x)))

    return rule


ATEN: dict[str, Rule] = {
    "aten._log_softmax.default": softmax("LogSoftmax"),
    "aten._native_batch_norm_legit_no_training.default": native_batch_norm,
    "aten._softmax.default": softmax("Softmax"),
    "aten.batch_norm.default": batch_norm,
    "aten.group_norm.default": group_norm,
    "aten.instance_norm.default": instance_norm,
    "aten.layer_norm.default": layer_norm,
    "aten.log_softmax.int": softmax("LogSoftmax"),
    "aten.native_layer_norm.default": native_layer_norm,
    "aten.rms_norm.default": rms_norm,
    "aten.softmax.int": softmax("Softmax"),
}
