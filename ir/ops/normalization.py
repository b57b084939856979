"""normalization: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.context import broadcast
from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _shapes as s
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import Shape, Type


def _along_axis(ctx: Context) -> tuple[Type | None, ...]:
    rank = ctx.rank(0)
    if rank is not None:
        ctx.axis(ctx.attr("axis", -1), rank)
    return (ctx.type(0),)


def _batch(ctx: Context) -> tuple[Type | None, ...]:
    """Y like X, with the channels that the statistics have; running statistics like those."""
    shape = ctx.shape(0)
    if shape is not None and len(shape) > 1:
        given = [ctx.shape(i) for i in range(1, 5)]
        known = [g for g in given if g is not None and len(g) == 1]
        channels = broadcast(ctx, shape[1:2], *known) or (None,)
        if channels[0] is not None:
            shape = (shape[0], channels[0], *shape[2:])
    return (s.tensor(ctx.dtype(0), shape), ctx.type(3), ctx.type(4))


def _layer(ctx: Context) -> tuple[Type | None, ...]:
    shape = ctx.shape(0)
    reduced: Shape | None = None
    if shape is not None:
        axis = ctx.axis(ctx.attr("axis", -1), len(shape))
        reduced = tuple(d if i < axis else 1 for i, d in enumerate(shape))
    statistic = TensorType(DType(ctx.attr("stash_type", 1)), reduced)
    return (ctx.type(0), statistic, statistic)


def _rms(ctx: Context) -> tuple[Type | None, ...]:
    rank = ctx.rank(0)
    if rank is not None:
        ctx.axis(ctx.attr("axis", -1), rank)
    return (s.tensor(ctx.dtype(1), ctx.shape(0)),)


OPS: dict[Key, OpDef] = {
    ("", "BatchNormalization"): OpDef(_batch, Tolerance.NORMALIZATION),
    ("", "GroupNormalization"): OpDef(s.same, Tolerance.NORMALIZATION),
    ("", "Hardmax"): OpDef(_along_axis, Tolerance.DISCONTINUOUS),
    ("", "InstanceNormalization"): OpDef(s.same, Tolerance.NORMALIZATION),
    ("", "LRN"): OpDef(s.same, Tolerance.NORMALIZATION),
    ("", "LayerNormalization"): OpDef(_layer, Tolerance.NORMALIZATION),
    ("", "LogSoftmax"): OpDef(_along_axis, Tolerance.SOFTMAX),
    ("", "LpNormalization"): OpDef(_along_axis, Tolerance.NORMALIZATION),
    ("", "MeanVarianceNormalization"): OpDef(s.same, Tolerance.NORMALIZATION),
    ("", "RMSNormalization"): OpDef(_rms, Tolerance.NORMALIZATION),
    ("", "Softmax"): OpDef(_along_axis, Tolerance.SOFTMAX),
}
