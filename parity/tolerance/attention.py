"""Attention, and what stands beside it: rotations, causal convolutions, linear attention.

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

LinearAttention is judged by its conditioning, measured with one rounding in everything that a step
computes: its sums are of d + 4 terms at most, and errors of T steps may line up in the hard limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call, evaluate
from isomorph.ir.semantics._attention import attend, join_heads
from isomorph.ir.semantics.attention import linear_attention
from isomorph.ir.types import DType
from isomorph.parity.arrays import is_double
from isomorph.parity.tolerance.conditioning import PROBES, STEP
from isomorph.parity.tolerance.softmax import EXP
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.ir.semantics._attention import Stages

TANH = 12
"""Roundings of c · tanh(s / c): 5 ulp for tanh, a division, a product."""
SILU = 8
"""Units in the last place of x · sigmoid(x): 6 as the formula counts, 2 more for its exp."""


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """The operators of the attention family that are more than elementwise."""
    match op.type:
        case "Attention":
            return _attention(op, operands, truth, index, unit)
        case "CausalConvWithState":
            return _causal_conv(op, operands, truth, index, unit)
        case "LinearAttention":
            return _linear(op, operands, truth, index, unit)
        case "RotaryEmbedding":
            return _rotary(op, operands, truth, unit)
        case _:
            return None


def _copied(truth: np.ndarray) -> Bound:
    nothing = np.zeros(truth.shape)
    return Bound(nothing, lambda: nothing, nothing, "a copy")


# -- Attention --------------------------------------------------------------------------------


def _attention(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    if index in (1, 2):
        return _copied(truth)
    stages = attend(Call(op, wide=True), *operands)
    named = op.attr("softmax_precision")
    coarse = unit if named is None else max(unit, Unit.of(DType(named)), key=lambda x: x.u)
    mode = int(op.attr("qk_matmul_output_mode", 0)) if index == 3 else 4
    whole = stages.result.shape if index == 0 else stages.raw.shape

    def fitted(found: np.ndarray) -> np.ndarray:
        full = np.broadcast_to(found, whole)
        return join_heads(full) if index == 0 and truth.ndim == 3 else full

    def limit(*, hard: bool) -> np.ndarray:
        return fitted(_error(op, stages, unit, coarse, mode, hard=hard))

    peak = fitted(_peak(stages))
    terms = f"{stages.queries.shape[3]} and {stages.keys.shape[2]}"
    basis = f"products of {terms} terms around a softmax"
    return Bound(limit(hard=False), lambda: limit(hard=True), peak, basis, spreads=True)


def _error(
    op: Op, stages: Stages, unit: Unit, coarse: Unit, mode: int, *, hard: bool
) -> np.ndarray:
    """The error of the scores at one of their stages (0 to 3), or of the result (4)."""
    u, error = unit.u, _raw(stages, unit, hard=hard)
    if mode == 0 or not 0 <= mode <= 4:
        return error + unit.ulp(stages.raw)
    cap = float(op.attr("softcap", 0.0) or 0.0)
    if cap:
        least = np.tanh(np.maximum(np.abs(stages.raw) - error, 0) / abs(cap))
        error = (1 - least**2) * (error + 2 * u * np.abs(stages.raw))
        error = error + TANH * u * np.abs(stages.capped) + unit.tiny
    if mode == 1:
        return error + unit.ulp(stages.capped)
    if stages.bias is not None:
        added = np.where(np.isfinite(stages.scores), 2 * u * np.abs(stages.scores), 0.0)
        given = np.where(np.isfinite(stages.bias), u * np.abs(stages.bias), 0.0)
        error = error + added + given
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
    if mode == 3:
        mean = (weights * single).sum(-1, keepdims=True)
        factor = np.expm1(single + mean + common)
        return np.fmin(weights * factor, 1.0) + coarse.ulp(weights) + unit.ulp(weights)
    return _mixed(stages, unit, single, common, hard=hard)


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


def _mixed(
    stages: Stages, unit: Unit, single: np.ndarray, common: float, *, hard: bool
) -> np.ndarray:
    """The error of Σ p v, value by value so that memory stays small."""
    weights, values, y = stages.weights, stages.values, stages.result
    kept = (weights * np.exp(-single)).sum(-1, keepdims=True)
    share = weights * np.expm1(single) / np.where(kept > 0, kept, 1.0)
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


def _peak(stages: Stages) -> np.ndarray:
    """The largest magnitude of any stage, head by head."""
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
        scores = scores + np.where(np.isfinite(stages.bias), np.abs(stages.bias), 0.0)
    found = np.fmax(found, largest(scores))
    return np.fmax(found, largest(stages.values) * max(stages.values.shape[2], 1))


# -- the others -------------------------------------------------------------------------------


def _rotary(op: Op, operands: Sequence[Any], truth: np.ndarray, unit: Unit) -> Bound:
    """c·x₁ ∓ s·x₂: three roundings at most, each of no more than the sum of both magnitudes."""
    x, cos, sin = (np.asarray(v, np.float64) for v in operands[:3])
    places = operands[3:]

    def turned(a: np.ndarray, c: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray(evaluate(op, [a, c, s, *places], wide=True)[0])

    size = np.maximum(
        turned(np.abs(x), np.abs(cos), np.abs(sin)), turned(np.abs(x), np.abs(cos), -np.abs(sin))
    )
    kept = turned(np.ones(x.shape), np.zeros(cos.shape), np.zeros(sin.shape)) == 1
    limit = np.where(kept, 0.0, 2 * unit.u * size + unit.ulp(truth) + 3 * unit.tiny)
    return Bound(limit, lambda: limit, size, "two products and their sum")


def _causal_conv(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound:
    """A product of K terms; x · sigmoid(x), whose slope is below 1.1, carries its error on."""
    if index:
        return _copied(truth)
    plain = type(op)(op.domain, op.type, op.version, op.inputs, {})
    plain.outputs = op.outputs

    def summed(*given: Any) -> np.ndarray:
        return np.asarray(evaluate(plain, given, wide=True)[0])

    sizes = [np.abs(v) if is_double(v) else v for v in operands]
    terms = np.shape(operands[1])[2] + 1
    value, size = summed(*operands), summed(*sizes)
    norm = np.sqrt(summed(*(v * v if is_double(v) else v for v in sizes)))
    underflow = (terms + 1) * unit.tiny
    soft = 4 * unit.u * np.sqrt(terms) * (norm + np.abs(value)) + underflow
    hard = gamma(terms, unit.u) * size + underflow
    if op.attr("activation", "none") != "none":
        soft = 1.1 * (soft + unit.u * np.abs(value)) + SILU * unit.ulp(truth)
        hard = 1.1 * (hard + unit.u * np.abs(value)) + 4 * SILU * unit.ulp(truth)
        hard = hard + 2 * SILU * unit.u * np.abs(value)
    ends = unit.ulp(truth)
    basis = f"γ_K|A||B| and 4u√K‖a∘b‖₂, K = {terms}"
    return Bound(soft + ends, lambda: hard + 2 * ends, size, basis)


def _linear(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    rng = np.random.default_rng(PROBES)
    call = Call(op, wide=True)

    def off(value: Any) -> Any:
        return value * (1 + STEP * rng.uniform(-1, 1, np.shape(value)))

    total = np.zeros(truth.shape)
    for _ in range(PROBES):
        given = [off(v) if is_double(v) else v for v in operands]
        moved = linear_attention(call, *given, rounded=off)[index]
        change = (moved - truth) / STEP
        total += np.where(np.isfinite(change), change, 0.0) ** 2
    reaction = np.sqrt(total / PROBES)
    length, hidden = np.shape(operands[0])[1:]
    terms = hidden // int(op.attr("q_num_heads")) + 4
    soft = 8 * unit.u * np.sqrt(terms) * reaction + 4 * unit.ulp(truth) + unit.tiny
    hard = 32 * unit.u * (terms + length) * reaction + 16 * unit.ulp(truth) + terms * unit.tiny
    peak = np.full(truth.shape, _growth(operands, terms + length))
    basis = f"conditioning over {length} steps of {terms} terms"
    return Bound(soft, lambda: hard, peak, basis, spreads=True)


def _growth(operands: Sequence[Any], terms: int) -> float:
    """What products of all operands may reach."""
    found = float(terms)
    for value in operands:
        if is_double(value):
            found *= max(1.0, float(np.fmax.reduce(np.abs(value), axis=None, initial=0.0)))
    return found
