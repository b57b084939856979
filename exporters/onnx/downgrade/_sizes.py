"""Sizes in rewrites: numbers where they are known, computed when the model runs where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.graph import Value
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.build import Build

Size = int | Value
"""A number, or an int64 vector of one element."""

LAST = 2**63 - 1
"""Where a Slice ends that goes on to the end."""


def size_of(build: Build, value: Value, axis: int) -> Size:
    """How long an axis is; counted from the end where it is negative."""
    known = value.type
    if isinstance(known, TensorType) and known.shape is not None:
        dim = known.shape[axis]
        if isinstance(dim, int):
            return dim
    return build("Shape", value, start=axis, end=None if axis == -1 else axis + 1)


def vector(build: Build, *sizes: Size) -> Value:
    """Sizes one after the other."""
    if len(sizes) == 1 and isinstance(sizes[0], Value):
        return sizes[0]
    numbers = [s for s in sizes if isinstance(s, int)]
    if len(numbers) == len(sizes):
        return build.ints(*numbers)
    parts = [build.ints(s) if isinstance(s, int) else s for s in sizes]
    return build("Concat", *parts, axis=0)


def plus(build: Build, a: Size, b: Size) -> Size:
    """Their sum."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0 or b == 0:
        return b if a == 0 else a
    return build("Add", vector(build, a), vector(build, b))


def minus(build: Build, a: Size, b: Size) -> Size:
    """Their difference."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if b == 0 else build("Sub", vector(build, a), vector(build, b))


def times(build: Build, a: Size, b: Size) -> Size:
    """Their product."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 1 or b == 1:
        return b if a == 1 else a
    return build("Mul", vector(build, a), vector(build, b))


def over(build: Build, a: Size, b: Size) -> Size:
    """Their quotient, rounded down; neither is negative."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if b == 1 else build("Div", vector(build, a), vector(build, b))


def counted(build: Build, end: Size) -> Value:
    """The vector 0, 1, … up to `end`."""
    if isinstance(end, int):
        return build.const(np.arange(end), DType.INT64)
    zero, one = build.const(0, DType.INT64), build.const(1, DType.INT64)
    return build("Range", zero, build("Squeeze", end, build.ints(0)), one)


def part(build: Build, value: Value, start: int, end: Size, axis: int, step: int = 1) -> Value:
    """A slice along one axis."""
    given = (build.ints(start), vector(build, end), build.ints(axis))
    return build("Slice", value, *given, *([build.ints(step)] if step != 1 else []))
