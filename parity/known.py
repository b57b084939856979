"""What onnxruntime's CPU kernels are known to do badly: measured on 1.31.1, with where to look.

A row explains elements of one op's result; explained elements are RUNTIME, which never turns a
right export into a failed one. A row is as narrow as what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from isomorph.ir.schema import ML
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import evaluate
from isomorph.ir.semantics._activation import ACTIVATED, activation_of, without_activation
from isomorph.parity import known_attention as attention
from isomorph.parity import known_fused as fused
from isomorph.parity import known_ml
from isomorph.parity import known_quantized as quantized
from isomorph.parity import known_signal as signal
from isomorph.parity import known_transformers as transformers
from isomorph.parity.arrays import is_double
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
class Divergence:
    """A row: which ops of a domain, which elements of the result, what happens, the source."""

    ops: frozenset[str]
    explains: Callable[[Case], np.ndarray]
    what: str
    citation: str
    domain: str = ""


def explain(case: Case) -> tuple[np.ndarray, str]:
    """Which elements the table explains, and in what words."""
    found = np.zeros(case.got.shape, bool)
    words: list[str] = []
    with np.errstate(all="ignore"):
        for row in KNOWN:
            if case.op.domain != row.domain or case.op.type not in row.ops:
                continue
            covered = np.broadcast_to(np.asarray(row.explains(case)), found.shape)
            if covered.any():
                found |= covered
                words.append(f"{row.what} [{row.citation}]")
        if case.op.key in ACTIVATED:
            covered, said = _behind_sums(case)
            found |= covered
            words += [said] if covered.any() else []
        if case.op.domain == ML:
            covered, said = known_ml.explain(case.op, case.operands, case.got, case.unit)
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


def _softplus(case: Case) -> np.ndarray:
    """Infinities, clamped or not, that a Softplus among the gates' functions makes."""
    names = [str(a).lower() for a in case.op.attr("activations", ()) or ()]
    return (np.abs(case.got) > case.unit.top / 2) & ("softplus" in names)


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


KNOWN = (
    Divergence(
        frozenset({"Softmax"}),
        _of(attention.unrounded),
        "a Cast to half precision before it is dropped: its operand was not rounded",
        "onnxruntime/core/optimizer/insert_cast_transformer.cc, measured",
    ),
    Divergence(
        frozenset({"Attention"}),
        _of(attention.single_scale),
        "float64 has no kernel: the function body runs, whose scale is float32",
        "onnx/defs/nn/defs.cc, measured",
    ),
    Divergence(
        frozenset({"Attention"}),
        lambda case: np.isneginf(case.truth) & (case.got < -case.unit.top / 2),
        "it masks with the lowest number, which the scores show, or their sum, instead of -inf",
        "onnxruntime/core/providers/cpu/llm/attention.cc, measured",
    ),
    Divergence(
        frozenset({"Attention"}),
        _of_nan,
        "what is added to the scores of keys that a query does not see is not read: NaN and "
        "infinities there, which should make NaN, do not count",
        "onnxruntime/core/providers/cpu/llm/attention.cc, measured",
    ),
    Divergence(
        frozenset({"Attention", "MultiHeadAttention"}),
        _of(transformers.masked_otherwise),
        "keys that come later get the lowest score, whatever a mask adds: no less than those which "
        "it filters with that number; and the last query sees every key",
        "onnxruntime/contrib_ops/cpu/bert/attention_helper.h, PrepareMask, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"MultiHeadAttention"}),
        _of(transformers.shows_lowest),
        "the scores show the lowest number for keys that come later, not -inf",
        "onnxruntime/contrib_ops/cpu/bert/attention_helper.h, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"Attention", "GroupQueryAttention", "MultiHeadAttention"}),
        _of(transformers.not_finite),
        "what is not finite among keys that a query does not see counts, where only their scores "
        "are low; and a row of scores with NaN may give 0",
        "onnxruntime/contrib_ops/cpu/bert/attention_cpu_base.h, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"GroupQueryAttention"}),
        _of(transformers.beyond_the_end),
        "beyond a sequence's end, and in the scores of keys that a query does not see, there is "
        "whatever the buffer held, or lies in memory; queries beyond that end count it with a sink",
        "onnxruntime/contrib_ops/cpu/bert/gqa_attention_base.h, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"Sigmoid"}),
        _at_scale(3, lambda _: 1.0),
        "Sigmoid's rational approximation has an absolute error of up to 2.8·2⁻²⁴: "
        "1 % off at -11.6, zero below -18",
        "onnxruntime/core/mlas/lib/logistic.cpp, clamped at ±18",
    ),
    Divergence(
        frozenset({"Sigmoid"}),
        lambda case: _is_double(case) & (case.error <= 2 * case.unit.u),
        "in float64 its error is absolute, up to 1.5·2⁻⁵³: zero below -37",
        "onnxruntime/core/providers/cpu/activation/activations.h, measured",
    ),
    Divergence(
        frozenset({"LogSoftmax", "SoftmaxCrossEntropyLoss"}),
        lambda case: _is_double(case) & _of_nan(case),
        "in float64 an infinity makes itself NaN, not what stands beside it",
        "onnxruntime/core/providers/cpu/math/softmax_shared.cc, measured",
    ),
    Divergence(
        frozenset({"Tanh"}),
        _at_scale(6, lambda _: 1.0),
        "Tanh's rational approximation reaches 1.0000002 for |x| > 8.3",
        "onnxruntime/core/mlas/lib/tanh.cpp, clamped at ±9",
    ),
    Divergence(
        frozenset({"Elu", "Celu", "Selu"}),
        _at_scale(4, lambda _: 1.76),
        "exp(x) − 1 is computed by subtraction: relative accuracy is lost near 0",
        "onnxruntime/core/providers/cpu/activation/activations.h",
    ),
    Divergence(
        frozenset({"Gelu"}),
        _at_scale(8, lambda case: np.abs(case.x)),
        "1 + erf(x/√2) is computed by addition: relative accuracy is lost in the left tail",
        "onnxruntime/core/providers/cpu/tensor/gelu.cc",
    ),
    Divergence(
        frozenset({"DeformConv"}),
        _of_nan,
        "samples at places that are NaN are skipped",
        "onnxruntime/core/providers/cpu/nn/deform_conv.cc, measured",
    ),
    Divergence(
        frozenset({"Sin", "Cos"}),
        lambda case: (
            _is_double(case) & (case.error <= 4 * case.unit.u * np.maximum(1.0, np.abs(case.x)))
        ),
        "in float64 the argument is reduced with one constant: the error is absolute, up to 2.5 "
        "units of the argument, and large against values near zero",
        "Eigen's packet sine and cosine, measured",
    ),
    Divergence(
        frozenset({"Gelu"}),
        lambda case: _is_double(case) & (case.error <= 2.0**-22 * np.abs(case.x)),
        "the tanh form in float64 has float32 constants",
        "onnxruntime/core/providers/cpu/tensor/gelu.cc, measured",
    ),
    Divergence(
        frozenset({"BiasGelu", "FastGelu", "Gelu", "QuickGelu"}),
        lambda case: case.error <= 8 * case.unit.u * np.abs(_with_bias(case)),
        "the factor of x is approximated with an absolute error: relative accuracy is lost in the "
        "left tail",
        "onnxruntime/contrib_ops/cpu/bert/bias_gelu.cc, contrib_ops/cpu/activations.h, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"FastGelu"}),
        lambda case: _is_double(case) & (case.error <= 2.0**-22 * np.abs(_with_bias(case))),
        "in float64 it has float32 constants",
        "onnxruntime/core/graph/contrib_ops/bert_defs.cc, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"Log"}),
        _ulps(4),
        "Log is off by up to 3.2 ulp near 1",
        "Eigen's packet logarithm, measured",
    ),
    Divergence(
        frozenset({"Asin", "Acos"}),
        _ulps(6),
        "Asin and Acos are off by up to 4.1 ulp",
        "Eigen's arc functions, measured",
    ),
    Divergence(
        frozenset({"DFT", "STFT"}),
        _of(signal.chirped),
        "where the length is no power of two, angles of up to πn are rounded to the result's "
        "format: 2·10⁻⁴ of the largest result at 1000 points in float32",
        "onnxruntime/core/providers/cpu/signal/dft.cc, dft_bluestein_z_chirp",
    ),
    Divergence(
        frozenset({"DFT"}),
        _of(signal.mirrored),
        "a one-sided inverse of another length than its operand's frequencies are of neither "
        "crops nor pads them",
        "onnxruntime/core/providers/cpu/signal/dft.cc, measured",
    ),
    Divergence(
        frozenset({"HannWindow", "HammingWindow", "BlackmanWindow"}),
        lambda case: _is_double(case) & (case.error <= 2.0**-24),
        "float64 windows have float32 constants",
        "onnxruntime/core/providers/cpu/signal/window_functions.cc",
    ),
    Divergence(
        frozenset({"AffineGrid"}),
        lambda case: np.asarray(
            bool(case.op.attr("align_corners", 0)) and 1 in np.asarray(case.operands[1])[2:]
        ),
        "with corners aligned a single pixel lies at its far edge, 1; the standard does not say, "
        "PyTorch puts it in the middle",
        "onnxruntime/core/providers/cpu/tensor/affine_grid.cc, Eigen's LinSpaced",
    ),
    *(
        Divergence(
            frozenset({name}),
            lambda case: np.asarray(case.op.attr("clip") is not None),
            "clip is not applied to what the last activation is given",
            "onnxruntime/core/providers/cpu/rnn/uni_directional_lstm.cc, measured",
            domain,
        )
        for domain, name in (("", "LSTM"), (DOMAIN, "DynamicQuantizeLSTM"))
    ),
    Divergence(
        frozenset({"DynamicQuantizeLSTM", "DynamicQuantizeMatMul"}),
        _of_nan,
        "what is not finite among the operands is quantized to whatever its bits give",
        "onnxruntime/core/mlas/lib/quantize.cpp, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"MatMulNBits"}),
        _of(fused.without_zeros),
        "with g_idx, packed zero points are not read: the middle of the codes stands for 0",
        "onnxruntime/contrib_ops/cpu/quantization/matmul_nbits.cc, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"MatMulNBits"}),
        _of(fused.coarse_steps),
        "with accuracy_level 4, blocks whose step is no normal number are quantized to 0",
        "onnxruntime/core/mlas/lib/sqnbitgemm_kernel_avx_common_int8.h, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"MatMulNBits"}),
        lambda case: _of_nan(case) & (case.op.attr("accuracy_level", 0) == INT8),
        "with accuracy_level 4, what is not finite is quantized to whatever its bits give",
        "onnxruntime/core/mlas/lib/sqnbitgemm_kernel_avx_common_int8.h, measured",
        DOMAIN,
    ),
    Divergence(
        frozenset({"LSTM", "GRU", "RNN"}),
        _softplus,
        "Softplus among the activations overflows to infinity above 88",
        "onnxruntime/core/providers/cpu/rnn/rnn_helpers.cc, measured",
    ),
    Divergence(
        frozenset({"Range"}),
        _summed,
        "the step is added again and again: errors accumulate with the length",
        "onnxruntime/core/providers/cpu/generator/range.cc",
    ),
    Divergence(
        frozenset({"TfIdfVectorizer"}),
        _added_up,
        "the weight of an n-gram is added once for each that is found: errors grow with the count",
        "onnxruntime/core/providers/cpu/nn/tfidfvectorizer.cc, measured",
    ),
    Divergence(
        frozenset({"LSTM", "GRU", "RNN"}),
        _of_nan,
        "the gates clamp NaN away: NaN, or infinities that cancel, give numbers",
        "onnxruntime/core/providers/cpu/rnn/rnn_helpers.cc, measured",
    ),
    Divergence(
        frozenset({"InstanceNormalization", "GroupNormalization", "MeanVarianceNormalization"}),
        _one_pass,
        "the variance is computed as E[x²] − E[x]²: wrong, even NaN, where the mean is large "
        "against the spread",
        "onnx's function bodies of the group and mean-variance normalizations; "
        "onnxruntime/core/providers/cpu/nn/instance_norm.cc",
    ),
)


def broken(op: Op) -> str:
    """What is known to go so wrong with a use that its results are whatever lies in memory."""
    return transformers.broken(op) if op.domain == DOMAIN else ""


def explain_shape(op: Op, operands: Sequence[Any], got: tuple[int, ...]) -> str:
    """Why a result has another shape than it should, when it is known."""
    reduces = not op.domain and (op.type.startswith("Reduce") or op.type in {"ArgMax", "ArgMin"})
    given = np.shape(operands[0]) if operands else ()
    if reduces and 0 in given and got == given:
        return "reductions of nothing keep their operand's shape [reduction_ops.cc, measured]"
    return ""


def explain_exact(op: Op, operands: Sequence[Any], got: np.ndarray, wanted: np.ndarray) -> str:
    """Why an exact op's result differs, when it is known; every differing element must fit."""
    with np.errstate(all="ignore"):
        if op.type == "Where" and ((got == wanted) | (np.isnan(got) & np.isnan(wanted))).all():
            return "Where loses the sign of −0: it adds its branches [where_op.cc, measured]"
        if op.type == "Pow" and got.dtype.kind in "iu":
            base, power = (np.asarray(v).astype(np.float64) for v in operands[:2])
            beyond = ~(np.abs(base**power) < _DOUBLE_INTEGERS) | (np.abs(base) >= _DOUBLE_INTEGERS)
            if (beyond | (got == wanted)).all():
                return "Pow of integers is computed in float64: wrong beyond 2⁵³ [pow.cc, measured]"
        if op.type == "Cast" and got.dtype.name in _NARROW_INTEGERS:
            x = np.asarray(operands[0])
            if x.dtype.kind in "fV":
                rounded = np.rint(x.astype(np.float64))
                info = ml_dtypes.iinfo(got.dtype)
                beyond = ~((rounded >= int(info.min)) & (rounded <= int(info.max)))
                if (beyond | (rounded == got.astype(np.float64))).all():
                    return "a cast to 2- or 4-bit integers rounds, where others truncate [measured]"
        return quantized.explain(op, operands, got, wanted)


_DOUBLE_INTEGERS = 2.0**53
_NARROW_INTEGERS = frozenset({"int4", "uint4", "int2", "uint2"})
