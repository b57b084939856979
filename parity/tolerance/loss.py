"""Losses: −w·lp of each label, then a sum of K of them, or that over the sum of the weights.

The logarithm of a softmax errs as it does by itself; what is given is exact. Summing adds, soft,
4u√K(‖l‖₂ + |L|) and, hard, γ_K Σ|l|; dividing by W, itself a sum, adds |y| times the relative error
of W.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call
from isomorph.ir.semantics._numeric import log_softmax
from isomorph.ir.semantics.loss import chosen, weights_of
from isomorph.parity.tolerance.softmax import logarithm
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss."""
    if op.type not in {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}:
        return None
    scores, labels = (np.asarray(v) for v in operands[:2])
    soft, hard = np.zeros(scores.shape), np.zeros(scores.shape)
    log_prob = scores
    if op.type == "SoftmaxCrossEntropyLoss":
        log_prob = log_softmax(scores, 1)
        soft, hard = logarithm(scores, (1,), log_prob, unit)
    peak = np.full(truth.shape, np.fmax.reduce(np.abs(scores), axis=None, initial=0.0))
    if index:
        return Bound(soft, lambda: hard, peak, f"exponentials over {scores.shape[1]} terms")
    places, ignored = chosen(Call(op, wide=True), scores, labels)
    weights = weights_of(places, ignored, operands[2] if len(operands) > 2 else None, np.float64)
    at = np.expand_dims(places, 1)
    size = np.abs(weights)
    loss = np.where(ignored, 0.0, size * np.abs(np.take_along_axis(log_prob, at, 1)[:, 0]))
    limits = [
        np.where(ignored, 0.0, size * np.take_along_axis(e, at, 1)[:, 0])
        + unit.u * loss
        + unit.tiny
        for e in (soft, hard)
    ]
    reduction = op.attr("reduction", "mean")
    if reduction == "none":
        first, last = (limit + unit.ulp(truth) for limit in limits)
        return Bound(first, lambda: last, peak, "a product")
    terms = max(loss.size, 1)
    growth = gamma(terms, unit.u)
    first = limits[0].sum() + 4 * unit.u * np.sqrt(terms) * (_norm(loss) + np.abs(truth))
    last = limits[1].sum() + growth * loss.sum()
    if reduction == "mean":
        whole = np.abs(weights.sum())
        first = limits[0].sum() + 4 * unit.u * np.sqrt(terms) * (_norm(loss) + loss.sum())
        spread = 4 * unit.u * np.sqrt(terms) * (_norm(weights) / whole + 1) + 2 * unit.u
        first = first / whole + np.abs(truth) * spread
        last = last / whole + np.abs(truth) * (growth * size.sum() / whole + 2 * unit.u)
    first, last = first + unit.ulp(truth), last + 2 * unit.ulp(truth)
    peak = np.fmax(peak, loss.sum())
    return Bound(first, lambda: last, peak, f"a sum of {terms} losses", spreads=True)


def _norm(values: np.ndarray) -> float:
    return float(np.sqrt((values * values).sum()))
