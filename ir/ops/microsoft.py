"""microsoft: what each operator of onnxruntime's own domain is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _requantized as rules
from isomorph.ir.ops import _transformer as fused
from isomorph.ir.ops._shapes import same
from isomorph.ir.ops.quantized import dequantized, quantized
from isomorph.ir.ops.recurrent import layer_types
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

ROUNDED = Tolerance.DISCONTINUOUS

OPS: dict[Key, OpDef] = {
    (DOMAIN, "BiasGelu"): OpDef(fused.with_bias, Tolerance.ELEMENTWISE, ulps=6),
    (DOMAIN, "DequantizeLinear"): OpDef(dequantized, Tolerance.ELEMENTWISE, ulps=3, unpacks=True),
    (DOMAIN, "DynamicQuantizeLSTM"): OpDef(layer_types, Tolerance.RECURRENT, jumps=True),
    (DOMAIN, "DynamicQuantizeMatMul"): OpDef(rules.product(4), Tolerance.DOT, jumps=True),
    (DOMAIN, "FastGelu"): OpDef(fused.with_bias, Tolerance.ELEMENTWISE, ulps=11),
    (DOMAIN, "FusedMatMul"): OpDef(fused.fused_matmul, Tolerance.DOT),
    (DOMAIN, "Gelu"): OpDef(same, Tolerance.ELEMENTWISE, ulps=5),
    (DOMAIN, "MatMulIntegerToFloat"): OpDef(rules.product(6), Tolerance.DOT),
    (DOMAIN, "QGemm"): OpDef(rules.gemm, Tolerance.DOT, jumps=True),
    (DOMAIN, "QLinearAdd"): OpDef(rules.pairwise, ROUNDED),
    (DOMAIN, "QLinearAveragePool"): OpDef(rules.average_pool, ROUNDED),
    (DOMAIN, "QLinearConcat"): OpDef(rules.concat, ROUNDED),
    (DOMAIN, "QLinearGlobalAveragePool"): OpDef(rules.global_average_pool, ROUNDED),
    (DOMAIN, "QLinearLeakyRelu"): OpDef(rules.elementwise, ROUNDED),
    (DOMAIN, "QLinearMul"): OpDef(rules.pairwise, ROUNDED),
    (DOMAIN, "QLinearSigmoid"): OpDef(rules.elementwise, ROUNDED),
    (DOMAIN, "QLinearSoftmax"): OpDef(rules.softmax, ROUNDED),
    (DOMAIN, "QLinearWhere"): OpDef(rules.where, ROUNDED),
    (DOMAIN, "QuickGelu"): OpDef(same, Tolerance.ELEMENTWISE, ulps=5),
    (DOMAIN, "QuantizeLinear"): OpDef(quantized, ROUNDED),
}
