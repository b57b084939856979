"""One element at a time: k units in the last place, k counted from the operator's formula.

`OpDef.ulps` counts rounded operations. A library function inside counts as much as OpenCL 3.0 (C
specification, §7.4, full profile) grants it, the only published contract for such functions. An
operator composed of several steps is also granted k roundings of its operands, carried through its
derivative: what HardSigmoid loses where alpha·x + beta cancels, however well it is made.

The hard limit is four times that, and the rounding of the largest intermediate of the formula as
the standard writes it: exp(x) − 1 in Elu, 1 + erf(x/√2) in Gelu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.opdef import OPS
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.parity.arrays import is_double
from isomorph.parity.tolerance import quantized
from isomorph.parity.tolerance.derivative import carried
from isomorph.parity.tolerance.units import Bound, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op

LIBRARY = {
    "Acos": 4,
    "Acosh": 4,
    "Asin": 4,
    "Asinh": 4,
    "Atan": 5,
    "Atanh": 5,
    "Cos": 4,
    "Cosh": 4,
    "Erf": 16,
    "Exp": 3,
    "Log": 3,
    "Pow": 16,
    "Sin": 4,
    "Sinh": 4,
    "Tan": 5,
    "Tanh": 5,
}
CALLS: dict[str, tuple[str, ...]] = {
    "BiasGelu": ("Erf",),
    "Celu": ("Exp",),
    "Elu": ("Exp",),
    "FastGelu": ("Tanh",),
    "Gelu": ("Erf",),
    "Mish": ("Exp", "Log", "Tanh"),
    "QuickGelu": ("Exp",),
    "Selu": ("Exp",),
    "Sigmoid": ("Exp",),
    "Softplus": ("Exp", "Log"),
    "SwiGLU": ("Exp",),
    "Swish": ("Exp",),
}
"""Library functions inside the formulas of operators."""

SCALES: dict[str, Callable[[Op, np.ndarray], Any]] = {
    "Celu": lambda op, _: abs(op.attr("alpha", 1.0)),
    "Elu": lambda op, _: abs(op.attr("alpha", 1.0)),
    "Erf": lambda _op, _x: 1.0,
    "Gelu": lambda _, x: np.abs(x),
    "Mish": lambda _, x: np.abs(x),
    "QuickGelu": lambda _, x: np.abs(x),
    "Selu": lambda op, _: abs(op.attr("alpha", 1.6733) * op.attr("gamma", 1.0507)),
    "Sigmoid": lambda _op, _x: 1.0,
    "Softplus": lambda _op, _x: 1.0,
    "Swish": lambda _, x: np.abs(x),
    "Tanh": lambda _op, _x: 1.0,
}
"""The largest intermediate of the formula as written, where the result can be much smaller."""


def count(op: Op) -> float:
    """The units in the last place that one element is granted."""
    known = OPS.get(op.key)
    ulps = known.ulps if known is not None else 1.0
    return max(ulps, LIBRARY.get(op.type, 0)) + sum(
        LIBRARY[name] - 1 for name in CALLS.get(op.type, ())
    )


def bound(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound:
    """K ulp, one subnormal, and for composed operators k roundings of the operands."""
    if op.key in {("", "DequantizeLinear"), (DOMAIN, "DequantizeLinear")}:
        return quantized.product(op, truth, unit)
    k = count(op)
    soft = k * unit.ulp(truth) + unit.tiny
    basis = f"{k:g} ulp"
    if k > 1 and op.type not in LIBRARY:
        soft = soft + k * unit.u * carried(op, operands, truth, index)
        basis += f" and {k:g}u of the operands through the derivative"
    peak = np.abs(truth)
    for operand in operands:
        if is_double(operand):
            peak = np.fmax(peak, np.abs(operand))

    def at_most() -> np.ndarray:
        scale = SCALES.get(op.type)
        lost = 0.0 if scale is None else 2 * k * unit.u * scale(op, np.asarray(operands[0]))
        return 4 * soft + lost

    return Bound(soft, at_most, peak, basis)
