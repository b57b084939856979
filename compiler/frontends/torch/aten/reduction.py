"""Sums, means, extremes and what is built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.frontends.array.structure import is_many
from isomorph.frontends.torch.errors import NotLowered
from isomorph.ir.dims import Expr
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value

Axes = "int | Sequence[int] | None"


def reduced(ctx: Context, op: str, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    """A reduction over some axes, or over all of them when none are named."""
    axes = _axes(ctx, x, dim)
    if ctx.rank(x) == 0:
        return ctx(op, x, keepdims=0)
    given = None if len(axes) == ctx.rank(x) else ctx.ints(*axes)
    return ctx(op, x, given, keepdims=int(keepdim))


def total(op: str) -> Rule:
    """ReduceSum and the like in the result's element type."""

    def rule(
        ctx: Context, x: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Value:
        return reduced(ctx, op, ctx.cast(x, ctx.result_dtype), dim, keepdim)

    return rule


def whole(op: str) -> Rule:
    """The same over all axes, for overloads that take none."""

    def rule(ctx: Context, x: Value, *, dtype: Any = None) -> Value:
        return reduced(ctx, op, ctx.cast(x, ctx.result_dtype))

    return rule


def extreme(op: str) -> Rule:
    """Amax and amin; booleans go through uint8."""

    def rule(ctx: Context, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
        kind = ctx.dtype(x)
        own = ctx.cast(x, DType.UINT8) if kind is DType.BOOL else x
        return ctx.cast(reduced(ctx, op, own, dim, keepdim), kind)

    return rule


def extreme_along(value_op: str, index_op: str) -> Rule:
    """max(dim) and min(dim): the value and where it is."""

    def rule(ctx: Context, x: Value, dim: int, keepdim: bool = False) -> Any:
        values = extreme(value_op)(ctx, x, dim, keepdim)
        return values, _arg(ctx, index_op, x, dim, keepdim)

    return rule


def arg(op: str) -> Rule:
    """Argmax and argmin, over one axis or over everything."""

    def rule(ctx: Context, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
        if dim is None:
            found = ctx(op, ctx("Reshape", x, ctx.ints(-1)), axis=0, keepdims=0)
            return ctx.reshape(found, (1,) * ctx.rank(x)) if keepdim else found
        return _arg(ctx, op, x, dim, keepdim)

    return rule


def any_of(ctx: Context, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    truth = ctx.cast(ctx.cast(x, DType.BOOL), DType.UINT8)
    return ctx.cast(reduced(ctx, "ReduceMax", truth, dim, keepdim), DType.BOOL)


def all_of(ctx: Context, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    truth = ctx.cast(ctx.cast(x, DType.BOOL), DType.UINT8)
    return ctx.cast(reduced(ctx, "ReduceMin", truth, dim, keepdim), DType.BOOL)


def var(
    ctx: Context, x: Value, dim: Any = None, *, correction: Any = 1, keepdim: bool = False
) -> Value:
    return _moments(ctx, x, dim, correction, keepdim)[0]


def std(
    ctx: Context, x: Value, dim: Any = None, *, correction: Any = 1, keepdim: bool = False
) -> Value:
    return ctx("Sqrt", var(ctx, x, dim, correction=correction, keepdim=keepdim))


def var_mean(
    ctx: Context, x: Value, dim: Any = None, *, correction: Any = 1, keepdim: bool = False
) -> Any:
    return _moments(ctx, x, dim, correction, keepdim)


def std_mean(
    ctx: Context, x: Value, dim: Any = None, *, correction: Any = 1, keepdim: bool = False
) -> Any:
    variance, mean = _moments(ctx, x, dim, correction, keepdim)
    return ctx("Sqrt", variance), mean


def old_var(rule: Rule) -> Rule:
    """The overloads that say `unbiased` instead of a correction."""

    def made(
        ctx: Context, x: Value, dim: Any = None, unbiased: bool = True, keepdim: bool = False
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return rule(ctx, x, dim, correction=int(unbiased), keepdim=keepdim)

    return made


def logsumexp(ctx: Context, x: Value, dim: Any, keepdim: bool = False) -> Value:
    return reduced(ctx, "ReduceLogSumExp", ctx.cast(x, ctx.result_dtype), dim, keepdim)


def norm(
    ctx: Context,
    x: Value,
    order: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Value:
    kind = ctx.result_dtype
    x = ctx.cast(x, kind)
    match 2 if order is None else order:
        case 1 | 1.0:
            return reduced(ctx, "ReduceSum", ctx("Abs", x), dim, keepdim)
        case 2 | 2.0:
            squares = reduced(ctx, "ReduceSumSquare", x, dim, keepdim)
            return ctx("Sqrt", squares)
        case other if other == float("inf"):
            return reduced(ctx, "ReduceMax", ctx("Abs", x), dim, keepdim)
        case other if other == float("-inf"):
            return reduced(ctx, "ReduceMin", ctx("Abs", x), dim, keepdim)
        case 0 | 0.0:
            there = ctx("Not", ctx("Equal", x, ctx.const(0.0, kind)))
            return reduced(ctx, "ReduceSum", ctx.cast(there, kind), dim, keepdim)
        case other:
            powers = ctx("Pow", ctx("Abs", x), ctx.const(other, kind))
            return ctx(
                "Pow", reduced(ctx, "ReduceSum", powers, dim, keepdim), ctx.const(1 / other, kind)
            )


def cumulative(op: str) -> Rule:
    """Cumsum and cumprod."""

    def rule(ctx: Context, x: Value, dim: int, *, dtype: Any = None) -> Value:
        kind = ctx.result_dtype
        x = ctx.cast(x, kind)
        if ctx.rank(x) == 0:
            return x
        return ctx(op, x, ctx.const(ctx.axis(dim, ctx.rank(x)), DType.INT64))

    return rule


def _axes(ctx: Context, x: Value, dim: Any) -> tuple[int, ...]:
    rank = ctx.rank(x)
    many = dim if is_many(dim) else [] if dim is None else [dim]
    return tuple(sorted(ctx.axis(d, rank) for d in many)) or tuple(range(rank))


def _arg(ctx: Context, op: str, x: Value, dim: int, keepdim: bool) -> Value:
    if ctx.rank(x) == 0:
        return ctx.const(0, DType.INT64)
    own = ctx.cast(x, DType.UINT8) if ctx.dtype(x) is DType.BOOL else x
    return ctx(op, own, axis=ctx.axis(dim, ctx.rank(x)), keepdims=int(keepdim))


def _moments(
    ctx: Context, x: Value, dim: Any, correction: Any, keepdim: bool
) -> tuple[Value, Value]:
    """Variance and mean; the divisor is the count less the correction, never below 0."""
    correction = 1 if correction is None else correction
    dtype = ctx.result_dtype
    axes = _axes(ctx, x, dim)
    mean = reduced(ctx, "ReduceMean", x, list(axes), True)
    gap = ctx("Sub", x, mean)
    count: Any = 1
    for axis in axes:
        count = count * ctx.shape(x)[axis]
    squares = ctx("Mul", gap, gap)
    if correction == 0:
        variance = reduced(ctx, "ReduceMean", squares, list(axes), keepdim)
    else:
        total_squares = reduced(ctx, "ReduceSum", squares, list(axes), keepdim)
        if isinstance(count, Expr):
            if not isinstance(correction, int):
                raise NotLowered(f"a variance with correction {correction} over an open size")
            less = ctx.cast(ctx.size(count - correction), dtype)
            divisor = ctx("Max", less, ctx.const(0.0, dtype))
        else:
            divisor = ctx.const(max(count - correction, 0), dtype)
        variance = ctx("Div", total_squares, divisor)
    if keepdim or not axes:
        return variance, mean
    return variance, ctx.squeeze(mean, *axes)


ATEN: dict[str, Rule] = {
    "aten.all.default": all_of,
    "aten.all.dim": all_of,
    "aten.all.dims": all_of,
    "aten.amax.default": extreme("ReduceMax"),
    "aten.amin.default": extreme("ReduceMin"),
    "aten.any.default": any_of,
    "aten.any.dim": any_of,
    "aten.any.dims": any_of,
    "aten.argmax.default": arg("ArgMax"),
    "aten.argmin.default": arg("ArgMin"),
    "aten.cumprod.default": cumulative("CumProd"),
    "aten.cumsum.default": cumulative("CumSum"),
    "aten.linalg_vector_norm.default": norm,
    "aten.logsumexp.default": logsumexp,
    "aten.max.default": extreme("ReduceMax"),
    "aten.max.dim": extreme_along("ReduceMax", "ArgMax"),
    "aten.mean.default": whole("ReduceMean"),
    "aten.mean.dim": total("ReduceMean"),
    "aten.min.default": extreme("ReduceMin"),
    "aten.min.dim": extreme_along("ReduceMin", "ArgMin"),
    "aten.norm.Scalar": norm,
    "aten.norm.ScalarOpt_dim": norm,
    "aten.prod.default": whole("ReduceProd"),
    "aten.prod.dim_int": total("ReduceProd"),
    "aten.std.correction": std,
    "aten.std.default": old_var(std),
    "aten.std.dim": old_var(std),
    "aten.std_mean.correction": std_mean,
    "aten.sum.default": whole("ReduceSum"),
    "aten.sum.dim_IntList": total("ReduceSum"),
    "aten.var.correction": var,
    "aten.var.default": old_var(var),
    "aten.var.dim": old_var(var),
    "aten.var_mean.correction": var_mean,
}
