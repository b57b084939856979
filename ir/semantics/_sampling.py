"""Reading a tensor at places between its elements, as GridSample does."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics._plain import zero

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Weigh = Callable[[Array], Array]

FARTHEST = 2.0**53
"""Places beyond are taken to lie there, and places that are NaN at its negative: outside."""


def places(grid: Array, spatial: Sequence[int], *, corners: bool) -> list[Array]:
    """Where to read along each axis, in elements: the grid counts from the last axis, -1 to 1."""
    found: list[Array] = []
    for axis, size in enumerate(spatial):
        unit = grid[..., len(spatial) - 1 - axis] + 1
        place = unit / 2 * (size - 1) if corners else (unit * size - 1) / 2
        found.append(np.clip(np.where(np.isnan(place), -FARTHEST, place), -FARTHEST, FARTHEST))
    return found


def taps(place: Array, mode: str) -> Iterator[tuple[Array, Array | None]]:
    """The elements that a place is made of, and the weight of each (`None`: all of it)."""
    if mode == "nearest":
        yield np.rint(place), None
        return
    first = np.floor(place)
    past = place - first
    if mode == "linear":
        yield first, 1 - past
        yield first + 1, past
        return
    for offset, weight in zip((-1, 0, 1, 2), cubic(past), strict=True):
        yield first + offset, weight


def cubic(t: Array) -> tuple[Array, Array, Array, Array]:
    """Keys' convolution with a = -0.75, at distances 1 + t, t, 1 - t and 2 - t."""
    a = -0.75
    s = 1 - t
    return (
        a * t * s * s,
        ((a + 2) * t - (a + 3)) * t * t + 1,
        ((a + 2) * s - (a + 3)) * s * s + 1,
        a * s * t * t,
    )


def inside(place: Array, size: int, padding: str, *, corners: bool) -> tuple[Array, Array | None]:
    """Indices of elements, and which of them there are (`None`: all), with padding applied.

    Reflection is about the outermost elements when corners are aligned, else about their edges.
    """
    index = place.astype(np.int64)
    if padding == "reflection":
        period = max(2 * (size - 1) if corners else 2 * size, 1)
        index = index % period
        return np.minimum(index, (period if corners else period - 1) - index), None
    held = np.clip(index, 0, max(size - 1, 0))
    return held, None if padding == "border" else held == index


def sample(
    x: Array,
    grid: Array,
    mode: str,
    padding: str,
    *,
    corners: bool,
    weigh: Weigh | None = None,
) -> Array:
    """Elements of x (N, C, spatial…) at the places (N, places…, axes) of a grid: (N, C, places…).

    Args:
        x: any dtype that may be multiplied by the grid's floats; any at all for `nearest`.
        grid: floats; places are computed in their dtype.
        mode: `nearest`, `linear` or `cubic`.
        padding: `zeros`, `border` or `reflection`.
        corners: whether -1 and 1 are the centres of the outermost elements, or their edges.
        weigh: makes the weight that is used of the one that is right.
    """
    spatial, batch, channels = x.shape[2:], x.shape[0], x.shape[1]
    shape = grid.shape[1:-1]
    rows = x.reshape(batch, channels, prod(spatial))
    count = prod(shape)
    if not prod(spatial):  # nothing but padding
        return np.full((batch, channels, *shape), zero(x.dtype), x.dtype)
    every = [
        [
            (*inside(at, size, padding, corners=corners), _used(weight, weigh))
            for at, weight in taps(place, mode)
        ]
        for place, size in zip(places(grid, spatial, corners=corners), spatial, strict=True)
    ]
    total: Array | None = None
    for combination in product(*every):
        index = np.zeros((batch, *shape), np.int64)
        there: Array | None = None
        weight: Array | None = None
        for (at, held, part), size in zip(combination, spatial, strict=True):
            index = index * size + at
            there = held if there is None else there if held is None else there & held
            weight = part if weight is None else weight if part is None else weight * part
        read = np.take_along_axis(rows, index.reshape(batch, 1, count), 2)
        if there is not None:
            read = np.where(there.reshape(batch, 1, count), read, zero(x.dtype))
        if weight is not None:
            read = read * weight.reshape(batch, 1, count)
        total = read if total is None else total + read
    assert total is not None  # noqa: S101 - every mode has taps
    return total.reshape(batch, channels, *shape)


def _used(weight: Array | None, weigh: Weigh | None) -> Array | None:
    return weight if weight is None or weigh is None else weigh(weight)
