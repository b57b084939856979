"""What onnxruntime's optimizers make of a graph that is another function: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences import uses
from isomorph.exporters.runtimes.divergences.arrays import f32, whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Probe, ai

_ZERO = "z = Constant <value = uint8 {0}> ()"


def _scale(name: str, value: float) -> str:
    return f"{name} = Constant <value = float {{{value}}}> ()"


ENTRIES = (
    Divergence(
        "double-quantizers-merged",
        ai("QuantizeLinear", "DequantizeLinear"),
        "optimizer-made",
        "onnxruntime's optimizer puts one pair of QuantizeLinear and DequantizeLinear, of a scale "
        "of its own, in the place of two",
        "QuantizeLinear-23: each rounds to its own grid",
        "onnxruntime/core/optimizer/double_qdq_pairs_remover.cc",
        (
            Probe(
                f"{_scale('s', 0.1)} {_scale('t', 0.25)} {_ZERO} "
                "a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) "
                "c = QuantizeLinear (b, t, z) y = DequantizeLinear (c, t, z)",
                "float[1] x",
                "float[1] y",
                (f32(0.3),),
                Gives((f32(0.3),), 5),
                (f32(0.25),),
                (13, 23),
            ),
        ),
        issue="https://github.com/microsoft/onnxruntime/issues/25259",
        optimizer="DoubleQDQPairsRemover",
        when=uses.pairs_twice,
        remedy="leave one of the pairs away, or disable DoubleQDQPairsRemover",
    ),
    Divergence(
        "reciprocal-folded",
        ai("Div", "Mul"),
        "optimizer-made",
        "onnxruntime's optimizer makes (1 / x) · y a division, y / x: finite where 1 / x overflows",
        "Mul-14 and Div-14: one after the other, each rounded",
        "onnxruntime/core/optimizer/div_mul_fusion.cc",
        (
            Probe(
                f"{_scale('one', 1.0)} r = Div (one, x) y = Mul (r, v)",
                "float[1] x, float[1] v",
                "float[1] y",
                (f32(1e-39), f32(2e-39)),
                Gives((f32(2),), 5),
                (f32(np.inf),),
                (13, 23),
            ),
        ),
        judged="PASS",
        optimizer="DivMulFusion",
    ),
    Divergence(
        "products-scaled-late",
        ai("MatMul"),
        "optimizer-made",
        "onnxruntime's optimizer multiplies products by what the graph multiplies their operands "
        "by, so that they overflow",
        "MatMul-13 and Mul-14: one after the other",
        "onnxruntime/core/optimizer/matmul_scale_fusion.cc",
        (
            Probe(
                f"{_scale('k', 1e-20)} a = Mul (x, k) b = Mul (v, k) y = MatMul (a, b)",
                "float[1, 1] x, float[1, 1] v",
                "float[1, 1] y",
                (whole([[1e20]]), whole([[1e20]])),
                Gives((whole([[np.inf]]),)),
                (whole([[1]]),),
                (13, 23),
            ),
        ),
        optimizer="MatMulScaleFusion",
    ),
    Divergence(
        "softmax-cut",
        ai("Softmax"),
        "optimizer-made",
        "onnxruntime's optimizer makes Softmax between quantizers an integer kernel, which cuts "
        "1 / scale down to an integer",
        "Softmax-13 and QuantizeLinear-23: one after the other",
        "onnxruntime/contrib_ops/cpu/quantization/qlinear_softmax.cc, measured",
        (
            Probe(
                f"{_scale('s', 0.1)} {_scale('t', 0.00784)} {_ZERO} a = QuantizeLinear (x, s, z) "
                "b = DequantizeLinear (a, s, z) c = Softmax (b) d = QuantizeLinear (c, t, z) "
                "y = DequantizeLinear (d, t, z)",
                "float[1, 2] x",
                "float[1, 2] y",
                (whole([[0, 25.5]]),),
                Gives((whole([[0, 0.99568]]),), 4),
                (whole([[0, 1.00352]]),),
                (13, 23),
            ),
        ),
        optimizer="QDQSelectorActionTransformer",
    ),
    Divergence(
        "weights-quantized",
        ai("Conv"),
        "optimizer-made",
        "onnxruntime's optimizer quantizes weights and biases that the graph keeps in float "
        "between quantizers",
        "Conv-22: weights as they are",
        "onnxruntime/core/optimizer/qdq_transformer/weight_bias_quantization.cc",
        (
            Probe(
                f"{_scale('s', 0.1)} {_scale('t', 0.0001)} {_ZERO} "
                "w = Constant <value = float[1, 1, 2] {0.001, 1.0}> () "
                "a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) c = Conv (b, w) "
                "d = QuantizeLinear (c, t, z) y = DequantizeLinear (d, t, z)",
                "float[1, 1, 2] x",
                "float[1, 1, 1] y",
                (whole([[[1, 0]]]),),
                Gives((whole([[[0]]]),), 4),
                (whole([[[0.001]]]),),
                (13, 23),
            ),
        ),
        optimizer="WeightBiasQuantization",
    ),
)
