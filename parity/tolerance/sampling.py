"""Elements read at places that an operand says, weighted and added; and those places themselves.

GridSample computes a place from a coordinate n, ((n + 1)·size − 1) / 2 or (n + 1) / 2·(size − 1),
and reflects it: at most four roundings of numbers of up to |n| + 1. So coordinates are uncertain by
4u(|n| + 1), and the result by what the function, as it is, does when they move by that in any
direction: nothing inside a pixel of `nearest`, a step at its border. Where that is more than a
quarter of a pixel, any element may be read. The weights are rounded too: a linear one, 1 − t, once
or twice; an outer cubic one in Horner's form, ((a·s − 5a)·s + 8a)·s − 4a with s up to 2, which
doubles the error of 1.5 + 2.25 units twice, by 4.5 and 3 on the way.

Formats narrower than float32 are granted that for their places in the hard limit alone: kernels
compute places in float32 at least.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call, evaluate
from isomorph.ir.semantics._sampling import sample
from isomorph.ir.semantics.image import sampling
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

ROUNDINGS = {"nearest": 0.0, "linear": 2.0, "cubic": 36.0}
"""Units that the weight of a tap may be off by."""
TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
SINGLE = 2.0**-24
ANYWHERE = 0.25
"""Pixels by which a place is uncertain, from where on any element may be read."""


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """GridSample and AffineGrid; `None` for any other."""
    if op.type == "AffineGrid":
        return _affine(np.asarray(operands[0]), truth, unit)
    if op.type != "GridSample":
        return None
    x, grid = np.asarray(operands[0]), np.asarray(operands[1])
    mode, padding, corners = sampling(Call(op, wide=True))
    size = np.abs(x)

    def weighed(extra: float) -> np.ndarray:
        """Σ (|weight| + extra)·|element|."""

        def weigh(weight: np.ndarray) -> np.ndarray:
            return np.abs(weight) + extra

        found = sample(size, grid, mode, padding, corners=corners, weigh=weigh)
        return np.asarray(found, np.float64)

    whole = weighed(0.0)
    lost = weighed(ROUNDINGS[mode] * unit.u) - whole
    count = TAPS[mode] ** (x.ndim - 2)
    least = unit.ulp(truth) + count * unit.tiny
    moved = _moved(op, x, grid, truth, min(unit.u, SINGLE))
    soft = moved + lost + 2 * unit.u * np.sqrt(count) * whole + least
    terms = TAPS[mode] * (x.ndim - 2) + x.ndim + count

    def at_most() -> np.ndarray:
        further = moved if unit.u <= SINGLE else _moved(op, x, grid, truth, unit.u)
        return 2 * (further + lost) + gamma(terms, unit.u) * whole + 2 * least

    reach = 4 * (np.abs(grid) + 1) * np.array(x.shape[:1:-1])
    far = np.expand_dims((~(reach < unit.top)).any(-1), 1)
    far = np.broadcast_to(far, truth.shape)  # a place beyond the format is anywhere
    spoilt = not bool(np.isfinite(x).all())  # of a weight of 0, NaN and infinities make NaN or 0
    peak = np.where(far | spoilt, np.inf, whole)
    basis = f"places uncertain by 4u(|n| + 1), {count} weighted elements"
    return Bound(soft, at_most, peak, basis, spreads=far)


def _moved(op: Op, x: np.ndarray, grid: np.ndarray, truth: np.ndarray, u: float) -> np.ndarray:
    """The largest change of the result over the corners of what the coordinates may be."""
    reach = 4 * u * (np.abs(grid) + 1)
    largest = np.zeros(truth.shape)
    for signs in product((-1.0, 1.0), repeat=grid.shape[-1]):
        other = evaluate(op, [x, grid + reach * np.array(signs)], wide=True)[0]
        largest = np.fmax(largest, np.abs(np.asarray(other, np.float64) - truth))
    sure = np.all(reach * np.array(x.shape[:1:-1]) / 2 < ANYWHERE, axis=-1)
    anything = ~np.expand_dims(sure, 1)
    channels = np.abs(x).max(tuple(range(2, x.ndim)), keepdims=True, initial=0.0)
    return np.where(anything, 4 * channels, np.where(np.isfinite(largest), largest, np.inf))


def displaced(limits: Bound, op: Op, x: np.ndarray, truth: np.ndarray, unit: Unit) -> Bound:
    """Limits of Resize, whose places are rounded like coordinates: 4u of up to size + 1 each.

    Over one of them the result changes by no more than neighbours differ, half as much again for
    a cubic, whose weights are rounded besides. A result that is finite lies between finite
    neighbours.
    """
    u = min(unit.u, SINGLE)
    steps = (4 * u * (n + 1) * _largest(np.diff(x, axis=a)) for a, n in enumerate(x.shape) if n > 1)
    more, most = 1.5 * sum(steps), np.zeros(truth.shape)
    if op.attr("mode", "nearest") == "cubic":
        moved = tuple(a for a, n in enumerate(x.shape) if n != truth.shape[a])
        size = np.abs(x)
        size = size.max(moved, keepdims=True, initial=0.0, where=np.isfinite(size))
        steep = max(1.0, abs(float(op.attr("cubic_coeff_a", -0.75))))  # a factor of each weight
        lost = steep * (ROUNDINGS["cubic"] * u * size + unit.tiny)
        most = np.broadcast_to(lost * len(moved), truth.shape)
    hard = limits.at_most
    return replace(
        limits,
        soft=limits.soft + more + most,
        at_most=lambda: hard() + 2 * more + TAPS["cubic"] * most,
    )


def deformed(limits: Bound, operands: Sequence[Any], unit: Unit) -> Bound:
    """Limits of DeformConv: a place is the sum of an offset and of what may be much larger."""
    x, w = (np.abs(np.asarray(v)) for v in operands[:2])
    reach = 4 * min(unit.u, SINGLE) * sum(n + 1 for n in x.shape[2:])
    weight = _largest(w.reshape(len(w), -1).sum(1))
    more = 2 * reach * _largest(x) * weight
    hard = limits.at_most
    return replace(limits, soft=limits.soft + more, at_most=lambda: hard() + 2 * more)


def _largest(values: np.ndarray) -> float:
    """The largest magnitude of those that are finite."""
    size = np.abs(values)
    return float(size.max(initial=0.0, where=np.isfinite(size)))


def _affine(theta: np.ndarray, truth: np.ndarray, unit: Unit) -> Bound:
    """Σ θ·coordinate over axes; coordinates of size 1 are off by three units each."""
    count = theta.shape[-1]
    shape = (theta.shape[0], *(1,) * (truth.ndim - 2), theta.shape[1])
    total = np.abs(theta).sum(-1).reshape(shape)
    norm = np.sqrt((theta * theta).sum(-1)).reshape(shape)
    least = unit.ulp(truth) + count * unit.tiny
    soft = 4 * unit.u * np.sqrt(count) * norm + least
    peak = np.broadcast_to(total, truth.shape)
    basis = f"sums of {count} coordinates times θ"
    return Bound(soft, lambda: gamma(count + 4, unit.u) * total + 2 * least, peak, basis)
