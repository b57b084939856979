"""Order: the largest k, and all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.frontends.torch.symbols import Whole
    from isomorph.ir.graph import Value


def topk(
    ctx: Context,
    x: Value,
    k: Whole,
    dim: int = -1,
    largest: bool = True,
    in_order: bool = True,
) -> Any:
    axis = ctx.axis(dim, ctx.rank(x))
    return ctx.ops(
        "TopK", x, ctx.ints(k), outputs=2, axis=axis, largest=int(largest), sorted=int(in_order)
    )


def sort(ctx: Context, x: Value, dim: int = -1, descending: bool = False) -> Any:
    return topk(ctx, x, ctx.shape(x)[ctx.axis(dim, ctx.rank(x))], dim, descending)


def sort_stable(
    ctx: Context, x: Value, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> Any:
    return sort(ctx, x, dim, descending)


def argsort(ctx: Context, x: Value, dim: int = -1, descending: bool = False) -> Any:
    return sort(ctx, x, dim, descending)[1]


ATEN: dict[str, Rule] = {
    "aten.argsort.default": argsort,
    "aten.sort.default": sort,
    "aten.sort.stable": sort_stable,
    "aten.topk.default": topk,
}
