"""Python's operators on arrays, each by the name of numpy's ufunc for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.dims import DimCondition, TracedDim
from isomorph.frontends.array.scope import current

if TYPE_CHECKING:
    from collections.abc import Callable

COMPARISONS = frozenset(
    {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"},
)


def _operand(value: object) -> bool:
    """Whether an operator on arrays takes it; Python asks the other operand's class otherwise."""
    plain = (np.ndarray, np.generic, int, float, complex, list, tuple)
    return isinstance(value, (PythonOperators, TracedDim, DimCondition, *plain))


def _apply(ufunc: str, *operands: Any) -> Any:
    return current().trace.rules.operator(ufunc, *operands)


def _unary(ufunc: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return _apply(ufunc, self)

    return method


def _binary(ufunc: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return _apply(ufunc, self, other) if _operand(other) else NotImplemented

    return method


def _reflected(ufunc: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return _apply(ufunc, other, self) if _operand(other) else NotImplemented

    return method


def _in_place(ufunc: str) -> Callable[[Any, Any], Any]:
    return _binary(f"{ufunc}=")


class PythonOperators:
    """A base of the traced array; what an operator does is its trace's rules' business."""

    __slots__ = ()

    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")

    __add__ = _binary("add")
    __radd__ = _reflected("add")
    __iadd__ = _in_place("add")
    __sub__ = _binary("subtract")
    __rsub__ = _reflected("subtract")
    __isub__ = _in_place("subtract")
    __mul__ = _binary("multiply")
    __rmul__ = _reflected("multiply")
    __imul__ = _in_place("multiply")
    __truediv__ = _binary("divide")
    __rtruediv__ = _reflected("divide")
    __itruediv__ = _in_place("divide")
    __floordiv__ = _binary("floor_divide")
    __rfloordiv__ = _reflected("floor_divide")
    __ifloordiv__ = _in_place("floor_divide")
    __mod__ = _binary("remainder")
    __rmod__ = _reflected("remainder")
    __imod__ = _in_place("remainder")
    __pow__ = _binary("power")
    __rpow__ = _reflected("power")
    __ipow__ = _in_place("power")
    __matmul__ = _binary("matmul")
    __rmatmul__ = _reflected("matmul")
    __imatmul__ = _in_place("matmul")
    __and__ = _binary("bitwise_and")
    __rand__ = _reflected("bitwise_and")
    __iand__ = _in_place("bitwise_and")
    __or__ = _binary("bitwise_or")
    __ror__ = _reflected("bitwise_or")
    __ior__ = _in_place("bitwise_or")
    __xor__ = _binary("bitwise_xor")
    __rxor__ = _reflected("bitwise_xor")
    __ixor__ = _in_place("bitwise_xor")
    __lshift__ = _binary("left_shift")
    __rlshift__ = _reflected("left_shift")
    __ilshift__ = _in_place("left_shift")
    __rshift__ = _binary("right_shift")
    __rrshift__ = _reflected("right_shift")
    __irshift__ = _in_place("right_shift")

    __lt__ = _binary("less")
    __le__ = _binary("less_equal")
    __gt__ = _binary("greater")
    __ge__ = _binary("greater_equal")
    __eq__ = _binary("equal")  # type: ignore[assignment] - an array of bools, as in numpy
    __ne__ = _binary("not_equal")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment] - as numpy's arrays

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self
