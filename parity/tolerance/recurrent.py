"""LSTM, GRU, RNN: functions of many steps, judged by their own conditioning.

Two measured reactions stand for what one step rounds. Relative changes of the weights, which enter
at every step, are a backward error of each step's sums over K = input + hidden terms. Absolute
changes of what the gates are given, of size 1 + ‖Rⱼ‖₂ per gate, are an error of one unit at scale 1
in the gates' own functions, and in the state that the recurrence passes on. States that contract
forget old errors, others carry them along: the reactions know. Gates also select from the states,
which their error multiplies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import evaluate
from isomorph.parity.tolerance import conditioning, dynamic
from isomorph.parity.tolerance.units import Bound, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

DYNAMIC = (DOMAIN, "DynamicQuantizeLSTM")
GATES = 16
"""Units at scale 1 for the functions of one step: three logistic, two hyperbolic, 3 each."""


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """8√K and 2·16 reactions, and the gates' error; hard: K instead of √K, four times the rest."""
    if op.key == DYNAMIC and truth.size:
        return dynamic.lstm(op, operands, truth, index, unit)
    if op.domain or op.type not in {"LSTM", "GRU", "RNN"} or not truth.size:
        return None
    x, weights, recurrence = (np.asarray(v) for v in operands[:3])
    terms = weights.shape[-1] + recurrence.shape[-1] + 1
    steps = max(x.shape[0], 1)
    moved = conditioning.reaction(op, operands, truth, index)
    shifted = _gate_reaction(op, operands, truth, index)
    states = [np.asarray(v) for v in operands[5:7] if v is not None]
    size = np.maximum(_largest(states), np.maximum(1.0, np.abs(truth)))
    gates = GATES * unit.u * (2 * shifted + size)
    soft = 8 * unit.u * np.sqrt(terms) * moved + gates + 4 * unit.ulp(truth)
    hard = 32 * unit.u * terms * moved + 4 * gates + 16 * unit.ulp(truth)
    data, factors = (_largest(v) for v in ([x, *states], [weights, recurrence]))
    peak = np.full(truth.shape, terms * max(data, 1.0) * max(factors, 1.0))
    basis = f"conditioning over {steps} steps of {terms} terms"
    return Bound(soft, lambda: hard, peak, basis, spreads=True)


def _gate_reaction(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int) -> np.ndarray:
    """Root mean square of the result's change per unit of absolute change before the gates."""
    recurrence = np.asarray(operands[2])
    size = 1.0 + np.sqrt((recurrence**2).sum(-1))
    rng = np.random.default_rng(conditioning.PROBES)
    given = [*operands, None][: max(len(operands), 4)]
    bias = given[3]
    if bias is None:
        bias = np.zeros((recurrence.shape[0], 2 * recurrence.shape[1]))
    total = np.zeros(truth.shape)
    for _ in range(conditioning.PROBES):
        change = np.zeros(np.shape(bias))
        change[:, : size.shape[1]] = size * rng.uniform(-1, 1, size.shape)
        given[3] = bias + conditioning.STEP * change
        moved = (np.asarray(evaluate(op, given, wide=True)[index]) - truth) / conditioning.STEP
        total += np.where(np.isfinite(moved), moved, 0.0) ** 2
    return np.sqrt(total / conditioning.PROBES)


def _largest(arrays: Sequence[np.ndarray]) -> float:
    found = (float(np.fmax.reduce(np.abs(v), axis=None, initial=0.0)) for v in arrays)
    return max(found, default=0.0)
