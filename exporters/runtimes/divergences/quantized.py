"""What onnxruntime's kernels of quantized operators do otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences import uses
from isomorph.exporters.runtimes.divergences.arrays import f16, f32, whole
from isomorph.exporters.runtimes.divergences.entry import Dies, Divergence, Gives, Probe, Stale, ai
from isomorph.ir.schema_microsoft import DOMAIN

NAN = np.nan

_BITS = "K = 32, N = 1, bits = 4, block_size = 32"


def _few_bits(x: np.ndarray, gives: float, wanted: float) -> Probe:
    """A product with 32 weights of 1, in int8."""
    codes = ", ".join(["153"] * 16)
    return Probe(
        f"b = Constant <value = uint8[1, 1, 16] {{{codes}}}> () "
        "s = Constant <value = float[1, 1] {1}> () "
        f"y = {DOMAIN}.MatMulNBits <{_BITS}, accuracy_level = 4> (x, b, s)",
        "float[1, 32] x",
        "float[1, 1] y",
        (x,),
        Gives((whole([[gives]]),), 4),
        (whole([[wanted]]),),
    )


ENTRIES = (
    Divergence(
        "sums-of-nothing",
        ai("MatMulInteger", "QLinearMatMul"),
        "stale memory",
        "a sum of nothing is whatever lies in memory",
        "MatMulInteger-10 and QLinearMatMul-21: a sum of no products is 0",
        "onnxruntime/core/providers/cpu/math/matmul_integer.cc, "
        "quantization/quantize_linear_matmul.cc, qlinearconv.cc, measured",
        (
            Probe(
                "a = Mul (x, x) axis = Constant <value = int64[1] {0}> () s = ReduceSum (a, axis) "
                "i = Cast <to = 3> (s) shape = Constant <value = int64[2] {8, 0}> () "
                "l = Expand (i, shape) y = MatMulInteger (l, w)",
                "float[64] x, int8[0, 8] w",
                "int32[8, 8] y",
                (np.full(64, 7, np.float32), np.zeros((0, 8), np.int8)),
                Stale(),
                (np.zeros((8, 8), np.int32),),
                (13, 23),
            ),
            Probe(
                "a = Mul (x, x) axis = Constant <value = int64[1] {0}> () s = ReduceSum (a, axis) "
                "i = Cast <to = 3> (s) shape = Constant <value = int64[2] {16, 0}> () "
                "l = Expand (i, shape) y = QLinearMatMul (l, u, z, w, u, z, u, z)",
                "float[64] x, int8[0, 16] w, float u, int8 z",
                "int8[16, 16] y",
                (
                    np.full(64, 7, np.float32),
                    np.zeros((0, 16), np.int8),
                    whole(1),
                    whole(0, np.int8),
                ),
                Stale(),
                (np.zeros((16, 16), np.int8),),
                (13, 23),
            ),
        ),
        when=uses.sums_nothing,
        remedy="keep what is summed from having no terms",
    ),
    Divergence(
        "products-of-nothing",
        ai("MatMul"),
        "stale memory",
        "a product with a vector of nothing is whatever lies in memory, in floats",
        "MatMul-13, as numpy.matmul: a sum of no products is 0",
        "onnxruntime/core/providers/cpu/math/matmul.cc, measured",
        (
            Probe(
                "a = Mul (x, x) axis = Constant <value = int64[1] {0}> () s = ReduceSum (a, axis) "
                "shape = Constant <value = int64[2] {64, 0}> () l = Expand (s, shape) "
                "y = MatMul (l, v)",
                "float[64] x, float[0] v",
                "float[64] y",
                (np.full(64, 7, np.float32), np.zeros(0, np.float32)),
                Stale(),
                (np.zeros(64, np.float32),),
                (13, 23),
            ),
        ),
        when=uses.sums_nothing,
        remedy="keep what is summed from having no terms",
    ),
    Divergence(
        "quantize-wrong-end",
        ai("QuantizeLinear"),
        "wrong value",
        "quotients of 2³¹ and more saturate at the wrong end, but for a single float32 "
        "scale, or one per last axis, and 8 or 16 bits",
        "QuantizeLinear-23: saturate(round(x / scale) + zero point)",
        "onnxruntime/core/providers/cpu/quantization/quantize_linear.cc, measured",
        (
            Probe(
                "y = QuantizeLinear (x, s)",
                "float16[2] x, float16 s",
                "uint8[2] y",
                (f16(60000, 1), whole(6e-8, np.float16)),
                Gives((whole([0, 255], np.uint8),)),
                (whole([255, 255], np.uint8),),
            ),
        ),
    ),
    Divergence(
        "quantize-odd-last",
        ai("QuantizeLinear"),
        "wrong value",
        "the last of an odd number of 4-bit results saturates at the wrong end from 2³¹ on",
        "QuantizeLinear-21: saturate(round(x / scale) + zero point)",
        "onnxruntime/core/providers/cpu/quantization/quantize_linear.cc, measured",
        tuple(
            Probe(
                f"z = Constant <value = {kind} {{0}}> () q = QuantizeLinear (x, s, z) "
                "y = Cast <to = 6> (q)",
                "float[3] x, float s",
                "int32[3] y",
                (whole([3e10, 3e10, 3e10]), whole(1)),
                Gives((whole([top, top, low], np.int32),)),
                (whole([top, top, top], np.int32),),
                (21, 23),
            )
            for kind, low, top in (("int4", -8, 7), ("uint4", 0, 15))
        ),
    ),
    Divergence(
        "qlinear-softmax-cut",
        ((DOMAIN, "QLinearSoftmax"),),
        "wrong value",
        "it is multiplied by the whole part of 1 / scale, and int8 wraps beyond 127",
        "com.microsoft.QLinearSoftmax: quantized like QuantizeLinear, x / scale",
        "onnxruntime/contrib_ops/cpu/quantization/qlinear_softmax.cc, measured",
        (
            Probe(
                "t = Constant <value = float {0.00784}> () z = Constant <value = uint8 {0}> () "
                f"y = {DOMAIN}.QLinearSoftmax <opset = 13, axis = -1> (x, s, z, t, z)",
                "uint8[1, 2] x, float s",
                "uint8[1, 2] y",
                (whole([[0, 255]], np.uint8), whole(0.1)),
                Gives((whole([[0, 127]], np.uint8),)),
                (whole([[0, 128]], np.uint8),),
            ),
        ),
    ),
    Divergence(
        "dynamic-quantize-nan",
        tuple((DOMAIN, op) for op in ("DynamicQuantizeLSTM", "DynamicQuantizeMatMul")),
        "NaN handling",
        "what is not finite among the operands is quantized to whatever its bits give",
        "com.microsoft: products of NaN are NaN",
        "onnxruntime/core/mlas/lib/quantize.cpp, measured",
        (
            Probe(
                f"y = {DOMAIN}.DynamicQuantizeMatMul (x, w, s)",
                "float[1, 2] x, int8[2, 1] w, float[1] s",
                "float[1, 1] y",
                (whole([[NAN, 1]]), whole([[1], [1]], np.int8), f32(1)),
                Gives((whole([[1]]),), 4),
                (whole([[NAN]]),),
            ),
            Probe(
                f"_, y = {DOMAIN}.DynamicQuantizeLSTM <hidden_size = 1> "
                "(x, w, r, , , , , , ws, wz, rs, rz)",
                "float[1, 1, 2] x, int8[1, 2, 4] w, int8[1, 1, 4] r, float[1] ws, int8[1] wz, "
                "float[1] rs, int8[1] rz",
                "float[1, 1, 1] y",
                (
                    whole([[[NAN, 1]]]),
                    np.ones((1, 2, 4), np.int8),
                    np.ones((1, 1, 4), np.int8),
                    *[np.ones(1, np.float32), np.zeros(1, np.int8)] * 2,
                ),
                Gives((whole([[[0.36]]]),), 1),
                (whole([[[NAN]]]),),
            ),
        ),
    ),
    Divergence(
        "qlinear-without-zero-point",
        tuple((DOMAIN, op) for op in ("QLinearLeakyRelu", "QLinearSigmoid")),
        "crash",
        "a zero point that is left away, as it may be, kills the process",
        "com.microsoft: X_zero_point and Y_zero_point are optional, and 0",
        "onnxruntime/contrib_ops/cpu/quantization/qlinear_lookup_table.cc, measured",
        tuple(
            Probe(
                f"y = {DOMAIN}.{op} (x, s, , s)",
                "uint8[1] x, float s",
                "uint8[1] y",
                (whole([1], np.uint8), whole(1)),
                Dies("SIGABRT"),
                (whole([1], np.uint8),),
            )
            for op in ("QLinearLeakyRelu <alpha = 0.1>", "QLinearSigmoid")
        ),
        judged="FAIL",
        when=uses.lacks_zero_point,
        remedy="state both zero points",
    ),
    Divergence(
        "few-bits-zero-points",
        ((DOMAIN, "MatMulNBits"),),
        "wrong value",
        "with g_idx, packed zero points are not read: the middle of the codes stands for 0",
        "com.microsoft.MatMulNBits: zero points are subtracted from the codes",
        "onnxruntime/contrib_ops/cpu/quantization/matmul_nbits.cc, measured",
        (
            Probe(
                f"y = {DOMAIN}.MatMulNBits <{_BITS}> (x, b, s, z, g)",
                "float[1, 32] x, uint8[1, 1, 16] b, float[1, 1] s, uint8[1, 1] z, int32[32] g",
                "float[1, 1] y",
                (
                    np.ones((1, 32), np.float32),
                    np.full((1, 1, 16), 0x99, np.uint8),
                    whole([[1]]),
                    whole([[5]], np.uint8),
                    np.zeros(32, np.int32),
                ),
                Gives((whole([[32]]),), 4),
                (whole([[128]]),),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "few-bits-tiny",
        ((DOMAIN, "MatMulNBits"),),
        "lost accuracy",
        "with accuracy_level 4, blocks whose step is no normal number are quantized to 0",
        "com.microsoft.MatMulNBits: accuracy_level 4 is products of int8",
        "onnxruntime/core/mlas/lib/sqnbitgemm_kernel_avx_common_int8.h, measured",
        (_few_bits(np.full((1, 32), 1e-37, np.float32), 0, 3.2e-36),),
    ),
    Divergence(
        "few-bits-nan",
        ((DOMAIN, "MatMulNBits"),),
        "NaN handling",
        "with accuracy_level 4, what is not finite is quantized to whatever its bits give",
        "com.microsoft.MatMulNBits: products of NaN are NaN",
        "onnxruntime/core/mlas/lib/sqnbitgemm_kernel_avx_common_int8.h, measured",
        (_few_bits(whole([[NAN, *[1] * 31]]), 31, NAN),),
    ),
)
