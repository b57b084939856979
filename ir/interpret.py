"""Run a graph op by op on numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Graph, Op, Value

    Watch = Callable[[Op, list[Any], list[Any]], list[Any] | None]


def interpret(
    graph: Graph,
    inputs: Sequence[Any],
    captures: Sequence[Any] = (),
    *,
    wide: bool = False,
    watch: Watch | None = None,
) -> list[Any]:
    """The graph's outputs, in order.

    Args:
        graph: any graph, canonical or not.
        inputs: one array (or list, for sequences) per graph input.
        captures: one per graph capture.
        wide: compute every float in float64, from widened weights.
        watch: called after each op with (op, operands, results); what it returns, if anything,
            takes the place of the results.
    """
    if len(inputs) != len(graph.inputs):
        raise InvalidGraphError(
            f"{graph.name}: {len(inputs)} inputs were given, {len(graph.inputs)} are wanted"
        )
    known: dict[Value, Any] = {}
    for value, given in zip(graph.inputs, inputs, strict=True):
        known[value] = widen(given) if wide else given
    for value, given in zip(graph.captures, captures, strict=True):
        known[value] = given
    for value in graph.weights():
        if value.weight is not None:
            array = value.weight.numpy()
            known[value] = widen(array) if wide else array
    remaining = {v: len(graph.consumers(v)) for v in graph.values()}
    for value in graph.outputs:
        remaining[value] += 1

    def run(sub: Graph, formal: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
        return interpret(sub, formal, captured, wide=wide, watch=watch)

    for op in graph.sorted_ops():
        operands = [None if v is None else known[v] for v in op.inputs]
        captured = [known[v] for v in op.captures]
        results = evaluate(op, operands, wide=wide, captures=captured, run=run)
        if watch is not None:
            results = watch(op, operands, results) or results
        for value, result in zip(op.outputs, results, strict=False):
            if value is not None:
                known[value] = result
        for value in set(op.operands):
            remaining[value] -= 1
            if not remaining[value]:
                del known[value]
    return [known[v] for v in graph.outputs]


def widen(value: Any) -> Any:
    """Floats as float64, everything else as it is; lists element by element."""
    if isinstance(value, list):
        return [widen(v) for v in value]
    array = np.asarray(value)
    if array.dtype != object and array.dtype.kind not in "OUST" and DType.of(array.dtype).is_float:
        return array.astype(np.float64, copy=False)
    return value
