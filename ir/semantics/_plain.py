"""Small helpers of semantics: operands as plain numbers, counting, the value that pads."""

from __future__ import annotations

from typing import Any

import numpy as np


def ints(array: Any) -> tuple[int, ...]:
    """An axes-like operand or attribute as plain integers."""
    return tuple(int(v) for v in np.asarray(array).reshape(-1))


def counted(end: int, start: int = 0) -> np.ndarray:
    """The integers from `start` up to `end`, exclusive."""
    return np.arange(start, end)


def zero(dtype: np.dtype) -> Any:
    """The value that pads by default: 0, false, or the empty string."""
    return "" if dtype.kind == "O" else np.zeros((), dtype)[()]
