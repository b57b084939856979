"""Errors of what weighs values by a softmax of products: every attention.

Attention, for one row of scores z over T keys, with weights p and values v:

* a score is a scaled product of d terms and carries δs, soft 4u√(d+4)(‖q∘k‖₂ + |s|), hard
  γ_(d+6) Σ|q k|. `softcap` passes (1 − tanh²)δs on and adds 6 roundings of its own; adding the mask
  and entering the precision of the softmax add one each of |z|.
* a weight then errs by the factor exp(a), |a| ≤ A = δz + u(|z| + |z − m| + 2·6 + 2), and
  all weights of the row by a common one, c: soft 4u√T, hard γ_T, and 2u for the division.
* since Σ p (v − y) = 0 for the true y, errors of single weights act on distances from it:
  |δy| ≤ Σ p expm1(A)|v − y| / Σ p exp(−A), whatever their size. The result stays among the values,
  so that |δy| ≤ max|v − y| as well. To that come c|y|, and the error of the last product, soft
  4u√(T+2)(‖p∘v‖₂ + |y|), hard γ_(T+4) Σ p|v|.
* errors that Q, K and V come with, because they were projected or rotated, pass through the
  products that they are in: Σ|δq||k| + |q||δk| + |δq||δk| on a score, Σ p|δv| on the result; what
  a good kernel keeps adds up as squares do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.parity.tolerance.softmax import EXP
from isomorph.parity.tolerance.units import Unit, gamma

if TYPE_CHECKING:
    from isomorph.ir.semantics._attention import Stages

TANH = 12
"""Roundings of c · tanh(s / c): 5 ulp for tanh, a division, a product."""


@dataclass(frozen=True, slots=True)
class Given:
    """Errors of Q, K and V, in the shapes that `Stages` has them in; and how much is added up.

    Attributes:
        queries, keys, values: their errors.
        summed: Σ of the magnitudes that a score's bias is the sum of, in any order.
    """

    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    summed: np.ndarray | None = None


def error_of(
    stages: Stages,
    cap: float,
    unit: Unit,
    coarse: Unit,
    mode: int,
    *,
    hard: bool,
    given: Given | None = None,
) -> np.ndarray:
    """The error of the scores at one of their stages (0 to 3), or of the result (4).

    Args:
        stages: of the evaluation in float64.
        cap: of the scores; 0 for none.
        unit: of the result.
        coarse: of the softmax.
        mode: which stage.
        hard: the limit that no order of evaluation exceeds, or the one that a good kernel keeps.
        given: errors that Q, K and V came with.
    """
    u, error = unit.u, _raw(stages, unit, hard=hard)
    if given is not None:
        error = error + _carried(stages, given, hard=hard)
    if mode == 0 or not 0 <= mode <= 4:
        return error + unit.ulp(stages.raw)
    if cap:
        least = np.tanh(np.maximum(np.abs(stages.raw) - error, 0) / abs(cap))
        error = (1 - least**2) * (error + 2 * u * np.abs(stages.raw))
        error = error + TANH * u * np.abs(stages.capped) + unit.tiny
    if mode == 1:
        return error + unit.ulp(stages.capped)
    if stages.bias is not None:
        added = np.where(np.isfinite(stages.scores), 2 * u * np.abs(stages.scores), 0.0)
        stated = np.where(np.isfinite(stages.bias), u * np.abs(stages.bias), 0.0)
        error = error + added + stated
        if given is not None and given.summed is not None:
            error = error + 2 * u * (given.summed + np.abs(stages.capped))
    if mode == 2:
        return error + unit.ulp(stages.scores)
    seen = np.isfinite(stages.scores)
    highest = np.where(seen, stages.scores, -np.inf).max(-1, keepdims=True, initial=-np.inf)
    below = np.where(seen, highest - stages.scores, 0.0)
    entered = coarse.u * (np.where(seen, np.abs(stages.scores), 0.0) + below + 2 * EXP + 2)
    single = np.where(seen, error, 0.0) + (4 if hard else 1) * entered
    terms = stages.keys.shape[2]
    common = (gamma(terms, coarse.u) if hard else 4 * coarse.u * np.sqrt(terms)) + 4 * coarse.u
    weights = stages.weights
    lost = np.where(seen, np.exp(np.fmin(single - below, 0.0)), 0.0)
    if mode == 3:
        mean = np.where(weights > 0, weights * single, 0.0).sum(-1, keepdims=True)
        factor = np.expm1(single + mean + common)
        moved = np.where(weights > 0, weights * factor, lost)
        return np.fmin(moved, 1.0) + coarse.ulp(weights) + unit.ulp(weights)
    moved = np.where(weights > 0, weights * np.expm1(single), lost)
    mixed = _mixed(stages, unit, single, moved, common, hard=hard)
    if given is None:
        return mixed
    if hard:
        return mixed + np.matmul(weights, given.values)
    return mixed + np.sqrt(np.matmul(weights**2, given.values**2))


def _raw(stages: Stages, unit: Unit, *, hard: bool) -> np.ndarray:
    """The error of the scaled products, and what underflows in their factors."""
    q, k, scale = np.abs(stages.queries), np.abs(stages.keys), abs(stages.scale)
    keys, size = np.swapaxes(k, 2, 3), q.shape[3]
    lost = q.sum(-1)[..., None] + k.sum(-1)[:, :, None, :]
    lost = unit.tiny * (np.sqrt(scale) * lost + size + 2)
    if hard:
        return gamma(size + 6, unit.u) * scale * np.matmul(q, keys) + lost
    norm = scale * np.sqrt(np.matmul(q * q, keys * keys))
    return 4 * unit.u * np.sqrt(size + 4) * (norm + np.abs(stages.raw)) + lost


def _carried(stages: Stages, given: Given, *, hard: bool) -> np.ndarray:
    """What errors of Q and of K make of the scaled products."""
    q, k, dq, dk = np.abs(stages.queries), np.abs(stages.keys), given.queries, given.keys
    keys, moved = np.swapaxes(k, 2, 3), np.swapaxes(dk, 2, 3)
    if hard:
        total = np.matmul(dq, keys) + np.matmul(q, moved) + np.matmul(dq, moved)
    else:
        total = np.sqrt(np.matmul(dq**2, keys**2) + np.matmul(q**2 + dq**2, moved**2))
    return abs(stages.scale) * total


def _mixed(
    stages: Stages,
    unit: Unit,
    single: np.ndarray,
    lifted: np.ndarray,
    common: float,
    *,
    hard: bool,
) -> np.ndarray:
    """The error of Σ p v, value by value so that memory stays small."""
    weights, values, y = stages.weights, stages.values, stages.result
    kept = (weights * np.exp(-single)).sum(-1, keepdims=True)
    share = lifted / np.where(kept > 0, kept, 1.0)
    seen = np.isfinite(stages.scores)
    moved, spread = np.zeros(y.shape), np.zeros(y.shape)
    for key in range(values.shape[2]):
        away = np.abs(values[:, :, None, key] - y)
        moved += share[..., key, None] * away
        spread = np.fmax(spread, np.where(seen[..., key, None], away, 0.0))
    terms, size = values.shape[2], np.abs(values)
    if hard:
        product = gamma(terms + 4, unit.u) * np.matmul(weights, size)
    else:
        norm = np.sqrt(np.matmul(weights**2, values**2))
        product = 4 * unit.u * np.sqrt(terms + 2) * (norm + np.abs(y))
    underflow = unit.tiny * (size.sum(2)[:, :, None] + terms + 1)
    rest = common * np.abs(y) + product + underflow + unit.ulp(y)
    return np.fmin(moved, spread) + rest


def peak_of(stages: Stages, lowest: float = 0.0) -> np.ndarray:
    """The largest magnitude of any stage, head by head.

    A key that a mask filters with a number between `lowest` and an eighth of it does not count:
    such a number takes up what is added to it.
    """
    found = np.zeros((*stages.raw.shape[:2], 1, 1))
    terms = max(stages.queries.shape[3], 1)

    def largest(array: np.ndarray) -> np.ndarray:
        return np.fmax.reduce(np.abs(array), axis=(2, 3), keepdims=True, initial=0.0)

    q, k = largest(stages.queries), largest(stages.keys)
    root = np.sqrt(abs(stages.scale))
    for size in (q, k, q * k * abs(stages.scale) * terms, q * root, k * root):
        found = np.fmax(found, size)
    scores = np.where(np.isfinite(stages.scores), np.abs(stages.raw), 0.0)
    if stages.bias is not None:
        counts = np.isfinite(stages.bias) & ((stages.bias > 0) | (stages.bias < lowest))
        counts |= (stages.bias <= 0) & (stages.bias > lowest / 8)
        scores = scores + np.where(counts, np.abs(stages.bias), 0.0)
    found = np.fmax(found, largest(scores))
    return np.fmax(found, largest(stages.values) * max(stages.values.shape[2], 1))
