"""microsoft: small well-typed instances of each operator of onnxruntime's own domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.instances._dynamic_lstm import DYNAMIC_LSTM
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from isomorph.ir.instances import Instance
    from isomorph.ir.opdef import Key

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    (DOMAIN, "DynamicQuantizeLSTM"): DYNAMIC_LSTM,
}
