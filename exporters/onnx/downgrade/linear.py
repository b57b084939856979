"""linear: how the canonical version becomes older ones."""

from isomorph.exporters.onnx.downgrade._einsum import decompose_einsum
from isomorph.ir.opdef import Key
from isomorph.ir.versions import SAME, Steps

DOWNGRADES: dict[Key, Steps] = {
    ("", "MatMul"): {13: SAME},
    ("", "Gemm"): {13: SAME},
    ("", "Einsum"): {28: SAME, 12: decompose_einsum},
    ("", "Det"): {22: SAME},
}
