"""The methods of numpy's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import cast
from isomorph.frontends.array.rules.creation import copy as copied
from isomorph.frontends.array.rules.selection import clip, compress
from isomorph.frontends.array.rules.shape import ravel, reshape, transpose
from isomorph.frontends.array.structure import is_many

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.frontends.array.traced import Traced


def _reshape(x: Traced, *shape: Any, order: str = "C", copy: Any = None) -> Traced:
    return reshape(x, shape[0] if len(shape) == 1 else shape, order)


def _transpose(x: Traced, *axes: Any) -> Traced:
    if len(axes) == 1 and (axes[0] is None or is_many(axes[0])):
        return transpose(x, axes[0])
    return transpose(x, axes or None)


def _astype(
    x: Traced,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Traced:
    made = cast(x, np.dtype(dtype))
    return copied(made) if copy and made is x else made


def _flatten(x: Traced, order: str = "C") -> Traced:
    return copied(ravel(x, order))


def _clip(x: Traced, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Traced:  # noqa: A002
    return clip(x, min, max, out, **kwargs)


def _compress(x: Traced, condition: Any, axis: Any = None, out: Any = None) -> Traced:
    return compress(condition, x, axis, out)


METHODS: dict[str, str | Callable[..., Any]] = {
    "all": "all",
    "any": "any",
    "argmax": "argmax",
    "argmin": "argmin",
    "argsort": "argsort",
    "astype": _astype,
    "choose": "choose",
    "clip": _clip,
    "compress": _compress,
    "conj": "conjugate",
    "conjugate": "conjugate",
    "copy": "copy",
    "cumprod": "cumprod",
    "cumsum": "cumsum",
    "diagonal": "diagonal",
    "dot": "dot",
    "flatten": _flatten,
    "max": "max",
    "mean": "mean",
    "min": "min",
    "nonzero": "nonzero",
    "prod": "prod",
    "ravel": "ravel",
    "repeat": "repeat",
    "reshape": _reshape,
    "round": "round",
    "searchsorted": "searchsorted",
    "squeeze": "squeeze",
    "std": "std",
    "sum": "sum",
    "swapaxes": "swapaxes",
    "take": "take",
    "trace": "trace",
    "transpose": _transpose,
    "var": "var",
}
"""By name: the function that a method is, or the method itself where its parameters differ."""
