"""What onnxruntime makes of what is not there: no elements, or no operand. Measured on 1.31.1."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.exporters.runtimes.divergences.arrays import i32, whole
from isomorph.exporters.runtimes.divergences.entry import Dies, Divergence, Gives, Probe, Stale, ai
from isomorph.exporters.runtimes.divergences.uses import batch_may_be_nothing
from isomorph.ir.schema_microsoft import DOMAIN

NAN = np.nan


def _none(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


ENTRIES = (
    Divergence(
        "scan-of-nothing",
        ai("Scan"),
        "crash",
        "results without elements that are put together along another axis than the first kill "
        "the process",
        "Scan-21: sizes of 0 are sizes; scan_output_axes is any axis",
        "onnxruntime/core/providers/cpu/controlflow/scan_9.cc, which transposes them, measured",
        (
            Probe(
                "s, y = Scan <body = body (float[0] a, float[2] b) => (float[0] c, float[0] d) "
                "{ c = Identity (a) d = Identity (a) }, num_scan_inputs = 1, "
                "scan_output_axes = [1]> (x, z)",
                "float[0] x, float[2, 2] z",
                "float[0] s, float[0, 2] y",
                (_none(0), whole([[1, 1], [1, 1]])),
                Dies("SIGFPE"),
                (_none(0), _none(0, 2)),
                (16, 23),
            ),
        ),
        judged="FAIL",
    ),
    Divergence(
        "quantized-batch-of-none",
        ((DOMAIN, "DynamicQuantizeLSTM"),),
        "crash",
        "a batch of none kills the process",
        "com.microsoft.DynamicQuantizeLSTM: the LSTM of ONNX, where sizes of 0 are sizes",
        "onnxruntime/contrib_ops/cpu/quantization/dynamic_quantize_lstm.cc, measured",
        (
            Probe(
                f"y = {DOMAIN}.DynamicQuantizeLSTM <hidden_size = 1> "
                "(x, w, r, , , , , , s, z, s, z)",
                "float[1, n, 1] x, int8[1, 1, 4] w, int8[1, 1, 4] r, float[1] s, int8[1] z",
                "float[1, 1, n, 1] y",
                (
                    *(_none(1, 0, 1), np.ones((1, 1, 4), np.int8), np.ones((1, 1, 4), np.int8)),
                    *(np.ones(1, np.float32), np.zeros(1, np.int8)),
                ),
                Dies("SIGABRT"),
                (_none(1, 1, 0, 1),),
            ),
        ),
        judged="FAIL",
        when=batch_may_be_nothing,
        remedy="keep empty batches from it, or state the range of the size: batch in 1...",
    ),
    Divergence(
        "products-without-terms",
        (*ai("MatMul"), (DOMAIN, "FusedMatMul")),
        "wrong shape",
        "batches of products of no terms are not broadcast",
        "MatMul-13: the batch dims are broadcast, as numpy.matmul does it",
        "onnxruntime/core/providers/cpu/math/matmul_helper.h, measured",
        tuple(
            Probe(
                f"y = {name} (a, b)",
                "float[1, 1, 0] a, float[2, 0, 1] b",
                "float[n, 1, 1] y",
                (_none(1, 1, 0), _none(2, 0, 1)),
                Gives((_none(1, 1, 1),)),
                (_none(2, 1, 1),),
            )
            for name in ("MatMul", f"{DOMAIN}.FusedMatMul")
        ),
    ),
    Divergence(
        "gemm-without-terms",
        ((DOMAIN, "QGemm"),),
        "stale memory",
        "a product of no terms leaves memory as it was",
        "com.microsoft.QGemm: A·B + C, quantized",
        "onnxruntime/contrib_ops/cpu/quantization/quant_gemm.cc, measured",
        (
            Probe(
                "s = Constant <value = float {0.1}> () z = Constant <value = int8 {3}> () "
                f"y = {DOMAIN}.QGemm (a, s, z, b, s, z, c, s, z)",
                "int8[1, 0] a, int8[0, 1] b, int32[1] c",
                "int8[1, 1] y",
                (_none(1, 0, dtype=np.int8), _none(0, 1, dtype=np.int8), i32(100)),
                Stale(),
                (whole([[13]], np.int8),),
            ),
        ),
    ),
    Divergence(
        "softmax-of-nothing",
        ((DOMAIN, "QLinearSoftmax"),),
        "wrong value",
        "of no elements there is no result at all",
        "com.microsoft.QLinearSoftmax: Y has the shape of X",
        "onnxruntime/contrib_ops/cpu/quantization/qlinear_softmax.cc, measured",
        (
            Probe(
                "s = Constant <value = float {0.1}> () z = Constant <value = uint8 {0}> () "
                f"y = {DOMAIN}.QLinearSoftmax <opset = 13, axis = -1> (x, s, z, s, z)",
                "uint8[n, 4] x",
                "uint8[n, 4] y",
                (_none(0, 4, dtype=np.uint8),),
                Gives((None,)),
                (_none(0, 4, dtype=np.uint8),),
            ),
        ),
    ),
    Divergence(
        "loss-of-nothing",
        ai("NegativeLogLikelihoodLoss"),
        "NaN handling",
        "the mean of no losses is 0",
        "NegativeLogLikelihoodLoss-22: the sum is divided by that of the weights, which is 0",
        "onnx's function body, whose ReduceMean of nothing is 0, measured",
        (
            Probe(
                "y = NegativeLogLikelihoodLoss (x, t)",
                "float[n, 2] x, int64[n] t",
                "float y",
                (_none(0, 2), _none(0, dtype=np.int64)),
                Gives((whole(0),)),
                (whole(NAN),),
                (13, 23),
            ),
        ),
    ),
)
