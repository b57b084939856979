"""The array that stands for a value of the graph while a function is traced."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from isomorph.frontends.array.dims import wrap
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.python_operators import PythonOperators
from isomorph.frontends.array.scope import Scope, current
from isomorph.ir.source import Source, caller
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.dims import Expr
    from isomorph.ir.graph import Value


class Memory:
    """What a group of arrays shares in numpy: views of one another."""

    __slots__ = ("stale",)

    def __init__(self) -> None:
        self.stale: Source | None = None


class Traced(PythonOperators):
    """An array of a trace: shape and dtype are known, the numbers are not.

    `weak` is `int` or `float` for what would be a Python number outside a trace, such as
    `x.shape[0] / 2`: like one, it takes the dtype of the array it meets.
    """

    __slots__ = ("_memory", "_scope", "_value", "weak")
    __array_priority__ = 1000

    def __init__(
        self,
        value: Value,
        scope: Scope,
        *,
        weak: type | None = None,
    ) -> None:
        self._value = value
        self._scope = scope
        self._memory = Memory()
        self.weak = weak

    # -- what is known ------------------------------------------------------------------------

    @property
    def value(self) -> Value:
        """The value in the scope that is current."""
        if self._memory.stale is not None:
            raise TraceError(
                f"this array shares memory with one that was modified in place at "
                f"{self._memory.stale}; a trace does not follow that",
                "`y = y + 1` there, instead of `y += 1`",
            )
        return current().local(self._scope, self._value)

    @property
    def type(self) -> TensorType:
        """The tensor type."""
        found = self._value.type
        if not isinstance(found, TensorType):
            raise TraceError(f"%{self._value.name} is {found}: no array operation takes it")
        return found

    @property
    def dims(self) -> tuple[int | Expr, ...]:
        """The shape as dims of the IR; raises TraceError when even the rank is unknown."""
        shape = self.type.shape
        if shape is None:
            raise TraceError(
                f"the rank of %{self._value.name}: {self.type} is not known here",
                "xp.op(..., types=['float32[n, 3]']) where it was made",
            )
        return shape  # type: ignore[return-value] - every dim of a traced array has a name

    @property
    def shape(self) -> tuple[Any, ...]:
        """Integers, and a `TracedDim` for every symbolic dim."""
        return tuple(wrap(d, self._scope) for d in self.dims)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def size(self) -> Any:
        """Number of elements: an int or a `TracedDim`."""
        total: int | Expr = 1
        for dim in self.dims:
            total = dim * total
        return wrap(total, self._scope)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype (of ml_dtypes for what numpy lacks)."""
        return self.type.dtype.numpy

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> str:
        """`cpu`: a trace has no device."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Traced:
        """The array itself."""
        if device != "cpu":
            raise ValueError(f"device {device!r} is not `cpu`, the only one")
        return self

    @property
    def T(self) -> Any:  # noqa: N802 - numpy's name
        """Axes reversed (two axes in the array API)."""
        return self._function("transpose")

    @property
    def mT(self) -> Any:  # noqa: N802
        """The last two axes swapped."""
        return self._function("matrix_transpose")

    @property
    def real(self) -> Any:
        """The real part."""
        return self._function("real")

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self._function("imag")

    # -- protocols -------------------------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return current().trace.rules.function("__array_namespace__", (api_version,), {})

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return current().trace.rules.ufunc(ufunc, method, args, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return current().trace.rules.array_function(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        rules = self._scope.trace.rules
        found = rules.method(name, self)
        if found is not None:
            return found
        close = get_close_matches(name, dir(np.ndarray), n=1)
        raise AttributeError(
            f"{caller()}: a traced array {self.type} has no attribute {name!r}"
            + (f"; did you mean {close[0]!r}?" if close and close[0] != name else "")
        )

    def _function(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return current().trace.rules.function(path, (self, *args), kwargs)

    # -- what needs the numbers --------------------------------------------------------------------

    def _no(self, what: str, instead: str) -> NoReturn:
        raise self._refused(what, instead)

    def _refused(self, what: str, instead: str) -> TraceError:
        return TraceError(
            f"{what} needs the numbers of {self.type}, which a trace does not have", instead
        )

    def _answer(self, what: str, instead: str, stand_in: Any = None) -> Any:
        """A stand-in where obstacles are listed; raises TraceError elsewhere."""
        return self._scope.trace.past(self._refused(what, instead), stand_in)

    def __bool__(self) -> bool:
        return self._answer(
            "`if`, `while`, `and`, `or`, `not` or bool() on a traced value",
            "xp.where(condition, a, b) for a choice per element; xp.cond(condition, true_fn, "
            "false_fn, *operands) for a choice between computations; & | ~ for and, or, not",
        )

    def __int__(self) -> int:
        return self._answer("int()", "xp.astype(x, xp.int64)", 1)

    def __float__(self) -> float:
        return self._answer("float()", "the array itself, or xp.astype(x, xp.float64)", 1.0)

    def __complex__(self) -> complex:
        return self._answer("complex()", "the array itself", 1 + 0j)

    def __index__(self) -> int:
        instead = "x[i] with the traced array i; a shape from `.shape` for a size"
        return self._answer("an index or a size", instead, 1)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        first = self.shape[0]
        if isinstance(first, int):
            return first
        words = f"len() of {self.type}: Python wants a number, but `{first}` is symbolic"
        return self._scope.trace.past(TraceError(words, "x.shape[0]"), 1)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        first = self.shape[0]
        if not isinstance(first, int):
            words = f"a loop over the first axis of {self.type}: how often it runs is not known"
            error = TraceError(words, "an array operation over the whole axis")
            first = self._scope.trace.past(error, 1)
        return iter([self[i] for i in range(first)])

    def __contains__(self, item: Any) -> bool:
        return self._answer("`in`", "xp.any(x == item)")

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        self._no(
            "numpy.asarray or a numpy function that does not dispatch",
            "the function of isomorph.array of the same name (xp.asarray, xp.stack, …)",
        )

    def item(self, *args: Any) -> Any:
        """Raises TraceError: there is no number."""
        stand_in = 1 if self.dtype.kind in "biu" else 1.0
        return self._answer(".item()", "the array itself; x[0] for one element", stand_in)

    def tolist(self) -> Any:
        """Raises TraceError: there are no numbers."""
        self._no(".tolist()", "the array itself")

    def __dlpack__(self, **kwargs: Any) -> Any:
        self._no("from_dlpack", "the array itself")

    def __dlpack_device__(self) -> Any:
        self._no("from_dlpack", "the array itself")

    # -- indexing ----------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return self._function("__getitem__", key)

    def __setitem__(self, key: Any, item: Any) -> None:
        error = TraceError(
            f"a traced array is assigned to in place: x[…] = … on {self.type}",
            "x = xp.at(x)[…].set(…), or xp.where(mask, value, x), or nn.scatter(x, indices, y)",
        )
        self._scope.trace.past(error, 1)

    def __delitem__(self, key: Any) -> None:
        raise TraceError("elements of an array cannot be deleted", "xp.concat of what stays")

    def __copy__(self) -> Traced:
        return Traced(self._value, self._scope, weak=self.weak)

    def __deepcopy__(self, memo: Any) -> Traced:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"<traced %{self._value.name}: {self.type}>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    # -- memory ------------------------------------------------------------------------------------

    def share(self, other: Traced) -> None:
        """Let this array be a view of another."""
        self._memory = other._memory

    def assign(self, other: Traced) -> Traced:
        """`x += y`: this array becomes the new value; its views may not be used any more."""
        _ = self.value
        self._memory.stale = caller()
        self._value, self._scope, self._memory = other._value, other._scope, Memory()
        return self
