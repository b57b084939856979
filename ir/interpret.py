"""Run a graph op by op on numpy arrays.

A sequence is a list, a map a dict from int or str to numpy scalars (or str), an optional that is
absent `None`, one that is present its element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.budget import current
from isomorph.ir.dice import current as rolled
from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.budget import Budget
    from isomorph.ir.graph import Graph, Op, Value

    Watch = Callable[[Op, list[Any], list[Any]], list[Any] | None]
    Change = Callable[[Value, Any], Any]
    Foreign = Callable[[Op, list[Any]], list[Any] | None]


class Program:
    """A graph made ready to be run many times: order, lifetimes and widened weights are kept.

    Args:
        graph: any graph, canonical or not; it must not be edited while the program is in use.
        wide: compute every float in float64, from widened weights.

    Attributes:
        foreign: gives the results of operators that have no definition here, `None` for others.
    """

    def __init__(self, graph: Graph, *, wide: bool = False) -> None:
        self.graph = graph
        self.wide = wide
        self.foreign: Foreign | None = None
        self._order = graph.sorted_ops()
        self._weights: dict[Value, Any] = {}
        for value in graph.weights():
            if value.weight is not None:
                array = value.weight.numpy()
                self._weights[value] = widen(array) if wide else array
        last: dict[Value, int] = {}
        for index, op in enumerate(self._order):
            last.update(dict.fromkeys(op.operands, index))
            for value in op.results:
                last.setdefault(value, index)
        kept = set(graph.outputs)
        self._dead: list[list[Value]] = [[] for _ in self._order]
        for value, index in last.items():
            if value not in kept:
                self._dead[index].append(value)
        self._inner: dict[int, Program] = {}

    def run(
        self,
        inputs: Sequence[Any],
        captures: Sequence[Any] = (),
        *,
        watch: Watch | None = None,
        change: Change | None = None,
    ) -> list[Any]:
        """The graph's outputs, in order.

        Args:
            inputs: one array (or list, for sequences) per graph input.
            captures: one per graph capture.
            watch: called after each op with (op, operands, results); what it returns, if
                anything, takes the place of the results.
            change: called with every input, weight and result as it becomes known; what it
                returns takes its place.

        Raises:
            BudgetError: when it takes more than what is left of the budget, if there is one.
        """
        dice = rolled()
        if dice is not None:
            dice.restart()
        return self._run(inputs, captures, watch, change)

    def _run(
        self,
        inputs: Sequence[Any],
        captures: Sequence[Any],
        watch: Watch | None,
        change: Change | None,
    ) -> list[Any]:
        graph = self.graph
        if len(inputs) != len(graph.inputs):
            raise InvalidGraphError(
                f"{graph.name}: {len(inputs)} inputs were given, {len(graph.inputs)} are wanted"
            )
        if len(captures) != len(graph.captures):
            raise InvalidGraphError(
                f"{graph.name}: {len(captures)} captures were given, "
                f"{len(graph.captures)} are wanted"
            )
        known = dict(self._weights)
        for value, given in zip(graph.inputs, inputs, strict=True):
            known[value] = widen(given) if self.wide else given
        if change is not None:
            known = {value: change(value, array) for value, array in known.items()}
        known.update(zip(graph.captures, captures, strict=True))

        budget = current()
        if budget is None:
            return self._go(known, watch, change, None)
        budget.check()  # a body without ops would never be asked
        held = budget.held
        try:
            return self._go(known, watch, change, budget)
        finally:
            budget.held = held

    def _go(
        self,
        known: dict[Value, Any],
        watch: Watch | None,
        change: Change | None,
        budget: Budget | None,
    ) -> list[Any]:
        def run(sub: Graph, formal: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
            inner = self._inner.get(id(sub))
            if inner is None:
                inner = self._inner[id(sub)] = Program(sub, wide=self.wide)
                inner.foreign = self.foreign
            return inner._run(formal, captured, watch, change)

        for op, dead in zip(self._order, self._dead, strict=True):
            operands = [None if v is None else known[v] for v in op.inputs]
            captured = [known[v] for v in op.captures]
            results = None if self.foreign is None else self.foreign(op, operands)
            if results is None:
                results = evaluate(op, operands, wide=self.wide, captures=captured, run=run)
            elif self.wide:
                results = [widen(v) for v in results]
            if watch is not None:
                results = watch(op, operands, results) or results
            if any(v is not None for v in op.outputs[len(results) :]):
                raise InvalidGraphError(
                    f"{op}: {len(results)} results were computed, {len(op.outputs)} are wanted"
                )
            for value, result in zip(op.outputs, results, strict=False):
                if value is None:
                    continue
                known[value] = found = result if change is None else change(value, result)
                if budget is not None:
                    budget.hold(found, op)
            for value in dead:
                if budget is not None and value.producer is not None:
                    budget.release(known.get(value))
                known.pop(value, None)
        return [known[v] for v in self.graph.outputs]


def interpret(
    graph: Graph,
    inputs: Sequence[Any],
    captures: Sequence[Any] = (),
    *,
    wide: bool = False,
    watch: Watch | None = None,
) -> list[Any]:
    """The graph's outputs, in order: `Program`, once."""
    return Program(graph, wide=wide).run(inputs, captures, watch=watch)


def widen(value: Any) -> Any:
    """Floats as float64, everything else as it is; sequences and maps element by element."""
    if isinstance(value, list):
        return [widen(v) for v in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {k: widen(v) for k, v in cast("dict[Any, Any]", value).items()}
    array = np.asarray(value)
    if array.dtype != object and array.dtype.kind not in "OUST" and DType.of(array.dtype).is_float:
        return array.astype(np.float64, copy=False)
    return value
