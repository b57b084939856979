"""fused: what each operator that onnxruntime's optimizer makes of several computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _fused as fused
from isomorph.ir.semantics._nbits import matmul_nbits

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "SimplifiedLayerNormalization"): (Impl(fused.simplified_normalization, keeps=True),),
    (DOMAIN, "EmbedLayerNormalization"): (Impl(fused.embed_normalization),),
    (DOMAIN, "FusedConv"): (Impl(fused.fused_conv),),
    (DOMAIN, "FusedGemm"): (Impl(fused.fused_gemm),),
    (DOMAIN, "MatMulNBits"): (Impl(matmul_nbits),),
    (DOMAIN, "RotaryEmbedding"): (Impl(fused.rotary),),
    (DOMAIN, "SkipLayerNormalization"): (Impl(fused.skip_normalization),),
    (DOMAIN, "SkipSimplifiedLayerNormalization"): (Impl(fused.skip_simplified),),
}
