"""Compute what depends on constants alone, in float64, rounded once."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.budget import nbytes
from isomorph.ir.demand import Demands
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.interpret import widen
from isomorph.ir.opdef import OPS
from isomorph.ir.patch import Patch
from isomorph.ir.semantics import evaluate, find
from isomorph.ir.types import TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op, Value


INTERPRETED = 1000
"""Times as slow is the reference interpreter, which computes some ops element by element."""


@dataclass(frozen=True)
class FoldConstants:
    """Replace deterministic ops on constants by their results.

    A chain of folded ops is carried in float64 and rounded to the stored dtype where it ends, so
    a folded constant is one rounding away from the function's own value. Results larger than
    both `budget` bytes and the operands that go with it stay as they are: an expanded constant,
    or a second copy of a shared weight, only makes the file bigger. So do weights stored in few
    bits, which run times multiply as they are, and ops that take more than
    `steps` multiply-adds, or `room` bytes on the way to a small result: what is folded depends on
    the graph alone, never on the machine.
    """

    name: str = "fold-constants"
    budget: int = 1 << 16
    steps: int = 1 << 34
    room: int = 1 << 30

    def apply(self, graph: Graph) -> bool:
        """Fold, in each graph by itself; whether anything was folded."""
        changed = False
        for current in graph.graphs():
            changed |= self._fold(current)
        return changed

    def _fold(self, graph: Graph) -> bool:
        exact: dict[Value, Any] = {}
        demands = Demands()
        changed = False
        for op in graph.sorted_ops():
            if not _foldable(op):
                continue
            if not self._affordable(graph, op):
                continue
            operands = [None if v is None else self._wide(v, exact) for v in op.inputs]
            if not self._quick(op, operands, demands):
                continue
            try:
                results = evaluate(op, operands, wide=True)
            except UnsupportedError:
                continue  # neither we nor the reference can compute it: the op stays
            changed |= self._replace(graph, op, results, exact)
        return changed

    def _wide(self, value: Value, exact: dict[Value, Any]) -> Any:
        if value not in exact and value.weight is not None:
            exact[value] = widen(value.weight.numpy())
        return exact[value]

    def _quick(self, op: Op, operands: list[Any], demands: Demands) -> bool:
        """Whether it takes little to compute, whatever little comes out of it."""
        needs = demands.of(op, operands, wide=True)
        steps = needs.steps if find(op) is not None else needs.steps * INTERPRETED
        given = sum(nbytes(v) for v in operands)
        return steps <= self.steps and needs.bytes <= self.room + given

    def _affordable(self, graph: Graph, op: Op) -> bool:
        """Whether the file stays as small; an operand that others read is not saved by folding."""
        kinds = [v.type for v in op.results]
        if not all(isinstance(k, TensorType) and k.static_shape is not None for k in kinds):
            return op.type == "Constant"
        made = sum(
            prod(k.static_shape or ()) * max(k.dtype.bits, 8) // 8
            for k in kinds
            if isinstance(k, TensorType)
        )
        freed = sum(
            v.weight.nbytes
            for v in dict.fromkeys(op.operands)
            if v.weight is not None and not graph.is_output(v) and len(graph.consumers(v)) == 1
        )
        return made <= max(self.budget, freed)

    def _replace(self, graph: Graph, op: Op, results: list[Any], exact: dict[Value, Any]) -> bool:
        patch = Patch(graph, op)
        for value, result in zip(op.outputs, results, strict=False):
            if value is None:
                continue
            if not isinstance(result, np.ndarray | np.generic):
                return False
            dtype = value.type.dtype if isinstance(value.type, TensorType) else None
            if op.type == "Constant" and isinstance(op.attributes.get("value"), Weight):
                weight: Weight = op.attributes["value"]
            else:
                stored: np.ndarray = np.asarray(cast("Any", result))
                with np.errstate(all="ignore"):  # too large for the dtype: infinite there
                    rounded = stored if dtype is None else stored.astype(dtype.numpy)
                weight = Weight.of(rounded, dtype)
            constant = patch.weight(weight, value.name)
            exact[constant] = result
            patch.replace(value, constant)
        patch.remove(op)
        patch.apply()
        return True


def _foldable(op: Op) -> bool:
    definition = OPS.get(op.key)
    return (
        definition is not None
        and definition.deterministic
        and not definition.unpacks
        and bool(op.outputs)
        and not op.captures
        and not any(True for _ in op.subgraphs())
        and all(v is None or v.weight is not None for v in op.inputs)
    )
