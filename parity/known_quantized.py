"""Which results of quantized operators the known divergences of onnxruntime explain."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import words
from isomorph.ir.interpret import widen
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import Call
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._requantized import softmax
from isomorph.ir.types import DType
from isomorph.parity.tolerance.quantized import quotients
from isomorph.parity.tolerance.units import gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

WEIGHTS = {"ConvInteger": 1, "QLinearConv": 3}
"""The operand whose first axis runs over results, all others over what is summed."""
BEYOND_INT32 = 2.0**31


def explain(op: Op, operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> str:
    """Why a quantized result differs, when it is known; every differing element must fit."""
    if op.key == (DOMAIN, "QLinearSoftmax"):
        return _cut(op, operands, got, wanted)
    if op.domain:
        return ""
    if sums_nothing(op, operands):
        return words("sums-of-nothing")
    if op.type == "QuantizeLinear" and wanted.dtype.kind in "iuV":
        to = DType.of(wanted.dtype)
        if not to.is_integer:
            return ""
        ends = np.isin(got.astype(np.float64), n.limits(to))
        beyond = (np.abs(quotients(op, operands)) >= BEYOND_INT32) & ends
        if (beyond | (got == wanted)).all():
            return words("quantize-wrong-end")
    return ""


def _cut(op: Op, operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> str:
    """QLinearSoftmax multiplies by the whole part of 1 / scale, and int8 may wrap."""
    given = [None if v is None else widen(v) for v in operands]
    with np.errstate(all="ignore"):
        steps = np.floor(np.float32(1) / np.asarray(operands[3], np.float32))
        given[3] = np.float64(1) / np.float64(steps)
        found = softmax(Call(op, wide=True), *given)
    off = gamma(found.roundings, 2.0**-24) * found.size
    zero = np.asarray(operands[4]).astype(np.int64)
    ends = (np.rint(found.value + s * off).astype(np.int64) + zero for s in (-1, 1))
    stored = [np.minimum(end, 255).astype(got.dtype) for end in ends]
    if ((got == stored[0]) | (got == stored[1]) | (got == wanted)).all():
        return words("qlinear-softmax-cut")
    return ""


def sums_nothing(op: Op, operands: Sequence[Any]) -> bool:
    """Whether an op sums products of no terms at all."""
    if op.domain:
        return False
    if op.type in {"MatMulInteger", "QLinearMatMul"}:
        return np.shape(operands[0])[-1:] == (0,)
    if op.type in WEIGHTS:
        return prod(np.shape(operands[WEIGHTS[op.type]])[1:]) == 0
    return False
