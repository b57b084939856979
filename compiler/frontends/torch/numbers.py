"""Numbers computed from sizes, such as `x.shape[1] ** 0.5`, as float64 scalars of the graph."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from isomorph.frontends.torch.errors import NotLowered
from isomorph.frontends.torch.symbols import UntranslatableError
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value

_CHAINS = {"Add": "Add", "Mul": "Mul", "FloatTrueDiv": "Div", "IntTrueDiv": "Div", "FloatPow": "Pow"}
_UNARY = {
    "OpaqueUnaryFn_sqrt": "Sqrt",
    "OpaqueUnaryFn_exp": "Exp",
    "OpaqueUnaryFn_log": "Log",
    "OpaqueUnaryFn_cos": "Cos",
    "OpaqueUnaryFn_sin": "Sin",
    "OpaqueUnaryFn_tanh": "Tanh",
}


def lowered(context: Context, expr: Any) -> Value:
    """A sympy expression as a float64 scalar; NotLowered for functions that are not known here."""
    name = type(expr).__name__
    if expr.is_Symbol and str(expr) in context.scope.numbers:
        return context.cast(context.scope.numbers[str(expr)], DType.FLOAT64)
    if expr.is_Float or expr.is_Rational:
        return context.const(float(expr), DType.FLOAT64)
    if name in {"ToFloat", "Identity"}:
        return lowered(context, expr.args[0])
    if name in _CHAINS:
        parts = [lowered(context, a) for a in expr.args]
        return reduce(lambda a, b: context(_CHAINS[name], a, b), parts)
    if name == "Pow" and not expr.args[1].is_Integer:
        return context("Pow", *(lowered(context, a) for a in expr.args))
    if name in _UNARY:
        return context(_UNARY[name], lowered(context, expr.args[0]))
    try:
        dim = context.symbols.dim(expr)
    except UntranslatableError:
        raise NotLowered(f"the number {expr}, computed from sizes, has no form here") from None
    return context.cast(context.size(dim), DType.FLOAT64)
