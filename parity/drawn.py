"""What depends on random numbers: which outputs do, and what is asked of the numbers themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.dice import may_draw
from isomorph.ir.interpret import widen
from isomorph.ir.semantics import Call, evaluate
from isomorph.ir.types import DType, TensorType
from isomorph.parity.arrays import is_float, is_tensor
from isomorph.parity.exact import has_nan
from isomorph.parity.finding import Finding
from isomorph.parity.leaves import formed_otherwise
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.parity.candidate import Candidate


def drawing(graph: Graph) -> list[Op]:
    """The ops that draw random numbers, those of subgraphs included."""
    return [op for _, op in graph.walk() if may_draw(op)]


def depending(graph: Graph) -> frozenset[int]:
    """The outputs that depend on what is drawn."""
    drawn: set[Value] = set()
    for op in graph.sorted_ops():
        inside = (inner for _, sub in op.subgraphs() for _, inner in sub.walk())
        if may_draw(op) or any(map(may_draw, inside)) or not drawn.isdisjoint(op.operands):
            drawn.update(op.results)
    return frozenset(i for i, v in enumerate(graph.outputs) if v in drawn)


class Drawn:
    """What random numbers decide of a model's outputs: each session draws numbers of its own.

    Attributes:
        outputs: those that depend on them.
        words: what to tell of it.
    """

    def __init__(self, candidate: Candidate) -> None:
        graph = self._graph = candidate.graph
        self.outputs = depending(graph)
        ops = ", ".join(sorted({op.type for op in drawing(graph)}))
        names = ", ".join(repr(graph.outputs[i].name) for i in sorted(self.outputs))
        self.words = (
            f"{names} depend{'s' * (len(self.outputs) == 1)} on random numbers ({ops}): in float64 "
            "both models were given the same ones; of what the run time draws, form and range "
            "alone were compared"
        )

    def decide(self, index: int, one: Any, other: Any) -> bool:
        """Whether two values of an output differ in dims alone that random numbers decide."""
        kind = self._graph.outputs[index].type
        if index not in self.outputs or not isinstance(kind, TensorType):
            return False
        if not (is_tensor(one) and is_tensor(other)):
            return False
        bound = self._graph.symbols().keys()
        fixed = kind.shape is not None and all(
            isinstance(d, int) or (d is not None and d.symbols() <= bound) for d in kind.shape
        )
        return not fixed and np.ndim(one) == np.ndim(other) and is_float(one) == is_float(other)

    def set_aside(self, plain: Sequence[Any], optimized: Sequence[Any]) -> list[Any]:
        """The results of the optimized session, with plain ones where form alone counts."""
        found = list(optimized)
        for index in self.outputs:
            one, other = plain[index], optimized[index]
            if not formed_otherwise(one, other) or self.decide(index, one, other):
                found[index] = one
        return found


def judge(op: Op, operands: Sequence[Any], results: Sequence[Any]) -> list[Finding]:
    """Whether what the run time drew has the form that it should have, and lies where it should.

    One finding per result that is present.
    """
    if any(has_nan(v) or _has_infinity(v) for v in operands):
        words = f"the standard leaves {op.type} of NaN and of infinities open"
        return [Finding(Status.UNSPECIFIED, words) for r in results if r is not None]
    own = evaluate(op, operands)
    found: list[Finding] = []
    for index, result in enumerate(results):
        if result is None:
            continue
        wanted, got = np.asarray(own[index]), np.asarray(result)
        problem = ""
        if wanted.dtype != got.dtype or wanted.shape != got.shape:
            problem = f"it is {_form(got)}, the reference gives {_form(wanted)}"
        elif index == 0:
            problem = _outside(op, operands, got)
        found.append(Finding(Status.FAIL, problem) if problem else Finding())
    return found


def _has_infinity(value: Any) -> bool:
    return is_float(value) and bool(np.isinf(np.asarray(value).astype(np.float64)).any())


def _form(array: np.ndarray) -> str:
    return f"{DType.of(array.dtype)}[{', '.join(map(str, array.shape))}]"


def _outside(op: Op, operands: Sequence[Any], got: np.ndarray) -> str:
    span = _range(op, operands)
    if span is None:
        return ""
    low, high = (float(np.asarray(v).astype(got.dtype)) for v in span)
    drawn = np.asarray(widen(got), np.float64)
    outside = ~((drawn >= low) & (drawn <= high))
    if not outside.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(outside)[0])
    return f"it draws numbers from {low:g} to {high:g}; at {list(at)} it is {drawn[at]:.9g}"


def _range(op: Op, operands: Sequence[Any]) -> tuple[float, float] | None:
    """Between what the numbers lie; a uniform one may be rounded to its upper end."""
    call = Call(op)
    match op.type:
        case "RandomUniform" | "RandomUniformLike":
            return call.attr("low", 0.0), call.attr("high", 1.0)
        case "Bernoulli":
            return 0.0, 1.0
        case "Multinomial":
            return 0.0, float(np.shape(operands[0])[1] - 1)
        case _:
            return None
