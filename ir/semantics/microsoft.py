"""microsoft: what each operator of onnxruntime's own domain computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _integer_products as products
from isomorph.ir.semantics import _transformer as fused
from isomorph.ir.semantics._dynamic_lstm import dynamic_lstm
from isomorph.ir.semantics._requantized import REQUANTIZED
from isomorph.ir.semantics.quantized import dequantize, divided

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call


def _rounding(function: Callable[..., Any]) -> tuple[Impl, ...]:
    def run(call: Call, *operands: Any) -> Any:
        return function(call, *operands).rounded(call)

    return (Impl(run),)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    (DOMAIN, "BiasGelu"): (Impl(fused.bias_gelu, keeps=True),),
    (DOMAIN, "DequantizeLinear"): (Impl(dequantize),),
    (DOMAIN, "DynamicQuantizeLSTM"): (Impl(dynamic_lstm),),
    (DOMAIN, "DynamicQuantizeMatMul"): (Impl(products.dynamic_matmul),),
    (DOMAIN, "FastGelu"): (Impl(fused.fast_gelu, keeps=True),),
    (DOMAIN, "FusedMatMul"): (Impl(fused.fused_matmul),),
    (DOMAIN, "Gelu"): (Impl(fused.gelu),),
    (DOMAIN, "MatMulIntegerToFloat"): (Impl(products.integer_to_float),),
    (DOMAIN, "QGemm"): (Impl(products.gemm_result),),
    (DOMAIN, "QuickGelu"): (Impl(fused.quick_gelu),),
    (DOMAIN, "QuantizeLinear"): _rounding(divided),
    **{(DOMAIN, name): _rounding(function) for name, function in REQUANTIZED.items()},
}
