"""Products of integers as floats: the sums are exact, their scales and the bias are not.

A sum is converted, multiplied by two scales and added to the bias: five roundings, of magnitudes no
larger than the scaled sum's and the bias's. An operand that is quantized on the way may lie so near
a half that its own rounding decides: then it may be a step off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import evaluate
from isomorph.ir.semantics._dynamic import quantized
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op

    Rule = Callable[[Op, Sequence[Any], np.ndarray, Unit], Bound]

ROUNDINGS = 5
QUOTIENT = 5
"""Roundings of x / scale in units of the quotient: the range's, the scale's and its own, twice."""


def _bound(truth: np.ndarray, sums: Any, unit: Unit, steps: Any = 0.0) -> Bound:
    size = np.abs(np.asarray(sums)) + np.abs(truth)
    soft = gamma(ROUNDINGS, unit.u) * size + unit.ulp(truth) + unit.tiny + steps
    return Bound(soft, lambda: 2 * soft, size, "a scaled sum of integers")


def _with_bias(op: Op, operands: Sequence[Any], truth: np.ndarray, bias: int, unit: Unit) -> Bound:
    plain = [*operands[:bias], None]
    sums = evaluate(op, plain, wide=True)[0]
    return _bound(truth, sums, unit)


def to_float(op: Op, operands: Sequence[Any], truth: np.ndarray, unit: Unit) -> Bound:
    """MatMulIntegerToFloat."""
    return _with_bias(op, operands, truth, 6, unit)


def gemm(op: Op, operands: Sequence[Any], truth: np.ndarray, unit: Unit) -> Bound:
    """QGemm whose result is not quantized."""
    return _bound(truth, truth, unit)


def dynamic(op: Op, operands: Sequence[Any], truth: np.ndarray, unit: Unit) -> Bound:
    """DynamicQuantizeMatMul: what lies next to a half may be a step off."""
    a, b, scale = (np.asarray(v) for v in operands[:3])
    zero = operands[3] if len(operands) > 3 else None
    found = quantized(a.astype(np.float64))
    coarse = unit.tiny / float(found.scale)  # a subnormal scale has few digits
    off = 256 * (QUOTIENT * unit.u + coarse)
    near = np.abs(np.abs(found.value - np.floor(found.value)) - 0.5) <= off
    lowest = float(np.clip(-a.min(initial=0) / found.scale, 0, 255))
    if abs(abs(lowest - np.floor(lowest)) - 0.5) <= off:  # the zero point: what lies at the ends
        near |= (found.value <= 1) | (found.value >= 254)
    weights = np.abs(b.astype(np.float64) - (0 if zero is None else np.asarray(zero, np.float64)))
    near = np.where(near, max(1.0, np.ceil(off)), 0.0)
    factor = found.scale * np.abs(scale)
    steps = factor * (near @ weights)
    sums = evaluate(op, [*operands[:4], None], wide=True)[0]
    lost = unit.tiny * (np.abs(scale) + 1) / np.maximum(factor, 2.0**-1000)
    limits = _bound(truth, sums, unit, steps + np.abs(sums) * lost)
    reach = float(np.fmax(a.max(initial=0), 0) - np.fmin(a.min(initial=0), 0))
    return replace(limits, peak=np.maximum(limits.peak, reach), spreads=True)


RULES: dict[str, Rule] = {
    "DynamicQuantizeMatMul": dynamic,
    "MatMulIntegerToFloat": to_float,
    "QGemm": gemm,
}
