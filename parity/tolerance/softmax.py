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
    x = np.asarray(operands[0])
    u = unit.u
    if op.type in {"Softmax", "LogSoftmax"}:
        axes = _axes(op, x)
        below = x.max(axis=axes, keepdims=True, initial=-np.inf) - x
        weight = np.exp(-below)
        total = weight.sum(axis=axes, keepdims=True)
        mean = np.nansum(weight / total * np.where(weight > 0, below, 0), axis=axes, keepdims=True)
        terms = max(int(np.prod([x.shape[a] for a in axes])), 1)
        loose = below + mean + 2 * EXP + 2
        if op.type == "Softmax":
            size = np.abs(truth)
            soft = u * (loose + 4 * np.sqrt(terms)) * size + unit.ulp(truth)
            hard = u * 4 * loose * size + gamma(terms, u) * size + 2 * unit.ulp(truth)
        else:
            size = below + np.abs(np.log(total)) * EXP
            soft = u * (mean + EXP + 4 * np.sqrt(terms) + size + 2) + 2 * unit.ulp(truth)
            hard = 4 * u * (mean + EXP + size + 2) + gamma(terms, u) + 4 * unit.ulp(truth)
        peak = np.broadcast_to(np.fmax.reduce(np.abs(x), axis=None, initial=0.0), truth.shape)
        return Bound(
            soft + unit.tiny,
            lambda: hard + unit.tiny,
            peak,
            f"exponentials over {terms} terms",
            spreads=True,
        )
    return None


def _axes(op: Op, x: np.ndarray) -> tuple[int, ...]:
    """The axes normalised over: one since version 13, before that all from `axis` on."""
    axis = int(op.attr("axis", -1 if op.version >= 13 else 1))
    if not x.ndim:
        return ()
    axis %= x.ndim
    return (axis,) if op.version >= 13 else tuple(range(axis, x.ndim))
