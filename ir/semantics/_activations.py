"""The activations that recurrent operators name, with their alphas and betas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Function = Callable[[Array], Array]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


PLAIN: dict[str, Function] = {
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
}
"""Activations without parameters."""

WITH_ALPHA: dict[str, tuple[float, Callable[[Array, float], Array]]] = {
    "leakyrelu": (0.01, lambda x, a: np.where(x >= 0, x, a * x)),
    "thresholdedrelu": (1.0, lambda x, a: np.where(x >= a, x, 0)),
    "elu": (1.0, lambda x, a: np.where(x >= 0, x, a * np.expm1(x))),
}
"""Activations with an alpha, and its default: that of the operator of the same name."""

WITH_BOTH: dict[str, tuple[float, float, Callable[[Array, float, float], Array]]] = {
    "affine": (1.0, 0.0, lambda x, a, b: a * x + b),
    "scaledtanh": (1.0, 1.0, lambda x, a, b: a * np.tanh(b * x)),
    "hardsigmoid": (0.2, 0.5, lambda x, a, b: np.clip(a * x + b, 0, 1)),
}
"""Activations with an alpha and a beta, and their defaults."""


def activations(
    names: Sequence[str],
    alphas: Sequence[float],
    betas: Sequence[float],
    error: Callable[[str], Exception],
) -> list[Function]:
    """The functions; alphas and betas are consumed in order by those that take them."""
    left, right = iter(alphas), iter(betas)
    found: list[Function] = []
    for name in names:
        key = name.lower()
        if key in PLAIN:
            found.append(PLAIN[key])
        elif key in WITH_ALPHA:
            default, one = WITH_ALPHA[key]
            found.append(_bind(one, next(left, default)))
        elif key in WITH_BOTH:
            first, second, two = WITH_BOTH[key]
            found.append(_bind(two, next(left, first), next(right, second)))
        else:
            known = ", ".join((*PLAIN, *WITH_ALPHA, *WITH_BOTH))
            raise error(f"the activation {name!r} does not exist; there are {known}")
    return found


def _bind(function: Callable[..., Array], *parameters: float) -> Function:
    return lambda x: function(x, *(x.dtype.type(p) for p in parameters)).astype(x.dtype, copy=False)
