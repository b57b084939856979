"""What onnxruntime's products with weights of few bits do otherwise: measured on 1.31.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call, evaluate
from isomorph.ir.semantics._nbits import weights_of
from isomorph.parity.tolerance.fused import INT8, few_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance.units import Unit

ZEROS, GROUPS = 3, 4
LEAST_NORMAL = 2.0**-126


def without_zeros(
    op: Op, operands: Sequence[Any], got: np.ndarray, _truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Elements that are right for the zero points there are when none is given."""
    given = [*operands, None, None][: GROUPS + 1]
    zeros = given[ZEROS]
    if zeros is None or np.asarray(zeros).dtype != np.uint8 or given[GROUPS] is None:
        return np.zeros(got.shape, bool)
    given = [*operands]
    given[ZEROS] = None
    other = np.asarray(evaluate(op, given, wide=True)[0])
    return np.abs(got - other) <= few_bits(op, given, other, 0, unit).hard


def coarse_steps(
    op: Op, operands: Sequence[Any], got: np.ndarray, truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Elements that lack no more than blocks of A whose step, as int8, is no normal number."""
    if op.attr("accuracy_level", 0) != INT8:
        return np.zeros(got.shape, bool)
    given = [*operands, None, None][: GROUPS + 1]
    size, block = np.abs(np.asarray(given[0])), int(op.attr("block_size", 0) or 1)
    values = np.abs(weights_of(Call(op, wide=True), *given[1:]).values)
    lost: Any = 0.0
    for start in range(0, values.shape[1], block):
        part = size[..., start : start + block]
        small = part.max(-1, keepdims=True) / 127 < LEAST_NORMAL
        lost = lost + np.matmul(np.where(small, part, 0.0), values[:, start : start + block].T)
    return np.abs(got - truth) <= 2 * lost + few_bits(op, operands, truth, 0, unit).hard
