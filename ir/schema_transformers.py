"""Attentions of onnxruntime's own, as its tools for transformers write them: definitions.

Written as in `schema_microsoft`. Source: "Contrib Operator Schemas", docs/ContribOperators.md of
onnxruntime; a test compares with the installed release.
"""

from __future__ import annotations

from isomorph.ir.schema_microsoft import REQUIRED, Row

FLOATS = "float float16 bfloat16"

DEFINITIONS: dict[str, Row] = {
    "Attention": (
        (
            "input: T, weights: T, bias?: T, mask_index?: M, past?: T, attention_bias?: T, "
            "past_sequence_length?: M"
        ),
        "output: T, present?: T",
        {"T": FLOATS, "M": "int32"},
        {
            "do_rotary": ("INT", None),
            "mask_filter_value": ("FLOAT", None),
            "num_heads": ("INT", REQUIRED),
            "past_present_share_buffer": ("INT", None),
            "qkv_hidden_sizes": ("INTS", None),
            "rotary_embedding_dim": ("INT", None),
            "scale": ("FLOAT", None),
            "unidirectional": ("INT", 0),
        },
    ),
    "GroupQueryAttention": (
        (
            "query: T, key?: T, value?: T, past_key?: T_CACHE, past_value?: T_CACHE, seqlens_k: M, "
            "total_sequence_length: M, cos_cache?: T, sin_cache?: T, position_ids?: int64, "
            "attention_bias?: T, head_sink?: T, k_scale?: T_KV_SCALE, v_scale?: T_KV_SCALE, "
            "q_norm_weight?: T, k_norm_weight?: T"
        ),
        "output: T, present_key?: T_CACHE, present_value?: T_CACHE, output_qk?: T",
        {
            "T": FLOATS,
            "T_CACHE": f"{FLOATS} uint8 int8 float8e4m3fn",
            "T_KV_SCALE": "float",
            "M": "int32",
        },
        {
            "causal": ("INT", 1),
            "do_rotary": ("INT", None),
            "k_quant_type": ("STRING", "NONE"),
            "kv_cache_bit_width": ("INT", None),
            "kv_num_heads": ("INT", REQUIRED),
            "local_window_size": ("INT", -1),
            "num_heads": ("INT", REQUIRED),
            "qk_norm_epsilon": ("FLOAT", 9.999999974752427e-07),
            "qk_output": ("INT", 0),
            "rotary_interleaved": ("INT", None),
            "scale": ("FLOAT", None),
            "sliding_window_cache": ("INT", 0),
            "smooth_softmax": ("INT", -1),
            "softcap": ("FLOAT", None),
            "v_quant_type": ("STRING", "NONE"),
        },
    ),
    "MultiHeadAttention": (
        (
            "query: T, key?: T, value?: T, bias?: T, key_padding_mask?: M, attention_bias?: T, "
            "past_key?: T, past_value?: T, past_sequence_length?: M, cache_indirection?: M"
        ),
        "output: T, present_key?: T, present_value?: T, qk?: QK",
        {"T": FLOATS, "QK": FLOATS, "M": "int32"},
        {
            "mask_filter_value": ("FLOAT", None),
            "num_heads": ("INT", REQUIRED),
            "scale": ("FLOAT", None),
            "unidirectional": ("INT", 0),
        },
    ),
}
"""Name → inputs, outputs, element types by variable, attributes (kind and default)."""
