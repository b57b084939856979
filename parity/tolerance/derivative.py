"""What relative changes of an op's operands do to its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import evaluate
from isomorph.parity.arrays import is_double

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

STEP = 2.0**-20


def carried(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int) -> np.ndarray:
    """Σ |x ∂f/∂x| per element of an elementwise op, by central differences in float64."""
    if op.key == ("", "Range"):  # start + i · delta; its operands decide its length, too
        return np.abs(operands[0]) + np.abs(truth - operands[0])
    total = np.zeros_like(truth)
    for position, operand in enumerate(operands):
        if not is_double(operand):
            continue
        moved: list[np.ndarray] = []
        for factor in (1 + STEP, 1 - STEP):
            given = list(operands)
            given[position] = operand * factor
            moved.append(np.asarray(evaluate(op, given, wide=True)[index]))
        slope = np.abs(moved[0] - moved[1]) / (2 * STEP)
        total = total + np.where(np.isfinite(slope), slope, 0.0)
    return total
