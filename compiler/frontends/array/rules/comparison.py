"""Rounding to decimals, tolerant comparison, and questions about arrays as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import cast, elementwise, emit, lift
from isomorph.frontends.array.build import where as choose_by
from isomorph.frontends.array.promote import result_type
from isomorph.frontends.array.rules.arithmetic import is_float, less, scalar, trunc
from isomorph.frontends.array.rules.reduction import all_
from isomorph.frontends.array.rules.transcendental import sinc
from isomorph.frontends.array.scope import current

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced


def round_(a: Any, decimals: int = 0, out: None = None) -> Traced:
    """To even, after scaling by a power of ten."""
    x = lift(a)
    if not is_float(x):
        if decimals >= 0:
            return x
        factor = lift(10 ** -int(decimals), np.dtype(np.float64))
        wide = cast(x, factor.dtype)
        rounded = elementwise("Mul", emit("Round", elementwise("Div", wide, factor)), factor)
        return cast(rounded, x.dtype)
    if decimals == 0:
        return emit("Round", x)
    factor = lift(10.0 ** abs(int(decimals)), x.dtype)
    up, down = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    return elementwise(down, emit("Round", elementwise(up, x, factor)), factor)


def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Traced:
    """|a−b| ≤ atol + rtol·|b| where both are finite, else equality."""
    dtype = result_type(a, b, 1.0)
    x, y = lift(a, dtype), lift(b, dtype)
    bound = elementwise("Add", scalar(x, atol), elementwise("Mul", scalar(x, rtol), emit("Abs", y)))
    near = elementwise("LessOrEqual", emit("Abs", elementwise("Sub", x, y)), bound)
    finite = emit("Not", elementwise("Or", emit("IsInf", y), emit("IsNaN", y)))
    found = elementwise("Or", elementwise("And", near, finite), elementwise("Equal", x, y))
    if not equal_nan:
        return found
    return elementwise("Or", found, elementwise("And", emit("IsNaN", x), emit("IsNaN", y)))


def allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Traced:
    return all_(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """False at once for shapes that differ; open dims that must agree are recorded."""
    x, y = lift(a1), lift(a2)
    if x.ndim != y.ndim:
        return False
    facts = current().trace.facts
    if any(facts.decide(i, "==", j) is False for i, j in zip(x.dims, y.dims, strict=True)):
        return False
    for i, j in zip(x.dims, y.dims, strict=True):
        current().require(i, "==", j, f"array_equal of {x.type} and {y.type}")
    dtype = result_type(x, y)
    return all_(elementwise("Equal", cast(x, dtype), cast(y, dtype)))


def fix(x: Any, out: None = None) -> Traced:
    return trunc(lift(x))


def sinc_(x: Any) -> Traced:
    array = lift(x)
    return sinc(array if is_float(array) else cast(array, np.dtype(np.float64)))


def _infinite(positive: bool) -> Callable[..., Traced]:
    def rule(x: Any, out: None = None) -> Traced:
        array = lift(x)
        zero = scalar(array, 0)
        side = elementwise("Greater", array, zero) if positive else less(array, zero)
        return elementwise("And", emit("IsInf", array), side)

    return rule


def angle(z: Any, deg: bool = False) -> Traced:
    """0 or π by the sign, for real numbers."""
    x = lift(z)
    x = x if is_float(x) else cast(x, np.dtype(np.float64))
    turn = scalar(x, 180.0 if deg else np.pi)
    return choose_by(less(x, scalar(x, 0)), turn, elementwise("Mul", x, scalar(x, 0)))


def is_complex(x: Any) -> bool:
    return lift(x).dtype.kind == "c"


def is_real(x: Any) -> bool:
    return not is_complex(x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "round": round_,
    "around": round_,
    "isclose": isclose,
    "allclose": allclose,
    "array_equal": array_equal,
    "fix": fix,
    "sinc": sinc_,
    "isposinf": _infinite(positive=True),
    "isneginf": _infinite(positive=False),
    "angle": angle,
    "iscomplexobj": is_complex,
    "isrealobj": is_real,
}
