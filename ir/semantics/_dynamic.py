"""Products of floats with integer weights: the floats are quantized by their own range first.

As DynamicQuantizeLinear does it: 255 steps from the lowest to the highest number, 0 among them.
Sums of products of integers are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Change = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Quantized:
    """A tensor of floats as integers.

    Attributes:
        steps: distance from the zero point in steps, from -255 to 255.
        scale: size of a step.
        value: what was rounded to make them, zero point included.
    """

    steps: Array
    scale: Array
    value: Array


def quantized(x: Array, counted: Array | None = None, change: Change | None = None) -> Quantized:
    """The tensor in 255 steps of the range of what is `counted` (by default all of it).

    Of a range that is not finite the result is NaN. `change` is applied to what is rounded.
    """
    seen = x if counted is None else counted
    low, high = seen.min(initial=0), seen.max(initial=0)
    scale = np.asarray((high - low) / x.dtype.type(255) if high > low else 1).astype(x.dtype)
    if not np.isfinite(high - low):
        nothing = np.full(x.shape, np.nan, x.dtype)
        return Quantized(nothing, scale, nothing)
    zero, value = np.asarray(np.clip(-low / scale, 0, 255)), x / scale
    if change is not None:
        zero, value = change(zero), change(value)
    zero = np.rint(zero)
    steps = np.clip(np.rint(value) + zero, 0, 255) - zero
    return Quantized(steps.astype(np.float64), scale, value + zero)


def product(q: Quantized, weights: Array, factor: Array) -> Array:
    """Integers times weights less their zero point, (K, N); `factor` is the weights' scale."""
    sums = q.steps @ weights.astype(np.float64)
    return np.asarray(sums.astype(q.scale.dtype) * (q.scale * factor))
