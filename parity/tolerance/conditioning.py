"""Where no closed form is known: how the function reacts to roundings of its operands.

Random relative changes of one unit roundoff in every operand move the result by the error that one
rounding per operand would cause (backward error, to first order). A run time is granted √K of
those, K being the longest sum that the operands' sizes allow, times a factor for the few probes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import evaluate
from isomorph.parity.arrays import is_double
from isomorph.parity.tolerance.units import Bound, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

PROBES = 8
STEP = 2.0**-26
"""Large against float64's own rounding, small against curvature."""


def reaction(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, probes: int = PROBES
) -> np.ndarray:
    """Root mean square change of the result per unit of relative operand change, per element."""
    rng = np.random.default_rng(probes)
    total = np.zeros(truth.shape)
    for _ in range(probes):
        given = [
            v * (1 + STEP * rng.uniform(-1, 1, np.shape(v))) if is_double(v) else v
            for v in operands
        ]
        moved = np.asarray(evaluate(op, given, wide=True)[index], np.float64)
        change = (moved - truth) / STEP
        total += np.where(np.isfinite(change), change, 0.0) ** 2
    return np.sqrt(total / probes)


def bound(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """8√K reactions and 4 ulp; the hard limit has K instead of √K, and four times the rest."""
    floats = [np.asarray(v) for v in operands if is_double(v)]
    terms = max([1, *(max(v.shape, default=1) for v in floats)])
    moved = reaction(op, operands, truth, index)
    soft = 8 * unit.u * np.sqrt(terms) * moved + 4 * unit.ulp(truth) + unit.tiny
    hard = 32 * unit.u * terms * moved + 16 * unit.ulp(truth) + terms * unit.tiny
    largest = max(
        (float(np.fmax.reduce(np.abs(v), axis=None, initial=0.0)) for v in floats), default=0.0
    )
    peak = np.full(truth.shape, largest * largest * terms)
    return Bound(
        soft, lambda: hard, peak, f"conditioning, sums of up to {terms} terms", spreads=True
    )
