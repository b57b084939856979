"""microsoft: what each operator of onnxruntime's own domain is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops.recurrent import layer_types
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

OPS: dict[Key, OpDef] = {
    (DOMAIN, "DynamicQuantizeLSTM"): OpDef(layer_types, Tolerance.RECURRENT, jumps=True),
}
