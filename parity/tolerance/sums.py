"""Sums of products and plain sums.

Hard: any order of evaluation of Σ aᵢbᵢ over K terms has error ≤ γ_K Σ|aᵢbᵢ| (Higham, Accuracy and
Stability of Numerical Algorithms, 2nd ed., eq. 3.5). Soft: with roundings of mean zero the error
grows like √K; 4u√K(‖a∘b‖₂ + |y|) holds with overwhelming probability (Ipsen and Zhou, Probabilistic
error analysis for inner products, SIAM J. Matrix Anal. Appl. 41, 2020). Both sums come from the op
itself: applied to |a|, |b| it gives Σ|aᵢbᵢ|, applied to squares ‖a∘b‖₂².
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.ops._transformer import turned
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import evaluate
from isomorph.parity.arrays import is_double
from isomorph.parity.tolerance import integers
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op

_SCALES = ("alpha", "beta")
LINEAR_SUMS = frozenset(
    {
        "Sum",
        "Mean",
        "ReduceSum",
        "ReduceMean",
        "CumSum",
        "AveragePool",
        "GlobalAveragePool",
        "Col2Im",
    }
)
MULTILINEAR = frozenset({"MatMul", "FusedMatMul", "Einsum"})
"""Nothing but products of elements of every operand."""
NARROWER = 2.0**-50
"""The unit roundoff of any format that is narrower than float64 is larger."""
AVERAGES = frozenset({"Mean", "ReduceMean", "AveragePool", "GlobalAveragePool"})
POSITIVE = {
    "ReduceL1": 1.0,
    "ReduceSumSquare": 1.0,
    "ReduceL2": 0.5,
    "LpPool": 1.0,
    "GlobalLpPool": 1.0,
}
"""Sums of what cannot be negative: the relative error of the sum times this factor."""


def dot(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit) -> Bound | None:
    """MatMul, Gemm, Conv, ConvTranspose, Einsum: linear in each operand; `None` for Resize."""
    if op.type == "Resize":  # its scales are no factors: they say where to read
        return None
    if op.domain == DOMAIN and op.type in integers.RULES:
        return integers.RULES[op.type](op, operands, truth, unit)
    terms = products(op, operands, truth)
    return linear(op, operands, truth, index, unit, terms + 2, 1.0)


def plain(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """Sums and means, and the norms made of them."""
    terms = _summands(op, operands, truth)
    if op.type in LINEAR_SUMS:
        divisor = float(terms) if op.type in AVERAGES else 1.0
        return linear(op, operands, truth, index, unit, terms + 1, divisor)
    size = np.abs(truth)
    if op.type in POSITIVE:
        share = POSITIVE[op.type]
        soft = share * 8 * unit.u * np.sqrt(terms) * size + 4 * unit.ulp(truth)
        hard = share * gamma(terms + 2, unit.u) * size + 8 * unit.ulp(truth)
        underflow = terms * unit.tiny
        power = 1 if op.type in {"ReduceL1", "ReduceSumSquare"} else int(op.attr("p", 2))
        if op.type == "ReduceSumSquare":
            underflow = np.sqrt(underflow)
        elif power > 1:  # powers underflow long before their root would
            underflow = underflow ** (1 / power)
        soft, hard = soft + underflow, hard + underflow
        peak = size**power
        return Bound(soft, lambda: hard, peak, f"a sum of {terms} terms ≥ 0")
    if op.type == "ReduceProd":
        hard = gamma(terms + 1, unit.u) * size + 2 * unit.ulp(truth)
        soft = 4 * unit.u * np.sqrt(terms) * size + 2 * unit.ulp(truth)
        biggest = np.full(size.shape, np.inf)
        lost = _underflow(op, operands, index, terms, unit)
        soft, hard = soft + lost, hard + lost + unit.tiny
        return Bound(soft, lambda: hard, biggest, f"a product of {terms} factors")
    return None


def _underflow(op: Op, operands: Sequence[Any], index: int, terms: int, unit: Unit) -> np.ndarray:
    """What a product loses when some of its factors, in an unlucky order, leave the normal range.

    Each partial product may be off by half the smallest number, which the others multiply by no
    more than all that are above 1.
    """
    x = np.abs(np.asarray(operands[0]))
    x = np.where(x == 0, 1.0, x)

    def product(factors: np.ndarray) -> np.ndarray:
        return np.asarray(evaluate(op, [factors, *operands[1:]], wide=True)[index])

    subnormal = product(np.minimum(x, 1.0)) < unit.tiny / (2 * unit.u)
    return np.where(subnormal, terms * unit.tiny * product(np.maximum(x, 1.0)), 0.0)


def linear(
    op: Op,
    operands: Sequence[Any],
    truth: np.ndarray,
    index: int,
    unit: Unit,
    terms: int,
    divisor: float,
) -> Bound:
    """What sums of `terms` terms may be off, of an op that is linear in each operand."""
    alike, power = _alike(op, operands, unit)
    squares = np.abs(np.asarray(_applied(op, alike, index, np.square, _square)))
    norm = np.ldexp(np.sqrt(squares / divisor), power)
    underflow = (terms + 1) * unit.tiny
    soft = 4 * unit.u * np.sqrt(terms) * (norm + np.abs(truth)) + unit.ulp(truth) + underflow

    def at_most() -> np.ndarray:
        magnitude = np.abs(np.asarray(_applied(op, operands, index, np.abs, abs)))
        return gamma(terms, unit.u) * magnitude + 2 * unit.ulp(truth) + underflow

    peak = norm * np.sqrt(terms) * divisor  # Cauchy and Schwarz: at least Σ|aᵢbᵢ|
    if op.type == "Einsum" and len(operands) > 2:  # any of them may be multiplied first
        sizes = (float(np.nanmax(np.abs(v), initial=1.0)) for v in operands)
        peak = np.maximum(peak, terms * prod(sizes))
    return Bound(soft, at_most, peak, f"γ_K|A||B| and 4u√K‖a∘b‖₂, K = {terms}")


def _alike(op: Op, operands: Sequence[Any], unit: Unit) -> tuple[Sequence[Any], int]:
    """Factors of float64 over powers of two, so that squares stay in its range, and all of these.

    Those of narrower formats do anyway.
    """
    if op.type not in MULTILINEAR or unit.u > NARROWER:
        return operands, 0
    found: list[Any] = []
    power = 0
    for operand in operands:
        size = np.abs(operand) if is_double(operand) else np.ones(1)
        exponent = int(np.frexp(size.max(initial=0.0, where=np.isfinite(size)))[1])
        found.append(np.ldexp(operand, -exponent) if is_double(operand) else operand)
        power += exponent if is_double(operand) else 0
    return found, power


def _applied(
    op: Op,
    operands: Sequence[Any],
    index: int,
    change: Callable[[np.ndarray], np.ndarray],
    scalar: Callable[[float], float],
) -> Any:
    """The op on changed float operands, with its scale factors changed alike."""
    given = [change(v) if is_double(v) else v for v in operands]
    own = op.attributes
    if any(name in own for name in _SCALES):
        changed = {k: scalar(v) if k in _SCALES else v for k, v in own.items()}
        op = _with_attributes(op, changed)
    return evaluate(op, given, wide=True)[index]


def _with_attributes(op: Op, attributes: dict[str, Any]) -> Op:
    made = type(op)(op.domain, op.type, op.version, op.inputs, attributes)
    made.outputs = op.outputs
    return made


def _square(value: float) -> float:
    return value * value


def products(op: Op, operands: Sequence[Any], truth: np.ndarray) -> int:
    """K, the number of products summed into one element (never too small)."""
    first, second = np.asarray(operands[0]), np.asarray(operands[1]) if len(operands) > 1 else None
    match op.type:
        case "MatMul":
            return max(first.shape[-1], 1)
        case "FusedMatMul":
            return max(first.shape[turned(first.ndim, op.attr, "A")[-1]], 1)
        case "Gemm" | "FusedGemm":
            return first.shape[0 if op.attr("transA", 0) else 1] + 1
        case "Conv" | "FusedConv" if second is not None:
            return prod(second.shape[1:]) + 1
        case "ConvTranspose" if second is not None:
            return second.shape[0] * prod(second.shape[2:]) + 1
        case _:
            total = prod(np.asarray(o).size for o in operands if is_double(o))
            return max(int(min(total, max(np.asarray(o).size for o in operands))), 1)


def _summands(op: Op, operands: Sequence[Any], truth: np.ndarray) -> int:
    """K, the number of terms summed into one element."""
    first = np.asarray(operands[0])
    match op.type:
        case "Sum" | "Mean":
            return len(operands)
        case "CumSum":
            axis = int(np.asarray(operands[1]).reshape(-1)[0])
            return max(first.shape[axis], 1)
        case "AveragePool" | "LpPool":
            return prod(op.attr("kernel_shape"))
        case "GlobalAveragePool" | "GlobalLpPool":
            return max(prod(first.shape[2:]), 1)
        case "Col2Im":
            return max(int(np.asarray(operands[2]).prod()), 1)
        case _:
            return max(first.size // max(truth.size, 1), 1)
