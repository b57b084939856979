"""`isomorph.array`: the array API (2024.12) and numpy's functions, for functions that are traced.

Import it as `xp`. On numpy arrays every function is numpy's own; inside `isomorph.trace` the same
call becomes ONNX operators. Beyond the standard: `xp.nn` (layers), `xp.op` (any ONNX operator),
`xp.cond` (If), `xp.at` (a changed copy), `xp.assume` (a relation between dims).
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

from isomorph.frontends.array.control_flow import AssumptionError, assume, cond
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.functions import function
from isomorph.frontends.array.operators import op
from isomorph.frontends.array.trace import trace_array
from isomorph.frontends.array.updates import at

__array_api_version__ = "2024.12"

_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4")
_CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
_MODULES = ("fft", "linalg", "nn")

__all__ = ["AssumptionError", "TraceError", "assume", "at", "cond", "op", "trace_array"]


def __getattr__(name: str) -> Any:
    if name in _DTYPES:
        return np.dtype(name)
    if name in _ML_DTYPES:
        return np.dtype(getattr(ml_dtypes, name))
    if name in _CONSTANTS:
        return getattr(np, name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    found = None if name.startswith("_") else function(name)
    if found is None:
        close = get_close_matches(name, __dir__(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"isomorph.array has no {name!r}{hint}")
    return found


def __array_namespace_info__() -> Any:  # noqa: N807 - the standard's own name
    """numpy's, whose arrays these functions take and stand for."""
    return np.__array_namespace_info__()


def __dir__() -> list[str]:
    public = (n for n in dir(np) if not n.startswith("_") and function(n) is not None)
    return sorted({*__all__, *_DTYPES, *_ML_DTYPES, *_CONSTANTS, *_MODULES, *public})
