"""Inputs that shapes depend on: the host knows their values before anything is planned.

A shape, an axis, a slice's bounds that arrive as inputs become constants of the plan, and all that
is computed from them alone is folded. A plan is made for each set of such values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.copies import copy_graph
from isomorph.ir.demand import STATED
from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isomorph.ir.graph import Graph, Op, Value

REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
OPERANDS: dict[str, tuple[int, ...]] = {
    **STATED,
    "CumProd": (1,),
    "CumSum": (1,),
    "Dropout": (1, 2),
    "If": (0,),
    "Reshape": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    **{f"Reduce{kind}": (1,) for kind in REDUCTIONS},
}
"""Operands that say what is computed, by op type of the default domain: sizes, and where."""

LONGEST = 1024
"""Elements of an input that may be known beforehand: shapes are short."""


def told(graph: Graph) -> set[Value]:
    """Operands that say what is computed, and all that they are computed from."""
    waiting = [
        value
        for _, op in graph.walk()
        if not op.domain
        for index in OPERANDS.get(op.type, ())
        if (value := op.input(index)) is not None
    ]
    seen: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.producer is not None and value.producer.type not in {"Shape", "Size"}:
            waiting += value.producer.operands
    return seen


def hosted(graph: Graph) -> tuple[int, ...]:
    """Positions of the inputs whose values a plan depends on: vectors and scalars alone."""
    seen = told(graph)
    return tuple(n for n, v in enumerate(graph.inputs) if v in seen and is_short(v))


def without_types(graph: Graph) -> Graph:
    """A copy that states no type of a result: guesses need not agree with what was stated."""
    made, _ = copy_graph(graph)
    for op in made.ops():
        for value in op.results:
            value.type = None
    return made


def bind(graph: Graph, values: Mapping[int, np.ndarray]) -> None:
    """Make inputs constants, in place; the inputs stay, and nothing reads them."""
    for index, array in values.items():
        value = graph.inputs[index]
        patch = Patch(graph)
        patch.replace(value, patch.weight(Weight.of(array), value.name))
        patch.apply()


def guesses(graph: Graph, indexes: Sequence[int]) -> dict[int, np.ndarray]:
    """Values to plan with before any are known; they may not fit."""
    return {n: _guess(graph, graph.inputs[n]) for n in indexes}


def is_short(value: Value) -> bool:
    """Whether a value is a vector or a scalar, and no longer than shapes are."""
    kind = value.type
    if not isinstance(kind, TensorType) or kind.shape is None or len(kind.shape) > 1:
        return False
    return not any(isinstance(d, int) and d > LONGEST for d in kind.shape)


def _guess(graph: Graph, value: Value) -> np.ndarray:
    kind = value.type
    assert isinstance(kind, TensorType)  # noqa: S101 - `is_short` has seen to it
    shape = tuple(d if isinstance(d, int) else 1 for d in kind.shape or ())
    guess = np.ones(shape)
    for op in graph.consumers(value):
        if value in op.inputs:
            guess = _for(op, op.inputs.index(value), shape)
    return guess.astype(kind.dtype.numpy)


def _for(op: Op, index: int, shape: tuple[int, ...]) -> np.ndarray:
    """What an operand of an op could be."""
    ones, zeros = np.ones(shape), np.zeros(shape)
    made, first = op.output.type, op.inputs[0]
    result = made.static_shape if isinstance(made, TensorType) else None
    given = (
        first.type.static_shape
        if first is not None and isinstance(first.type, TensorType)
        else None
    )
    axes = np.arange(ones.size).reshape(shape)
    match op.type, index:
        case ("Reshape" | "Expand" | "ConstantOfShape" | "CenterCropPad", _) if result is not None:
            return np.resize(np.array(result or (1,)), shape)
        case "Reshape", _:
            return np.where(axes == 0, -1, 1)
        case "Resize", 3 if given is not None:
            return np.resize(np.array(given or (1,)), shape)
        case "Split", _ if given is not None:
            whole = given[int(op.attr("axis")) % len(given)]
            return np.where(
                axes == 0,
                whole - (ones.size - 1) * (whole // max(ones.size, 1)),
                whole // max(ones.size, 1),
            )
        case "MaxUnpool", 2 if given is not None:
            return np.resize((*given[:2], *(8 * d + 16 for d in given[2:])), shape)
        case "Dropout", _:
            return zeros
        case "Slice", 2:
            return ones * np.iinfo(np.int32).max
        case "Squeeze", _ if given is not None:
            return np.resize(np.flatnonzero(np.array(given) == 1), shape)
        case ("Unsqueeze" | "Slice" | "Pad", 1 | 3) if op.type == "Unsqueeze" or index == 3:
            return axes
        case "Slice", 4:
            return ones
        case ("Slice" | "Pad" | "Trilu" | "CumSum" | "CumProd" | "Range", _):
            return ones if (op.type, index) in {("Range", 1), ("Range", 2)} else zeros
        case kind, 1 if kind.startswith("Reduce"):
            return axes
        case _:
            return ones
