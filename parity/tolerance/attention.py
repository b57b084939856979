"""Attention, and what stands beside it: rotations, causal convolutions, linear attention.

Attention is bounded in `weighed`. LinearAttention is judged by its conditioning, measured with one
rounding in everything that a step computes: its sums are of d + 4 terms at most, and errors of T
steps may line up in the hard limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call, evaluate
from isomorph.ir.semantics._attention import attend, join_heads
from isomorph.ir.semantics.attention import linear_attention
from isomorph.ir.types import DType
from isomorph.parity.arrays import is_double
from isomorph.parity.tolerance import transformers
from isomorph.parity.tolerance.conditioning import PROBES, STEP
from isomorph.parity.tolerance.units import Bound, Unit, gamma
from isomorph.parity.tolerance.weighed import error_of, peak_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
SILU = 8
"""Units in the last place of x · sigmoid(x): 6 as the formula counts, 2 more for its exp."""


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """The operators of the attention family that are more than elementwise."""
    if op.key in transformers.BOUNDED:
        return transformers.bound(op, operands, truth, index, unit)
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
        return fitted(error_of(stages, cap, unit, coarse, mode, hard=hard))

    cap = float(op.attr("softcap", 0.0) or 0.0)
    peak = fitted(peak_of(stages))
    terms = f"{stages.queries.shape[3]} and {stages.keys.shape[2]}"
    basis = f"products of {terms} terms around a softmax"
    return Bound(limit(hard=False), lambda: limit(hard=True), peak, basis, spreads=True)


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
