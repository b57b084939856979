"""reduction: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _shapes as s
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.opdef import Key, ShapeRule
    from isomorph.ir.ops._shapes import Arithmetic
    from isomorph.ir.types import Shape, Type


def reduced_axes(ctx: Context, rank: int) -> tuple[int, ...] | None:
    """The axes that are reduced, `None` when only the run knows."""
    given = ctx.array(1) if ctx.has(1) else None
    if ctx.has(1) and given is None and ctx.shape(1) != (0,):
        return None
    axes = () if given is None else tuple(int(a) for a in given.reshape(-1))
    if axes:
        return tuple(sorted({ctx.axis(a, rank) for a in axes}))
    return () if ctx.attr("noop_with_empty_axes", 0) else tuple(range(rank))


def _shape(ctx: Context) -> Shape | None:
    shape, keep = ctx.shape(0), bool(ctx.attr("keepdims", 1))
    if shape is None:
        return None
    axes = reduced_axes(ctx, len(shape))
    if axes is not None:
        return reduced(shape, axes, keep=keep)
    if keep or not shape:
        return (None,) * len(shape)
    count = ctx.shape(1)
    if count is not None and len(count) == 1 and isinstance(count[0], int):
        return (None,) * (len(shape) - count[0])
    return None


def reduced(shape: Shape, axes: tuple[int, ...], *, keep: bool) -> Shape:
    """A shape with these axes reduced to 1, or taken out."""
    if keep:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def _reduce(function: Arithmetic | None = None) -> ShapeRule:
    """Reduction of `data` over `axes`; `function` joins two known elements of a vector."""

    def rule(ctx: Context) -> tuple[Type | None, ...]:
        elements = ctx.dims(0)
        whole = ctx.rank(0) == 1 and ctx.dtype(0) in s.CARRIED and reduced_axes(ctx, 1) == (0,)
        if function is not None and elements and whole:
            total: Dim = elements[0]
            for element in elements[1:]:
                total = None if total is None or element is None else function(total, element)
            ctx.know((total,), scalar=not ctx.attr("keepdims", 1))
        return (s.tensor(ctx.dtype(0), _shape(ctx)),)

    return rule


def _argument(ctx: Context) -> tuple[Type | None, ...]:
    shape = ctx.shape(0)
    if shape is not None:
        axis = ctx.axis(ctx.attr("axis", 0), len(shape))
        shape = reduced(shape, (axis,), keep=bool(ctx.attr("keepdims", 1)))
    return (TensorType(DType.INT64, shape),)


OPS: dict[Key, OpDef] = {
    ("", "ArgMax"): OpDef(_argument, Tolerance.DISCONTINUOUS),
    ("", "ArgMin"): OpDef(_argument, Tolerance.DISCONTINUOUS),
    ("", "CumProd"): OpDef(s.same, Tolerance.SUM),
    ("", "CumSum"): OpDef(s.same, Tolerance.SUM),
    ("", "ReduceL1"): OpDef(_reduce(), Tolerance.SUM),
    ("", "ReduceL2"): OpDef(_reduce(), Tolerance.SUM),
    ("", "ReduceLogSum"): OpDef(_reduce(), Tolerance.SOFTMAX),
    ("", "ReduceLogSumExp"): OpDef(_reduce(), Tolerance.SOFTMAX),
    ("", "ReduceMax"): OpDef(_reduce(s.larger), Tolerance.EXACT),
    ("", "ReduceMean"): OpDef(_reduce(), Tolerance.SUM),
    ("", "ReduceMin"): OpDef(_reduce(s.smaller), Tolerance.EXACT),
    ("", "ReduceProd"): OpDef(_reduce(s.multiply), Tolerance.SUM),
    ("", "ReduceSum"): OpDef(_reduce(s.add), Tolerance.SUM),
    ("", "ReduceSumSquare"): OpDef(_reduce(), Tolerance.SUM),
}
