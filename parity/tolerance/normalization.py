"""Normalisations: (x − m)/√(v + ε), scaled and shifted, over groups of K elements.

The mean of K terms carries δm, the error of a sum (soft: 4u√K, hard: γ_K) and one rounding; each
x − m then carries u|x − m| + δm. A variance from those differences carries the error of a sum of
squares and 2δm·mean|x − m| + δm². The formula E[x²] − m² instead carries γ_K E[x²]: that is the
hard limit, as the standard does not forbid it; the soft one wants the differences. Half of the
relative error of v + ε passes into the root, and all of it scales with |scale·(x − m)/√(v + ε)|.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.types import DType
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """The known normalisations' main output; `None` for anything else."""
    if index:
        return None
    if op.type == "BatchNormalization":
        return _batch(op, operands, truth, unit)
    x = np.asarray(operands[0])
    epsilon = float(op.attr("epsilon", 0.0))
    centred = op.type != "RMSNormalization"
    match op.type:
        case "LayerNormalization" | "RMSNormalization":
            axis = int(op.attr("axis", -1)) % max(x.ndim, 1)
            shape = (prod(x.shape[:axis]), prod(x.shape[axis:]))
        case "InstanceNormalization":
            shape = (prod(x.shape[:2]), prod(x.shape[2:]))
        case "GroupNormalization":
            groups = x.shape[0] * int(op.attr("num_groups"))
            shape = (groups, x.size // max(groups, 1))
        case "MeanVarianceNormalization":
            return _over_axes(x, truth, tuple(int(a) for a in op.attr("axes", (0, 2, 3))), unit)
        case _:
            return None
    unit = stashed(op, unit)
    if not x.size:
        nothing = np.zeros(x.shape)
        return Bound(nothing, lambda: nothing, nothing, "nothing")
    scale, shift = _affine(op, operands, x)
    rows = x.reshape(shape)
    soft, hard = (
        standardized(rows, epsilon, unit, centred=centred, hard=h).reshape(x.shape)
        for h in (False, True)
    )
    ends = 2 * unit.u * (np.abs(truth) + np.abs(shift)) + unit.ulp(truth)
    ends = ends + unit.tiny * (np.abs(scale) + 1)
    peak = np.broadcast_to(np.nansum(rows * rows, -1, keepdims=True), rows.shape).reshape(x.shape)
    peak = np.fmax(peak, np.fmax(np.abs(scale), np.abs(shift)))
    return Bound(
        np.abs(scale) * soft + ends,
        lambda: np.abs(scale) * hard + 2 * ends,
        peak,
        f"mean and variance of {shape[1]} elements",
        spreads=True,
    )


def folded(limits: Bound, operands: Sequence[Any], unit: Unit) -> Bound:
    """Limits of BatchNormalization, for x·f + (shift − mean·f) where f = scale / √v underflows."""
    x, mean = (np.abs(np.asarray(v)) for v in (operands[0], operands[3]))
    size = max(float(np.fmax.reduce(v, axis=None, initial=0.0)) for v in (x, mean))
    more = unit.tiny * (x + size)
    hard = limits.at_most
    return replace(limits, soft=limits.soft + more, at_most=lambda: hard() + more)


def stashed(op: Op, unit: Unit) -> Unit:
    """The format of the statistics, where `stash_type` names one that is coarser."""
    found = op.attr("stash_type")
    if found is None:
        return unit
    named = Unit.of(DType(found))
    return named if named.u > unit.u else unit


def _over_axes(x: np.ndarray, truth: np.ndarray, axes: tuple[int, ...], unit: Unit) -> Bound:
    """MeanVarianceNormalization: (x − m)/(√v + 10⁻⁹), statistics over any axes."""
    axes = tuple(a % x.ndim for a in axes)
    kept = [a for a in range(x.ndim) if a not in axes]
    moved = x.transpose(*kept, *axes)
    rows = moved.reshape(prod(moved.shape[: len(kept)]), -1)
    back = np.argsort([*kept, *axes])

    def restored(array: np.ndarray) -> np.ndarray:
        return np.broadcast_to(array, rows.shape).reshape(moved.shape).transpose(back)

    ends = 2 * unit.u * np.abs(truth) + 2 * unit.ulp(truth) + unit.tiny
    soft = restored(standardized(rows, 1e-18, unit, centred=True, hard=False))
    hard = restored(standardized(rows, 1e-18, unit, centred=True, hard=True))
    peak = restored(np.nansum(rows * rows, -1, keepdims=True))
    basis = f"mean and variance of {rows.shape[1]} elements"
    return Bound(soft + ends, lambda: hard + 2 * ends, peak, basis, spreads=True)


@dataclass(frozen=True, slots=True)
class Moments:
    """What is known of the statistics of rows, and how far each may be off.

    Attributes:
        mean, d_mean: the mean, and its error.
        size, d_difference: |x − m|, and the error of each.
        root, lost: √(v + ε), and the relative error of what is under the root.
    """

    mean: np.ndarray
    d_mean: np.ndarray
    size: np.ndarray
    d_difference: np.ndarray
    root: np.ndarray
    lost: np.ndarray


def moments(
    rows: np.ndarray,
    epsilon: float,
    unit: Unit,
    *,
    centred: bool,
    hard: bool,
    given: Any = 0.0,
) -> Moments:
    """Statistics along the last axis of numbers that are `given` with an error of their own."""
    u, terms = unit.u, rows.shape[-1]
    given = np.broadcast_to(given, rows.shape)
    mean = rows.mean(-1, keepdims=True) if centred else np.zeros((*rows.shape[:-1], 1))
    norm = np.sqrt((rows * rows).sum(-1, keepdims=True))
    difference = rows - mean
    variance = (difference * difference).mean(-1, keepdims=True)
    growth = gamma(terms + 2, u) if hard else 4 * u * np.sqrt(terms)
    d_mean = np.zeros_like(mean)
    if centred:
        if hard:
            d_mean = growth * np.abs(rows).mean(-1, keepdims=True)
        else:
            d_mean = growth * (norm / terms + np.abs(mean))
        d_mean = d_mean + u * np.abs(mean) + unit.tiny + given.mean(-1, keepdims=True)
    size = np.abs(difference)
    d_variance = (growth + 2 * u) * variance + d_mean**2 + 2 * unit.tiny
    d_variance = d_variance + 2 * d_mean * size.mean(-1, keepdims=True)
    d_variance = d_variance + ((2 * size + given) * given).mean(-1, keepdims=True)
    if hard and centred:
        square = (rows * rows).mean(-1, keepdims=True)
        d_variance = d_variance + (growth + 2 * u) * square + 2 * np.abs(mean) * d_mean
    floor = variance + epsilon
    relative = d_variance / floor
    lost = np.where(relative < 0.5, relative, np.inf)
    d_difference = u * size + d_mean + unit.tiny + given
    return Moments(mean, d_mean, size, d_difference, np.sqrt(floor), lost)


def standardized(
    rows: np.ndarray,
    epsilon: float,
    unit: Unit,
    *,
    centred: bool,
    hard: bool,
    given: Any = 0.0,
) -> np.ndarray:
    """The absolute error of (x − m)/√(v + ε), without scale and shift."""
    m = moments(rows, epsilon, unit, centred=centred, hard=hard, given=given)
    return m.d_difference / m.root + m.size / m.root * (m.lost + 4 * unit.u)


def _affine(op: Op, operands: Sequence[Any], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale and shift, shaped to broadcast against x."""
    found: list[np.ndarray] = []
    for position, absent in ((1, 1.0), (2, 0.0)):
        given = operands[position] if len(operands) > position else None
        array = np.asarray(absent if given is None else given, np.float64)
        if op.type in {"InstanceNormalization", "GroupNormalization"} and array.ndim == 1:
            if array.size != x.shape[1]:  # one per group, before version 21
                array = np.repeat(array, x.shape[1] // array.size)
            array = array.reshape(-1, *[1] * (x.ndim - 2))
        found.append(array)
    return found[0], found[1]


def _batch(op: Op, operands: Sequence[Any], truth: np.ndarray, unit: Unit) -> Bound | None:
    """Inference: x·a + (b − mean·a) with a = scale/√(var + ε) is as good as any other order."""
    if op.attr("training_mode", 0) or len([o for o in op.outputs if o is not None]) > 1:
        return None
    x = np.asarray(operands[0])
    scale, shift, mean, variance = (
        np.asarray(v).reshape(-1, *[1] * (x.ndim - 2)) for v in operands[1:5]
    )
    factor = np.abs(scale) / np.sqrt(variance + float(op.attr("epsilon", 1e-5)))
    sizes = 4 * np.abs(x) * factor + 5 * np.abs(mean) * factor + 2 * np.abs(shift) + np.abs(truth)
    soft = unit.u * sizes + unit.ulp(truth) + unit.tiny
    return Bound(
        soft, lambda: 2 * soft, sizes, "x·a + (b − mean·a), a = scale/√(var + ε)", spreads=True
    )
