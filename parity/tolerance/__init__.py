"""How far a run time's result may be from the truth: derived from op, dtype, operands; not tuned.

`bound` gives, per element, a hard limit (beyond it the node is wrong) and a soft one (beyond it,
and further off than the source is, it is suspect). One file per way of reasoning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.opdef import OPS, Tolerance
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.parity.tolerance import (
    attention,
    conditioning,
    elementwise,
    fourier,
    fused,
    loss,
    normalization,
    recurrent,
    sampling,
    scores,
    softmax,
    sums,
)
from isomorph.parity.tolerance.units import Bound, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.ir.types import DType

RULES = {
    Tolerance.ELEMENTWISE: elementwise.bound,
    Tolerance.DOT: sums.dot,
    Tolerance.SUM: sums.plain,
    Tolerance.SOFTMAX: softmax.bound,
    Tolerance.NORMALIZATION: normalization.bound,
    Tolerance.RECURRENT: recurrent.bound,
    Tolerance.FOURIER: fourier.bound,
    Tolerance.SAMPLING: sampling.bound,
    Tolerance.ATTENTION: attention.bound,
    Tolerance.LOSS: loss.bound,
    Tolerance.SCORES: scores.bound,
}
"""The rule of each class that rounds; every other class is exact on equal operands."""

RULE_OF = {
    ("", "SimplifiedLayerNormalization"): fused.simplified,
    (DOMAIN, "EmbedLayerNormalization"): fused.embed,
    (DOMAIN, "FusedConv"): fused.activated,
    (DOMAIN, "FusedGemm"): fused.activated,
    (DOMAIN, "MatMulNBits"): fused.few_bits,
    (DOMAIN, "RotaryEmbedding"): fused.rotary,
    (DOMAIN, "SkipLayerNormalization"): fused.skip,
    (DOMAIN, "SkipSimplifiedLayerNormalization"): fused.skip,
}
"""Operators that are several of others, and have a rule of their own."""

JUMPING = frozenset({Tolerance.DISCONTINUOUS, Tolerance.SCORES})
"""Classes that compare or round to integers on the way."""


def tolerance_of(op: Op) -> Tolerance | None:
    """The class of an op, `None` for one that nobody here knows."""
    known = OPS.get(op.key)
    return None if known is None else known.tolerance


def is_exact(op: Op) -> bool:
    """Whether the op's results are determined bit by bit by its operands."""
    found = tolerance_of(op)
    return found is not None and found not in RULES


def jumps(op: Op) -> bool:
    """Whether the op decides anything by comparing, or by rounding to integers."""
    known = OPS.get(op.key)
    return known is not None and (known.jumps or known.tolerance in JUMPING)


def bound(op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, dtype: DType) -> Bound:
    """The bound on one result of an op.

    Args:
        op: the operator.
        operands: what it was given, floats widened to float64.
        truth: the result in float64.
        index: which of its results.
        dtype: the float type that the result is stored in.
    """
    unit = Unit.of(dtype)
    found = tolerance_of(op)
    rule = RULES.get(found, conditioning.bound) if found is not None else conditioning.bound
    rule = RULE_OF.get(op.key, rule)
    with np.errstate(all="ignore"):
        limits = rule(op, operands, truth, index, unit)
        if limits is None:
            limits = conditioning.bound(op, operands, truth, index, unit)
            if op.type in {"Resize", "Upsample"} and not op.domain:
                limits = sampling.displaced(limits, op, np.asarray(operands[0]), truth, unit)
            if op.key == ("", "BatchNormalization") and not index:
                limits = normalization.folded(limits, operands, unit)
            if op.type == "DeformConv":
                limits = sampling.deformed(limits, operands, unit)
    return limits if unit.u > 2.0**-50 else limits.scaled(2.0)


__all__ = ["Bound", "bound", "is_exact", "jumps", "tolerance_of"]
