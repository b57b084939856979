"""Executable semantics: what an operator computes, on numpy arrays.

One table per family (`SEMANTICS`, keyed by (domain, op)) holds vectorised implementations by
version range; everything else runs on `onnx.reference`, which nobody here wrote. They compute in
the dtype of their operands; with `wide`, every float is float64, and casts to a float do not
round: the function that the graph stands for, free of its own rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.budget import current, out_of_memory
from isomorph.ir.errors import TypeInferenceError, UnsupportedError
from isomorph.ir.opdef import FAMILIES, Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.types import DType

    Runner = Callable[[Graph, Sequence[Any], Sequence[Any]], list[Any]]


class Call:
    """One evaluation of an op: its attributes, and how wide floats are."""

    def __init__(
        self, op: Op, *, wide: bool = False, captures: Sequence[Any] = (), run: Runner | None = None
    ) -> None:
        self.op = op
        self.wide = wide
        self.captures = captures
        self._run = run

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, else the schema's default; floats rounded to the float32 of a file."""
        found = self.op.attr(name, default)
        if isinstance(found, float):
            return float(np.float32(found))
        if isinstance(found, tuple):
            items = cast("tuple[Any, ...]", found)
            if items and isinstance(items[0], float):
                return tuple(float(np.float32(v)) for v in items)
            return items
        return found

    @property
    def outputs(self) -> int:
        """How many outputs are wanted, counting absent ones in between."""
        return len(self.op.outputs)

    def float_dtype(self, dtype: DType) -> np.dtype:
        """The numpy dtype for an element type named by an attribute: float64 when wide."""
        return np.dtype(np.float64) if self.wide and dtype.is_float else dtype.numpy

    def run(self, graph: Graph, inputs: Sequence[Any] = ()) -> list[Any]:
        """Evaluate one of the op's subgraphs on its formal inputs."""
        if self._run is None:
            raise UnsupportedError(f"{self.op}: its subgraphs cannot be run here")
        return self._run(graph, inputs, self.captures)

    def fitting(self, value: Any, shape: tuple[int, ...]) -> Any:
        """The same value; TypeInferenceError where operands broadcast it to another shape."""
        if np.shape(value) != shape:
            raise TypeInferenceError(
                f"{self.op}: its other operands make the result {np.shape(value)}, where "
                f"{shape} is what it must be"
            )
        return value

    def keep(self, value: Any) -> Any:
        """The same value, counted against the budget until this op is done."""
        budget = current()
        if budget is not None:
            budget.hold(value, self.op)
        return value


NEWEST = 10**6
"""Later than any version."""


@dataclass(frozen=True, slots=True)
class Impl:
    """An implementation for versions `since` to `until` (inclusive): `function(call, *inputs)`.

    It returns one array, or a tuple of them. Absent inputs are `None`. Where it `keeps`, other
    operands must fit the first one, whose shape the first result has.
    """

    function: Callable[..., Any]
    since: int = 1
    until: int = NEWEST
    keeps: bool = field(default=False, kw_only=True)


SEMANTICS: Manifest[tuple[Impl, ...]] = Manifest(
    "isomorph.ir.semantics", "SEMANTICS", (*FAMILIES, "internal")
)


def evaluate(
    op: Op,
    inputs: Sequence[Any],
    *,
    wide: bool = False,
    captures: Sequence[Any] = (),
    run: Runner | None = None,
) -> list[Any]:
    """The results of one op on concrete operands (`None` for absent ones).

    Raises:
        UnsupportedError: when neither we nor the reference interpreter know the operator.
        BudgetError: when it takes more than what is left of the budget, if there is one.
    """
    budget = current()
    if budget is None:
        return _evaluated(op, inputs, wide, captures, run)
    budget.admit(op, inputs, wide=wide)
    held = budget.held
    budget.ops.append(op)
    try:
        return _evaluated(op, inputs, wide, captures, run)
    finally:
        budget.ops.pop()
        budget.held = held


def _evaluated(
    op: Op, inputs: Sequence[Any], wide: bool, captures: Sequence[Any], run: Runner | None
) -> list[Any]:
    implementation = find(op)
    try:
        if implementation is None:
            from isomorph.ir.reference import evaluate_by_reference

            return evaluate_by_reference(op, inputs, wide=wide)
        with np.errstate(all="ignore"):
            call = Call(op, wide=wide, captures=captures, run=run)
            found = implementation.function(call, *inputs)
            if implementation.keeps:
                results = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
                call.fitting(results[0], np.shape(inputs[0]))
    except MemoryError as error:
        raise out_of_memory(op, error) from None
    return list(cast("tuple[Any, ...]", found)) if isinstance(found, tuple) else [found]


def find(op: Op) -> Impl | None:
    """Our implementation for this op's version, `None` when only the reference has one."""
    for row in SEMANTICS.get(op.key) or ():
        if row.since <= op.version <= row.until:
            return row
    return None
