"""Array functions in float64: an array whose casts to narrower floats do not round.

`evaluate` calls a function on such arrays. Meanwhile every constant that meets one of them is noted
(it is the function's own), and every rounding may be perturbed (to see what rounding does).
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.types import DType
from isomorph.parity.arrays import is_double, is_float

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Perturb = Callable[[np.ndarray], np.ndarray]


@dataclass
class Trace:
    """What is noted while a function runs.

    Attributes:
        perturb: changes every float result; `None` to leave them.
        constants: arrays and numbers of the function's own that met its inputs.
    """

    perturb: Perturb | None = None
    constants: list[Any] = field(default_factory=list[Any])


_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)


class Wide(np.ndarray):
    """A float64 array that stays float64 whatever narrower float it is asked to become."""

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """As numpy's, but a cast to any real float gives float64."""
        kwargs.pop("copy", None)
        return super().astype(_wider(dtype), *args, **kwargs)

    @classmethod
    def meet(cls, operands: Sequence[Any]) -> None:
        """Be told of the operands of an operator that is computed on plain arrays."""
        trace = _trace.get()
        if trace is not None:
            _note(list(operands), trace)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        trace = _trace.get()
        given = [_plain(v, trace) for v in inputs]
        out = kwargs.get("out")
        if out is not None:
            kwargs["out"] = tuple(v.view(np.ndarray) if isinstance(v, Wide) else v for v in out)
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = _wider(kwargs["dtype"])
        result = getattr(ufunc, method)(*given, **kwargs)
        if isinstance(result, tuple):
            return tuple(_wrap(r, trace) for r in cast("tuple[Any, ...]", result))
        return out[0] if out is not None else _wrap(result, trace)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        trace = _trace.get()
        if trace is not None:
            _note(args, trace)
        if kwargs.get("dtype") is not None:
            kwargs = {**kwargs, "dtype": _wider(kwargs["dtype"])}
        return _rewrap(super().__array_function__(func, types, args, kwargs))


def evaluate(
    function: Callable[..., Any], inputs: Sequence[Any], perturb: Perturb | None = None
) -> tuple[Any, Trace]:
    """What a function returns for widened inputs, and what was noted meanwhile."""
    trace = Trace(perturb)
    token = _trace.set(trace)
    try:
        with np.errstate(all="ignore"):
            return function(*(_widened(v, perturb) for v in inputs)), trace
    finally:
        _trace.reset(token)


def _widened(value: Any, perturb: Perturb | None) -> Any:
    array = np.asarray(value)
    if not _is_float(array.dtype):
        return array.copy()  # a function may write into what it is given
    wide = array.astype(np.float64)
    return (wide if perturb is None else perturb(wide)).view(Wide)


def _plain(value: Any, trace: Trace | None) -> Any:
    """A ufunc's operand without the class, in float64; constants are noted."""
    if isinstance(value, Wide):
        return value.view(np.ndarray)
    if trace is not None and (isinstance(value, float) or hasattr(value, "dtype")):
        trace.constants.append(value)
    if is_float(value):
        return np.asarray(value.astype(np.float64))
    return cast("Any", value)


def _wrap(result: Any, trace: Trace | None) -> Any:
    array = np.asarray(result)
    if array.dtype != np.float64:
        return result
    if trace is not None and trace.perturb is not None:
        array = trace.perturb(array)
    return array.view(Wide)


def _rewrap(result: Any) -> Any:
    """Results of functions that drop the class, such as `np.where`, with the class again."""
    if isinstance(result, list | tuple):
        items = [_rewrap(item) for item in cast("list[Any]", result)]
        if isinstance(result, list):
            return items
        named = getattr(cast("Any", result), "_make", None)
        return tuple(items) if named is None else named(items)
    if is_double(result) and not isinstance(result, Wide):
        return np.asarray(result).view(Wide)
    return result


def _note(value: Any, trace: Trace) -> None:
    if isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            _note(item, trace)
    elif isinstance(value, float) or (
        isinstance(value, np.ndarray) and not isinstance(value, Wide)
    ):
        trace.constants.append(value)


def _wider(dtype: Any) -> Any:
    found = np.dtype(dtype)
    return np.dtype(np.float64) if _is_float(found) else found


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind not in "OUSTbiucM" and DType.of(dtype).is_float
