"""Numbers computed from sizes, such as `x.shape[1] ** 0.5`, as float64 scalars of the graph."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.torch.errors import NotLowered
from isomorph.frontends.torch.symbols import Symbols, UntranslatableError
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.frontends.torch.scope import TorchScope
    from isomorph.ir.graph import Value

_CHAINS = {
    "Add": "Add",
    "Mul": "Mul",
    "FloatTrueDiv": "Div",
    "IntTrueDiv": "Div",
    "FloatPow": "Pow",
}
_UNARY = {
    "OpaqueUnaryFn_sqrt": "Sqrt",
    "OpaqueUnaryFn_exp": "Exp",
    "OpaqueUnaryFn_log": "Log",
    "OpaqueUnaryFn_cos": "Cos",
    "OpaqueUnaryFn_sin": "Sin",
    "OpaqueUnaryFn_tanh": "Tanh",
}


def lowered(scope: TorchScope, symbols: Symbols, expr: Any) -> Value:
    """A sympy expression as a float64 scalar; NotLowered for functions that are not known here."""

    def op(type: str, *inputs: Value) -> Value:  # noqa: A002 - the field's own word
        return scope.emit(type, inputs).output

    def wide(value: Value) -> Value:
        return scope.emit("Cast", [value], {"to": DType.FLOAT64.value}).output

    def read(part: Any) -> Value:
        name = type(part).__name__
        if part.is_Symbol and str(part) in scope.numbers:
            return wide(scope.numbers[str(part)])
        if part.is_Float or part.is_Rational:
            return scope.constant(np.array(float(part)), "number")
        if name in {"ToFloat", "Identity"}:
            return read(part.args[0])
        if name in _CHAINS:
            return reduce(lambda a, b: op(_CHAINS[name], a, b), map(read, part.args))
        if name == "Pow" and not part.args[1].is_Integer:
            return op("Pow", *map(read, part.args))
        if name in _UNARY:
            return op(_UNARY[name], read(part.args[0]))
        try:
            return wide(scope.dim(symbols.dim(part)))
        except UntranslatableError:
            raise NotLowered(f"the number {part}, computed from sizes, has no form here") from None

    return read(expr)
