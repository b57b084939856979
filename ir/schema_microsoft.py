"""com.microsoft: operators of onnxruntime's own, of which `onnx.defs` has no definitions.

Operands are listed as `name: type`, the type being a variable or an element type; `?` marks what
may be absent, `*` what may be repeated, `**` what may be repeated in different types. Source:
"Contrib Operator Schemas", docs/ContribOperators.md of onnxruntime; a test compares with the
installed release.
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
    "DequantizeLinear": (
        "x: T1, x_scale: T2, x_zero_point?: T1",
        "y: T2",
        {"T1": "int8 uint8 int16 uint16 int32 int4 uint4", "T2": "float16 float"},
        {"axis": ("INT", None)},
    ),
    "DynamicQuantizeLSTM": (
        (
            "X: T, W: T2, R: T2, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, "
            "P?: T, W_scale: T, W_zero_point: T2, R_scale: T, R_zero_point: T2"
        ),
        "Y?: T, Y_h?: T, Y_c?: T",
        {"T": "float", "T1": "int32", "T2": "uint8 int8"},
        {
            "activation_alpha": ("FLOATS", None),
            "activation_beta": ("FLOATS", None),
            "activations": ("STRINGS", None),
            "clip": ("FLOAT", None),
            "direction": ("STRING", "forward"),
            "hidden_size": ("INT", None),
            "input_forget": ("INT", 0),
        },
    ),
    "DynamicQuantizeMatMul": (
        "A: T1, B: T2, b_scale: T1, b_zero_point?: T2, bias?: T1",
        "Y: T1",
        {"T1": "float", "T2": "int8 uint8"},
        {},
    ),
    "MatMulIntegerToFloat": (
        "A: T1, B: T2, a_scale: T3, b_scale: T3, a_zero_point?: T1, b_zero_point?: T2, bias?: T3",
        "Y: T3",
        {"T1": "int8 uint8", "T2": "int8 uint8", "T3": "float float16"},
        {},
    ),
    "QGemm": (
        (
            "A: TA, a_scale: T, a_zero_point: TA, B: TB, b_scale: T, b_zero_point: TB, C?: TC, "
            "y_scale?: T, y_zero_point?: TYZ"
        ),
        "Y: TY",
        {
            "T": "float",
            "TA": "uint8 int8",
            "TB": "uint8 int8",
            "TC": "int32",
            "TYZ": "uint8 int8",
            "TY": "float uint8 int8",
        },
        {"alpha": ("FLOAT", 1.0), "transA": ("INT", 0), "transB": ("INT", 0)},
    ),
    "QLinearAdd": (
        (
            "A: T, A_scale: float, A_zero_point?: T, B: T, B_scale: float, B_zero_point?: T, "
            "C_scale: float, C_zero_point?: T"
        ),
        "C: T",
        {"T": "uint8 int8"},
        {},
    ),
    "QLinearAveragePool": (
        "X: T, x_scale: float, x_zero_point?: T, y_scale: float, y_zero_point?: T",
        "Y: T",
        {"T": "uint8 int8"},
        {
            "auto_pad": ("STRING", "NOTSET"),
            "ceil_mode": ("INT", 0),
            "channels_last": ("INT", 0),
            "count_include_pad": ("INT", 0),
            "kernel_shape": ("INTS", REQUIRED),
            "pads": ("INTS", None),
            "strides": ("INTS", None),
        },
    ),
    "QLinearConcat": (
        "Y_scale: TF, Y_zero_point: T8, inputs**: TV",
        "Y: T8",
        {"T8": "uint8 int8", "TF": "float", "TV": "uint8 int8 float"},
        {"axis": ("INT", REQUIRED)},
    ),
    "QLinearGlobalAveragePool": (
        "X: T, x_scale: float, x_zero_point: T, y_scale: float, y_zero_point: T",
        "Y: T",
        {"T": "uint8 int8"},
        {"channels_last": ("INT", 0)},
    ),
    "QLinearLeakyRelu": (
        "X: T, X_scale: float, X_zero_point?: T, Y_scale: float, Y_zero_point?: T",
        "Y: T",
        {"T": "uint8 int8"},
        {"alpha": ("FLOAT", 0.009999999776482582)},
    ),
    "QLinearMul": (
        (
            "A: T, A_scale: float, A_zero_point?: T, B: T, B_scale: float, B_zero_point?: T, "
            "C_scale: float, C_zero_point?: T"
        ),
        "C: T",
        {"T": "uint8 int8"},
        {},
    ),
    "QLinearSigmoid": (
        "X: T, X_scale: float, X_zero_point?: T, Y_scale: float, Y_zero_point?: T",
        "Y: T",
        {"T": "uint8 int8"},
        {},
    ),
    "QLinearSoftmax": (
        "X: T, X_scale: float, x_zero_point?: T, y_scale: float, y_zero_point: T",
        "Y: T",
        {"T": "uint8 int8"},
        {"axis": ("INT", -1), "opset": ("INT", REQUIRED)},
    ),
    "QLinearWhere": (
        (
            "condition: B, X: T, x_scale: TF, x_zero_point: T, Y: T, y_scale: TF, "
            "y_zero_point: T, z_scale: TF, z_zero_point: T"
        ),
        "Z: T",
        {"B": "bool", "TF": "float", "T": "uint8 int8"},
        {},
    ),
    "QuantizeLinear": (
        "x: T1, y_scale: T1, y_zero_point?: T2",
        "y: T2",
        {"T1": "float16 float", "T2": "int8 uint8 int16 uint16 int4 uint4"},
        {"axis": ("INT", None)},
    ),
    "BiasGelu": (
        "A: T, B: T",
        "C: T",
        {"T": "float16 float double bfloat16"},
        {},
    ),
    "FastGelu": (
        "X: T, bias?: T",
        "Y: T",
        {"T": "float double float16 bfloat16"},
        {},
    ),
    "FusedMatMul": (
        "A: T, B: T",
        "Y: T",
        {"T": "float16 float double bfloat16"},
        {
            "alpha": ("FLOAT", 1.0),
            "transA": ("INT", 0),
            "transB": ("INT", 0),
            "transBatchA": ("INT", 0),
            "transBatchB": ("INT", 0),
        },
    ),
    "Gelu": (
        "X: T",
        "Y: T",
        {"T": "float16 float double bfloat16"},
        {},
    ),
    "QuickGelu": (
        "X: T",
        "Y: T",
        {"T": "float16 float double bfloat16"},
        {"alpha": ("FLOAT", 1.7020000219345093)},
    ),
}
"""Name → inputs, outputs, element types by variable, attributes (kind and default)."""
