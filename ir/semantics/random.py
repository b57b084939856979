"""random: what each operator draws.

The standard names distributions, not numbers: results of two evaluations are only ever compared
inside `isomorph.ir.dice`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.dice import generator
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]
    Draw = Callable[[Call, np.random.Generator, tuple[int, ...]], Array]


def _normal(call: Call, source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return source.normal(call.attr("mean", 0.0), call.attr("scale", 1.0), shape)


def _uniform(call: Call, source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return source.uniform(call.attr("low", 0.0), call.attr("high", 1.0), shape)


def _shaped(draw: Draw) -> tuple[Impl, ...]:
    def run(call: Call) -> Array:
        dtype = call.float_dtype(DType(call.attr("dtype", 1)))
        return n.once(draw(call, generator(call.op), tuple(call.attr("shape"))), dtype)

    return (Impl(run),)


def _like(draw: Draw) -> tuple[Impl, ...]:
    def run(call: Call, x: Any) -> Array:
        dtype = call.float_dtype(_named(call, x))
        return n.once(draw(call, generator(call.op), np.shape(x)), dtype)

    return (Impl(run),)


def _named(call: Call, x: Any) -> DType:
    named = call.attr("dtype")
    return n.declared(call, 0, x) if named is None else DType(named)


def _bernoulli(call: Call, p: Any) -> Array:
    """1 with probability p, as the text says; the function body has it the other way round."""
    drawn = generator(call.op).random(np.shape(p)) < np.asarray(p).astype(np.float64)
    return np.asarray(drawn).astype(call.float_dtype(_named(call, p)))


def _multinomial(call: Call, x: Any) -> Array:
    """Row by row, places in the sums of what the logarithms stand for."""
    logarithms = np.asarray(x).astype(np.float64)
    count = int(call.attr("sample_size", 1))
    top = logarithms.max(1, keepdims=True, initial=-np.inf)
    sums = np.exp(logarithms - top).cumsum(1)
    drawn = generator(call.op).random((len(sums), count))
    found: list[Any] = [
        np.searchsorted(s, d * s[-1], "right") for s, d in zip(sums, drawn, strict=True)
    ]
    return np.array(found, DType(call.attr("dtype", 6)).numpy).reshape(len(sums), count)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "Bernoulli"): (Impl(_bernoulli),),
    ("", "Multinomial"): (Impl(_multinomial),),
    ("", "RandomNormal"): _shaped(_normal),
    ("", "RandomNormalLike"): _like(_normal),
    ("", "RandomUniform"): _shaped(_uniform),
    ("", "RandomUniformLike"): _like(_uniform),
}
