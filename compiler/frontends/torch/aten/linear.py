"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.frontends.torch.errors import NotLowered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.frontends.torch.scope import Param
    from isomorph.ir.graph import Value


def linear(ctx: Context, x: Value, weight: Value | Param, bias: Value | None = None) -> Value:
    """x·Wᵀ + b; the weight is stored the way it is multiplied."""
    product = ctx("MatMul", x, ctx.swapped(weight))
    return product if bias is None else ctx("Add", product, bias)


def matmul(ctx: Context, a: Value, b: Value) -> Value:
    return ctx("MatMul", a, b)


def addmm(ctx: Context, c: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    """beta·c + alpha·a·b, for two matrices or two batches of them."""
    dtype = ctx.result_dtype
    product = ctx("MatMul", a, b)
    if alpha != 1:
        product = ctx("Mul", product, ctx.tensor(alpha, dtype))
    if beta == 0:
        return product
    added = c if beta == 1 else ctx("Mul", c, ctx.tensor(beta, dtype))
    return ctx("Add", product, added)


def einsum(ctx: Context, equation: str, operands: Sequence[Value], *, path: Any = None) -> Value:
    dtype = ctx.result_dtype
    if (
        not equation.replace("...", "")
        .replace("->", "")
        .replace(",", "")
        .replace(" ", "")
        .isalpha()
    ):
        raise NotLowered(f"einsum {equation!r}")
    return ctx(
        "Einsum", *(ctx.cast(v, dtype) for v in operands), equation=equation.replace(" ", "")
    )


def bilinear(ctx: Context, x: Value, y: Value, weight: Value, bias: Value | None = None) -> Value:
    made = ctx("Einsum", x, weight, y, equation="...i,oij,...j->...o")
    return made if bias is None else ctx("Add", made, bias)


ATEN: dict[str, Rule] = {
    "aten.addmm.default": addmm,
    "aten.addmv.default": addmm,
    "aten.baddbmm.default": addmm,
    "aten.bilinear.default": bilinear,
    "aten.bmm.default": matmul,
    "aten.dot.default": matmul,
    "aten.einsum.default": einsum,
    "aten.linear.default": linear,
    "aten.matmul.default": matmul,
    "aten.mm.default": matmul,
    "aten.mv.default": matmul,
}
