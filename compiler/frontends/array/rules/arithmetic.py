"""Arithmetic ufuncs. Operands arrive in the dtypes of numpy's loop; the result is cast to its."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import cast, elementwise, emit, lift, where
from isomorph.frontends.array.errors import TraceError
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced

_BOOL = np.dtype(np.bool_)


def scalar(x: Traced, number: float) -> Traced:
    """A constant of the dtype of `x`."""
    return lift(number, x.dtype)


def via(op: str, *operands: Traced, allowed: tuple[type, ...], **attributes: Any) -> Traced:
    """The operator in the first of these dtypes that holds the operands', and back again."""
    own = operands[0].dtype
    wide = next((np.dtype(t) for t in allowed if np.can_cast(own, t)), np.dtype(allowed[-1]))
    return cast(elementwise(op, *(cast(o, wide) for o in operands), **attributes), own)


def or_for_bool(op: str, logical: str) -> Callable[[Traced, Traced], Traced]:
    """An operator that numpy defines on bool as a logical one."""

    def rule(x: Traced, y: Traced) -> Traced:
        return elementwise(logical if x.dtype == _BOOL else op, x, y)

    return rule


def negative(x: Traced) -> Traced:
    if x.dtype.kind == "u":
        return elementwise("Sub", scalar(x, 0), x)
    return emit("Neg", x)


def absolute(x: Traced) -> Traced:
    return x if x.dtype == _BOOL else emit("Abs", x)


def identity(x: Traced) -> Traced:
    return x


def square(x: Traced) -> Traced:
    return elementwise("Mul", x, x)


def reciprocal(x: Traced) -> Traced:
    if is_float(x):
        return emit("Reciprocal", x)
    return elementwise("Div", scalar(x, 1), x)


def floor_divide(x: Traced, y: Traced) -> Traced:
    """Numpy's algorithm: exact remainder first, then a quotient next to an integer."""
    if not is_float(x):
        return elementwise("Div", elementwise("Sub", x, remainder(x, y)), y)
    rest = elementwise("Mod", x, y, fmod=1)
    zero = scalar(x, 0)
    quotient = elementwise("Div", elementwise("Sub", x, rest), y)
    opposite = elementwise("Xor", less(rest, zero), less(y, zero))
    crossed = elementwise("And", nonzero(rest), opposite)
    quotient = where(crossed, elementwise("Sub", quotient, scalar(x, 1)), quotient)
    lower = emit("Floor", quotient)
    far = elementwise("Greater", elementwise("Sub", quotient, lower), scalar(x, 0.5))
    snapped = where(far, elementwise("Add", lower, scalar(x, 1)), lower)
    plain = elementwise("Div", x, y)
    signed_zero = elementwise("Mul", zero, plain)
    snapped = where(nonzero(quotient), snapped, where(emit("IsInf", plain), zero, signed_zero))
    return where(nonzero(y), snapped, plain)


def remainder(x: Traced, y: Traced) -> Traced:
    if not is_float(x):
        return elementwise("Mod", x, y)
    zero = scalar(x, 0)
    rest = elementwise("Mod", x, y, fmod=1)
    opposite = elementwise("Xor", less(rest, zero), less(y, zero))
    crossed = elementwise("And", nonzero(rest), opposite)
    return where(
        crossed, elementwise("Add", rest, y), where(nonzero(rest), rest, copysign(zero, y))
    )


def fmod(x: Traced, y: Traced) -> Traced:
    """With the sign of x; for integers from the truncated quotient, which is exact."""
    if is_float(x):
        return elementwise("Mod", x, y, fmod=1)
    return elementwise("Sub", x, elementwise("Mul", elementwise("Div", x, y), y))


def divmod_(x: Traced, y: Traced) -> tuple[Traced, Traced]:
    return floor_divide(x, y), remainder(x, y)


def power(x: Traced, y: Traced) -> Traced:
    """Like numpy, x·x, √x and 1/x for one exponent of 2, 0.5 or −1; √ differs at −0 and −inf."""
    fixed = None if y.ndim or y.value.weight is None else y.value.weight.numpy().item()
    if fixed == 2:
        return elementwise("Mul", x, x)
    if fixed == 0.5:
        return emit("Sqrt", x)
    if fixed == -1 and is_float(x):
        return emit("Reciprocal", x)
    if fixed is not None and fixed < 0 and not is_float(x):
        raise TraceError("integers to negative integer powers: numpy refuses them", "x ** -1.0")
    if is_float(x) or x.dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        return elementwise("Pow", x, y)
    return via("Pow", x, y, allowed=(np.int32, np.int64))


def fmax(x: Traced, y: Traced) -> Traced:
    return _ignoring_nan("Max", x, y)


def fmin(x: Traced, y: Traced) -> Traced:
    return _ignoring_nan("Min", x, y)


def _ignoring_nan(op: str, x: Traced, y: Traced) -> Traced:
    if x.dtype == _BOOL:
        return elementwise("Or" if op == "Max" else "And", x, y)
    found = elementwise(op, x, y)
    if not is_float(x):
        return found
    return where(emit("IsNaN", x), y, where(emit("IsNaN", y), x, found))


def rint(x: Traced) -> Traced:
    return emit("Round", x)


def rounding(op: str) -> Callable[[Traced], Traced]:
    """Floor or Ceil, which leave integers alone."""

    def rule(x: Traced) -> Traced:
        return emit(op, x) if is_float(x) else x

    return rule


def trunc(x: Traced) -> Traced:
    if not is_float(x):
        return x
    return where(less(x, scalar(x, 0)), emit("Ceil", x), emit("Floor", x))


def modf(x: Traced) -> tuple[Traced, Traced]:
    whole = trunc(x)
    rest = where(emit("IsInf", x), scalar(x, 0), elementwise("Sub", x, whole))
    return copysign(rest, x), whole


def signbit(x: Traced) -> Traced:
    """Also of −0, whose reciprocal is −inf."""
    zero = scalar(x, 0)
    return where(nonzero(x), less(x, zero), less(emit("Reciprocal", x), zero))


def copysign(x: Traced, y: Traced) -> Traced:
    size = emit("Abs", x)
    return where(signbit(y), emit("Neg", size), size)


def heaviside(x: Traced, y: Traced) -> Traced:
    zero, one = scalar(x, 0), scalar(x, 1)
    step = where(less(x, zero), zero, where(elementwise("Equal", x, zero), y, one))
    return where(emit("IsNaN", x), x, step)


def ldexp(x: Traced, y: Traced) -> Traced:
    return elementwise("Mul", x, elementwise("Pow", scalar(x, 2), y))


def degrees(x: Traced) -> Traced:
    return elementwise("Mul", x, scalar(x, 180 / np.pi))


def radians(x: Traced) -> Traced:
    return elementwise("Mul", x, scalar(x, np.pi / 180))


def less(x: Traced, y: Traced) -> Traced:
    return elementwise("Less", x, y)


def nonzero(x: Traced) -> Traced:
    return emit("Not", elementwise("Equal", x, scalar(x, 0)))


def is_float(x: Traced) -> bool:
    """Any real floating type, ml_dtypes' too."""
    return DType.of(x.dtype).is_float


UFUNCS: dict[str, str | Callable[..., Any]] = {
    "add": or_for_bool("Add", "Or"),
    "subtract": "Sub",
    "multiply": or_for_bool("Mul", "And"),
    "divide": "Div",
    "floor_divide": floor_divide,
    "remainder": remainder,
    "fmod": fmod,
    "divmod": divmod_,
    "power": power,
    "float_power": power,
    "negative": negative,
    "positive": identity,
    "absolute": absolute,
    "fabs": absolute,
    "sign": "Sign",
    "square": square,
    "reciprocal": reciprocal,
    "conjugate": identity,
    "maximum": or_for_bool("Max", "Or"),
    "minimum": or_for_bool("Min", "And"),
    "fmax": fmax,
    "fmin": fmin,
    "rint": rint,
    "floor": rounding("Floor"),
    "ceil": rounding("Ceil"),
    "trunc": trunc,
    "modf": modf,
    "signbit": signbit,
    "copysign": copysign,
    "heaviside": heaviside,
    "ldexp": ldexp,
    "degrees": degrees,
    "rad2deg": degrees,
    "radians": radians,
    "deg2rad": radians,
}
