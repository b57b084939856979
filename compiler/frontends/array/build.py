"""From Python values to operands, and from operators to traced arrays."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.dims import DimCondition, TracedDim
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import is_weak, result_type
from isomorph.frontends.array.scope import SMALL, current
from isomorph.frontends.array.structure import is_many, is_ndarray, leaves
from isomorph.frontends.array.traced import Traced
from isomorph.ir.dims import Expr, maximum
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Value
    from isomorph.ir.types import TensorType

Size = int | Expr
_CONDITIONS = {
    "==": "Equal",
    "<": "Less",
    "<=": "LessOrEqual",
    ">": "Greater",
    ">=": "GreaterOrEqual",
}


def lift(value: Any, dtype: np.dtype[Any] | None = None, name: str = "") -> Traced:
    """A traced array of any operand, cast to `dtype` where one is given."""
    scope = current()
    if isinstance(value, Traced):
        made = value
    elif isinstance(value, TracedDim):
        made = Traced(scope.dim(value.expr), scope, weak=int)
    elif isinstance(value, DimCondition):
        made = _condition(value)
    elif is_many(value) and has_traced(value):
        made = stacked(value)
    else:
        return _constant(value, dtype, name)
    return made if dtype is None else cast(made, dtype)


def strong(value: Any) -> Traced:
    """The same as `numpy.asarray`: a Python number gets a dtype of its own."""
    found = lift(value)
    return cast(found, found.dtype)


def cast(x: Traced, dtype: np.dtype[Any]) -> Traced:
    """The array as another dtype; itself when it has it."""
    if x.dtype == dtype:
        return Traced(x.value, current()) if x.weak is not None else x
    return emit("Cast", x, to=DType.of(dtype).value)


def emit(
    op: str,
    *operands: Any,
    outputs: int = 1,
    shape: Sequence[Size | None] | None = None,
    types: Sequence[TensorType | None] = (),
    domain: str = "",
    **attributes: Any,
) -> Any:
    """The result (a tuple, when several) of an operator; operands are lifted, `None` is absent.

    `shape` is what is known of the first result's dims.
    """
    scope = current()
    inputs: list[Value | None] = [None if v is None else lift(v).value for v in operands]
    while inputs and inputs[-1] is None:
        inputs.pop()
    made = scope.emit(
        op, inputs, attributes, outputs=outputs, domain=domain, types=types, shape=shape
    )
    results = tuple(Traced(v, scope) for v in made.results)
    return results if outputs > 1 else results[0]


def elementwise(op: str, *operands: Any, **attributes: Any) -> Traced:
    """The same for an operator that broadcasts all its operands."""
    arrays = [lift(v) for v in operands]
    return emit(op, *arrays, shape=broadcast(*(a.dims for a in arrays)), **attributes)


def where(condition: Any, x: Any, y: Any) -> Traced:
    """Where; numbers take the dtype of the other operand. Bools are chosen by And and Or.

    Few run times have a Where of bools.
    """
    dtype = result_type(x, y)
    chosen, one, other = lift(condition), lift(x, dtype), lift(y, dtype)
    if dtype != np.bool_:
        return elementwise("Where", chosen, one, other)
    first = elementwise("And", chosen, one)
    return elementwise("Or", first, elementwise("And", emit("Not", chosen), other))


def truth(x: Any) -> Traced:
    """Whether each element is not zero."""
    return cast(lift(x), np.dtype(np.bool_))


def broadcast(*shapes: Sequence[Size]) -> tuple[Size, ...]:
    """The broadcast shape; a relation between dims that it rests on is known or recorded."""
    rank = max(map(len, shapes), default=0)
    return tuple(
        _broadcast_dim([s[axis] for s in shapes if len(s) >= -axis], shapes)
        for axis in range(-rank, 0)
    )


def _broadcast_dim(dims: list[Size], shapes: Sequence[Sequence[Size]]) -> Size:
    scope = current()
    facts = scope.trace.facts
    kept: list[Size] = []
    for dim in dims:
        known = facts.normal(dim)
        if known != 1 and known not in kept:
            kept.append(known)
    if not kept:
        return 1
    kept.sort(key=lambda d: isinstance(d, Expr))  # numbers first: they win
    for other in kept[1:]:
        shown = " and ".join(f"({', '.join(map(str, s))})" for s in shapes)
        scope.require(other, "==", kept[0], f"broadcasting {shown}")
    return kept[0]


def axis_of(axis: int, rank: int) -> int:
    """A non-negative axis; raises TraceError when it is out of range."""
    where_ = axis.__index__()
    if not -rank <= where_ < rank:
        raise TraceError(f"axis {axis} is out of range for an array of rank {rank}")
    return where_ % rank


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes as non-negative numbers; `None` means all; a repeated one raises TraceError."""
    if axis is None:
        return tuple(range(rank))
    many = axis if is_many(axis) else (axis,)
    found = tuple(axis_of(a, rank) for a in many)
    if len(set(found)) != len(found):
        raise TraceError(f"axis {axis} names an axis twice")
    return found


def ints(values: Sequence[Any]) -> Any:
    """An int64 vector of numbers and dims."""
    scope = current()
    dims = [v.expr if isinstance(v, TracedDim) else v for v in values]
    if all(isinstance(v, (int, Expr, np.integer)) for v in dims):
        return Traced(scope.dims([v if isinstance(v, Expr) else int(v) for v in dims]), scope)
    parts = [lift(v, np.dtype(np.int64)) for v in values]
    return emit("Concat", *(p if p.ndim else emit("Unsqueeze", p, [0]) for p in parts), axis=0)


def product(dims: Sequence[Size]) -> Size:
    """Number of elements of a shape."""
    total: Size = 1
    for dim in dims:
        total = dim * total
    return total


def clamp(dim: Size, low: Size) -> Size:
    """The larger of two dims, decided by what is known."""
    if current().trace.facts.decide(dim, ">=", low):
        return dim
    return maximum(dim, low)


def has_traced(value: Any) -> bool:
    """Whether anything within nested containers is traced."""
    return any(isinstance(v, (Traced, TracedDim, DimCondition)) for v in leaves(value))


def stacked(values: Sequence[Any]) -> Traced:
    """`numpy.asarray` of nested lists with traced arrays or dims in them."""
    if values and all(isinstance(v, TracedDim) or type(v) is int for v in values):
        return ints(values)
    arrays = [strong(v) for v in values]
    dtype = result_type(*arrays)
    parts = [cast(a, dtype) for a in arrays]
    shapes = {p.dims for p in parts}
    if len(shapes) != 1:
        shown = ", ".join(str(p.type) for p in parts)
        raise TraceError(f"arrays of different shapes do not make one array: {shown}")
    return emit("Concat", *(emit("Unsqueeze", p, [0]) for p in parts), axis=0)


def _constant(value: Any, dtype: np.dtype[Any] | None, name: str) -> Traced:
    scope = current()
    array: np.ndarray
    if dtype is not None and is_weak(value):
        array = np.asarray(value, dtype)
    else:
        array = _supported(value if is_ndarray(value) else np.asarray(value))
        if array.size > SMALL:
            made = Traced(scope.constant(array, name), scope)
            return made if dtype is None else cast(made, dtype)
        if dtype is not None and array.dtype != dtype:
            array = array.astype(dtype)
    weak = _python_type(value) if dtype is None and is_weak(value) else None
    return Traced(scope.constant(array, name), scope, weak=weak)


def _python_type(value: object) -> type:
    return next(t for t in (int, float, complex) if isinstance(value, t))


def _supported(array: np.ndarray) -> np.ndarray:
    if array.dtype == object and not all(isinstance(v, (str, bytes)) for v in array.reshape(-1)):
        raise TraceError(
            f"an array of Python objects is not a tensor: {reprlib.repr(array.tolist())}"
        )
    return array


def _condition(value: DimCondition) -> Traced:
    scope = current()
    left = Traced(scope.dim(value.left), scope)
    right = Traced(scope.dim(value.right), scope)
    if value.relation == "!=":
        return emit("Not", emit("Equal", left, right))
    return emit(_CONDITIONS[value.relation], left, right)
