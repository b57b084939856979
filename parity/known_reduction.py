"""Which results of reductions known divergences explain: measured on onnxruntime 1.31.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

WHOLE, LARGEST = 2.0**53, 2.0**63
"""Up to where float64 and int64 hold every integer."""
DOUBLE = 2.0**-53


def forward(op: Op, operands: Sequence[Any], got: tuple[int, ...]) -> bool:
    """Whether this is the shape of nothing, reduced along axes that count from the front alone."""
    given = np.shape(operands[0])
    axes = op.attr("axis", 0) if op.type.startswith("Arg") else op.attr("axes", ())
    if len(operands) > 1 and operands[1] is not None:
        axes = operands[1]
    given_axes = np.asarray(() if axes is None else axes, np.int64).reshape(-1)
    stated: list[int] = given_axes.tolist()
    if 0 not in given or not any(axis < 0 for axis in stated):
        return False
    kept = {axis for axis in stated if axis >= 0}
    if op.attr("keepdims", 1):
        return got == tuple(1 if i in kept else n for i, n in enumerate(given))
    return got == tuple(n for i, n in enumerate(given) if i not in kept)


def in_float64(op: Op, operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether sums and products of integers differ as float64 makes them, each that does."""
    if got.dtype.kind not in "iu" or got.dtype.itemsize < 8:
        return False
    x = np.abs(np.asarray(operands[0]).astype(np.float64))
    size = np.asarray(evaluate(op, [x, *operands[1:]], wide=True)[0])
    terms = x.size // max(got.size, 1) + 4
    if op.type == "ReduceMean":
        size = size * (terms - 4)
    off = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    beyond = ~(size < LARGEST)
    near = (off <= terms * DOUBLE * size) & (size >= WHOLE) & ~beyond
    bad = got != wanted
    return bool((~bad | near | beyond).all() and (bad & near).any())
