"""Result dtypes, asked of numpy itself: Python numbers are weak, arrays are not."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from isomorph.frontends.array.dims import DimCondition, TracedDim
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.structure import is_many, leaves
from isomorph.frontends.array.traced import Traced
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAMPLES: dict[type, Any] = {int: 0, float: 0.0, complex: 0j}


def kind(value: Any) -> Any:
    """What numpy's promotion sees: a dtype, or `int`, `float`, `complex` for Python numbers."""
    if isinstance(value, Traced):
        return value.weak or value.dtype
    if isinstance(value, TracedDim):
        return int
    if isinstance(value, (bool, DimCondition)):
        return np.dtype(np.bool_)
    if is_many(value):
        if any(isinstance(v, (Traced, TracedDim)) for v in leaves(value)):
            return result_type(*(default_type(v) for v in value))
        plain: np.ndarray = np.asarray(value)
        return plain.dtype
    dtype: Any = getattr(value, "dtype", None)
    if dtype is not None:
        return np.dtype(dtype)
    for number in (int, float, complex):
        if isinstance(value, number):
            return number
    raise TraceError(
        f"{type(value).__name__} {reprlib.repr(value)} cannot be an operand of a traced operation",
        "an array, a number, or a list of them",
    )


def is_weak(value: object) -> bool:
    """Whether a value is what Python calls a number, so that it has no dtype of its own."""
    if isinstance(value, Traced):
        return value.weak is not None
    return isinstance(value, TracedDim) or (
        isinstance(value, (int, float, complex)) and not isinstance(value, (bool, np.generic))
    )


def resolve(ufunc: np.ufunc, operands: Sequence[object]) -> tuple[np.dtype[Any], ...]:
    """Dtypes of all inputs, then of all outputs, of the loop that numpy would run.

    Raises:
        TraceError: where numpy has no such loop.
    """
    kinds = tuple(kind(v) for v in operands)
    try:
        found: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))
    except TypeError:
        shown = ", ".join(k.__name__ if isinstance(k, type) else str(k) for k in kinds)
        raise TraceError(f"numpy's {ufunc.__name__} does not take ({shown})") from None
    return found


def result_type(*operands: object) -> np.dtype[Any]:
    """`numpy.result_type` of arrays, dtypes and Python numbers, traced or not."""
    seen: list[Any] = []
    for value in operands:
        found: Any = value if _is_dtype(value) else kind(value)
        seen.append(_SAMPLES[found] if isinstance(found, type) else found)
    try:
        return np.result_type(*seen)
    except TypeError as error:
        raise TraceError(str(error)) from None


def _is_dtype(value: object) -> bool:
    return isinstance(value, np.dtype)


def limits(dtype: np.dtype[Any]) -> Any:
    """The `finfo` or `iinfo` of a dtype, ml_dtypes' too."""
    kinds: Any = ml_dtypes
    return kinds.finfo(dtype) if DType.of(dtype).is_float else kinds.iinfo(dtype)


def default_type(value: object) -> np.dtype[Any]:
    """The dtype that `numpy.asarray` gives to a value."""
    found: np.dtype[Any] = np.dtype(kind(value))
    return found
