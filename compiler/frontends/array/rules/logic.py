"""Comparisons, logic, bits, and tests for NaN and infinities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import cast, elementwise, emit, lift, truth, where
from isomorph.frontends.array.rules.arithmetic import is_float, less, scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced

_BOOL = np.dtype(np.bool_)
_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)


def comparison(op: str, *, inverted: bool = False) -> Callable[[Traced, Traced], Traced]:
    """A comparison; bools compare as numbers, and int64 with uint64 by value, as in numpy."""

    def rule(x: Traced, y: Traced) -> Traced:
        if x.dtype == _BOOL and op != "Equal":
            x, y = cast(x, np.dtype(np.int32)), cast(y, np.dtype(np.int32))
        found = elementwise(op, x, y) if x.dtype == y.dtype else _mixed(op, x, y)
        return emit("Not", found) if inverted else found

    return rule


def _mixed(op: str, x: Traced, y: Traced) -> Traced:
    """One operand is int64 and the other uint64: a negative number is below all of the others."""
    unsigned = elementwise(op, cast(x, _UINT64), cast(y, _UINT64))
    signed_first = x.dtype == _INT64
    signed = x if signed_first else y
    below = op in ("Less", "LessOrEqual") if signed_first else op.startswith("Greater")
    return where(less(signed, lift(0, _INT64)), lift(below), unsigned)


def logical(op: str) -> Callable[[Traced, Traced], Traced]:
    """A logical operator on whatever numpy calls true."""

    def rule(x: Traced, y: Traced) -> Traced:
        return elementwise(op, truth(x), truth(y))

    return rule


def logical_not(x: Traced) -> Traced:
    return emit("Not", truth(x))


def bitwise(op: str, logical_op: str) -> Callable[[Traced, Traced], Traced]:
    """A bitwise operator, logical on bool."""

    def rule(x: Traced, y: Traced) -> Traced:
        return elementwise(logical_op if x.dtype == _BOOL else op, x, y)

    return rule


def invert(x: Traced) -> Traced:
    return emit("Not" if x.dtype == _BOOL else "BitwiseNot", x)


def left_shift(x: Traced, y: Traced) -> Traced:
    """Of the bits, whatever the sign; numpy shifts everything out past the width."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    count = cast(y, unsigned)
    moved = cast(emit_shift("LEFT", cast(x, unsigned), count), x.dtype)
    return _within(count, moved)


def right_shift(x: Traced, y: Traced) -> Traced:
    """Arithmetic for signed integers: ~(~x >> n) where x is negative."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    count = cast(y, unsigned)
    if x.dtype.kind == "u":
        return _within(count, emit_shift("RIGHT", x, count))
    negative = less(x, scalar(x, 0))
    bits = cast(where(negative, emit("BitwiseNot", x), x), unsigned)
    moved = _within(count, cast(emit_shift("RIGHT", bits, count), x.dtype))
    return where(negative, emit("BitwiseNot", moved), moved)


def emit_shift(direction: str, bits: Traced, count: Traced) -> Traced:
    """BitShift by less than the width."""
    width = scalar(count, bits.dtype.itemsize * 8)
    return elementwise("BitShift", bits, elementwise("Mod", count, width), direction=direction)


def _within(count: Traced, moved: Traced) -> Traced:
    width = scalar(count, moved.dtype.itemsize * 8)
    return where(less(count, width), moved, scalar(moved, 0))


def isnan(x: Traced) -> Traced:
    return emit("IsNaN", x) if is_float(x) else _never(x)


def isinf(x: Traced) -> Traced:
    return emit("IsInf", x) if is_float(x) else _never(x)


def isfinite(x: Traced) -> Traced:
    if not is_float(x):
        return emit("Not", _never(x))
    return emit("Not", elementwise("Or", emit("IsNaN", x), emit("IsInf", x)))


def _never(x: Traced) -> Traced:
    """False for every element."""
    return emit("Not", elementwise("Equal", x, x))


UFUNCS: dict[str, str | Callable[..., Any]] = {
    "equal": comparison("Equal"),
    "not_equal": comparison("Equal", inverted=True),
    "less": comparison("Less"),
    "less_equal": comparison("LessOrEqual"),
    "greater": comparison("Greater"),
    "greater_equal": comparison("GreaterOrEqual"),
    "logical_and": logical("And"),
    "logical_or": logical("Or"),
    "logical_xor": logical("Xor"),
    "logical_not": logical_not,
    "bitwise_and": bitwise("BitwiseAnd", "And"),
    "bitwise_or": bitwise("BitwiseOr", "Or"),
    "bitwise_xor": bitwise("BitwiseXor", "Xor"),
    "invert": invert,
    "left_shift": left_shift,
    "right_shift": right_shift,
    "isnan": isnan,
    "isinf": isinf,
    "isfinite": isfinite,
}
