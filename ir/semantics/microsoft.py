"""microsoft: what each operator of onnxruntime's own domain computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics._dynamic_lstm import dynamic_lstm

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    (DOMAIN, "DynamicQuantizeLSTM"): (Impl(dynamic_lstm),),
}
