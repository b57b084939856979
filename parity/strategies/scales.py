"""Scales, zero points, shares and decays: what some operands of some operators have to be.

A scale is above 0, a share between 0 and 1, and a decay, which is a logarithm, not above 0. A zero
point is 0 where the standard says so: of int32 and of floats. Inputs of a quantizer are drawn
around its halves and its ends, too: see `boundaries`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.constants import numbers
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.graph import Graph, Op, Value

SCALES = {
    "DequantizeLinear": (1,),
    "QLinearConv": (1, 4, 6),
    "QLinearMatMul": (1, 4, 6),
    "QuantizeLinear": (1,),
}
ZEROS = {
    "DequantizeLinear": (2,),
    "QLinearMatMul": (2, 5, 7),
    "QuantizeLinear": (2,),
}
SHARED = frozenset({"DequantizeLinear", "QuantizeLinear"})
"""Operators that onnxruntime's own domain has, too."""
SCALES_MICROSOFT = {
    "DynamicQuantizeLSTM": (8, 10),
    "DynamicQuantizeMatMul": (2,),
    "MatMulIntegerToFloat": (2, 3),
    "QGemm": (1, 4, 7),
    "QLinearAdd": (1, 4, 6),
    "QLinearAveragePool": (1, 3),
    "QLinearGlobalAveragePool": (1, 3),
    "QLinearLeakyRelu": (1, 3),
    "QLinearMul": (1, 4, 6),
    "QLinearSigmoid": (1, 3),
    "QLinearSoftmax": (1, 3),
    "QLinearWhere": (2, 5, 7),
}
ZEROS_MICROSOFT = {"DynamicQuantizeLSTM": (9, 11)}
"""onnxruntime takes zero points of one number per column where they are 0."""
SHARES = {"Bernoulli": (0,), "LinearAttention": (5,)}
DECAYS = {"LinearAttention": (4,)}
KINDS = ("scale", "zero", "share", "decay")
STEPPING = frozenset({"Ceil", "Floor", "Round"})
LINEAR = frozenset({"Add", "Div", "Mul", "Sub"})
PLACES = (0.5, 1.0, 1.5, 2.5)
MOST_STEPS_BACK = 4
FEW = 16
"""Scales of at most so many numbers are looked at one by one."""


def kind_of(op: Op, position: int) -> str:
    """One of `KINDS`, where an operand of an op has to be one; else empty."""
    shared = op.type in SHARED
    if op.domain == DOMAIN and not shared:
        if position in SCALES_MICROSOFT.get(op.type, ()):
            return "scale"
        if op.type == "QLinearConcat" and position % 3 == 0:
            return "scale"
        return "zero" if position in ZEROS_MICROSOFT.get(op.type, ()) else ""
    if op.domain and not (shared and op.domain == DOMAIN):
        return ""
    if position in SCALES.get(op.type, ()):
        return "scale"
    if position in ZEROS.get(op.type, ()):
        dtype = _dtype(op.input(position))
        return "zero" if dtype is DType.INT32 or (dtype is not None and dtype.is_float) else ""
    if position in DECAYS.get(op.type, ()):
        return "decay"
    return "share" if position in SHARES.get(op.type, ()) else ""


def draw(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Values of such an operand."""
    match kind:
        case "scale":
            exponents = rng.uniform(-7, 1, shape)
            return np.exp2(np.rint(exponents) if rng.random() < 0.5 else exponents)
        case "share":
            edges = rng.choice([0.0, 1.0], shape)
            return np.where(rng.random(shape) < 0.2, edges, rng.random(shape))
        case "decay":
            return -rng.exponential(1.0, shape) * (rng.random(shape) < 0.9)
        case _:
            return np.zeros(shape)


def boundaries(graph: Graph) -> list[float]:
    """Numbers at which a quantizer of constant scale changes its mind, or saturates.

    Those of Round, Floor and Ceil, too, of what is divided or multiplied by constants before.
    """
    return list(dict.fromkeys(b for _, op in graph.walk() for b in _boundaries(op)))


def _boundaries(op: Op) -> Iterator[float]:
    if op.domain:
        return
    if op.type in STEPPING:
        for step in _steps(op.input(0)):
            for place in PLACES:
                yield place * step
        return
    scale, zero = (numbers(op.input(i)) for i in (1, 2))
    if op.type != "QuantizeLinear" or scale is None or scale.size > FEW:
        return
    named = DType(op.attr("output_dtype", 0) or DType.UINT8.value)
    low, high = n.limits(named if zero is None else DType.of(zero.dtype))
    single = zero is not None and zero.size == 1
    moved = float(zero.astype(np.float64).reshape(-1)[0]) if zero is not None and single else 0.0
    for step in np.unique(scale.astype(np.float64)):
        for place in (0.5, 1.5, 2.5, high - moved + 0.5, moved - low + 0.5):
            yield place * float(step)


def _steps(value: Value | None) -> list[float]:
    """What of an input makes a step of one here; none where that is not a matter of constants."""
    found = [1.0]
    for _ in range(MOST_STEPS_BACK):
        op = value.producer if value is not None else None
        if op is None:
            return found if value is not None and value.weight is None and found != [1.0] else []
        factors = [numbers(v) for v in (op.input(0), op.input(1))]
        at = next((i for i, f in enumerate(factors) if f is not None and 0 < f.size <= FEW), None)
        if op.domain or op.type not in LINEAR or at is None or (op.type == "Div" and at == 0):
            return []
        value = op.input(1 - at)
        factor = np.unique(np.asarray(factors[at], np.float64))
        factor = factor[factor != 0]
        if op.type == "Div":
            found = [f * float(s) for f in found for s in factor]
        elif op.type == "Mul":
            found = [f / float(s) for f in found for s in factor]
    return []


def _dtype(value: Value | None) -> DType | None:
    return value.type.dtype if value is not None and isinstance(value.type, TensorType) else None
