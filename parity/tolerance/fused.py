"""What onnxruntime's optimizer makes of several operators: sums and what comes after, normal sums.

An activation of a sum that is off by δ gives what any number within δ of the sum gives; to that
comes its own rounding, as if it stood alone. A normalization of a sum carries on what the sum is
off: γ₂ of the magnitudes that are added up.

Weights of few bits are (q − z)·s: multiplied out or not, no magnitude is larger than a(q + z)|s|,
which is what the hard limit of their product counts. With `accuracy_level` 4 the definition lets A
be rounded to int8 by blocks: to half a step of 1/127 of a block's largest number; with 2 and 3 to
float16 and bfloat16.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.opdef import OPS, Tolerance
from isomorph.ir.semantics import Call, evaluate
from isomorph.ir.semantics._activation import Activation, activation_of, without_activation
from isomorph.ir.semantics._fused import embedded, skipped
from isomorph.ir.semantics._nbits import weights_of
from isomorph.parity.tolerance import elementwise, sums
from isomorph.parity.tolerance.normalization import moments, standardized, stashed
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

COARSE = {2: 2.0**-11, 3: 2.0**-8}
"""Unit roundoffs of what A may be rounded to, by `accuracy_level`."""
INT8 = 4
"""The `accuracy_level` that lets A be rounded to int8."""


# -- sums with an activation ----------------------------------------------------------------------


def activated(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """FusedConv and FusedGemm."""
    plain, act = without_activation(op), activation_of(op)
    total = np.asarray(evaluate(plain, operands, wide=True)[0])
    limits = sums.linear(
        plain, operands, total, index, unit, sums.products(op, operands, total) + 3, 1.0
    )
    if act is None:
        return limits
    own = _own(act, total, truth, unit)
    soft = _swing(act, total, limits.soft) + (own.soft if own else 0.0) + unit.ulp(truth)

    def at_most() -> np.ndarray:
        rest = own.at_most() if own else 0.0
        return _swing(act, total, limits.at_most()) + rest + unit.ulp(truth)

    return replace(
        limits, soft=soft, at_most=at_most, basis=f"{limits.basis}, through {act.op.type}",
        spreads=True,
    )  # fmt: skip


def _own(act: Activation, total: np.ndarray, truth: np.ndarray, unit: Unit) -> Bound | None:
    """What the activation alone may be off; nothing where it only chooses."""
    known = OPS.get(act.op.key)
    if known is None or known.tolerance is not Tolerance.ELEMENTWISE:
        return None
    return elementwise.bound(act.op, act.operands(total), truth, 0, unit)


def _swing(act: Activation, total: np.ndarray, error: np.ndarray) -> np.ndarray:
    """How far the activation moves while its operand moves by an error.

    It is monotone but for a bend at 0 or a jump at its threshold, which are looked at, too.
    """
    low, high = total - error, total + error
    bends = [np.clip(0.0, low, high)]
    if act.op.type == "ThresholdedRelu":
        threshold = np.float64(np.float32(act.op.attr("alpha", 1.0)))
        bends.append(np.clip(np.nextafter(threshold, np.inf), low, high))
    middle = act(total, wide=True)
    found = np.zeros(total.shape)
    for place in (low, high, *bends):
        found = np.fmax(found, np.abs(act(np.asarray(place), wide=True) - middle))
    return np.where(np.isnan(error), np.inf, found)


# -- weights of few bits --------------------------------------------------------------------------


def few_bits(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """MatMulNBits."""
    call = Call(op, wide=True)
    a, b, scales, zeros, groups, bias = (*operands, None, None, None)[:6]
    size = np.abs(np.asarray(a))
    weights = weights_of(call, b, scales, zeros, groups)
    values = np.abs(weights.values)
    most = (np.abs(weights.codes) + np.abs(weights.zeros)) * np.abs(weights.scales)
    shift = 0.0 if bias is None else np.abs(np.asarray(bias))
    terms = values.shape[1] + 4
    soft_values = most if zeros is not None and np.asarray(zeros).dtype.kind == "f" else values
    norm = np.sqrt(np.matmul(size**2, (soft_values**2).T) + shift**2)
    rounded = _rounded_operand(call, size, values)
    underflow = (terms + 1) * unit.tiny * (1 + size.sum(-1, keepdims=True))
    rest = rounded + unit.ulp(truth) + underflow
    soft = 4 * unit.u * np.sqrt(terms) * (norm + np.abs(truth)) + rest

    def at_most() -> np.ndarray:
        return gamma(terms, unit.u) * (np.matmul(size, most.T) + shift) + 2 * rest

    peak = np.fmax(np.matmul(size, most.T) + shift, most.max(-1, initial=0.0))
    return Bound(soft, at_most, peak, f"γ_K|A||B| and 4u√K‖a∘b‖₂, K = {terms}", spreads=True)


def _rounded_operand(call: Call, size: np.ndarray, values: np.ndarray) -> Any:
    """What the precision that the definition allows for A may cost."""
    level = call.attr("accuracy_level", 0)
    if level in COARSE:
        return 2 * COARSE[level] * np.matmul(size, values.T)
    if level != INT8:
        return 0.0
    block = call.attr("block_size")
    found: Any = 0.0
    for start in range(0, values.shape[1], block):
        part = slice(start, start + block)
        step = size[..., part].max(-1, keepdims=True) / 127
        found = found + (0.5 + 2.0**-10) * step * values[:, part].sum(1)
    return found


# -- normalizations -------------------------------------------------------------------------------


def skip(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """SkipLayerNormalization and its simplified form: result, mean, factor, sum."""
    call = Call(op, wide=True)
    centred = op.type == "SkipLayerNormalization"
    x, other, scale, *rest = (np.asarray(v) if v is not None else None for v in operands)
    shift = rest.pop(0) if centred and rest else None
    bias = rest[0] if rest else None
    assert x is not None  # noqa: S101 - required operands
    assert other is not None  # noqa: S101
    total = skipped(call, x, other, bias)
    size = skipped(call, np.abs(x), np.abs(other), None if bias is None else np.abs(bias))
    part = ("", "mean", "factor", "sum")[index]
    return _normalized(op, total, size, part, truth, scale, shift, unit, centred=centred)


def simplified(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """SimplifiedLayerNormalization: result and factor, over the axes from `axis` on."""
    x, scale = (np.asarray(v) for v in operands)
    axis = int(op.attr("axis", -1)) % max(x.ndim, 1)
    rows = x.reshape(*x.shape[:axis], -1)
    own = np.broadcast_to(scale, x.shape).reshape(rows.shape)
    shape = truth.shape
    flat = truth.reshape(*rows.shape[:-1], -1)
    found = _normalized(
        op, rows, np.zeros(rows.shape), ("", "factor")[index], flat, own, None,
        stashed(op, unit), centred=False,
    )  # fmt: skip
    at_most = found.at_most
    return replace(
        found,
        soft=found.soft.reshape(shape),
        at_most=lambda: at_most().reshape(shape),
        peak=found.peak.reshape(shape),
    )


def embed(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """EmbedLayerNormalization: result and sum."""
    call = Call(op, wide=True)
    words, segments, first, second, third, scale, shift = operands[:7]
    places = operands[8] if len(operands) > 8 else None
    total = embedded(call, words, segments, first, second, third, places)
    other = None if third is None else np.abs(third)
    size = embedded(call, words, segments, np.abs(first), np.abs(second), other, places)
    part = "sum" if index else ""
    return _normalized(op, total, size, part, truth, scale, shift, unit, centred=True)


def _normalized(
    op: Op,
    total: np.ndarray,
    size: np.ndarray,
    part: str,
    truth: np.ndarray,
    scale: Any,
    shift: Any,
    unit: Unit,
    *,
    centred: bool,
) -> Bound:
    """One result of a normalization along the last axis of a sum.

    Args:
        op: the operator.
        total: what is normalized.
        size: the magnitudes that were added up to it; 0 where nothing was added.
        part: `sum`, `mean`, `factor`, or empty for the result.
        truth: that result.
        scale: what it is multiplied with.
        shift: what is added to it, if anything.
        unit: the format of the result.
        centred: whether the mean is taken away.
    """
    if not total.size:
        nothing = np.zeros(truth.shape)
        return Bound(nothing, lambda: nothing, nothing, "nothing")
    given = gamma(2, unit.u) * size
    if part == "sum":
        limit = given + unit.ulp(truth) + unit.tiny
        return Bound(limit, lambda: limit, size, "a sum of two or three terms")
    epsilon = float(np.float32(op.attr("epsilon")))
    peak = np.nansum(total * total, -1, keepdims=True)
    peak = np.broadcast_to(np.fmax(peak, size.max(-1, keepdims=True)), truth.shape)
    basis = f"mean and variance of {total.shape[-1]} elements"

    def limit_of(*, hard: bool) -> np.ndarray:
        times = 2 if hard else 1
        if part:
            m = moments(total, epsilon, unit, centred=centred, hard=hard, given=given)
            error = m.d_mean if part == "mean" else (m.lost + 4 * unit.u) / m.root
            return error + times * (unit.ulp(truth) + unit.tiny)
        error = standardized(total, epsilon, unit, centred=centred, hard=hard, given=given)
        added = 0.0 if shift is None else np.abs(np.asarray(shift))
        ends = 2 * unit.u * (np.abs(truth) + added) + unit.ulp(truth) + unit.tiny
        return np.abs(np.asarray(scale)) * (error + times * unit.tiny) + times * ends

    if not part:
        factors = [np.abs(np.asarray(v)) for v in (scale, shift) if v is not None]
        for factor in factors:
            peak = np.fmax(peak, factor)
    return Bound(limit_of(hard=False), lambda: limit_of(hard=True), peak, basis, spreads=True)


# -- rotation -------------------------------------------------------------------------------------


def rotary(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """c·x₁ ∓ s·x₂: three roundings at most, each of no more than the sum of both magnitudes."""
    x, places, cos, sin = operands

    def turned(a: np.ndarray, c: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray(evaluate(op, [a, places, c, s], wide=True)[0])

    given = np.abs(x), np.abs(cos), np.abs(sin)
    size = np.maximum(turned(*given), turned(*given[:2], -given[2]))
    kept = turned(np.ones(np.shape(x)), np.zeros(np.shape(cos)), np.zeros(np.shape(sin))) == 1
    limit = np.where(kept, 0.0, 2 * unit.u * size + unit.ulp(truth) + 3 * unit.tiny)
    return Bound(limit, lambda: limit, size, "two products and their sum")
