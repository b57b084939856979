"""fused: what each operator that onnxruntime's optimizer makes of several is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _fused as rules
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

NORMAL = Tolerance.NORMALIZATION

OPS: dict[Key, OpDef] = {
    ("", "SimplifiedLayerNormalization"): OpDef(rules.simplified_normalization, NORMAL),
    (DOMAIN, "EmbedLayerNormalization"): OpDef(rules.embed_normalization, NORMAL),
    (DOMAIN, "FusedConv"): OpDef(rules.fused_conv, Tolerance.DOT),
    (DOMAIN, "FusedGemm"): OpDef(rules.fused_gemm, Tolerance.DOT),
    (DOMAIN, "MatMulNBits"): OpDef(rules.matmul_nbits, Tolerance.DOT),
    (DOMAIN, "RotaryEmbedding"): OpDef(rules.rotary, Tolerance.ATTENTION),
    (DOMAIN, "SkipLayerNormalization"): OpDef(rules.skip_normalization, NORMAL),
    (DOMAIN, "SkipSimplifiedLayerNormalization"): OpDef(rules.skip_simplified, NORMAL),
}
