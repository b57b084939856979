"""Result dtypes, asked of numpy itself: Python numbers are weak, arrays are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.dims import DimCondition, TracedDim
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.traced import Traced

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAMPLES: dict[type, Any] = {int: 0, float: 0.0, complex: 0j}


def kind(value: object) -> Any:
    """What numpy's promotion sees: a dtype, or `int`, `float`, `complex` for Python numbers."""
    match value:
        case Traced():
            return value.weak or value.dtype
        case TracedDim():
            return int
        case bool() | np.bool_() | DimCondition():
            return np.dtype(np.bool_)
        case np.ndarray() | np.generic():
            return value.dtype
        case int():
            return int
        case float():
            return float
        case complex():
            return complex
        case list() | tuple():
            if _any_traced(value):
                return result_type(*(default_type(v) for v in value))
            return np.asarray(value).dtype
        case _:
            dtype = getattr(value, "dtype", None)
            if isinstance(dtype, np.dtype):
                return dtype
            raise TraceError(
                f"{type(value).__name__} {value!r} cannot be an operand of a traced operation",
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
        return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))
    except TypeError:
        shown = ", ".join(k.__name__ if isinstance(k, type) else str(k) for k in kinds)
        raise TraceError(f"numpy's {ufunc.__name__} does not take ({shown})") from None


def result_type(*operands: object) -> np.dtype[Any]:
    """`numpy.result_type` of arrays, dtypes and Python numbers, traced or not."""
    seen: list[Any] = []
    for value in operands:
        found = value if isinstance(value, np.dtype) else kind(value)
        seen.append(_SAMPLES[found] if isinstance(found, type) else found)
    try:
        return np.result_type(*seen)
    except TypeError as error:
        raise TraceError(str(error)) from None


def default_type(value: object) -> np.dtype[Any]:
    """The dtype that `numpy.asarray` gives to a value."""
    found = kind(value)
    return np.dtype(found)


def _any_traced(values: Sequence[object]) -> bool:
    return any(
        isinstance(v, (Traced, TracedDim)) or (isinstance(v, (list, tuple)) and _any_traced(v))
        for v in values
    )
