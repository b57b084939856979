"""Which results of casts known divergences explain: measured on onnxruntime 1.31.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from isomorph.exporters.runtimes.divergences import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

FEW_BITS = frozenset({"int4", "uint4", "int2", "uint2"})
BEYOND = {"float8_e4m3fn": (480.0, 496.0, 448.0), "float8_e5m2": (61440.0, 65536.0, np.nan)}
"""From where to where numbers become what, where they do not saturate."""
_CODES = 2.0**31
"""Up to here the integers that are rounded to are known."""


def explain(op: Op, operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> str:
    """Why a cast gives something else; empty where an element that differs is not explained."""
    x = np.asarray(operands[0])
    if x.dtype.kind not in "fV":
        return ""
    values = x.astype(np.float64)
    if got.dtype.name in FEW_BITS:
        return words("cast-few-bits") if _rounded(values, got).all() else ""
    if got.dtype.name in BEYOND and not op.attr("saturate", 1):
        low, high, made = BEYOND[got.dtype.name]
        inside = (low <= np.abs(values)) & (np.abs(values) <= high)
        other = np.where(inside, np.copysign(made, values), wanted.astype(np.float64))
        given = got.astype(np.float64)
        same = (given == other) | (np.isnan(given) & np.isnan(other))
        return words("cast-unsaturated") if same.all() else ""
    return ""


def _rounded(values: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Elements that are the nearest integer, ties away from 0 or to even, in its lowest bits.

    What does not fit in the type even without its fraction is open, and any code of it.
    """
    info = ml_dtypes.iinfo(got.dtype)
    codes = float(int(info.max) - int(info.min) + 1)
    away = np.copysign(np.floor(np.abs(values) + 0.5), values)
    near = [
        np.mod(v, codes) == np.mod(got.astype(np.float64), codes) for v in (away, np.rint(values))
    ]
    whole = np.trunc(values)
    beyond = ~((whole >= int(info.min)) & (whole <= int(info.max)))
    return near[0] | near[1] | (beyond & ~(np.abs(values) < _CODES))
