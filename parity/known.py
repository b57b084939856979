"""Which results the known divergences of onnxruntime's CPU kernels explain.

What they are stands in `isomorph.exporters.runtimes.divergences`; a rule here tells which elements
of a result one of them accounts for. Explained elements are RUNTIME, which never turns a right
export into a failed one. A rule is as narrow as what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.ir.schema import ML
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import evaluate
from isomorph.ir.semantics._activation import ACTIVATED, activation_of, without_activation
from isomorph.parity import known_attention as attention
from isomorph.parity import known_casts as casts
from isomorph.parity import known_drawn, known_found, known_ml
from isomorph.parity import known_fused as fused
from isomorph.parity import known_quantized as quantized
from isomorph.parity import known_recurrent as recurrent
from isomorph.parity import known_reduction as reduction
from isomorph.parity import known_signal as signal
from isomorph.parity import known_transformers as transformers
from isomorph.parity.arrays import is_double, is_float
from isomorph.parity.tolerance.fused import INT8, activated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance.units import Unit


@dataclass(frozen=True, slots=True)
class Case:
    """One result of a node that is off.

    Attributes:
        op: the node.
        operands: floats as float64.
        got, truth: the result and what it should be, in float64.
        unit: the format of the result.
    """

    op: Op
    operands: Sequence[Any]
    got: np.ndarray
    truth: np.ndarray
    unit: Unit

    @property
    def error(self) -> np.ndarray:
        """Absolute error per element."""
        return np.abs(self.got - self.truth)

    @property
    def x(self) -> np.ndarray:
        """The first operand."""
        return np.asarray(self.operands[0])


@dataclass(frozen=True, slots=True)
class Rule:
    """Which elements of a result of its operators a divergence explains.

    Attributes:
        name: of the divergence.
        explains: the elements.
    """

    name: str
    explains: Callable[[Case], np.ndarray]


def explain(case: Case) -> tuple[np.ndarray, str]:
    """Which elements the table explains, and in what words."""
    found = np.zeros(case.got.shape, bool)
    words: list[str] = []
    with np.errstate(all="ignore"):
        for rule in KNOWN:
            entry = DIVERGENCES[rule.name]
            if case.op.key not in entry.ops:
                continue
            covered = np.broadcast_to(np.asarray(rule.explains(case)), found.shape)
            if covered.any():
                found |= covered
                words.append(entry.words)
        if case.op.key in ACTIVATED:
            covered, said = _behind_sums(case)
            found |= covered
            words += [said] if covered.any() else []
        if case.op.domain == ML:
            covered, said = known_ml.explain(case.op, case.operands, case.got, case.unit)
            found |= covered
            words += [said] if covered.any() else []
        covered, said = known_found.explain(case.op, case.operands, case.got)
        found |= covered
        words += [said] if covered.any() else []
    return found, "; ".join(words)


def _behind_sums(case: Case) -> tuple[np.ndarray, str]:
    """What the table says of the activation alone, of the error that the sums do not cause."""
    act = activation_of(case.op)
    if act is None:
        return np.zeros(case.got.shape, bool), ""
    total = np.asarray(evaluate(without_activation(case.op), case.operands, wide=True)[0])
    caused = activated(case.op, case.operands, case.truth, 0, case.unit).soft
    left = np.sign(case.got - case.truth) * np.maximum(case.error - caused, 0.0)
    return explain(Case(act.op, act.operands(total), case.truth + left, case.truth, case.unit))


def _is_single(case: Case) -> bool:
    return case.unit.u == 2.0**-24


def _is_double(case: Case) -> bool:
    return case.unit.u == 2.0**-53


def _ulps(limit: float) -> Callable[[Case], np.ndarray]:
    return lambda case: (case.error <= limit * case.unit.ulp(case.truth)) & _is_single(case)


def _at_scale(limit: float, scale: Callable[[Case], Any]) -> Callable[[Case], np.ndarray]:
    return lambda case: (case.error <= limit * case.unit.u * scale(case)) & _is_single(case)


def _of(explains: Callable[..., np.ndarray]) -> Callable[[Case], np.ndarray]:
    """A rule of another file, which takes the parts of a case."""
    return lambda case: explains(case.op, case.operands, case.got, case.truth, case.unit)


def _one_pass(case: Case) -> np.ndarray:
    """What E[x²] − E[x]² costs: K units of E[x²] in the variance; anything, where that is large."""
    x = case.x
    if x.ndim < 2 or not x.size:
        return np.zeros(case.got.shape, bool)
    if case.op.type == "MeanVarianceNormalization":
        axes = tuple(int(a) for a in case.op.attr("axes", (0, 2, 3)))
        rows = x
    else:
        groups = x.shape[0] * int(case.op.attr("num_groups", x.shape[1]))
        rows, axes = x.reshape(groups, -1), (-1,)
    variance = rows.var(axes, keepdims=True)
    lost = (rows**2).mean(axes, keepdims=True) / variance
    lost = np.where(np.isfinite(lost), lost, np.inf)
    terms = rows.size / max(variance.size, 1)
    relative = np.broadcast_to((terms + 8) * case.unit.u * lost, rows.shape).reshape(x.shape)
    size = (
        np.abs(case.truth) + float(np.abs(case.operands[1]).max(initial=0.0))
        if len(case.operands) > 1
        else np.abs(case.truth) + 1
    )
    return (relative > 2.0**-4) | (case.error <= relative * size)


def _of_nan(case: Case) -> np.ndarray:
    """NaN that a NaN or an infinity among the operands brought about."""
    floats = [v for v in case.operands if is_double(v)]
    return np.isnan(case.truth) & any(not bool(np.isfinite(v).all()) for v in floats)


def _factor(case: Case) -> float:
    """What the exponential is multiplied with, by less than 1.76 where it is stated by no one."""
    return max(1.76, abs(float(case.op.attr("alpha", 1.0))))


def _of_subnormal_tanh(case: Case) -> np.ndarray:
    """A number times a Tanh that is a multiple of up to 128 of the smallest numbers."""
    small = np.abs(case.truth) <= 2.0**-100
    return _is_single(case) & small & (case.error <= 128 * case.unit.tiny * (np.abs(case.x) + 1))


def _of_no_vector(case: Case) -> np.ndarray:
    """Products of a matrix with a vector that has no elements."""
    return np.asarray(np.shape(case.operands[1]) == (0,) and case.x.ndim > 1)


def _with_bias(case: Case) -> np.ndarray:
    """The first operand and the bias, if there is one."""
    bias = case.operands[1] if len(case.operands) > 1 else None
    return case.x if bias is None else case.x + np.asarray(bias)


def _added_up(case: Case) -> np.ndarray:
    """Weights of n-grams added once for each that is found: as many roundings as there may be."""
    words = int(np.shape(case.operands[0])[-1]) * int(case.op.attr("max_gram_length"))
    found = words * (int(case.op.attr("max_skip_count")) + 1)
    return case.error <= found * case.unit.u * np.abs(case.truth)


def _summed(case: Case) -> np.ndarray:
    """An arithmetic progression made by adding the step again and again."""
    size = np.abs(case.truth).max(initial=0.0)
    return case.error <= 2 * case.truth.size * case.unit.u * size


def _is_inverse(case: Case) -> bool:
    """Whether it is an inverse transform in float64, whose factor is a float32."""
    return case.op.type == "DFT" and bool(case.op.attr("inverse", 0)) and _is_double(case)


def _aligns_one_pixel(case: Case) -> np.ndarray:
    return np.asarray(
        bool(case.op.attr("align_corners", 0)) and 1 in np.asarray(case.operands[1])[2:]
    )


def _off_by_argument(case: Case) -> np.ndarray:
    """Errors of 4 units of the argument."""
    return _is_double(case) & (case.error <= 4 * case.unit.u * np.maximum(1.0, np.abs(case.x)))


KNOWN = (
    Rule("softmax-unrounded", _of(attention.unrounded)),
    Rule("attention-single-scale", _of(attention.single_scale)),
    Rule(
        "attention-shown-mask",
        lambda case: np.isneginf(case.truth) & (case.got < -case.unit.top / 2),
    ),
    Rule("attention-unseen", _of_nan),
    Rule(
        "attention-rows-without-keys",
        lambda case: np.isnan(case.got) & (case.truth == 0) & _is_double(case),
    ),
    Rule("transformers-later-keys", _of(transformers.masked_otherwise)),
    Rule("transformers-shown-mask", _of(transformers.shows_lowest)),
    Rule("transformers-not-finite", _of(transformers.not_finite)),
    Rule("transformers-beyond-the-end", _of(transformers.beyond_the_end)),
    Rule("sigmoid-tail", _at_scale(3, lambda _: 1.0)),
    Rule("sigmoid-double", lambda case: _is_double(case) & (case.error <= 2 * case.unit.u)),
    Rule("log-softmax-infinity", lambda case: _is_double(case) & _of_nan(case)),
    Rule("tanh-above-one", _at_scale(6, lambda _: 1.0)),
    Rule("exp-minus-one", _at_scale(4, _factor)),
    Rule("mish-subnormal", _of_subnormal_tanh),
    Rule("gelu-tail", _at_scale(8, lambda case: np.abs(case.x))),
    Rule("deform-conv-nan", _of_nan),
    Rule(
        "interpolated-infinity",
        lambda case: np.isnan(case.got) & (not np.isfinite(case.x).all()),
    ),
    Rule("sine-double", _off_by_argument),
    Rule(
        "gelu-constants",
        lambda case: _is_double(case) & (case.error <= 2.0**-22 * np.abs(case.x)),
    ),
    Rule(
        "gelu-factor",
        lambda case: case.error <= 8 * case.unit.u * np.abs(_with_bias(case)),
    ),
    Rule(
        "fast-gelu-constants",
        lambda case: _is_double(case) & (case.error <= 2.0**-22 * np.abs(_with_bias(case))),
    ),
    Rule("log-ulps", _ulps(4)),
    Rule("arc-ulps", _ulps(6)),
    Rule("fourier-angles", lambda case: ~np.asarray(_is_inverse(case)) & _of(signal.chirped)(case)),
    Rule("fourier-inverse-factor", lambda case: _is_inverse(case) & _of(signal.chirped)(case)),
    Rule("fourier-mirrored", _of(signal.mirrored)),
    Rule("window-constants", lambda case: _is_double(case) & (case.error <= 2.0**-24)),
    Rule("affine-single-pixel", _aligns_one_pixel),
    Rule("recurrent-clip", lambda case: np.asarray(case.op.attr("clip") is not None)),
    Rule("dynamic-quantize-nan", _of_nan),
    Rule("recurrent-softplus", _of(recurrent.softplus)),
    Rule("recurrent-gates", _of(recurrent.gates_off)),
    Rule("recurrent-first-step", _of(recurrent.unread)),
    Rule("range-by-steps", _summed),
    Rule("ngram-weights", _added_up),
    Rule("recurrent-nan", _of_nan),
    Rule("one-pass-variance", _one_pass),
    Rule("variance-without-epsilon", _of(known_drawn.without_epsilon)),
    Rule("squares-out-of-range", _of(known_drawn.squares_lost)),
    Rule("squares-sliding", _of(known_drawn.slid)),
    Rule("shrink-constants", _of(known_drawn.in_single)),
    Rule("products-of-nothing", _of_no_vector),
    Rule("few-bits-zero-points", _of(fused.without_zeros)),
    Rule("few-bits-tiny", _of(fused.coarse_steps)),
    Rule(
        "few-bits-nan",
        lambda case: _of_nan(case) & (case.op.attr("accuracy_level", 0) == INT8),
    ),
)
"""Rules for numbers that may be off."""


def broken(op: Op) -> str:
    """What is known to go so wrong with a use that its results are whatever lies in memory."""
    return transformers.broken(op) if op.domain == DOMAIN else ""


def explain_shape(op: Op, operands: Sequence[Any], got: tuple[int, ...]) -> str:
    """Why a result has another shape than it should, when it is known."""
    if words := known_found.explain_shape(op, operands, got):
        return words
    nothing, scalar = DIVERGENCES["reduce-nothing"], DIVERGENCES["nonzero-scalar"]
    if op.key in nothing.ops and operands and reduction.forward(op, operands, got):
        return nothing.words
    if op.key in scalar.ops and not np.shape(operands[0]) and got[:1] == (1,):
        return scalar.words
    return _unique_of_nan(op, operands)


def explain_exact(op: Op, operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> str:
    """Why an exact op's result differs, when it is known; every differing element must fit."""
    if words := known_found.explain_exact(op, operands) or _unique_of_nan(op, operands):
        return words
    with np.errstate(all="ignore"):
        if op.type == "Where" and ((got == wanted) | (np.isnan(got) & np.isnan(wanted))).all():
            return DIVERGENCES["where-zero"].words
        if op.type == "Pow" and got.dtype.kind in "iu":
            base, power = (np.asarray(v).astype(np.float64) for v in operands[:2])
            beyond = ~(np.abs(base**power) < _DOUBLE_INTEGERS) | (np.abs(base) >= _DOUBLE_INTEGERS)
            if (beyond | (got == wanted)).all():
                return DIVERGENCES["pow-integers"].words
        if op.key in DIVERGENCES["reduce-int64"].ops and reduction.in_float64(
            op, operands, got, wanted
        ):
            return DIVERGENCES["reduce-int64"].words
        if op.type in {"Cast", "CastLike"}:
            return casts.explain(op, operands, got, wanted)
        words = known_drawn.explain_exact(op, operands, got, wanted)
        return words or quantized.explain(op, operands, got, wanted)


def _unique_of_nan(op: Op, operands: Sequence[Any]) -> str:
    entry = DIVERGENCES["unique-nan"]
    known = op.key in entry.ops and is_float(operands[0]) and np.isnan(operands[0]).any()
    return entry.words if known else ""


_DOUBLE_INTEGERS = 2.0**53
