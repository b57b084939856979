"""The size of a symbolic axis, as the user's code sees it: an integer that is not known yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.scope import Scope, current
from isomorph.ir import dims as algebra
from isomorph.ir.dims import Expr

if TYPE_CHECKING:
    from collections.abc import Callable

Size = "int | TracedDim"


class TracedDim:
    """An integer such as `batch` or `2*n + 1`; arithmetic gives dims, comparisons give conditions.

    As a Python integer it takes the dtype of the array it meets (`x / x.shape[0]` keeps float32).
    """

    __slots__ = ("expr", "scope")
    __array_priority__ = 1000

    def __init__(self, expr: Expr, scope: Scope) -> None:
        self.expr = expr
        self.scope = scope

    def _combine(self, other: Any, rule: Callable[[Any, Any], int | Expr], name: str) -> Any:
        dim = as_dim(other)
        if dim is not None:
            return wrap(rule(self.expr, dim), self.scope)
        if isinstance(other, float):
            return self.scope.trace.rules.operator(name, self, other)
        return NotImplemented

    def _combined(self, other: Any, rule: Callable[[Any, Any], int | Expr], name: str) -> Any:
        dim = as_dim(other)
        if dim is not None:
            return wrap(rule(dim, self.expr), self.scope)
        if isinstance(other, float):
            return self.scope.trace.rules.operator(name, other, self)
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a + b, "add")

    def __radd__(self, other: Any) -> Any:
        return self._combined(other, lambda a, b: a + b, "add")

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a - b, "subtract")

    def __rsub__(self, other: Any) -> Any:
        return self._combined(other, lambda a, b: a - b, "subtract")

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (tuple, list)):
            raise self._refused("repeats a sequence")
        return self._combine(other, lambda a, b: a * b, "multiply")

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, (tuple, list)):
            raise self._refused("repeats a sequence")
        return self._combined(other, lambda a, b: a * b, "multiply")

    def __floordiv__(self, other: Any) -> Any:
        return self._combine(other, _floor_div, "floor_divide")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combined(other, _floor_div, "floor_divide")

    def __mod__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a - _floor_div(a, b) * b, "remainder")

    def __rmod__(self, other: Any) -> Any:
        return self._combined(other, lambda a, b: a - _floor_div(a, b) * b, "remainder")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __truediv__(self, other: Any) -> Any:
        if as_dim(other) is None and not isinstance(other, float):
            return NotImplemented
        return self.scope.trace.rules.operator("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if as_dim(other) is None and not isinstance(other, float):
            return NotImplemented
        return self.scope.trace.rules.operator("divide", other, self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and other >= 0:
            made: int | Expr = 1
            for _ in range(other):
                made = self.expr * made
            return wrap(made, self.scope)
        if isinstance(other, (int, float)):
            return self.scope.trace.rules.operator("power", self, float(other))
        return NotImplemented

    def __neg__(self) -> Any:
        return wrap(-self.expr, self.scope)

    def __pos__(self) -> TracedDim:
        return self

    def __abs__(self) -> Any:
        return wrap(algebra.maximum(self.expr, -self.expr), self.scope)

    def __eq__(self, other: object) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(">=", other)

    def _compare(self, relation: str, other: object) -> Any:
        dim = as_dim(other)
        if dim is None:
            return NotImplemented
        decided = self.scope.trace.facts.decide(self.expr, relation, dim)
        return DimCondition(self.expr, relation, dim, self.scope) if decided is None else decided

    def __hash__(self) -> int:
        return hash(self.expr)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> int:
        what = "is used where Python or numpy needs a number at once"
        return self.scope.trace.past(self._refused(what), 1)

    def __int__(self) -> int:
        return self.scope.trace.past(self._refused("is turned into an int"), 1)

    def __float__(self) -> float:
        return self.scope.trace.past(self._refused("is turned into a float"), 1.0)

    def __round__(self, digits: int | None = None) -> TracedDim:
        return self

    def _refused(self, what: str) -> TraceError:
        return TraceError(
            f"`{self.expr}` {what}, but it is a symbolic dim: its size is known only at run time",
            "xp.zeros / xp.arange / xp.reshape / xp.broadcast_to of isomorph.array, which take "
            "symbolic dims; np.sqrt instead of math.sqrt; an array operation instead of a loop "
            "over range(...)",
        )

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise self._refused("is turned into a numpy array")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return current().trace.rules.ufunc(ufunc, method, args, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return current().trace.rules.array_function(function, args, kwargs)

    def __repr__(self) -> str:
        return str(self.expr)

    def __format__(self, spec: str) -> str:
        return format(str(self.expr), spec)


class DimCondition:
    """A comparison of dims that what is declared does not decide: `batch > 3`."""

    __slots__ = ("left", "relation", "right", "scope")

    def __init__(self, left: int | Expr, relation: str, right: int | Expr, scope: Scope) -> None:
        self.left = left
        self.relation = relation
        self.right = right
        self.scope = scope

    def __bool__(self) -> bool:
        decided = self.scope.trace.facts.decide(self.left, self.relation, self.right)
        if decided is not None:
            return decided
        error = TraceError(
            f"`{self}` decides what the function does, but it may turn out either way: "
            "the trace would hold for one of them only",
            f"{self._declared()}xp.assume({self}) before it if it always holds; "
            "xp.cond or xp.where if it depends on the input",
        )
        return self.scope.trace.past(error)

    def _declared(self) -> str:
        """The range to declare, for a comparison of a name with a number."""
        if not isinstance(self.left, Expr) or not str(self.left).isidentifier():
            return ""
        if not isinstance(self.right, int):
            return ""
        low, high = {
            ">": (self.right + 1, None),
            ">=": (self.right, None),
            "<": (None, self.right - 1),
            "<=": (None, self.right),
            "==": (self.right, self.right),
        }.get(self.relation, (None, None))
        if low is None and high is None:
            return ""
        shown = "..".join("" if n is None else str(n) for n in (low, high))
        return f"`{self.left} in {shown}` in the input's specification, or "

    def __eq__(self, other: object) -> bool:
        return bool(self) == other

    def __hash__(self) -> int:
        return hash((self.left, self.relation, self.right))

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    __repr__ = __str__


def as_dim(value: object) -> int | Expr | None:
    """The dim that a Python or numpy integer or a TracedDim stands for; `None` for others."""
    if isinstance(value, TracedDim):
        return value.expr
    if isinstance(value, (bool, np.bool_)):
        return None
    return int(value) if isinstance(value, (int, np.integer)) else None  # type: ignore[arg-type]


def wrap(dim: int | Expr, scope: Scope) -> Any:
    """What the user's code sees of a dim: an int when it is one."""
    dim = scope.trace.facts.normal(dim)
    return dim if isinstance(dim, int) else TracedDim(dim, scope.root)


def _floor_div(a: int | Expr, b: int | Expr) -> int | Expr:
    if isinstance(b, int) and b == 0:
        raise ZeroDivisionError(f"{a} // 0")
    return algebra.floor_div(a, b)
