"""fused: small well-typed instances of each operator of onnxruntime's optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.instances import _fused_norms as norms
from isomorph.ir.instances import _fused_sums as sums
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from isomorph.ir.instances import Instance
    from isomorph.ir.opdef import Key

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "SimplifiedLayerNormalization"): norms.SIMPLIFIED,
    (DOMAIN, "EmbedLayerNormalization"): norms.EMBEDDINGS,
    (DOMAIN, "FusedConv"): sums.CONVOLUTIONS,
    (DOMAIN, "FusedGemm"): sums.PRODUCTS,
    (DOMAIN, "MatMulNBits"): sums.FEW_BITS,
    (DOMAIN, "RotaryEmbedding"): norms.ROTATIONS,
    (DOMAIN, "SkipLayerNormalization"): norms.SKIPS,
    (DOMAIN, "SkipSimplifiedLayerNormalization"): norms.SIMPLIFIED_SKIPS,
}
