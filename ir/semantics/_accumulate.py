"""In what dtype a sum is computed before it is rounded to its operands' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

_OWN = frozenset("biufc")


def accumulator(dtype: np.dtype) -> np.dtype:
    """float32 for float16, bfloat16 and narrower floats; any other dtype is its own."""
    if dtype == np.float16 or dtype.kind not in _OWN:
        return np.dtype(np.float32)
    return dtype


def accumulate(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An operand in the dtype its sums are computed in."""
    return array.astype(accumulator(array.dtype), copy=False)


def in_accumulator(
    function: Callable[..., npt.NDArray[Any]], *arrays: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """`function` of the arrays, computed wide enough, in the first array's dtype."""
    found = function(*(accumulate(a) for a in arrays))
    return np.asarray(found).astype(arrays[0].dtype, copy=False)
