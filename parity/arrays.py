"""What a value at run time is: a tensor, a list or dict of them, a float64 tensor."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from isomorph.ir.types import DType


def is_tensor(value: Any) -> TypeGuard[np.ndarray]:
    """A numpy array or scalar."""
    return isinstance(value, np.ndarray | np.generic)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """The value of a sequence."""
    return isinstance(value, list)


def is_map(value: Any) -> TypeGuard[dict[Any, Any]]:
    """The value of a map."""
    return isinstance(value, dict)


def is_double(value: Any) -> TypeGuard[np.ndarray]:
    """A tensor of float64, as all floats of a wide evaluation are."""
    return is_tensor(value) and value.dtype == np.float64


def is_float(value: Any) -> TypeGuard[np.ndarray]:
    """A tensor of any real float."""
    return (
        is_tensor(value) and value.dtype.kind not in "OUSTbiuc" and DType.of(value.dtype).is_float
    )


def largest(array: np.ndarray) -> float:
    """The largest finite number, 0 when there is none."""
    return float(array[np.isfinite(array)].max(initial=0.0))
