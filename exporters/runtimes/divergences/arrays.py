"""Arrays of the probes, spelled short."""

from __future__ import annotations

from typing import Any

import numpy as np


def f16(*values: float) -> np.ndarray:
    return np.array(values, np.float16)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def f64(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def ints(bits: int, *values: int) -> np.ndarray:
    return np.array(values, f"int{bits}")


def texts(*values: str) -> np.ndarray:
    return np.array(values, object)


def whole(value: Any, dtype: Any = np.float32) -> np.ndarray:
    """Nested lists as an array of so many dims, a number as one of none."""
    return np.array(value, dtype)
