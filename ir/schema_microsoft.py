"""com.microsoft: operators of onnxruntime's own, of which `onnx.defs` has no definitions.

Operands are listed as `name: type`, the type being a variable or an element type; `?` marks what
may be absent, `*` what may be repeated, `**` what may be repeated in different types. Source: "Contrib
Operator Schemas", docs/ContribOperators.md of onnxruntime; a test compares with the installed release.
"""

from __future__ import annotations

from typing import Any

REQUIRED = object()
"""Stands for the default of an attribute that has to be given."""

Attributes = dict[str, tuple[str, Any]]
Row = tuple[str, str, dict[str, str], Attributes]

DOMAIN = "com.microsoft"
VERSION = 1

DEFINITIONS: dict[str, Row] = {
    "DynamicQuantizeLSTM": (
        "X: T, W: T2, R: T2, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, "
        "P?: T, W_scale: T, W_zero_point: T2, R_scale: T, R_zero_point: T2",
        "Y?: T, Y_h?: T, Y_c?: T",
        {"T": "float", "T1": "int32", "T2": "uint8 int8"},
        {"activation_alpha": ("FLOATS", None), "activation_beta": ("FLOATS", None), "activations": ("STRINGS", None), "clip": ("FLOAT", None), "direction": ("STRING", "forward"), "hidden_size": ("INT", None), "input_forget": ("INT", 0)},
    ),
}
"""Name → inputs, outputs, element types by variable, attributes (kind and default)."""
