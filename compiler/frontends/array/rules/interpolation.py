"""Functions between given points: integrals, polynomials, piecewise linear ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import axis_of, cast, elementwise, emit, lift, strong
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.rules.reduction import sum_
from isomorph.frontends.array.rules.shape import reshape
from isomorph.frontends.array.rules.subscript import getitem
from isomorph.frontends.array.structure import is_ndarray

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced

_FLOAT64 = np.dtype(np.float64)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Traced:
    array = lift(y)
    axis = axis_of(axis, array.ndim)
    before = (slice(None),) * axis
    later, earlier = getitem(array, (*before, slice(1, None))), getitem(array, (*before, slice(-1)))
    if x is None:
        step: Any = dx
    else:
        points = lift(x)
        step = getitem(points, slice(1, None)) - getitem(points, slice(-1))
        if points.ndim == 1:
            step = reshape(step, [-1 if i == axis else 1 for i in range(array.ndim)])
    return sum_(step * (later + earlier) / 2.0, axis)


def polyval(p: Any, x: Any) -> Traced:
    """Horner's scheme."""
    values = lift(x)
    coefficients: list[Any] = list(p if is_ndarray(p) else strong(p))
    found: Any = values * 0
    for coefficient in coefficients:
        found = found * values + coefficient
    return found


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: None = None
           ) -> Traced:  # fmt: skip
    """Piecewise linear; points are constants or traced, their number is fixed."""
    at = cast(lift(x), _FLOAT64)
    points, values = cast(lift(xp), _FLOAT64), cast(lift(fp), _FLOAT64)
    count = points.dims[0]
    if not isinstance(count, int) or count < 2:
        raise TraceError(f"interp over {points.type}: two points or more, of fixed number")
    above = emit("Unsqueeze", at, [-1])
    place = sum_(elementwise("LessOrEqual", points, above), -1)
    place = emit("Clip", place, np.array(1, np.int64), np.array(count - 1, np.int64))
    low = elementwise("Sub", place, np.array(1, np.int64))
    x0, x1 = emit("Gather", points, low), emit("Gather", points, place)
    y0, y1 = emit("Gather", values, low), emit("Gather", values, place)
    found = y0 + (y1 - y0) / (x1 - x0) * (at - x0)
    first, last = getitem(points, 0), getitem(points, -1)
    low_value = getitem(values, 0) if left is None else lift(left, _FLOAT64)
    high_value = getitem(values, -1) if right is None else lift(right, _FLOAT64)
    found = elementwise("Where", elementwise("Less", at, first), low_value, found)
    found = elementwise("Where", elementwise("Equal", at, last), getitem(values, -1), found)
    return elementwise("Where", elementwise("Greater", at, last), high_value, found)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "trapezoid": trapezoid,
    "polyval": polyval,
    "interp": interp,
}
