"""Operators of onnxruntime's own that its optimizer makes of several: definitions.

Written as in `schema_microsoft`. Two of them stand in ONNX's own domain, of which `onnx.defs` does
not know them: SimplifiedLayerNormalization, and LayerNormalization below opset 17. Sources:
"Contrib Operator Schemas", docs/ContribOperators.md of onnxruntime, and its schemas of that domain,
onnxruntime/core/graph/contrib_ops/contrib_defs.cc; a test compares with the installed release.
"""

from __future__ import annotations

from isomorph.ir.schema_microsoft import REQUIRED, Attributes, Row

_FLOATS = "float16 float double bfloat16"
_HALVES = "float float16 bfloat16"
_NORMALIZED: Attributes = {
    "axis": ("INT", -1),
    "epsilon": ("FLOAT", 9.999999747378752e-06),
    "stash_type": ("INT", 1),
}
_TINY: Attributes = {"epsilon": ("FLOAT", 9.999999960041972e-13)}

FUSED: dict[str, Row] = {
    "EmbedLayerNormalization": (
        (
            "input_ids: T1, segment_ids?: T1, word_embedding: T, position_embedding: T, "
            "segment_embedding?: T, gamma: T, beta: T, mask?: T1, position_ids?: T1"
        ),
        "output: T, mask_index?: T1, embedding_sum?: T",
        {"T1": "int32", "T": "float float16"},
        {**_TINY, "mask_index_type": ("INT", None)},
    ),
    "FusedConv": (
        "X: T, W: T, B?: T, Z?: T",
        "Y: T",
        {"T": "float16 float double"},
        {
            "activation": ("STRING", None),
            "activation_params": ("FLOATS", None),
            "auto_pad": ("STRING", "NOTSET"),
            "dilations": ("INTS", None),
            "group": ("INT", 1),
            "kernel_shape": ("INTS", None),
            "pads": ("INTS", None),
            "strides": ("INTS", None),
        },
    ),
    "FusedGemm": (
        "A: T, B: T, C?: T",
        "Y: T",
        {"T": "float16 float double uint32 uint64 int32 int64"},
        {
            "activation": ("STRING", None),
            "activation_alpha": ("FLOAT", None),
            "activation_beta": ("FLOAT", None),
            "activation_gamma": ("FLOAT", None),
            "alpha": ("FLOAT", 1.0),
            "beta": ("FLOAT", 1.0),
            "transA": ("INT", 0),
            "transB": ("INT", 0),
        },
    ),
    "MatMulNBits": (
        "A: T1, B: T2, scales: T1, zero_points?: T3, g_idx?: T4, bias?: T1",
        "Y: T1",
        {"T1": _HALVES, "T2": "uint8", "T3": "uint8 float16 float bfloat16", "T4": "int32"},
        {
            "K": ("INT", REQUIRED),
            "N": ("INT", REQUIRED),
            "accuracy_level": ("INT", 0),
            "bits": ("INT", 4),
            "block_size": ("INT", REQUIRED),
            "weight_prepacked": ("INT", 0),
        },
    ),
    "RotaryEmbedding": (
        "input: T, position_ids: M, cos_cache: T, sin_cache: T",
        "output: T",
        {"T": _HALVES, "M": "int64"},
        {
            "interleaved": ("INT", None),
            "is_packed_batching": ("INT", None),
            "num_heads": ("INT", None),
            "rotary_embedding_dim": ("INT", None),
            "scale": ("FLOAT", None),
        },
    ),
    "SkipLayerNormalization": (
        "input: T, skip: T, gamma: T, beta?: T, bias?: T",
        "output: T, mean?: U, inv_std_var?: U, input_skip_bias_sum?: T",
        {"T": _HALVES, "U": "float"},
        _TINY,
    ),
    "SkipSimplifiedLayerNormalization": (
        "input: T, skip: T, gamma: T, bias?: T",
        "output: T, mean?: U, inv_std_var?: U, input_skip_bias_sum?: T",
        {"T": _HALVES, "U": "float"},
        _TINY,
    ),
}
"""Of com.microsoft, where more operators than these have their definitions elsewhere."""

STANDARD: dict[str, Row] = {
    "LayerNormalization": (
        "X: T, Scale: V, B?: V",
        "Y: V, Mean?: U, InvStdDev?: U",
        {"T": _FLOATS, "U": "float double", "V": _FLOATS},
        _NORMALIZED,
    ),
    "SimplifiedLayerNormalization": (
        "X: T, scale: V",
        "Y: V, inv_std_var?: U",
        {"T": _FLOATS, "U": "float double", "V": _FLOATS},
        _NORMALIZED,
    ),
}
"""Of ONNX's own domain, from opset 1 on: the first until opset 17, which has one of its own."""
