"""Reading and writing at positions that are data."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from isomorph.frontends.torch.errors import NotLowered
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value


def embedding(ctx: Context, weight: Value, indices: Value, *rest: Any) -> Value:
    return ctx("Gather", weight, indices, axis=0)


def index_select(ctx: Context, x: Value, dim: int, index: Value) -> Value:
    if ctx.rank(x) == 0:
        return x
    flat = index if ctx.rank(index) else ctx.unsqueeze(index, 0)
    return ctx("Gather", x, flat, axis=ctx.axis(dim, ctx.rank(x)))


def gather(ctx: Context, x: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Value:
    if ctx.rank(x) == 0 or ctx.rank(index) == 0:
        raise NotLowered("gather on a scalar")
    return ctx("GatherElements", x, index, axis=ctx.axis(dim, ctx.rank(x)))


def index(ctx: Context, x: Value, indices: Sequence[Value | None]) -> Value:
    """x[i, :, j]: one index is a Gather, several are a GatherND with their axes in front."""
    given = {axis: i for axis, i in enumerate(indices) if i is not None}
    if any(ctx.dtype(i) in {DType.BOOL, DType.UINT8} for i in given.values()):
        return _masked(ctx, x, given)
    if len(given) == 1:
        ((axis, only),) = given.items()
        return ctx("Gather", x, only, axis=axis)
    axes = list(given)
    rank = ctx.rank(x)
    rest = [a for a in range(rank) if a not in axes]
    front = ctx.transpose(x, (*axes, *rest))
    common = reduce(lambda a, b: _shape(ctx, a, b), (ctx.shape(i) for i in given.values()))
    parts = [
        ctx.unsqueeze(ctx.expand(ctx.cast(i, DType.INT64), common), len(common))
        for i in given.values()
    ]
    found = ctx("GatherND", front, ctx("Concat", *parts, axis=len(common)))
    if axes != list(range(axes[0], axes[-1] + 1)) or axes[0] == 0:
        return found
    many, first = len(common), axes[0]
    order = [*range(many, many + first), *range(many), *range(many + first, many + len(rest))]
    return ctx.transpose(found, order)


def index_put(
    ctx: Context, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False
) -> Value:
    given = [i for i in indices if i is not None]
    if len(given) != len(indices) or not given:
        raise NotLowered("index_put that leaves an axis before the indices")
    values = ctx.cast(values, ctx.dtype(x))
    if len(given) == 1 and ctx.dtype(given[0]) is DType.BOOL:
        if ctx.rank(values) != 0 or accumulate:
            raise NotLowered("writing several values where a mask is true", "torch.where")
        mask, missing = given[0], ctx.rank(x) - ctx.rank(given[0])
        if missing:
            mask = ctx.unsqueeze(mask, *range(ctx.rank(mask), ctx.rank(x)))
        return ctx("Where", mask, values, x)
    common = reduce(lambda a, b: _shape(ctx, a, b), (ctx.shape(i) for i in given))
    parts = [
        ctx.unsqueeze(ctx.expand(ctx.cast(i, DType.INT64), common), len(common)) for i in given
    ]
    places = parts[0] if len(parts) == 1 else ctx("Concat", *parts, axis=len(common))
    updates = ctx.expand(values, (*common, *ctx.shape(x)[len(given) :]))
    return ctx("ScatterND", x, places, updates, reduction="add" if accumulate else "none")


def scatter(reduction: str) -> Rule:
    """Scatter and scatter_add, from a tensor or a number."""

    def rule(
        ctx: Context, x: Value, dim: int, index: Value, source: Any, *, reduce: str | None = None
    ) -> Value:
        kind = {None: reduction, "add": "add", "multiply": "mul"}[reduce]
        shape = ctx.shape(index)
        if isinstance(source, (int, float, bool)):
            updates = ctx.full(shape, source, ctx.dtype(x))
        else:
            updates = ctx.cast(source, ctx.dtype(x))
            for axis, (have, want) in enumerate(zip(ctx.shape(updates), shape, strict=True)):
                if have != want:
                    updates = ctx.slice(updates, axis, 0, want)
        axis = ctx.axis(dim, ctx.rank(x))
        return ctx("ScatterElements", x, index, updates, axis=axis, reduction=kind)

    return rule


def scatter_reduce(
    ctx: Context,
    x: Value,
    dim: int,
    index: Value,
    source: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    names = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
    if reduce not in names or not include_self:
        raise NotLowered(f"scatter_reduce with {reduce!r}, include_self={include_self}")
    return scatter(names[reduce])(ctx, x, dim, index, source)


def nonzero(ctx: Context, x: Value) -> Value:
    return ctx.transpose(ctx("NonZero", x), (1, 0))


def one_hot(ctx: Context, x: Value, classes: int = -1) -> Value:
    if classes < 0:
        raise NotLowered("one_hot without a number of classes", "one_hot(x, num_classes=…)")
    return ctx(
        "OneHot", x, ctx.const(classes, DType.INT64), ctx.const([0, 1], DType.INT64), axis=-1
    )


def masked_select(ctx: Context, x: Value, mask: Value) -> Value:
    shape = _shape(ctx, ctx.shape(x), ctx.shape(mask))
    places = ctx.transpose(ctx("NonZero", ctx.expand(mask, shape)), (1, 0))
    return ctx("GatherND", ctx.expand(x, shape), places)


def _masked(ctx: Context, x: Value, given: dict[int, Value]) -> Value:
    if list(given) != [0] or ctx.dtype(given[0]) is not DType.BOOL:
        raise NotLowered("a mask that is not the first and only index", "torch.where, or nonzero")
    return ctx("GatherND", x, ctx.transpose(ctx("NonZero", given[0]), (1, 0)))


def _shape(ctx: Context, a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, ...]:
    rank = max(len(a), len(b))
    left = (*(1,) * (rank - len(a)), *a)
    right = (*(1,) * (rank - len(b)), *b)
    return tuple(y if ctx.same(x, 1) else x for x, y in zip(left, right, strict=True))


ATEN: dict[str, Rule] = {
    "aten.embedding.default": embedding,
    "aten.gather.default": gather,
    "aten.index.Tensor": index,
    "aten.index_put.default": index_put,
    "aten.index_select.default": index_select,
    "aten.masked_select.default": masked_select,
    "aten.nonzero.default": nonzero,
    "aten.one_hot.default": one_hot,
    "aten.scatter.src": scatter("none"),
    "aten.scatter.value": scatter("none"),
    "aten.scatter_add.default": scatter("add"),
    "aten.scatter_reduce.two": scatter_reduce,
}
