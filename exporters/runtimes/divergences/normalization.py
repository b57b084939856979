"""What onnxruntime's normalizations do otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences.arrays import f32, f64, i64, whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Off, Probe, ai
from isomorph.ir.schema import ML

INF, NAN = np.inf, np.nan

ENTRIES = (
    Divergence(
        "one-pass-variance",
        ai("InstanceNormalization", "GroupNormalization", "MeanVarianceNormalization"),
        "lost accuracy",
        "the variance is computed as E[x²] − E[x]²: wrong, even NaN, where the mean is large "
        "against the spread",
        "InstanceNormalization-22 and GroupNormalization-21: (x − mean) / √(variance + ε)",
        "onnx's function bodies of the group and mean-variance normalizations; "
        "onnxruntime/core/providers/cpu/nn/instance_norm.cc",
        (
            Probe(
                "y = GroupNormalization <num_groups = 1> (x, s, b)",
                "float[1, 1, 4] x, float[1] s, float[1] b",
                "float[1, 1, 4] y",
                (whole([[[10000, 10001, 10002, 10003]]]), f32(1), f32(0)),
                Gives((whole([[[-474.34164, -158.11389, 158.11389, 474.34164]]]),), 4),
                (whole([[[-1.3416354, -0.4472118, 0.4472118, 1.3416354]]]),),
            ),
            Probe(
                "y = InstanceNormalization (x, s, b)",
                "float[1, 1, 4] x, float[1] s, float[1] b",
                "float[1, 1, 4] y",
                (whole([[[40000, 40001, 40002, 40003]]]), f32(1), f32(0)),
                Gives((whole([[[-1.34375, -0.44921875, 0.4453125, 1.3398438]]]),), 4),
                (whole([[[-1.3416354, -0.4472118, 0.4472118, 1.3416354]]]),),
                (13, 23),
                judged="PASS",
            ),
            Probe(
                "y = MeanVarianceNormalization <axes = [0, 1, 2]> (x)",
                "float[1, 1, 4] x",
                "float[1, 1, 4] y",
                (np.full((1, 1, 4), 1000.1, np.float32),),
                Gives((np.full((1, 1, 4), NAN, np.float32),)),
                (np.zeros((1, 1, 4), np.float32),),
                (13, 23),
            ),
        ),
        issue="https://github.com/microsoft/onnxruntime/issues/28463",
    ),
    Divergence(
        "variance-without-epsilon",
        ai("MeanVarianceNormalization"),
        "lost accuracy",
        "it divides by the deviation without 1e-9",
        "MeanVarianceNormalization-13: (x − mean) / (√variance + 1e-9), as its function body says",
        "onnxruntime/core/providers/cpu/tensor/mean_variance_normalization.cc, measured",
        (
            Probe(
                "y = MeanVarianceNormalization <axes = [0]> (x)",
                "float[2] x",
                "float[2] y",
                (f32(-1e-7, 1e-7),),
                Gives((f32(-1, 1),), 6),
                (f32(-0.99009901, 0.99009901),),
                (13, 23),
            ),
        ),
    ),
    Divergence(
        "squares-out-of-range",
        (*ai("LpNormalization", "MeanVarianceNormalization"), (ML, "Normalizer")),
        "lost accuracy",
        "it adds squares that leave the range of the type, without a scale",
        "LpNormalization-22: x / √Σx²; MeanVarianceNormalization-13; Normalizer-1",
        "onnxruntime/core/providers/cpu/nn/lp_norm.h, ml/normalizer.cc, measured",
        (
            Probe(
                "y = LpNormalization <axis = 0, p = 2> (x)",
                "float[2] x",
                "float[2] y",
                (f32(3e-30, 4e-30),),
                Gives((f32(0, 0),)),
                (f32(0.6, 0.8),),
                (13, 23),
            ),
            Probe(
                f'y = {ML}.Normalizer <norm = "L2"> (x)',
                "float[1, 2] x",
                "float[1, 2] y",
                (whole([[3e-30, 4e-30]]),),
                Gives((whole([[3e-30, 4e-30]]),)),
                (whole([[0.6, 0.8]]),),
                ml=1,
            ),
            Probe(
                "y = MeanVarianceNormalization <axes = [0]> (x)",
                "float[2] x",
                "float[2] y",
                (f32(1e-23, 3e-23),),
                Gives((f32(-INF, INF),)),
                (f32(-1e-14, 1e-14),),
                (13, 23),
            ),
        ),
    ),
    Divergence(
        "squares-sliding",
        ai("LRN"),
        "lost accuracy",
        "squares are added to a sum and taken from it again: what a large one leaves is lost",
        "LRN-13: Σx² over the channels beside each",
        "onnxruntime/core/providers/cpu/nn/lrn.cc, measured",
        (
            Probe(
                "y = LRN <size = 1, alpha = 1.0, beta = 0.5, bias = 1.0> (x)",
                "float[1, 2, 1, 1] x",
                "float[1, 2, 1, 1] y",
                (whole([[[[1e6]], [[1e-3]]]]),),
                Gives((whole([[[[1]], [[INF]]]]),)),
                (whole([[[[1]], [[1e-3]]]]),),
                (13, 23),
            ),
        ),
    ),
    Divergence(
        "group-norm-double",
        ai("GroupNormalization"),
        "lost accuracy",
        "in float64 it is computed in float32",
        "GroupNormalization-21: stash_type 1 is float32, and numbers of float64 keep their own",
        "onnx's function body, which casts to stash_type, measured",
        (
            Probe(
                "y = GroupNormalization <num_groups = 1> (x, s, b)",
                "double[1, 1, 2] x, double[1] s, double[1] b",
                "double[1, 1, 2] y",
                (whole([[[1, 1.1]]], np.float64), f64(1), f64(0)),
                Gives((whole([[[-0.997969985, 0.997972369]]], np.float64),), 6),
                (whole([[[-0.9980059800, 0.9980059800]]], np.float64),),
            ),
        ),
        judged="PASS",
        limited=True,
    ),
    Divergence(
        "log-softmax-infinity",
        ai("LogSoftmax", "SoftmaxCrossEntropyLoss"),
        "NaN handling",
        "in float64 an infinity makes itself NaN, not what stands beside it",
        "LogSoftmax-13: log(exp(x) / Σ exp(x))",
        "onnxruntime/core/providers/cpu/math/softmax_shared.cc, measured",
        (
            Probe(
                "y = LogSoftmax (x)",
                "double[2] x",
                "double[2] y",
                (f64(INF, 0),),
                Gives((f64(NAN, -INF),)),
                (f64(NAN, NAN),),
                (13, 23),
            ),
            Probe(
                'y, l = SoftmaxCrossEntropyLoss <reduction = "none"> (x, t)',
                "double[1, 2] x, int64[1] t",
                "double[1] y, double[1, 2] l",
                (whole([[INF, 0]], np.float64), i64(1)),
                Gives((f64(INF), whole([[NAN, -INF]], np.float64))),
                (f64(NAN), whole([[NAN, NAN]], np.float64)),
            ),
        ),
    ),
    Divergence(
        "softmax-unrounded",
        ai("Softmax"),
        "lost accuracy",
        "a Cast to half precision before it is dropped: its operand was not rounded",
        "Cast-23 rounds to the nearest number of the type",
        "onnxruntime/core/optimizer/insert_cast_transformer.cc, measured",
        (
            Probe(
                "a = Cast <to = 10> (x) y = Softmax <axis = 0> (a)",
                "float[2] x",
                "float16[2] y",
                (f32(1000.2, 1000),),
                Off(50, 200),
                (f64(0.5, 0.5),),
            ),
        ),
    ),
)
