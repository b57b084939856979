"""quantized: how older versions become the canonical one."""

from isomorph.ir.opdef import Key
from isomorph.ir.versions import SAME, Steps

# Newer versions allow more types, axes and blocks. Before 21 scale and operand had one type, whose
# division was as precise as the type of the scale is from 23 on.
_LINEAR: Steps = dict.fromkeys((13, 19, 21, 23, 24, 25, 28), SAME)

UPGRADES: dict[Key, Steps] = {
    ("", "ConvInteger"): {},
    ("", "DequantizeLinear"): _LINEAR,
    ("", "DynamicQuantizeLinear"): {},
    ("", "MatMulInteger"): {},
    ("", "QLinearConv"): {},
    ("", "QLinearMatMul"): {21: SAME},
    ("", "QuantizeLinear"): _LINEAR,
}
