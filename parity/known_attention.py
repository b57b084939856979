"""Which results of attention, and of the softmax in it, known divergences explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance.units import Unit

DOUBLE, SINGLE = 2.0**-53, 2.0**-24


def single_scale(
    op: Op, operands: Sequence[Any], got: np.ndarray, _truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Elements that are right but for the factor of Q and of K, which was rounded to float32."""
    near = np.zeros(got.shape, bool)
    if unit.u != DOUBLE:
        return near
    q, given = np.asarray(operands[0]), op.attr("scale")
    size = q.shape[3] if q.ndim == 4 else q.shape[2] // int(op.attr("q_num_heads") or 1)
    right = 1 / np.sqrt(float(max(size, 1))) if given is None else float(np.float32(given))
    scale = np.float32(1) / np.sqrt(np.float32(max(size, 1))) if given is None else given
    root = float(np.sqrt(np.float32(scale)))
    moved = evaluate(op, [q * (root * root / right), *operands[1:]], wide=True)
    for other in (np.asarray(m) for m in moved if np.shape(m) == got.shape):
        near |= np.abs(got - other) <= 2.0**-40 * np.fmax(1.0, np.abs(other))
    return near


def unrounded(
    op: Op, operands: Sequence[Any], got: np.ndarray, truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """What a softmax of numbers gives that were never rounded to the format of the result."""
    source = op.input(0)
    made = None if source is None else source.producer
    if made is None or made.type != "Cast" or unit.u in (DOUBLE, SINGLE):
        return np.zeros(got.shape, bool)
    axis = int(op.attr("axis", -1))
    moved = unit.u * np.abs(np.asarray(operands[0]))
    together = moved + (truth * moved).sum(axis, keepdims=True)
    return np.abs(got - truth) <= truth * np.expm1(together) + unit.ulp(truth)
