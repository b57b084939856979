"""What a graph computes from constants alone, and how far the stored result lies from it.

An export stores such a value, rounded once to its dtype. It may look like a constant that the graph
has anyhow: 1 for a float16 of 1 - 4e-10, or a number that another weight holds.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.budget import BudgetError
from isomorph.ir.interpret import widen
from isomorph.ir.opdef import OPS
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import TensorType
from isomorph.parity.arrays import is_double
from isomorph.parity.noise import EVALUATION_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isomorph.ir.graph import Graph, Op, Value

    Folded = Mapping[bytes, np.ndarray]


def content(array: np.ndarray) -> bytes:
    """A hash of an array's dtype and elements, whatever shape they have."""
    return hashlib.sha256(array.dtype.name.encode() + array.tobytes()).digest()


def folded(graph: Graph) -> Folded:
    """By the content of what is stored, the largest distance of each element from what it was.

    Raises:
        BudgetError: when it takes more than what is left of the budget, if there is one.
    """
    found: dict[bytes, np.ndarray] = {}
    for value, wide in _computed(graph, {}):
        if not isinstance(value.type, TensorType) or not is_double(wide):
            continue
        with np.errstate(all="ignore"):
            stored = np.asarray(wide).astype(value.type.dtype.numpy)
            off = np.abs(np.asarray(widen(stored)) - wide).reshape(-1)
        off = np.where(np.isfinite(off), off, 0.0)
        if off.any():
            key = content(stored)
            found[key] = np.maximum(found.get(key, 0.0), off)
    return found


def _computed(graph: Graph, known: dict[Value, Any]) -> Iterator[tuple[Value, Any]]:
    """Results of ops on constants, in float64, those of subgraphs too."""
    known |= {v: widen(v.weight.numpy()) for v in graph.weights() if v.weight is not None}
    for op in graph.sorted_ops():
        for _, inner in op.subgraphs():
            pairs = zip(inner.captures, op.captures, strict=False)
            yield from _computed(inner, {i: known[o] for i, o in pairs if o in known})
        if not _is_constant(op, known):
            continue
        operands = [None if v is None else known[v] for v in op.inputs]
        try:
            results: Sequence[Any] = evaluate(op, operands, wide=True)
        except BudgetError:
            raise
        except EVALUATION_ERRORS:
            continue  # nothing was folded there
        for value, result in zip(op.outputs, results, strict=False):
            if value is not None:
                known[value] = result
                yield value, result


def _is_constant(op: Op, known: dict[Value, Any]) -> bool:
    definition = OPS.get(op.key)
    if definition is None or not definition.deterministic or any(True for _ in op.subgraphs()):
        return False
    return all(v in known for v in op.operands)
