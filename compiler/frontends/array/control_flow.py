"""`xp.cond` and `xp.assume`: choices that a trace can keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import cast, lift
from isomorph.frontends.array.dims import DimCondition
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import result_type
from isomorph.frontends.array.scope import Scope, current, entered
from isomorph.frontends.array.structure import form, leaves, mapped
from isomorph.frontends.array.traced import Traced
from isomorph.ir.dims import Constraint
from isomorph.ir.graph import Graph
from isomorph.ir.source import caller
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class AssumptionError(ValueError):
    """`xp.assume` of something that does not hold for these arrays."""


def assume(condition: Any) -> None:
    """State that a relation between dims always holds: it is recorded in the graph.

    `xp.assume(x.shape[0] > 3)` lets `if x.shape[0] > 3` be decided. Outside a trace the condition
    is checked.

    Raises:
        AssumptionError: when the condition is false, outside a trace.
        TraceError: when it contradicts what is declared, or is not about dims.
    """
    if isinstance(condition, DimCondition):
        reason = f"assumed at {caller()}"
        constraint = Constraint(condition.left, condition.relation, condition.right, reason)
        condition.scope.trace.add_constraint(constraint)
    elif isinstance(condition, Traced):
        raise TraceError("xp.assume takes a relation between dims, not a traced value")
    elif not condition:
        raise AssumptionError(f"{caller()}: what is assumed does not hold")


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    *operands: Any,
) -> Any:
    """`true_fn(*operands)` if `pred` else `false_fn(*operands)`, decided at run time: ONNX's If.

    Args:
        pred: a bool array of one element, a comparison of dims, or a bool.
        true_fn: one branch; it may also use traced arrays from outside.
        false_fn: the other; both return the same number of arrays, of the same ranks.
        operands: what the branches are called with.

    Raises:
        TraceError: when the branches' results do not match.
    """
    if not isinstance(pred, (Traced, DimCondition)):
        return true_fn(*operands) if pred else false_fn(*operands)
    flag = lift(pred)
    if flag.dtype != np.bool_ or flag.size != 1:
        raise TraceError(
            f"xp.cond needs a bool of one element, {flag.type} was given", "xp.any(x) or xp.all(x)"
        )
    scope = current()
    first, second = (
        _branch(scope, "then", true_fn, operands),
        _branch(scope, "else", false_fn, operands),
    )
    _unify(first, second)
    captures = _joined(first.scope, second.scope)
    made = scope.emit(
        "If",
        [flag.value],
        {"then_branch": first.scope.graph, "else_branch": second.scope.graph},
        outputs=len(first.arrays),
        captures=captures,
        types=[_common(a, b) for a, b in zip(first.arrays, second.arrays, strict=True)],
    )
    return first.rebuild([Traced(v, scope) for v in made.results])


class _Branch:
    """One traced branch: its scope, its results, and their structure."""

    def __init__(self, scope: Scope, result: Any) -> None:
        self.scope = scope
        self.result = result
        self.arrays: list[Traced] = []
        self.dtypes: list[Any] = []

    def leaves(self) -> list[Any]:
        """The results, flat."""
        return list(leaves(self.result))

    def rebuild(self, arrays: Sequence[Traced]) -> Any:
        """Arrays in the structure that the branch returned."""
        remaining = iter(arrays)
        return mapped(self.result, lambda _: next(remaining))


def _branch(outer: Scope, name: str, fn: Callable[..., Any], operands: Sequence[Any]) -> _Branch:
    scope = Scope(outer.trace, Graph(f"{name}_branch"), outer)
    with entered(scope):
        return _Branch(scope, fn(*operands))


def _unify(first: _Branch, second: _Branch) -> None:
    """Results of both branches as outputs of their graphs, promoted to common dtypes."""
    left, right = first.leaves(), second.leaves()
    if form(first.result) != form(second.result) or not left:
        raise TraceError(
            f"the branches of xp.cond return {form(first.result)} and {form(second.result)}; "
            "both must return arrays in the same structure"
        )
    dtypes = [result_type(a, b) for a, b in zip(left, right, strict=True)]
    for branch, results in ((first, left), (second, right)):
        branch.scope.alive = True
        with entered(branch.scope):
            for leaf, dtype in zip(results, dtypes, strict=True):
                made = cast(lift(leaf, dtype), dtype)
                value = made.value
                if value.producer is None or branch.scope.graph.is_output(value):
                    value = branch.scope.emit("Identity", [value]).output
                branch.scope.graph.outputs.append(value)
                branch.arrays.append(Traced(value, branch.scope))
    for a, b in zip(first.arrays, second.arrays, strict=True):
        if a.ndim != b.ndim:
            raise TraceError(f"the branches of xp.cond return {a.type} and {b.type}")


def _common(a: Traced, b: Traced) -> TensorType:
    """The type of both; a dim in which they differ is open."""
    dims = tuple(i if i == j else None for i, j in zip(a.dims, b.dims, strict=True))
    return TensorType(DType.of(a.dtype), dims)


def _joined(first: Scope, second: Scope) -> list[Any]:
    """Give both branches the same captures, in one order."""
    outer = list(dict.fromkeys([*first.captured, *second.captured]))
    for scope in (first, second):
        scope.graph.captures.clear()
        for value in outer:
            inner = scope.captured.get(value)
            if inner is None:
                scope.graph.add_capture(value.name, value.type)
            else:
                scope.graph.captures.append(inner)
    return outer
