"""Softmax and its relatives: sums of what is positive, after an exponential.

With m the maximum along the axis, each xᵢ − m is rounded once, which exp turns into a relative
error of |xᵢ − m|u; exp itself is granted OpenCL's 3 ulp (6u); the sum of K positive terms adds
(K − 1)u at most and about √K u in practice (constant 4, as for any sum); one division. The error of
the sum is that of its terms, weighted by their share: Σ pⱼ|xⱼ − m|u.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

EXP = 6


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """Softmax, LogSoftmax, ReduceLogSumExp, ReduceLogSum; `None` for anything else."""
    if op.type not in {"Softmax", "LogSoftmax"}:
        return None
    x = np.asarray(operands[0])
    axes, u = _axes(op, x), unit.u
    terms = _terms(x, axes)
    if op.type == "Softmax":
        below, mean, _ = _shares(x, axes)
        loose, size = below + mean + 2 * EXP + 2, np.abs(truth)
        soft = u * (loose + 4 * np.sqrt(terms)) * size + unit.ulp(truth) + unit.tiny
        hard = u * 4 * loose * size + gamma(terms, u) * size + 2 * unit.ulp(truth) + unit.tiny
    else:
        soft, hard = logarithm(x, axes, truth, unit)
    peak = np.broadcast_to(np.fmax.reduce(np.abs(x), axis=None, initial=0.0), truth.shape)
    return Bound(soft, lambda: hard, peak, f"exponentials over {terms} terms", spreads=True)


def logarithm(
    x: np.ndarray, axes: tuple[int, ...], truth: np.ndarray, unit: Unit
) -> tuple[np.ndarray, np.ndarray]:
    """Soft and hard limits of x − m − log Σ exp(x − m), the logarithm of a softmax."""
    u, terms = unit.u, _terms(x, axes)
    below, mean, total = _shares(x, axes)
    size = below + np.abs(np.log(total)) * EXP
    soft = u * (mean + EXP + 4 * np.sqrt(terms) + size + 2) + 2 * unit.ulp(truth)
    hard = 4 * u * (mean + EXP + size + 2) + gamma(terms, u) + 4 * unit.ulp(truth)
    return soft + unit.tiny, hard + unit.tiny


def _shares(x: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distances from the maximum, their mean weighted by the softmax, and the sum of powers."""
    below = x.max(axis=axes, keepdims=True, initial=-np.inf) - x
    weight = np.exp(-below)
    total = weight.sum(axis=axes, keepdims=True)
    mean = np.nansum(weight / total * np.where(weight > 0, below, 0), axis=axes, keepdims=True)
    return below, mean, total


def _terms(x: np.ndarray, axes: tuple[int, ...]) -> int:
    return max(int(np.prod([x.shape[a] for a in axes])), 1)


def _axes(op: Op, x: np.ndarray) -> tuple[int, ...]:
    """The axes normalised over: one since version 13, before that all from `axis` on."""
    axis = int(op.attr("axis", -1 if op.version >= 13 else 1))
    if not x.ndim:
        return ()
    axis %= x.ndim
    return (axis,) if op.version >= 13 else tuple(range(axis, x.ndim))
