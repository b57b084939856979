"""Exponentials, logarithms, trigonometry. What ONNX lacks is composed so that it stays accurate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import elementwise, emit, where
from isomorph.frontends.array.rules.arithmetic import copysign, less, nonzero, scalar, signbit

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced


def log1p(x: Traced) -> Traced:
    """log(u)·x/(u−1), u = 1+x: the rounding of u cancels (Higham, Accuracy, §1.14)."""
    one = scalar(x, 1)
    u = elementwise("Add", x, one)
    gained = elementwise("Sub", u, one)
    ratio = where(elementwise("Equal", gained, x), one, elementwise("Div", x, gained))
    found = elementwise("Mul", emit("Log", u), ratio)
    return where(elementwise("Equal", u, one), x, found)


def expm1(x: Traced) -> Traced:
    """tanh(x/2)·(eˣ+1): no cancellation near 0, and exact at both infinities."""
    half = elementwise("Mul", x, scalar(x, 0.5))
    return elementwise("Mul", emit("Tanh", half), elementwise("Add", emit("Exp", x), scalar(x, 1)))


def exp2(x: Traced) -> Traced:
    return elementwise("Pow", scalar(x, 2), x)


def log2(x: Traced) -> Traced:
    return elementwise("Div", emit("Log", x), scalar(x, np.log(2)))


def log10(x: Traced) -> Traced:
    return elementwise("Div", emit("Log", x), scalar(x, np.log(10)))


def cbrt(x: Traced) -> Traced:
    return copysign(elementwise("Pow", emit("Abs", x), scalar(x, 1 / 3)), x)


def hypot(x: Traced, y: Traced) -> Traced:
    """Scaled by the larger operand: neither square overflows."""
    a, b = emit("Abs", x), emit("Abs", y)
    large, small = elementwise("Max", a, b), elementwise("Min", a, b)
    ratio = elementwise("Div", small, large)
    root = emit("Sqrt", elementwise("Add", elementwise("Mul", ratio, ratio), scalar(x, 1)))
    plain = elementwise("Or", emit("IsInf", large), emit("Not", nonzero(large)))
    found = where(plain, large, elementwise("Mul", large, root))
    infinite = elementwise("Or", emit("IsInf", x), emit("IsInf", y))
    return where(infinite, scalar(x, np.inf), found)


def arctan2(y: Traced, x: Traced) -> Traced:
    """The angle of (x, y), with IEEE's rules for zeros and infinities."""
    both = elementwise("And", emit("IsInf", x), emit("IsInf", y))
    a = where(both, emit("Sign", x), x)
    b = where(both, emit("Sign", y), y)
    angle = emit("Atan", elementwise("Div", b, a))
    half_turn = copysign(scalar(x, np.pi), y)
    left = where(nonzero(b), elementwise("Add", angle, half_turn), half_turn)
    right = where(nonzero(b), angle, b)
    found = where(signbit(a), left, right)
    upright = elementwise("And", emit("Not", nonzero(a)), nonzero(b))
    found = where(upright, copysign(scalar(x, np.pi / 2), y), found)
    return where(elementwise("Or", emit("IsNaN", x), emit("IsNaN", y)), scalar(x, np.nan), found)


def logaddexp(x: Traced, y: Traced) -> Traced:
    """Max + softplus(−|x−y|); equal operands, infinite ones too, give x + log 2."""
    larger = elementwise("Max", x, y)
    apart = log1p(emit("Exp", emit("Neg", emit("Abs", elementwise("Sub", x, y)))))
    same = elementwise("Add", x, scalar(x, np.log(2)))
    return where(elementwise("Equal", x, y), same, elementwise("Add", larger, apart))


def logaddexp2(x: Traced, y: Traced) -> Traced:
    factor = scalar(x, np.log(2))
    found = logaddexp(elementwise("Mul", x, factor), elementwise("Mul", y, factor))
    return elementwise("Div", found, factor)


def sinc(x: Traced) -> Traced:
    angle = elementwise("Mul", x, scalar(x, np.pi))
    ratio = elementwise("Div", emit("Sin", angle), angle)
    return where(less(emit("Abs", x), scalar(x, 1e-37)), scalar(x, 1), ratio)


UFUNCS: dict[str, str | Callable[..., Any]] = {
    "exp": "Exp",
    "exp2": exp2,
    "expm1": expm1,
    "log": "Log",
    "log1p": log1p,
    "log2": log2,
    "log10": log10,
    "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
    "sqrt": "Sqrt",
    "cbrt": cbrt,
    "hypot": hypot,
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "arcsin": "Asin",
    "arccos": "Acos",
    "arctan": "Atan",
    "arctan2": arctan2,
    "sinh": "Sinh",
    "cosh": "Cosh",
    "tanh": "Tanh",
    "arcsinh": "Asinh",
    "arccosh": "Acosh",
    "arctanh": "Atanh",
}
