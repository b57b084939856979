"""LSTM, GRU, RNN and other functions of many steps: judged by their own conditioning.

Every step sums K = input + hidden products per gate and applies gates whose library functions have
their own error. Weights enter at every step, so a relative change of the weights stands for a
backward error of each step's sums; states that contract forget old errors, which the measured
reaction knows. The gates' functions add an absolute error of a few units at scale 1 per step, which the
states that they select from multiply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.tolerance import conditioning
from isomorph.parity.tolerance.units import Bound, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

GATES = 16
"""Units at scale 1 for the gates of one step: three logistic and two hyperbolic functions, 3 each."""


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """8√K reactions plus the gates' error over the steps; hard: K reactions, four times the rest."""
    if op.type not in {"LSTM", "GRU", "RNN"} or not truth.size:
        return None
    x, weights, recurrence = (np.asarray(v) for v in operands[:3])
    terms = weights.shape[-1] + recurrence.shape[-1] + 1
    steps = max(x.shape[0], 1)
    moved = conditioning.reaction(op, operands, truth, index)
    states = [np.asarray(v) for v in operands[5:7] if v is not None]
    size = np.maximum(_largest(states), np.maximum(1.0, np.abs(truth)))
    gates = GATES * unit.u * min(np.sqrt(steps), 8.0) * size
    soft = 8 * unit.u * np.sqrt(terms) * moved + gates + 4 * unit.ulp(truth)
    hard = 32 * unit.u * terms * moved + 4 * gates * np.sqrt(steps) + 16 * unit.ulp(truth)
    data, factors = (_largest(v) for v in ([x, *states], [weights, recurrence]))
    peak = np.full(truth.shape, terms * max(data, 1.0) * max(factors, 1.0))
    basis = f"conditioning over {steps} steps of {terms} terms"
    return Bound(soft, lambda: hard, peak, basis, spreads=True)


def _largest(arrays: Sequence[np.ndarray]) -> float:
    found = (float(np.fmax.reduce(np.abs(v), axis=None, initial=0.0)) for v in arrays)
    return max(found, default=0.0)
