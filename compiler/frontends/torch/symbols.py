"""torch's symbolic sizes (sympy) as dims of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch.utils._sympy import functions as ts

from isomorph.ir.dims import Constraint, Expr, floor_div, maximum, minimum, symbol
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Whole = int | Expr


class UntranslatableError(Exception):
    """A sympy expression that the dim algebra does not have; the text is the expression."""


_RELATIONS: dict[Any, str] = {
    sympy.Eq: "==",
    sympy.Ne: "!=",
    sympy.Ge: ">=",
    sympy.Le: "<=",
    sympy.Gt: ">",
    sympy.Lt: "<",
}
_OPPOSITE = {"==": "!=", "!=": "==", ">=": "<", "<": ">=", "<=": ">", ">": "<="}


class Symbols:
    """What torch's symbols are called here."""

    def __init__(self) -> None:
        self.names: dict[str, Whole] = {}
        self.open: set[str] = set()
        self._known: dict[Any, Whole] = {}

    def bind(self, name: str, dim: Whole) -> Whole:
        """Let a symbol of torch's mean a dim of an input; the first meaning stays, and is given."""
        self._known.clear()
        return self.names.setdefault(name, dim)

    def dim(self, size: Any) -> Whole:
        """A SymInt, a sympy expression or an int as a dim.

        Raises:
            UntranslatableError: for arithmetic that dims do not have.
        """
        if isinstance(size, int):
            return size
        expr = size.node.expr if isinstance(size, torch.SymInt) else size
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._of(expr)
        return found

    def dim_or_none(self, size: Any) -> Whole | None:
        """The same, `None` where it cannot be written."""
        try:
            return self.dim(size)
        except UntranslatableError:
            return None

    def type(self, value: Any) -> TensorType:
        """The type of a (fake) tensor."""
        return TensorType(dtype_of(value.dtype), tuple(self.dim_or_none(d) for d in value.shape))

    def relations(
        self, guard: Any, reason: str = "", sizes: Mapping[str, int] | None = None
    ) -> list[Constraint]:
        """A guard as constraints that hold together; trivially true ones are left out.

        Of alternatives the one that held at the sizes of the capture is kept.

        Raises:
            UntranslatableError: for what no list of constraints says.
        """
        if guard in (True, sympy.true):
            return []
        if isinstance(guard, sympy.And):
            return [c for part in guard.args for c in self.relations(part, reason, sizes)]
        if isinstance(guard, sympy.Or):
            for part in guard.args:
                found = self.relations(part, reason, sizes)
                if all(c.holds(sizes or {}) for c in found):
                    return found
            raise UntranslatableError(str(guard))
        negated = isinstance(guard, sympy.Not)
        inner = guard.args[0] if negated else guard
        for kind, name in _RELATIONS.items():
            if isinstance(inner, kind):
                relation = _OPPOSITE[name] if negated else name
                left, right = (self.dim(a) for a in inner.args)
                made = Constraint(left, relation, right, reason)
                return [] if made.holds({}) else [made]
        raise UntranslatableError(str(guard))

    def _of(self, expr: Any) -> Whole:
        if expr.is_Integer:
            return int(expr)
        if expr.is_Symbol:
            return self._symbol(str(expr))
        rule = _RULES.get(type(expr).__name__)
        if rule is None:
            raise UntranslatableError(str(expr))
        return rule(self, expr)

    def _symbol(self, name: str) -> Whole:
        if name not in self.names:
            taken = {s for d in self.names.values() if isinstance(d, Expr) for s in d.symbols()}
            own = name
            while own in taken:
                own += "_"
            self.names[name] = symbol(own)
            self.open.add(own)
        return self.names[name]


def _sum(symbols: Symbols, expr: Any) -> Whole:
    total: Whole = 0
    for part in expr.args:
        total = total + symbols.dim(part)
    return total


def _product(symbols: Symbols, expr: Any) -> Whole:
    total: Whole = 1
    divisor = 1
    for part in expr.args:
        if part.is_Rational and not part.is_Integer:
            total, divisor = total * int(part.p), int(part.q)
        else:
            total = total * symbols.dim(part)
    return total if divisor == 1 else floor_div(total, divisor)


def _power(symbols: Symbols, expr: Any) -> Whole:
    base, exponent = expr.args
    if not (exponent.is_Integer and int(exponent) >= 0):
        raise UntranslatableError(str(expr))
    total: Whole = 1
    for _ in range(int(exponent)):
        total = total * symbols.dim(base)
    return total


def _divided(symbols: Symbols, expr: Any) -> Whole:
    a, b = (symbols.dim(x) for x in expr.args)
    return floor_div(a, b)


def _rest(symbols: Symbols, expr: Any) -> Whole:
    a, b = (symbols.dim(x) for x in expr.args)
    return a - floor_div(a, b) * b


def _modular(symbols: Symbols, expr: Any) -> Whole:
    base, divisor, modulus = (symbols.dim(x) for x in expr.args)
    quotient = floor_div(base, divisor)
    return quotient - floor_div(quotient, modulus) * modulus


def _largest(symbols: Symbols, expr: Any) -> Whole:
    first, *others = (symbols.dim(x) for x in expr.args)
    for other in others:
        first = maximum(first, other)
    return first


def _smallest(symbols: Symbols, expr: Any) -> Whole:
    first, *others = (symbols.dim(x) for x in expr.args)
    for other in others:
        first = minimum(first, other)
    return first


def _rounded(symbols: Symbols, expr: Any) -> Whole:
    (ratio,) = expr.args
    if not isinstance(ratio, ts.IntTrueDiv):
        raise UntranslatableError(str(expr))
    a, b = (symbols.dim(x) for x in ratio.args)
    if type(expr).__name__ == "CeilToInt":
        return -floor_div(-a, b)
    return floor_div(a, b)


def _inner(symbols: Symbols, expr: Any) -> Whole:
    return symbols.dim(expr.args[0])


_RULES: dict[str, Callable[[Symbols, Any], Whole]] = {
    "Add": _sum,
    "CeilToInt": _rounded,
    "CleanDiv": _divided,
    "FloorDiv": _divided,
    "FloorToInt": _rounded,
    "Identity": _inner,
    "Max": _largest,
    "Min": _smallest,
    "Mod": _rest,
    "ModularIndexing": _modular,
    "Mul": _product,
    "Pow": _power,
    "PowByNatural": _power,
    "PythonMod": _rest,
}


def dtype_of(dtype: torch.dtype) -> DType:
    """The element type of a torch dtype; raises TypeError for quantized and the like."""
    name = str(dtype).removeprefix("torch.")
    return DType.of(_SPELLINGS.get(name, name))


_SPELLINGS = {
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "float8_e8m0fnu": "float8e8m0",
}


def torch_dtype(dtype: DType) -> torch.dtype:
    """The torch dtype of an element type; raises TypeError where torch has none."""
    back = {v: k for k, v in _SPELLINGS.items()}
    name = back.get(str(dtype), str(dtype))
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise TypeError(f"torch has no dtype for {dtype}")
    return found
