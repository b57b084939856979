"""Functions that quantize their operands on the way: a rounding may move one by a whole step.

Truth is one function of integers, and a run time that rounds a number next to a half the other way
computes another. So the bound is measured: the function is evaluated again with noise in all that
is rounded to integers, in all sums, and in what gates are given and give, of four times the size
that roundings have. A decision that they could turn is turned in some of these evaluations, with
all that follows from it; one that they cannot, in none, and then the bound is that of smooth
conditioning.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call
from isomorph.ir.semantics._dynamic_lstm import dynamic_lstm
from isomorph.parity.arrays import is_double
from isomorph.parity.tolerance.units import Bound, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

PROBES = 16
AMPLIFIED = 4.0
"""So that a decision within the roundings' reach is turned by about one probe in three."""
QUOTIENT = 4
"""Roundings of x / scale: a difference and two quotients, and one of the zero point's."""
SUMS = 4
"""Roundings of a sum of integers that is scaled and added to another."""
GATES = 6
"""Units at scale 1 of what a function is given: products, biases and peepholes are added up."""
FUNCTIONS = 6
"""Units at scale 1 of a function's result, as run times approximate them."""
OWN = 24
"""Units at scale 1 of the last step's own functions and products."""


def lstm(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """8 deviations of noisy evaluations for the soft limit, 32 for the hard one."""
    rng = np.random.default_rng(PROBES)
    call = Call(op, wide=True)

    def off(units: float, least: float, value: np.ndarray) -> np.ndarray:
        size = AMPLIFIED * units * unit.u * np.maximum(least, np.abs(value))
        return value + size * rng.uniform(-1, 1, value.shape)

    quotients, sums = partial(off, QUOTIENT, 1.0), partial(off, SUMS, 0.0)
    gates = partial(off, GATES, 1.0), partial(off, FUNCTIONS, 1.0)
    total = np.zeros(truth.shape)
    with np.errstate(all="ignore"):
        for _ in range(PROBES):
            found = dynamic_lstm(call, *operands, quotients=quotients, sums=sums, gates=gates)[
                index
            ]
            moved = found - truth
            total += np.where(np.isfinite(moved), moved, 0.0) ** 2
    deviation = np.sqrt(total / PROBES)
    own = OWN * unit.u * np.maximum(1.0, np.abs(truth)) + 4 * unit.ulp(truth)
    terms = np.shape(operands[1])[1] + np.shape(operands[2])[1]
    largest = [
        float(np.fmax.reduce(np.abs(v), axis=None, initial=1.0)) for v in operands if is_double(v)
    ]
    peak = np.full(truth.shape, 256.0 * terms * float(np.prod(largest)))
    soft, hard = 8 * deviation + own, 32 * deviation + 4 * own
    steps = max(np.shape(operands[0])[0], 1)
    basis = f"noise before rounding to integers, {steps} steps of {terms} terms"
    return Bound(soft, lambda: hard, peak, basis, spreads=True)
