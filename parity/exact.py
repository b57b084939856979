"""Results that are determined bit by bit, and the places where the standard leaves them open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.opdef import Tolerance
from isomorph.ir.schema import ML
from isomorph.ir.types import DType
from isomorph.parity import known, known_forms
from isomorph.parity.arrays import is_list, is_map, is_tensor
from isomorph.parity.finding import Finding
from isomorph.parity.leaves import stacked
from isomorph.parity.tolerance import quantized, scores, tolerance_of
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

MAXIMA = frozenset(
    {
        "ArgMax",
        "ArgMin",
        "Clip",
        "GlobalMaxPool",
        "Hardmax",
        "Max",
        "MaxPool",
        "MaxRoiPool",
        "Min",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "TopK",
    }
)
"""Built on max and min, whose result for NaN, and between −0 and +0, the standard leaves open."""

ARITHMETIC = frozenset(
    {
        "Abs",
        "Add",
        "CumSum",
        "Div",
        "Gemm",
        "Mod",
        "MatMul",
        "Mul",
        "Neg",
        "Pow",
        "ReduceL1",
        "ReduceL2",
        "ReduceMean",
        "ReduceProd",
        "ReduceSum",
        "ReduceSumSquare",
        "Sub",
        "Sum",
    }
)
"""Where integers may overflow, which the standard does not define."""


SMALL_SIDE, LARGE_SIDE = 2.0**-62, 2.0**62
"""Sides of boxes whose areas, and sums of them, are normal numbers of float32."""


def compare(op: Op, operands: Sequence[Any], got: Any, wanted: Any, index: int = 0) -> Finding:
    """Bitwise, but for NaN payloads; what the standard leaves open is UNSPECIFIED.

    A quantized result may lie on either side of a half that rounding decides: AMBIGUOUS.
    """
    problem = differs(got, wanted)
    if not problem:
        return Finding()
    words = known_forms.explain(op, operands, got, index)
    if words:
        return Finding(Status.RUNTIME, words)
    if any(is_list(v) or is_map(v) or v is None for v in (got, wanted)):
        return Finding(Status.FAIL, problem)
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or _kind(got) != _kind(wanted):
        words = known.explain_shape(op, operands, got.shape)
        if not words and op.type == "NonMaxSuppression" and (open_ := _boxes(operands)):
            return Finding(Status.UNSPECIFIED, open_)
        return Finding(Status.RUNTIME, words) if words else Finding(Status.FAIL, problem)
    bad = different(got, wanted)
    if takes_maxima(op):
        if not (bad & ~((got == 0) & (wanted == 0))).any():
            return Finding()
        if any(has_nan(v) for v in operands):
            return Finding(Status.UNSPECIFIED, f"the standard leaves {op.type} of NaN open")
    limits = quantized.between(op, operands, index)
    if limits is not None and not (bad & ~_within(got, limits)).any():
        if index and got.dtype.kind == "f":
            return Finding()
        return Finding(Status.AMBIGUOUS, f"rounding decides between neighbours: {problem}")
    if tolerance_of(op) is Tolerance.SCORES and scores.undecided(op, operands, bad):
        return Finding(Status.AMBIGUOUS, f"rounding decides between labels: {problem}")
    words = known.explain_exact(op, operands, got, wanted)
    if words:
        return Finding(Status.RUNTIME, words)
    open_reason = quantized.left_open(op, operands, bad) or _left_open(op, operands, got, bad)
    if open_reason:
        return Finding(Status.UNSPECIFIED, open_reason)
    return Finding(Status.FAIL, problem, *_figures(got, wanted))


def _within(got: np.ndarray, limits: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        value = got.astype(np.float64)
    return (limits[0] <= value) & (value <= limits[1])


def takes_maxima(op: Op) -> bool:
    if op.domain:
        return op.key == (ML, "Normalizer") and op.attr("norm", "MAX") == "MAX"
    return op.type in MAXIMA or (
        op.type in {"ScatterElements", "ScatterND"} and op.attr("reduction") in {"max", "min"}
    )


def differs(got: Any, wanted: Any) -> str:
    """How two results differ bit by bit; empty when they do not."""
    if is_list(got) or is_list(wanted):
        if not is_list(got) or not is_list(wanted) or len(got) != len(wanted):
            return f"it is {_short(got)}, {_short(wanted)} is right"
        every = (differs(g, w) for g, w in zip(got, wanted, strict=True))
        return next((f"element {i}: {p}" for i, p in enumerate(every) if p), "")
    if is_map(got) or is_map(wanted):
        if not is_map(got) or not is_map(wanted) or got.keys() != wanted.keys():
            return f"it is {_short(got)}, {_short(wanted)} is right"
        return differs(stacked(got), stacked(wanted))
    if got is None or wanted is None:
        return "" if got is wanted else f"it is {_short(got)}, {_short(wanted)} is right"
    got, wanted = np.asarray(got), np.asarray(wanted)
    if _kind(got) != _kind(wanted):
        return f"its dtype is {got.dtype}, {wanted.dtype} is right"
    if got.shape != wanted.shape:
        return f"its shape is {got.shape}, {wanted.shape} is right"
    bad = different(got, wanted)
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    sign = " (the sign of zero)" if got[at] == wanted[at] else ""
    return (
        f"{int(bad.sum())} of {bad.size} elements differ; at {list(at)} it is {got[at]!s}, "
        f"{wanted[at]!s} is right{sign}"
    )


def different(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Elements that differ: NaN equals NaN, −0 is not +0."""
    with np.errstate(all="ignore"):
        bad = np.asarray(got != wanted)
        if got.dtype.kind in "fV" and wanted.dtype.kind in "fV":
            bad &= ~((got != got) & (wanted != wanted))  # noqa: PLR0124 - NaN, also of ml_dtypes
            bad |= (got == 0) & (wanted == 0) & (np.signbit(got) != np.signbit(wanted))
    return bad


def _left_open(op: Op, operands: Sequence[Any], got: np.ndarray, bad: np.ndarray) -> str:
    """Why a difference is nobody's fault, when the elements that differ say so."""
    if op.type == "MaxUnpool":
        places = np.asarray(operands[1])
        return "the standard leaves repeated places open" if _repeats(places) else ""
    if op.type == "MaxRoiPool" and not (np.abs(np.asarray(operands[1])) < 2.0**30).all():
        return "the standard leaves regions beyond the integers that count pixels open"
    if op.type == "NonMaxSuppression":
        return _boxes(operands)
    if op.type == "TopK" and not op.attr("sorted", 1):
        return "the standard leaves the order of TopK open where it is not sorted"
    if got.dtype.name == "float8_e8m0fnu" and op.type in {"Cast", "CastLike"}:
        x = np.asarray(operands[0])
        if x.dtype.kind in "fViu" and not (bad & (x.astype(np.float64) > 0)).any():
            return "the standard leaves the cast of what is not positive to float8e8m0 open"
    if got.dtype.kind not in "iu":
        if op.type in {"Cast", "CastLike"} and got.dtype.kind in "OUST":
            return "the standard leaves the text of a number open"
        return ""
    info = np.iinfo(got.dtype)
    if op.type in {"Cast", "CastLike"}:
        x = np.asarray(operands[0])
        if x.dtype.kind in "fV":
            with np.errstate(all="ignore"):
                values = np.trunc(x.astype(np.float64))
                inside = (values >= info.min) & (values <= info.max)
            if not (bad & inside).any():
                return "the standard leaves a float beyond the integer's range open"
        return ""
    if op.type in ARITHMETIC and not op.domain:
        from isomorph.ir.semantics import evaluate

        given = [v if v is None else _as_float(np.asarray(v)) for v in operands[:2]]
        with np.errstate(all="ignore"):
            size = np.abs(np.asarray(evaluate(op, [*given, *operands[2:]])[0], np.float64))
            if op.type == "ReduceL2":
                size = size**2
            elif op.type == "ReduceMean":
                size = size * (np.size(operands[0]) / max(size.size, 1))
        if not (bad & np.isfinite(size) & (size <= info.max)).any():
            return "the standard leaves integer overflow and division by zero open"
    return ""


def _boxes(operands: Sequence[Any]) -> str:
    """Why boxes may be chosen otherwise: NaN, or areas that float32 cannot hold."""
    if any(has_nan(v) for v in operands):
        return "the standard leaves NonMaxSuppression of NaN open"
    boxes = np.abs(np.asarray(operands[0], np.float64))
    sides = boxes[boxes > 0]
    if sides.size and not SMALL_SIDE < sides.min() <= sides.max() < LARGE_SIDE:
        return "areas of boxes leave the range of float32"
    return ""


def _repeats(places: np.ndarray) -> bool:
    return np.unique(places).size < places.size


def _as_float(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.kind in "iu" else array


def has_nan(value: Any) -> bool:
    if not is_tensor(value) or value.dtype.kind not in "fV":
        return False
    return bool(np.isnan(value).any())


def _kind(array: np.ndarray) -> object:
    return "string" if array.dtype.kind in "OUST" else DType.of(array.dtype)


def _figures(got: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    if got.dtype.kind in "OUSTb":
        return 0.0, 0.0
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    error = error[np.isfinite(error)]
    return 0.0, float(error.max(initial=0.0))


def _short(value: Any) -> str:
    if value is None:
        return "absent"
    return f"a sequence of {len(value)}" if is_list(value) else str(value)[:60]
